use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::*;

const HARDWARE: &str = "\
description: A fast server for tests
gpus_per_server: 0
bytes_per_token: 5
step:
  base_seconds: 0.001
  per_sequence_seconds: 0
  per_sequence_squared_seconds: 0
  per_context_token_seconds: 0
  per_unique_token_seconds: 0
  per_prefill_token_seconds: 1.0e-6
  per_prefill_token_context_seconds: 0
  prefill_overlap: 0
overhead: {request_seconds: 0, response_seconds: 0, per_running_request_seconds: 0}
kv_cache: {capacity_tokens: 1600, block_tokens: 16}
scheduler: {prefill_budget_tokens: 512, max_sequences: 64, asynchronous: false}
";

/// A running testbed and a client of it; both end with the test.
struct Testbed {
    ready: Ready,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Testbed {
    /// Starts `servers` servers behind a router of this kind, with these delays and this constant backend.
    fn start(folder: &Path, servers: usize, router: Value, constant: Option<Value>) -> Self {
        fs_err::write(folder.join("hardware.yaml"), HARDWARE).unwrap();
        let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/routing/optimized-baseline.yaml");
        fs_err::copy(policy, folder.join("policy.yaml")).unwrap();
        let mut document = json!({"hardware": "hardware.yaml", "servers": servers, "model": "m", "router": router});
        if let Some(constant) = constant {
            document["constant"] = constant;
        }
        fs_err::write(folder.join("testbed.yaml"), document.to_string()).unwrap();
        let config = Config::read(&folder.join("testbed.yaml")).unwrap();
        let hardware = Hardware::read(&config.hardware).unwrap();
        let policy = config.router.policy.as_ref().map(|path| Policy::read(path, &hardware.plugin_defaults).unwrap());
        let ready = super::start(&config, &hardware, policy.as_ref()).unwrap();
        Self { ready, client: Client::builder(TokioExecutor::new()).build_http() }
    }

    fn router(&self) -> String {
        self.ready.router.clone().unwrap()
    }

    async fn post(&self, url: String, body: Value) -> Response<Incoming> {
        let request = Request::post(url).body(Full::from(body.to_string())).unwrap();
        self.client.request(request).await.unwrap()
    }

    async fn get(&self, url: String) -> String {
        let request = Request::get(url).body(Full::default()).unwrap();
        text(self.client.request(request).await.unwrap()).await
    }

    /// The value of a metric's series on a page.
    async fn metric(&self, page: &str, series: &str) -> f64 {
        let page = self.get(format!("{page}/metrics")).await;
        let line = page.lines().find(|line| line.starts_with(series)).unwrap_or_else(|| panic!("{series} in {page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn service() -> Value {
    json!({"kind": "service"})
}

fn picker() -> Value {
    json!({"kind": "picker", "policy": "policy.yaml"})
}

fn completion(prompt: &str, tokens: u32) -> Value {
    json!({"model": "m", "prompt": prompt, "max_tokens": tokens, "ignore_eos": true})
}

fn words(from: usize, count: usize) -> String {
    (from..from + count).map(crate::tokenizer::word).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_stream_brings_each_token_in_a_chunk_of_its_own_then_usage_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(folder.path(), 1, picker(), None);
    for (path, kind) in [("completions", "text"), ("chat/completions", "delta")] {
        let mut request = completion("a b c", 5);
        request["messages"] = json!([{"role": "user", "content": "a b"}]);
        request["stream"] = true.into();
        request["stream_options"] = json!({"include_usage": true});
        let stream = text(testbed.post(format!("{}/v1/{path}", testbed.router()), request).await).await;
        let chunks: Vec<_> = stream.split("\n\n").filter(|chunk| !chunk.is_empty()).collect();
        assert_eq!(chunks.len(), 7, "5 tokens, usage, end: {stream}");
        let chunk: Value = serde_json::from_str(chunks[4].strip_prefix("data: ").unwrap()).unwrap();
        assert!(!chunk["choices"][0][kind].is_null(), "{chunk}");
        assert_eq!(chunk["choices"][0]["finish_reason"], "length");
        let usage: Value = serde_json::from_str(chunks[5].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!((&usage["usage"]["prompt_tokens"], &usage["usage"]["completion_tokens"]), (&json!(3), &json!(5)));
        assert_eq!(chunks[6], "data: [DONE]");
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_in_openai_s_form_and_nothing_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(folder.path(), 1, service(), None);
    let mut unknown = completion("a", 1);
    unknown["model"] = "other".into();
    let too_large = completion(&words(0, 1500), 200);
    let cases = [(unknown, 404, "`other`"), (too_large, 400, "could never be admitted"), (json!([]), 400, "body")];
    for (request, status, words) in cases {
        let response = testbed.post(format!("{}/v1/completions", testbed.router()), request).await;
        assert_eq!(response.status().as_u16(), status);
        let body: Value = serde_json::from_str(&text(response).await).unwrap();
        assert!(body["error"]["message"].as_str().unwrap().contains(words), "{body}");
    }
    assert_eq!(testbed.metric(&testbed.ready.servers[0], "vllm:num_requests_waiting").await, 0.0);
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place_and_its_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(folder.path(), 1, picker(), None);
    let mut request = completion(&words(0, 160), 1400);
    request["stream"] = true.into();
    let mut response = testbed.post(format!("{}/v1/completions", testbed.router()), request).await;
    response.frame().await.unwrap().unwrap();
    let server = &testbed.ready.servers[0];
    assert_eq!(testbed.metric(server, "vllm:num_requests_running").await, 1.0);
    drop(response);
    for _ in 0..200 {
        if testbed.metric(server, "vllm:num_requests_running").await == 0.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(testbed.metric(server, "vllm:num_requests_running").await, 0.0);
    assert_eq!(testbed.metric(server, "vllm:kv_cache_usage_perc").await, 0.0);
    assert_eq!(testbed.metric(&testbed.ready.admin, "testbed_router_inflight_tokens{server=\"1\"}").await, 0.0);
}

#[tokio::test]
async fn a_picker_sends_a_known_prefix_to_the_server_that_holds_it_until_reset() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(folder.path(), 3, picker(), None);
    let url = format!("{}/v1/completions", testbed.router());
    let prompt = words(0, 640);
    for _ in 0..6 {
        text(testbed.post(url.clone(), completion(&prompt, 1)).await).await;
    }
    let mut picks = Vec::new();
    let mut hits = 0.0;
    for (number, server) in testbed.ready.servers.iter().enumerate() {
        let series = format!("testbed_router_picks_total{{server=\"{}\"}}", number + 1);
        picks.push(testbed.metric(&testbed.ready.admin, &series).await);
        hits += testbed.metric(server, "vllm:prefix_cache_hits_total").await;
    }
    picks.sort_by(f64::total_cmp);
    assert_eq!(picks, [0.0, 0.0, 6.0]);
    assert_eq!(hits, 5.0 * 624.0, "a full hit still computes the last block");
    testbed.post(format!("{}/reset", testbed.ready.admin), json!({})).await;
    text(testbed.post(url, completion(&prompt, 1)).await).await;
    let mut after = 0.0;
    for server in &testbed.ready.servers {
        after += testbed.metric(server, "vllm:prefix_cache_hits_total").await;
    }
    assert_eq!(after, hits, "cold again");
}

#[tokio::test]
async fn a_service_keeps_a_connection_on_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(folder.path(), 4, service(), None);
    let url = format!("{}/v1/completions", testbed.router());
    for number in 0..8 {
        text(testbed.post(url.clone(), completion(&words(number, 3), 1)).await).await;
    }
    let mut served = Vec::new();
    for server in &testbed.ready.servers {
        served.push(testbed.metric(server, "vllm:request_success_total").await);
    }
    served.sort_by(f64::total_cmp);
    assert_eq!(served, [0.0, 0.0, 0.0, 8.0], "one client, one kept connection");
}

#[tokio::test]
async fn delays_of_a_router_come_before_the_request_and_each_chunk_and_keep_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut router = picker();
    router["request_delay_seconds"] = json!(0.05);
    router["chunk_delay_seconds"] = json!(0.05);
    let testbed = Testbed::start(folder.path(), 1, router, None);
    let url = format!("{}/v1/completions", testbed.router());
    let mut request = completion("a b c", 20);
    let direct =
        text(testbed.post(format!("{}/v1/completions", testbed.ready.servers[0]), request.clone()).await).await;
    let before = std::time::Instant::now();
    request["stream"] = true.into();
    let stream = text(testbed.post(url, request).await).await;
    assert!(before.elapsed() >= Duration::from_millis(100), "both delays have passed");
    let whole: Value = serde_json::from_str(&direct).unwrap();
    assert_eq!(whole["choices"][0]["text"].as_str().unwrap().split_whitespace().count(), 20);
    assert_eq!(stream.matches("\"text\":").count(), 20);
    assert!(stream.ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_constant_backend_answers_without_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let constant = json!({"first_token_seconds": 0.01, "token_seconds": 0});
    let testbed = Testbed::start(folder.path(), 1, service(), Some(constant));
    let url = format!("{}/v1/completions", testbed.router());
    let answer: Value = serde_json::from_str(&text(testbed.post(url, completion("a b", 4)).await).await).unwrap();
    assert_eq!(answer["usage"]["completion_tokens"], 4);
    assert_eq!(testbed.metric(&testbed.ready.servers[0], "testbed_steps_total").await, 0.0);
}

#[tokio::test]
async fn many_streams_at_once_all_get_all_their_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(folder.path(), 2, picker(), None);
    let url = format!("{}/v1/completions", testbed.router());
    let requests = (0..200).map(|number| {
        let mut request = completion(&words(number * 7, 40), 20);
        request["stream"] = true.into();
        let (client, url) = (testbed.client.clone(), url.clone());
        tokio::spawn(async move {
            let request = Request::post(url).body(Full::from(request.to_string())).unwrap();
            text(client.request(request).await.unwrap()).await.matches("\"text\":").count()
        })
    });
    for request in requests.collect::<Vec<_>>() {
        assert_eq!(request.await.unwrap(), 20);
    }
    let mut tokens = 0.0;
    for server in &testbed.ready.servers {
        tokens += testbed.metric(server, "vllm:generation_tokens_total").await;
        assert_eq!(testbed.metric(server, "vllm:kv_cache_usage_perc").await, 0.0);
    }
    assert_eq!(tokens, 200.0 * 20.0);
}

#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(async { listen(port).unwrap_err() });
    assert!(error.to_string().starts_with(&format!("cannot listen on 127.0.0.1:{port}")), "{error}");
}
