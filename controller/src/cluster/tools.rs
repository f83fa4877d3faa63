//! Where `kubectl` and its like are looked for.

use std::ffi::OsString;

use crate::process::{Command, Inherit};

/// The programs that know clusters: those of our PATH unless another one is given.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// Another PATH to look in.
    pub path: Option<OsString>,
}

impl Tools {
    /// A program that sees the user's whole environment: credentials of clusters come in many ways.
    pub fn command(&self, step: impl Into<String>, program: &str) -> Command {
        let command = Command::new(step, program).inherit(Inherit::Everything);
        match &self.path {
            Some(path) => command.env("PATH", path),
            None => command,
        }
    }
}
