//! Builds an environment: creates it, installs the pinned requirements, proves it, records it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Interpreter, Progress, RECORD, Record, Request, hex, program, uv};
use crate::failure::{Failure, Kind, Result};
use crate::process::{Command, Error, Finished, Observer, Session, Stream};

/// An installed harness takes about 700 MB, and as much again while wheels are unpacked.
const NEEDED_BYTES: u64 = 1_500_000_000;

/// Installing may be slow, but hardly ever says nothing for this long.
const SILENCE: Duration = Duration::from_secs(900);

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
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    fs_err::create_dir_all(folder)?;
    check_space(folder)?;
    let installer = if interpreter.has_venv && (uv::overridden_by_pip() || uv::on_path().is_none()) {
        with_pip(session, interpreter, requirements, folder, progress)?
    } else {
        with_uv(session, request, interpreter, requirements, folder, progress)?
    };
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
    let temporary = folder.join("environment.json.new");
    fs_err::write(&temporary, text)?;
    fs_err::rename(temporary, folder.join(RECORD))?;
    Ok(())
}

fn with_pip(
    session: &Session,
    interpreter: &Interpreter,
    requirements: &Requirements,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<String> {
    Command::new("create environment", &interpreter.path)
        .args(["-m", "venv", "--clear"])
        .arg(folder.join("venv"))
        .timeout(Duration::from_secs(300))
        .run(session)
        .map_err(|error| {
            explain(error).hint("the interpreter's `venv` module must work: on Debian, install python3-venv")
        })?;
    let mut counter = Counter { packages: 0, of: requirements.packages, progress };
    Command::new("install inference-perf", program(folder, "python"))
        .args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"])
        .args(requirements.arguments())
        .pass("PIP_*")
        .no_progress(SILENCE)
        .run_observed(session, &mut counter)
        .map_err(explain)?;
    let version = Command::new("pip version", program(folder, "python"))
        .args(["-m", "pip", "--version"])
        .timeout(Duration::from_secs(60))
        .capture(4096)
        .run(session)?;
    Ok(name_and_version(&version.stdout()))
}

/// `pip 24.2 from …` and `uv 0.9.1 (…)` without what follows: the rest names folders of this machine or build dates.
fn name_and_version(said: &str) -> String {
    said.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn with_uv(
    session: &Session,
    request: &Request,
    interpreter: &Interpreter,
    requirements: &Requirements,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<String> {
    let uv = uv::find_or_install(session, request, progress)?;
    uv::command("create environment", &uv)
        .args(["venv", "--no-project", "--python"])
        .arg(&interpreter.path)
        .arg(folder.join("venv"))
        .timeout(Duration::from_secs(300))
        .run(session)
        .map_err(explain)?;
    let mut counter = Counter { packages: 0, of: requirements.packages, progress };
    uv::command("install inference-perf", &uv)
        .args(["pip", "install", "--python"])
        .arg(program(folder, "python"))
        .args(requirements.arguments())
        .no_progress(SILENCE)
        .run_observed(session, &mut counter)
        .map_err(explain)?;
    let version =
        uv::command("uv version", &uv).arg("--version").timeout(Duration::from_secs(60)).capture(4096).run(session)?;
    Ok(name_and_version(&version.stdout()))
}

/// Counts the packages that an installer names.
struct Counter<'a> {
    packages: usize,
    of: Option<usize>,
    progress: &'a mut dyn FnMut(Progress),
}

impl Observer for Counter<'_> {
    fn line(&mut self, _stream: Stream, text: &str) {
        let text = text.trim_start();
        if text.starts_with("Collecting ") || text.starts_with("+ ") {
            self.packages += 1;
            (self.progress)(Progress::Installing { packages: self.packages, of: self.of });
        }
    }
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
    let answer: Finished = Command::new("verify environment", program(folder, "python"))
        .args(["-I", "-c", QUESTION])
        .env("HF_HUB_OFFLINE", "1")
        .timeout(Duration::from_secs(300))
        .capture(1 << 20)
        .run(session)
        .map_err(explain)?;
    let text = answer.stdout();
    let line = text.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    let facts: Facts = serde_json::from_str(line)
        .map_err(|error| Failure::internal(format!("the new environment's answer cannot be read: {error}")))?;
    if facts.inference_perf != version {
        let message = format!("inference-perf {} was installed although {version} was asked for", facts.inference_perf);
        return Err(Failure::internal(message).hint("look for a find-links folder or a mirror in pip's configuration"));
    }
    if !program(folder, "inference-perf").is_file() {
        return Err(Failure::internal("the package has no `inference-perf` program"));
    }
    Ok(facts)
}

fn check_space(folder: &Path) -> Result<()> {
    let statistics = nix::sys::statvfs::statvfs(folder).map_err(Failure::internal)?;
    // As floats, because these numbers have another width on each system.
    let free = statistics.blocks_available() as f64 * statistics.fragment_size() as f64 / 1e9;
    let needed = NEEDED_BYTES as f64 / 1e9;
    if free >= needed {
        return Ok(());
    }
    Err(Failure::usage(format!("{free:.1} GB are free for {}, {needed:.1} GB are needed", folder.display()))
        .hint("make room, or set XDG_CACHE_HOME to a folder on another disk"))
}

/// Says what an installer's failure most likely means.
fn explain(error: Error) -> Failure {
    const MEANINGS: [(&[&str], &str); 4] = [
        (
            &["No space left on device", "os error 28"],
            "the disk is full: make room, or set XDG_CACHE_HOME to a folder on another disk",
        ),
        (
            &["DO NOT MATCH THE HASHES", "Hash mismatch", "hash mismatch"],
            "the registry serves other files than the published ones: check the index in PIP_INDEX_URL or pip.conf",
        ),
        (
            &[
                "Failed to establish a new connection",
                "Name or service not known",
                "Temporary failure in name resolution",
                "ConnectTimeoutError",
                "ProxyError",
                "Connection refused",
                "error sending request",
                "dns error",
                "SSLError",
                "CERTIFICATE_VERIFY_FAILED",
            ],
            "the package registry cannot be reached: check the network, HTTPS_PROXY, PIP_INDEX_URL and PIP_CERT, then run again",
        ),
        (
            &["No matching distribution found", "no version of", "No solution found"],
            "the registry does not offer a package for this Python and machine: check the index, or try another --python",
        ),
    ];
    let said = format!("{}\n{}", error.stdout_tail(), error.stderr_tail());
    let meaning = MEANINGS.iter().find(|(signs, _)| signs.iter().any(|sign| said.contains(sign)));
    let failure = error.failure(Kind::Usage);
    match meaning {
        Some((_, meaning)) => failure.hint(*meaning),
        None => failure,
    }
}
