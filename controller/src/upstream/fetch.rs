//! Fetches one revision into a folder beside the checkout, with the `git` program: it knows proxies, credentials and
//! certificates.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Spec;
use super::error::Error;
use super::mark::Mark;
use super::repository::Repository;
use crate::process::{self, Command, Reason, Session};

/// What the names of unfinished checkouts start with.
pub(super) const PARTIAL: &str = "llm-d-benchmark.partial-";

/// A finished checkout that is not in its place yet.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) folder: PathBuf,
    pub(super) commit: String,
    pub(super) mark: Mark,
}

impl Fetched {
    pub(super) fn discard(self) -> Result<(), Error> {
        Ok(fs_err::remove_dir_all(self.folder)?)
    }
}

/// Fetches what `spec` asks for.
pub(super) fn into_sibling(session: &Session, spec: &Spec) -> Result<Fetched, Error> {
    let folder = spec.cache.join(format!("{PARTIAL}{}", std::process::id()));
    fs_err::create_dir_all(&folder)?;
    let result = fill(session, spec, &folder);
    if result.is_err() {
        // What stays in spite of this is removed by the next sync or clean: it carries our mark.
        fs_err::remove_dir_all(&folder).unwrap_or_default();
    }
    result
}

fn fill(session: &Session, spec: &Spec, folder: &Path) -> Result<Fetched, Error> {
    git("git init", folder).args(["init", "--quiet", "."]).makes(folder.join(".git")).run(session)?;
    let mut mark =
        Mark { url: spec.url.clone(), revision: spec.revision.clone(), commit: String::new(), complete: false };
    mark.write(folder)?;
    git("git remote", folder).args(["remote", "add", "--", "origin", &spec.url]).run(session)?;
    git("git fetch", folder)
        .args([
            "fetch",
            "--depth",
            "1",
            "--no-tags",
            "--no-recurse-submodules",
            "--progress",
            "--",
            "origin",
            &spec.revision,
        ])
        .no_progress(Duration::from_secs(120))
        .makes(folder.join(".git/FETCH_HEAD"))
        .run(session)
        .map_err(|error| explain(session, spec, error))?;
    git("git checkout", folder)
        .args(["checkout", "--quiet", "--detach", "FETCH_HEAD"])
        .timeout(Duration::from_secs(300))
        .run(session)?;
    let repository = Repository::open(folder)?;
    let commit = repository.head().map_err(|cause| Error::NotCheckedOut { cause: Box::new(cause) })?;
    if spec.is_commit() && !spec.revision.eq_ignore_ascii_case(&commit) {
        return Err(Error::Mismatch { asked: spec.revision.clone(), found: commit });
    }
    let modified = repository.modified()?;
    if !modified.is_empty() {
        return Err(Error::Dirty { folder: folder.to_owned(), files: modified });
    }
    mark.commit.clone_from(&commit);
    mark.complete = true;
    mark.write(folder)?;
    Ok(Fetched { folder: folder.to_owned(), commit, mark })
}

/// git in the given folder: never asks for anything, runs no hooks, and is not misled by variables of a surrounding git.
fn git(step: &str, folder: &Path) -> Command {
    let mut command = Command::new(step, "git")
        .folder(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_LFS_SKIP_SMUDGE", "1")
        .env("GCM_INTERACTIVE", "never")
        .timeout(Duration::from_secs(1800))
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.autocrlf=false",
            "-c",
            "gc.auto=0",
            "-c",
            "advice.detachedHead=false",
        ]);
    for pattern in ["GIT_SSH*", "GIT_SSL*", "GIT_PROXY*", "GIT_CONFIG*", "GIT_HTTP*", "SSH_AUTH_SOCK"] {
        command = command.pass(pattern);
    }
    command
}

/// Tells an unreachable repository from one that lacks the revision.
fn explain(session: &Session, spec: &Spec, cause: process::Error) -> Error {
    const MISSING: [&str; 4] = ["not our ref", "couldn't find remote ref", "no such remote ref", "unadvertised object"];
    const UNREACHABLE: [&str; 12] = [
        "Could not resolve host",
        "Could not resolve proxy",
        "unable to access",
        "Could not read from remote repository",
        "does not appear to be a git repository",
        "does not exist",
        "Connection refused",
        "Connection timed out",
        "Failed to connect",
        "Authentication failed",
        "could not read Username",
        "repository not found",
    ];
    let said = cause.stderr_tail().to_owned();
    let url = session.redactor().redact(&spec.url).into_owned();
    let says = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    if says(&MISSING) {
        return Error::NoSuchRevision { url, revision: spec.revision.clone(), cause };
    }
    if says(&UNREACHABLE) || matches!(cause.reason(), Reason::Timeout(_) | Reason::NoProgress(_)) {
        return Error::Unreachable { url, cause };
    }
    Error::Git(cause)
}
