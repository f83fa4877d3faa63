//! A `config/` folder for tests.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::ConfigTree;

/// The workspace that the tests were built in.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A copy of `config/` that a test may change.
pub fn copy() -> (TempDir, ConfigTree) {
    let folder = TempDir::new().unwrap();
    copy_tree(&workspace().join("config"), &folder.path().join("config"));
    let tree = ConfigTree::open(folder.path());
    (folder, tree)
}

fn copy_tree(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs_err::copy(entry.path(), target).unwrap();
        }
    }
}
