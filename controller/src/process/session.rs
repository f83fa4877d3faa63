//! What all programs of one invocation share: where they are recorded, what is secret, whether to stop.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::interrupt::{Interrupted, Interruption};
use super::redact::Redactor;

/// Where programs are recorded. All optional: what has no place is not recorded.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The folder of the log files, one a command, numbered in order.
    pub logs: Option<PathBuf>,
    /// The journal, `commands.jsonl`.
    pub journal: Option<PathBuf>,
    /// The folder in which running children are noted, so that [`super::orphans`] finds what a crash left behind.
    pub running: Option<PathBuf>,
}

/// Shared by all programs of one invocation; cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    places: Places,
    redactor: Redactor,
    interruption: Interruption,
    lenient: bool,
    sequence: Arc<AtomicUsize>,
}

impl Session {
    /// A session that records at these places.
    pub fn new(places: Places, redactor: Redactor, interruption: Interruption) -> Self {
        Self { places, redactor, interruption, lenient: false, sequence: Arc::default() }
    }

    /// A session that records nothing and is never interrupted: for questions such as `git --version`.
    pub fn unrecorded() -> Self {
        Self::new(Places::default(), Redactor::new(), Interruption::default())
    }

    /// A session that records nothing, but listens to signals and knows the secrets of our environment.
    ///
    /// # Errors
    /// When signals cannot be listened to.
    pub fn listening() -> std::io::Result<Self> {
        let redactor = Redactor::new();
        redactor.add_environment(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        );
        Ok(Self::new(Places::default(), redactor, Interruption::install()?))
    }

    /// The same session with its logs in another folder.
    #[must_use]
    pub fn logging_to(&self, logs: impl Into<PathBuf>) -> Self {
        let mut session = self.clone();
        session.places.logs = Some(logs.into());
        session
    }

    /// The same session without log files: for programs that print credentials, and for questions asked again and again.
    #[must_use]
    pub fn without_logs(&self) -> Self {
        let mut session = self.clone();
        session.places.logs = None;
        session
    }

    /// The same session for cleaning up: goes on through the first two signals, and runs programs even when nothing can
    /// be recorded, because a full disk must not keep a cluster alive.
    #[must_use]
    pub fn for_cleanup(&self) -> Self {
        Self { interruption: self.interruption.for_cleanup(), lenient: true, ..self.clone() }
    }

    /// What must not be shown.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Whether the user asked to stop.
    pub fn interruption(&self) -> &Interruption {
        &self.interruption
    }

    /// # Errors
    /// [`Interrupted`] once the user has asked to stop.
    pub fn check(&self) -> Result<(), Interrupted> {
        self.interruption.check()
    }

    /// Sleeps unless interrupted.
    ///
    /// # Errors
    /// [`Interrupted`] when the user has asked to stop before the time was over.
    pub fn sleep(&self, time: Duration) -> Result<(), Interrupted> {
        self.interruption.sleep(time)
    }

    pub(super) fn lenient(&self) -> bool {
        self.lenient
    }

    pub(super) fn journal(&self) -> Option<&Path> {
        self.places.journal.as_deref()
    }

    pub(super) fn running(&self) -> Option<&Path> {
        self.places.running.as_deref()
    }

    /// A fresh log file's path: `<n>-<step>.log`, never one that exists, since a campaign may be resumed.
    pub(super) fn next_log(&self, step: &str) -> Option<PathBuf> {
        let folder = self.places.logs.as_deref()?;
        let name: String = step.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).take(60).collect();
        loop {
            let number = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
            let path = folder.join(format!("{number:03}-{name}.log"));
            if !path.exists() {
                return Some(path);
            }
        }
    }
}
