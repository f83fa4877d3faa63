//! Where bytes are kept: a folder or a bucket, with the few operations that a baseline store needs.

use std::fmt;
use std::path::PathBuf;

use super::bucket::{Bucket, Service};
use super::folder::Folder;
use crate::process::{self, Session};

/// Why a place could not do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder said no; the message names the path.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The bucket's command-line program failed.
    #[error(transparent)]
    Program(#[from] process::Error),
    /// Somebody else changed the value meanwhile.
    #[error("{path} was changed by somebody else meanwhile; nothing was overwritten")]
    Changed {
        /// What was to be replaced.
        path: String,
    },
}

/// A kind of place. Paths are relative, with `/` between names.
pub trait Place: fmt::Debug {
    /// The content, `None` when there is none.
    ///
    /// # Errors
    /// The place cannot be read.
    fn get(&self, path: &str) -> Result<Option<Vec<u8>>, Error>;

    /// Stores content that never changes; the same content may already be there.
    ///
    /// # Errors
    /// The place cannot be written.
    fn put(&self, path: &str, content: &[u8]) -> Result<(), Error>;

    /// Replaces `expected` (`None`: nothing there yet) by `content`, or changes nothing.
    ///
    /// # Errors
    /// [`Error::Changed`] when something else is there.
    fn swap(&self, path: &str, expected: Option<&[u8]>, content: &[u8]) -> Result<(), Error>;

    /// Paths below a folder, sorted.
    ///
    /// # Errors
    /// The place cannot be read.
    fn list(&self, folder: &str) -> Result<Vec<String>, Error>;
}

/// Where a store is: a folder, `gs://bucket/prefix` or `s3://bucket/prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A folder.
    Folder(PathBuf),
    /// A bucket with an optional prefix that ends without a slash.
    Bucket(Service, String, String),
}

/// A location that cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}: expected a folder, gs://BUCKET[/PREFIX] or s3://BUCKET[/PREFIX]")]
pub struct NotALocation(String);

impl Location {
    /// Understands a location as typed.
    ///
    /// # Errors
    /// Another scheme, or no bucket.
    pub fn parse(text: &str) -> Result<Self, NotALocation> {
        let service = match text.split_once("://") {
            None => return Ok(Self::Folder(text.into())),
            Some(("gs", _)) => Service::Google,
            Some(("s3", _)) => Service::Amazon,
            Some(_) => return Err(NotALocation(text.into())),
        };
        let rest = &text[5..];
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain =
            |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) && !text.contains("..");
        if bucket.is_empty() || !plain(bucket) || !plain(prefix) {
            return Err(NotALocation(text.into()));
        }
        Ok(Self::Bucket(service, bucket.into(), prefix.trim_matches('/').into()))
    }

    /// Opens it. Nothing is created before something is written.
    #[must_use]
    pub fn open(&self, session: &Session) -> Box<dyn Place> {
        match self {
            Self::Folder(path) => Box::new(Folder::new(path.clone())),
            Self::Bucket(service, bucket, prefix) => {
                Box::new(Bucket::new(*service, bucket.clone(), prefix.clone(), session.clone()))
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Bucket(service, bucket, prefix) if prefix.is_empty() => write!(f, "{}://{bucket}", service.scheme()),
            Self::Bucket(service, bucket, prefix) => write!(f, "{}://{bucket}/{prefix}", service.scheme()),
        }
    }
}
