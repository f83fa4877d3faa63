//! What `testbed serve` is told: a strict YAML file that names a hardware model and, for a picker, a routing policy.

pub mod hardware;
pub mod policy;

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use hardware::Hardware;
pub use policy::Policy;

/// Why a configuration was refused; always names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// The file is not YAML, or has a key or a type that does not belong there.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What the parser found, with line and column.
        source: serde_yaml::Error,
    },
    /// The file can be read but asks for something impossible.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what would be right.
        message: String,
    },
}

/// The file of `testbed serve`. Relative paths are taken from the file's own folder.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The hardware model (`config/hardware/*.yaml`) that every server simulates.
    pub hardware: PathBuf,
    /// How many model servers to start.
    pub servers: usize,
    /// Model servers that run already, to route to instead of starting any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<std::net::SocketAddr>,
    /// The model name that the servers answer to and report.
    pub model: String,
    /// What stands in front of the servers.
    pub router: Router,
    /// Seed of every random choice: endpoints of a `service`, ties of a picker.
    #[serde(default)]
    pub seed: u64,
    /// Fixed ports; everything not named gets a free one.
    #[serde(default)]
    pub ports: Ports,
    /// Answer at fixed times instead of simulating a GPU; for measuring what a proxy itself costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<Constant>,
}

/// What stands in front of the servers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// How it chooses.
    pub kind: RouterKind,
    /// The routing policy (an `EndpointPickerConfig` file, `config/routing/*.yaml`); `picker` needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PathBuf>,
    /// Seconds added before each request is passed on: a longer path to the picker, or a canary's known slowdown.
    #[serde(default)]
    pub request_delay_seconds: f64,
    /// Seconds added before each chunk of a response is passed on; the order of chunks is kept.
    #[serde(default)]
    pub chunk_delay_seconds: f64,
}

/// How a router chooses an endpoint.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouterKind {
    /// There is none: only the servers run (a real proxy stands in front of them).
    None,
    /// What a plain Kubernetes Service does: at random, once per connection, without looking at requests.
    Service,
    /// A proxy that asks the endpoint picker about each request.
    Picker,
}

/// Fixed ports of the listeners; 0 or absent takes a free one.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// The router's.
    #[serde(default)]
    pub router: u16,
    /// The one of `/health`, `/metrics` and `/reset`.
    #[serde(default)]
    pub admin: u16,
    /// The servers', in order.
    #[serde(default)]
    pub servers: Vec<u16>,
}

/// A backend without GPU noise: every answer takes the same time.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Seconds from the request's arrival to its first token.
    pub first_token_seconds: f64,
    /// Seconds between tokens; with 0 all tokens follow the first at once, still one chunk each.
    pub token_seconds: f64,
}

impl Config {
    /// Reads and checks the file of `testbed serve`.
    ///
    /// # Errors
    /// When it cannot be read, has an unknown key, or asks for something impossible.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut config: Self = read_yaml(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        config.hardware = folder.join(&config.hardware);
        config.router.policy = config.router.policy.map(|policy| folder.join(policy));
        config.check().map_err(|message| Error::Invalid { path: path.to_owned(), message })?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.servers > 0 && !self.backends.is_empty() {
            return Err("`servers` must be 0 where `backends` name servers that run already".into());
        }
        if self.servers == 0 && self.backends.is_empty() {
            return Err("`servers` is 0: at least one model server is needed".into());
        }
        if self.model.is_empty() {
            return Err("`model` is empty: clients name it in each request".into());
        }
        if self.ports.servers.len() > self.servers {
            return Err(format!("{} `ports.servers` for {} servers", self.ports.servers.len(), self.servers));
        }
        not_negative("router.request_delay_seconds", self.router.request_delay_seconds)?;
        not_negative("router.chunk_delay_seconds", self.router.chunk_delay_seconds)?;
        if let Some(constant) = &self.constant {
            not_negative("constant.first_token_seconds", constant.first_token_seconds)?;
            not_negative("constant.token_seconds", constant.token_seconds)?;
        }
        match (self.router.kind, &self.router.policy) {
            (RouterKind::Picker, None) => {
                Err("`router.kind: picker` needs `router.policy`, a routing policy file".into())
            }
            (RouterKind::None | RouterKind::Service, Some(_)) => {
                Err("`router.policy` is only read by `router.kind: picker`".into())
            }
            _ => Ok(()),
        }
    }
}

/// Reads one strict YAML document.
///
/// # Errors
/// When it cannot be read, or has a key or a type that does not belong there.
pub fn read_yaml<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs_err::read_to_string(path)?;
    serde_yaml::from_str(&text).map_err(|source| Error::Syntax { path: path.to_owned(), source })
}

fn not_negative(name: &str, value: f64) -> Result<(), String> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(format!("`{name}` is {value}: it must be a finite number, 0 or more"))
    }
}

fn positive(name: &str, value: f64) -> Result<(), String> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(format!("`{name}` is {value}: it must be a finite number above 0"))
    }
}

#[cfg(test)]
mod tests;
