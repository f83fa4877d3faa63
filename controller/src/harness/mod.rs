//! inference-perf: its Python environment, its workload, its run with progress and watchdog, and what its files prove.

mod outcome;
mod progress;
pub mod python;
mod run;
mod workload;

pub use outcome::{Invalid, Limits, Outcome, Remark, StageOutcome, judge};
pub use progress::{Progress, Watcher};
pub use python::Environment;
pub use run::{Options, WORKLOAD_FILE, run};
pub use workload::{Error as WorkloadError, PlannedStage, Problem as WorkloadProblem, Target, Workload};

#[cfg(test)]
mod tests;
