//! What every verb may ask about its surroundings: the workspace, the terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::cli::{Color, Global};

/// The surroundings of one invocation.
#[derive(Debug)]
pub struct Context {
    /// The workspace's folder, where `config/` and `results/` are found.
    pub root: PathBuf,
    /// Whether standard error may be coloured.
    pub color: bool,
    /// Whether standard error is a terminal that can redraw a progress bar.
    pub interactive: bool,
}

impl Context {
    /// Reads the surroundings once; CI is never taken for a terminal.
    pub fn new(global: &Global) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let interactive = std::io::stderr().is_terminal() && !set("CI") && !dumb;
        let color = match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => interactive && !set("NO_COLOR"),
        };
        Self { root: workspace_root(), color, interactive }
    }
}

fn workspace_root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
