//! Everything that runs for one treatment: servers, what stands in front of them, and how it is started and ended.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use testbed::config::{Config, RouterKind};

use super::super::backend::Backend;
use super::super::http;
use super::binary::Found;
use super::configs::Way;
use super::metrics::Source;
use super::picker::{self, Picker};
use super::pinning::Pinning;
use super::proxy::{Asked, Proxy};
use super::servers::{self, Servers};
use crate::failure::{Failure, Kind, Result};
use crate::process::{Child, Session};
use crate::settings::Mode;

/// How long one small request may take; a real server may compute its first token for a while.
const ANSWER: Duration = Duration::from_secs(60);

/// What to start.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// The testbed's configuration, its router included.
    pub(super) config: Config,
    /// The user's servers; empty for the testbed's.
    pub(super) backends: &'a [Backend],
    /// The real proxy in place of the embedded router.
    pub(super) real: Option<Real<'a>>,
    /// The cores of each component.
    pub(super) pinning: &'a Pinning,
    /// Folder for files that are only needed while it runs.
    pub(super) scratch: PathBuf,
    /// Folder for files that belong to the evidence.
    pub(super) evidence: &'a Path,
}

/// A real proxy with its picker.
#[derive(Debug)]
pub(super) struct Real<'a> {
    /// The proxy's program.
    pub(super) found: &'a Found,
    /// The picker's program and file, its servers still to be filled in; `None` for a proxy that asks nobody.
    pub(super) picker: Option<(&'a Path, picker::Config)>,
    /// The port for clients; a free one when absent.
    pub(super) port: Option<u16>,
    /// Where the proxy sits.
    pub(super) mode: Mode,
}

/// Running processes, in the order in which requests meet them.
#[derive(Debug)]
pub(super) struct Stack {
    proxy: Option<Proxy>,
    picker: Option<Picker>,
    testbed: Option<Servers>,
    backends: Vec<Backend>,
    endpoint: String,
}

impl Stack {
    /// Starts what the plan says, cold, and waits until it is ready.
    ///
    /// # Errors
    /// When anything of it does not become ready; what was started by then ends.
    pub(super) fn start(plan: Plan<'_>, session: &Session) -> Result<Self> {
        fs_err::create_dir_all(&plan.scratch)?;
        let mut stack = Self {
            proxy: None,
            picker: None,
            testbed: None,
            backends: plan.backends.to_vec(),
            endpoint: String::new(),
        };
        let config = if plan.real.is_some() { servers::without_router(plan.config) } else { plan.config };
        let routes = config.router.kind != RouterKind::None;
        if routes || plan.backends.is_empty() {
            stack.testbed = Some(Servers::start(&config, &plan.scratch, plan.pinning.servers.as_deref(), session)?);
        }
        let Some(real) = plan.real else {
            let router = stack.testbed.as_ref().and_then(|testbed| testbed.ready().router.clone());
            stack.endpoint = match router {
                Some(router) => router,
                None => format!("http://{}", stack.first()?),
            };
            return Ok(stack);
        };
        let servers = stack.addresses()?;
        let way = match real.picker {
            Some((program, mut config)) => {
                config.servers.clone_from(&servers);
                let picker = Picker::start(program, &config, &plan.scratch, plan.pinning.picker.as_deref(), session)?;
                let way = Way::Picker { picker: picker.address(), servers, mode: real.mode };
                stack.picker = Some(picker);
                way
            }
            None => Way::Direct(stack.first()?),
        };
        let asked = Asked { port: real.port, cores: plan.pinning.proxy.as_deref() };
        let proxy = Proxy::start(real.found, asked, &way, plan.evidence, session)?;
        stack.endpoint = proxy.endpoint();
        stack.proxy = Some(proxy);
        Ok(stack)
    }

    /// The servers' addresses.
    fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let Some(testbed) = &self.testbed else {
            return Ok(self.backends.iter().map(|backend| backend.address).collect());
        };
        let address = |url: &String| {
            let address = url.strip_prefix("http://").and_then(|address| address.parse().ok());
            address.ok_or_else(|| Failure::internal(format!("{url} is no address")))
        };
        testbed.ready().servers.iter().map(address).collect()
    }

    fn first(&self) -> Result<SocketAddr> {
        self.addresses()?.first().copied().ok_or_else(|| Failure::internal("there is no server"))
    }

    /// Where the load is sent.
    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Where metrics are: the router or picker, the proxy, and each server that has any.
    pub(super) fn sources(&self) -> Vec<Source> {
        let page = |name: String, url: String| Source { name, url: format!("{url}/metrics") };
        let mut sources = Vec::new();
        if let Some(admin) = self.routing_admin() {
            sources.push(page("router".into(), admin.to_owned()));
        }
        sources.extend(self.proxy.as_ref().map(Proxy::source));
        let name = |index: usize| format!("server-{}", index + 1);
        if self.backends.is_empty() {
            let servers = self.testbed.iter().flat_map(|testbed| &testbed.ready().servers);
            sources.extend(servers.enumerate().map(|(index, url)| page(name(index), url.clone())));
        } else {
            let with = self.backends.iter().enumerate().filter(|(_, backend)| backend.has_metrics());
            sources.extend(with.map(|(index, backend)| page(name(index), backend.at_address(""))));
        }
        sources
    }

    /// Where picks are counted and forgotten; `None` where nobody chooses.
    fn routing_admin(&self) -> Option<&str> {
        match (&self.picker, &self.proxy) {
            (Some(picker), _) => Some(picker.admin()),
            (None, Some(_)) => None,
            (None, None) => self.testbed.as_ref().map(|testbed| testbed.ready().admin.as_str()),
        }
    }

    /// Sends one request of one token through everything, then makes all caches cold again.
    ///
    /// # Errors
    /// A measurement failure when anything but a completion comes back.
    pub(super) fn smoketest(&self, model: &str) -> Result<()> {
        self.check()?;
        let request = json!({"model": model, "prompt": "Does it answer?", "max_tokens": 1}).to_string();
        let url = format!("{}/v1/completions", self.endpoint);
        let body = http::post(&url, &request, ANSWER).and_then(http::Answer::success).map_err(not_answering)?;
        let answer: serde_json::Value = serde_json::from_str(&body).map_err(not_answering)?;
        if !answer["choices"][0]["text"].is_string() {
            return Err(not_answering(format!("{url} answered without a completion: {body}")));
        }
        self.cool().map(drop)
    }

    /// Makes all caches cold; returns the servers of the user's that offer no way to do so.
    ///
    /// # Errors
    /// A measurement failure when one of ours does not.
    pub(super) fn cool(&self) -> Result<Vec<String>> {
        let post =
            |url: String| http::post(&url, "", ANSWER).and_then(http::Answer::success).map(drop).map_err(not_answering);
        if let Some(admin) = self.routing_admin() {
            post(format!("{admin}/reset"))?;
        }
        if self.picker.is_some() || self.proxy.is_some() {
            for server in self.testbed.iter().flat_map(|testbed| &testbed.ready().servers) {
                post(format!("{server}/reset_prefix_cache"))?;
            }
        }
        let warm = self.backends.iter().filter(|backend| !backend.reset());
        Ok(warm.map(|backend| backend.url.clone()).collect())
    }

    /// Whether everything that was started still runs.
    ///
    /// # Errors
    /// A measurement failure that names what has ended, with the tail of what it said.
    pub(super) fn check(&self) -> Result<()> {
        let children: [Option<&Child>; 3] = [
            self.testbed.as_ref().map(Servers::child),
            self.picker.as_ref().map(Picker::child),
            self.proxy.as_ref().map(Proxy::child),
        ];
        for child in children.into_iter().flatten() {
            child.check().map_err(|error| {
                let step = error.step().to_owned();
                error.failure(Kind::Measurement).hint(format!("{step} ended while it was needed: its log says why"))
            })?;
        }
        Ok(())
    }

    /// The processes with their names, for measuring what each costs.
    pub(super) fn processes(&self) -> Vec<(String, u32)> {
        let named = |name: &str, child: &Child| (name.to_owned(), child.pid());
        let proxy = self.proxy.as_ref().map(|proxy| named("proxy", proxy.child()));
        let picker = self.picker.as_ref().map(|picker| named("picker", picker.child()));
        let testbed = self.testbed.as_ref().map(|testbed| named("testbed", testbed.child()));
        [proxy, picker, testbed].into_iter().flatten().collect()
    }

    /// Ends what was started, in the order in which requests meet it, and verifies that it is gone. The user's servers
    /// run on.
    ///
    /// # Errors
    /// A cleanup failure that names the processes that are still there.
    pub(super) fn stop(self) -> Result<()> {
        let children = [
            self.proxy.map(Proxy::into_child),
            self.picker.map(Picker::into_child),
            self.testbed.map(Servers::into_child),
        ];
        let mut left = Vec::new();
        for child in children.into_iter().flatten() {
            let pid = child.pid();
            child.stop();
            if i32::try_from(pid).ok().and_then(crate::process::orphans::Identity::of).is_some() {
                left.push(pid.to_string());
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        let pids = left.join(" ");
        Err(Failure::new(Kind::Cleanup, format!("the processes {pids} do not end"))
            .hint(format!("end them with: kill -9 {pids}")))
    }
}

fn not_answering(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::measurement(error).hint("the treatment's logs are in its work folder")
}
