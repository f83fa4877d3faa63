//! Why there is no checkout.

use std::path::PathBuf;

use crate::failure::{Failure, Kind};
use crate::process;

/// Why there is no checkout of llm-d-benchmark.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The work was interrupted.
    #[error(transparent)]
    Interrupted(#[from] process::Interrupted),
    /// The revision cannot be fetched by this name.
    #[error("`{revision}` is not a revision that can be fetched")]
    Revision {
        /// The revision.
        revision: String,
        /// Whether it is a shortened commit id.
        shortened: bool,
    },
    /// The URL is not one.
    #[error("`{url}` is not a repository's URL")]
    Url {
        /// The URL.
        url: String,
    },
    /// The folder is not a git checkout.
    #[error("{} is not a git checkout: {reason}", folder.display())]
    NotARepository {
        /// The folder.
        folder: PathBuf,
        /// libgit2's words.
        reason: String,
    },
    /// Something that we did not make is where our checkout belongs.
    #[error("{} was not made by this program, and is left alone", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
    },
    /// Someone has worked in our checkout.
    #[error("{} has been modified: {}", folder.display(), list(files))]
    Dirty {
        /// The folder.
        folder: PathBuf,
        /// Modified and untracked files.
        files: Vec<String>,
    },
    /// The repository cannot be reached.
    #[error("{url} cannot be reached: {cause}")]
    Unreachable {
        /// The URL, without secrets.
        url: String,
        /// git's words.
        cause: process::Error,
    },
    /// The repository has no such revision.
    #[error("{url} has no revision {revision}: {cause}")]
    NoSuchRevision {
        /// The URL, without secrets.
        url: String,
        /// The revision.
        revision: String,
        /// git's words.
        cause: process::Error,
    },
    /// What was fetched is not what was asked for.
    #[error("{found} was checked out although {asked} was asked for")]
    Mismatch {
        /// The commit asked for.
        asked: String,
        /// The commit found.
        found: String,
    },
    /// git said that it had checked a commit out, and there is none.
    #[error("git checkout ended as if all were well, but nothing is checked out: {cause}")]
    NotCheckedOut {
        /// libgit2's words.
        cause: Box<Error>,
    },
    /// git failed otherwise.
    #[error(transparent)]
    Git(#[from] process::Error),
    /// libgit2 failed.
    #[error("{}: {reason}", folder.display())]
    Repository {
        /// The checkout.
        folder: PathBuf,
        /// libgit2's words.
        reason: String,
    },
}

fn list(files: &[String]) -> String {
    let shown: Vec<&str> = files.iter().take(5).map(String::as_str).collect();
    let more = files.len().saturating_sub(shown.len());
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

impl Error {
    /// The error's first line.
    pub(super) fn summary(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }

    fn hints(&self) -> Vec<&'static str> {
        match self {
            Self::Revision { shortened: true, .. } => vec!["give the full commit id of 40 digits"],
            Self::Revision { .. } => vec!["give a full commit id, a tag or a branch (pins.llm_d_benchmark)"],
            Self::Url { .. } => vec!["set LLM_D_BENCHMARK_URL to a repository that git can fetch from"],
            Self::NotARepository { .. } => vec!["point LLM_D_BENCHMARK_DIR at a checkout of llm-d-benchmark"],
            Self::Foreign { .. } => vec![
                "move it away, or keep ours elsewhere with LLM_D_BENCHMARK_CACHE_DIR",
                "to use it as it is, set LLM_D_BENCHMARK_DIR to it",
            ],
            Self::Dirty { .. } => vec![
                "commit the changes elsewhere and remove the folder (`cargo xtask clean`)",
                "to use it as it is, set LLM_D_BENCHMARK_DIR to it",
            ],
            Self::Unreachable { .. } => vec![
                "check the network and HTTPS_PROXY, or set LLM_D_BENCHMARK_URL to a mirror",
                "with a checkout at hand, set LLM_D_BENCHMARK_DIR to it; the local provider needs none",
            ],
            Self::NoSuchRevision { .. } => {
                vec!["check pins.llm_d_benchmark in config/pins.yaml against the repository"]
            }
            Self::Mismatch { .. } => vec!["the repository answers wrongly: check LLM_D_BENCHMARK_URL"],
            Self::NotCheckedOut { .. } => vec!["check which `git` is first on PATH, then run again"],
            Self::Io(_) | Self::Interrupted(_) | Self::Git(_) | Self::Repository { .. } => Vec::new(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hints = error.hints();
        let failure = match error {
            Error::Interrupted(interrupted) => return interrupted.into(),
            Error::Git(error) => return error.failure(Kind::Internal),
            Error::Io(error) => Self::internal(error),
            error => Self::usage(error),
        };
        hints.into_iter().fold(failure, Self::hint)
    }
}
