//! The testbed as a child process: model servers, started cold for each cell, and the embedded router.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_yaml::{Mapping, Value};
use testbed::config::{Config, Constant, Router, RouterKind};
use testbed::serve::Ready;

use super::pinning::command;
use crate::failure::{Failure, Kind, Result};
use crate::process::{Child, Error, Session};
use crate::settings::{LocalRouter, Settings, Treatment};

/// How long the servers may take to listen; they take milliseconds.
const READY: Duration = Duration::from_secs(20);

/// How long the servers may take to end when asked to.
const GRACE: Duration = Duration::from_secs(3);

/// The configuration of the testbed for a treatment, its files as paths below `root`. With `backends` it starts no
/// servers and only routes to those; without a router it only starts servers.
///
/// # Errors
/// A usage failure when the treatment cannot run here.
pub(super) fn configure(
    root: &Path,
    settings: &Settings,
    treatment: &Treatment,
    backends: &[SocketAddr],
) -> Result<Config> {
    let local = treatment.local.ok_or_else(|| {
        Failure::usage(format!("treatment {} cannot run on the local provider", treatment.name))
            .hint(format!("it runs on: {}", treatment.providers.join(", ")))
    })?;
    let (kind, policy) = match local.router {
        LocalRouter::Direct => (RouterKind::None, None),
        // The embedded stand-in for a plain proxy is the embedded Service: it passes connections on.
        LocalRouter::Service | LocalRouter::Proxy => (RouterKind::Service, None),
        LocalRouter::Sidecar | LocalRouter::Gateway => (RouterKind::Picker, Some(policy(root, settings))),
    };
    Ok(Config {
        hardware: hardware(root, settings),
        servers: if backends.is_empty() { settings.testbed.servers as usize } else { 0 },
        backends: backends.to_vec(),
        model: settings.cluster.model.clone(),
        router: Router {
            kind,
            policy,
            request_delay_seconds: delay_seconds(settings, treatment),
            chunk_delay_seconds: 0.0,
        },
        seed: settings.testbed.seed,
        ports: testbed::config::Ports::default(),
        constant: settings.testbed.first_token_ms.map(|first| Constant {
            first_token_seconds: first / 1000.0,
            token_seconds: settings.testbed.token_ms / 1000.0,
        }),
    })
}

/// The same servers without the router in front of them.
pub(super) fn without_router(mut config: Config) -> Config {
    config.router =
        Router { kind: RouterKind::None, policy: None, request_delay_seconds: 0.0, chunk_delay_seconds: 0.0 };
    config
}

/// The routing policy's file.
pub(super) fn policy(root: &Path, settings: &Settings) -> PathBuf {
    root.join("config/routing").join(format!("{}.yaml", settings.routing.policy))
}

/// The hardware model's file.
pub(super) fn hardware(root: &Path, settings: &Settings) -> PathBuf {
    root.join("config/hardware").join(format!("{}.yaml", settings.testbed.hardware))
}

/// Seconds that a treatment adds to each request on purpose.
pub(super) fn delay_seconds(settings: &Settings, treatment: &Treatment) -> f64 {
    let own = treatment.local.map_or(0.0, |local| local.delay_ms);
    settings.testbed.delay_ms.filter(|_| own > 0.0).unwrap_or(own) / 1000.0
}

/// The configuration with the files it names written out: what is hashed, published and compared. Independent of where
/// this workspace is.
///
/// # Errors
/// A usage failure when a file is missing or is not YAML.
pub(super) fn effective(config: &Config) -> Result<Mapping> {
    let mut document = match serde_yaml::to_value(config).map_err(Failure::internal)? {
        Value::Mapping(document) => document,
        other => return Err(Failure::internal(format!("the testbed's configuration is not a mapping: {other:?}"))),
    };
    document.insert("hardware".into(), read_document(&config.hardware)?);
    if let (Some(policy), Some(Value::Mapping(router))) = (&config.router.policy, document.get_mut("router")) {
        router.insert("policy".into(), read_document(policy)?);
    }
    document.remove("ports");
    if config.servers == 0 {
        // Nothing is simulated, and where the user's servers are is no part of what was measured.
        document.remove("hardware");
        document.insert("backends".into(), config.backends.len().into());
    }
    Ok(document)
}

/// A configuration file as a value.
///
/// # Errors
/// A usage failure when it is missing or is not YAML.
pub(super) fn read_document(path: &Path) -> Result<Value> {
    let text = fs_err::read_to_string(path).map_err(Failure::usage)?;
    serde_yaml::from_str(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Running servers and their router.
#[derive(Debug)]
pub(super) struct Servers {
    child: Child,
    ready: Ready,
}

impl Servers {
    /// Starts the testbed with `config`, written into `scratch`, on these cores or all, and waits until it listens.
    ///
    /// # Errors
    /// When it does not become ready.
    pub(super) fn start(config: &Config, scratch: &Path, cores: Option<&str>, session: &Session) -> Result<Self> {
        fs_err::create_dir_all(scratch)?;
        let file = scratch.join("testbed.yaml");
        fs_err::write(&file, reports::yaml::to_string(config).map_err(Failure::internal)?)?;
        let mut child = command("testbed serve", this_program()?, cores)
            .args(["testbed", "serve", "--config"])
            .arg(&file)
            .stdin_open_while_held()
            .grace(GRACE)
            .spawn(session)
            .map_err(ended)?;
        let ready = child.wait_for(READY, |line| serde_json::from_str::<Ready>(line).ok()).map_err(ended)?;
        Ok(Self { child, ready })
    }

    /// Where they listen.
    pub(super) fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The process.
    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// The process, to be ended.
    pub(super) fn into_child(self) -> Child {
        self.child
    }
}

/// A treatment whose programs have ended has failed.
pub(super) fn ended(error: Error) -> Failure {
    error.failure(Kind::Measurement)
}

/// The running program's path. Where its file has been replaced since (a rebuild during a long campaign), the running
/// version itself, so that one campaign is never measured by two versions.
pub(in crate::provider) fn this_program() -> std::io::Result<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let path = std::env::current_exe()?;
    let running = Path::new("/proc/self/exe");
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (&std::fs::metadata(running), &std::fs::metadata(&path)) {
        (Ok(running), Ok(found)) if same(running, found) => Ok(path),
        (Ok(_), _) => Ok(running.to_path_buf()),
        (Err(_), _) => Ok(path),
    }
}
