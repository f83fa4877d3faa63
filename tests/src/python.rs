//! A machine on which git, Python, pip, uv and the harness are scripted, and each of their steps can be told to misbehave.
//!
//! The cache is empty and PATH holds nothing else, so a campaign begins with an interpreter and makes its own environment.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{self, Script};
use crate::world::{Outcome, World, outcome};

/// What the scripts themselves need of a real machine.
const REAL: [&str; 16] = [
    "sh", "cat", "cp", "sleep", "rm", "mkdir", "chmod", "head", "yes", "kill", "env", "tr", "sed", "seq", "touch",
    "printf",
];

/// Which programs the machine has to make an environment with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Python {
    /// A Python that inference-perf runs on.
    Pip,
    /// The same, and uv.
    Uv,
    /// An older Python, from which uv has to be installed to bring a newer one.
    Old,
    /// An older Python, and uv that has brought a newer one before.
    Managed,
}

/// Such a machine.
pub struct Scripted {
    world: World,
}

impl Scripted {
    /// A machine with these programs, and the others that a campaign or a doctor may ask.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn new(python: Python) -> Self {
        let machine = Self { world: World::empty() };
        for folder in ["bin", "programs", "faults"] {
            fs_err::create_dir_all(machine.file(folder)).expect("a folder");
        }
        for name in REAL {
            if let Some(real) = real(name) {
                symlink(real, machine.file("bin").join(name)).expect("a link");
            }
        }
        let measure = harness::script(&machine.file("programs"), &Script::Measure);
        machine.program(
            "programs/inference-perf",
            &format!("me=inference-perf\n{MISBEHAVE}\nbegin inference-perf\nsay </dev/null\n{measure}"),
        );
        machine.program("programs/python3", &format!("me=python3\n{MISBEHAVE}\n{PYTHON}"));
        machine.program("programs/uv", &format!("me=uv\n{MISBEHAVE}\n{UV}"));
        if let Some(git) = real("git") {
            machine.program("bin/git", &format!("me=git\nreal='{}'\n{MISBEHAVE}\n{GIT}", git.display()));
        }
        machine.flood(2);
        let version = if matches!(python, Python::Old | Python::Managed) { "3, 11, 7" } else { "3, 12, 4" };
        fs_err::write(machine.file("programs/version"), version).expect("a file");
        machine.place("python3", "bin/python3");
        if matches!(python, Python::Uv | Python::Managed) {
            machine.place("uv", "bin/uv");
        }
        if python == Python::Managed {
            machine.place("python3", "managed/python3");
        }
        machine
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        self.world.home()
    }

    /// The folder that holds campaigns.
    pub fn results(&self) -> PathBuf {
        self.world.results()
    }

    /// A program that answers `say` in this way to whatever it is asked, for those that are asked one thing only.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn answering(&self, name: &str, step: &str, body: &str) {
        self.program(&format!("bin/{name}"), &format!("me={name}\n{MISBEHAVE}\nbegin '{step}'\n{body}"));
    }

    /// Takes a program away from PATH.
    ///
    /// # Panics
    /// When it is not there.
    pub fn remove(&self, name: &str) {
        fs_err::remove_file(self.file("bin").join(name)).expect("a program");
    }

    /// What `program` does in `step` from now on: `exit`, `hang`, `killed`, `garbage`, `not-utf8`, `huge`, `nothing`; `wait`
    /// until [`Scripted::go`]; or `unplug`, which does all that it should and then takes away the program of the next step.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn set(&self, program: &str, step: &str, fault: &str) {
        fs_err::write(self.file("faults").join(format!("{program} {step}")), fault).expect("a fault");
    }

    /// How many megabytes a flood of output has from now on.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn flood(&self, megabytes: u64) {
        fs_err::write(self.file("programs/huge"), (megabytes * 1_000_000).to_string()).expect("a file");
    }

    /// Everything works again.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn mend(&self) {
        fs_err::remove_dir_all(self.file("faults")).expect("the faults");
        fs_err::create_dir_all(self.file("faults")).expect("a folder");
    }

    /// Lets those that wait go on.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn go(&self) {
        fs_err::write(self.file("go"), "").expect("a file");
    }

    /// The steps that were begun, in order, as `program step`.
    pub fn asked(&self) -> Vec<String> {
        let text = fs_err::read_to_string(self.file("asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// `xtask` with these arguments; its PATH holds the scripted programs only.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("PATH", self.file("bin")).env("TMPDIR", self.home());
        // uv would leave its place to pip where this machine's pip is told about an index.
        command.env("UV_INDEX_URL", "http://127.0.0.1:9/simple");
        command
    }

    /// Two treatments of the campaign `id` on the fast ladder.
    pub fn benchmark(&self, id: &str, more: &[&str]) -> Command {
        let mut command = self.command(&["benchmark", "--profile", "smoke", "--campaign", id, "--set", crate::STAGES]);
        command.args(["--treatment", "service", "--treatment", "agentgateway-standalone"]).args(more);
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self, mut command: Command) -> Outcome {
        outcome(command.spawn().expect("xtask starts"))
    }

    fn file(&self, path: &str) -> PathBuf {
        self.home().join(path)
    }

    fn program(&self, path: &str, body: &str) {
        let path = self.file(path);
        fs_err::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a file");
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    fn place(&self, name: &str, path: &str) {
        let path = self.file(path);
        fs_err::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs_err::copy(self.file("programs").join(name), path).expect("a copy");
    }
}

/// The real program of this name.
pub fn real(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// `begin STEP` notes the step and does what its fault file says; `say` gives the answer it reads, or something else.
const MISBEHAVE: &str = r#"
say() { cat; }
begin() {
  step=$1
  echo "$me $step" >> "$HOME/asked"
  fault=
  if [ -e "$HOME/faults/$me $step" ]; then fault=$(cat "$HOME/faults/$me $step"); fi
  case $fault in
    exit) echo "cannot do that: $step" >&2; exit 7 ;;
    hang) sleep 600 & wait ;;
    killed) kill -9 $$ ;;
    garbage) say() { echo '%PDF-1.7 { "a": [ not what was asked for'; } ;;
    not-utf8) say() { printf '\377\376{\200\n'; } ;;
    huge) say() { yes "$(printf '%01000d' 7)" | head -c "$(cat "$HOME/programs/huge")"; } ;;
    nothing) exit 0 ;;
    wait) until [ -e "$HOME/go" ]; do sleep 0.05; done ;;
    unplug) trap 'chmod 644 "$next"' EXIT ;;
  esac
}"#;

const PYTHON: &str = r#"
folder=${0%/*}
for last; do :; done
case "$*" in
  *_base_executable*) begin 'ask python' ;;
  *'import inference_perf.main'*) begin 'verify environment' ;;
  *'m.version('*) begin 'check environment' ;;
  '-m venv'*/uv) begin 'create uv environment' ;;
  '-m venv'*) begin 'create environment' ;;
  '-m pip --version') begin 'pip version' ;;
  '-m pip install'*uv.txt) begin 'install uv' ;;
  '-m pip install'*) begin 'install inference-perf' ;;
  *) echo "python3 is not scripted for: $*" >&2; exit 97 ;;
esac
next=$0
case $step in
  'ask python')
    version=$(cat "$HOME/programs/version")
    case $0 in */managed/*) version='3, 12, 9' ;; esac
    echo "{\"version\": [$version], \"implementation\": \"CPython\", \"executable\": \"$0\", \"venv\": true}" | say ;;
  'create environment' | 'create uv environment')
    mkdir -p "$last/bin" && cp "$HOME/programs/python3" "$last/bin/python"
    next=$last/bin/python; say </dev/null ;;
  'install uv') cp "$HOME/programs/uv" "$folder/uv"; next=$folder/uv; echo 'Collecting uv' | say ;;
  'install inference-perf') cp "$HOME/programs/inference-perf" "$folder/"; echo 'Collecting inference-perf' | say ;;
  'pip version') echo 'pip 24.2 from /somewhere (python 3.12)' | say ;;
  'verify environment')
    echo '{"inference_perf": "0.7.0", "python": "3.12.4", "freeze": ["inference-perf==0.7.0"]}' | say ;;
  'check environment') next=$folder/inference-perf; echo 0.7.0 | say ;;
esac"#;

const UV: &str = r#"
for last; do :; done
case "$*" in
  'python find'*--managed-python*) begin 'find python' ;;
  'python find'*) begin 'uv python find' ;;
  'python install'*) begin 'install python' ;;
  venv*) begin 'create environment' ;;
  'pip install'*) begin 'install inference-perf' ;;
  --version) begin 'uv version' ;;
  *) echo "uv is not scripted for: $*" >&2; exit 97 ;;
esac
next=$0
case $step in
  'find python' | 'uv python find')
    if [ -e "$HOME/managed/python3" ]; then echo "$HOME/managed/python3" | say; else exit 2; fi ;;
  'install python')
    mkdir -p "$HOME/managed"; cp "$HOME/programs/python3" "$HOME/managed/"; echo 'Installed Python 3.12.9' | say ;;
  'create environment') mkdir -p "$last/bin"; cp "$HOME/programs/python3" "$last/bin/python"; say </dev/null ;;
  'install inference-perf') cp "$HOME/programs/inference-perf" "${4%/*}/"; echo ' + inference-perf==0.7.0' | say ;;
  'uv version') echo 'uv 0.9.1 (abc 2026-01-01)' | say ;;
esac"#;

const GIT: &str = r#"
case " $* " in
  *' init '*) begin 'git init' ;;
  *' remote '*) begin 'git remote' ;;
  *' fetch '*) begin 'git fetch' ;;
  *' checkout '*) begin 'git checkout' ;;
  *' --version '*) begin 'check git' ;;
  *) echo "git is not scripted for: $*" >&2; exit 97 ;;
esac
next=$0
say </dev/null
"$real" "$@""#;
