//! standup, smoketest, run, collect, teardown: the order, and the guard that always tears down.

mod event;
pub mod guard;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_yaml::{Mapping, Value};

pub use event::{Event, Load, Observer, Step};

use crate::campaign::{Cell, Store};
use crate::failure::{Failure, Result};
use crate::process::{Interruption, Redactor};
use crate::provider::{Provider, Run};

/// What a campaign runs with.
pub struct Surroundings<'a> {
    /// Who is told how it goes.
    pub observer: &'a dyn Observer,
    /// Whether the user has asked to stop.
    pub interruption: &'a Interruption,
    /// What keeps secrets out of evidence.
    pub redactor: &'a Redactor,
    /// The time of day, UTC.
    pub now: fn() -> Timestamp,
}

/// Runs every cell that is not finished, in order, and stops at the first that fails.
///
/// Finished cells are never touched; a cell is published only when all its steps have succeeded and it has been torn
/// down.
///
/// # Errors
/// The first failure, after teardown.
pub fn run(
    store: &mut Store,
    cells: &[Cell],
    provider: &mut dyn Provider,
    surroundings: &Surroundings<'_>,
) -> Result<()> {
    let observer = surroundings.observer;
    let unfinished = cells.iter().any(|cell| !store.is_done(cell));
    if unfinished {
        surroundings.interruption.check()?;
        store.add_provenance(provider.prepare(observer)?)?;
    }
    for (index, cell) in cells.iter().enumerate() {
        if store.is_done(cell) {
            observer.notify(Event::AlreadyDone { cell: cell.clone() });
            continue;
        }
        surroundings.interruption.check()?;
        observer.notify(Event::Began { cell: cell.clone(), place: index + 1, of: cells.len() });
        run_cell(store, cell, provider, surroundings)?;
    }
    Ok(())
}

fn run_cell(
    store: &mut Store,
    cell: &Cell,
    provider: &mut dyn Provider,
    surroundings: &Surroundings<'_>,
) -> Result<()> {
    let work = store.begin(cell)?;
    let run = Run { cell, work: &work };
    let observer = surroundings.observer;
    let (started, began) = ((surroundings.now)(), Instant::now());
    let mut clock = Clock { cell, observer, interruption: surroundings.interruption, seconds: Vec::new() };
    let mut facts = guard::guarded(
        &mut (&mut *provider, &mut clock),
        |(provider, clock)| {
            clock.step(Step::Standup, || provider.standup(run, observer))?;
            clock.step(Step::Smoketest, || provider.smoketest(run))?;
            clock.step(Step::Load, || provider.load(run, observer))?;
            clock.step(Step::Collect, || provider.collect(run))
        },
        |(provider, clock)| clock.begun(Step::Teardown, || provider.teardown(run)),
    )?;
    let entry = &mut facts.repetition;
    entry.insert("started".into(), started.to_string().into());
    // Not the time of day: that may be set back meanwhile.
    let ended = started.saturating_add(began.elapsed()).map_err(Failure::internal)?;
    entry.insert("ended".into(), ended.to_string().into());
    entry.insert("step_seconds".into(), Value::Mapping(clock.mapping()));
    // The load is over and what is left takes seconds: a first Ctrl-C no longer throws the measurement away.
    if surroundings.interruption.urgent() {
        surroundings.interruption.check()?;
    }
    clock.begun(Step::Publish, || store.publish(cell, facts.treatment, facts.repetition, surroundings.redactor))?;
    observer.notify(Event::Published { cell: cell.clone(), seconds: clock.seconds });
    Ok(())
}

/// Tells and measures the steps of a cell.
struct Clock<'a> {
    cell: &'a Cell,
    observer: &'a dyn Observer,
    interruption: &'a Interruption,
    seconds: Vec<(Step, Duration)>,
}

impl Clock<'_> {
    /// A step that is not begun once the user has asked to stop.
    fn step<T>(&mut self, step: Step, action: impl FnOnce() -> Result<T>) -> Result<T> {
        self.interruption.check()?;
        self.begun(step, action)
    }

    /// A step that is begun in any case.
    fn begun<T>(&mut self, step: Step, action: impl FnOnce() -> Result<T>) -> Result<T> {
        self.observer.notify(Event::Step { cell: self.cell.clone(), step });
        let began = Instant::now();
        let outcome = action();
        self.seconds.push((step, began.elapsed()));
        outcome
    }

    /// The seconds of each step so far, to the millisecond.
    fn mapping(&self) -> Mapping {
        let rounded = |time: &Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        self.seconds.iter().map(|(step, time)| (step.name().into(), rounded(time).into())).collect()
    }
}

#[cfg(test)]
mod tests;
