//! The private Python environment in which llm-d-benchmark runs: made once for a checkout and an interpreter, proven by
//! running it, then shared by all campaigns.
//!
//! The checkout is installed in place (editable), as its own installer does, with the planner package that it imports. An
//! environment is built where it stays, under an exclusive lock, with a record that is written last; see
//! [`crate::harness::python`], whose interpreters, installers and locks these are.

mod install;
mod script;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::File;
use serde::{Deserialize, Serialize};

use super::Checkout;
use crate::failure::Result;
use crate::harness::python::{self, Interpreter, Progress};
use crate::process::{Command, Inherit, Session};

/// What to install and for whom.
#[derive(Clone, Debug)]
pub struct Request {
    /// The checkout.
    pub checkout: Checkout,
    /// Where the planner package comes from; what the checkout's installer names when absent.
    pub planner: Option<String>,
    /// Interpreters, installers, and where environments are kept.
    pub python: python::Request,
}

/// A proven environment. While it is held, nobody rebuilds or removes it.
#[derive(Debug)]
pub struct Environment {
    folder: PathBuf,
    record: Record,
    _lock: File,
}

/// What is known about a finished environment; its file is written last.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// llm-d-benchmark's version as installed.
    pub llmdbenchmark: String,
    /// The commit of the checkout.
    pub commit: String,
    /// The checkout that is installed in place.
    pub checkout: PathBuf,
    /// The Python that runs it.
    pub python: String,
    /// `install.sh`, or `pip` or `uv` with its version.
    pub installer: String,
    /// Where the planner package came from.
    pub planner: String,
    /// When it was finished, UTC.
    pub finished: jiff::Timestamp,
    /// Everything that is installed, sorted.
    pub freeze: Vec<String>,
}

const RECORD: &str = "llmdbenchmark.json";

/// Variables of other active environments and of upstream's own defaults: with them a run would depend on the shell it is
/// started from.
const NEUTRALISED: [&str; 9] = [
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_USER",
    "LLMDBENCH_*",
    "UV_PROJECT_ENVIRONMENT",
];

impl Environment {
    /// Finds or makes the environment; `tell` is told what is being done.
    ///
    /// # Errors
    /// When there is no interpreter, when packages cannot be installed, or when what was installed does not run.
    pub fn prepare(session: &Session, request: &Request, tell: &mut dyn FnMut(String)) -> Result<Self> {
        let mut progress = |progress: Progress| tell(describe(&progress));
        let planner = install::planner(request)?;
        let interpreter = python::find_or_bring(session, &request.python, &mut progress)?;
        let folder = request.python.cache.join(name(request, &interpreter, &planner));
        let answer = || proven(session, &folder, request);
        let mut build = |progress: &mut dyn FnMut(Progress)| {
            install::build(session, request, &interpreter, &planner, &folder, progress)
        };
        let (record, lock) = python::shared::take(session, &folder, &mut progress, &answer, &mut build)?;
        Ok(Self { folder, record, _lock: lock })
    }

    /// What it consists of, for provenance.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// A `llmdbenchmark` that sees this cluster and no other, this Python and no other; it is asked nothing and its input
    /// is closed.
    pub fn command(&self, step: &str, kubeconfig: &Path) -> Command {
        let bin = self.folder.join("venv/bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let joined = std::env::join_paths(std::iter::once(bin.clone()).chain(std::env::split_paths(&path)));
        neutral(Command::new(step, bin.join("llmdbenchmark")))
            .env("PATH", joined.unwrap_or(path))
            .env("KUBECONFIG", kubeconfig)
            .env("PYTHONNOUSERSITE", "1")
            .env("PYTHONUNBUFFERED", "1")
    }
}

/// A program that sees the user's environment (credentials of clusters come in many ways) without [`NEUTRALISED`].
fn neutral(command: Command) -> Command {
    let strange = |name: &str| {
        NEUTRALISED.iter().any(|known| known.strip_suffix('*').map_or(name == *known, |start| name.starts_with(start)))
    };
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| strange(name))
        .fold(command.inherit(Inherit::Everything), Command::env_remove)
}

/// The record of a finished environment that still runs, from the checkout that is asked for.
fn proven(session: &Session, folder: &Path, request: &Request) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs_err::read(folder.join(RECORD)).ok()?).ok()?;
    let same = record.commit == request.checkout.commit && record.checkout == request.checkout.folder;
    let program = folder.join("venv/bin/llmdbenchmark");
    let runs = neutral(Command::new("check llmdbenchmark", program))
        .arg("--version")
        .timeout(Duration::from_secs(120))
        .run(session)
        .is_ok();
    (same && runs).then_some(record)
}

/// The environment's name: the commit for people, a hash of everything that makes it what it is.
fn name(request: &Request, interpreter: &Interpreter, planner: &str) -> String {
    let checkout = &request.checkout;
    let made_of = [
        "llmdbenchmark 1",
        &checkout.folder.to_string_lossy(),
        &checkout.commit,
        planner,
        &interpreter.path.to_string_lossy(),
        &format!("{:?}", interpreter.version),
    ];
    let commit: String = checkout.commit.chars().take(12).collect();
    format!("llmdbenchmark-{commit}-{}", python::shared::name_end(interpreter.version, &made_of))
}

fn describe(progress: &Progress) -> String {
    match progress {
        Progress::Waiting => "waiting: another run is installing the same environment".to_owned(),
        Progress::Creating(interpreter) => format!("making a private environment with {interpreter}"),
        Progress::Installing { .. } => "installing llm-d-benchmark".to_owned(),
        Progress::Verifying => "trying llm-d-benchmark".to_owned(),
    }
}
