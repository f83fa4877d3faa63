//! Plans and runs benchmark campaigns.
//!
//! Data flows one way: [`settings`] -> [`campaign`] identity -> for each repetition and treatment: [`render`],
//! [`provider`] standup, smoketest, [`harness`] run -> [`evidence`] -> the `reports` crate. [`lifecycle`] holds the order
//! and the guard that always tears down; every other program runs through [`process`].

pub mod baseline;
pub mod cache;
pub mod campaign;
pub mod cluster;
pub mod doctor;
pub mod evidence;
pub mod failure;
pub mod forecast;
pub mod gke;
pub mod harness;
pub mod lifecycle;
pub mod on_demand;
pub mod process;
pub mod provider;
pub mod render;
pub mod settings;
pub mod upstream;
