//! The testbed as a child process: model servers and a router, started cold for each cell.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_yaml::{Mapping, Value};
use testbed::config::{Config, Router, RouterKind};
use testbed::serve::Ready;

use super::http;
use super::metrics::Source;
use crate::failure::{Failure, Result};
use crate::process::{Child, Command, Session};
use crate::settings::{LocalRouter, Settings, Treatment};

/// How long the servers may take to listen; they take milliseconds.
const READY: Duration = Duration::from_secs(20);

/// How long one small request may take.
const ANSWER: Duration = Duration::from_secs(10);

/// How long the servers may take to end when asked to.
const GRACE: Duration = Duration::from_secs(3);

/// The configuration of the testbed for a treatment, its files as paths below `root`.
///
/// # Errors
/// A usage failure when the treatment cannot run here, or when one of its files is missing or wrong.
pub(super) fn configure(root: &Path, settings: &Settings, treatment: &Treatment) -> Result<Config> {
    let local = treatment.local.ok_or_else(|| {
        Failure::usage(format!("treatment {} cannot run on the local provider", treatment.name))
            .hint(format!("it runs on: {}", treatment.providers.join(", ")))
    })?;
    let policy = root.join("config/routing").join(format!("{}.yaml", settings.routing.policy));
    let (kind, policy) = match local.router {
        LocalRouter::Service => (RouterKind::Service, None),
        LocalRouter::Sidecar | LocalRouter::Gateway => (RouterKind::Picker, Some(policy)),
    };
    let delay = settings.testbed.delay_ms.filter(|_| local.delay_ms > 0.0).unwrap_or(local.delay_ms);
    Ok(Config {
        hardware: root.join("config/hardware").join(format!("{}.yaml", settings.testbed.hardware)),
        servers: settings.testbed.servers as usize,
        model: settings.cluster.model.clone(),
        router: Router { kind, policy, request_delay_seconds: delay / 1000.0, chunk_delay_seconds: 0.0 },
        seed: settings.testbed.seed,
        ports: testbed::config::Ports::default(),
        constant: None,
    })
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
    Ok(document)
}

fn read_document(path: &Path) -> Result<Value> {
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
    /// Starts the testbed with `config`, written into `scratch`, and waits until it listens.
    ///
    /// # Errors
    /// When it does not become ready.
    pub(super) fn start(config: &Config, scratch: &Path, session: &Session) -> Result<Self> {
        fs_err::create_dir_all(scratch)?;
        let file = scratch.join("testbed.yaml");
        fs_err::write(&file, reports::yaml::to_string(config).map_err(Failure::internal)?)?;
        let mut child = Command::new("testbed serve", this_program()?)
            .args(["testbed", "serve", "--config"])
            .arg(&file)
            .stdin_open_while_held()
            .grace(GRACE)
            .spawn(session)?;
        let ready = child.wait_for(READY, |line| serde_json::from_str::<Ready>(line).ok())?;
        Ok(Self { child, ready })
    }

    /// Where the load is sent.
    pub(super) fn endpoint(&self) -> Result<&str> {
        let router = self.ready.router.as_deref();
        router.ok_or_else(|| Failure::internal("the testbed has started without a router"))
    }

    /// Where metrics are.
    pub(super) fn sources(&self) -> Vec<Source> {
        let page = |url: &str| format!("{url}/metrics");
        let router = Source { name: "router".into(), url: page(&self.ready.admin) };
        let servers = self.ready.servers.iter().enumerate();
        std::iter::once(router)
            .chain(servers.map(|(index, url)| Source { name: format!("server-{}", index + 1), url: page(url) }))
            .collect()
    }

    /// Sends one request of one token through the router, then makes all caches cold again.
    ///
    /// # Errors
    /// A measurement failure when anything but a completion comes back.
    pub(super) fn smoketest(&self, model: &str) -> Result<()> {
        self.child.check()?;
        for server in &self.ready.servers {
            http::get(&format!("{server}/health"), ANSWER).and_then(http::Answer::success).map_err(not_answering)?;
        }
        let request = serde_json::json!({"model": model, "prompt": "Does it answer?", "max_tokens": 1}).to_string();
        let completions = format!("{}/v1/completions", self.endpoint()?);
        let body = http::post(&completions, &request, ANSWER).and_then(http::Answer::success).map_err(not_answering)?;
        let answer: serde_json::Value = serde_json::from_str(&body).map_err(not_answering)?;
        if !answer["choices"][0]["text"].is_string() {
            return Err(not_answering(format!("{completions} answered without a completion: {body}")));
        }
        let reset = format!("{}/reset", self.ready.admin);
        http::post(&reset, "", ANSWER).and_then(http::Answer::success).map_err(not_answering)?;
        Ok(())
    }

    /// Whether servers and router still run.
    ///
    /// # Errors
    /// When they have ended, with the tail of what they said.
    pub(super) fn check(&self) -> Result<()> {
        Ok(self.child.check()?)
    }

    /// Ends them and verifies that they are gone.
    ///
    /// # Errors
    /// A cleanup failure when the process is still there.
    pub(super) fn stop(self) -> Result<()> {
        let pid = self.child.pid();
        self.child.stop();
        let gone = i32::try_from(pid).ok().and_then(crate::process::orphans::Identity::of).is_none();
        if gone {
            return Ok(());
        }
        Err(Failure::new(crate::failure::Kind::Cleanup, format!("the testbed (process {pid}) does not end"))
            .hint(format!("end it with: kill -9 {pid}")))
    }
}

fn not_answering(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::measurement(error).hint("the treatment's logs are in its work folder")
}

/// The running program's path. Where its file has been replaced since (a rebuild during a long campaign), the running
/// version itself, so that one campaign is never measured by two versions.
fn this_program() -> std::io::Result<PathBuf> {
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
