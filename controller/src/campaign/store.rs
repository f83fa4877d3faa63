//! A campaign's folder: opened for one run at a time, and consistent after every step, however the run ends.

use std::io;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use reports::manifest::{self, Manifest, RepetitionEntry};
use serde::{Deserialize, Serialize};
use serde_yaml::{Mapping, Value};

use super::lock::{self, Holder, Lock};
use super::{CampaignId, Cell, Identity};
use crate::evidence::{self, Published, atomic};
use crate::failure::{Failure, Result};
use crate::process::Redactor;
use crate::settings::nearest;

/// The file in a repetition's folder that repeats its entry of the manifest.
///
/// A run may die after publishing a repetition and before writing the manifest; the next run finds the entry here.
pub const ENTRY: &str = "repetition.yaml";

/// The folder in a campaign's folder for work in progress, and for what failed.
pub const WORK: &str = "work";

/// The folder in [`WORK`] in which running programs are noted, so that they can be found after a crash.
pub const RUNNING: &str = "running";

/// What a campaign is opened with.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The folder that holds campaigns.
    pub results: &'a Path,
    /// The campaign's id.
    pub id: &'a CampaignId,
    /// What must match the campaign on disk.
    pub identity: &'a Identity,
    /// Where the campaign came from: machine, versions, command. Recorded, never compared.
    pub provenance: Mapping,
    /// Whether the campaign must exist already (`--resume`) or must not.
    pub resume: bool,
    /// Who opens it.
    pub holder: Holder,
}

/// An open campaign, locked.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
    lock: Lock,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    campaign_id: String,
    treatment: String,
    repetition: u32,
    details: IndexMap<String, Value>,
    entry: RepetitionEntry,
}

impl Store {
    /// Creates a campaign, or opens one to continue it.
    ///
    /// # Errors
    /// Usage failures when the campaign exists and should not, does not and should, is in use, or has another identity.
    pub fn open(opening: Opening<'_>) -> Result<Self> {
        let folder = opening.results.join(opening.id.as_str());
        let manifest_path = folder.join(manifest::FILE_NAME);
        refuse_unexpected(&opening, &folder, &manifest_path)?;
        fs_err::create_dir_all(&folder).map_err(not_writable)?;
        let lock = Lock::acquire(&folder, &opening.holder)?;
        // Only now nobody else writes; another run may have created the campaign since the first look.
        refuse_unexpected(&opening, &folder, &manifest_path)?;
        let manifest = if opening.resume {
            let mut manifest = Manifest::read(&manifest_path).map_err(Failure::usage)?;
            refuse_other_identity(&manifest, opening.identity)?;
            manifest.provenance = Some(opening.provenance);
            manifest
        } else {
            let mut manifest = Manifest::new(opening.id.as_str(), opening.identity.fields().clone());
            manifest.provenance = Some(opening.provenance);
            manifest
        };
        let mut store = Self { folder, manifest, lock };
        store.recover()?;
        store.write_manifest()?;
        Ok(store)
    }

    /// The campaign's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The manifest as on disk.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The run that held the campaign before and died without giving it back.
    pub fn abandoned_by(&self) -> Option<&Holder> {
        self.lock.abandoned_by.as_ref()
    }

    /// Whether a cell is finished: registered, and its evidence there.
    pub fn is_done(&self, cell: &Cell) -> bool {
        let registered = self.manifest.repetition(&cell.treatment, cell.repetition).is_some();
        registered && self.published(cell).is_dir()
    }

    /// The entry of a finished cell.
    pub fn entry(&self, cell: &Cell) -> Option<&RepetitionEntry> {
        self.manifest.repetition(&cell.treatment, cell.repetition)
    }

    /// Where the cell's evidence is published.
    pub fn published(&self, cell: &Cell) -> PathBuf {
        self.folder.join("runs").join(&cell.treatment).join(format!("repetition-{}", cell.repetition))
    }

    /// Where the cell works.
    pub fn work(&self, cell: &Cell) -> PathBuf {
        self.folder.join(WORK).join(&cell.treatment).join(format!("repetition-{}", cell.repetition))
    }

    /// An empty work folder for the cell; what an earlier attempt left is set aside for diagnosis.
    ///
    /// # Errors
    /// Any error of the file system.
    pub fn begin(&self, cell: &Cell) -> Result<PathBuf> {
        let work = self.work(cell);
        if work.symlink_metadata().is_ok() {
            set_aside(&work, &work)?;
        }
        fs_err::create_dir_all(&work)?;
        Ok(work)
    }

    /// Publishes the cell's work folder, registered with what is known of its treatment (`details`) and of itself
    /// (`entry`), then removes the work folder.
    ///
    /// # Errors
    /// Any error of the file system; the cell is then not published and its work folder stays.
    pub fn publish(&mut self, cell: &Cell, details: Mapping, entry: Mapping, redactor: &Redactor) -> Result<Published> {
        let (work, destination) = (self.work(cell), self.published(cell));
        let details = details.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
        let record = Entry {
            campaign_id: self.manifest.campaign_id.clone(),
            treatment: cell.treatment.clone(),
            repetition: cell.repetition,
            details: details.collect(),
            entry: RepetitionEntry(entry),
        };
        atomic::write(&work.join(ENTRY), reports::yaml::to_string(&record).map_err(Failure::internal)?)?;
        if destination.symlink_metadata().is_ok() {
            // Not registered, or the cell would not have been run: evidence that nobody vouches for.
            set_aside(&destination, &work)?;
        }
        let published = evidence::publish(&work, &destination, redactor)?;
        self.register(record);
        self.write_manifest()?;
        atomic::remove_folder(&work)?;
        // The treatment's folder goes too, unless it still holds another attempt.
        fs_err::remove_dir(work.with_file_name("")).ok();
        self.tidy();
        Ok(published)
    }

    /// Removes the folders for work in progress where they are empty.
    pub fn tidy(&self) {
        let work = self.folder.join(WORK);
        for folder in [work.join(RUNNING), work] {
            fs_err::remove_dir(folder).ok();
        }
    }

    /// Adds to the provenance, once it is known.
    ///
    /// # Errors
    /// Any error of the file system.
    pub fn add_provenance(&mut self, facts: Mapping) -> Result<()> {
        self.manifest.provenance.get_or_insert_default().extend(facts);
        self.write_manifest()
    }

    fn register(&mut self, record: Entry) {
        *self.manifest.repetition_mut(&record.treatment, record.repetition) = record.entry;
        self.manifest.treatments.entry(record.treatment).or_default().details.extend(record.details);
    }

    fn write_manifest(&self) -> Result<()> {
        let text = self.manifest.to_yaml().map_err(Failure::internal)?;
        Ok(atomic::write(&self.folder.join(manifest::FILE_NAME), text)?)
    }

    /// Removes what a dead run left under construction, and registers what it published but could not register.
    fn recover(&mut self) -> Result<()> {
        for treatment in folders(&self.folder.join("runs"))? {
            for path in folders(&treatment)? {
                let name = file_name(&path);
                if atomic::is_partial(&name) {
                    atomic::remove_folder(&path)?;
                } else if let Some(entry) = unregistered(&path, &self.manifest) {
                    self.register(entry);
                }
            }
        }
        Ok(())
    }
}

/// The entry of a published repetition that the manifest does not know, if it is this campaign's and where it belongs.
fn unregistered(path: &Path, manifest: &Manifest) -> Option<Entry> {
    let entry: Entry = reports::yaml::read(&path.join(ENTRY), reports::files::DOCUMENT_LIMIT).ok()?;
    let here = path.parent().map(file_name).is_some_and(|name| name == entry.treatment)
        && file_name(path) == format!("repetition-{}", entry.repetition)
        && entry.campaign_id == manifest.campaign_id;
    (here && manifest.repetition(&entry.treatment, entry.repetition).is_none()).then_some(entry)
}

fn refuse_unexpected(opening: &Opening<'_>, folder: &Path, manifest: &Path) -> Result<()> {
    let there = manifest.symlink_metadata().is_ok();
    if opening.resume && !there {
        let known = campaigns(opening.results).unwrap_or_default();
        let failure = Failure::usage(format!("there is no campaign {} to resume", folder.display()));
        let near = nearest(opening.id.as_str(), known.iter().map(String::as_str));
        return Err(match near.first() {
            Some(_) => failure.hint(format!("did you mean {}?", near.join(" or "))),
            None => failure.hint("leave --resume out to start it"),
        });
    }
    if !opening.resume && there {
        return Err(Failure::usage(format!("campaign {} exists", folder.display()))
            .hint("add --resume to continue it at its first unfinished repetition")
            .hint("or choose another id with --campaign"));
    }
    let foreign = !there && first_foreign(folder)?.is_some();
    if foreign {
        return Err(Failure::usage(format!("{} holds files but no campaign", folder.display()))
            .hint("choose another id with --campaign, or another folder with --results-dir"));
    }
    Ok(())
}

/// The first thing in `folder` that a run that died early would not have left there.
fn first_foreign(folder: &Path) -> io::Result<Option<PathBuf>> {
    let own = |name: &str| {
        name == lock::FILE_NAME
            || name == "commands.jsonl"
            || name == WORK
            || name == "logs"
            || atomic::is_partial(name)
    };
    match fs_err::read_dir(folder) {
        Ok(entries) => {
            let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
            Ok(paths.into_iter().find(|path| !own(&file_name(path))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn refuse_other_identity(manifest: &Manifest, requested: &Identity) -> Result<()> {
    let differing = manifest::differences(&manifest.identity, requested.fields());
    if differing.is_empty() {
        return Ok(());
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
    let lines: Vec<_> = differing
        .iter()
        .map(|field| format!("\n  {}: recorded {}, requested {}", field.field, text(&field.left), text(&field.right)))
        .collect();
    let id = &manifest.campaign_id;
    Err(Failure::usage(format!("campaign {id} cannot be continued with another identity:{}", lines.concat()))
        .hint("ask for what was recorded, or start another campaign with another --campaign"))
}

/// The names of the campaigns in `results`, sorted.
///
/// # Errors
/// When the folder cannot be read.
pub fn campaigns(results: &Path) -> io::Result<Vec<String>> {
    let there = folders(results)?;
    Ok(there.iter().filter(|folder| folder.join(manifest::FILE_NAME).is_file()).map(|path| file_name(path)).collect())
}

fn not_writable(error: io::Error) -> Failure {
    Failure::usage(error).hint("name a folder that can be written with --results-dir")
}

/// Moves `path` to `<near>.attempt-<n>`, the first n that is free.
fn set_aside(path: &Path, near: &Path) -> io::Result<()> {
    let name = file_name(near);
    let mut numbered = (1_u32..).map(|n| near.with_file_name(format!("{name}.attempt-{n}")));
    let free = numbered.find(|path| path.symlink_metadata().is_err()).expect("numbers do not end");
    fs_err::rename(path, free)
}

/// The folders in `folder`, sorted; none when it is not there. Links are not followed.
pub(super) fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs_err::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
