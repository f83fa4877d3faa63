//! What must be true of an endpoint before its latency means anything.

use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::{Failed, Kind, Target};
use super::plan::Plan;

/// How long one proof may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was proven.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Qualification {
    /// A whole answer is JSON with text and usage.
    pub json_with_usage: bool,
    /// A streamed answer came in as many chunks as tokens were asked for, and ended with its end event.
    pub stream_ends: bool,
    /// Milliseconds between the first and the last chunk of a streamed answer: above 0 where chunks are passed on as they
    /// come.
    pub stream_spread_ms: f64,
    /// A server's own 429 came back as one; absent where the servers cannot be asked for it.
    pub upstream_429: Option<bool>,
}

/// The endpoint does not qualify.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the endpoint does not qualify for a measurement: {0}")]
pub struct Unfit(String);

/// Proves it.
pub(super) async fn qualify(target: &Target, plan: &Plan) -> Result<Qualification, Unfit> {
    let timed = tokio::time::timeout(PATIENCE, async {
        whole(target).await?;
        let spread = streamed(target, plan).await?;
        let upstream_429 = if plan.upstream_errors { Some(refused(target).await?) } else { None };
        Ok(Qualification {
            json_with_usage: true,
            stream_ends: true,
            stream_spread_ms: spread.as_secs_f64() * 1e3,
            upstream_429,
        })
    });
    timed.await.map_err(|_| Unfit(format!("it did not answer within {} s", PATIENCE.as_secs())))?
}

async fn whole(target: &Target) -> Result<(), Unfit> {
    let failed = |why: String| Unfit(format!("a request without streaming: {why}"));
    let answer = target.send(target.body(0, false), Kind::default()).await;
    let answer = answer.map_err(|error| failed(describe(&error)))?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| failed(error.to_string()))?.to_bytes();
    let text = String::from_utf8_lossy(&body);
    let beginning: String = text.chars().take(200).collect();
    if status != StatusCode::OK {
        return Err(failed(format!("status {status}: {beginning}")));
    }
    let json: Value =
        serde_json::from_slice(&body).map_err(|_| failed(format!("the answer is not JSON: {beginning}")))?;
    if !json["choices"][0]["text"].is_string() || !json["usage"]["completion_tokens"].is_u64() {
        return Err(failed(format!("the answer has no text or no usage: {beginning}")));
    }
    Ok(())
}

async fn streamed(target: &Target, plan: &Plan) -> Result<Duration, Unfit> {
    let failed = |why: String| Unfit(format!("a streamed request: {why}"));
    let timing = target.stream(target.body(1, true)).await.map_err(|error| failed(describe(&error)))?;
    let (Some(first), Some(last)) = (timing.chunks.first(), timing.chunks.last()) else {
        return Err(failed("no chunk came".into()));
    };
    if timing.chunks.len() < plan.output_tokens.min(2) as usize {
        let chunks = timing.chunks.len();
        return Err(failed(format!(
            "{} tokens came in {chunks} chunk: the answer is not streamed",
            plan.output_tokens
        )));
    }
    Ok(last.duration_since(*first))
}

async fn refused(target: &Target) -> Result<bool, Unfit> {
    let kind = Kind { stream: false, status: Some(StatusCode::TOO_MANY_REQUESTS) };
    let answer = target.send(target.body(2, false), kind).await;
    let answer = answer.map_err(|error| Unfit(format!("a request that its server refuses: {}", describe(&error))))?;
    if answer.status() == StatusCode::TOO_MANY_REQUESTS {
        return Ok(true);
    }
    Err(Unfit(format!("a server's own 429 came back as {}", answer.status())))
}

fn describe(failed: &Failed) -> String {
    match failed {
        Failed::Broken(why) => why.clone(),
        other => other.label(),
    }
}
