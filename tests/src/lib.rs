//! Scripted fakes and helpers for the end-to-end tests.

pub mod fake;
mod harness;
mod world;

pub use harness::{PLANTED, Script, stage_file};
pub use world::{Outcome, STAGES, World, outcome, running, wait_until};
