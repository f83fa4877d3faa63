//! YAML in and out.
//!
//! Reading bounds what a hostile file can cost (size, nesting, alias expansion). Writing uses an emitter whose output
//! PyYAML reads back as the same values, because llm-d-benchmark and Prism read what is written here.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// Why a YAML file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The text is not YAML, or not of the expected shape; the message names line and column.
    #[error("{path}: {source}", path = path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What the parser found, and where.
        source: serde_yaml::Error,
    },
    /// A value cannot be written as YAML.
    #[error("cannot be written as YAML: {0}")]
    Emit(String),
}

/// Reads one YAML document of at most `limit` bytes.
pub fn read<T: DeserializeOwned>(path: &Path, limit: u64) -> Result<T, Error> {
    let text = files::read_text(path, limit)?;
    refuse_brackets(&text)
        .and_then(|()| serde_yaml::from_str(&text))
        .map_err(|source| Error::Syntax { path: path.into(), source })
}

/// Most opening brackets in a document. The parser takes time that grows with the square of their nesting, before any
/// limit of its own is looked at: 100 kB of them would keep it busy for minutes. Documents are written in block style.
const BRACKETS: usize = 10_000;

/// Refuses text that the parser would take too long over.
pub(crate) fn refuse_brackets(text: &str) -> Result<(), serde_yaml::Error> {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets > BRACKETS {
        return Err(serde::de::Error::custom(format!(
            "{brackets} opening brackets, more than the {BRACKETS} that are read"
        )));
    }
    Ok(())
}

/// YAML text that both a YAML 1.1 reader (PyYAML) and a 1.2 reader read back as `value`.
pub fn to_string<T: Serialize>(value: &T) -> Result<String, Error> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, options).map_err(|error| Error::Emit(error.to_string()))
}
