//! Embedded model servers and routers: a deterministic engine, driven in real time and in virtual time.
//!
//! [`engine`] holds the model server's step loop and the endpoint picker, written against an abstract clock; [`serve`]
//! drives it in real time behind HTTP on loopback, [`forecast`] in virtual time, a whole campaign in well under a second.
//! [`config`] reads what it is configured with: hardware models, routing policies and the file of `testbed serve`. [`bench`]
//! measures what the testbed itself costs, [`client`] what a proxy in front of it does.

pub mod bench;
pub mod client;
pub mod config;
pub mod engine;
pub mod forecast;
pub mod serve;
pub mod tokenizer;
