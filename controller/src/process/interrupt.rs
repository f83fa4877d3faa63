//! Interruption: SIGINT, SIGTERM and SIGHUP become a question that long work asks itself.
//!
//! The first signal asks for an orderly end, the second for one at once. Cleanup goes on through both, because what it
//! leaves behind may be billed; only a third signal abandons it.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, Kind};

/// Whether, and how urgently, the user has asked to stop. Clones share what was asked.
#[derive(Clone, Debug, Default)]
pub struct Interruption {
    asked: Arc<Asked>,
    tolerated: usize,
}

#[derive(Debug, Default)]
struct Asked {
    signals: Mutex<Vec<i32>>,
    arrived: Condvar,
}

/// The work was stopped because this signal arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by {}", signal_name(*.0))]
pub struct Interrupted(pub i32);

impl From<Interrupted> for Failure {
    fn from(interrupted: Interrupted) -> Self {
        Self::new(Kind::Interrupted(interrupted.0), interrupted)
    }
}

/// How many signals cleanup works through before it gives up.
const TOLERATED_BY_CLEANUP: usize = 2;

impl Interruption {
    /// The process's own: listens to SIGINT, SIGTERM and SIGHUP from the first call on.
    ///
    /// # Errors
    /// When the handlers cannot be installed or their thread cannot be started.
    pub fn install() -> io::Result<Self> {
        static INSTALLED: OnceLock<Interruption> = OnceLock::new();
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(installed) = INSTALLED.get() {
            return Ok(installed.clone());
        }
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let interruption = Self::default();
        let listener = interruption.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                listener.deliver(signal);
            }
        })?;
        Ok(INSTALLED.get_or_init(|| interruption).clone())
    }

    /// Records a signal, as the handler does.
    pub fn deliver(&self, signal: i32) {
        self.signals().push(signal);
        self.asked.arrived.notify_all();
    }

    /// The same interruption as cleanup sees it: the first two signals do not stop it.
    #[must_use]
    pub fn for_cleanup(&self) -> Self {
        Self { asked: Arc::clone(&self.asked), tolerated: TOLERATED_BY_CLEANUP }
    }

    /// The first signal that has to be heeded, if one has arrived.
    pub fn signal(&self) -> Option<i32> {
        self.signals().get(self.tolerated).copied()
    }

    /// Whether the user has asked again: no more grace.
    pub fn urgent(&self) -> bool {
        self.signals().len() > self.tolerated.max(1)
    }

    /// # Errors
    /// [`Interrupted`] once a signal has arrived.
    pub fn check(&self) -> Result<(), Interrupted> {
        self.signal().map_or(Ok(()), |signal| Err(Interrupted(signal)))
    }

    /// Sleeps, and wakes early when a signal arrives.
    ///
    /// # Errors
    /// [`Interrupted`] when a signal has arrived before the time was over.
    pub fn sleep(&self, time: Duration) -> Result<(), Interrupted> {
        let end = Instant::now() + time;
        let mut signals = self.signals();
        loop {
            if let Some(&signal) = signals.get(self.tolerated) {
                return Err(Interrupted(signal));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            signals = self.asked.arrived.wait_timeout(signals, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn signals(&self) -> std::sync::MutexGuard<'_, Vec<i32>> {
        self.asked.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `SIGINT` for 2 and so on.
pub(super) fn signal_name(signal: i32) -> impl fmt::Display {
    nix::sys::signal::Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |known| known.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_interrupts_and_the_second_is_urgent() {
        let interruption = Interruption::default();
        assert!(interruption.check().is_ok());
        interruption.deliver(SIGTERM);
        assert_eq!(interruption.signal(), Some(SIGTERM));
        assert!(!interruption.urgent());
        interruption.deliver(SIGINT);
        assert_eq!(interruption.check(), Err(Interrupted(SIGTERM)));
        assert!(interruption.urgent());
    }

    #[test]
    fn cleanup_goes_on_through_two_signals_and_stops_at_the_third() {
        let interruption = Interruption::default();
        let cleanup = interruption.for_cleanup();
        interruption.deliver(SIGINT);
        interruption.deliver(SIGINT);
        assert!(cleanup.check().is_ok() && !cleanup.urgent());
        interruption.deliver(SIGINT);
        assert_eq!(cleanup.signal(), Some(SIGINT));
        assert!(cleanup.urgent());
    }

    #[test]
    fn a_sleep_ends_when_a_signal_arrives() {
        let interruption = Interruption::default();
        let sender = interruption.clone();
        let thread = std::thread::spawn(move || sender.deliver(SIGTERM));
        assert_eq!(interruption.sleep(Duration::from_secs(60)), Err(Interrupted(SIGTERM)));
        thread.join().unwrap();
        assert!(interruption.for_cleanup().sleep(Duration::from_millis(1)).is_ok());
    }

    #[test]
    fn an_interruption_names_its_signal_and_its_exit_code() {
        assert_eq!(Interrupted(15).to_string(), "interrupted by SIGTERM");
        assert_eq!(Failure::from(Interrupted(2)).kind, Kind::Interrupted(2));
    }
}
