//! One request and its answer on their way through the picker.
//!
//! The request's headers and body are held until the body ends, because the choice depends on the prompt; then the
//! headers are answered with the choice and the body follows in the chunks in which it came. Everything of the answer
//! passes at once. What the proxy does not take yet waits in a short queue, and while that is full nothing more is read:
//! a slow proxy is held back, never buffered for.

use std::sync::Arc;
use std::time::Instant;

use envoy_types::pb::envoy::service::ext_proc::v3::processing_request::Request;
use envoy_types::pb::envoy::service::ext_proc::v3::{HttpBody, ProcessingRequest, ProcessingResponse};
use http::StatusCode;
use testbed::serve::{Choices, Flight, Refusal};
use tokio::sync::mpsc::Sender;
use tonic::{Status, Streaming};

use crate::messages::{self, Direction};
use crate::numbers::Answered;
use crate::service::Shared;

/// The largest request body that is held.
const LARGEST_BODY: usize = 64 << 20;

/// The value of `FULL_DUPLEX_STREAMED` in the protocol's enumeration of body modes.
const FULL_DUPLEX_STREAMED: i32 = 4;

/// Why an exchange ends before the proxy ends it.
enum End {
    /// The proxy no longer listens, or has been told all there is.
    Quiet,
    /// The proxy does something that the picker cannot go along with.
    Broken(Status),
}

/// Answers one stream of messages to its end.
pub(crate) async fn run(
    mut incoming: Streaming<ProcessingRequest>,
    out: Sender<Result<ProcessingResponse, Status>>,
    shared: Arc<Shared>,
) {
    let mut exchange =
        Exchange { shared: &shared, out: &out, path: String::new(), held: Vec::new(), size: 0, open: None };
    loop {
        let message = match incoming.message().await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(_) => break,
        };
        match exchange.take(message).await {
            Ok(()) => {}
            Err(End::Quiet) => break,
            Err(End::Broken(status)) => {
                // Nobody listens any more when this fails.
                out.send(Err(status)).await.unwrap_or_default();
                break;
            }
        }
    }
    if exchange.open.as_ref().is_some_and(|open| !open.ended) {
        shared.numbers.abandoned();
    }
}

/// A request that was given a server; its tokens are in flight while this lives.
struct Open<'a> {
    flight: Option<Flight>,
    shared: &'a Shared,
    ended: bool,
}

impl Open<'_> {
    fn begin(&mut self) {
        if let Some(flight) = &mut self.flight {
            flight.begin();
        }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.flight = None;
            self.shared.numbers.ended();
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.numbers.ended();
        }
    }
}

struct Exchange<'a> {
    shared: &'a Shared,
    out: &'a Sender<Result<ProcessingResponse, Status>>,
    path: String,
    held: Vec<Vec<u8>>,
    size: usize,
    open: Option<Open<'a>>,
}

impl Exchange<'_> {
    async fn take(&mut self, message: ProcessingRequest) -> Result<(), End> {
        if let Some(protocol) = message.protocol_config {
            let modes = [protocol.request_body_mode, protocol.response_body_mode];
            if modes.iter().any(|&mode| mode != FULL_DUPLEX_STREAMED) {
                let text = "the picker needs bodies in FULL_DUPLEX_STREAMED mode, both ways";
                return Err(End::Broken(Status::failed_precondition(text)));
            }
        }
        let Some(request) = message.request else { return Ok(()) };
        match request {
            Request::RequestHeaders(headers) => {
                self.path = messages::header(headers.headers.as_ref(), ":path").unwrap_or_default().into_owned();
                if headers.end_of_stream { self.choose().await } else { Ok(()) }
            }
            Request::RequestBody(body) => self.hold(body).await,
            Request::RequestTrailers(_) => {
                self.choose().await?;
                self.release(false).await?;
                self.send(messages::trailers(Direction::Request)).await
            }
            Request::ResponseHeaders(headers) => {
                self.send(messages::headers()).await?;
                if headers.end_of_stream {
                    self.ended();
                }
                Ok(())
            }
            Request::ResponseBody(body) => {
                let end = body.end_of_stream || body.end_of_stream_without_message;
                self.began();
                if end {
                    self.ended();
                }
                self.send(messages::chunk(Direction::Answer, body.body, end)).await
            }
            Request::ResponseTrailers(_) => {
                self.began();
                self.ended();
                self.send(messages::trailers(Direction::Answer)).await
            }
        }
    }

    async fn hold(&mut self, body: HttpBody) -> Result<(), End> {
        if self.open.is_some() {
            let text = "a request's body goes on after its end";
            return Err(End::Broken(Status::invalid_argument(text)));
        }
        self.size += body.body.len();
        if self.size > LARGEST_BODY {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            let message = format!("the request's body is larger than {} MiB", LARGEST_BODY >> 20);
            return self.refuse(&Refusal { status, message }, Answered::Refused).await;
        }
        self.held.push(body.body);
        if body.end_of_stream || body.end_of_stream_without_message {
            self.choose().await?;
            return self.release(true).await;
        }
        Ok(())
    }

    /// Chooses a server for what was held, and answers the headers.
    async fn choose(&mut self) -> Result<(), End> {
        let shared = self.shared;
        if !shared.delay.is_zero() {
            tokio::time::sleep(shared.delay).await;
        }
        let began = Instant::now();
        let choices: &Arc<Choices> = &shared.choices;
        if choices.available() == 0 || shared.servers.is_empty() {
            let message = "no model server answers".to_owned();
            choices.count_failure();
            return self
                .refuse(&Refusal { status: StatusCode::SERVICE_UNAVAILABLE, message }, Answered::WithoutServer)
                .await;
        }
        if shared.most_in_flight.is_some_and(|most| shared.numbers.in_flight() >= most) {
            let message = "too many requests are in flight".to_owned();
            return self.refuse(&Refusal { status: StatusCode::TOO_MANY_REQUESTS, message }, Answered::Shed).await;
        }
        let whole;
        let body = match &self.held[..] {
            [one] => one.as_slice(),
            chunks => {
                whole = chunks.concat();
                &whole
            }
        };
        let text = match Choices::prompt(&self.path, body) {
            Ok(text) => text,
            Err(refusal) => return self.refuse(&refusal, Answered::Refused).await,
        };
        let flight = choices.pick(&text);
        let chosen = messages::chosen(&shared.servers[flight.server()]);
        shared.numbers.began();
        self.open = Some(Open { flight: Some(flight), shared, ended: false });
        shared.numbers.decided(began.elapsed());
        self.send(chosen).await
    }

    /// Sends the held body on, chunk by chunk.
    async fn release(&mut self, ends: bool) -> Result<(), End> {
        let held = std::mem::take(&mut self.held);
        let last = held.len().saturating_sub(1);
        for (number, chunk) in held.into_iter().enumerate() {
            self.send(messages::chunk(Direction::Request, chunk, ends && number == last)).await?;
        }
        Ok(())
    }

    /// The answer's body has begun to come.
    fn began(&mut self) {
        if let Some(open) = &mut self.open {
            open.begin();
        }
    }

    /// The answer is complete.
    fn ended(&mut self) {
        if let Some(open) = &mut self.open {
            open.end();
        }
    }

    /// Answers the client in place of any server; the proxy needs nothing more.
    async fn refuse(&mut self, refusal: &Refusal, why: Answered) -> Result<(), End> {
        self.shared.numbers.answered(why);
        let body = refusal.body().to_vec();
        self.send(messages::immediate(refusal.status.as_u16(), body, &refusal.message)).await?;
        Err(End::Quiet)
    }

    async fn send(&mut self, message: ProcessingResponse) -> Result<(), End> {
        self.out.send(Ok(message)).await.map_err(|_| End::Quiet)
    }
}
