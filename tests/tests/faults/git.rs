//! git: a checkout is fetched while an earlier one is there.

use std::path::Path;
use std::process::Command;

use e2e::faults::Ends::{Well, With};
use e2e::faults::{Ends, Fault, Missing, Row, left_running};
use e2e::python::{Python, Scripted, real};
use e2e::{outcome, wait_until};

use crate::{all, digest, interrupt, matrix};

const fn row(step: &'static str, nothing: Ends, missing: Missing) -> Row {
    let python = Python::Pip;
    Row { python, program: "git", step, code: 1, named: "", garbage: Well, huge: Well, nothing, missing }
}

const GONE: Ends = With(2, "`git` was not found on PATH");

/// All steps of a checkout.
pub const ROWS: [Row; 4] = [
    row("git init", With(1, "git init failed"), Missing::Absent(GONE)),
    row("git remote", With(2, "git fetch failed"), Missing::After("git git init", GONE)),
    row("git fetch", With(1, "git fetch failed"), Missing::After("git git remote", GONE)),
    row("git checkout", With(2, "git checkout ended as if all were well"), Missing::After("git git fetch", GONE)),
];

/// A repository of two commits, and their ids.
struct Repository {
    folder: tempfile::TempDir,
    commits: [String; 2],
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        git(folder.path(), &["init", "--quiet", "."]);
        // Any commit may be asked for, as from the public host.
        git(folder.path(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let commits = ["one", "two"].map(|text| {
            fs_err::write(folder.path().join("file"), text).expect("a file");
            git(folder.path(), &["add", "."]);
            git(folder.path(), &["commit", "--quiet", "-m", text]);
            git(folder.path(), &["rev-parse", "HEAD"]).trim().to_owned()
        });
        Self { folder, commits }
    }

    /// Asks for this commit.
    fn sync(&self, machine: &Scripted, commit: usize) -> Command {
        let pin = format!("pins.llm_d_benchmark={}", self.commits[commit]);
        let mut command = machine.command(&["upstream", "sync", "--set", &pin]);
        command.env("LLM_D_BENCHMARK_URL", self.folder.path());
        command
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(real("git").expect("git"));
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example", "-c", "commit.gpgsign=false"];
    let output = command.current_dir(folder).args(identity).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn play(repository: &Repository, row: &Row, fault: Fault) -> bool {
    let Some(ends) = row.ends(fault) else { return false };
    let machine = Scripted::new(row.python);
    machine.run(repository.sync(&machine, 0)).expect(0);
    let cache = machine.home().join("cache");
    let checkout = find(&cache, "llm-d-benchmark").expect("a checkout");
    let before = digest(&checkout);
    let already = machine.asked().len();
    match (fault, row.missing) {
        (Fault::Missing, Missing::Absent(_)) => machine.remove("git"),
        (Fault::Missing, Missing::After(step, _)) => machine.set("git", &step["git ".len()..], "unplug"),
        _ => machine.set("git", row.step, fault.word()),
    }
    let child = repository.sync(&machine, 1).spawn().expect("xtask starts");
    let asked = format!("git {}", row.step);
    if fault == Fault::Hang {
        wait_until("the step begins", || machine.asked().split_off(already), |steps| steps.contains(&asked));
        interrupt(&child);
    }
    let done = outcome(child);
    let seen = format!("code {:?}\n{}", done.code, done.stderr);
    wait_until("everything of ours has ended", || left_running(machine.home()), Vec::is_empty);
    match ends {
        Ends::Well => {
            assert_eq!(done.code, Some(0), "{seen}");
            assert_eq!(fs_err::read_to_string(checkout.join("file")).expect("a file"), "two");
        }
        Ends::With(code, named) => {
            assert_eq!(done.code, Some(code), "{seen}");
            assert_eq!(digest(&checkout), before, "the earlier checkout has changed");
            if fault != Fault::Hang {
                let own = format!("{} failed: ", row.step);
                for part in [if named.is_empty() { &own } else { named }, "hint: "] {
                    assert!(done.stderr.contains(part), "`{part}` is not in {seen}");
                }
                assert!(named.contains("as if all") || done.stderr.contains("\n  command: "), "{seen}");
            }
        }
    }
    assert!(find(&cache, "llm-d-benchmark.partial-").is_none(), "an unfinished checkout is left");
    true
}

/// The first folder below `place` whose name starts so.
fn find(place: &Path, start: &str) -> Option<std::path::PathBuf> {
    fs_err::read_dir(place).ok()?.find_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_string_lossy().into_owned();
        match path.is_dir() {
            true if name.starts_with(start) => Some(path),
            true => find(&path, start),
            false => None,
        }
    })
}

#[test]
fn steps_of_a_checkout() {
    let repository = Repository::new();
    matrix("git", &all(&ROWS), |row| row.step.to_owned(), |row, fault| play(&repository, row, fault));
}
