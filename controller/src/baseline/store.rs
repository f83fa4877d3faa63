//! Baselines by identity and channel: finding, promoting, verifying.

mod error;

use std::collections::BTreeSet;

use jiff::Timestamp;
use reports::gate::baseline::{self, Baseline, ENOUGH_REPETITIONS};
use reports::gate::identity::{Difference, Identity, digest};
use serde::{Deserialize, Serialize};

pub use self::error::Error;
use super::place::{Error as PlaceError, Location, Place};
use super::samples;
use crate::process::Session;

/// A channel's name: what a baseline is for (`main`, `release-1.4`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel(String);

impl Channel {
    /// A name of letters, digits, dots, dashes and underscores.
    ///
    /// # Errors
    /// [`Error::Refused`] for any other.
    pub fn new(name: &str) -> Result<Self, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(Error::Refused(format!("`{name}` cannot be a channel: letters, digits, `-`, `_` and `.` can")));
        }
        Ok(Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A promotion, as history keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// When.
    pub time: Timestamp,
    /// Which baseline.
    pub digest: String,
    /// Which it replaced.
    pub previous: Option<String>,
    /// Who decided.
    pub author: String,
    /// Why.
    pub reason: String,
    /// Why a worse baseline was accepted, where it was worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_regression: Option<String>,
    /// Why so few repetitions were enough, where there were few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_repetitions: Option<String>,
    /// Names and manifest digests of its member campaigns.
    pub members: Vec<(String, String)>,
}

/// A baseline with its name.
#[derive(Clone, Debug)]
pub struct StoredBaseline {
    /// Its digest.
    pub digest: String,
    /// Its content.
    pub baseline: Baseline,
}

/// A baseline found for a campaign.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which.
    pub stored: StoredBaseline,
    /// Differences of identity that were allowed.
    pub allowed: Vec<Difference>,
}

/// Something that verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyProblem {
    /// Where.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

/// A baseline store.
#[derive(Debug)]
pub struct Store {
    location: Location,
    pub(super) place: Box<dyn Place>,
}

impl Store {
    /// Opens a store; nothing is created before something is written.
    #[must_use]
    pub fn open(location: &Location, session: &Session) -> Self {
        Self { place: location.open(session), location: location.clone() }
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Stores an object; returns its digest.
    ///
    /// # Errors
    /// The place cannot be written.
    pub fn put(&self, content: &[u8]) -> Result<String, Error> {
        let name = digest(content);
        self.place.put(&object(&name), content)?;
        Ok(name)
    }

    /// An object's content, checked against its name.
    ///
    /// # Errors
    /// It is gone or corrupted.
    pub fn object(&self, name: &str) -> Result<Vec<u8>, Error> {
        let gone = || Error::Evicted { location: self.location.to_string(), digest: name.into() };
        let content = self.place.get(&object(name))?.ok_or_else(gone)?;
        let found = digest(&content);
        if found != name {
            return Err(self.bad(baseline::Error::Corrupted { expected: name.into(), found }));
        }
        Ok(content)
    }

    /// A baseline by digest.
    ///
    /// # Errors
    /// It is gone, corrupted, or no baseline.
    pub fn load(&self, name: &str) -> Result<StoredBaseline, Error> {
        let content = self.object(name)?;
        let baseline = Baseline::from_text(&content, name).map_err(|source| self.bad(source))?;
        Ok(StoredBaseline { digest: name.into(), baseline })
    }

    fn bad(&self, source: baseline::Error) -> Error {
        Error::Object { location: self.location.to_string(), source }
    }

    /// The digest that a channel of an identity points at.
    ///
    /// # Errors
    /// The pointer cannot be read.
    pub fn current(&self, identity: &str, channel: &Channel) -> Result<Option<String>, Error> {
        let path = pointer(identity, channel);
        self.place.get(&path)?.map(|content| parse_pointer(&path, &content)).transpose()
    }

    /// All pointers: identity, channel, digest.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn pointers(&self) -> Result<Vec<(String, Channel, String)>, Error> {
        let mut found = Vec::new();
        for path in self.place.list("identities")? {
            let parts: Vec<&str> = path.split('/').collect();
            if let ["identities", identity, channel, "CURRENT"] = parts.as_slice() {
                let channel = Channel::new(channel)?;
                if let Some(digest) = self.current(identity, &channel)? {
                    found.push(((*identity).to_owned(), channel, digest));
                }
            }
        }
        Ok(found)
    }

    /// An identity's promotions in a channel, oldest first.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn history(&self, identity: &str, channel: &Channel) -> Result<Vec<Promotion>, Error> {
        let mut found = Vec::new();
        for path in self.place.list(&history(identity, channel))? {
            let Some(content) = self.place.get(&path)? else { continue };
            let record: Promotion = serde_json::from_slice(&content)
                .map_err(|error| Error::Record { path: path.clone(), why: error.to_string() })?;
            found.push(record);
        }
        found.sort_by_key(|record| record.time);
        Ok(found)
    }

    /// The full digest of the one object whose digest starts with `prefix`.
    ///
    /// # Errors
    /// None has it, or several have.
    pub fn expand(&self, prefix: &str) -> Result<String, Error> {
        let names: Vec<String> = self
            .place
            .list("objects/sha256")?
            .into_iter()
            .filter_map(|path| path.rsplit('/').next().map(str::to_owned))
            .filter(|name| name.starts_with(prefix))
            .collect();
        match names.as_slice() {
            [name] => Ok(name.clone()),
            _ => {
                Err(Error::Ambiguous { location: self.location.to_string(), prefix: prefix.into(), count: names.len() })
            }
        }
    }

    /// The baseline that a campaign is held against: by digest when `reference` is one, otherwise the current one of that
    /// channel and of the campaign's identity. With `allowed` fields, the nearest one that differs in nothing else.
    ///
    /// # Errors
    /// None is there, it is of another identity, or its object is gone or corrupted.
    pub fn find(&self, identity: &Identity, reference: &str, allowed: &[String]) -> Result<Found, Error> {
        let named = reference.len() >= 8 && reference.chars().all(|c| c.is_ascii_hexdigit());
        let candidates = if named {
            vec![self.load(&self.expand(reference)?)?]
        } else {
            let channel = Channel::new(reference)?;
            match self.current(&identity.key(), &channel)? {
                Some(digest) => vec![self.load(&digest)?],
                None => self.others(&channel)?,
            }
        };
        let is_allowed = |difference: &Difference| {
            allowed.iter().any(|field| {
                difference.field == *field
                    || difference.field.strip_prefix(field).is_some_and(|rest| rest.starts_with('.'))
            })
        };
        let mut best: Option<(usize, Found)> = None;
        for stored in candidates {
            let differences = identity.differences(&stored.baseline.identity);
            let refused = differences.iter().filter(|difference| !is_allowed(difference)).count();
            if best.as_ref().is_none_or(|(fewest, _)| refused < *fewest) {
                best = Some((refused, Found { stored, allowed: differences }));
            }
        }
        let location = self.location.to_string();
        let channel = reference.to_owned();
        match best {
            None => Err(Error::Missing { location, channel }),
            Some((0, found)) => Ok(found),
            Some((_, found)) => Err(Error::OtherIdentity {
                location,
                channel,
                digest: found.stored.digest,
                differences: found.allowed.into_iter().filter(|difference| !is_allowed(difference)).collect(),
            }),
        }
    }

    fn others(&self, channel: &Channel) -> Result<Vec<StoredBaseline>, Error> {
        self.pointers()?
            .into_iter()
            .filter(|(_, found, _)| found == channel)
            .map(|(_, _, digest)| self.load(&digest))
            .collect()
    }

    /// Makes a stored baseline the current one of its identity and channel: first the record, then the pointer, so that a
    /// pointer without a record cannot be.
    ///
    /// # Errors
    /// It has too few repetitions without a reason, or somebody promoted another one meanwhile.
    pub fn promote(&self, stored: &StoredBaseline, channel: &Channel, promotion: &Promotion) -> Result<(), Error> {
        let repetitions = stored.baseline.repetitions();
        if repetitions < ENOUGH_REPETITIONS && promotion.few_repetitions.is_none() {
            return Err(Error::Refused(format!(
                "a treatment has only {repetitions} repetitions, {ENOUGH_REPETITIONS} are needed: run more, or say why they \
                 are enough with --few-repetitions REASON"
            )));
        }
        if promotion.author.trim().is_empty() || promotion.reason.trim().is_empty() {
            return Err(Error::Refused("a promotion needs an author and a reason".into()));
        }
        let identity = stored.baseline.identity.key();
        let path = pointer(&identity, channel);
        let expected = self.place.get(&path)?;
        let current = expected.as_deref().map(|content| parse_pointer(&path, content)).transpose()?;
        if current != promotion.previous {
            return Err(PlaceError::Changed { path }.into());
        }
        let text = serde_json::to_string_pretty(promotion)
            .map_err(|error| Error::Record { path: path.clone(), why: error.to_string() })?;
        let time = promotion.time.strftime("%Y%m%dT%H%M%SZ");
        let record = format!("{}/{time}-{}.json", history(&identity, channel), &stored.digest[..12]);
        self.place.put(&record, (text + "\n").as_bytes())?;
        self.place.swap(&path, expected.as_deref(), format!("{}\n", stored.digest).as_bytes())?;
        Ok(())
    }

    /// Checks every object, pointer and record.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn verify(&self) -> Result<Vec<VerifyProblem>, Error> {
        let mut problems = Vec::new();
        let mut objects = BTreeSet::new();
        for path in self.place.list("objects/sha256")? {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            let content = self.place.get(&path)?.unwrap_or_default();
            if digest(&content) != name {
                problems.push(VerifyProblem { path: path.clone(), what: "its content has another digest".into() });
            }
            objects.insert(name);
        }
        let mut wanted: Vec<(String, String)> = Vec::new();
        for (identity, channel, digest) in self.pointers()? {
            wanted.push((pointer(&identity, &channel), digest));
            for record in self.history(&identity, &channel)? {
                wanted.push((history(&identity, &channel), record.digest));
            }
        }
        for (path, digest) in wanted {
            if !objects.contains(&digest) {
                problems.push(VerifyProblem { path, what: format!("names object {digest}, which is gone") });
                continue;
            }
            let stored = match self.load(&digest) {
                Ok(stored) => stored,
                Err(error) => {
                    problems.push(VerifyProblem { path, what: error.to_string() });
                    continue;
                }
            };
            // Samples may be kept elsewhere; those that are here must be readable.
            for samples in stored.baseline.samples.iter().filter(|samples| objects.contains(&samples.sha256)) {
                if samples::decode(&self.place.get(&object(&samples.sha256))?.unwrap_or_default()).is_none() {
                    let what = format!("samples {} cannot be read", samples.sha256);
                    problems.push(VerifyProblem { path: path.clone(), what });
                }
            }
        }
        problems.dedup();
        Ok(problems)
    }
}

pub(super) fn object(name: &str) -> String {
    format!("objects/sha256/{}/{name}", name.get(..2).unwrap_or("__"))
}

pub(super) fn pointer(identity: &str, channel: &Channel) -> String {
    format!("identities/{identity}/{}/CURRENT", channel.as_str())
}

pub(super) fn history(identity: &str, channel: &Channel) -> String {
    format!("identities/{identity}/{}/history", channel.as_str())
}

fn parse_pointer(path: &str, content: &[u8]) -> Result<String, Error> {
    let text = String::from_utf8_lossy(content);
    let name = text.trim();
    if name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(name.to_owned());
    }
    Err(Error::Record { path: path.into(), why: "a pointer holds one SHA-256 digest".into() })
}
