use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::settings::{ConfigTree, Environment, Request, Resolved, resolve};

/// A machine with a PATH of its own, on which the tools are scripts.
struct Machine {
    folder: tempfile::TempDir,
    session: Session,
    resolved: Resolved,
}

impl Machine {
    fn new(provider: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(folder.path().join("bin")).unwrap();
        let results = folder.path().join("results").display().to_string();
        let request = Request::new(Environment::default())
            .flag("provider", provider, "--provider")
            .flag("results_dir", results, "--results-dir")
            .flag("routing.policy", "default", "--set");
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let resolved = resolve(&ConfigTree::open(root), &request).unwrap();
        Self { folder, session: Session::unrecorded(), resolved }
    }

    /// Adds a program that runs this shell script.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.folder.path().join("bin").join(name);
        fs_err::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            settings: &self.resolved.settings,
            place: self.resolved.provider.place,
            session: &self.session,
            python: python::Request {
                version: "0.7.0".into(),
                requirements: self.folder.path().join("none"),
                python: Some(self.folder.path().join("bin/python")),
                cache: self.folder.path().join("cache"),
            },
            upstream_cache: self.folder.path().join("upstream"),
            path: Some(self.folder.path().join("bin").into()),
        }
    }

    fn examine(&self) -> Vec<Finding> {
        examine(&self.subject()).unwrap()
    }
}

fn of<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    findings.iter().find(|it| it.check == check).unwrap_or_else(|| panic!("no {check} in {findings:#?}"))
}

const PYTHON: &str =
    r#"echo '{"version": [3, 12, 1], "implementation": "CPython", "executable": "/opt/python", "venv": true}'"#;

#[test]
fn a_good_machine_for_local_runs_has_no_problems_and_is_asked_for_no_cluster_tool() {
    let machine = Machine::new("local");
    machine.program("python", PYTHON);
    let findings = machine.examine();
    assert!(of(&findings, "python").detail.contains("Python 3.12.1"));
    assert_eq!(of(&findings, "ports").level, Level::Good);
    assert!(findings.iter().all(|it| it.check != "kubectl" && it.check != "git"), "{findings:#?}");
    require(&findings).unwrap();
}

#[test]
fn every_missing_tool_of_a_cluster_is_told_at_once_with_its_fix() {
    let machine = Machine::new("kind");
    machine.program("python", "exit 1");
    let findings = machine.examine();
    let failure = require(&findings).unwrap_err();
    let text = failure.to_string();
    for tool in ["python", "git", "kubectl", "helm", "helmfile", "skopeo", "helm-diff", "kind", "containers"] {
        assert_eq!(of(&findings, tool).level, Level::Problem);
        assert!(text.contains(&format!("\n  {tool}: ")), "{tool} is not in {text}");
    }
    assert!(failure.hints.iter().any(|hint| hint.contains("helm plugin install") && hint.contains("v3.15.11")));
    assert_eq!(failure.kind, crate::failure::Kind::Usage);
}

#[test]
fn tools_that_answer_are_named_with_their_version() {
    let machine = Machine::new("kind");
    for (name, script) in [
        ("python", PYTHON),
        ("git", "echo git version 2.50.0"),
        ("kubectl", "echo Client Version: v1.34.0"),
        ("helm", "test \"$1\" = plugin && printf 'NAME VERSION\\ndiff\\t3.15.11\\tdiffs\\n' || echo v4.0.1"),
        ("helmfile", "echo helmfile version 1.2.0"),
        ("skopeo", "echo skopeo version 1.20"),
        ("kind", "echo kind v0.30.0"),
        ("docker", "echo permission denied >&2; exit 1"),
        ("podman", "exit 0"),
    ] {
        machine.program(name, script);
    }
    let findings = machine.examine();
    require(&findings).unwrap();
    assert_eq!(of(&findings, "kubectl").detail, "Client Version: v1.34.0");
    assert_eq!(of(&findings, "helm-diff").detail, "3.15.11");
    assert_eq!(of(&findings, "containers").detail, "podman answers");
    assert!(of(&findings, "llm-d-benchmark").detail.contains("will be fetched"));
    machine.program("podman", "exit 1");
    assert!(of(&machine.examine(), "containers").detail.contains("permission denied"));
}

#[test]
fn a_results_folder_that_cannot_be_written_is_a_problem() {
    let machine = Machine::new("local");
    machine.program("python", PYTHON);
    fs_err::write(machine.folder.path().join("results"), "a file").unwrap();
    let findings = machine.examine();
    let folder = of(&findings, "folder");
    assert_eq!(folder.level, Level::Problem);
    assert!(folder.detail.contains("is not a folder") && folder.fixes[0].contains("--results-dir"), "{folder:?}");
}

#[test]
fn an_interruption_ends_the_examination() {
    let machine = Machine::new("local");
    machine.session.interruption().deliver(2);
    assert_eq!(examine(&machine.subject()).unwrap_err().kind, crate::failure::Kind::Interrupted(2));
}
