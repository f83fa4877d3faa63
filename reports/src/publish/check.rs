//! Whether committed documents are what would be made today.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Error, Render, SOURCES, documents, list, scan};

/// Something that is wrong with a published report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A document is missing.
    Missing(PathBuf),
    /// A document differs from what would be made.
    Differs {
        /// The document.
        path: PathBuf,
        /// The first line that differs, from 1.
        line: usize,
    },
    /// A file that no report has any more.
    Unexpected(PathBuf),
    /// The report cannot be read, or its documents not be made.
    Unusable {
        /// The report's folder.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// A file holds what must not leave a machine.
    Unpublishable(scan::Finding),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "{}: is missing", path.display()),
            Self::Differs { path, line } => {
                write!(f, "{}:{line}: differs from what its numbers give", path.display())
            }
            Self::Unexpected(path) => write!(f, "{}: is no part of the report", path.display()),
            Self::Unusable { folder, why } => write!(f, "{}: {why}", folder.display()),
            Self::Unpublishable(found) => write!(f, "{}:{}: {}", found.file.display(), found.line, found.what),
        }
    }
}

/// Checks every report below `root`, which holds a folder a profile; `Ok` holds how many there are and what is wrong.
pub fn check(root: &Path, render: &Render<'_>) -> Result<(usize, Vec<Problem>), Error> {
    let (mut reports, mut problems) = (0, Vec::new());
    for profile in folders(root)? {
        for report in folders(&profile)? {
            reports += 1;
            problems.extend(check_one(&report, render));
        }
    }
    Ok((reports, problems))
}

/// Checks one published report and tells what is wrong with it.
///
/// Charts drawn as PNG are not compared: they come from another program, out of the SVG files that are.
pub fn check_one(report: &Path, render: &Render<'_>) -> Vec<Problem> {
    check_report(report, render)
        .unwrap_or_else(|error| vec![Problem::Unusable { folder: report.into(), why: error.to_string() }])
}

fn check_report(report: &Path, render: &Render<'_>) -> Result<Vec<Problem>, Error> {
    let committed: BTreeMap<PathBuf, Vec<u8>> = list(report)?.into_iter().collect();
    let made: BTreeMap<PathBuf, Vec<u8>> = documents(report, render)?.into_iter().collect();
    let mut problems = Vec::new();
    for (name, bytes) in &made {
        match committed.get(name) {
            None => problems.push(Problem::Missing(report.join(name))),
            Some(there) if there != bytes => {
                problems.push(Problem::Differs { path: report.join(name), line: first_difference(there, bytes) });
            }
            Some(_) => {}
        }
    }
    for name in committed.keys().filter(|name| !made.contains_key(*name)) {
        let is_source = SOURCES.iter().any(|source| name == Path::new(source));
        let is_picture = name.extension().is_some_and(|extension| extension == "png");
        if !is_source && !is_picture {
            problems.push(Problem::Unexpected(report.join(name)));
        }
    }
    let rules = scan::Rules { paths: true, private: &[] };
    for (name, bytes) in &committed {
        problems.extend(scan::find(&report.join(name), bytes, &rules).into_iter().map(Problem::Unpublishable));
    }
    Ok(problems)
}

fn first_difference(left: &[u8], right: &[u8]) -> usize {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right);
    1 + same.filter(|(byte, _)| **byte == b'\n').count()
}

/// The folders in a folder, by name; none where there is no such folder. Hidden ones are unfinished.
fn folders(of: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    if of.symlink_metadata().is_err() {
        return Ok(found);
    }
    for entry in fs_err::read_dir(of)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
