//! What can be wrong with settings, gathered so that the user sees all of it at once.

use std::fmt;
use std::path::PathBuf;

use super::nearest::nearest;
use crate::failure::Failure;

/// One thing that is wrong, where it was said, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, naming the place that said it.
    pub message: String,
    /// What to change.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with the next step beside it.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }

    /// A name that is not among the known ones: the hint has the nearest names and the whole list.
    pub fn unknown(what: &str, name: &str, origin: impl fmt::Display, known: &[&str]) -> Self {
        let near = nearest(name, known.iter().copied());
        let list = if known.is_empty() { "there is none".to_owned() } else { format!("known: {}", known.join(", ")) };
        let hint = match near.as_slice() {
            [] => list,
            near => format!("did you mean {}? ({list})", near.join(" or ")),
        };
        Self::new(format!("unknown {what} `{name}` ({origin})"), hint)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Everything found wrong with names and values.
    #[error("{}", listing(.0))]
    Problems(Vec<Problem>),
    /// A file of `config/` that cannot be read; its path is in the cause.
    #[error("cannot read the configuration")]
    Read(#[from] std::io::Error),
    /// A file of `config/` that is not what it should be.
    #[error("{} is not valid: {message}", path.display())]
    File {
        /// Path relative to the workspace where possible.
        path: PathBuf,
        /// The parser's words, with line and column.
        message: String,
    },
}

fn listing(problems: &[Problem]) -> String {
    match problems {
        [one] => one.message.clone(),
        many => {
            let lines: Vec<_> = many.iter().map(|problem| format!("\n  - {}", problem.message)).collect();
            format!("{} problems with the settings:{}", many.len(), lines.concat())
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problems(vec![problem])
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hints = match &error {
            Error::Problems(problems) => problems.iter().filter_map(|problem| problem.hint.clone()).collect(),
            Error::Read(_) => vec!["run inside the workspace: its config/ folder is needed".to_owned()],
            Error::File { .. } => vec!["mend the file, or restore it with git".to_owned()],
        };
        hints.into_iter().fold(Self::usage(error), Self::hint)
    }
}
