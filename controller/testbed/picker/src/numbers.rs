//! What the picker tells about itself, beside what it chose.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use testbed::serve::Histogram;

/// Counters of the protocol.
#[derive(Debug, Default)]
pub struct Numbers {
    /// Seconds from the end of a request's body to its choice.
    decisions: Mutex<Histogram>,
    /// Requests whose answer has not ended.
    in_flight: AtomicU64,
    shed: AtomicU64,
    without_server: AtomicU64,
    refused: AtomicU64,
    abandoned: AtomicU64,
}

/// Why a request was answered by the picker itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// 429: too many are in flight.
    Shed,
    /// 503: no server answers.
    WithoutServer,
    /// 4xx: it cannot be understood.
    Refused,
}

impl Numbers {
    /// Counts a choice that took this long.
    pub fn decided(&self, time: Duration) {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).add(time.as_secs_f64());
    }

    /// Counts a request that the picker answered itself.
    pub fn answered(&self, why: Answered) {
        let counter = match why {
            Answered::Shed => &self.shed,
            Answered::WithoutServer => &self.without_server,
            Answered::Refused => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request whose proxy went away before its end.
    pub fn abandoned(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests whose answer has not ended.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// One more request in flight.
    pub(crate) fn began(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// One request less in flight.
    pub(crate) fn ended(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// The metrics page.
    pub fn page(&self, available: usize) -> String {
        let mut page = String::new();
        let mut line = |kind: &str, name: &str, help: &str, labels: &str, value: u64| {
            // Writing into a String cannot fail.
            writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}").unwrap_or_default();
        };
        line("gauge", "testbed_picker_inflight_requests", "Requests under way.", "", self.in_flight());
        line("gauge", "testbed_picker_available_servers", "Servers that answer.", "", available as u64);
        let abandoned = self.abandoned.load(Ordering::Relaxed);
        line("counter", "testbed_picker_abandoned_total", "Requests whose proxy went away.", "", abandoned);
        let name = "testbed_picker_immediate_responses_total";
        line(
            "counter",
            name,
            "Requests answered by the picker.",
            "{status=\"429\"}",
            self.shed.load(Ordering::Relaxed),
        );
        for (status, count) in [("503", &self.without_server), ("4xx", &self.refused)] {
            writeln!(page, "{name}{{status=\"{status}\"}} {}", count.load(Ordering::Relaxed)).unwrap_or_default();
        }
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let help = "From the end of a request's body to its choice.";
        decisions.write(&mut page, "testbed_picker_decision_seconds", help, "phase=\"request\"");
        page
    }
}
