//! The pinned llm-d-benchmark checkout.
//!
//! The `git` program does the network, libgit2 everything local: open, verify, compare. A checkout of ours carries a mark
//! inside its `.git`; what has none is somebody else's, and is neither changed nor removed. A new one is made beside the
//! old one and renamed into place, so that an interrupted clone is never taken for a checkout.

mod clean;
mod environment;
mod error;
mod fetch;
mod mark;
mod repository;
mod status;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::File;
use serde::Serialize;

pub use self::clean::clean;
pub use self::environment::{Environment, Record, Request};
pub use self::error::Error;
use self::fetch::Fetched;
use self::mark::Mark;
use self::repository::Repository;
pub use self::status::{State, Status, status};
use crate::process::Session;
use crate::settings::Settings;

/// Which checkout is wanted.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Where it is fetched from.
    pub url: String,
    /// A full commit id, a tag or a branch.
    pub revision: String,
    /// The folder in which ours is kept; see [`cache_folder`].
    pub cache: PathBuf,
    /// A checkout of the caller's to use as it is, instead of ours.
    pub dir: Option<PathBuf>,
}

/// Where our checkout is kept unless settings say otherwise: `upstream` in the user's cache.
pub fn cache_folder() -> PathBuf {
    crate::cache::folder("upstream")
}

/// The name of our checkout in its folder.
const NAME: &str = "llm-d-benchmark";

/// A checkout that can be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checkout {
    /// Its folder.
    pub folder: PathBuf,
    /// Its commit, verified.
    pub commit: String,
    /// What was asked for.
    pub revision: String,
    /// Whether it is the caller's own, used as it is.
    pub callers: bool,
    /// Whether anything was fetched.
    pub fetched: bool,
    /// What is worth knowing: modified files of a caller's checkout, a branch that could not be checked for news.
    pub warnings: Vec<String>,
}

impl Spec {
    /// What the settings ask for; ours is kept in `default_cache` unless they name another folder.
    pub fn of(settings: &Settings, default_cache: PathBuf) -> Self {
        let upstream = &settings.upstream;
        Self {
            url: upstream.url.clone(),
            revision: settings.pins.llm_d_benchmark.clone(),
            cache: upstream.cache_dir.clone().unwrap_or(default_cache),
            dir: upstream.dir.clone(),
        }
    }

    /// Our checkout's folder.
    pub fn folder(&self) -> PathBuf {
        self.cache.join(NAME)
    }

    /// Whether the revision names one commit for ever, so that having it needs no network.
    fn is_commit(&self) -> bool {
        self.revision.len() == 40 && self.revision.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn check(&self) -> Result<(), Error> {
        let hex = self.revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        let shortened = hex && (7..40).contains(&self.revision.len());
        let odd = self.revision.is_empty()
            || self.revision.starts_with('-')
            || self.revision.contains("..")
            || self.revision.chars().any(|char| char.is_whitespace() || char.is_control() || "~^:?*[\\".contains(char));
        if shortened || odd {
            return Err(Error::Revision { revision: self.revision.clone(), shortened });
        }
        if self.url.is_empty() || self.url.starts_with('-') {
            return Err(Error::Url { url: self.url.clone() });
        }
        Ok(())
    }
}

/// Makes sure that the checkout is there and is what was asked for. Needs the network only when it is not.
///
/// # Errors
/// When it is somebody else's, has been modified, or cannot be fetched while nothing usable is there.
pub fn sync(session: &Session, spec: &Spec) -> Result<Checkout, Error> {
    spec.check()?;
    if let Some(dir) = &spec.dir {
        return callers(dir, spec);
    }
    fs_err::create_dir_all(&spec.cache)?;
    let _lock = lock(session, spec)?;
    clean::remove_partial(&spec.cache)?;
    let folder = spec.folder();
    let usable = ours(&folder, spec)?;
    if let Some(commit) =
        usable.as_ref().filter(|commit| spec.is_commit() && spec.revision.eq_ignore_ascii_case(commit))
    {
        return Ok(checkout(spec, &folder, commit));
    }
    match fetch::into_sibling(session, spec) {
        Ok(fetched) => {
            let commit = fetched.commit.clone();
            put_in_place(fetched, &folder, usable.as_deref() == Some(&commit))?;
            Ok(Checkout { fetched: true, ..checkout(spec, &folder, &commit) })
        }
        // A branch cannot be checked for news without the network, but the last commit seen of it is still a checkout.
        Err(error @ Error::Unreachable { .. }) => match usable {
            Some(commit)
                if !spec.is_commit() && Mark::read(&folder).is_some_and(|mark| mark.revision == spec.revision) =>
            {
                let warning = format!("{} could not be checked for news: {}", spec.revision, error.summary());
                Ok(Checkout { warnings: vec![warning], ..checkout(spec, &folder, &commit) })
            }
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}

fn checkout(spec: &Spec, folder: &Path, commit: &str) -> Checkout {
    Checkout {
        folder: folder.to_owned(),
        commit: commit.to_owned(),
        revision: spec.revision.clone(),
        callers: false,
        fetched: false,
        warnings: Vec::new(),
    }
}

/// The caller's checkout, as it is; what differs from the pin is told, not changed.
fn callers(dir: &Path, spec: &Spec) -> Result<Checkout, Error> {
    let repository = Repository::open(dir)?;
    let commit = repository.head()?;
    let mut warnings = Vec::new();
    if spec.is_commit() && !spec.revision.eq_ignore_ascii_case(&commit) {
        warnings.push(format!("{} is at {commit}, not at the pinned {}", dir.display(), spec.revision));
    }
    let modified = repository.modified()?;
    if !modified.is_empty() {
        warnings.push(format!("{} has {} modified files", dir.display(), modified.len()));
    }
    Ok(Checkout { callers: true, warnings, ..checkout(spec, dir, &commit) })
}

/// The commit of our checkout if it is sound and came from this URL; `None` when it has to be made anew.
///
/// # Errors
/// When something else is in its place, or someone has worked in it.
fn ours(folder: &Path, spec: &Spec) -> Result<Option<String>, Error> {
    if !fs_err::exists(folder)? {
        return Ok(None);
    }
    let mark = Mark::read(folder).ok_or_else(|| Error::Foreign { folder: folder.to_owned() })?;
    let Ok(repository) = Repository::open(folder) else { return Ok(None) };
    let modified = repository.modified()?;
    if !modified.is_empty() {
        return Err(Error::Dirty { folder: folder.to_owned(), files: modified });
    }
    let commit = repository.head()?;
    let sound = mark.complete && mark.commit == commit && mark.url == spec.url && repository.remote() == Some(mark.url);
    Ok(sound.then_some(commit))
}

/// Replaces the checkout by the fetched one; a checkout of the same commit stays, and only its mark is renewed.
fn put_in_place(fetched: Fetched, folder: &Path, same: bool) -> Result<(), Error> {
    if same {
        fetched.mark.write(folder)?;
        return fetched.discard();
    }
    if fs_err::exists(folder)? {
        let old = fetched.folder.with_extension("old");
        fs_err::rename(folder, &old)?;
        fs_err::rename(&fetched.folder, folder)?;
        fs_err::remove_dir_all(old)?;
    } else {
        fs_err::rename(&fetched.folder, folder)?;
    }
    Ok(())
}

/// Only one process at a time changes the checkout.
fn lock(session: &Session, spec: &Spec) -> Result<File, Error> {
    let lock = File::create(spec.cache.join(format!("{NAME}.lock")))?;
    loop {
        match lock.file().try_lock() {
            Ok(()) => return Ok(lock),
            Err(std::fs::TryLockError::WouldBlock) => session.sleep(Duration::from_millis(200))?,
            Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
