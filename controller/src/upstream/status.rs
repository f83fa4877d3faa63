//! What is there, without the network.

use std::path::PathBuf;

use serde::Serialize;

use super::error::Error;
use super::mark::Mark;
use super::repository::Repository;
use super::{Spec, callers};

/// What is there in the checkout's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The wanted commit (or, for a branch or tag, the last one seen of it).
    Ready,
    /// Nothing.
    Missing,
    /// Something that this program did not make.
    Foreign,
    /// Ours, but someone has worked in it.
    Modified,
    /// Ours, at another commit or of another revision; sync replaces it.
    Outdated,
    /// Ours, from another repository; sync replaces it.
    WrongRemote,
    /// Ours, but damaged or not finished; sync replaces it.
    Incomplete,
}

/// A checkout's state.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// What is there.
    pub state: State,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether it is the caller's own.
    pub callers: bool,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// What settings ask for.
    pub revision: String,
    /// The repository that settings name, without secrets.
    pub url: String,
    /// Modified and untracked files.
    pub modified: Vec<String>,
    /// What is worth knowing about a caller's checkout.
    pub warnings: Vec<String>,
}

/// Looks at the checkout without changing anything.
///
/// # Errors
/// When a caller's folder is not a checkout, or files cannot be read.
pub fn status(spec: &Spec) -> Result<Status, Error> {
    spec.check()?;
    let url = crate::process::Redactor::new().redact(&spec.url).into_owned();
    let mut status = Status {
        state: State::Missing,
        folder: spec.dir.clone().unwrap_or_else(|| spec.folder()),
        callers: spec.dir.is_some(),
        commit: None,
        revision: spec.revision.clone(),
        url,
        modified: Vec::new(),
        warnings: Vec::new(),
    };
    if let Some(dir) = &spec.dir {
        let checkout = callers(dir, spec)?;
        let modified = Repository::open(dir)?.modified()?;
        let commit = Some(checkout.commit);
        return Ok(Status { state: State::Ready, commit, modified, warnings: checkout.warnings, ..status });
    }
    if !fs_err::exists(&status.folder)? {
        return Ok(status);
    }
    let mark = Mark::read(&status.folder);
    if let Ok(repository) = Repository::open(&status.folder) {
        status.commit = repository.head().ok();
        status.modified = repository.modified()?;
        status.state = state(mark, &repository, &status, spec);
    } else {
        status.state = if mark.is_some() { State::Incomplete } else { State::Foreign };
    }
    Ok(status)
}

fn state(mark: Option<Mark>, repository: &Repository, status: &Status, spec: &Spec) -> State {
    let Some(mark) = mark else { return State::Foreign };
    let wanted = if spec.is_commit() {
        status.commit.as_ref().is_some_and(|commit| spec.revision.eq_ignore_ascii_case(commit))
    } else {
        mark.revision == spec.revision
    };
    if !status.modified.is_empty() {
        State::Modified
    } else if !mark.complete || status.commit.is_none() {
        State::Incomplete
    } else if mark.url != spec.url || repository.remote().as_ref() != Some(&mark.url) {
        State::WrongRemote
    } else if wanted && status.commit.as_ref() == Some(&mark.commit) {
        State::Ready
    } else {
        State::Outdated
    }
}
