//! pip or uv, whichever this machine can use: makes an environment and installs into it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{Interpreter, Progress, Request, uv};
use crate::failure::{Failure, Kind, Result};
use crate::process::{Command, Error, Observer, Session, Stream};

/// Installing may be slow, but hardly ever says nothing for this long.
const SILENCE: Duration = Duration::from_secs(900);

/// What installs packages into one environment.
pub(crate) struct Installer {
    /// uv's program; pip's is in the environment itself.
    uv: Option<PathBuf>,
    interpreter: PathBuf,
    venv: PathBuf,
}

impl Installer {
    /// Chooses: the user's configuration of pip is respected where there is one, since uv does not read it.
    ///
    /// # Errors
    /// When neither can be had.
    pub(crate) fn choose(
        session: &Session,
        request: &Request,
        interpreter: &Interpreter,
        venv: PathBuf,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let pip = interpreter.has_venv && (uv::overridden_by_pip() || uv::on_path().is_none());
        let uv = if pip { None } else { Some(uv::find_or_install(session, request, progress)?) };
        Ok(Self { uv, interpreter: interpreter.path.clone(), venv })
    }

    /// Makes the empty environment.
    ///
    /// # Errors
    /// When the interpreter cannot.
    pub(crate) fn create(&self, session: &Session) -> Result<()> {
        let limit = Duration::from_secs(300);
        match &self.uv {
            None => Command::new("create environment", &self.interpreter)
                .args(["-m", "venv", "--clear"])
                .arg(&self.venv)
                .timeout(limit)
                .makes(self.python())
                .run(session)
                .map_err(|error| {
                    explain(error).hint("the interpreter's `venv` module must work: on Debian, install python3-venv")
                })?,
            Some(uv) => uv::command("create environment", uv)
                .args(["venv", "--no-project", "--python"])
                .arg(&self.interpreter)
                .arg(&self.venv)
                .timeout(limit)
                .makes(self.python())
                .run(session)
                .map_err(explain)?,
        };
        Ok(())
    }

    /// Installs what these arguments name, which brings the program `made` where one is named.
    ///
    /// # Errors
    /// When it cannot be had; the failure says what that most likely means.
    pub(crate) fn install<A: AsRef<OsStr>>(
        &self,
        session: &Session,
        step: &str,
        arguments: impl IntoIterator<Item = A>,
        made: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let mut command = match &self.uv {
            None => self
                .pip(step)
                .args(["install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"])
                .pass("PIP_*"),
            Some(uv) => uv::command(step, uv).args(["pip", "install", "--python"]).arg(self.python()),
        };
        if let Some(made) = made {
            command = command.makes(self.venv.join("bin").join(made));
        }
        command.args(arguments).no_progress(SILENCE).run_observed(session, observer).map_err(explain)?;
        Ok(())
    }

    /// Its name and version.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub(crate) fn version(&self, session: &Session) -> Result<String> {
        let (name, command) = match &self.uv {
            None => ("pip", self.pip("pip version").arg("--version")),
            Some(uv) => ("uv", uv::command("uv version", uv).arg("--version")),
        };
        let answer = command.timeout(Duration::from_secs(60)).capture(4096).run(session)?;
        // `pip 24.2 from …` and `uv 0.9.1 (…)`: the rest names folders of this machine or build dates. An answer that is
        // none is worth less than an environment that works.
        let said = answer.stdout();
        let mut words = said.split_whitespace();
        Ok(match (words.next(), words.next()) {
            (Some(first), Some(version)) if first == name => format!("{name} {version}"),
            _ => format!("{name} of unknown version"),
        })
    }

    fn pip(&self, step: &str) -> Command {
        Command::new(step, self.python()).args(["-m", "pip"])
    }

    fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }
}

/// Whether the user has told pip where packages come from.
pub(crate) fn configured_by_user() -> bool {
    uv::overridden_by_pip()
}

/// Empties the folder of an environment, whatever an interrupted build left there, and checks that so many bytes are free.
///
/// # Errors
/// A usage failure when they are not.
pub(crate) fn begin(folder: &Path, needed: u64) -> Result<()> {
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    fs_err::create_dir_all(folder)?;
    check_space(folder, needed)
}

/// Counts the packages that an installer names.
pub(crate) struct Counter<'a> {
    packages: usize,
    of: Option<usize>,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Counter<'a> {
    /// Tells `progress` of each of so many packages, where their number is known.
    pub(crate) fn new(of: Option<usize>, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { packages: 0, of, progress }
    }
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

/// Asks an environment's Python a question that it answers with one line of JSON.
///
/// # Errors
/// When it cannot be asked, or its answer is another.
pub(crate) fn ask<T: DeserializeOwned>(session: &Session, step: &str, python: Command, question: &str) -> Result<T> {
    let answer = python
        .args(["-I", "-c", question])
        .env("HF_HUB_OFFLINE", "1")
        .timeout(Duration::from_secs(300))
        .capture(1 << 20)
        .run(session)
        .map_err(explain)?;
    let text = answer.stdout();
    let line = text.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).map_err(|error| {
        let failure = Failure::internal(format!("{step}: its answer cannot be read: {error}"));
        answer.log.iter().fold(failure, |failure, log| failure.hint(format!("read the answer in {}", log.display())))
    })
}

/// Whether so many bytes are free for a folder.
///
/// # Errors
/// A usage failure when they are not.
fn check_space(folder: &Path, needed: u64) -> Result<()> {
    let statistics = nix::sys::statvfs::statvfs(folder).map_err(Failure::internal)?;
    // As floats, because these numbers have another width on each system.
    let free = statistics.blocks_available() as f64 * statistics.fragment_size() as f64 / 1e9;
    let needed = needed as f64 / 1e9;
    if free >= needed {
        return Ok(());
    }
    Err(Failure::usage(format!("{free:.1} GB are free for {}, {needed:.1} GB are needed", folder.display()))
        .hint("make room, or set XDG_CACHE_HOME to a folder on another disk"))
}

/// Says what an installer's failure most likely means.
pub(crate) fn explain(error: Error) -> Failure {
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
