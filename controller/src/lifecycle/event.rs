//! What a running campaign tells about itself.

use std::time::Duration;

use crate::campaign::Cell;

/// Something that happened; shown by the command line, recorded by tests.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A step that belongs to no cell began, for instance preparing the Python environment.
    Preparing {
        /// What is being done, as a present participle: "installing inference-perf 0.7.0".
        what: String,
    },
    /// A cell that an earlier run finished is left as it is.
    AlreadyDone {
        /// The cell.
        cell: Cell,
    },
    /// A cell began.
    Began {
        /// The cell.
        cell: Cell,
        /// Its place in the campaign, from 1.
        place: usize,
        /// How many cells the campaign has.
        of: usize,
    },
    /// A cell reached a step: "standup", "smoketest", "load", …
    Step {
        /// The cell.
        cell: Cell,
        /// The step.
        step: Step,
    },
    /// The load moved on.
    Load(Load),
    /// A cell was published.
    Published {
        /// The cell.
        cell: Cell,
        /// How long each step took, in order.
        seconds: Vec<(Step, Duration)>,
    },
    /// Something that does not end the campaign but that the reader of its results should know.
    Warning {
        /// What is wrong.
        text: String,
        /// What to do about it.
        remedy: String,
    },
}

/// How far the load of one cell has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The stage, from 1.
    pub stage: usize,
    /// How many stages the ladder has.
    pub stages: usize,
    /// The stage's requested rate in requests per second; `None` for a stage of constant concurrency.
    pub rate: Option<f64>,
    /// Requests completed in this stage.
    pub done: u64,
    /// Requests planned in this stage.
    pub planned: u64,
    /// Expected time until the whole ladder has been sent.
    pub remaining: Option<Duration>,
}

/// The steps of a cell, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The treatment is started.
    Standup,
    /// One request proves that it answers.
    Smoketest,
    /// The harness runs.
    Load,
    /// Evidence is gathered.
    Collect,
    /// The treatment is removed.
    Teardown,
    /// Evidence is converted, redacted, compressed and published.
    Publish,
}

impl Step {
    /// The step's name, as in logs and in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standup => "standup",
            Self::Smoketest => "smoketest",
            Self::Load => "load",
            Self::Collect => "collect",
            Self::Teardown => "teardown",
            Self::Publish => "publish",
        }
    }
}

/// Who is told about events; called from the thread that runs the campaign and from those that follow its programs.
pub trait Observer: Sync {
    /// Takes notice of `event`.
    fn notify(&self, event: Event);
}

impl<F: Fn(Event) + Sync> Observer for F {
    fn notify(&self, event: Event) {
        self(event);
    }
}
