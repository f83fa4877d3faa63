//! uv: faster than pip where it is present, and able to bring a Python where there is none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::interpreter::{self, FLOOR, Interpreter};
use super::{Places, Progress, Request};
use crate::failure::{Failure, Result};
use crate::process::{Command, Session};

/// The oldest Python that uv can be installed with.
const UV_FLOOR: (u32, u32) = (3, 8);

/// A uv command that sees the user's uv configuration.
pub(super) fn command(step: &str, uv: &Path) -> Command {
    Command::new(step, uv).pass("UV_*").env("UV_NO_PROGRESS", "1")
}

/// The user's uv.
pub(super) fn on_path() -> Option<PathBuf> {
    which::which("uv").ok()
}

/// Whether there is a uv, or a Python to install it with.
pub(super) fn can_be_had(session: &Session) -> bool {
    on_path().is_some() || interpreter::find_any(session, &Places::from_environment(), UV_FLOOR).is_some()
}

/// Whether the user has told pip where packages come from. uv does not read that, so pip must be used.
pub(super) fn overridden_by_pip() -> bool {
    let set = |names: &[&str]| names.iter().any(|name| std::env::var_os(name).is_some());
    if set(&["UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "UV_CONFIG_FILE"]) {
        return false;
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let config = std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    set(&["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "PIP_CERT", "PIP_NO_INDEX"])
        || [
            PathBuf::from("/etc/pip.conf"),
            PathBuf::from("/etc/xdg/pip/pip.conf"),
            home.join(".pip/pip.conf"),
            config.join("pip/pip.conf"),
        ]
        .iter()
        .any(|file| file.is_file())
}

/// The user's uv, or one installed into a private environment with whatever Python there is.
pub(super) fn find_or_install(
    session: &Session,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    if let Some(uv) = on_path() {
        return Ok(uv);
    }
    let folder = request.cache.join("uv");
    let uv = folder.join("bin/uv");
    let works = |uv: &Path| {
        uv.is_file() && command("uv version", uv).arg("--version").timeout(Duration::from_secs(30)).run(session).is_ok()
    };
    if works(&uv) {
        return Ok(uv);
    }
    let python = interpreter::find_any(session, &Places::from_environment(), UV_FLOOR).ok_or_else(|| {
        Failure::usage("there is no uv, and no Python to install it with")
            .hint("install uv (https://docs.astral.sh/uv) or Python >= 3.12")
    })?;
    progress(Progress::Creating(format!("uv, with {python}")));
    Command::new("create uv environment", &python.path)
        .args(["-m", "venv", "--clear"])
        .arg(&folder)
        .timeout(Duration::from_secs(300))
        .makes(folder.join("bin/python"))
        .run(session)?;
    Command::new("install uv", folder.join("bin/python"))
        .args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"])
        .args(["--require-hashes", "-r"])
        .arg(request.requirements.join("uv.txt"))
        .pass("PIP_*")
        .no_progress(Duration::from_secs(300))
        .makes(&uv)
        .run(session)?;
    Ok(uv)
}

/// Brings an interpreter with uv when the machine has none; `missing` is what the search found, and stays the error when
/// that fails too.
pub(super) fn bring_interpreter(
    session: &Session,
    request: &Request,
    missing: interpreter::Error,
    progress: &mut dyn FnMut(Progress),
) -> Result<Interpreter> {
    let brought = find_or_install(session, request, progress).and_then(|uv| {
        let version = format!("{}.{}", FLOOR.0, FLOOR.1);
        progress(Progress::Creating(format!("Python {version}, brought by uv")));
        command("install python", &uv)
            .args(["python", "install", &version])
            .no_progress(Duration::from_secs(300))
            .run(session)?;
        let found = command("find python", &uv)
            .args(["python", "find", "--no-project", "--managed-python", &version])
            .timeout(Duration::from_secs(60))
            .capture(4096)
            .run(session)?;
        let path = PathBuf::from(found.stdout().trim());
        interpreter::find(session, Some(&path), &Places::default()).map_err(|error| {
            let failure = Failure::from(error);
            found.log.iter().fold(failure, |failure, log| failure.hint(format!("uv's answer is in {}", log.display())))
        })
    });
    session.check()?;
    brought.map_err(|why| {
        let failure = Failure::from(missing).hint(format!("uv could not bring one either: {}", first_line(&why)));
        why.hints.into_iter().fold(failure, Failure::hint)
    })
}

fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}
