//! One file a verb: its flags (`Args`) and what it does (`run`).

pub mod audit;
pub mod baseline;
pub mod benchmark;
pub mod ci;
pub mod clean;
pub mod completions;
pub mod doctor;
pub mod export;
pub mod forecast;
pub mod gate;
pub mod gke;
pub mod list;
pub mod plan;
pub mod report;
pub mod testbed;
pub mod upstream;
