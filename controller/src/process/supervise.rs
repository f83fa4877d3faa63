//! Follows a child to its end: lines, ticks, limits, interruption, and what became of it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::child::Child;
use super::error::{Error, Reason};
use super::group;
use super::output::Stream;

/// How often limits are checked and the observer is asked.
const TICK: Duration = Duration::from_millis(100);
/// How long the output may stay open after the program has ended, held by something it started.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a killed process may take to disappear before we stop waiting for it.
pub(super) const KILLED: Duration = Duration::from_secs(5);

/// What a child's threads report.
#[derive(Debug)]
pub(super) enum Event {
    /// A line of output, not redacted.
    Line(Stream, String),
    /// A stream has ended.
    Closed,
    /// The program has ended.
    Exited(std::io::Result<ExitStatus>),
}

/// Watches a program while it runs.
pub trait Observer {
    /// Takes a line of its output. Not redacted: show it only through [`super::Redactor::redact`].
    fn line(&mut self, _stream: Stream, _text: &str) {}

    /// Asked about ten times a second; a value other than the last one counts as progress. It must not block for long.
    fn tick(&mut self) -> Option<u64> {
        None
    }

    /// Whether lines are to be delivered at all.
    fn wants_lines(&self) -> bool {
        true
    }
}

/// Watches nothing.
pub(super) struct Ignore;

impl Observer for Ignore {
    fn wants_lines(&self) -> bool {
        false
    }
}

impl<F: FnMut(Stream, &str)> Observer for F {
    fn line(&mut self, stream: Stream, text: &str) {
        self(stream, text);
    }
}

/// A program that ended with an accepted exit code.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit code.
    pub code: i32,
    /// How long it ran.
    pub elapsed: Duration,
    /// The last lines of its standard output, redacted.
    pub stdout_tail: String,
    /// The last lines of its standard error, redacted.
    pub stderr_tail: String,
    /// Its log file.
    pub log: Option<PathBuf>,
    pub(super) captured: Vec<u8>,
}

impl Finished {
    /// The captured standard output as text; empty unless [`super::Command::capture`] was asked for.
    pub fn stdout(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.captured)
    }

    /// The captured standard output as it came.
    pub fn stdout_bytes(&self) -> &[u8] {
        &self.captured
    }
}

/// A child that we have asked to end.
struct Ending {
    reason: Reason,
    kill_at: Instant,
    killed: bool,
}

impl Child {
    /// Follows it to its end.
    pub(super) fn finish(mut self, observer: &mut dyn Observer) -> Result<Finished, Error> {
        let mut ending: Option<Ending> = None;
        let mut last_value = None;
        let mut next_tick = Instant::now() + TICK;
        let mut exited_at: Option<Instant> = None;
        loop {
            match self.events.recv_timeout(next_tick.saturating_duration_since(Instant::now())) {
                Ok(Event::Line(stream, text)) => observer.line(stream, &text),
                Ok(Event::Closed) => self.open_streams = self.open_streams.saturating_sub(1),
                Ok(Event::Exited(status)) => {
                    exited_at = Some(Instant::now());
                    self.exit = Some(status);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if let Some(at) = exited_at {
                if self.open_streams == 0 || at.elapsed() > 2 * DRAIN {
                    break;
                }
                if at.elapsed() > DRAIN {
                    group::signal(self.pid, Signal::SIGKILL);
                }
            }
            if Instant::now() < next_tick {
                continue;
            }
            next_tick = Instant::now() + TICK;
            let value = observer.tick();
            if value.is_some() && value != last_value {
                last_value = value;
                self.shared.touch();
            }
            match &mut ending {
                Some(ending) if exited_at.is_none() => {
                    if Instant::now() > ending.kill_at + KILLED {
                        break;
                    }
                    let kill = Instant::now() >= ending.kill_at || self.session.interruption().urgent();
                    if kill && !ending.killed {
                        group::signal(self.pid, Signal::SIGKILL);
                        ending.killed = true;
                        ending.kill_at = Instant::now();
                    }
                }
                None if exited_at.is_none() => {
                    if let Some(reason) = self.reason_to_end() {
                        ending = Some(self.ask_to_end(reason));
                    }
                }
                _ => {}
            }
        }
        self.conclude(ending.map(|ending| ending.reason))
    }

    fn reason_to_end(&self) -> Option<Reason> {
        if let Some(signal) = self.session.interruption().signal() {
            return Some(Reason::Interrupted(signal));
        }
        let limits = &self.limits;
        // A flood is not read to its end: nobody can use it.
        if let Some(limit) = limits.capture.filter(|_| self.overflowed()) {
            return Some(Reason::TooMuchOutput(limit));
        }
        if let Some(limit) = limits.timeout.filter(|limit| self.started.elapsed() > *limit) {
            return Some(Reason::Timeout(limit));
        }
        limits.no_progress.filter(|limit| self.shared.idle() > *limit).map(Reason::NoProgress)
    }

    fn overflowed(&self) -> bool {
        self.shared.captured.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1
    }

    fn ask_to_end(&self, reason: Reason) -> Ending {
        let signal = match reason {
            Reason::Interrupted(signal) => group::or_term(signal),
            _ => Signal::SIGTERM,
        };
        group::signal(self.pid, signal);
        Ending { reason, kill_at: Instant::now() + self.limits.grace, killed: false }
    }

    /// Kills what is left of its group, records its end, and says what became of it.
    fn conclude(&mut self, ended_because: Option<Reason>) -> Result<Finished, Error> {
        group::signal(self.pid, Signal::SIGKILL);
        let (captured, overflow) =
            std::mem::take(&mut *self.shared.captured.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let outcome = match (ended_because, self.exit.take()) {
            (Some(reason), _) => Err(reason),
            (None, Some(Ok(status))) => self.judge(status, overflow),
            (None, Some(Err(error))) => Err(Reason::Wait(error)),
            (None, None) => Err(Reason::Wait(std::io::Error::other("its threads ended before it did"))),
        };
        let said = match &outcome {
            Ok(code) => format!("exit {code}"),
            Err(reason) => reason.short(),
        };
        let recorded = self.record(&said);
        let code = outcome.map_err(|reason| self.error(reason))?;
        recorded.map_err(|error| self.error(Reason::Record(error)))?;
        Ok(Finished {
            code,
            elapsed: self.started.elapsed(),
            stdout_tail: self.shared.tail(Stream::Stdout, self.session.redactor()),
            stderr_tail: self.shared.tail(Stream::Stderr, self.session.redactor()),
            log: self.log_path(),
            captured,
        })
    }

    fn judge(&self, status: ExitStatus, overflow: bool) -> Result<i32, Reason> {
        use std::os::unix::process::ExitStatusExt;
        match status.code() {
            None => Err(Reason::Signal(status.signal().unwrap_or_default())),
            Some(code) if !self.limits.accepted.contains(&code) => Err(Reason::Exit(code)),
            Some(_) if overflow => Err(Reason::TooMuchOutput(self.limits.capture.unwrap_or_default())),
            Some(code) => match &self.limits.makes {
                Some(made) if !made.exists() => Err(Reason::NoEffect(made.clone())),
                _ => Ok(code),
            },
        }
    }
}

impl Reason {
    /// The journal's words.
    pub(super) fn short(&self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(signal) => super::interrupt::signal_name(*signal).to_string(),
            Self::Timeout(_) => "timeout".to_owned(),
            Self::NoProgress(_) => "no progress".to_owned(),
            Self::Interrupted(signal) => format!("interrupted by {}", super::interrupt::signal_name(*signal)),
            other => other.to_string(),
        }
    }
}
