//! Embedded model servers and routers: a deterministic engine with a real-time and a virtual-time driver.
//!
//! [`engine`] holds the model server's step loop and the endpoint picker, written against an abstract clock;
//! [`serve`] drives it in real time behind HTTP on loopback, [`forecast`] in virtual time. [`config`] reads what both
//! are configured with: hardware models, routing policies and the file of `testbed serve`.

pub mod bench;
pub mod config;
pub mod engine;
pub mod forecast;
pub mod serve;
pub mod tokenizer;
