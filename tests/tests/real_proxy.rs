//! The local provider with real proxies: a scripted one for what can go wrong, and a real one where the machine has it.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use e2e::{Script, World, outcome, processes, running, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The picker's program. It belongs to a package that is not built by default, so it is built here.
fn picker() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| e2e::program("testbed-picker"))
}

/// A machine whose only agentgateway is the scripted one; returns its folder for PATH.
fn scripted(script: &str) -> (World, PathBuf) {
    let world = World::new(&Script::Measure);
    let bin = world.home().join("bin");
    fs_err::create_dir_all(&bin).unwrap();
    let program = bin.join("agentgateway");
    let (fake, log) = (env!("CARGO_BIN_EXE_fake_proxy"), world.home().join("asked.log"));
    fs_err::write(&program, format!("#!/bin/sh\nexec {fake} {} {script} \"$@\"\n", log.display())).unwrap();
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (world, bin)
}

/// A campaign on that machine.
fn benchmark(world: &World, bin: &Path, more: &[&str]) -> Command {
    let mut command = world.benchmark("a", more);
    command
        .env_remove("BENCHMARK_ROUTER")
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("BENCHMARK_PICKER", picker());
    command
}

fn asked(world: &World) -> String {
    fs_err::read_to_string(world.home().join("asked.log")).unwrap_or_default()
}

fn nothing_runs(world: &World) {
    wait_until("everything of ours has ended", || running(&world.results()), Vec::is_empty);
}

#[test]
fn a_proxy_that_is_found_is_used_checked_sampled_and_named_with_its_version() {
    let (world, bin) = scripted("good");
    let done = world.run(benchmark(&world, &bin, &["--set", "metrics.interval=0.2"])).expect(0);
    assert!(done.stderr.contains("agentgateway v9.9.9"), "{}", done.stderr);
    let asked = asked(&world);
    assert!(asked.contains("--version") && asked.contains("--validate-only"), "{asked}");
    let run = world.of("a", "runs/agentgateway-standalone/repetition-1");
    let config = fs_err::read_to_string(run.join("agentgateway.yaml")).unwrap();
    assert!(config.contains("inferenceRouting") && config.contains("passthrough"), "{config}");
    let page = fs_err::read_to_string(run.join("runtime-metrics/agentgateway.prom")).unwrap();
    assert!(page.contains("agentgateway_requests_total"), "{page}");
    assert!(run.join("runtime-metrics/router.prom").is_file(), "the picker's numbers are kept");
    let logs: Vec<_> = fs_err::read_dir(run.join("logs")).unwrap().flatten().map(|log| log.file_name()).collect();
    assert!(logs.iter().any(|log| log.to_string_lossy().ends_with("agentgateway.log")), "{logs:?}");
    let manifest = fs_err::read_to_string(world.of("a", "campaign-manifest.yaml")).unwrap();
    assert!(manifest.contains("agentgateway_version: v9.9.9"), "{manifest}");
    let report = fs_err::read_to_string(world.of("a", "report/README.md")).unwrap();
    assert!(report.contains("Simulated.") && report.contains("The proxy is real: agentgateway v9.9.9"), "{report}");
    nothing_runs(&world);
}

#[test]
fn a_campaign_of_a_real_proxy_is_not_continued_with_the_embedded_router() {
    let (world, bin) = scripted("good");
    world.run(benchmark(&world, &bin, &[])).expect(0);
    let refused = world.run(benchmark(&world, &bin, &["--resume", "--router", "embedded"])).expect(2);
    assert!(refused.stderr.contains("agentgateway_version"), "{}", refused.stderr);
}

#[test]
fn without_a_proxy_auto_takes_the_embedded_router_and_says_so() {
    let (world, bin) = scripted("good");
    fs_err::remove_file(bin.join("agentgateway")).unwrap();
    let done = world.run(benchmark(&world, &bin, &[])).expect(0);
    assert!(done.stderr.contains("no `agentgateway` on PATH: the embedded router stands in"), "{}", done.stderr);
}

#[test]
fn a_proxy_that_was_asked_for_and_cannot_be_used_ends_the_command_before_anything_starts() {
    let (world, bin) = scripted("stranger");
    let refused = world.run(benchmark(&world, &bin, &["--router", "real"])).expect(2);
    assert!(refused.stderr.contains("is not agentgateway: `--version` printed"), "{}", refused.stderr);
    let missing = world.run(benchmark(&world, Path::new("/nowhere"), &["--router", "real"])).expect(2);
    assert!(missing.stderr.contains("--agentgateway PATH"), "{}", missing.stderr);
    let named = world.run(benchmark(&world, &bin, &["--agentgateway", "/nowhere/agentgateway"])).expect(2);
    assert!(named.stderr.contains("/nowhere/agentgateway is not a file"), "{}", named.stderr);
    let port = world.run(benchmark(&world, &bin, &["--set", "proxy.port=0"])).expect(2);
    assert!(port.stderr.contains("proxy.port"), "{}", port.stderr);
    assert!(!world.of("a", "").exists(), "nothing was begun");
}

#[test]
fn a_proxy_that_refuses_its_file_dies_or_finds_its_port_taken_is_a_clear_failure() {
    for (script, code, reason) in
        [("refuses", 2, "unknown field `inferenceRouting`"), ("dies", 3, "address already in use")]
    {
        let (world, bin) = scripted(script);
        let done = world.run(benchmark(&world, &bin, &["--treatment", "agentgateway-gateway"])).expect(code);
        assert!(done.stderr.contains(reason), "{script}: {}", done.stderr);
        nothing_runs(&world);
    }
    let (world, bin) = scripted("good");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("proxy.port={}", taken.local_addr().unwrap().port());
    let done = world.run(benchmark(&world, &bin, &["--set", &port])).expect(2);
    assert!(done.stderr.contains("cannot listen on port"), "{}", done.stderr);
    nothing_runs(&world);
}

#[test]
fn a_picker_that_dies_under_load_ends_the_campaign_and_is_named() {
    let (world, bin) = scripted("good");
    world.play(&Script::Hang);
    let child = benchmark(
        &world,
        &bin,
        &["--set", "treatments=agentgateway-standalone", "--set", "harness.no_progress_timeout=2"],
    )
    .spawn()
    .unwrap();
    let log = world.of("a", "work/agentgateway-standalone/repetition-1/stdout.log");
    wait_until("the load starts", || log.is_file(), |there| *there);
    let file = world.of("a", "work/agentgateway-standalone/repetition-1/scratch/picker.yaml");
    let (pid, _) = processes(&file).into_iter().next().expect("the picker runs");
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let done = outcome(child).expect(3);
    assert!(done.stderr.contains("testbed-picker failed: it ended"), "{}", done.stderr);
    nothing_runs(&world);
}

/// Runs a whole campaign through the real program that a variable names; says why where there is none.
fn through_the_real_one(variable: &str, flag: &str, treatments: &[&str]) {
    let Ok(program) = std::env::var(variable) else {
        eprintln!("skipped: {variable} names no program on this machine");
        return;
    };
    let world = World::new(&Script::Measure);
    let mut command = world.command(&["benchmark", "--profile", "smoke", "--campaign", "a", "--set", e2e::STAGES]);
    for treatment in treatments {
        command.args(["--treatment", treatment]);
    }
    command.args(["--router", "real", flag, &program]).env("BENCHMARK_PICKER", picker());
    world.run(command).expect(0);
    for treatment in treatments {
        let page = world.of("a", &format!("runs/{treatment}/repetition-1/runtime-metrics/router.prom"));
        let page = fs_err::read_to_string(page).unwrap();
        // The one request that proves the path is counted and then forgotten; its decision is not.
        assert!(page.contains("testbed_picker_decision_seconds_count{phase=\"request\"} 1"), "{treatment}: {page}");
    }
    nothing_runs(&world);
}

#[test]
fn a_real_agentgateway_carries_a_campaign() {
    through_the_real_one("AGENTGATEWAY_BIN", "--agentgateway", &["agentgateway-standalone", "agentgateway-gateway"]);
}

#[test]
fn a_real_envoy_carries_a_campaign() {
    through_the_real_one("ENVOY_BIN", "--envoy", &["envoy-standalone"]);
}
