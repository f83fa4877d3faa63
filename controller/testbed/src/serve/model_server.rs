//! A model server's HTTP surface: vLLM's paths in front of a [`Backend`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::json;

use crate::config::{Constant, Hardware};
use crate::engine::hash;

use super::answer::{self, AnyBody, Source, TokenBody};
use super::api::{Endpoint, Generation, Refusal, Writer};
use super::backend::Backend;
use super::pages;

/// The largest request body that is read.
const LARGEST_BODY: usize = 64 << 20;

/// The header with which a client of a constant backend asks for an error instead of an answer: proxies must pass it on.
pub const STATUS_HEADER: &str = "x-testbed-status";

/// One model server.
#[derive(Debug)]
pub(super) struct ModelServer {
    /// Its number, from 0.
    pub(super) number: usize,
    /// The model that it answers to.
    pub(super) model: String,
    /// What it simulates.
    pub(super) hardware: Hardware,
    /// Answers at fixed times instead.
    pub(super) constant: Option<Constant>,
    /// The engine.
    pub(super) backend: Backend,
    /// Names requests.
    pub(super) tags: AtomicU64,
}

impl ModelServer {
    /// Answers one request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<AnyBody> {
        if let Some(endpoint) = Endpoint::at(request.uri().path()) {
            if request.method() != Method::POST {
                return refused(StatusCode::METHOD_NOT_ALLOWED, "use POST");
            }
            if let Some(status) = self.asked_for(&request) {
                return refused(status, "the request asked for this status");
            }
            let body = match read(request).await {
                Ok(body) => body,
                Err(refusal) => return answer::refused(&refusal),
            };
            return self.generate(endpoint, &body).await.unwrap_or_else(|refusal| answer::refused(&refusal));
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/health" | "/ping") => answer::whole(StatusCode::OK, "text/plain", ""),
            (&Method::GET, "/v1/models") => answer::json(self.models()),
            (&Method::GET, "/metrics") => {
                answer::metrics(pages::server(&self.model, &self.hardware, &self.backend.snapshot()))
            }
            (&Method::POST, "/reset_prefix_cache") => {
                self.backend.reset();
                answer::whole(StatusCode::OK, "text/plain", "")
            }
            _ => refused(StatusCode::NOT_FOUND, "no such path"),
        }
    }

    /// The error status that a request to a constant backend asks for.
    fn asked_for(&self, request: &Request<Incoming>) -> Option<StatusCode> {
        self.constant?;
        let status = request.headers().get(STATUS_HEADER)?.to_str().ok()?.parse::<u16>().ok()?;
        StatusCode::from_u16(status).ok().filter(|status| status.is_client_error() || status.is_server_error())
    }

    async fn generate(&self, endpoint: Endpoint, body: &[u8]) -> Result<Response<AnyBody>, Refusal> {
        let Generation { model, text, tokens, stream, usage } = Generation::parse(endpoint, body)?;
        if model != self.model {
            let message = format!("The model `{model}` does not exist; this server has `{}`.", self.model);
            return Err(Refusal { status: StatusCode::NOT_FOUND, message });
        }
        let prompt = hash::words(&text, self.hardware.kv_cache.block_tokens);
        let prompt_tokens = prompt.tokens;
        let tag = (self.number as u64) << 48 | self.tags.fetch_add(1, Ordering::Relaxed);
        let mut source = match self.constant {
            Some(times) => Source::constant(times, tokens),
            None => match self.backend.submit(prompt, tokens, tag).await {
                Some(Ok(stream)) => Source::Simulated(stream),
                Some(Err(rejection)) => return Err(Refusal::bad_request(rejection.to_string())),
                None => return Err(ended()),
            },
        };
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let writer = Writer::new(endpoint, stream, tag, &self.model, prompt_tokens, created);
        if stream {
            return Ok(answer::events(TokenBody { source, writer, tokens, usage, written: 0, ended: false }));
        }
        let tokens = source.finished().await.ok_or_else(ended)?;
        Ok(answer::json(writer.whole(tokens)))
    }

    fn models(&self) -> String {
        let capacity = self.hardware.kv_cache.capacity_tokens;
        let model = json!({"id": self.model, "object": "model", "owned_by": "testbed", "max_model_len": capacity});
        json!({"object": "list", "data": [model]}).to_string()
    }
}

fn ended() -> Refusal {
    Refusal { status: StatusCode::INTERNAL_SERVER_ERROR, message: "the server's scheduler has ended".into() }
}

fn refused(status: StatusCode, message: &str) -> Response<AnyBody> {
    answer::refused(&Refusal { status, message: message.into() })
}

/// A request's body.
///
/// # Errors
/// When it is too large or the client stops sending.
pub(super) async fn read(request: Request<Incoming>) -> Result<bytes::Bytes, Refusal> {
    let body = Limited::new(request.into_body(), LARGEST_BODY).collect().await;
    body.map(http_body_util::Collected::to_bytes)
        .map_err(|error| Refusal::bad_request(format!("the request's body cannot be read: {error}")))
}
