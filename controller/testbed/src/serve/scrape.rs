//! What servers report about themselves, read from their metrics pages as the endpoint picker reads them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::MissedTickBehavior;

use super::choices::Choices;

/// How often the picker reads what servers report.
pub(super) const INTERVAL: Duration = Duration::from_millis(50);

/// A page that takes longer says nothing about now.
const DEADLINE: Duration = Duration::from_secs(1);

/// Scrapes in a row that fail before a server counts as gone.
const PATIENCE: u32 = 3;

/// Pages larger than this are not a model server's.
const LARGEST_PAGE: usize = 8 << 20;

/// Gauges by vLLM's names, the earlier name of the second one too, and SGLang's.
const WAITING: [&str; 2] = ["vllm:num_requests_waiting", "sglang:num_queue_reqs"];
const USAGE: [&str; 3] = ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"];

/// Tells `choices` every 50 ms what `servers` report and whether they answer, until the runtime ends.
pub async fn keep(choices: Arc<Choices>, servers: Vec<SocketAddr>) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    for (number, server) in servers.into_iter().enumerate() {
        tokio::spawn(watch(Arc::clone(&choices), client.clone(), number, server));
    }
}

async fn watch(choices: Arc<Choices>, client: Client<HttpConnector, Empty<Bytes>>, number: usize, server: SocketAddr) {
    // An address and a path are always a URI.
    let Ok(uri) = format!("http://{server}/metrics").parse::<Uri>() else { return };
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut failures = 0;
    loop {
        interval.tick().await;
        match tokio::time::timeout(DEADLINE, page(&client, uri.clone())).await {
            Ok(Some(page)) => {
                failures = 0;
                choices.set_available(number, true);
                if let Some((waiting, usage)) = read(&page) {
                    choices.observe(number, waiting, usage);
                }
            }
            Ok(None) | Err(_) => {
                failures += 1;
                if failures >= PATIENCE {
                    choices.set_available(number, false);
                }
            }
        }
    }
}

/// A server's page; empty when it answers without having one.
async fn page(client: &Client<HttpConnector, Empty<Bytes>>, uri: Uri) -> Option<String> {
    let answer = client.get(uri).await.ok()?;
    if answer.status() != StatusCode::OK {
        return Some(String::new());
    }
    let body = Limited::new(answer.into_body(), LARGEST_PAGE).collect().await.ok()?.to_bytes();
    Some(String::from_utf8_lossy(&body).into_owned())
}

/// Requests in the queue, and the used part of the KV cache; `None` for pages that tell neither.
fn read(page: &str) -> Option<(usize, f64)> {
    let gauge = |names: &[&str]| {
        let lines = page.lines().filter_map(|line| line.rsplit_once(' '));
        let named = lines.filter(|(series, _)| series.split('{').next().is_some_and(|name| names.contains(&name)));
        named.filter_map(|(_, value)| value.parse::<f64>().ok()).reduce(f64::max)
    };
    let (waiting, usage) = (gauge(&WAITING), gauge(&USAGE));
    waiting.or(usage)?;
    Some((waiting.unwrap_or(0.0).max(0.0) as usize, usage.unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_s_queue_and_cache_are_read_by_the_names_of_several_engines() {
        let vllm = "# TYPE vllm:num_requests_waiting gauge\n\
                    vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 3.0\n\
                    vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.25\n";
        assert_eq!(read(vllm), Some((3, 0.25)));
        assert_eq!(read("sglang:num_queue_reqs{} 2\nsglang:token_usage{} 0.5\n"), Some((2, 0.5)));
        assert_eq!(read("llamacpp:requests_processing 1\n"), None, "unknown is not zero");
        assert_eq!(read(""), None);
    }
}
