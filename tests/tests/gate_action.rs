//! The gate's step for workflows: its script is run with a `cargo` that ends with a given exit code.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_yaml::Value;

fn action() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/actions/gate/action.yml");
    serde_yaml::from_str(&fs_err::read_to_string(path).unwrap()).unwrap()
}

/// Runs the gate's step as a runner would: `bash -eo pipefail` on the script, with its environment.
fn step(mode: &str, code: u8) -> (Output, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    let asked = folder.path().join("asked");
    fs_err::write(&cargo, format!("#!/bin/bash\nprintf '%s\\n' \"$@\" > '{}'\nexit {code}\n", asked.display()))
        .unwrap();
    fs_err::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let action = action();
    let script = action["runs"]["steps"][0]["run"].as_str().unwrap();
    let output = folder.path().join("output");
    let done = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .env_clear()
        .env("PATH", folder.path())
        .envs([("CAMPAIGN", "results/night 1"), ("STORE", "gs://b/p"), ("BASELINE", "main"), ("LIMITS", "l.yaml")])
        .env("MODE", mode)
        .env("GITHUB_OUTPUT", &output)
        .env("RUNNER_TEMP", folder.path())
        .output()
        .unwrap();
    let read = |path: &Path| fs_err::read_to_string(path).unwrap_or_default();
    (done, read(&output), read(&asked))
}

#[test]
fn a_blocking_gate_ends_the_job_with_its_own_exit_code() {
    for code in [0, 1, 2, 3, 4, 5, 6, 7] {
        let (done, output, _) = step("blocking", code);
        assert_eq!(done.status.code(), Some(code.into()), "{done:?}");
        assert_eq!(output, format!("exit-code={code}\n"));
    }
}

#[test]
fn an_advisory_gate_warns_and_still_fails_on_faults_of_its_own() {
    for (code, expected) in [(0, 0), (1, 1), (2, 2), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (101, 101)] {
        let (done, output, _) = step("advisory", code);
        assert_eq!(done.status.code(), Some(expected), "{code}: {done:?}");
        assert_eq!(output, format!("exit-code={code}\n"));
        let warned = String::from_utf8(done.stdout).unwrap().contains("::warning::");
        assert_eq!(warned, (3..=7).contains(&code), "{code}");
    }
}

#[test]
fn a_mode_that_does_not_exist_is_refused_before_the_gate_runs() {
    let (done, output, asked) = step("advise", 0);
    assert_eq!((done.status.code(), output.as_str(), asked.as_str()), (Some(2), "", ""));
}

#[test]
fn the_gate_gets_each_input_as_one_argument() {
    let (_, _, asked) = step("blocking", 0);
    let arguments: Vec<&str> = asked.lines().collect();
    assert_eq!(
        arguments[..9],
        ["xtask", "gate", "results/night 1", "--store", "gs://b/p", "--baseline", "main", "--limits", "l.yaml"]
    );
}

#[test]
fn every_input_that_is_used_is_declared_and_every_declared_one_is_used() {
    let action = action();
    let steps = serde_yaml::to_string(&action["runs"]).unwrap();
    let declared: Vec<&str> = action["inputs"].as_mapping().unwrap().keys().filter_map(Value::as_str).collect();
    for name in &declared {
        assert!(steps.contains(&format!("inputs.{name}")), "{name} is declared and not used");
    }
    for used in steps.split("inputs.").skip(1) {
        let name: String = used.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        assert!(declared.contains(&name.as_str()), "{name} is used and not declared");
    }
    let marker = reports::gate::render::COMMENT_MARKER;
    assert!(steps.contains(marker), "the comment is not found again by {marker}");
}
