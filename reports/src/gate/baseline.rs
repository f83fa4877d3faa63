//! A baseline's content: the summary of its member campaigns, what identifies it, where it came from.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calibration::Calibration;
use super::identity::{Identity, canonical, digest};
use super::summary::{METRIC_DEFINITIONS, Summary};

/// The newest version that is understood, and the one that is written.
pub const SCHEMA_VERSION: u32 = 1;
/// From this age a baseline is called old.
pub const OLD_DAYS: i64 = 21;
/// From this age a baseline decides nothing.
pub const STALE_DAYS: i64 = 60;
/// Fewer repetitions of a treatment need a reason.
pub const ENOUGH_REPETITIONS: u64 = 3;

/// A baseline: immutable, named by the digest of its canonical text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The format's version.
    pub schema_version: u32,
    /// When it was put together.
    pub created: Timestamp,
    /// What a campaign must match.
    pub identity: Identity,
    /// The campaigns that it is made of.
    pub members: Vec<Member>,
    /// Their numbers.
    pub summary: Summary,
    /// How much runs differ, where that was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Samples of the runs, as objects of the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SamplesRef>,
}

/// A campaign in a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub campaign: String,
    /// SHA-256 of its manifest.
    pub manifest_sha256: String,
    /// Its manifest's provenance: versions, machine, command.
    #[serde(default)]
    pub provenance: Value,
}

/// Where the samples of a run are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplesRef {
    /// The campaign.
    pub campaign: String,
    /// The treatment.
    pub treatment: String,
    /// From 1.
    pub repetition: u32,
    /// SHA-256 of the compressed object.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Why a baseline's text cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not those that the digest names.
    #[error("object {expected} is corrupted: its content has the digest {found}")]
    Corrupted {
        /// The digest it is stored under.
        expected: String,
        /// The digest of what is there.
        found: String,
    },
    /// Not a baseline.
    #[error("object {digest} is not a baseline: {source}")]
    Syntax {
        /// The digest.
        digest: String,
        /// Why.
        source: serde_json::Error,
    },
    /// Written by a newer program.
    #[error(
        "baseline {digest} has schema_version {found}, newer than {SCHEMA_VERSION}, the newest that is understood here"
    )]
    NewerVersion {
        /// The digest.
        digest: String,
        /// Its version.
        found: u64,
    },
    /// A baseline that cannot be written.
    #[error("the baseline cannot be written: {0}")]
    Write(serde_json::Error),
}

/// How old a baseline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// Young enough.
    Fresh,
    /// Usable; time for a new one.
    Old,
    /// Decides nothing any more.
    Stale,
}

impl Baseline {
    /// The canonical text, whose digest is the baseline's name.
    ///
    /// # Errors
    ///
    /// The baseline has a number that JSON does not know.
    pub fn to_text(&self) -> Result<String, Error> {
        Ok(canonical(&serde_json::to_value(self).map_err(Error::Write)?))
    }

    /// Reads the text of the object `digest`, refusing content that is not it.
    ///
    /// # Errors
    ///
    /// The content has another digest, is no baseline, or is of a newer version.
    pub fn from_text(text: &[u8], expected: &str) -> Result<Self, Error> {
        let found = digest(text);
        if found != expected {
            return Err(Error::Corrupted { expected: expected.into(), found });
        }
        let syntax = |source| Error::Syntax { digest: expected.into(), source };
        let value: Value = serde_json::from_slice(text).map_err(syntax)?;
        if let Some(found) = value["schema_version"].as_u64().filter(|&found| found > u64::from(SCHEMA_VERSION)) {
            return Err(Error::NewerVersion { digest: expected.into(), found });
        }
        serde_json::from_value(value).map_err(syntax)
    }

    /// Age in whole days.
    #[must_use]
    pub fn age_days(&self, now: Timestamp) -> i64 {
        (now.as_second() - self.created.as_second()).max(0) / 86_400
    }

    /// Whether it may still decide.
    #[must_use]
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        match self.age_days(now) {
            days if days >= STALE_DAYS => Freshness::Stale,
            days if days >= OLD_DAYS => Freshness::Old,
            _ => Freshness::Fresh,
        }
    }

    /// The fewest repetitions that any treatment has.
    #[must_use]
    pub fn repetitions(&self) -> u64 {
        let mut counts = std::collections::BTreeMap::new();
        for run in &self.summary.runs {
            *counts.entry(&run.treatment).or_insert(0) += 1;
        }
        counts.into_values().min().unwrap_or(0)
    }

    /// Whether summaries were computed as they are here.
    #[must_use]
    pub fn has_current_definitions(&self) -> bool {
        self.identity.0.get("metric_definitions").and_then(Value::as_u64) == Some(u64::from(METRIC_DEFINITIONS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        Baseline {
            schema_version: SCHEMA_VERSION,
            created: "2026-10-01T00:00:00Z".parse().unwrap(),
            identity: Identity::default(),
            members: Vec::new(),
            summary: Summary::default(),
            calibration: None,
            samples: Vec::new(),
        }
    }

    #[test]
    fn a_baseline_reads_back_under_its_digest_and_under_no_other() {
        let text = baseline().to_text().unwrap();
        let name = digest(text.as_bytes());
        assert_eq!(Baseline::from_text(text.as_bytes(), &name).unwrap(), baseline());
        let damaged = text.replace("2026", "2025");
        let error = Baseline::from_text(damaged.as_bytes(), &name).unwrap_err().to_string();
        assert!(error.contains("is corrupted"), "{error}");
    }

    #[test]
    fn a_newer_baseline_is_refused() {
        let text = baseline().to_text().unwrap().replace("\"schema_version\":1", "\"schema_version\":2");
        let error = Baseline::from_text(text.as_bytes(), &digest(text.as_bytes())).unwrap_err();
        assert!(matches!(error, Error::NewerVersion { found: 2, .. }), "{error}");
    }

    #[test]
    fn a_baseline_ages_from_fresh_to_old_to_stale() {
        let at = |day: &str| baseline().freshness(format!("{day}T00:00:00Z").parse().unwrap());
        assert_eq!(at("2026-10-21"), Freshness::Fresh);
        assert_eq!(at("2026-10-22"), Freshness::Old);
        assert_eq!(at("2026-11-29"), Freshness::Old);
        assert_eq!(at("2026-11-30"), Freshness::Stale);
    }
}
