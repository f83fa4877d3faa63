//! The client against the testbed's own servers, and against servers that misbehave.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;
use crate::config::{Config, Constant, Hardware, Ports, Router, RouterKind};

fn plan(endpoint: String) -> Plan {
    Plan {
        endpoint,
        model: "m".into(),
        prompt_words: 20,
        output_tokens: 5,
        arrivals: Arrivals::Poisson,
        seed: 1,
        stages: vec![StagePlan { rate: 100.0, duration: 0.5 }],
        pause_seconds: 0.0,
        timeout_seconds: 10.0,
        most_in_flight: 64,
        threads: 1,
        upstream_errors: true,
        components: vec![Component { name: "me".into(), pid: std::process::id() }],
    }
}

/// A constant backend with these times, on a runtime of its own that ends with the value.
struct Served {
    endpoint: String,
    _runtime: tokio::runtime::Runtime,
}

fn serve(first_token_seconds: f64, token_seconds: f64) -> Served {
    let hardware = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/hardware/laptop-4-smoke.yaml");
    let config = Config {
        hardware: hardware.clone(),
        servers: 1,
        backends: Vec::new(),
        model: "m".into(),
        router: Router { kind: RouterKind::None, policy: None, request_delay_seconds: 0.0, chunk_delay_seconds: 0.0 },
        seed: 0,
        ports: Ports::default(),
        constant: Some(Constant { first_token_seconds, token_seconds }),
    };
    let hardware = Hardware::read(&hardware).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let ready = runtime.block_on(async { crate::serve::start(&config, &hardware, None) }).unwrap();
    Served { endpoint: ready.servers[0].clone(), _runtime: runtime }
}

/// A server that gives every request this answer.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // One read takes the small request.
            drop(stream.read(&mut [0; 65536]));
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    endpoint
}

#[test]
fn every_planned_request_is_sent_timed_and_counted_once() {
    let served = serve(0.01, 0.005);
    let report = run(&plan(served.endpoint.clone()), |_, _| {}).unwrap();
    assert_eq!(report.qualification.upstream_429, Some(true));
    let [stage] = report.stages.as_slice() else { panic!("{:?}", report.stages) };
    assert_eq!((stage.planned, stage.succeeded, stage.unsent, stage.failed.len()), (50, 50, 0, 0));
    for (told, count) in [(&stage.ttft, 50), (&stage.latency, 50), (&stage.chunk_interval, 50), (&stage.chunk_gap, 200)]
    {
        assert_eq!(told.count, count);
    }
    // The backend's times are the least that can be seen.
    assert!(stage.ttft.min.unwrap() >= 9_900.0 && stage.latency.min.unwrap() >= 29_900.0, "{stage:?}");
    assert!(stage.usage[0].cpu_seconds.unwrap() > 0.0);
    assert_eq!((stage.ttft.p99, stage.ttft.p999), (None, None), "50 values have no 99th percentile");
}

#[test]
fn requests_beyond_the_limit_in_flight_are_not_sent_and_the_target_is_missed() {
    let served = serve(0.3, 0.0);
    let mut plan = plan(served.endpoint.clone());
    plan.most_in_flight = 2;
    let report = run(&plan, |_, _| {}).unwrap();
    let stage = &report.stages[0];
    assert!(stage.unsent > 0 && !stage.target_met, "{stage:?}");
    assert_eq!(stage.planned, stage.unsent + stage.succeeded);
}

#[test]
fn an_endpoint_that_does_not_speak_the_protocol_is_refused_before_any_load() {
    let ok = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    for (answer, reason) in [
        ("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno", "status 503"),
        (&*format!("{ok}hello"), "not JSON"),
        (&*format!("{ok}{{\"choices\":[{{\"text\":\"a\"}}]}}"), "no usage"),
    ] {
        let endpoint = answering(answer.to_owned().leak());
        let error = run(&plan(endpoint), |_, _| {}).unwrap_err();
        assert!(matches!(error, Error::Unfit(_)) && error.to_string().contains(reason), "{reason}: {error}");
    }
    let gone = run(&plan("http://127.0.0.1:1".into()), |_, _| {}).unwrap_err();
    assert!(gone.to_string().contains("without streaming"), "{gone}");
}

#[test]
fn plans_that_cannot_be_carried_out_are_refused() {
    let change = |change: fn(&mut Plan)| {
        let mut plan = plan("http://127.0.0.1:1".into());
        change(&mut plan);
        run(&plan, |_, _| {}).unwrap_err().to_string()
    };
    for (text, reason) in [
        (change(|plan| plan.stages.clear()), "no stage"),
        (change(|plan| plan.stages[0].rate = 0.0), "above 0"),
        (change(|plan| plan.stages[0].rate = f64::NAN), "above 0"),
        (change(|plan| plan.stages[0].duration = 1e9), "can be sent"),
        (change(|plan| plan.threads = 0), "thread"),
        (change(|plan| plan.endpoint = "https://127.0.0.1:1".into()), "http://host:port"),
    ] {
        assert!(text.contains(reason), "{reason}: {text}");
    }
}
