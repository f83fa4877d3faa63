//! Where a value came from.

use std::fmt;

/// The layer, and the place in it, that gave a setting its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    Default,
    /// Follows from another setting; says from which and why.
    Derived(String),
    /// A file of `config/`, relative to the workspace, and the line in it.
    File {
        /// Path relative to the workspace where possible.
        path: String,
        /// Counted from 1.
        line: u64,
    },
    /// An environment variable.
    Variable(String),
    /// A flag as typed, for instance `--set workload.load` or `--repetitions`.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Derived(reason) => write!(f, "follows from {reason}"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}
