//! Evidence to numbers, documents and verdicts.
//!
//! Pure: reads and writes files, starts no process, opens no connection. Data flows one way:
//! [`native`] or [`benchmark_report`] files -> [`model`] -> [`campaign`] -> [`compare`] -> [`render`], [`export`], [`gate`].

pub mod audit;
pub mod benchmark_report;
pub mod campaign;
pub mod compare;
pub mod export;
pub mod files;
pub mod forecast;
pub mod gate;
pub mod manifest;
pub mod model;
pub mod native;
pub mod overhead;
pub mod publish;
pub mod render;
pub mod statistics;
pub mod yaml;
