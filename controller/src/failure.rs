//! What went wrong, in words for a person and as a kind for an exit code.

use std::error::Error;
use std::{fmt, io};

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

/// What helps against a condition of the machine (a full disk, no free port) found anywhere among an error's causes.
pub fn remedy(error: &(dyn Error + 'static)) -> Option<&'static str> {
    std::iter::successors(Some(error), |error| (**error).source()).find_map(|cause| {
        let cause = cause.downcast_ref::<io::Error>()?;
        match (cause.kind(), cause.raw_os_error()) {
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                Some("make room on that disk (`cargo xtask clean` removes what earlier runs left), then run again")
            }
            (io::ErrorKind::ReadOnlyFilesystem, _) => Some("that file system is read-only: use another folder"),
            (io::ErrorKind::AddrInUse, _) => Some(
                "free the port; where any would do (port 0), end programs that hold many or widen \
                 net.ipv4.ip_local_port_range",
            ),
            (_, Some(TOO_MANY_FILES | TOO_MANY_FILES_IN_ALL)) => {
                Some("allow more open files before the run: ulimit -n 8192")
            }
            // What an error of this type wraps is not its source, but may be the reason.
            _ => cause.get_ref().and_then(|inner| remedy(inner)),
        }
    })
}

const TOO_MANY_FILES: i32 = nix::errno::Errno::EMFILE as i32;
const TOO_MANY_FILES_IN_ALL: i32 = nix::errno::Errno::ENFILE as i32;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_recognised_below_other_errors() {
        let full = || io::Error::from_raw_os_error(nix::errno::Errno::ENOSPC as i32);
        let wrapped = Failure::internal(io::Error::other(full()));
        assert!(remedy(&*wrapped.cause).unwrap().starts_with("make room on that disk"));
        let files = io::Error::from_raw_os_error(TOO_MANY_FILES);
        assert!(remedy(&files).unwrap().ends_with("ulimit -n 8192"));
        assert_eq!(remedy(&io::Error::other("no such thing")), None);
    }
}
