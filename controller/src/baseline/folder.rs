//! A store in a folder: files appear whole or not at all, the pointer changes under a lock.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::place::{Error, Place};

/// A folder as a place.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder need not exist.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Writes beside, syncs, renames: a reader sees the old content or the new.
    fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let path = self.root.join(path);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Place for Folder {
    fn get(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        match fs::read(self.root.join(path)) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn put(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        if self.get(path)?.as_deref() == Some(content) {
            return Ok(());
        }
        Ok(self.write(path, content)?)
    }

    fn swap(&self, path: &str, expected: Option<&[u8]>, content: &[u8]) -> Result<(), Error> {
        let full = self.root.join(path);
        fs::create_dir_all(full.parent().unwrap_or(&self.root))?;
        // The lock is released when `lock` is dropped, at the end.
        let lock = fs::OpenOptions::new().write(true).create(true).truncate(false).open(full.with_extension("lock"))?;
        lock.file().lock()?;
        if self.get(path)?.as_deref() != expected {
            return Err(Error::Changed { path: path.into() });
        }
        Ok(self.write(path, content)?)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        walk(&self.root, &self.root.join(folder), &mut found)?;
        found.sort();
        Ok(found)
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if kind.is_dir() {
            walk(root, &entry.path(), found)?;
        } else if kind.is_file() && !hidden && entry.path().extension().is_none_or(|extension| extension != "lock") {
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap_or(&path);
            found.push(relative.to_string_lossy().into_owned());
        }
    }
    Ok(())
}
