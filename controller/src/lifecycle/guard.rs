//! The guard: whatever happens in between, what was set up is torn down, once.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::{Failure, Kind, Result};

/// Runs `body` and then `teardown`, exactly once, whether `body` returned, failed or panicked.
///
/// Signals are no case of their own here: they end the running program, which makes `body` fail.
///
/// # Errors
/// The failure of `body`; a panic as [`Kind::Internal`]; a failed or panicking teardown as [`Kind::Cleanup`], which
/// also tells what failed before it, because something may still be running and that is the more urgent news.
pub fn guarded<S: ?Sized, T>(
    subject: &mut S,
    body: impl FnOnce(&mut S) -> Result<T>,
    teardown: impl FnOnce(&mut S) -> Result<()>,
) -> Result<T> {
    let outcome = caught(|| body(subject));
    match caught(|| teardown(subject)) {
        Ok(()) => outcome,
        Err(cleanup) => Err(incomplete(cleanup, outcome.err())),
    }
}

fn caught<T>(step: impl FnOnce() -> Result<T>) -> Result<T> {
    // The subject is only torn down after a panic, never used for another measurement.
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| Err(Failure::internal(Panicked(message(&*panic)))))
}

/// A panic, as an error.
#[derive(Debug, thiserror::Error)]
#[error("internal error: {0}")]
struct Panicked(String);

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}

fn incomplete(cleanup: Failure, before: Option<Failure>) -> Failure {
    let mut hints = cleanup.hints.clone();
    let before = before.map(|before| {
        hints.extend(before.hints.iter().cloned());
        before.to_string()
    });
    Failure { kind: Kind::Cleanup, cause: Box::new(Incomplete { cleanup, before }), hints }
}

/// A teardown that did not complete.
#[derive(Debug)]
struct Incomplete {
    cleanup: Failure,
    before: Option<String>,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cleanup is incomplete, something may still be running")?;
        self.before.as_ref().map_or(Ok(()), |before| write!(f, " (it followed another failure: {before})"))
    }
}

impl std::error::Error for Incomplete {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.cleanup.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs with a body and a teardown that end as told, and returns the result and how often teardown ran.
    fn run(body: fn() -> Result<u32>, teardown: fn() -> Result<()>) -> (Result<u32>, u32) {
        let mut torn_down = 0;
        let result = guarded(
            &mut torn_down,
            |_| body(),
            |count| {
                *count += 1;
                teardown()
            },
        );
        (result, torn_down)
    }

    #[test]
    fn teardown_runs_once_after_success() {
        let (result, torn_down) = run(|| Ok(7), || Ok(()));
        assert_eq!((result.unwrap(), torn_down), (7, 1));
    }

    #[test]
    fn teardown_runs_once_after_a_failure_which_keeps_its_kind() {
        let (result, torn_down) = run(|| Err(Failure::measurement("no answer").hint("look")), || Ok(()));
        let failure = result.unwrap_err();
        assert_eq!((failure.kind, failure.to_string().as_str(), torn_down), (Kind::Measurement, "no answer", 1));
    }

    #[test]
    fn teardown_runs_once_after_an_interruption() {
        let (result, torn_down) = run(|| Err(Failure::new(Kind::Interrupted(15), "interrupted")), || Ok(()));
        assert_eq!((result.unwrap_err().kind, torn_down), (Kind::Interrupted(15), 1));
    }

    #[test]
    fn teardown_runs_once_after_a_panic_which_becomes_an_internal_failure() {
        let (result, torn_down) = run(|| panic!("index {} out of range", 3), || Ok(()));
        let failure = result.unwrap_err();
        assert_eq!((failure.kind, torn_down), (Kind::Internal, 1));
        assert_eq!(failure.to_string(), "internal error: index 3 out of range");
    }

    #[test]
    fn a_failed_teardown_has_its_own_kind_and_does_not_hide_what_failed_before() {
        let (result, torn_down) = run(
            || Err(Failure::measurement("no answer").hint("look at the log")),
            || Err(Failure::internal("process 12 does not end").hint("kill 12")),
        );
        let failure = result.unwrap_err();
        assert_eq!((failure.kind, torn_down), (Kind::Cleanup, 1));
        assert!(failure.to_string().contains("no answer"), "{failure}");
        assert_eq!(std::error::Error::source(&failure).unwrap().to_string(), "process 12 does not end");
        assert_eq!(failure.hints, ["kill 12", "look at the log"]);
    }

    #[test]
    fn a_teardown_that_panics_is_incomplete_cleanup() {
        let (result, torn_down) = run(|| Ok(1), || panic!("gone"));
        assert_eq!((result.unwrap_err().kind, torn_down), (Kind::Cleanup, 1));
    }
}
