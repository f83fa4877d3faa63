//! An environment that several runs share: made under an exclusive lock, used under a shared one.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::File;
use sha2::{Digest, Sha256};

use super::{Progress, hex};
use crate::failure::{Failure, Result};
use crate::process::Session;

/// The lock of an environment, beside it: the environment itself may be removed.
pub(super) fn lock_file(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// Opens the file that is locked while an environment is built or used.
pub(crate) fn open_lock(folder: &Path) -> Result<File> {
    let options = File::options().create(true).truncate(false).read(true).write(true).open(lock_file(folder));
    options.map_err(not_writable)
}

fn not_writable(error: io::Error) -> Failure {
    Failure::usage(error).hint("set XDG_CACHE_HOME to a folder that can be written")
}

/// The end of an environment's name: Python's version for people, a hash of everything that makes the environment what it
/// is.
pub(crate) fn name_end((major, minor, _): (u32, u32, u32), made_of: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in made_of {
        hash.update(part);
        hash.update([0]);
    }
    format!("py{major}.{minor}-{}", &hex(&hash.finalize())[..12])
}

/// What makes an environment, and tells how far it is.
pub(crate) type Build<'a> = dyn FnMut(&mut dyn FnMut(Progress)) -> Result<()> + 'a;

/// Finds the environment in `folder` working, or builds it. What `answer` knows of one that works is returned with the
/// shared lock, which is to be held for as long as the environment is used.
///
/// # Errors
/// Those of `build`; when what was built does not work after all; when the user asks to stop.
pub(crate) fn take<T>(
    session: &Session,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
    answer: &dyn Fn() -> Option<T>,
    build: &mut Build<'_>,
) -> Result<(T, File)> {
    if let Some(cache) = folder.parent() {
        fs_err::create_dir_all(cache).map_err(not_writable)?;
    }
    let lock = open_lock(folder)?;
    let mut built = false;
    loop {
        // Never a lock call that blocks: it would neither say that it waits nor end when the user asks to.
        match lock.file().try_lock_shared() {
            Ok(()) => {
                if let Some(answer) = proven(session, answer)? {
                    return Ok((answer, lock));
                }
                lock.file().unlock().map_err(Failure::internal)?;
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Failure::internal(error)),
        }
        // Building it again would end in the same way, after as long.
        if built {
            return Err(unproven(folder));
        }
        wait_for(session, &lock, progress)?;
        // Whoever held the lock may have finished it.
        if proven(session, answer)?.is_none() {
            build(progress)?;
            built = true;
        }
        lock.file().unlock().map_err(Failure::internal)?;
    }
}

/// What the environment answers.
///
/// # Errors
/// When the user asks to stop: an environment that could not answer for that reason is not to be replaced.
pub(super) fn proven<T>(session: &Session, answer: &dyn Fn() -> Option<T>) -> Result<Option<T>> {
    let answered = answer();
    session.check()?;
    Ok(answered)
}

fn unproven(folder: &Path) -> Failure {
    Failure::internal(format!("check environment: {} was just made and does not work now", folder.display()))
        .hint("commands.jsonl and the logs of the campaign tell what it answered")
        .hint("make sure that nothing else changes the cache; `cargo xtask clean --environments` starts afresh")
}

/// Waits for the exclusive lock, and says so when it is not free at once.
fn wait_for(session: &Session, lock: &File, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let mut told = false;
    loop {
        match lock.file().try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Failure::internal(error)),
        }
        if !std::mem::replace(&mut told, true) {
            progress(Progress::Waiting);
        }
        session.sleep(Duration::from_millis(200))?;
    }
}
