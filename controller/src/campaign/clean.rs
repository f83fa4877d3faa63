//! Removes what runs leave behind in a results folder, and nothing else.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::lock::{self, Holder, Lock};
use super::store::{self, RUNNING, WORK};
use crate::evidence::atomic;
use crate::failure::{Failure, Kind, Result};
use crate::process::orphans;
use crate::settings::nearest;

/// How long an orphan may take to end when asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Something that can go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A program of a run that is gone, still running.
    Orphan {
        /// Its command line.
        command: String,
        /// Its processes.
        pids: Vec<i32>,
    },
    /// Work folders of repetitions that failed or were interrupted, with their logs.
    Work {
        /// The folder.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A repetition whose publication did not complete.
    Partial {
        /// The folder.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The lock of a run that is gone.
    Lock {
        /// The file.
        path: PathBuf,
    },
}

/// What a campaign's folder holds that can go; `None` when a run is using it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The campaign.
    pub campaign: String,
    /// Its leftovers; empty when there are none, `None` when the campaign is in use.
    pub leftovers: Option<Vec<Leftover>>,
}

/// The campaigns of `results` to look at: all, or the one named.
///
/// # Errors
/// When the folder cannot be read, or the campaign is not there.
pub fn campaigns(results: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let known = store::campaigns(results)?;
    let Some(only) = only else { return Ok(known) };
    if known.iter().any(|name| name == only) {
        return Ok(vec![only.to_owned()]);
    }
    let near = nearest(only, known.iter().map(String::as_str));
    let failure = Failure::usage(format!("{} holds no campaign {only}", results.display()));
    Err(if near.is_empty() { failure } else { failure.hint(format!("did you mean {}?", near.join(" or "))) })
}

/// Looks for leftovers without touching anything.
///
/// # Errors
/// When a folder cannot be read.
pub fn find(results: &Path, campaign: &str) -> Result<Found> {
    let folder = results.join(campaign);
    let in_use = lock::is_held(&folder)?;
    let leftovers = if in_use { None } else { Some(leftovers(&folder)?) };
    Ok(Found { campaign: campaign.to_owned(), leftovers })
}

/// Removes the campaign's leftovers, and holds its lock meanwhile so that no run starts in between.
///
/// # Errors
/// [`Kind::Cleanup`] when something could not be removed; a usage failure when a run is using the campaign.
pub fn remove(results: &Path, campaign: &str, command: &str, now: Timestamp) -> Result<Vec<Leftover>> {
    let folder = results.join(campaign);
    let before = leftovers(&folder)?;
    if before.is_empty() {
        return Ok(before);
    }
    let _lock = Lock::acquire(&folder, &Holder::this_process(command, now))?;
    let incomplete = |error: io::Error| Failure::new(Kind::Cleanup, error);
    orphans::end_all(&folder.join(WORK).join(RUNNING), GRACE).map_err(incomplete)?;
    for leftover in &before {
        match leftover {
            Leftover::Work { path, .. } | Leftover::Partial { path, .. } => {
                atomic::remove_folder(path).map_err(incomplete)?;
            }
            // Ended above; given back when the lock is dropped.
            Leftover::Orphan { .. } | Leftover::Lock { .. } => {}
        }
    }
    Ok(before)
}

fn leftovers(folder: &Path) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    let work = folder.join(WORK);
    for orphan in orphans::find(&work.join(RUNNING))? {
        found.push(Leftover::Orphan { command: orphan.command, pids: orphan.pids });
    }
    // A link is not a folder that we made.
    if work.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        found.push(Leftover::Work { bytes: atomic::size(&work)?, path: work });
    }
    for treatment in store::folders(&folder.join("runs"))? {
        for path in store::folders(&treatment)? {
            if atomic::is_partial(&store::file_name(&path)) {
                found.push(Leftover::Partial { bytes: atomic::size(&path)?, path });
            }
        }
    }
    let path = folder.join(lock::FILE_NAME);
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        found.push(Leftover::Lock { path });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A results folder with the campaign `a` and the leftovers of a run that was killed.
    fn killed() -> tempfile::TempDir {
        let results = tempfile::tempdir().unwrap();
        let a = results.path().join("a");
        fs_err::create_dir_all(a.join("work/service/repetition-1")).unwrap();
        fs_err::write(a.join("work/service/repetition-1/stage_0_lifecycle_metrics.json"), "12345").unwrap();
        fs_err::create_dir_all(a.join("runs/service/.repetition-1.partial")).unwrap();
        fs_err::create_dir_all(a.join("runs/service/repetition-2")).unwrap();
        fs_err::write(a.join("campaign-manifest.yaml"), "").unwrap();
        fs_err::write(a.join(lock::FILE_NAME), "").unwrap();
        results
    }

    fn now() -> Timestamp {
        "2026-08-17T10:15:00Z".parse().unwrap()
    }

    #[test]
    fn leftovers_are_found_without_touching_them_and_then_removed() {
        let results = killed();
        let a = results.path().join("a");
        let expected = vec![
            Leftover::Work { path: a.join("work"), bytes: 5 },
            Leftover::Partial { path: a.join("runs/service/.repetition-1.partial"), bytes: 0 },
            Leftover::Lock { path: a.join(lock::FILE_NAME) },
        ];
        assert_eq!(find(results.path(), "a").unwrap().leftovers, Some(expected.clone()));
        assert!(a.join("work").exists());
        assert_eq!(remove(results.path(), "a", "clean", now()).unwrap(), expected);
        assert_eq!(find(results.path(), "a").unwrap().leftovers, Some(Vec::new()));
        assert!(a.join("runs/service/repetition-2").is_dir() && a.join("campaign-manifest.yaml").is_file());
    }

    #[test]
    fn a_campaign_in_use_is_left_alone() {
        let results = killed();
        let holder = Holder::this_process("benchmark", now());
        let _lock = Lock::acquire(&results.path().join("a"), &holder).unwrap();
        assert_eq!(find(results.path(), "a").unwrap().leftovers, None);
        assert_eq!(remove(results.path(), "a", "clean", now()).unwrap_err().kind, Kind::Usage);
        assert!(results.path().join("a/work").exists());
    }

    #[test]
    fn folders_that_are_no_campaigns_and_links_are_never_looked_into() {
        let results = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(results.path().join("thesis/work")).unwrap();
        assert_eq!(campaigns(results.path(), None).unwrap(), Vec::<String>::new());
        fs_err::create_dir_all(results.path().join("a")).unwrap();
        fs_err::write(results.path().join("a/campaign-manifest.yaml"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), results.path().join("a/work")).unwrap();
        assert_eq!(find(results.path(), "a").unwrap().leftovers, Some(Vec::new()));
    }

    #[test]
    fn a_campaign_that_is_not_there_is_refused_with_the_nearest_name() {
        let results = killed();
        assert_eq!(campaigns(results.path(), Some("a")).unwrap(), ["a"]);
        fs_err::rename(results.path().join("a"), results.path().join("nightly")).unwrap();
        let failure = campaigns(results.path(), Some("nihgtly")).unwrap_err();
        assert_eq!((failure.kind, failure.hints[0].as_str()), (Kind::Usage, "did you mean nightly?"));
    }
}
