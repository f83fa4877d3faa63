//! The deterministic core: model servers and the endpoint picker against an abstract clock, in seconds.
//!
//! Nothing here knows what drives it: a driver submits requests, asks a [`Server`] for its next step, and lets the time
//! of that step pass, on a wall clock or not. The same inputs in the same order give the same outputs.

pub mod cache;
pub mod hash;
pub mod picker;
mod schedule;
pub mod server;

pub use cache::{Cache, Prompt};
pub use picker::{Pick, Picker};
pub use schedule::{Next, Stretch};
pub use server::{Counters, Rejection, Request, SequenceId, Server, Sink};

#[cfg(test)]
mod tests;
