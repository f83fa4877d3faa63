//! Events as plain lines: each step once, and at least one line for each tenth of a stage.

use std::time::Duration;

use controller::lifecycle::{Event, Load, Step};

/// Turns events into lines and remembers which tenth was told last.
#[derive(Debug)]
pub struct Lines {
    color: bool,
    cell: String,
    told: Option<(usize, u64)>,
}

impl Lines {
    /// Lines, with or without colour.
    pub fn new(color: bool) -> Self {
        Self { color, cell: String::new(), told: None }
    }

    /// The line for `event`, if it is worth one.
    pub fn line(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Preparing { what } => Some(what.clone()),
            Event::AlreadyDone { cell } => Some(format!("{cell}: finished by an earlier run, left as it is")),
            Event::Began { cell, place, of } => {
                self.cell = cell.to_string();
                self.told = None;
                Some(format!("{cell} ({place} of {of})"))
            }
            Event::Step { cell, step } => Some(format!("{cell}: {}", doing(*step))),
            Event::Load(load) => self.heartbeat(load),
            Event::Published { cell, seconds } => Some(format!("{cell}: published{}", own_time(seconds))),
            Event::Warning { text, remedy } => Some(warning(self.color, text, remedy)),
        }
    }

    fn heartbeat(&mut self, load: &Load) -> Option<String> {
        let tenth = (load.done.min(load.planned) * 10).checked_div(load.planned).unwrap_or(0);
        if self.told.is_some_and(|told| told >= (load.stage, tenth)) {
            return None;
        }
        self.told = Some((load.stage, tenth));
        Some(format!("{}: {}", self.cell, position(load)))
    }
}

/// `stage 2 of 6 at 12 requests/s: 30 of 36 requests (83%), about 41 s left`.
pub fn position(load: &Load) -> String {
    let percent = (load.done * 100).checked_div(load.planned).unwrap_or(0);
    let rate = load.rate.map_or_else(String::new, |rate| format!(" at {rate} requests/s"));
    let left = load
        .remaining
        .filter(|left| left.as_secs() > 0)
        .map_or_else(String::new, |left| format!(", about {} left", duration(left)));
    format!(
        "stage {} of {}{rate}: {} of {} requests ({percent}%){left}",
        load.stage, load.stages, load.done, load.planned
    )
}

/// What a step does, for a person.
pub fn doing(step: Step) -> &'static str {
    match step {
        Step::Standup => "starting the treatment",
        Step::Smoketest => "sending one request through it",
        Step::Load => "running the load",
        Step::Collect => "collecting evidence",
        Step::Teardown => "removing the treatment",
        Step::Publish => "publishing evidence",
    }
}

/// Time spent on everything but the load, which the user did not ask for.
fn own_time(seconds: &[(Step, Duration)]) -> String {
    let sum =
        |load: bool| seconds.iter().filter(|(step, _)| (*step == Step::Load) == load).map(|(_, time)| *time).sum();
    format!(" ({} of load, {} around it)", duration(sum(true)), duration(sum(false)))
}

/// A warning with its remedy, marked by its word and not by its colour alone.
pub fn warning(color: bool, text: &str, remedy: &str) -> String {
    let word = if color { "\u{1b}[1;33mwarning\u{1b}[0m" } else { "warning" };
    format!("{word}: {text}; {remedy}")
}

/// `850 ms`, `41 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..120 => format!("{seconds} s"),
        120..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use controller::campaign::Cell;

    use super::*;

    fn load(stage: usize, done: u64) -> Event {
        let remaining = Some(Duration::from_secs(41));
        Event::Load(Load { stage, stages: 6, rate: Some(12.0), done, planned: 36, remaining })
    }

    #[test]
    fn a_stage_is_told_once_for_each_tenth_and_never_backwards() {
        let mut lines = Lines::new(false);
        let cell = Cell { treatment: "service".into(), repetition: 1 };
        assert_eq!(lines.line(&Event::Began { cell, place: 1, of: 3 }).unwrap(), "service repetition 1 (1 of 3)");
        let told: Vec<_> = (0..=36).filter_map(|done| lines.line(&load(2, done))).collect();
        assert_eq!(told.len(), 11);
        assert_eq!(
            told[8],
            "service repetition 1: stage 2 of 6 at 12 requests/s: 29 of 36 requests (80%), about 41 s left"
        );
        assert_eq!(lines.line(&load(2, 35)), None);
        assert!(lines.line(&load(3, 0)).unwrap().contains("stage 3 of 6"));
    }

    #[test]
    fn a_stage_of_which_nothing_is_planned_is_told_once() {
        let mut lines = Lines::new(false);
        let empty = Event::Load(Load { stage: 1, stages: 1, rate: Some(1.0), done: 0, planned: 0, remaining: None });
        assert!(lines.line(&empty).unwrap().ends_with("0 of 0 requests (0%)"));
        assert_eq!(lines.line(&empty), None);
    }

    #[test]
    fn a_warning_carries_its_remedy_and_needs_no_colour() {
        let event = Event::Warning { text: "3 ports are busy".into(), remedy: "stop them".into() };
        assert_eq!(Lines::new(false).line(&event).unwrap(), "warning: 3 ports are busy; stop them");
        assert!(Lines::new(true).line(&event).unwrap().contains("warning"));
    }

    #[test]
    fn durations_are_rounded_to_what_matters() {
        for (seconds, text) in [(0.45, "450 ms"), (41.4, "41 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 5 min")] {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), text);
        }
    }
}
