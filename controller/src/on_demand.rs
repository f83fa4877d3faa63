//! Programs of this workspace that are built when they are first needed, because few need them and they take long.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::failure::{Failure, Kind, Result};
use crate::process::{Command, Inherit, Session};

/// Far beyond what a slow machine needs.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);

/// A package of the workspace with one program of the same name.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The package's name.
    pub package: &'a str,
    /// Files and folders of the workspace that it is built from.
    pub sources: &'a [&'a str],
}

impl Program<'_> {
    /// The program in the workspace at `root`, built first when it is missing or older than its sources; `told` hears of
    /// it before the build begins.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn built(&self, root: &Path, session: &Session, told: impl FnOnce()) -> Result<PathBuf> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target));
        let program = target.join("release").join(self.package);
        if self.is_current(&program, root) {
            return Ok(program);
        }
        told();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(format!("build {}", self.package), cargo)
            .args(["build", "--quiet", "--release", "--package", self.package])
            .folder(root)
            .inherit(Inherit::Everything)
            .timeout(BUILD_LIMIT)
            .run(session);
        built.map_err(|error| error.failure(Kind::Internal))?;
        if program.is_file() {
            return Ok(program);
        }
        Err(Failure::internal(format!("cargo built {} somewhere else than {}", self.package, program.display()))
            .hint("set CARGO_TARGET_DIR to the folder that cargo builds into"))
    }

    /// Whether the program is there and not older than any of its sources; asking cargo would cost more than most uses.
    fn is_current(&self, program: &Path, root: &Path) -> bool {
        let modified =
            |path: &Path| -> Option<SystemTime> { fs_err::metadata(path).and_then(|file| file.modified()).ok() };
        let Some(built) = modified(program) else { return false };
        let mut left: Vec<PathBuf> = self.sources.iter().map(|source| root.join(source)).collect();
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let Ok(entries) = fs_err::read_dir(&path) else { return false };
                left.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            } else if modified(&path).is_none_or(|changed| changed > built) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_older_than_one_of_its_sources_is_built_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs_err::create_dir_all(root.join("crate/src/inner")).unwrap();
        for file in ["crate/Cargo.toml", "crate/src/main.rs", "crate/src/inner/part.rs"] {
            fs_err::write(root.join(file), "").unwrap();
        }
        let program = Program { package: "it", sources: &["crate/Cargo.toml", "crate/src"] };
        let file = root.join("it");
        assert!(!program.is_current(&file, root), "it is not there");
        fs_err::write(&file, "").unwrap();
        assert!(program.is_current(&file, root));
        let later = SystemTime::now() + Duration::from_secs(60);
        let inner = fs_err::File::open(root.join("crate/src/inner/part.rs")).unwrap();
        inner.into_parts().0.set_modified(later).unwrap();
        assert!(!program.is_current(&file, root));
    }
}
