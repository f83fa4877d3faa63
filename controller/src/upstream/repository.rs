//! What libgit2 tells about a checkout.

use std::path::{Path, PathBuf};

use super::error::Error;

/// An opened checkout.
pub(super) struct Repository {
    folder: PathBuf,
    inner: git2::Repository,
}

impl Repository {
    /// Opens exactly this folder, not one above it.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let flags = git2::RepositoryOpenFlags::NO_SEARCH;
        let none: [&std::ffi::OsStr; 0] = [];
        match git2::Repository::open_ext(folder, flags, none) {
            Ok(inner) if !inner.is_bare() => Ok(Self { folder: folder.to_owned(), inner }),
            Ok(_) => Err(Error::NotARepository { folder: folder.to_owned(), reason: "it has no work tree".to_owned() }),
            Err(error) => Err(Error::NotARepository { folder: folder.to_owned(), reason: error.message().to_owned() }),
        }
    }

    /// The commit that is checked out.
    pub(super) fn head(&self) -> Result<String, Error> {
        let commit = self.inner.head().and_then(|head| head.peel_to_commit()).map_err(|error| self.error(&error))?;
        Ok(commit.id().to_string())
    }

    /// Modified, missing and untracked files, without ignored ones.
    pub(super) fn modified(&self) -> Result<Vec<String>, Error> {
        let mut options = git2::StatusOptions::new();
        options.include_untracked(true).include_ignored(false).exclude_submodules(true);
        let statuses = self.inner.statuses(Some(&mut options)).map_err(|error| self.error(&error))?;
        Ok(statuses.iter().map(|entry| String::from_utf8_lossy(entry.path_bytes()).into_owned()).collect())
    }

    /// The URL it says it was fetched from.
    pub(super) fn remote(&self) -> Option<String> {
        let remote = self.inner.find_remote("origin").ok()?;
        String::from_utf8(remote.url_bytes().to_vec()).ok()
    }

    fn error(&self, error: &git2::Error) -> Error {
        Error::Repository { folder: self.folder.clone(), reason: error.message().to_owned() }
    }
}
