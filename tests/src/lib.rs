//! Scripted fakes and helpers for the end-to-end tests.

mod confined;
pub mod fake;
pub mod faults;
mod harness;
mod lab;
pub mod python;
mod world;

pub use confined::Confined;
pub use harness::{Script, stage_file};
pub use lab::{Lab, TOKEN};
pub use world::{Outcome, STAGES, World, outcome, processes, program, running, wait_until};
