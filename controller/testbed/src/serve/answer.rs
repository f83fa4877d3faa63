//! Response bodies: text, and streams of one chunk a token.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};

use super::api::{Refusal, Writer};
use super::backend::{Event, Stream};
use crate::config::Constant;

/// Any body.
pub type AnyBody = UnsyncBoxBody<Bytes, hyper::Error>;

/// A whole answer.
pub fn whole(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<AnyBody> {
    let body = Full::new(body.into()).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

/// A JSON answer.
pub(super) fn json(body: impl Into<Bytes>) -> Response<AnyBody> {
    whole(StatusCode::OK, "application/json", body)
}

/// A page of metrics.
pub fn metrics(page: String) -> Response<AnyBody> {
    whole(StatusCode::OK, "text/plain; version=0.0.4", page)
}

/// A refusal in OpenAI's form.
pub(super) fn refused(refusal: &Refusal) -> Response<AnyBody> {
    whole(refusal.status, "application/json", refusal.body())
}

/// An answer in server-sent events.
pub(super) fn events(body: impl Body<Data = Bytes, Error = hyper::Error> + Send + 'static) -> Response<AnyBody> {
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache"));
    response
}

/// Where tokens come from.
#[derive(Debug)]
pub(super) enum Source {
    /// A simulated server.
    Simulated(Stream),
    /// A backend that answers at fixed times.
    Constant {
        /// When.
        times: Constant,
        /// When the request arrived.
        arrived: Instant,
        /// Tokens given so far.
        given: u32,
        /// Tokens in all.
        tokens: u32,
        /// The wait in progress.
        sleep: Pin<Box<Sleep>>,
    },
}

impl Source {
    /// A source of `tokens` tokens at fixed times from now on.
    pub(super) fn constant(times: Constant, tokens: u32) -> Self {
        let arrived = Instant::now();
        let first = arrived + Duration::from_secs_f64(times.first_token_seconds);
        Self::Constant { times, arrived, given: 0, tokens, sleep: Box::pin(sleep_until(first)) }
    }

    /// The next event; `None` when the server has ended before the answer.
    pub(super) fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        match self {
            Self::Simulated(stream) => stream.events.poll_recv(context),
            Self::Constant { times, arrived, given, tokens, sleep } => {
                if given == tokens {
                    return Poll::Ready(Some(Event::Finished));
                }
                ready!(sleep.as_mut().poll(context));
                *given += 1;
                // From the arrival, not from now: a late wake-up is not added to the tokens after it.
                let seconds = times.first_token_seconds + times.token_seconds * f64::from(*given);
                sleep.as_mut().reset(*arrived + Duration::from_secs_f64(seconds));
                Poll::Ready(Some(Event::Token))
            }
        }
    }

    /// Waits for the end of the answer; the tokens it had, or `None` when the server has ended before.
    pub(super) async fn finished(&mut self) -> Option<u32> {
        let mut tokens = 0;
        loop {
            match std::future::poll_fn(|context| self.poll_event(context)).await? {
                Event::Token => tokens += 1,
                Event::Finished => return Some(tokens),
            }
        }
    }
}

/// A streamed answer.
#[derive(Debug)]
pub(super) struct TokenBody {
    /// Where tokens come from.
    pub(super) source: Source,
    /// How they are written.
    pub(super) writer: Writer,
    /// Tokens in all.
    pub(super) tokens: u32,
    /// Whether they are counted at the end.
    pub(super) usage: bool,
    /// Tokens written.
    pub(super) written: u32,
    /// Whether the end has been written.
    pub(super) ended: bool,
}

impl Body for TokenBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let chunk = match ready!(self.source.poll_event(context)) {
            Some(Event::Token) => {
                let index = self.written;
                self.written += 1;
                self.writer.chunk(index, self.written == self.tokens)
            }
            Some(Event::Finished) => {
                self.ended = true;
                self.writer.end(self.written, self.usage)
            }
            None => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }
}
