//! Removes environments that nobody is using: each takes some 700 MB and can be made again.

use std::io;
use std::path::{Path, PathBuf};

use super::shared::{lock_file, open_lock};
use super::{RECORD, Record};
use crate::evidence::atomic;
use crate::failure::{Failure, Kind, Result};

/// An environment in the cache.
#[derive(Debug)]
pub struct Kept {
    /// Its folder.
    pub folder: PathBuf,
    /// What it consists of; `None` when it was never finished.
    pub record: Option<Record>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether a campaign is using or building it.
    pub in_use: bool,
}

/// The environments in `cache`, in the order of their names. Folders without a lock file are not ours and are left out.
///
/// # Errors
/// When a folder cannot be read.
pub fn environments(cache: &Path) -> Result<Vec<Kept>> {
    if !cache.is_dir() {
        return Ok(Vec::new());
    }
    let mut folders: Vec<PathBuf> =
        fs_err::read_dir(cache)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    folders.retain(|folder| folder.symlink_metadata().is_ok_and(|it| it.is_dir()) && lock_file(folder).is_file());
    folders.sort();
    folders.into_iter().map(look).collect()
}

fn look(folder: PathBuf) -> Result<Kept> {
    let record = fs_err::read(folder.join(RECORD)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let in_use = open_lock(&folder)?.file().try_lock().is_err();
    Ok(Kept { bytes: atomic::size(&folder)?, record, in_use, folder })
}

/// Removes one, unless somebody is using it; returns whether it is gone.
///
/// # Errors
/// [`Kind::Cleanup`] when it could be removed only in part.
pub fn remove(environment: &Kept) -> Result<bool> {
    let lock = open_lock(&environment.folder)?;
    if lock.file().try_lock().is_err() {
        return Ok(false);
    }
    let incomplete = |error: io::Error| Failure::new(Kind::Cleanup, error);
    // The record goes first: what is left of a removal that is interrupted is not taken for an environment.
    match fs_err::remove_file(environment.folder.join(RECORD)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(incomplete(error)),
        _ => {}
    }
    fs_err::remove_dir_all(&environment.folder).map_err(incomplete)?;
    // The lock file stays: whoever is waiting for it would otherwise hold another file than the next one.
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with one finished environment, one that was never finished, and somebody else's folder.
    fn cache() -> tempfile::TempDir {
        let cache = tempfile::tempdir().unwrap();
        for name in ["a", "b", "thesis"] {
            fs_err::create_dir_all(cache.path().join(name).join("venv/bin")).unwrap();
        }
        let record = serde_json::json!({
            "inference_perf": "0.7.0", "python": "3.12.1", "interpreter": "/usr/bin/python3", "requirements_sha256": null,
            "installer": "pip", "finished": "2026-08-17T10:15:00Z", "freeze": [],
        });
        fs_err::write(cache.path().join("a").join(RECORD), record.to_string()).unwrap();
        fs_err::write(cache.path().join("b/venv/bin/python"), "12345").unwrap();
        for name in ["a", "b"] {
            open_lock(&cache.path().join(name)).unwrap();
        }
        cache
    }

    fn names(cache: &Path) -> Vec<(String, bool, bool)> {
        let name = |kept: &Kept| kept.folder.file_name().unwrap().to_string_lossy().into_owned();
        environments(cache).unwrap().iter().map(|kept| (name(kept), kept.record.is_some(), kept.in_use)).collect()
    }

    #[test]
    fn environments_are_found_finished_or_not_and_other_folders_are_not_ours() {
        let cache = cache();
        assert_eq!(names(cache.path()), [("a".to_owned(), true, false), ("b".to_owned(), false, false)]);
        assert_eq!(environments(cache.path()).unwrap()[1].bytes, 5);
        assert!(environments(&cache.path().join("nowhere")).unwrap().is_empty());
    }

    #[test]
    fn an_environment_in_use_is_left_alone() {
        let cache = cache();
        let used = open_lock(&cache.path().join("a")).unwrap();
        used.file().lock_shared().unwrap();
        let found = environments(cache.path()).unwrap();
        assert!(found[0].in_use && !found[1].in_use);
        assert!(!remove(&found[0]).unwrap() && remove(&found[1]).unwrap());
        assert_eq!(names(cache.path()), [("a".to_owned(), true, true)]);
        assert!(cache.path().join("thesis").is_dir());
    }
}
