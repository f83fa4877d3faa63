//! The journal: one JSON line for every program that was run.

use std::io::{self, Write};
use std::path::Path;

use fs_err::OpenOptions;
use serde::{Deserialize, Serialize};

/// One line of `commands.jsonl`. Everything in it is redacted.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct JournalEntry {
    /// What the program was run for.
    pub step: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The same as one line that can be pasted into a shell, with its folder and environment.
    pub command: String,
    /// When it was started, UTC.
    pub start: jiff::Timestamp,
    /// How long it ran.
    pub seconds: f64,
    /// How it ended: `exit 0`, `SIGKILL`, `timeout`, …
    pub exit: String,
    /// Its log file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl JournalEntry {
    /// Appends the entry in one write, so that lines of several writers never mix.
    pub(super) fn append(&self, file: &Path) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        if let Some(folder) = file.parent() {
            fs_err::create_dir_all(folder)?;
        }
        OpenOptions::new().create(true).append(true).open(file)?.write_all(&line)
    }
}
