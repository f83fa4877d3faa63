//! A proxy that asks the endpoint picker about each request, and streams the answer back.

use std::collections::HashSet;
use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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
use crate::engine::{Pick, Picker, hash};

use super::answer::{self, AnyBody};
use super::api::{Endpoint, Generation, Refusal};
use super::backend::{Backend, lock};
use super::model_server::read;
use super::pages::Routed;

/// How often the picker reads what servers report.
const SCRAPE_INTERVAL: Duration = Duration::from_millis(50);

/// Blocks from a prompt's beginning that tell one group of prompts from another.
const PREFIX_BLOCKS: usize = 4;

/// The router's fixed parts.
pub(super) struct Router {
    servers: Vec<Authority>,
    model: String,
    client: Client<HttpConnector, Full<Bytes>>,
    state: Mutex<State>,
    request_delay: Duration,
    chunk_delay: Duration,
    failed: AtomicU64,
}

struct State {
    picker: Picker,
    routed: Vec<Routed>,
    prefixes: Vec<HashSet<u64>>,
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
        let count = servers.len();
        // An address and a port are always an authority.
        let authority = |server: &SocketAddr| server.to_string().parse().ok();
        Self {
            servers: servers.iter().filter_map(authority).collect(),
            model: model.to_owned(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            state: Mutex::new(State {
                picker: Picker::new(policy, count, seed),
                routed: vec![Routed::default(); count],
                prefixes: vec![HashSet::new(); count],
            }),
            request_delay: delays.request,
            chunk_delay: delays.chunk,
            failed: AtomicU64::new(0),
        }
    }

    /// Tells the picker what servers report, until the runtime ends.
    pub(super) async fn scrape(self: Arc<Self>, servers: Vec<Backend>) {
        if !lock(&self.state).picker.observes() {
            return;
        }
        let mut interval = tokio::time::interval(SCRAPE_INTERVAL);
        loop {
            interval.tick().await;
            let mut state = lock(&self.state);
            for (number, server) in servers.iter().enumerate() {
                let (waiting, usage) = server.observed();
                state.picker.observe(number, waiting, usage);
            }
        }
    }

    /// What was sent where, and how many requests no server answered.
    pub(super) fn routed(&self) -> (Vec<Routed>, u64) {
        let state = lock(&self.state);
        let mut routed = state.routed.clone();
        for (number, routed) in routed.iter_mut().enumerate() {
            routed.prefixes = state.prefixes[number].len();
            routed.inflight = state.picker.inflight(number);
        }
        (routed, self.failed.load(Ordering::Relaxed))
    }

    /// Forgets what was sent where.
    pub(super) fn reset(&self) {
        let mut state = lock(&self.state);
        state.picker.clear_index();
        state.routed.fill(Routed::default());
        state.prefixes.iter_mut().for_each(HashSet::clear);
    }

    /// Passes one request on.
    pub(super) async fn forward(self: Arc<Self>, request: Request<Incoming>) -> Response<AnyBody> {
        let endpoint = Endpoint::at(request.uri().path());
        let (method, path) = (request.method().clone(), request.uri().path_and_query().cloned());
        let mut headers = request.headers().clone();
        headers.remove(http::header::CONTENT_LENGTH);
        headers.remove(http::header::TRANSFER_ENCODING);
        headers.remove(http::header::HOST);
        let body = match read(request).await {
            Ok(body) => body,
            Err(refusal) => return answer::refused(&refusal),
        };
        let text = match endpoint.map(|endpoint| Generation::parse(endpoint, &body)) {
            Some(Ok(generation)) => generation.text,
            Some(Err(refusal)) => return answer::refused(&refusal),
            None => String::new(),
        };
        let mut flight = self.pick(&text);
        if !self.request_delay.is_zero() {
            tokio::time::sleep(self.request_delay).await;
        }
        let mut uri = Uri::builder().scheme(Scheme::HTTP).authority(self.servers[flight.pick.server].clone());
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
                flight.begun = false;
                let delay = self.chunk_delay;
                Passed { inner, flight, delay, held: VecDeque::new(), sleep: None, ended: false }.boxed_unsync()
            }),
            Err(error) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                let message = format!("server {} does not answer: {error}", flight.pick.server + 1);
                answer::refused(&Refusal { status: StatusCode::SERVICE_UNAVAILABLE, message })
            }
        }
    }

    fn pick(self: &Arc<Self>, text: &str) -> Flight {
        let mut state = lock(&self.state);
        let (block, most) = state.picker.blocks();
        let prompt = hash::pseudo_tokens(&self.model, text.as_bytes(), block, most);
        let pick = state.picker.pick(&prompt);
        let routed = &mut state.routed[pick.server];
        routed.picks += 1;
        routed.matched_picks += u64::from(pick.matched_blocks > 0);
        routed.blocks += u64::from(pick.blocks);
        routed.matched_blocks += u64::from(pick.matched_blocks);
        if let Some(&prefix) = prompt.hashes.get(PREFIX_BLOCKS - 1).or(prompt.hashes.last()) {
            state.prefixes[pick.server].insert(prefix);
        }
        Flight { router: Arc::clone(self), pick, begun: false }
    }
}

/// Tokens in flight; dropped, they no longer are, whatever became of the request.
struct Flight {
    router: Arc<Router>,
    pick: Pick,
    begun: bool,
}

impl Flight {
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            lock(&self.router.state).picker.begun(&self.pick);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.begin();
        lock(&self.router.state).picker.ended(&self.pick);
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
