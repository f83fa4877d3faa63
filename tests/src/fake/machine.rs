//! A machine whose only cloud is the fake one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Cloud;
use crate::world::{Outcome, outcome, workspace, xtask};

/// A home, a results folder and a cloud.
#[derive(Debug)]
pub struct Machine {
    home: tempfile::TempDir,
    /// Its cloud.
    pub cloud: Cloud,
}

impl Machine {
    /// A machine whose cloud begins as `state`; `program` is the built `fake_cloud`.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn new(program: &Path, plays: &[&str], state: &Value) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let cloud = Cloud::new(home.path(), program, plays, state);
        Self { home, cloud }
    }

    /// The folder that holds campaigns.
    pub fn results(&self) -> PathBuf {
        self.home.path().join("results")
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// `xtask` with these arguments, in a cleared environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(xtask());
        command
            .args(arguments)
            .env_clear()
            .current_dir(self.home.path())
            .env("PATH", self.cloud.path())
            .env("CARGO_MANIFEST_DIR", workspace().join("xtask"))
            .env("HOME", self.home.path())
            .env("XDG_CACHE_HOME", self.home.path().join("cache"))
            .env("TMPDIR", self.home.path())
            .env("BENCHMARK_RESULTS_DIR", self.results())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `xtask` to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        outcome(self.command(arguments).spawn().expect("xtask starts"))
    }
}
