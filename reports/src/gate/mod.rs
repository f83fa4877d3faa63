//! The regression gate: limits, baselines' contents, verdicts.

pub mod baseline;
pub mod calibration;
pub mod decide;
pub mod document;
pub mod identity;
pub mod limits;
pub mod metric;
pub mod observe;
pub mod outcome;
pub mod render;
pub mod rows;
pub mod samples;
pub mod self_test;
pub mod summary;
pub mod validity;
