//! Curated copies of a report that may leave the machine, and the check that they are still true.
//!
//! A published report is a folder `<root>/<profile>/<campaign>/` with the manifest, `metrics.csv`, `provenance.yaml`,
//! `records.json` where there were per-request records, and the documents. The first four are all that the documents are
//! made from, already when they are published: so they can be made again at any time, and a committed document that differs
//! was changed by hand or outdated.

mod check;
pub(crate) mod links;
mod local;
mod provenance;
mod records;
pub mod scan;
mod standard;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use crate::campaign::{self, Campaign};
use crate::manifest::{self, Manifest, check_name};
use crate::model::{Slo, Unclear};
use crate::render::csv;
use crate::{compare, files, yaml};

pub use check::{Problem, check, check_one};
pub use links::NotDurable;
pub use local::LocalPath;
use provenance::Provenance;
pub use standard::standard;

/// The numbers that a published report is made from.
pub const METRICS: &str = "metrics.csv";
/// What the numbers do not say: what was deployed, what was sent by what, and where the evidence is.
pub const PROVENANCE: &str = "provenance.yaml";
/// What per-request records said; only where there were any.
pub const RECORDS: &str = "records.json";
/// The files that documents are made from.
const SOURCES: [&str; 4] = [manifest::FILE_NAME, METRICS, PROVENANCE, RECORDS];

/// Makes a campaign's documents in a folder that exists and is empty.
///
/// It may use nothing but the campaign and what was asked of it: no clock, no evidence folder.
pub type Render<'a> = dyn Fn(&Campaign, &Asked, &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// What a report was asked for; kept in the provenance, so that the same is made again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Pairs of baseline and candidate; the usual ones when there are none.
    pub comparisons: Vec<(String, String)>,
    /// Objectives, for attainment and goodput.
    pub slo: Option<Slo>,
}

/// How a campaign is published.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'a> {
    /// The profile that was measured: the folder above the campaign's.
    pub profile: &'a str,
    /// Where the evidence stays: durable addresses, given by a person.
    pub links: &'a [String],
    /// Text that may not appear: names and folders of this machine.
    pub private: &'a [String],
    /// Folders whose paths are replaced by a word where the manifest says how the campaign came about.
    pub local: &'a [LocalPath],
    /// What the report is asked for.
    pub asked: &'a Asked,
}

/// Why a report was not published, or a published one not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is not one plain folder name.
    #[error("{name:?}: {why}")]
    Name {
        /// The profile's or the campaign's name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A link that will not lead anywhere for others, or not for long.
    #[error(transparent)]
    Link(#[from] NotDurable),
    /// Nothing was measured.
    #[error("campaign {0} has no complete repetition to publish")]
    NothingMeasured(String),
    /// A file holds what must not leave the machine.
    #[error(transparent)]
    Unpublishable(#[from] scan::Refusal),
    /// A document would take the place of a file that documents are made from.
    #[error("a document is called {0}, like a file that documents are made from, and says something else")]
    Collision(String),
    /// The documents cannot be made.
    #[error("documents cannot be made: {0}")]
    Render(Box<dyn std::error::Error + Send + Sync>),
    /// The curves cannot be made.
    #[error(transparent)]
    Compare(#[from] compare::Error),
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The numbers.
    #[error(transparent)]
    Campaign(#[from] campaign::Error),
    /// A file of a published report.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The provenance.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// A version of the provenance that is not understood.
    #[error("{}: schema_version {found} is not understood", path.display())]
    Version {
        /// The provenance.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The file of what records said.
    #[error("{}: {source}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Objectives that cannot be meant.
    #[error(transparent)]
    Slo(#[from] Unclear),
    /// Something cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Publishes a campaign below `root` and returns its folder. A report that is there already is replaced as a whole.
pub fn publish(
    campaign: &Campaign,
    publication: &Publication<'_>,
    root: &Path,
    render: &Render<'_>,
) -> Result<PathBuf, Error> {
    let id = &campaign.manifest.campaign_id;
    for name in [publication.profile, id] {
        check_name(name).map_err(|why| Error::Name { name: name.into(), why })?;
    }
    publication.links.iter().try_for_each(|link| links::durable(link))?;
    let folder = root.join(publication.profile).join(id);
    let staging = Staging::beside(&folder)?;
    write_sources(campaign, publication, &staging.0)?;
    let documents = documents(&staging.0, render)?;
    for (name, bytes) in documents {
        let path = staging.0.join(&name);
        if path.exists() {
            if fs_err::read(&path)? != bytes {
                return Err(Error::Collision(name.display().to_string()));
            }
            continue;
        }
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(path, bytes)?;
    }
    let rules = scan::Rules { paths: true, private: publication.private };
    let all = list(&staging.0)?;
    scan::refuse(all.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())), &rules)?;
    staging.place(&folder)?;
    Ok(folder)
}

/// A published report as a campaign, and what its documents were asked for: all that these are made from.
pub fn read(dir: &Path) -> Result<(Campaign, Asked), Error> {
    let manifest = Manifest::read(&dir.join(manifest::FILE_NAME))?;
    let metrics = files::read_text(&dir.join(METRICS), files::DOCUMENT_LIMIT)?;
    let provenance = Provenance::read(&dir.join(PROVENANCE))?;
    let mut campaign = campaign::from_metrics(dir, manifest, &metrics)?;
    records::complete(&dir.join(RECORDS), &mut campaign)?;
    let asked = provenance.complete(&mut campaign)?;
    Ok((campaign, asked))
}

/// Whether a folder is a published report rather than a folder of them.
pub fn is_report(dir: &Path) -> bool {
    dir.join(PROVENANCE).is_file()
}

fn write_sources(campaign: &Campaign, publication: &Publication<'_>, folder: &Path) -> Result<(), Error> {
    let options = compare::Options::default();
    let measured = campaign.treatments.iter().filter(|treatment| !treatment.repetitions.is_empty());
    let series = measured.map(|treatment| compare::series(treatment, &options)).collect::<Result<Vec<_>, _>>()?;
    if series.is_empty() {
        return Err(Error::NothingMeasured(campaign.manifest.campaign_id.clone()));
    }
    let manifest = local::without(&campaign.manifest, publication.local);
    fs_err::write(folder.join(manifest::FILE_NAME), manifest.to_yaml()?)?;
    fs_err::write(folder.join(METRICS), csv::with_warm_up(&series.iter().collect::<Vec<_>>()))?;
    if let Some(text) = records::text(campaign) {
        fs_err::write(folder.join(RECORDS), text)?;
    }
    let provenance = Provenance::of(campaign, publication);
    fs_err::write(folder.join(PROVENANCE), yaml::to_string(&provenance)?)?;
    Ok(())
}

/// The documents of a published report, made from its sources in a folder of their own: name and content, by name.
fn documents(dir: &Path, render: &Render<'_>) -> Result<Vec<(PathBuf, Vec<u8>)>, Error> {
    let (campaign, asked) = read(dir)?;
    let scratch = Staging::beside(&dir.join("documents"))?;
    render(&campaign, &asked, &scratch.0).map_err(Error::Render)?;
    Ok(list(&scratch.0)?)
}

/// Every file below a folder with its content, by name; hidden entries are none of a report's.
fn list(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = folders.pop() {
        for entry in fs_err::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(name);
            } else {
                let bytes = files::read(&entry.path(), files::DOCUMENT_LIMIT).map_err(io::Error::other)?;
                found.push((name, bytes));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A hidden folder beside its later place, on the same file system; removed unless it was placed.
#[derive(Debug)]
struct Staging(PathBuf);

impl Staging {
    fn beside(folder: &Path) -> io::Result<Self> {
        let path = hidden(folder, "part");
        remove(&path)?;
        fs_err::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Puts the folder in its place, replacing what is there.
    fn place(self, folder: &Path) -> io::Result<()> {
        let old = hidden(folder, "old");
        remove(&old)?;
        let replaces = folder.symlink_metadata().is_ok();
        if replaces {
            fs_err::rename(folder, &old)?;
        }
        if let Err(error) = fs_err::rename(&self.0, folder) {
            if replaces {
                fs_err::rename(&old, folder)?;
            }
            return Err(error);
        }
        remove(&old)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After `place` nothing is there; when it cannot be removed, the next publication removes it first.
        drop(remove(&self.0));
    }
}

fn hidden(folder: &Path, purpose: &str) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{purpose}"))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs_err::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
