//! A proxy that asks the endpoint picker about each request, and streams the answer back.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::{Instant, Sleep};

use crate::config::Policy;

use super::answer::{self, AnyBody};
use super::api::Refusal;
use super::choices::{Choices, Flight};
use super::model_server::read;

/// The router's fixed parts.
pub(super) struct Router {
    servers: Vec<Authority>,
    client: Client<HttpConnector, Full<Bytes>>,
    choices: Arc<Choices>,
    request_delay: Duration,
    chunk_delay: Duration,
}

/// Delays of a router's two directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    /// Before a request is passed on.
    pub(super) request: Duration,
    /// Before a chunk of an answer is passed on.
    pub(super) chunk: Duration,
}

impl Router {
    /// A router in front of `servers` that carries out `policy`.
    pub(super) fn new(servers: &[SocketAddr], model: &str, policy: &Policy, seed: u64, delays: Delays) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        // An address and a port are always an authority.
        let authority = |server: &SocketAddr| server.to_string().parse().ok();
        Self {
            servers: servers.iter().filter_map(authority).collect(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            choices: Arc::new(Choices::new(servers.len(), model, policy, seed)),
            request_delay: delays.request,
            chunk_delay: delays.chunk,
        }
    }

    /// The picker, with what it knows.
    pub(super) fn choices(&self) -> &Arc<Choices> {
        &self.choices
    }

    /// Passes one request on.
    pub(super) async fn forward(self: Arc<Self>, request: Request<Incoming>) -> Response<AnyBody> {
        let (method, path) = (request.method().clone(), request.uri().path_and_query().cloned());
        let mut headers = request.headers().clone();
        headers.remove(http::header::CONTENT_LENGTH);
        headers.remove(http::header::TRANSFER_ENCODING);
        headers.remove(http::header::HOST);
        let body = match read(request).await {
            Ok(body) => body,
            Err(refusal) => return answer::refused(&refusal),
        };
        let text = match Choices::prompt(path.as_ref().map_or("", |path| path.path()), &body) {
            Ok(text) => text,
            Err(refusal) => return answer::refused(&refusal),
        };
        let flight = self.choices.pick(&text);
        if !self.request_delay.is_zero() {
            tokio::time::sleep(self.request_delay).await;
        }
        let mut uri = Uri::builder().scheme(Scheme::HTTP).authority(self.servers[flight.server()].clone());
        if let Some(path) = path {
            uri = uri.path_and_query(path);
        }
        let forwarded = uri.build().and_then(|uri| {
            let mut forwarded = Request::builder().method(method).uri(uri).body(Full::new(body))?;
            *forwarded.headers_mut() = headers;
            Ok(forwarded)
        });
        let answered = match forwarded {
            Ok(forwarded) => self.client.request(forwarded).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match answered {
            Ok(answered) => answered.map(|inner| {
                let delay = self.chunk_delay;
                Passed { inner, flight, delay, held: VecDeque::new(), sleep: None, ended: false }.boxed_unsync()
            }),
            Err(error) => {
                self.choices.count_failure();
                let message = format!("server {} does not answer: {error}", flight.server() + 1);
                answer::refused(&Refusal { status: StatusCode::SERVICE_UNAVAILABLE, message })
            }
        }
    }
}

/// An answer on its way back; each chunk is held for `delay`, in order.
struct Passed {
    inner: Incoming,
    flight: Flight,
    delay: Duration,
    held: VecDeque<(Instant, Frame<Bytes>)>,
    sleep: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        while !self.ended {
            match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(frame))) => {
                    self.flight.begin();
                    if self.delay.is_zero() {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    let due = Instant::now() + self.delay;
                    self.held.push_back((due, frame));
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => self.ended = true,
            }
        }
        let Some(&(due, _)) = self.held.front() else {
            return if self.ended { Poll::Ready(None) } else { Poll::Pending };
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        Poll::Ready(self.held.pop_front().map(|(_, frame)| Ok(frame)))
    }
}
