//! What went wrong, in words for a person and as a kind for an exit code.

use std::error::Error;
use std::fmt;

/// The kinds of failure that callers and exit codes tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fault of this program or of the machine under it.
    Internal,
    /// The request cannot be carried out as given: flags, settings, configuration, a missing tool.
    Usage,
    /// A treatment failed, or its measurement is not valid.
    Measurement,
    /// Something that should have been removed may still be there, and may still be billing.
    Cleanup,
    /// Ended by this signal (2 SIGINT, 15 SIGTERM).
    Interrupted(i32),
}

/// A failure: its kind, its cause, and what the user can do next.
#[derive(Debug)]
pub struct Failure {
    /// Which exit code it leads to.
    pub kind: Kind,
    /// The cause, with its own sources.
    pub cause: Box<dyn Error + Send + Sync>,
    /// Next steps, most useful first; shown after the error, never part of it.
    pub hints: Vec<String>,
}

/// The result of anything that may end the program.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure of `kind` caused by `cause`.
    pub fn new(kind: Kind, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, cause: cause.into(), hints: Vec::new() }
    }

    /// A request that cannot be carried out as given.
    pub fn usage(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Kind::Usage, cause)
    }

    /// A treatment that failed or whose measurement is not valid.
    pub fn measurement(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Kind::Measurement, cause)
    }

    /// A fault of this program or of the machine under it.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Kind::Internal, cause)
    }

    /// Adds a next step for the user.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error)
    }
}
