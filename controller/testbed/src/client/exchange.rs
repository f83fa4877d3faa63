//! One request and its streamed answer.

use std::time::Instant;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use super::plan::{Plan, PlanError};
use crate::tokenizer;

/// Where requests go, and how they are made.
#[derive(Debug)]
pub(super) struct Target {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    model: String,
    prompt_words: usize,
    pub(super) output_tokens: u32,
}

/// What kind of answer is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Streamed, or whole.
    pub(super) stream: bool,
    /// The status that the server shall answer with instead.
    pub(super) status: Option<StatusCode>,
}

/// When parts of a streamed answer came.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    /// When each chunk with a token came.
    pub(super) chunks: Vec<Instant>,
    /// When the body ended.
    pub(super) ended: Option<Instant>,
    /// Whether `data: [DONE]` was its last event.
    pub(super) done: bool,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// Another status than 200.
    Status(u16),
    /// The connection or the protocol broke.
    Broken(String),
    /// The answer is not all there.
    Incomplete,
    /// It took too long.
    Timeout,
}

impl Failed {
    /// A short name for counting.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Status(status) => format!("status {status}"),
            Self::Broken(_) => "connection".into(),
            Self::Incomplete => "incomplete answer".into(),
            Self::Timeout => "timeout".into(),
        }
    }
}

impl Target {
    /// The target of a plan.
    ///
    /// # Errors
    /// When its endpoint is not `http://host:port`.
    pub(super) fn new(plan: &Plan) -> Result<Self, PlanError> {
        let uri = format!("{}/v1/completions", plan.endpoint.trim_end_matches('/')).parse::<Uri>();
        let uri = uri.ok().filter(|uri| uri.scheme_str() == Some("http") && uri.authority().is_some());
        let uri = uri.ok_or_else(|| PlanError(format!("`{}` is not http://host:port", plan.endpoint)))?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            uri,
            model: plan.model.clone(),
            prompt_words: plan.prompt_words,
            output_tokens: plan.output_tokens,
        })
    }

    /// The body of the `number`-th request; prompts differ from each other in every word.
    pub(super) fn body(&self, number: u64, stream: bool) -> Bytes {
        let first = (number as usize).wrapping_mul(131);
        let words =
            (0..self.prompt_words).map(|word| tokenizer::word((first.wrapping_add(word * 17)) % tokenizer::WORDS));
        let prompt = words.collect::<Vec<_>>().join(" ");
        let mut body = json!({
            "model": self.model, "prompt": prompt, "max_tokens": self.output_tokens, "temperature": 0,
            "ignore_eos": true, "stream": stream,
        });
        if stream {
            body["stream_options"] = json!({"include_usage": true});
        }
        Bytes::from(body.to_string())
    }

    /// Sends a request and returns the head of its answer.
    pub(super) async fn send(&self, body: Bytes, kind: Kind) -> Result<http::Response<Incoming>, Failed> {
        let mut request = Request::post(self.uri.clone()).header(header::CONTENT_TYPE, "application/json");
        if let Some(status) = kind.status {
            request = request.header(crate::serve::STATUS_HEADER, status.as_u16());
        }
        let request = request.body(Full::new(body)).map_err(|error| Failed::Broken(error.to_string()))?;
        self.client.request(request).await.map_err(|error| Failed::Broken(error.to_string()))
    }

    /// Sends a streaming request and takes its whole answer.
    pub(super) async fn stream(&self, body: Bytes) -> Result<Timing, Failed> {
        let answer = self.send(body, Kind { stream: true, status: None }).await?;
        if answer.status() != StatusCode::OK {
            return Err(Failed::Status(answer.status().as_u16()));
        }
        let mut timing = Timing { chunks: Vec::with_capacity(self.output_tokens as usize), ..Timing::default() };
        let mut events = Events::default();
        let mut body = answer.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Failed::Broken(error.to_string()))?;
            let now = Instant::now();
            let Some(data) = frame.data_ref() else { continue };
            events.take(data, |event| match event {
                b"[DONE]" => timing.done = true,
                // The last event before the end counts tokens and carries none.
                event if contains(event, b"\"choices\":[]") => {}
                _ => timing.chunks.push(now),
            });
        }
        timing.ended = Some(Instant::now());
        if timing.done && !timing.chunks.is_empty() { Ok(timing) } else { Err(Failed::Incomplete) }
    }
}

/// Server-sent events in pieces of any size.
#[derive(Debug, Default)]
struct Events {
    rest: Vec<u8>,
}

impl Events {
    /// Gives each event's data that is complete with this piece to `found`.
    fn take(&mut self, piece: &[u8], mut found: impl FnMut(&[u8])) {
        let mut left = piece;
        while let Some(end) = left.iter().position(|&byte| byte == b'\n') {
            let (line, after) = left.split_at(end);
            left = &after[1..];
            let whole;
            let line = if self.rest.is_empty() {
                line
            } else {
                self.rest.extend_from_slice(line);
                whole = std::mem::take(&mut self.rest);
                &whole
            };
            if let Some(data) = line.strip_prefix(b"data:") {
                found(data.trim_ascii());
            }
        }
        self.rest.extend_from_slice(left);
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_a_body_is_cut() {
        let text = b"data: {\"a\":1}\n\n: a comment\ndata: {\"b\":2}\r\n\r\ndata: [DONE]\n\n";
        for size in 1..text.len() {
            let (mut events, mut found) = (Events::default(), Vec::new());
            for piece in text.chunks(size) {
                events.take(piece, |event| found.push(String::from_utf8_lossy(event).into_owned()));
            }
            assert_eq!(found, ["{\"a\":1}", "{\"b\":2}", "[DONE]"], "pieces of {size}");
        }
    }
}
