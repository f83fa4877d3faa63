//! Reading evidence that others wrote: bounded, regular files only.

use std::fs::FileType;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest YAML or JSON document that is read whole, in bytes. A stage's document takes about 30 kB, one with long time
/// series a few MB.
pub const DOCUMENT_LIMIT: u64 = 64 << 20;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is a symbolic link, a folder or a device.
    #[error("{path}: expected a regular file, found {found}", path = path.display())]
    NotRegular {
        /// The path as asked for.
        path: PathBuf,
        /// What is there instead.
        found: &'static str,
    },
    /// It is larger than any document of its kind.
    #[error("{path}: {size} bytes, more than the {limit} bytes that are read of such a file", path = path.display())]
    TooLarge {
        /// The path as asked for.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// It is empty.
    #[error("{path}: the file is empty", path = path.display())]
    Empty {
        /// The path as asked for.
        path: PathBuf,
    },
    /// It is not UTF-8.
    #[error("{path}: not UTF-8 text at byte {at}", path = path.display())]
    NotText {
        /// The path as asked for.
        path: PathBuf,
        /// The first byte that is not text.
        at: usize,
    },
    /// The system said no; the message names the path.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Reads a regular, non-empty text file of at most `limit` bytes. A symbolic link is refused, so that evidence cannot
/// point outside its folder.
pub fn read_text(path: &Path, limit: u64) -> Result<String, Error> {
    let bytes = read(path, limit)?;
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.into() });
    }
    String::from_utf8(bytes).map_err(|error| Error::NotText { path: path.into(), at: error.utf8_error().valid_up_to() })
}

/// Reads a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let metadata = fs_err::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(Error::NotRegular { path: path.into(), found: describe(metadata.file_type()) });
    }
    if metadata.len() > limit {
        return Err(Error::TooLarge { path: path.into(), size: metadata.len(), limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    // One byte more than allowed, so that a file that grows while it is read is noticed.
    fs_err::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        size if size > limit => Err(Error::TooLarge { path: path.into(), size, limit }),
        _ => Ok(bytes),
    }
}

/// What a directory entry is, for messages.
pub fn describe(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_file() {
        "a regular file"
    } else {
        "a special file"
    }
}

/// Every file below `folder`, links as what they are, in the order of their paths.
///
/// # Errors
/// Any error of the file system.
pub fn below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(below(&entry.path())?);
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
