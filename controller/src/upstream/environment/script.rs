//! The checkout's own `install.sh`, where it can run without touching anything but our environment.
//!
//! It also installs tools for the whole machine with sudo, keeps notes in the home folder and puts hooks into the
//! checkout. So it runs only for a checkout of ours, only where the tools are there already, with a home of its own and a
//! `sudo` that refuses; when it fails all the same, its packages are installed one by one instead.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::{Request, neutral};
use crate::failure::Result;
use crate::harness::python::installer::configured_by_user;
use crate::process::{Command, Session};

/// The tools that it would install for the whole machine.
const TOOLS: [&str; 8] = ["bash", "curl", "git", "helm", "helmfile", "jq", "yq", "kubectl"];
/// Downloads of a GB, and a look at a dozen tools.
const LIMIT: Duration = Duration::from_secs(1800);
/// What stands in for sudo.
const REFUSAL: &str =
    "#!/bin/sh\necho 'not run: a private environment is installed without touching the machine' >&2\nexit 1\n";

/// Runs it into the new environment in `folder`; returns whether it installed everything.
///
/// # Errors
/// An interruption, and errors of the file system.
pub(super) fn run(session: &Session, request: &Request, folder: &Path) -> Result<bool> {
    let venv = folder.join("venv");
    if !can_run(request) || !venv.join("bin/pip").is_file() {
        return Ok(false);
    }
    let scratch = tempfile::tempdir()?;
    let home = scratch.path().join("home");
    let sudo = scratch.path().join("bin/sudo");
    fs_err::create_dir_all(&home)?;
    fs_err::create_dir_all(scratch.path().join("bin"))?;
    fs_err::write(&sudo, REFUSAL)?;
    fs_err::set_permissions(&sudo, std::fs::Permissions::from_mode(0o755))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = [scratch.path().join("bin"), venv.join("bin")];
    let path = std::env::join_paths(first.into_iter().chain(std::env::split_paths(&path)).collect::<Vec<_>>());
    let command = neutral(Command::new("llm-d-benchmark's install.sh", "bash"))
        .arg("install.sh")
        .folder(&request.checkout.folder)
        .env("HOME", &home)
        .env("PATH", path.unwrap_or_default())
        .env("VIRTUAL_ENV", &venv)
        .env("LLMDBENCH_VENV_DIR", &venv)
        .timeout(LIMIT);
    let ended = command.run(session);
    session.check()?;
    Ok(ended.is_ok())
}

fn can_run(request: &Request) -> bool {
    let asked = request.planner.is_none() && !request.checkout.callers;
    let script = request.checkout.folder.join("install.sh").is_file();
    // It ignores the user's package index; where there is one, it would not find its packages.
    asked
        && script
        && cfg!(target_os = "linux")
        && !configured_by_user()
        && TOOLS.iter().all(|tool| which::which(tool).is_ok())
}
