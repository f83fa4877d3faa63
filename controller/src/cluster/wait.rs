//! Waiting for a state, with an account of the last one seen.

use std::time::{Duration, Instant};

use super::error::Error;
use crate::process::Session;

/// What a look at the state found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen<T> {
    /// It is there.
    Done(T),
    /// It is not; in words for the message of a timeout.
    NotYet(String),
}

/// How often to look.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause after the first look; each next one is half as long again.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(5) }
    }
}

/// Looks until the state is there.
///
/// A look that fails in a way that may pass (the API server restarts, a connection breaks) counts as one that saw that
/// failure. There is always one look, also with a limit of 0.
///
/// # Errors
/// [`Error::Timeout`] with the last state seen; an interruption; a failure that looking again cannot mend.
pub fn until<T>(
    session: &Session,
    what: &str,
    limit: Duration,
    pace: Pace,
    mut look: impl FnMut() -> Result<Seen<T>, Error>,
) -> Result<T, Error> {
    let deadline = Instant::now() + limit;
    let mut pause = pace.first;
    loop {
        let last_seen = match look() {
            Ok(Seen::Done(value)) => return Ok(value),
            Ok(Seen::NotYet(state)) => state,
            Err(error) if error.may_pass() => error.to_string(),
            Err(error) => return Err(error),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::Timeout { what: what.to_owned(), limit, last_seen });
        }
        session.sleep(pause.min(left))?;
        pause = (pause + pause / 2).min(pace.longest);
    }
}
