//! Finds a Python that can run the harness: asks every candidate in isolation, and believes only what it answers.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::failure::{Failure, Kind};
use crate::process::{Command, Reason, Session};

/// The oldest Python that inference-perf runs on.
pub const FLOOR: (u32, u32) = (3, 12);
/// The oldest Python that llm-d-benchmark runs on; named in advice, since one interpreter serves both.
pub const UPSTREAM_FLOOR: (u32, u32) = (3, 11);
/// Newer versions are taken only when there is no other: packages with native parts may not be built for them yet.
const NEWEST_PROVEN: (u32, u32) = (3, 13);

/// The question; the answer is one line of JSON.
const QUESTION: &str = r"
import importlib.util, json, platform, sys
print(json.dumps({
    'version': list(sys.version_info[:3]),
    'implementation': platform.python_implementation(),
    'executable': getattr(sys, '_base_executable', None) or sys.executable,
    'venv': all(importlib.util.find_spec(name) for name in ('venv', 'ensurepip')),
}))";

/// A working interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The program itself, not the shim or environment through which it was found.
    pub path: PathBuf,
    /// Its version.
    pub version: (u32, u32, u32),
    /// Whether it can create environments by itself: some distributions leave that part out.
    pub has_venv: bool,
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.version;
        write!(f, "Python {major}.{minor}.{patch} ({})", self.path.display())
    }
}

/// A candidate that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The candidate.
    pub path: PathBuf,
    /// Why not.
    pub why: String,
}

/// Why there is no interpreter.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The one that was asked for cannot be used.
    #[error("the Python that was asked for, {}, cannot be used: {}", .0.path.display(), .0.why)]
    Asked(Rejected),
    /// None of those found can be used.
    #[error("no Python >= {}.{} was found{}", FLOOR.0, FLOOR.1, list(.0))]
    None(Vec<Rejected>),
    /// The search was interrupted.
    #[error(transparent)]
    Interrupted(#[from] crate::process::Interrupted),
}

fn list(rejected: &[Rejected]) -> String {
    rejected.iter().map(|it| format!("\n  {}: {}", it.path.display(), it.why)).collect()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::Interrupted(interrupted) = error {
            return interrupted.into();
        }
        let floors = format!(
            "inference-perf needs Python >= {}.{} (llm-d-benchmark >= {}.{}): install one, for instance with your package \
             manager, `pyenv install 3.12` or `uv python install 3.12`",
            FLOOR.0, FLOOR.1, UPSTREAM_FLOOR.0, UPSTREAM_FLOOR.1
        );
        Failure::new(Kind::Usage, error).hint(floors).hint("name one explicitly: --python PATH, or BENCHMARK_PYTHON")
    }
}

/// Where to look, from the environment; tests give folders of their own.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// PATH.
    pub path: std::ffi::OsString,
    /// pyenv's folder, `$PYENV_ROOT` or `~/.pyenv`.
    pub pyenv: Option<PathBuf>,
}

impl Places {
    /// The places of this process.
    pub fn from_environment() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| home.map(|home| home.join(".pyenv")));
        Self { path: std::env::var_os("PATH").unwrap_or_default(), pyenv }
    }
}

/// Finds an interpreter of at least [`FLOOR`]: the one asked for and no other, or the first proven one of PATH, pyenv and
/// uv, or a newer one.
///
/// # Errors
/// With every candidate and why it was not taken.
pub fn find(session: &Session, asked: Option<&Path>, places: &Places) -> Result<Interpreter, Error> {
    if let Some(path) = asked {
        let answer = ask(session, path).and_then(at_least_floor);
        session.check()?;
        return answer.map_err(|why| Error::Asked(Rejected { path: path.to_owned(), why }));
    }
    let mut rejected = Vec::new();
    let mut newer = None;
    let mut seen = HashSet::new();
    let uv = std::iter::once_with(|| from_uv(session, places)).flatten();
    for path in on_path(places).into_iter().chain(from_pyenv(places)).chain(uv) {
        session.check()?;
        if !seen.insert(fs_err::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            continue;
        }
        match ask(session, &path).and_then(at_least_floor) {
            Ok(found) if (found.version.0, found.version.1) <= NEWEST_PROVEN => return Ok(found),
            Ok(found) => newer = newer.or(Some(found)),
            Err(why) => rejected.push(Rejected { path, why }),
        }
    }
    session.check()?;
    newer.ok_or(Error::None(rejected))
}

/// Any interpreter of at least this version that can create environments: enough to install uv with.
pub(super) fn find_any(session: &Session, places: &Places, floor: (u32, u32)) -> Option<Interpreter> {
    on_path(places).into_iter().chain(from_pyenv(places)).find_map(|path| {
        let found = ask(session, &path).ok()?;
        ((found.version.0, found.version.1) >= floor && found.has_venv).then_some(found)
    })
}

fn at_least_floor(found: Interpreter) -> Result<Interpreter, String> {
    let (major, minor, patch) = found.version;
    if (major, minor) >= FLOOR { Ok(found) } else { Err(format!("it is {major}.{minor}.{patch}")) }
}

fn on_path(places: &Places) -> Vec<PathBuf> {
    let names = ["python3.13", "python3.12", "python3"];
    names.iter().flat_map(|name| which::which_in_all(name, Some(&places.path), "/").into_iter().flatten()).collect()
}

/// pyenv's interpreters, newest first.
fn from_pyenv(places: &Places) -> Vec<PathBuf> {
    let Some(versions) = places.pyenv.as_ref().map(|root| root.join("versions")) else { return Vec::new() };
    let Ok(entries) = fs_err::read_dir(versions) else { return Vec::new() };
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let version: Vec<u32> = name.split('.').map_while(|part| part.parse().ok()).collect();
            let program = entry.path().join("bin/python3");
            (!version.is_empty() && program.is_file()).then_some((version, program))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, path)| path).collect()
}

fn from_uv(session: &Session, places: &Places) -> Option<PathBuf> {
    let uv = which::which_in("uv", Some(&places.path), "/").ok()?;
    let answer = Command::new("uv python find", uv)
        .args(["python", "find", "--no-project", &format!(">={}.{}", FLOOR.0, FLOOR.1)])
        .pass("UV_*")
        .timeout(Duration::from_secs(20))
        .capture(4096)
        .run(session)
        .ok()?;
    let path = answer.stdout().trim().to_owned();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

#[derive(Deserialize)]
struct Answer {
    version: (u32, u32, u32),
    implementation: String,
    executable: PathBuf,
    venv: bool,
}

/// Asks one candidate who it is, without letting the user's site or environment have a say.
fn ask(session: &Session, path: &Path) -> Result<Interpreter, String> {
    let answer = Command::new("ask python", path)
        .args(["-I", "-c", QUESTION])
        .pass("PYENV_*")
        .timeout(Duration::from_secs(20))
        .capture(64 << 10)
        .run(session)
        .map_err(|error| {
            let why = match error.reason() {
                Reason::Missing(_) => "it is not there, or not a program".to_owned(),
                Reason::Exit(code) => {
                    let said = error.stderr_tail().lines().next().unwrap_or("nothing").to_owned();
                    format!("it answers with exit code {code}: {said}")
                }
                reason => reason.to_string(),
            };
            why + &logged(error.log())
        })?;
    let text = answer.stdout();
    let line = text.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    let log = answer.log.as_deref();
    let answer: Answer =
        serde_json::from_str(line).map_err(|_| format!("its answer is not what a Python answers{}", logged(log)))?;
    if answer.implementation != "CPython" {
        return Err(format!("it is {}, not CPython", answer.implementation));
    }
    Ok(Interpreter { path: answer.executable, version: answer.version, has_venv: answer.venv })
}

/// Where a candidate's whole answer is.
fn logged(log: Option<&Path>) -> String {
    log.map_or_else(String::new, |log| format!(" (log: {})", log.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Fakes(tempfile::TempDir);

    impl Fakes {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        /// A program that runs this shell script.
        fn add(&self, name: &str, script: &str) -> PathBuf {
            let path = self.0.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        /// An interpreter of this version.
        fn python(&self, name: &str, version: &str) -> PathBuf {
            let path = self.0.path().join(name);
            let version = version.replace('.', ", ");
            self.add(name, &format!(
                r#"echo '{{"version": [{version}], "implementation": "CPython", "executable": "{}", "venv": true}}'"#,
                path.display()
            ))
        }

        fn places(&self) -> Places {
            Places { path: self.0.path().join("bin").into_os_string(), pyenv: Some(self.0.path().join("pyenv")) }
        }
    }

    fn find_in(fakes: &Fakes) -> Result<Interpreter, Error> {
        find(&Session::unrecorded(), None, &fakes.places())
    }

    #[test]
    fn a_shim_that_answers_with_an_error_is_not_an_interpreter() {
        let fakes = Fakes::new();
        fakes.add("bin/python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127");
        let real = fakes.python("pyenv/versions/3.12.1/bin/python3", "3.12.1");
        assert_eq!(find_in(&fakes).unwrap().path, real);
    }

    #[test]
    fn a_version_that_packages_are_built_for_is_preferred_to_a_newer_one() {
        let fakes = Fakes::new();
        fakes.python("bin/python3", "3.15.0");
        let proven = fakes.python("pyenv/versions/3.13.0/bin/python3", "3.13.0");
        assert_eq!(find_in(&fakes).unwrap().path, proven);
        fs_err::remove_dir_all(fakes.0.path().join("pyenv")).unwrap();
        assert_eq!(find_in(&fakes).unwrap().version, (3, 15, 0));
    }

    #[test]
    fn without_any_the_error_lists_what_was_found_and_both_floors() {
        let fakes = Fakes::new();
        fakes.python("bin/python3", "3.11.7");
        fakes.add("bin/python3.12", "exit 3");
        fakes.add("bin/python3.13", "echo hello");
        let error = find_in(&fakes).unwrap_err();
        let text = error.to_string();
        for part in ["python3: it is 3.11.7", "python3.12: it answers with exit code 3", "not what a Python answers"] {
            assert!(text.contains(part), "{text}");
        }
        let failure = Failure::from(error);
        assert_eq!(failure.kind, Kind::Usage);
        assert!(failure.hints[0].contains("3.12") && failure.hints[0].contains("3.11"), "{:?}", failure.hints);
    }

    #[test]
    fn the_interpreter_that_was_asked_for_is_used_or_refused_but_never_replaced() {
        let fakes = Fakes::new();
        fakes.python("bin/python3.12", "3.12.4");
        let old = fakes.python("old", "3.8.0");
        let error = find(&Session::unrecorded(), Some(&old), &fakes.places()).unwrap_err();
        assert!(error.to_string().ends_with("cannot be used: it is 3.8.0"), "{error}");
        let missing = find(&Session::unrecorded(), Some(Path::new("/nowhere/python")), &fakes.places()).unwrap_err();
        assert!(missing.to_string().contains("not there"), "{missing}");
    }

    #[test]
    fn another_implementation_is_refused() {
        let fakes = Fakes::new();
        fakes.add(
            "bin/python3",
            r#"echo '{"version": [3, 12, 1], "implementation": "PyPy", "executable": "/x", "venv": true}'"#,
        );
        assert!(find_in(&fakes).unwrap_err().to_string().contains("it is PyPy"));
    }

    #[test]
    fn uv_is_asked_when_neither_path_nor_pyenv_has_one() {
        let fakes = Fakes::new();
        let managed = fakes.python("managed/python3", "3.12.9");
        fakes.add("bin/uv", &format!("echo {}", managed.display()));
        assert_eq!(find_in(&fakes).unwrap().path, managed);
    }
}
