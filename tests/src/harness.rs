//! A scripted inference-perf: writes native files at once, or does what harnesses do on bad days.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

/// What the harness does when it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Measures every stage.
    Measure,
    /// Measures every stage; every request failed, and the exit code is 0 all the same.
    AllFailed,
    /// Ends with exit code 7 after the first stage.
    Crash,
    /// Sends one stage and then nothing for a long time.
    Hang,
    /// Ends with exit code 0 without a file.
    Nothing,
    /// Measures, and tells its environment and its command line to every output and into its evidence.
    Leak,
    /// The same, and then ends with exit code 7.
    LeakAndCrash,
    /// Says what it may use, then measures.
    Limits,
    /// Fills the disk of the results folder with a file `ballast` but for some kilobytes, then measures.
    FillDisk {
        /// Kilobytes that stay free.
        left: u64,
    },
}

/// Stages of [`crate::world::STAGES`]: requested rate and planned requests.
const LADDER: [(f64, u64); 3] = [(4.0, 4), (2.0, 4), (4.0, 8)];

/// Puts a finished environment with the scripted harness into the cache `xtask` looks at.
///
/// # Panics
/// When the file system does not let us, or the workspace pins no requirements.
pub fn install(cache: &Path, workspace: &Path, script: &Script) {
    let folder = cache.join("inference-benchmark/python/inference-perf-0.7.0-py3.12-scripted");
    let bin = folder.join("venv/bin");
    fs_err::create_dir_all(&bin).expect("a folder");
    program(&bin.join("python"), "echo 0.7.0");
    program(&bin.join("inference-perf"), &self::script(&folder, script));
    let requirements = fs_err::read(workspace.join("config/requirements/inference-perf-0.7.0.txt")).expect("a pin");
    let record = json!({
        "inference_perf": "0.7.0",
        "python": "3.12.0",
        "interpreter": "/usr/bin/python3",
        "requirements_sha256": sha256(&requirements),
        "installer": "scripted",
        "finished": "2026-08-17T10:15:00Z",
        "freeze": ["inference-perf==0.7.0"],
    });
    fs_err::write(folder.join("environment.json"), record.to_string()).expect("a file");
}

/// A shell script that plays the harness, with the files that it copies in `folder`.
///
/// # Panics
/// When the file system does not let us.
pub fn script(folder: &Path, script: &Script) -> String {
    let files = folder.join("files");
    fs_err::create_dir_all(&files).expect("a folder");
    for (number, (rate, count)) in LADDER.into_iter().enumerate() {
        let failed = if *script == Script::AllFailed { count } else { 0 };
        let text = stage_file(rate, count, failed).to_string();
        fs_err::write(files.join(format!("stage_{number}_lifecycle_metrics.json")), text).expect("a file");
    }
    fs_err::write(files.join("summary_lifecycle_metrics.json"), stage_file(4.0, 16, 0).to_string()).expect("a file");
    fs_err::write(files.join("per_request_lifecycle_metrics.json"), "[]").expect("a file");
    body(&files, *script)
}

fn body(files: &Path, script: Script) -> String {
    let files = files.display();
    let started = |stage: usize| format!("echo '12:00:00 - inference_perf - INFO - Stage {stage} - run started'");
    let completed = |stage: usize| format!("echo '12:00:00 - inference_perf - INFO - Stage {stage} - run completed'");
    let stages: Vec<_> = (0..LADDER.len()).flat_map(|stage| [started(stage), completed(stage)]).collect();
    let measure = format!("{}\ncp {files}/*.json .\ncp workload.yaml config.yaml", stages.join("\n"));
    match script {
        Script::Measure | Script::AllFailed => measure,
        Script::Crash => {
            format!("{}\ncp {files}/stage_0_lifecycle_metrics.json .\necho 'no route' >&2\nexit 7", started(0))
        }
        Script::Hang => format!("{}\ncp {files}/stage_0_lifecycle_metrics.json .\nsleep 600 & wait", started(0)),
        Script::Nothing => "exit 0".to_owned(),
        Script::Limits => format!("echo \"open files $(ulimit -n), core files $(ulimit -c)\"\n{measure}"),
        // A harness that cannot write its files ends with an error, as the real one does.
        Script::FillDisk { left } => format!(
            "ballast=${{PWD%%/results/*}}/results/ballast\ndd if=/dev/zero of=$ballast bs=4k 2>/dev/null\n\
             truncate -s -{left}k $ballast\nset -e\n{measure}"
        ),
        Script::Leak => format!("{measure}\n{LEAK}"),
        Script::LeakAndCrash => format!("{measure}\n{LEAK}\nexit 7"),
    }
}

/// All that a program can know of secrets, told to whoever listens.
const LEAK: &str = r#"
tell() { env; tr '\0' ' ' < /proc/self/cmdline; echo; }
tell; tell >&2; tell | sed 's/^/# /' >> config.yaml; tell > run.log
tell > "$HOME/known-to-children.txt"
"#;

fn program(path: &Path, body: &str) {
    // Replaced, not rewritten: an earlier one may still be running.
    let beside = path.with_extension("new");
    fs_err::write(&beside, format!("#!/bin/sh\n{body}\n")).expect("a file");
    fs_err::set_permissions(&beside, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    fs_err::rename(&beside, path).expect("a rename");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A stage's file as inference-perf 0.7.0 writes it.
pub fn stage_file(rate: f64, count: u64, failed: u64) -> Value {
    let spread = |value: f64| {
        json!({
            "mean": value, "min": value, "max": value, "p0.1": value, "p1": value, "p5": value, "p10": value,
            "p25": value, "median": value, "p75": value, "p90": value, "p95": value, "p99": value, "p99.9": value,
        })
    };
    let succeeded = count - failed;
    let latency = if succeeded == 0 {
        json!({
            "request_latency": null, "normalized_time_per_output_token": null, "time_per_output_token": null,
            "time_to_first_token": null, "inter_token_latency": null,
        })
    } else {
        json!({
            "request_latency": spread(1.0), "normalized_time_per_output_token": spread(0.02),
            "time_per_output_token": spread(0.01), "time_to_first_token": spread(0.1),
            "inter_token_latency": spread(0.01),
        })
    };
    let seconds = count as f64 / rate;
    let rate_of = |tokens: f64| succeeded as f64 * tokens / seconds;
    let failures = if failed == 0 {
        json!({"count": 0, "request_latency": null, "prompt_tokens": null, "error_types": {}})
    } else {
        json!({"count": failed, "request_latency": spread(0.1), "prompt_tokens": spread(100.0), "error_types": {"ClientConnectorError": failed}})
    };
    json!({
        "benchmark_time_seconds": seconds,
        "load_summary": {
            "count": count, "schedule_delay": spread(0.001), "send_duration": seconds, "requested_rate": rate,
            "achieved_rate": rate,
        },
        "successes": {
            "count": succeeded,
            "latency": latency,
            "throughput": {
                "input_tokens_per_sec": rate_of(100.0), "output_tokens_per_sec": rate_of(60.0),
                "total_tokens_per_sec": rate_of(160.0), "requests_per_sec": rate_of(1.0),
            },
            "prompt_tokens": if succeeded == 0 { Value::Null } else { spread(100.0) },
            "output_tokens": if succeeded == 0 { Value::Null } else { spread(60.0) },
        },
        "failures": failures,
    })
}
