//! The fault matrix: every external step × everything that can happen to it.

mod campaign;
mod cluster;
mod coverage;
mod git;
mod gke;
mod setups;
mod table;
mod testbed;
mod tools;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use e2e::faults::Fault;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

/// Every row with every fault.
fn all<T>(rows: &[T]) -> Vec<(&T, Fault)> {
    rows.iter().flat_map(|row| Fault::ALL.map(|fault| (row, fault))).collect()
}

/// Each row with one fault, another one than its neighbour's; `FAULTS_ALL=1` gives every cell.
fn short_form<T>(rows: &[T]) -> Vec<(&T, Fault)> {
    let every = std::env::var_os("FAULTS_ALL").is_some();
    let count = Fault::ALL.len();
    all(rows)
        .into_iter()
        .enumerate()
        .filter(|(cell, _)| every || (cell / count) % count == cell % count)
        .map(|(_, cell)| cell)
        .collect()
}

/// Plays all cells, some at a time, and tells all that failed at once.
fn matrix<T: Sync>(
    what: &str,
    cells: &[(&T, Fault)],
    name: impl Fn(&T) -> String + Sync,
    play: impl Fn(&T, Fault) -> bool + Sync,
) {
    let (next, told) = (Mutex::new(cells.iter()), Mutex::new((0, 0, Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((row, fault)) = next.lock().expect("a queue").next() else { break };
                    let played = catch_unwind(AssertUnwindSafe(|| play(row, *fault)));
                    let mut told = told.lock().expect("a record");
                    match played {
                        Ok(true) => told.0 += 1,
                        Ok(false) => told.1 += 1,
                        Err(panic) => {
                            let said = panic.downcast_ref::<String>().cloned();
                            told.2.push(format!("{} × {fault:?}: {}", name(row), said.unwrap_or_default()));
                        }
                    }
                }
            });
        }
    });
    let (held, cannot, failed) = told.into_inner().expect("a record");
    eprintln!("{what}: {} cells: {held} hold, {cannot} cannot be, {} fail", cells.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Presses Ctrl-C.
fn interrupt(child: &std::process::Child) {
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a process id")), Signal::SIGINT).expect("a signal");
}

/// Everything below a folder, as one hash.
fn digest(folder: &Path) -> String {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        hash.update(file.strip_prefix(folder).expect("a file below it").to_string_lossy().as_bytes());
        hash.update(fs_err::read(file).expect("a file"));
    }
    format!("{} files, {:x?}", files.len(), hash.finalize())
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs_err::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

fn copy(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).expect("a folder");
    for entry in fs_err::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs_err::copy(entry.path(), target).expect("a copy");
        }
    }
}
