//! The picker's file and its first line of output.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use testbed::config::{Error, read_yaml};

/// The file of `testbed-picker`. Relative paths are taken from the file's own folder.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The model servers to choose from, `ip:port` each.
    pub servers: Vec<SocketAddr>,
    /// The model's name, part of every prompt's identity.
    pub model: String,
    /// The routing policy: an `EndpointPickerConfig` file.
    pub policy: PathBuf,
    /// A hardware model whose `plugin_defaults` apply where the policy says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<PathBuf>,
    /// Seed of ties.
    #[serde(default)]
    pub seed: u64,
    /// Port of the external processor; 0 takes a free one.
    #[serde(default)]
    pub port: u16,
    /// Port of `/health`, `/metrics` and `/reset`; 0 takes a free one.
    #[serde(default)]
    pub admin: u16,
    /// Requests in flight above which further ones are answered with 429; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_in_flight: Option<u64>,
    /// Seconds added before each choice: a longer path to the picker, or a canary's known slowdown.
    #[serde(default)]
    pub delay_seconds: f64,
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// When it cannot be read, has an unknown key, or asks for something impossible.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut config: Self = read_yaml(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        config.policy = folder.join(&config.policy);
        config.hardware = config.hardware.map(|hardware| folder.join(hardware));
        let invalid = |message: &str| Error::Invalid { path: path.to_owned(), message: message.to_owned() };
        if config.model.is_empty() {
            return Err(invalid("`model` is empty"));
        }
        if !(config.delay_seconds.is_finite() && (0.0..=3600.0).contains(&config.delay_seconds)) {
            return Err(invalid("`delay_seconds` must be from 0 to 3600"));
        }
        Ok(config)
    }
}

/// The line that the picker prints, as JSON, once it listens.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// Always true; a failure ends the process with a message on standard error instead.
    pub ready: bool,
    /// Where proxies ask: `127.0.0.1:40001`.
    pub picker: String,
    /// Where `/health`, `/metrics` and `/reset` are: `http://127.0.0.1:40002`.
    pub admin: String,
}
