//! The one way to run another program.
//!
//! A [`Command`] says what to run; a [`Session`] knows where it is recorded, what may not be shown and whether the user
//! has asked to stop. Every child gets a process group of its own, no terminal, neutral locale, a log file, a line in the
//! journal and an end: by itself, by its timeout, by its watchdog, or with the interruption that ended us.
//!
//! ```no_run
//! # use controller::process::{Command, Session};
//! # fn example(session: &Session) -> Result<(), controller::process::Error> {
//! let version = Command::new("kubectl version", "kubectl").args(["version", "--client"]).capture(64 << 10).run(session)?;
//! println!("{}", version.stdout());
//! # Ok(())
//! # }
//! ```

mod child;
mod command;
mod error;
mod group;
mod interrupt;
mod journal;
pub mod limits;
mod log;
pub mod orphans;
mod output;
mod redact;
mod session;
mod supervise;

pub use child::Child;
pub use command::{Command, Inherit, quote};
pub use error::{Error, Reason};
pub use interrupt::{Interrupted, Interruption};
pub use journal::JournalEntry;
pub use output::Stream;
pub use redact::{REDACTED, Redactor};
pub use session::{Places, Session};
pub use supervise::{Finished, Observer};

#[cfg(test)]
mod tests;
