//! How running a program can fail, told apart, with everything a person needs to find out why.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::interrupt::signal_name;
use crate::failure::{Failure, Kind};

/// A program that could not be run to its end, or ended badly. All text in it is redacted.
#[derive(Debug)]
pub struct Error(Box<Details>);

#[derive(Debug)]
pub(super) struct Details {
    pub(super) step: String,
    pub(super) command: String,
    pub(super) reason: Reason,
    pub(super) elapsed: Duration,
    pub(super) log: Option<PathBuf>,
    pub(super) stdout_tail: String,
    pub(super) stderr_tail: String,
}

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// There is no such program.
    #[error("{}", missing(.0))]
    Missing(String),
    /// The program is there but could not be started.
    #[error("it could not be started: {0}")]
    NotStarted(#[source] io::Error),
    /// It ended with a code that is not a success.
    #[error("it ended with exit code {0}")]
    Exit(i32),
    /// A signal that we did not send ended it.
    #[error("it was killed by {}", signal_name(*.0))]
    Signal(i32),
    /// It ran longer than it may.
    #[error("it was ended because it took longer than {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// It showed no sign of progress for this long.
    #[error("it was ended because it made no progress for {} s", .0.as_secs_f64())]
    NoProgress(Duration),
    /// The user asked to stop, with this signal.
    #[error("it was interrupted by {}", signal_name(*.0))]
    Interrupted(i32),
    /// It wrote more than the caller can use.
    #[error("it wrote more than the {0} bytes that were expected")]
    TooMuchOutput(usize),
    /// It ended although it should still be running.
    #[error("it ended too early ({0})")]
    EndedEarly(String),
    /// It ended as if all were well, but what it was to make is not there.
    #[error("it ended with exit code 0, but {} is not there", .0.display())]
    NoEffect(PathBuf),
    /// It ran, but its log or the journal could not be written.
    #[error("its log could not be written: {0}")]
    Record(#[source] io::Error),
    /// Waiting for it failed.
    #[error("waiting for it failed: {0}")]
    Wait(#[source] io::Error),
}

impl Error {
    pub(super) fn new(details: Details) -> Self {
        Self(Box::new(details))
    }

    /// Why it failed.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The step's name.
    pub fn step(&self) -> &str {
        &self.0.step
    }

    /// The command line as it can be pasted into a shell.
    pub fn command(&self) -> &str {
        &self.0.command
    }

    /// The step's log file.
    pub fn log(&self) -> Option<&std::path::Path> {
        self.0.log.as_deref()
    }

    /// The last lines of its standard output.
    pub fn stdout_tail(&self) -> &str {
        &self.0.stdout_tail
    }

    /// The last lines of its standard error.
    pub fn stderr_tail(&self) -> &str {
        &self.0.stderr_tail
    }

    /// Whether the program does not exist here, as opposed to having failed.
    pub fn is_missing(&self) -> bool {
        matches!(self.0.reason, Reason::Missing(_))
    }

    /// The failure this is when it ends a step of this kind; an interruption or a missing program keeps its own kind.
    pub fn failure(self, kind: Kind) -> Failure {
        let kind = match self.0.reason {
            Reason::Interrupted(signal) => Kind::Interrupted(signal),
            Reason::Missing(_) if kind != Kind::Cleanup => Kind::Usage,
            _ => kind,
        };
        let hint = match &self.0.reason {
            Reason::Missing(program) if is_path(program) => {
                Some("an earlier step made it, and it has gone since: run again".to_owned())
            }
            Reason::Missing(program) => {
                Some(format!("install `{program}` or put it on PATH; `cargo xtask doctor` checks what is needed"))
            }
            Reason::Interrupted(_) => None,
            _ => Some(match &self.0.log {
                Some(log) => format!("read the whole output in {}", log.display()),
                None => "the command above can be pasted into a shell to see what it says".to_owned(),
            }),
        };
        let failure = Failure::new(kind, self);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Whether a program is named by its place instead of by a name to search for.
fn is_path(program: &str) -> bool {
    program.contains('/')
}

fn missing(program: &str) -> String {
    if is_path(program) { format!("`{program}` is not there") } else { format!("`{program}` was not found on PATH") }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { step, command, reason, elapsed, log, stdout_tail, stderr_tail } = &*self.0;
        write!(f, "{step} failed: {reason}")?;
        if !matches!(reason, Reason::Missing(_) | Reason::NotStarted(_)) {
            write!(f, " (after {:.1} s)", elapsed.as_secs_f64())?;
        }
        write!(f, "\n  command: {command}")?;
        if let Some(log) = log {
            write!(f, "\n  log: {}", log.display())?;
        }
        if matches!(reason, Reason::Interrupted(_)) {
            // What a program says while it is being ended explains nothing.
            return Ok(());
        }
        for (name, tail) in [("stdout", stdout_tail), ("stderr", stderr_tail)] {
            if !tail.is_empty() {
                write!(f, "\n  end of {name}:")?;
                for line in tail.lines() {
                    write!(f, "\n    {line}")?;
                }
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        error.failure(Kind::Internal)
    }
}
