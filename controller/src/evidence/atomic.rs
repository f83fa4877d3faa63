//! Files and folders that are either there completely or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err::File;

/// Writes `content` to `path` so that readers see the old content or the new, never a part: beside it first, synced,
/// then renamed.
///
/// # Errors
/// Any error of the file system; `path` is then as it was.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let (folder, beside) = neighbour(path)?;
    let written = (|| {
        let mut file = File::create(&beside)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        drop(file);
        fs_err::rename(&beside, path)
    })();
    if written.is_err() {
        // The error that matters is the first one.
        fs_err::remove_file(&beside).ok();
    }
    written?;
    sync_folder(&folder)
}

/// Builds the folder `path` beside its place with `fill`, and renames it there when it is complete and on disk.
///
/// # Errors
/// The error of `fill`, or of the file system, or that `path` exists; what was built is then removed.
pub fn build_folder<T, E: From<io::Error>>(path: &Path, fill: impl FnOnce(&Path) -> Result<T, E>) -> Result<T, E> {
    let (folder, beside) = neighbour(path)?;
    fs_err::create_dir_all(&folder)?;
    // Left there by a process that died while building.
    remove_folder(&beside)?;
    fs_err::create_dir(&beside)?;
    let built = fill(&beside).and_then(|value| {
        if path.symlink_metadata().is_ok() {
            let message = format!("{} is already there", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message).into());
        }
        sync_folder(&beside)?;
        fs_err::rename(&beside, path)?;
        sync_folder(&folder)?;
        Ok(value)
    });
    if built.is_err() {
        fs_err::remove_dir_all(&beside).ok();
    }
    built
}

/// Removes a folder with all in it; one that is not there is removed already.
///
/// # Errors
/// Any other error of the file system.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match fs_err::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Whether `name` is that of something under construction.
pub fn is_partial(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".partial")
}

/// The folder of `path`, and the hidden name beside it under which it is built.
fn neighbour(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} does not name a file", path.display()))
    })?;
    Ok((folder.to_path_buf(), folder.join(format!(".{}.partial", name.to_string_lossy()))))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The size of all files below `folder`, in bytes.
///
/// # Errors
/// When something in it cannot be looked at.
pub fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs_err::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.yaml");
        write(&path, "old and longer").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs_err::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["manifest.yaml"]);
    }

    #[test]
    fn a_file_that_cannot_be_put_in_place_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs_err::create_dir_all(path.join("by a folder")).unwrap();
        assert!(write(&path, "x").is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn a_folder_appears_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs/service/repetition-1");
        let seen = build_folder(&path, |beside| {
            fs_err::write(beside.join("a"), "1")?;
            assert!(is_partial(&beside.file_name().unwrap().to_string_lossy()));
            Ok::<_, io::Error>(path.exists())
        });
        assert!(!seen.unwrap());
        assert_eq!(names(&path), ["a"]);
        assert_eq!(names(path.parent().unwrap()), ["repetition-1"]);
    }

    #[test]
    fn a_folder_that_fails_half_way_leaves_no_trace_and_what_a_dead_process_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repetition-1");
        let failed = build_folder(&path, |beside| {
            fs_err::write(beside.join("half"), "1")?;
            Err::<(), _>(io::Error::other("disk full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        assert_eq!(names(folder.path()), Vec::<String>::new());
        fs_err::create_dir(folder.path().join(".repetition-1.partial")).unwrap();
        fs_err::write(folder.path().join(".repetition-1.partial/stale"), "").unwrap();
        build_folder(&path, |beside| fs_err::write(beside.join("whole"), "")).unwrap();
        assert_eq!(names(&path), ["whole"]);
    }

    #[test]
    fn a_folder_that_is_there_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repetition-1");
        fs_err::create_dir(&path).unwrap();
        fs_err::write(path.join("evidence"), "").unwrap();
        let refused = build_folder(&path, |_| Ok::<_, io::Error>(()));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(folder.path()), ["repetition-1"]);
    }
}
