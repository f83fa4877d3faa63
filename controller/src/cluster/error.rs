//! How asking a cluster can fail.

use std::time::Duration;

use crate::failure::{Failure, Kind};
use crate::process::{self, Interrupted, Reason};

/// A question or a change that did not work out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program failed.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// The program ended well, but what it printed is not what it should print.
    #[error("{step} answered something that is no {expected}: {reason}\n  answer: {answer}")]
    Garbage {
        /// The step.
        step: String,
        /// What was expected.
        expected: &'static str,
        /// Why it is not.
        reason: String,
        /// How the answer begins, without secrets.
        answer: String,
    },
    /// A state did not come about in time.
    #[error("{what}: not ready within {} s; last seen: {last_seen}", .limit.as_secs_f64())]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
        /// The last state seen.
        last_seen: String,
    },
    /// The user asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The private kubeconfig could not be written or holds no context.
    #[error("the private kubeconfig cannot be made: {0}")]
    Kubeconfig(String),
    /// The context does not exist.
    #[error("{}", no_context(.wanted.as_deref(), .known))]
    NoContext {
        /// The context asked for; `None` for the current one.
        wanted: Option<String>,
        /// Contexts that exist.
        known: Vec<String>,
    },
}

fn no_context(wanted: Option<&str>, known: &[String]) -> String {
    let wanted =
        wanted.map_or_else(|| "no current context is set".to_owned(), |name| format!("there is no context {name}"));
    if known.is_empty() { format!("{wanted}, and no other one either") } else { wanted }
}

impl Error {
    /// Whether looking again may help: the program ran and failed, or took too long.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Process(error) => matches!(error.reason(), Reason::Exit(_) | Reason::Timeout(_) | Reason::Signal(_)),
            Self::Garbage { .. } => true,
            _ => false,
        }
    }

    /// The end of what the program complained about; empty when it did not run.
    pub fn complaint(&self) -> &str {
        match self {
            Self::Process(error) => error.stderr_tail(),
            _ => "",
        }
    }

    /// Whether the cluster does not know this kind of object: its CustomResourceDefinition is not installed.
    pub fn is_unknown_kind(&self) -> bool {
        let complaint = self.complaint();
        complaint.contains("the server doesn't have a resource type") || complaint.contains("no matches for kind")
    }

    /// Whether the program itself is not installed.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Process(error) if error.is_missing())
    }

    /// Whether what was asked for does not exist.
    pub fn is_not_found(&self) -> bool {
        let complaint = self.complaint();
        complaint.contains("(NotFound)") || complaint.contains("not found") || complaint.contains("No resources found")
    }

    /// The failure this is when it ends a step of this kind. An interruption, a missing program and a missing context keep
    /// their own kind.
    pub fn failure(self, kind: Kind) -> Failure {
        match self {
            Self::Process(error) => error.failure(kind),
            Self::Interrupted(interrupted) => interrupted.into(),
            Self::NoContext { ref known, .. } => {
                let hint = if known.is_empty() {
                    "create a cluster (`--provider kind` makes one), or point KUBECONFIG at the file that names it"
                        .to_owned()
                } else {
                    format!("known contexts: {}; choose one with --context or BENCHMARK_KUBE_CONTEXT", known.join(", "))
                };
                Failure::usage(self).hint(hint)
            }
            Self::Kubeconfig(_) => Failure::new(kind, self)
                .hint("check that the cluster can be reached with your own credentials: kubectl cluster-info"),
            Self::Garbage { .. } => Failure::new(kind, self).hint(
                "this is not what that program answers: check what is first on PATH, and whether a proxy is between",
            ),
            error => Failure::new(kind, error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        error.failure(Kind::Measurement)
    }
}
