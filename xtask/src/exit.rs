//! Exit codes: one documented code for each kind of outcome.

use std::process::ExitCode;

use controller::failure::{Failure, Kind, remedy};

use crate::context::Context;

/// The table that `--help` and the documentation print.
pub const TABLE: &str = "\
Exit codes:
  0        success
  1        internal error
  2        usage or configuration: nothing was started
  3        a treatment failed or its measurement is not valid; gate: a regression
  4        cleanup incomplete: something may still be there; gate: inconclusive
  5        gate: baseline missing or stale
  6        gate: baseline of another identity
  7        gate: the campaign is not valid
  130/143  interrupted by SIGINT / SIGTERM";

/// How a verb ended when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Success,
    /// The gate found a regression, or its self-test a rate that does not hold.
    Regression,
    /// The gate cannot say, and was told to fail then, or compared nothing.
    Inconclusive,
    /// There is no baseline, or it is stale, gone or corrupted.
    BaselineMissing,
    /// The baseline measured something else.
    IdentityMismatch,
    /// The campaign is not a valid measurement.
    InvalidCampaign,
}

impl Exit {
    fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Success => 0,
            Self::Regression => 3,
            Self::Inconclusive => 4,
            Self::BaselineMissing => 5,
            Self::IdentityMismatch => 6,
            Self::InvalidCampaign => 7,
        })
    }
}

/// Prints an error with its causes and hints, and turns the outcome into the process's exit code.
pub fn from(context: &Context, outcome: anyhow::Result<Exit>) -> ExitCode {
    let error = match outcome {
        Ok(exit) => return exit.code(),
        Err(error) => error,
    };
    let paint = |style: &str, word: &str| match context.color {
        true => format!("\u{1b}[{style}m{word}\u{1b}[0m"),
        false => word.to_owned(),
    };
    eprintln!("{}: {error}", paint("1;31", "error"));
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Some errors tell their cause themselves.
        if !told.ends_with(&cause) {
            eprintln!("  {}: {cause}", paint("31", "caused by"));
            told = cause;
        }
    }
    let failure = error.downcast_ref::<Failure>();
    let hints = failure.iter().flat_map(|failure| failure.hints.iter().map(String::as_str));
    for hint in hints.chain(remedy(failure.map_or(error.as_ref(), |failure| &*failure.cause))) {
        eprintln!("  {}: {hint}", paint("36", "hint"));
    }
    match failure.map_or(Kind::Internal, |failure| failure.kind) {
        Kind::Internal => ExitCode::from(1),
        Kind::Usage => ExitCode::from(2),
        Kind::Measurement => ExitCode::from(3),
        Kind::Cleanup => ExitCode::from(4),
        Kind::Interrupted(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
    }
}
