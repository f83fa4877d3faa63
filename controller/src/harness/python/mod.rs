//! The private Python environment that the harness runs in: made once for a pin and an interpreter, proven, then shared by
//! all campaigns.
//!
//! An environment cannot be moved (its scripts name its own path), so it is built where it stays: under an exclusive lock,
//! with a record that is written last. Without the record, or when what it promises is not there, it is built anew.
//! Campaigns hold a shared lock for as long as they use it, so nothing is ever rebuilt or removed under them.

pub mod clean;
mod install;
pub(crate) mod installer;
pub mod interpreter;
pub(crate) mod shared;
mod uv;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::File;
use serde::{Deserialize, Serialize};

pub use self::interpreter::{FLOOR, Interpreter, Places, UPSTREAM_FLOOR};
use crate::failure::Result;
use crate::process::{Command, Session};

/// What to install and for whom.
#[derive(Clone, Debug)]
pub struct Request {
    /// The version of inference-perf.
    pub version: String,
    /// `config/requirements`: the folder of pinned requirement files.
    pub requirements: PathBuf,
    /// The interpreter to use, instead of searching for one.
    pub python: Option<PathBuf>,
    /// The folder that holds environments; see [`cache_folder`].
    pub cache: PathBuf,
}

/// Where environments are kept: `python` in the user's cache.
pub fn cache_folder() -> PathBuf {
    crate::cache::folder("python")
}

/// What happens while an environment is prepared.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Someone else is installing the same environment; we wait.
    Waiting,
    /// An environment is being made with this interpreter.
    Creating(String),
    /// Packages are being installed.
    Installing {
        /// Packages found so far.
        packages: usize,
        /// Packages in all; `None` when the pin has no requirement file.
        of: Option<usize>,
    },
    /// What was installed is being tried.
    Verifying,
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
    /// inference-perf's version as installed.
    pub inference_perf: String,
    /// The Python that runs it.
    pub python: String,
    /// The interpreter it was made from.
    pub interpreter: PathBuf,
    /// The requirement file's hash; `None` when the pin has none and dependencies float.
    pub requirements_sha256: Option<String>,
    /// `pip` or `uv`, with its version.
    pub installer: String,
    /// When it was finished, UTC.
    pub finished: jiff::Timestamp,
    /// Everything that is installed, `name==version`, sorted.
    pub freeze: Vec<String>,
}

/// What a machine has for the harness, without changing anything.
#[derive(Clone, Debug, PartialEq)]
pub enum Readiness {
    /// An environment that runs.
    Ready(Box<Record>),
    /// An interpreter that one can be made from.
    Interpreter(Interpreter),
    /// No interpreter, for this reason, but something that can bring one.
    Uv(String),
}

/// Looks for an environment, an interpreter, or uv.
///
/// # Errors
/// When there is none of them.
pub fn readiness(session: &Session, request: &Request) -> Result<Readiness> {
    let requirements = install::Requirements::of(request)?;
    if let Some(ready) = Environment::ready(session, request, &requirements)? {
        return Ok(Readiness::Ready(Box::new(ready.record)));
    }
    match interpreter::find(session, request.python.as_deref(), &Places::from_environment()) {
        Ok(interpreter) => Ok(Readiness::Interpreter(interpreter)),
        Err(error @ interpreter::Error::None(_)) if uv::can_be_had(session) => {
            Ok(Readiness::Uv(error.to_string().lines().next().unwrap_or_default().to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

const RECORD: &str = "environment.json";

impl Environment {
    /// Finds or makes the environment.
    ///
    /// # Errors
    /// When there is no interpreter, when packages cannot be installed, or when what was installed does not run.
    pub fn prepare(session: &Session, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let requirements = install::Requirements::of(request)?;
        if let Some(ready) = Self::ready(session, request, &requirements)? {
            return Ok(ready);
        }
        let interpreter = find_or_bring(session, request, progress)?;
        let folder = request.cache.join(key(request, &interpreter, &requirements));
        let answer = || answering(session, &folder);
        let mut build = |progress: &mut dyn FnMut(Progress)| {
            install::build(session, request, &interpreter, &requirements, &folder, progress)
        };
        let (record, lock) = shared::take(session, &folder, progress, &answer, &mut build)?;
        Ok(Self { folder, record, _lock: lock })
    }

    /// A finished environment for the same requirements, whatever found interpreter it was made from: asking all
    /// interpreters of a machine takes seconds.
    fn ready(session: &Session, request: &Request, requirements: &install::Requirements) -> Result<Option<Self>> {
        if request.python.is_some() || !request.cache.is_dir() {
            return Ok(None);
        }
        let mut folders: Vec<PathBuf> =
            fs_err::read_dir(&request.cache)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        folders.sort();
        let start = name_start(&request.version);
        let is_ours = |folder: &PathBuf| {
            folder.join(RECORD).is_file()
                && folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start))
        };
        for folder in folders.into_iter().filter(is_ours) {
            let lock = shared::open_lock(&folder)?;
            // Someone who holds it exclusively is rebuilding it.
            if lock.file().try_lock_shared().is_err() {
                continue;
            }
            match shared::proven(session, &|| answering(session, &folder))? {
                Some(record) if record.requirements_sha256 == requirements.sha256 => {
                    return Ok(Some(Self { folder, record, _lock: lock }));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// What it consists of, for provenance.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Its `inference-perf` program.
    pub fn inference_perf(&self) -> PathBuf {
        program(&self.folder, "inference-perf")
    }

    /// Its Python.
    pub fn python(&self) -> PathBuf {
        program(&self.folder, "python")
    }

    /// An environment that already exists, without locks or proof: for tests that bring a scripted harness.
    #[cfg(test)]
    pub(super) fn assumed(folder: &Path, version: &str) -> Self {
        let record = Record {
            inference_perf: version.into(),
            python: "3.12.1".into(),
            interpreter: "/usr/bin/python3".into(),
            requirements_sha256: None,
            installer: "none".into(),
            finished: jiff::Timestamp::UNIX_EPOCH,
            freeze: Vec::new(),
        };
        let lock = File::create(folder.join("lock")).unwrap();
        Self { folder: folder.into(), record, _lock: lock }
    }
}

/// An interpreter: the one asked for, one of this machine, or one that uv brings.
pub(crate) fn find_or_bring(
    session: &Session,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<Interpreter> {
    match interpreter::find(session, request.python.as_deref(), &Places::from_environment()) {
        Err(error @ interpreter::Error::None(_)) => uv::bring_interpreter(session, request, error, progress),
        other => Ok(other?),
    }
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join("venv").join("bin").join(name)
}

/// The record of a finished environment whose Python still runs and still has the harness.
fn answering(session: &Session, folder: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs_err::read(folder.join(RECORD)).ok()?).ok()?;
    let question = "import importlib.metadata as m; print(m.version('inference-perf'))";
    let answer = Command::new("check environment", program(folder, "python"))
        .args(["-I", "-c", question])
        .timeout(Duration::from_secs(30))
        .capture(4096)
        .run(session)
        .ok()?;
    (answer.stdout().trim() == record.inference_perf && program(folder, "inference-perf").is_file()).then_some(record)
}

/// The environment's name: the pin for people, a hash of everything that makes it what it is.
fn key(request: &Request, interpreter: &Interpreter, requirements: &install::Requirements) -> String {
    let made_of = [
        "environment 1",
        &interpreter.path.to_string_lossy(),
        &format!("{:?}", interpreter.version),
        requirements.sha256.as_deref().unwrap_or("floating"),
    ];
    name_start(&request.version) + &shared::name_end(interpreter.version, &made_of)
}

/// What the names of all environments for a version start with.
fn name_start(version: &str) -> String {
    let plain: String =
        version.chars().map(|it| if it.is_ascii_alphanumeric() || it == '.' { it } else { '-' }).collect();
    format!("inference-perf-{plain}-")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
