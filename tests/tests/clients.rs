//! The open-loop client held against inference-perf: the same ladder, the same server, by both.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Script, World};
use reports::model::Stage;

/// Milliseconds to the first token and between tokens: far above what either client adds.
const TIMES: [f64; 2] = [50.0, 10.0];

/// Tokens of an answer.
const TOKENS: f64 = 20.0;

/// The cache that holds an installed inference-perf; `None` where none is installed.
fn installed() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let environments = fs_err::read_dir(cache.join("inference-benchmark/python")).ok()?;
    let finished = |folder: &Path| folder.join("environment.json").is_file();
    let mut found = environments.flatten().map(|entry| entry.path());
    let named =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("inference-perf-"));
    found.any(|path| named(&path) && finished(&path)).then_some(cache)
}

/// One stage of 20 requests a second, straight to a constant server, by the harness of this name.
fn measured(world: &World, cache: &Path, harness: &str) -> Stage {
    let mut command: Command = world.command(&["benchmark", "--profile", "proxy-overhead", "--treatment", "direct"]);
    for set in [
        format!("harness.name={harness}"),
        format!("testbed.first_token_ms={}", TIMES[0]),
        format!("testbed.token_ms={}", TIMES[1]),
        format!("workload.data.output_tokens={TOKENS}"),
        "workload.stages=20x5".to_owned(),
        "report.comparisons=".to_owned(),
    ] {
        command.args(["--set", &set]);
    }
    command.args(["--repetitions", "1", "--campaign", harness, "--router", "embedded"]).env("XDG_CACHE_HOME", cache);
    world.run(command).expect(0);
    let campaign = reports::campaign::read(&world.of(harness, "")).unwrap();
    campaign.treatments[0].repetitions[0].stages[0].clone()
}

#[test]
fn both_clients_tell_the_same_of_a_server_whose_times_are_known() {
    let Some(cache) = installed() else {
        eprintln!(
            "skipped: no inference-perf is installed in this machine's cache; `cargo xtask benchmark` installs it"
        );
        return;
    };
    let world = World::new(&Script::Measure);
    let [ours, theirs] = ["open-loop", "inference-perf"].map(|harness| measured(&world, &cache, harness));
    assert_eq!(ours.requests.total, 100);
    assert_eq!(ours.requests.total, theirs.requests.total, "both send what was planned");
    assert_eq!((ours.requests.failures, theirs.requests.failures), (Some(0), Some(0)));
    assert_eq!((ours.harness.tool.as_str(), theirs.harness.tool.as_str()), ("testbed-open-loop", "inference-perf"));
    let whole = (TIMES[0] + TIMES[1] * (TOKENS - 1.0)) / 1e3;
    for (name, stage) in [("open-loop", &ours), ("inference-perf", &theirs)] {
        let ttft = stage.latency.ttft.and_then(|times| times.p50).unwrap();
        let request = stage.latency.request.and_then(|times| times.p50).unwrap();
        // What the server takes is the least; a busy machine may add, but never as much again.
        assert!((TIMES[0] / 1e3 - 0.001..whole).contains(&ttft), "{name}: TTFT {ttft}");
        assert!((whole - 0.001..2.0 * whole).contains(&request), "{name}: request {request}");
    }
}
