//! PNG charts: built on demand, because the rasteriser takes longer to compile than everything else together.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use controller::failure::{Kind, Result};
use controller::process::{Command, Inherit, Session};

use crate::context::Context;

/// Far beyond what a slow machine needs.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
const DRAW_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Draws each SVG as a PNG beside it.
pub fn draw(charts: &[PathBuf], context: &Context) -> Result<()> {
    if charts.is_empty() {
        return Ok(());
    }
    let program = program(&context.root)?;
    let drawn = Command::new("draw charts", &program).args(charts).timeout(DRAW_LIMIT).run(&Session::unrecorded());
    drawn.map(|_| ()).map_err(|error| error.failure(Kind::Internal))
}

/// The program, built first when it is missing or older than its source.
fn program(root: &Path) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target));
    let program = target.join("release/reports-png");
    if is_current(&program, root) {
        return Ok(program);
    }
    eprintln!("building the PNG renderer, once: this takes a minute or two (SVG charts need no build)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new("build reports-png", cargo)
        .args(["build", "--quiet", "--release", "--package", "reports-png"])
        .folder(root)
        .inherit(Inherit::Everything)
        .timeout(BUILD_LIMIT)
        .run(&Session::unrecorded());
    built.map_err(|error| {
        error
            .failure(Kind::Internal)
            .hint("leave `png` out of `--format`: the SVG charts and report.html show the same")
    })?;
    Ok(program)
}

/// Whether the program is there and not older than any file of its crate; asking cargo would cost more than drawing.
fn is_current(program: &Path, root: &Path) -> bool {
    let modified = |path: &Path| -> Option<SystemTime> { fs_err::metadata(path).and_then(|file| file.modified()).ok() };
    let Some(built) = modified(program) else { return false };
    let source = root.join("reports/png");
    let sources = ["Cargo.toml", "src/main.rs", "font/Inter-Regular.otf"].map(|file| source.join(file));
    sources.iter().all(|source| modified(source).is_some_and(|changed| changed <= built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_older_than_its_source_is_built_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in ["reports/png/Cargo.toml", "reports/png/src/main.rs", "reports/png/font/Inter-Regular.otf"] {
            fs_err::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs_err::write(root.join(file), "").unwrap();
        }
        let program = root.join("reports-png");
        assert!(!is_current(&program, root), "it is not there");
        fs_err::write(&program, "").unwrap();
        assert!(is_current(&program, root));
        let later = SystemTime::now() + Duration::from_secs(60);
        fs_err::File::open(root.join("reports/png/src/main.rs")).unwrap().into_parts().0.set_modified(later).unwrap();
        assert!(!is_current(&program, root));
    }
}
