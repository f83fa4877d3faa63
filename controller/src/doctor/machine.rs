//! The machine itself: Python, folders, disk, limits, processors, ports.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};

use super::{Finding, Subject};
use crate::harness::python::{self, Readiness};

/// A campaign's evidence; the largest profiles write a few GB.
const RESULTS_BYTES: f64 = 2e9;
/// A thousand streams, each with a connection at client, router and server, and room for the rest.
const OPEN_FILES: u64 = 4096;

/// The harness's interpreter, or what brings one.
pub(super) fn python(subject: &Subject<'_>) -> Vec<Finding> {
    const NAME: &str = "python";
    vec![match python::readiness(subject.session, &subject.python) {
        Ok(Readiness::Ready(record)) => Finding::good(
            NAME,
            format!("inference-perf {} on Python {} is installed and runs", record.inference_perf, record.python),
        ),
        Ok(Readiness::Interpreter(interpreter)) => Finding::good(
            NAME,
            format!("{interpreter}; the first run installs inference-perf {} (about 90 s)", subject.python.version),
        ),
        Ok(Readiness::Uv(why)) => Finding::warning(
            NAME,
            format!("{why}; the first run lets uv bring one, which needs the network"),
            "install Python >= 3.12, or name one with --python",
        ),
        Err(failure) => Finding::failed(NAME, &failure),
    }]
}

/// The interpreter of llm-d-benchmark; the harness itself runs in the cluster.
pub(super) fn interpreter(subject: &Subject<'_>) -> Vec<Finding> {
    const NAME: &str = "python";
    vec![match python::readiness(subject.session, &subject.python) {
        Ok(Readiness::Ready(record)) => Finding::good(NAME, format!("Python {}", record.python)),
        Ok(Readiness::Interpreter(interpreter)) => {
            Finding::good(NAME, format!("{interpreter}; the first run installs llm-d-benchmark (some minutes)"))
        }
        Ok(Readiness::Uv(why)) => Finding::warning(
            NAME,
            format!("{why}; the first run lets uv bring one, which needs the network"),
            "install Python >= 3.12, or name one with --python",
        ),
        Err(failure) => Finding::failed(NAME, &failure),
    }]
}

/// The folders that are written to.
pub(super) fn folders(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, fix) in [
        (&subject.settings.results_dir, "give a folder that can be written: --results-dir DIR"),
        (&subject.python.cache, "set XDG_CACHE_HOME to a folder that can be written"),
    ] {
        let shown = folder.display();
        findings.push(match writable(folder) {
            Ok(()) => Finding::good("folder", format!("{shown} can be written")),
            Err(error) => Finding::problem("folder", format!("{shown} cannot be written: {error}"), fix),
        });
    }
    findings
}

/// Room for evidence. What the Python environment needs is checked when it is made.
pub(super) fn disk(subject: &Subject<'_>) -> Vec<Finding> {
    let folder = existing(&subject.settings.results_dir);
    let Ok(statistics) = nix::sys::statvfs::statvfs(&folder) else { return Vec::new() };
    let free = statistics.blocks_available() as f64 * statistics.fragment_size() as f64;
    let detail = format!("{:.1} GB are free for {}", free / 1e9, subject.settings.results_dir.display());
    let fix = "make room, or give a folder on another disk: --results-dir DIR";
    vec![match free {
        free if free < RESULTS_BYTES / 10.0 => Finding::problem("disk", detail, fix),
        free if free < RESULTS_BYTES => Finding::warning("disk", detail, fix),
        _ => Finding::good("disk", detail),
    }]
}

/// Open files of one process.
pub(super) fn files(_subject: &Subject<'_>) -> Vec<Finding> {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Vec::new() };
    let detail = format!("{soft} files may be open");
    vec![if soft >= OPEN_FILES {
        Finding::good("open files", detail)
    } else {
        let fix = format!("have the hard limit raised, {hard} today: ulimit -Hn {OPEN_FILES}");
        Finding::warning("open files", format!("{detail}; a thousand streams need about {OPEN_FILES}"), fix)
    }]
}

/// Processors: servers, router and client run side by side here.
pub(super) fn processors(_subject: &Subject<'_>) -> Vec<Finding> {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    vec![if count >= 2 {
        Finding::good("processors", format!("{count} processors"))
    } else {
        let detail = "one processor for servers, router and client: the client's own work colours latencies";
        Finding::warning("processors", detail, "use a machine with two or more, and read schedule delays")
    }]
}

/// Free loopback ports for every server, the router and its metrics.
pub(super) fn ports(subject: &Subject<'_>) -> Vec<Finding> {
    let wanted = subject.settings.testbed.servers as usize + 2;
    let listeners: Result<Vec<TcpListener>, std::io::Error> =
        (0..wanted).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect();
    vec![match listeners {
        Ok(_) => Finding::good("ports", format!("{wanted} loopback ports are free")),
        Err(error) => Finding::problem(
            "ports",
            format!("{wanted} loopback ports are needed, but: {error}"),
            "end programs that hold many ports, widen net.ipv4.ip_local_port_range, or use fewer testbed.servers",
        ),
    }]
}

/// Tries to make a file where the folder is or would be.
fn writable(folder: &Path) -> std::io::Result<()> {
    let existing = existing(folder);
    if !existing.is_dir() {
        return Err(std::io::Error::other(format!("{} is not a folder", existing.display())));
    }
    tempfile::tempfile_in(&existing).map(drop)
}

/// The nearest folder above that exists.
fn existing(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let found = absolute.ancestors().find(|ancestor| ancestor.exists());
    found.map_or_else(|| PathBuf::from("/"), Path::to_path_buf)
}
