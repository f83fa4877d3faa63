//! What is wrong with a limits file, and where.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::files;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// From 1; 0 when it belongs to no line.
    pub line: u64,
    /// From 1.
    pub column: u64,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Why a limits file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The file says something that cannot be meant.
    #[error("{}", Listing { path, text, problems })]
    Problems {
        /// The file.
        path: PathBuf,
        /// Its text, to show the lines.
        text: String,
        /// All that was found.
        problems: Vec<Problem>,
    },
}

struct Listing<'a> {
    path: &'a Path,
    text: &'a str,
    problems: &'a [Problem],
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:{}:{}: {}", self.path.display(), problem.line, problem.column, problem.message)?;
            let line = problem.line.checked_sub(1).and_then(|index| self.text.lines().nth(index as usize));
            if let Some(line) = line {
                write!(f, "\n  {:>4} | {line}\n       | ", problem.line)?;
                let before = line.chars().take(problem.column.saturating_sub(1) as usize);
                let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                write!(f, "{indent}^")?;
            }
        }
        Ok(())
    }
}
