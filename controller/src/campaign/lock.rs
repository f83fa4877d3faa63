//! The lock on a campaign's folder, which says who holds it.

use std::fmt;
use std::fs::TryLockError;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fs_err::{File, OpenOptions};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// The lock's file name in the campaign's folder.
pub const FILE_NAME: &str = "campaign.lock";

/// Who holds a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id on `host`.
    pub pid: u32,
    /// The machine's name.
    pub host: String,
    /// When the campaign was taken, UTC.
    pub started: Timestamp,
    /// The command line, secrets left out.
    pub command: String,
}

impl Holder {
    /// This process, running `command`.
    pub fn this_process(command: impl Into<String>, now: Timestamp) -> Self {
        let host =
            nix::unistd::gethostname().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into());
        Self { pid: std::process::id(), host, started: now, command: command.into() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}, since {}: {}", self.pid, self.host, self.started, self.command)
    }
}

/// A held lock; given back, and its file removed, when dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    /// Who held the lock before and died without giving it back.
    pub abandoned_by: Option<Holder>,
}

impl Lock {
    /// Takes the lock of the campaign in `folder` for `holder`.
    ///
    /// The operating system gives the lock back when its holder dies, however it dies; a file that is left behind but
    /// not locked is therefore stale, and is taken over. Only a file written on another machine is believed without
    /// that proof, because not every shared file system carries locks between machines.
    ///
    /// # Errors
    /// A usage failure that names the holder when the campaign is in use.
    pub fn acquire(folder: &Path, holder: &Holder) -> Result<Self> {
        let path = folder.join(FILE_NAME);
        loop {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.file().try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(in_use(folder, read_holder(&mut file)?.as_ref())),
                Err(TryLockError::Error(error)) => {
                    return Err(Failure::internal(error)
                        .hint(format!("{} is on a file system without locks; use --results-dir", folder.display())));
                }
            }
            // The former holder may have removed the file between our opening and our locking it.
            let locked = file.metadata()?;
            let current = path.metadata();
            if !current.is_ok_and(|now| (now.dev(), now.ino()) == (locked.dev(), locked.ino())) {
                continue;
            }
            let abandoned_by = read_holder(&mut file)?;
            if let Some(other) = abandoned_by.as_ref().filter(|other| other.host != holder.host) {
                return Err(in_use(folder, Some(other))
                    .hint(format!("if that run has ended, remove {} and run the command again", path.display())));
            }
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(serde_yaml::to_string(holder).map_err(Failure::internal)?.as_bytes())?;
            file.sync_all()?;
            return Ok(Self { file, path, abandoned_by });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody can lock a file that is about to go. If removing fails the file
        // stays, unlocked, and the next run takes it over.
        fs_err::remove_file(&self.path).ok();
        self.file.file().unlock().ok();
    }
}

/// Who the lock file of `folder` names, if there is one and it can be read.
///
/// # Errors
/// When the file is there and cannot be read at all.
pub fn holder(folder: &Path) -> Result<Option<Holder>> {
    match File::open(folder.join(FILE_NAME)) {
        Ok(mut file) => read_holder(&mut file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a running process holds the campaign in `folder`.
///
/// # Errors
/// When the lock file is there and cannot be opened.
pub fn is_held(folder: &Path) -> Result<bool> {
    match File::open(folder.join(FILE_NAME)) {
        Ok(file) => Ok(matches!(file.file().try_lock_shared(), Err(TryLockError::WouldBlock))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A file that holds no holder (its writer died between creating and writing it) names nobody.
fn read_holder(file: &mut File) -> Result<Option<Holder>> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    Ok(serde_yaml::from_slice(&text).ok())
}

fn in_use(folder: &Path, holder: Option<&Holder>) -> Failure {
    let who = holder.map_or_else(|| "a process that has just started".to_owned(), ToString::to_string);
    Failure::usage(format!("campaign {} is in use by {who}", folder.display()))
        .hint("wait for it to end, or give this run another id with --campaign")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Kind;

    fn me(command: &str) -> Holder {
        Holder::this_process(command, "2026-08-17T10:15:00Z".parse().unwrap())
    }

    #[test]
    fn a_held_campaign_is_refused_with_the_holders_name() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::acquire(folder.path(), &me("cargo xtask benchmark --campaign a")).unwrap();
        assert!(is_held(folder.path()).unwrap());
        let failure = Lock::acquire(folder.path(), &me("other")).unwrap_err();
        assert_eq!(failure.kind, Kind::Usage);
        let text = failure.to_string();
        assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
        assert!(text.ends_with("since 2026-08-17T10:15:00Z: cargo xtask benchmark --campaign a"), "{text}");
        assert_eq!(lock.abandoned_by, None);
    }

    #[test]
    fn a_lock_given_back_leaves_no_file_and_can_be_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        drop(Lock::acquire(folder.path(), &me("first")).unwrap());
        assert!(!folder.path().join(FILE_NAME).exists());
        assert!(!is_held(folder.path()).unwrap());
        assert_eq!(Lock::acquire(folder.path(), &me("second")).unwrap().abandoned_by, None);
    }

    #[test]
    fn a_lock_file_left_by_a_dead_process_is_taken_over_and_its_holder_named() {
        let folder = tempfile::tempdir().unwrap();
        let dead = Holder { pid: 999_999_999, ..me("died") };
        fs_err::write(folder.path().join(FILE_NAME), serde_yaml::to_string(&dead).unwrap()).unwrap();
        let lock = Lock::acquire(folder.path(), &me("next")).unwrap();
        assert_eq!(lock.abandoned_by, Some(dead));
        assert_eq!(holder(folder.path()).unwrap().unwrap().command, "next");
    }

    #[test]
    fn a_lock_file_cut_short_is_stale_and_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join(FILE_NAME), "pid: 12\nho").unwrap();
        assert_eq!(Lock::acquire(folder.path(), &me("next")).unwrap().abandoned_by, None);
    }

    #[test]
    fn a_lock_file_of_another_machine_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let far = Holder { host: "elsewhere".into(), ..me("far away") };
        fs_err::write(folder.path().join(FILE_NAME), serde_yaml::to_string(&far).unwrap()).unwrap();
        let failure = Lock::acquire(folder.path(), &me("next")).unwrap_err();
        assert!(failure.to_string().contains("on elsewhere"), "{failure}");
        assert!(failure.hints.iter().any(|hint| hint.contains("remove")), "{:?}", failure.hints);
    }
}
