//! The endpoint picker that real proxies ask: a program of its own, built when a campaign first needs it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::pinning::command;
use super::servers::ended;
use crate::failure::{Failure, Result};
use crate::on_demand::Program;
use crate::process::{Child, Session};
use crate::settings::Settings;

/// How long it may take to listen; it takes milliseconds.
const READY: Duration = Duration::from_secs(20);

/// How long it may take to end when asked to.
const GRACE: Duration = Duration::from_secs(3);

const PROGRAM: Program<'_> = Program {
    package: "testbed-picker",
    sources: &["controller/testbed/picker/Cargo.toml", "controller/testbed/picker/src", "controller/testbed/src"],
};

/// The picker's file, as `testbed-picker` reads it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Config {
    /// The servers to choose from.
    pub(super) servers: Vec<SocketAddr>,
    /// The model's name.
    pub(super) model: String,
    /// The routing policy's file.
    pub(super) policy: PathBuf,
    /// The hardware model's file, whose plugin defaults apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hardware: Option<PathBuf>,
    /// Seed of ties.
    pub(super) seed: u64,
    /// Seconds before each choice.
    pub(super) delay_seconds: f64,
}

/// The line that it prints when it listens.
#[derive(Clone, Debug, Deserialize)]
struct Ready {
    picker: SocketAddr,
    admin: String,
}

/// The program, as named by the settings, else built from the workspace at `root`.
///
/// # Errors
/// A usage failure when the named file is not there; else when it cannot be built.
pub(super) fn program(root: &Path, settings: &Settings, session: &Session, told: impl FnOnce()) -> Result<PathBuf> {
    let Some(given) = &settings.proxy.picker else { return PROGRAM.built(root, session, told) };
    if given.is_file() {
        return Ok(std::path::absolute(given)?);
    }
    Err(Failure::usage(format!("{} is not a file", given.display()))
        .hint("leave proxy.picker out: it is then built from this workspace"))
}

/// A running picker.
#[derive(Debug)]
pub(super) struct Picker {
    child: Child,
    ready: Ready,
}

impl Picker {
    /// Starts `program` with `config`, written into `folder`, on these cores or all.
    ///
    /// # Errors
    /// When it does not listen.
    pub(super) fn start(
        program: &Path,
        config: &Config,
        folder: &Path,
        cores: Option<&str>,
        session: &Session,
    ) -> Result<Self> {
        let file = folder.join("picker.yaml");
        fs_err::write(&file, reports::yaml::to_string(config).map_err(Failure::internal)?)?;
        let mut child = command("testbed-picker", program, cores)
            .arg(&file)
            .stdin_open_while_held()
            .grace(GRACE)
            .spawn(session)
            .map_err(ended)?;
        let ready = child.wait_for(READY, |line| serde_json::from_str(line).ok()).map_err(ended)?;
        Ok(Self { child, ready })
    }

    /// Where proxies ask.
    pub(super) fn address(&self) -> SocketAddr {
        self.ready.picker
    }

    /// Where `/metrics` and `/reset` are.
    pub(super) fn admin(&self) -> &str {
        &self.ready.admin
    }

    /// The process.
    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// The process, to be ended.
    pub(super) fn into_child(self) -> Child {
        self.child
    }
}
