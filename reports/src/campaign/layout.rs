//! Folders of a campaign. Links are refused everywhere, so that evidence cannot point outside its campaign.

use std::path::{Path, PathBuf};

use super::Error;
use crate::files;
use crate::manifest::{Manifest, Status, check_name};

/// Where a repetition's evidence is published.
pub(super) fn repetition_dir(campaign: &Path, treatment: &str, repetition: u32) -> PathBuf {
    campaign.join("runs").join(treatment).join(format!("repetition-{repetition}"))
}

/// The file that a run holds, or has left behind when it died.
const LOCK: &str = "campaign.lock";

/// Refuses published evidence that the manifest does not know, and names that cannot be meant. While a run holds the
/// campaign, or after it died, such evidence is that of its unfinished repetition: in its place, and registered next.
pub(super) fn refuse_unregistered(campaign: &Path, manifest: &Manifest) -> Result<(), Error> {
    let held = campaign.join(LOCK).is_file();
    for (treatment, number, dir) in repetitions(&campaign.join("runs"), true)? {
        if !held && manifest.repetition(&treatment, number).is_none() {
            return Err(Error::NotRegistered { dir });
        }
    }
    Ok(())
}

/// Treatments and repetitions that have a work folder and no complete evidence: failed, interrupted, or still running.
pub(super) fn unfinished(campaign: &Path, manifest: &Manifest) -> Result<Vec<(String, u32)>, Error> {
    let found = repetitions(&campaign.join("work"), false)?.into_iter();
    let found = found.filter(|(treatment, number, _)| {
        let status = manifest.repetition(treatment, *number).map(|entry| entry.status());
        // A failed one that is registered is named already.
        !matches!(status, Some(Status::Complete | Status::Failed))
    });
    Ok(found.map(|(treatment, number, _)| (treatment, number)).collect())
}

/// `<treatment>/repetition-<n>` under a folder, sorted. `strict` refuses everything else but hidden names, which are
/// under construction.
fn repetitions(folder: &Path, strict: bool) -> Result<Vec<(String, u32, PathBuf)>, Error> {
    let mut found = Vec::new();
    for (treatment, path) in folders(folder, strict)? {
        check_name(&treatment).map_err(|what| Error::Layout { path: path.clone(), what: what.into() })?;
        for (name, path) in folders(&path, strict)? {
            match name.strip_prefix("repetition-").and_then(|number| number.parse::<u32>().ok()) {
                Some(number) if number > 0 && name == format!("repetition-{number}") => {
                    found.push((treatment.clone(), number, path));
                }
                _ if strict => {
                    return Err(Error::Layout { path, what: "is not named repetition-<n>".into() });
                }
                _ => {}
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The folders in a folder by name; none when it is not there.
fn folders(folder: &Path, strict: bool) -> Result<Vec<(String, PathBuf)>, Error> {
    match fs_err::symlink_metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
        Ok(_) => must_be_folder(folder)?,
    }
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let Ok(name) = entry.file_name().into_string() else {
            return Err(Error::Layout { path, what: "its name is not text".into() });
        };
        if name.starts_with('.') {
            continue;
        }
        if strict || entry.file_type()?.is_dir() {
            must_be_folder(&path)?;
            found.push((name, path));
        }
    }
    Ok(found)
}

/// Refuses anything but a folder, links to folders included.
pub(super) fn must_be_folder(path: &Path) -> Result<(), Error> {
    let kind = fs_err::symlink_metadata(path)?.file_type();
    if kind.is_dir() {
        return Ok(());
    }
    Err(Error::Layout { path: path.into(), what: format!("expected a folder, found {}", files::describe(kind)) })
}
