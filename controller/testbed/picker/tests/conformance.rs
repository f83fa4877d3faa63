//! The picker as a proxy meets it: over gRPC on loopback, message by message.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

mod proxy;

use std::time::Duration;

use envoy_types::pb::envoy::service::ext_proc::v3::processing_response::Response;
use serde_json::{Value, json};
use tonic::Code;

use proxy::{Picker, request};

#[tokio::test]
async fn a_body_in_many_chunks_is_answered_with_one_address_and_comes_back_in_order() {
    let picker = Picker::start(2, json!({})).await;
    let mut stream = picker.open().await;
    let body = request("word ".repeat(4000).trim());
    stream.headers("/v1/completions", false).await;
    let chunks: Vec<_> = body.as_bytes().chunks(37).collect();
    assert!(chunks.len() > 500);
    for (number, chunk) in chunks.iter().enumerate() {
        stream.body(chunk, number + 1 == chunks.len()).await;
    }
    let chosen = stream.chosen().await;
    assert!(picker.servers.contains(&chosen), "{chosen}");
    assert_eq!(stream.echo(chunks.len()).await, (body.into_bytes(), true));

    stream.answer_headers().await;
    assert!(matches!(stream.next().await, Some(Response::ResponseHeaders(_))));
    for (number, part) in ["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"].iter().enumerate() {
        stream.answer_body(part.as_bytes(), number == 2).await;
        // Each chunk comes back before the next is sent: nothing of an answer waits.
        assert_eq!(stream.echo(1).await, (part.as_bytes().to_vec(), number == 2));
    }
    drop(stream);
    let page = picker.page_when(|page| page.contains("testbed_picker_inflight_requests 0\n")).await;
    assert!(page.contains("testbed_picker_abandoned_total 0\n"), "{page}");
    assert!(page.contains("testbed_picker_decision_seconds_count{phase=\"request\"} 1\n"), "{page}");
}

#[tokio::test]
async fn trailers_end_a_body_too_and_pass_both_ways() {
    let picker = Picker::start(1, json!({})).await;
    let mut stream = picker.open().await;
    let body = request("why");
    stream.headers("/v1/completions", false).await;
    stream.body(body.as_bytes(), false).await;
    stream.trailers().await;
    assert_eq!(stream.chosen().await, picker.servers[0]);
    assert_eq!(stream.echo(1).await, (body.into_bytes(), false), "the trailers end the body, not its last chunk");
    assert!(matches!(stream.next().await, Some(Response::RequestTrailers(_))));
    stream.answer_headers().await;
    assert!(matches!(stream.next().await, Some(Response::ResponseHeaders(_))));
    stream.answer_trailers().await;
    assert!(matches!(stream.next().await, Some(Response::ResponseTrailers(_))));
}

#[tokio::test]
async fn a_request_without_a_body_is_answered_at_its_headers() {
    let picker = Picker::start(1, json!({})).await;
    let mut stream = picker.open().await;
    stream.headers("/v1/models", true).await;
    assert_eq!(stream.chosen().await, picker.servers[0]);
}

#[tokio::test]
async fn prompts_that_share_a_beginning_go_to_the_server_that_had_it() {
    let picker = Picker::start(4, json!({})).await;
    let shared = "the same beginning of some length ".repeat(60);
    let first = picker.whole(&request(&format!("{shared} one"))).await;
    for question in ["two", "three", "four"] {
        assert_eq!(picker.whole(&request(&format!("{shared} {question}"))).await, first);
    }
    let page = picker.page().await;
    let matched: f64 = page
        .lines()
        .filter(|line| line.starts_with("testbed_router_matched_picks_total{"))
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum();
    assert_eq!(matched, 3.0, "{page}");
}

#[tokio::test]
async fn a_proxy_that_does_not_read_is_held_back_and_loses_nothing() {
    let picker = Picker::start(1, json!({})).await;
    let mut stream = picker.open().await;
    stream.headers("/v1/models", true).await;
    stream.chosen().await;
    const CHUNKS: u8 = 200;
    let mut sender = stream.sender();
    let sending = tokio::spawn(async move {
        for number in 0..CHUNKS {
            sender.answer_body(&[number; 64 << 10], number + 1 == CHUNKS).await;
        }
    });
    // 12.8 MB cannot all be on the way: only unbounded buffering would let the sender finish.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!sending.is_finished(), "the picker took everything without being read");
    let (bytes, end) = stream.echo(usize::from(CHUNKS)).await;
    assert!(end);
    assert_eq!(bytes.len(), usize::from(CHUNKS) * (64 << 10));
    let in_order =
        bytes.chunks(64 << 10).enumerate().all(|(number, chunk)| chunk.iter().all(|&byte| usize::from(byte) == number));
    assert!(in_order);
    sending.await.unwrap();
}

#[tokio::test]
async fn clients_that_vanish_leave_nothing_in_flight() {
    let picker = Picker::start(2, json!({})).await;
    let mut streams = Vec::new();
    for number in 0..20 {
        let mut stream = picker.open().await;
        let body = request(&format!("prompt {number}"));
        stream.headers("/v1/completions", false).await;
        if number % 2 == 0 {
            stream.body(body.as_bytes(), true).await;
            stream.chosen().await;
        } else {
            stream.body(&body.as_bytes()[..10], false).await;
        }
        streams.push(stream);
    }
    let page = picker.page().await;
    assert!(page.contains("testbed_picker_inflight_requests 10\n"), "{page}");
    drop(streams);
    let gone = |page: &str| {
        page.contains("testbed_picker_inflight_requests 0\n") && page.contains("testbed_picker_abandoned_total 10\n")
    };
    let page = picker.page_when(gone).await;
    let inflight = page.lines().filter(|line| line.starts_with("testbed_router_inflight_tokens{"));
    assert!(inflight.clone().count() == 2 && inflight.clone().all(|line| line.ends_with(" 0")), "{page}");
}

#[tokio::test]
async fn a_thousand_streams_at_once_are_all_answered() {
    let picker = Picker::start(4, json!({})).await;
    let mut streams = Vec::new();
    for number in 0..1000 {
        let mut stream = picker.open().await;
        stream.headers("/v1/completions", false).await;
        streams.push((number, stream));
    }
    let tasks: Vec<_> = streams
        .into_iter()
        .map(|(number, mut stream)| {
            tokio::spawn(async move {
                let body = request(&format!("question {number}"));
                stream.body(body.as_bytes(), true).await;
                let chosen = stream.chosen().await;
                assert_eq!(stream.echo(1).await, (body.into_bytes(), true));
                stream.answer_headers().await;
                assert!(matches!(stream.next().await, Some(Response::ResponseHeaders(_))));
                stream.answer_body(number.to_string().as_bytes(), true).await;
                assert_eq!(stream.echo(1).await, (number.to_string().into_bytes(), true));
                chosen
            })
        })
        .collect();
    let mut picks = [0; 4];
    for task in tasks {
        let chosen = task.await.unwrap();
        picks[picker.servers.iter().position(|server| *server == chosen).unwrap()] += 1;
    }
    assert_eq!(picks.iter().sum::<u32>(), 1000);
    let page = picker.page_when(|page| page.contains("testbed_picker_inflight_requests 0\n")).await;
    for (number, count) in picks.iter().enumerate() {
        let line = format!("testbed_router_picks_total{{server=\"{}\"}} {count}\n", number + 1);
        assert!(page.contains(&line), "{line}: {page}");
    }
}

#[tokio::test]
async fn requests_above_the_limit_are_shed_with_429_and_a_reason() {
    let picker = Picker::start(1, json!({"most_in_flight": 1})).await;
    let mut first = picker.open().await;
    first.headers("/v1/models", true).await;
    first.chosen().await;
    let mut second = picker.open().await;
    second.headers("/v1/models", true).await;
    let (status, body) = second.immediate().await;
    assert_eq!(status, 429);
    assert!(body["error"]["message"].as_str().unwrap().contains("in flight"), "{body}");
    drop(first);
    picker.page_when(|page| page.contains("testbed_picker_inflight_requests 0\n")).await;
    let mut third = picker.open().await;
    third.headers("/v1/models", true).await;
    third.chosen().await;
    assert!(picker.page().await.contains("testbed_picker_immediate_responses_total{status=\"429\"} 1\n"));
}

#[tokio::test]
async fn without_a_server_that_answers_the_client_gets_503() {
    let picker = Picker::start(0, json!({"servers": ["127.0.0.1:1"]})).await;
    picker.page_when(|page| page.contains("testbed_picker_available_servers 0\n")).await;
    let mut stream = picker.open().await;
    stream.headers("/v1/models", true).await;
    let (status, body) = stream.immediate().await;
    assert_eq!((status, &body["error"]["message"]), (503, &Value::from("no model server answers")));
}

#[tokio::test]
async fn a_prompt_that_cannot_be_read_is_refused_with_400() {
    let picker = Picker::start(1, json!({})).await;
    let mut stream = picker.open().await;
    stream.headers("/v1/chat/completions", false).await;
    stream.body(b"not json", true).await;
    let (status, body) = stream.immediate().await;
    assert_eq!(status, 400);
    assert!(body["error"]["message"].as_str().unwrap().contains("cannot be read"), "{body}");
}

#[tokio::test]
async fn a_proxy_that_buffers_bodies_is_told_so() {
    let picker = Picker::start(1, json!({})).await;
    let mut stream = picker.open().await;
    stream.headers_in_mode("/v1/completions", 2).await;
    let status = stream.status().await;
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("FULL_DUPLEX_STREAMED"), "{status}");
}

#[tokio::test]
async fn the_health_service_says_that_it_serves() {
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    let picker = Picker::start(1, json!({})).await;
    let mut client = HealthClient::new(picker.channel().await);
    for service in ["", "envoy.service.ext_proc.v3.ExternalProcessor"] {
        let answer = client.check(HealthCheckRequest { service: service.into() }).await.unwrap();
        assert_eq!(answer.into_inner().status(), ServingStatus::Serving, "{service:?}");
    }
}

#[test]
fn a_file_that_cannot_be_meant_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picker.yaml");
    for (text, reason) in [
        ("servers: [localhost:80]\nmodel: m\npolicy: p.yaml\n", "invalid socket address"),
        ("servers: []\nmodel: ''\npolicy: p.yaml\n", "`model` is empty"),
        ("servers: []\nmodel: m\npolicy: p.yaml\ndelay_seconds: -1\n", "`delay_seconds`"),
        ("servers: []\nmodel: m\npolicy: p.yaml\nport: 70000\n", "port"),
        ("servers: []\nmodel: m\npolicy: p.yaml\nunknown: 1\n", "unknown field"),
    ] {
        fs_err::write(&path, text).unwrap();
        let error = testbed_picker::Config::read(&path).unwrap_err().to_string();
        assert!(error.contains("picker.yaml") && error.contains(reason), "{reason}: {error}");
    }
}
