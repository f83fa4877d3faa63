//! Templates and deep merge: the scenario and specification of a cluster treatment.
//!
//! Everything rendered here is read by Python programs, so it leaves through [`emit`], which PyYAML reads back unchanged.

mod emit;
mod error;
mod invariant;
mod merge;
pub mod names;
mod plan;
mod scenario;
mod spec;
mod steps;
mod template;
mod treatment;

#[cfg(test)]
mod tests;

pub use emit::emit;
pub use error::Error;
pub use plan::{Plan, PlannedCell, plan, workload};
pub use steps::{
    CAMPAIGN_ANNOTATION, COLLECTOR, CONFIGURATION_ANNOTATION, MANAGED_BY, PARAMETERS, READY_ANNOTATION, Step, Steps,
    Subject, TREATMENT_LABEL, create_kind,
};
pub use treatment::{NAMESPACE_FILE, Places, Rendered, treatment};
