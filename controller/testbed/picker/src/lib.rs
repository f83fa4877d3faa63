//! The testbed's endpoint picker behind Envoy's `ext_proc` protocol.
//!
//! The picker itself is [`testbed::engine::Picker`], as the embedded router uses it: this crate only speaks the protocol
//! ([`exchange`]), reads what servers report, and tells its own numbers.

mod config;
mod exchange;
mod messages;
mod numbers;
mod service;

use std::sync::Arc;

use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::ExternalProcessorServer;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use testbed::config::{Hardware, Policy};
use testbed::serve::{self, AnyBody, Choices};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

pub use config::{Config, Ready};
pub use numbers::Numbers;
pub use service::Processor;

/// Largest message that is taken: a body chunk, or a body in one piece.
const LARGEST_MESSAGE: usize = 64 << 20;

/// Why the picker could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its file, the hardware model or the routing policy cannot be read, or asks for something impossible.
    #[error(transparent)]
    Config(#[from] testbed::config::Error),
    /// A listener could not be opened.
    #[error(transparent)]
    Listen(#[from] serve::Error),
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Opens the listeners and starts what serves them, on the running tokio runtime.
///
/// # Errors
/// When a file is refused or a port cannot be had.
pub fn start(config: &Config) -> Result<Ready, Error> {
    let defaults = match &config.hardware {
        Some(path) => Hardware::read(path)?.plugin_defaults,
        None => Default::default(),
    };
    let policy = Policy::read(&config.policy, &defaults)?;
    let choices = Arc::new(Choices::new(config.servers.len(), &config.model, &policy, config.seed));
    tokio::spawn(serve::scrape(Arc::clone(&choices), config.servers.clone()));
    let numbers = Arc::new(Numbers::default());
    let processor = Processor::new(config, Arc::clone(&choices), Arc::clone(&numbers));

    let listener = serve::listen(config.port)?;
    let picker = listener.local_addr()?;
    let (reporter, health) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        reporter.set_serving::<ExternalProcessorServer<Processor>>().await;
        let processor = ExternalProcessorServer::new(processor)
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let served = Server::builder().add_service(health).add_service(processor).serve_with_incoming(incoming).await;
        if let Err(error) = served {
            eprintln!("error: the picker's listener ended: {error}");
            std::process::exit(1);
        }
    });
    let admin = serve::listen(config.admin)?;
    let address = admin.local_addr()?;
    tokio::spawn(serve::serve(admin, move |request| {
        let answer = administer(&choices, &numbers, &request);
        async { answer }
    }));
    Ok(Ready { ready: true, picker: picker.to_string(), admin: format!("http://{address}") })
}

/// `GET /health`, `GET /metrics` and `POST /reset`, as `testbed serve` has them.
fn administer(choices: &Choices, numbers: &Numbers, request: &Request<Incoming>) -> Response<AnyBody> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") => serve::whole(StatusCode::OK, "text/plain", "ok\n"),
        (&Method::GET, "/metrics") => serve::metrics(choices.page() + &numbers.page(choices.available())),
        (&Method::POST, "/reset") => {
            choices.reset();
            serve::whole(StatusCode::OK, "text/plain", "")
        }
        _ => serve::whole(StatusCode::NOT_FOUND, "text/plain", "GET /health, GET /metrics, POST /reset\n"),
    }
}
