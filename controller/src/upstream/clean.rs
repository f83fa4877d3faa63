//! Removes what we made, and nothing else.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::mark::Mark;
use super::repository::Repository;
use super::{NAME, fetch};

/// Removes our checkout and what interrupted fetches left beside it. Returns what was removed.
///
/// # Errors
/// When something without our mark is in the checkout's place, or someone has worked in it: both are left alone.
pub fn clean(cache: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut removed = remove_partial(cache)?;
    let folder = cache.join(NAME);
    if !fs_err::exists(&folder)? {
        return Ok(removed);
    }
    if Mark::read(&folder).is_none() {
        return Err(Error::Foreign { folder });
    }
    if let Ok(repository) = Repository::open(&folder) {
        let files = repository.modified()?;
        if !files.is_empty() {
            return Err(Error::Dirty { folder, files });
        }
    }
    fs_err::remove_dir_all(&folder)?;
    removed.push(folder);
    Ok(removed)
}

/// Removes what interrupted fetches left. The caller holds the lock, or nobody else is at work.
pub(super) fn remove_partial(cache: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut removed = Vec::new();
    if !cache.is_dir() {
        return Ok(removed);
    }
    for entry in fs_err::read_dir(cache)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(fetch::PARTIAL) && (Mark::read(&path).is_some() || is_empty_start(&path)) {
            fs_err::remove_dir_all(&path)?;
            removed.push(path);
        }
    }
    Ok(removed)
}

/// A fetch that was interrupted before it could leave its mark: nothing but, at most, an empty `.git`.
fn is_empty_start(folder: &Path) -> bool {
    let Ok(entries) = fs_err::read_dir(folder) else { return false };
    entries.flatten().all(|entry| entry.file_name() == ".git")
}
