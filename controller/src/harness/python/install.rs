//! Builds an environment: creates it, installs the pinned requirements, proves it, records it.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::installer::{self, Counter, Installer};
use super::{Interpreter, Progress, RECORD, Record, Request, hex, program};
use crate::evidence::atomic;
use crate::failure::{Failure, Result};
use crate::process::{Command, Session};

/// An installed harness takes about 700 MB, and as much again while wheels are unpacked.
const NEEDED_BYTES: u64 = 1_500_000_000;

/// What to install.
#[derive(Debug)]
pub(super) struct Requirements {
    /// The pinned file; `None` when the version has none.
    file: Option<PathBuf>,
    pub(super) sha256: Option<String>,
    packages: Option<usize>,
    version: String,
}

impl Requirements {
    /// The requirement file of a version, `inference-perf-<version>.txt`.
    pub(super) fn of(request: &Request) -> Result<Self> {
        let plain = request.version.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '+' | '-' | '!'));
        if !plain || request.version.is_empty() {
            return Err(Failure::usage(format!("`{}` is not a version of inference-perf", request.version))
                .hint("set pins.inference_perf to a release such as 0.7.0"));
        }
        let version = request.version.clone();
        let file = request.requirements.join(format!("inference-perf-{version}.txt"));
        if !file.is_file() {
            return Ok(Self { file: None, sha256: None, packages: None, version });
        }
        let text = fs_err::read_to_string(&file)?;
        let packages = text.lines().filter(|line| !line.starts_with([' ', '#']) && line.contains("==")).count();
        Ok(Self { file: Some(file), sha256: Some(hex(&Sha256::digest(&text))), packages: Some(packages), version })
    }

    /// Installer arguments. With a file, nothing but what its hashes name is accepted.
    fn arguments(&self) -> Vec<std::ffi::OsString> {
        match &self.file {
            Some(file) => vec!["--require-hashes".into(), "-r".into(), file.clone().into()],
            None => vec![format!("inference-perf=={}", self.version).into()],
        }
    }
}

/// Builds it in `folder`, over whatever an interrupted build left there. The caller holds the exclusive lock.
pub(super) fn build(
    session: &Session,
    request: &Request,
    interpreter: &Interpreter,
    requirements: &Requirements,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    progress(Progress::Creating(interpreter.to_string()));
    installer::begin(folder, NEEDED_BYTES)?;
    let installer = Installer::choose(session, request, interpreter, folder.join("venv"), progress)?;
    installer.create(session)?;
    let mut counter = Counter::new(requirements.packages, progress);
    installer.install(
        session,
        "install inference-perf",
        requirements.arguments(),
        Some("inference-perf"),
        &mut counter,
    )?;
    let installer = installer.version(session)?;
    progress(Progress::Verifying);
    let facts = prove(session, folder, &requirements.version)?;
    let record = Record {
        inference_perf: facts.inference_perf,
        python: facts.python,
        interpreter: interpreter.path.clone(),
        requirements_sha256: requirements.sha256.clone(),
        installer,
        finished: jiff::Timestamp::now(),
        freeze: facts.freeze,
    };
    let text = serde_json::to_vec_pretty(&record).map_err(Failure::internal)?;
    Ok(atomic::write(&folder.join(RECORD), text)?)
}

#[derive(serde::Deserialize)]
struct Facts {
    inference_perf: String,
    python: String,
    freeze: Vec<String>,
}

/// Imports what a run imports, and lists what is installed.
fn prove(session: &Session, folder: &Path, version: &str) -> Result<Facts> {
    const QUESTION: &str = r"
import importlib.metadata as metadata, json, platform
import inference_perf.main
names = sorted({f'{it.metadata['Name']}=={it.version}' for it in metadata.distributions()}, key=str.lower)
print(json.dumps({'inference_perf': metadata.version('inference-perf'), 'python': platform.python_version(), 'freeze': names}))";
    let python = Command::new("verify environment", program(folder, "python"));
    let facts: Facts = installer::ask(session, "verify environment", python, QUESTION)?;
    if facts.inference_perf != version {
        let message = format!("inference-perf {} was installed although {version} was asked for", facts.inference_perf);
        return Err(Failure::internal(message).hint("look for a find-links folder or a mirror in pip's configuration"));
    }
    Ok(facts)
}
