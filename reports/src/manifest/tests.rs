//! The manifest's format.

use std::path::PathBuf;

use super::*;

fn in_folder(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    fs_err::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let (_folder, path) = in_folder("schema_version: 2\nnot: known\n");
    let error = Manifest::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("schema_version 2 is newer than 1, the newest that is understood here"), "{error}");
}
