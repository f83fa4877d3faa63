//! The real-time driver: model servers and a router behind HTTP on loopback.

mod answer;
mod api;
mod backend;
mod choices;
mod histogram;
mod lifetime;
mod model_server;
mod pages;
mod router;
mod scrape;
mod service;

use std::convert::Infallible;
use std::future::Future;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpSocket};

use crate::config::{self, Config, Hardware, Policy, RouterKind};

use backend::Backend;
use model_server::ModelServer;
use router::{Delays, Router};
use service::Service;

pub use answer::{AnyBody, metrics, whole};
pub use api::Refusal;
pub use choices::{Choices, Flight};
pub use histogram::Histogram;
pub use lifetime::ended;
pub use model_server::STATUS_HEADER;
pub use scrape::keep as scrape;

/// Threads of the HTTP runtime: the servers' own threads mostly sleep.
const WORKERS: usize = 2;

/// Connections that may wait to be accepted: a burst of clients must not be refused.
const BACKLOG: u32 = 4096;

/// How long a listener waits when a connection cannot be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

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
    let hardware = Hardware::read(&config.hardware)?;
    let policy = match &config.router.policy {
        Some(path) => Some(Policy::read(path, &hardware.plugin_defaults)?),
        None => None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(async {
        let ready = start(config, &hardware, policy.as_ref())?;
        let line = serde_json::to_string(&ready).map_err(std::io::Error::other)?;
        let mut output = std::io::stdout();
        writeln!(output, "{line}")?;
        output.flush()?;
        ended().await.map_err(Error::Io)
    });
    // Requests still under way end with the process; a blocked read of standard input must not keep it.
    runtime.shutdown_background();
    outcome
}

/// Opens every listener and starts what serves it.
pub(crate) fn start(config: &Config, hardware: &Hardware, policy: Option<&Policy>) -> Result<Ready, Error> {
    let mut servers = Vec::with_capacity(config.servers);
    let mut addresses = Vec::with_capacity(config.servers);
    for number in 0..config.servers {
        let listener = listen(config.ports.servers.get(number).copied().unwrap_or(0))?;
        addresses.push(listener.local_addr()?);
        let server = Arc::new(ModelServer {
            number,
            model: config.model.clone(),
            hardware: hardware.clone(),
            constant: config.constant,
            backend: Backend::start(number + 1, hardware)?,
            tags: AtomicU64::new(0),
        });
        servers.push(server.backend.clone());
        tokio::spawn(serve(listener, move |request| Arc::clone(&server).answer(request)));
    }
    addresses.extend(&config.backends);
    let front = front(config, policy, &addresses, &servers)?;
    if let Some(Front { kind: Kind::Router(router), .. }) = front.as_ref().filter(|_| !servers.is_empty()) {
        router.choices().tune(&hardware.kv_cache);
    }
    let admin = listen(config.ports.admin)?;
    let ready = Ready {
        ready: true,
        router: front.as_ref().map(|front| format!("http://{}", front.address)),
        admin: format!("http://{}", admin.local_addr()?),
        servers: addresses.iter().map(|address| format!("http://{address}")).collect(),
    };
    let administration = Arc::new(Admin { front: front.map(|front| front.kind), servers });
    tokio::spawn(serve(admin, move |request| {
        let answer = administration.answer(&request);
        async { answer }
    }));
    Ok(ready)
}

/// What stands in front of the servers, listening.
struct Front {
    address: SocketAddr,
    kind: Kind,
}

enum Kind {
    Service(Arc<Service>),
    Router(Arc<Router>),
}

fn front(
    config: &Config,
    policy: Option<&Policy>,
    addresses: &[SocketAddr],
    servers: &[Backend],
) -> Result<Option<Front>, Error> {
    if config.router.kind == RouterKind::None {
        return Ok(None);
    }
    let listener = listen(config.ports.router)?;
    let address = listener.local_addr()?;
    let kind = if let Some(policy) = policy {
        let delays = Delays {
            request: Duration::from_secs_f64(config.router.request_delay_seconds),
            chunk: Duration::from_secs_f64(config.router.chunk_delay_seconds),
        };
        let router = Arc::new(Router::new(addresses, &config.model, policy, config.seed, delays));
        let choices = Arc::clone(router.choices());
        if servers.is_empty() {
            tokio::spawn(scrape::keep(choices, addresses.to_vec()));
        } else if choices.observes() {
            tokio::spawn(observe(choices, servers.to_vec()));
        }
        let serving = Arc::clone(&router);
        tokio::spawn(serve(listener, move |request| Arc::clone(&serving).forward(request)));
        Kind::Router(router)
    } else {
        let service = Arc::new(Service::new(addresses.to_vec(), config.seed));
        tokio::spawn(Arc::clone(&service).run(listener));
        Kind::Service(service)
    };
    Ok(Some(Front { address, kind }))
}

/// Tells the picker what servers of this process report, until the runtime ends.
async fn observe(choices: Arc<Choices>, servers: Vec<Backend>) {
    let mut interval = tokio::time::interval(scrape::INTERVAL);
    loop {
        interval.tick().await;
        for (number, server) in servers.iter().enumerate() {
            let (waiting, usage) = server.observed();
            choices.observe(number, waiting, usage);
        }
    }
}

/// `GET /health`, `GET /metrics` and `POST /reset`.
struct Admin {
    front: Option<Kind>,
    servers: Vec<Backend>,
}

impl Admin {
    fn answer(&self, request: &Request<Incoming>) -> Response<AnyBody> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/health") => answer::whole(StatusCode::OK, "text/plain", "ok\n"),
            (&Method::GET, "/metrics") => {
                let page = match &self.front {
                    None => pages::router(&[], 0),
                    Some(Kind::Service(service)) => pages::router(&service.routed(), 0),
                    Some(Kind::Router(router)) => router.choices().page(),
                };
                answer::metrics(page)
            }
            (&Method::POST, "/reset") => {
                self.servers.iter().for_each(Backend::reset);
                if let Some(Kind::Router(router)) = &self.front {
                    router.choices().reset();
                }
                answer::whole(StatusCode::OK, "text/plain", "")
            }
            _ => answer::whole(StatusCode::NOT_FOUND, "text/plain", "GET /health, GET /metrics, POST /reset\n"),
        }
    }
}

/// A listener on 127.0.0.1; port 0 takes a free one.
///
/// # Errors
/// When the port cannot be had.
pub fn listen(port: u16) -> Result<TcpListener, Error> {
    let open = || {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
        socket.listen(BACKLOG)
    };
    open().map_err(|source| Error::Listen { port, source })
}

/// Answers every request on every connection with `answer`, until the runtime ends.
pub async fn serve<A, F>(listener: TcpListener, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<AnyBody>> + Send + 'static,
{
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Out of file descriptors, most likely: connections that end make room.
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let answer = answer.clone();
        tokio::spawn(async move {
            if stream.set_nodelay(true).is_err() {
                return;
            }
            let service = service_fn(move |request| {
                let answered = answer(request);
                async move { Ok::<_, Infallible>(answered.await) }
            });
            // A connection that breaks is the client's business; its request is cancelled by being dropped.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

#[cfg(test)]
mod tests;
