//! An open-loop client: sends requests when they are due, whatever became of earlier ones, and times them from then.
//!
//! inference-perf resolves milliseconds on two cores; what a proxy adds is tenths of one. This client exists for that
//! difference: latencies count from the moment at which a request was meant to be sent, so that neither a slow answer nor
//! a late sender hides waiting ("coordinated omission"), and go into [HdrHistogram](hdrhistogram)s of microseconds.

mod exchange;
mod plan;
mod processes;
mod qualify;
mod recording;
mod schedule;
mod stage;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use plan::{Arrivals, Component, Plan, PlanError, StagePlan};
pub use processes::Usage;
pub use qualify::{Qualification, Unfit};
pub use recording::{Percentiles, Recording};
pub use stage::StageResult;

use exchange::Target;

/// What the client's results are called in documents.
pub const NAME: &str = "testbed-open-loop";

/// Why the client could not measure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan was refused.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The endpoint does not speak the protocol that is to be measured.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What was measured.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct Report {
    /// The version of this form of report.
    pub schema_version: u32,
    /// The client's name and version.
    pub client: String,
    /// What was proven of the endpoint before any load.
    pub qualification: Qualification,
    /// The stages in order.
    pub stages: Vec<StageResult>,
}

/// Proves that the endpoint speaks the protocol, then sends every stage; `told` hears of each stage before it begins and of
/// how many of its requests have ended while it runs.
///
/// # Errors
/// When the endpoint does not qualify, or the machine gives no runtime. Requests that fail are part of the results.
pub fn run(plan: &Plan, told: impl Fn(usize, u64) + Send + Sync + 'static) -> Result<Report, Error> {
    plan.check()?;
    schedule::sharpen_timers();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(plan.threads).enable_all().build()?;
    let target = Arc::new(Target::new(plan)?);
    let qualification = runtime.block_on(qualify::qualify(&target, plan))?;
    let told = Arc::new(told);
    let mut stages = Vec::new();
    for (number, stage) in plan.stages.iter().enumerate() {
        told(number, 0);
        let told = Arc::clone(&told);
        stages.push(stage::run(&runtime, &target, plan, number, stage, move |done| told(number, done))?);
        std::thread::sleep(plan.pause());
    }
    runtime.shutdown_background();
    Ok(Report { schema_version: 1, client: format!("{NAME} {}", env!("CARGO_PKG_VERSION")), qualification, stages })
}
