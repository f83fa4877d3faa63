//! Why something could not be rendered.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::settings;

/// Why something could not be rendered; always names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// A template is wrong, or asks for a setting that has no value.
    #[error("{} cannot be rendered", path.display())]
    Template {
        /// The template.
        path: PathBuf,
        /// What minijinja found, with line.
        source: minijinja::Error,
    },
    /// What was rendered is not YAML.
    #[error("{} does not give valid YAML: {message}", path.display())]
    Yaml {
        /// The template or overlay.
        path: PathBuf,
        /// What the parser found, with line and column.
        message: String,
    },
    /// A value that YAML cannot hold.
    #[error("cannot write YAML: {0}")]
    Emit(String),
    /// A selection that cannot be rendered.
    #[error(transparent)]
    Settings(#[from] settings::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Settings(error) => error.into(),
            Error::File(_) | Error::Emit(_) => Self::internal(error),
            Error::Template { .. } => {
                Self::usage(error).hint("give the value that the template asks for, in the profile or by --set")
            }
            Error::Yaml { .. } => Self::usage(error).hint("mend the file, or restore it with git"),
        }
    }
}
