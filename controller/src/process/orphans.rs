//! Children that outlived us: found after a crash by what we noted about them, and ended.
//!
//! A running child is noted in a small file before it starts, and carries the note's name in its environment. Once the
//! noting process is gone, whatever still carries the name is an orphan. A process id alone is never trusted, since ids
//! are used again: on Linux the environment decides, elsewhere the time at which the process was started.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::session::Session;

/// The environment variable that children carry.
const VARIABLE: &str = "BENCHMARK_CHILD";

/// A program that runs although whoever started it is gone.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// What it was run for.
    pub step: String,
    /// Its command line.
    pub command: String,
    /// Its processes.
    pub pids: Vec<i32>,
    note: PathBuf,
    content: Note,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Note {
    token: String,
    step: String,
    command: String,
    owner: Identity,
    #[serde(default)]
    child: Option<Identity>,
}

/// A process that is not mistaken for a later one with the same id.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Its process id.
    pub pid: i32,
    /// When it was started, as the system tells it; comparable on one machine only.
    pub started: String,
}

impl Identity {
    /// The running process of this id; `None` when there is none.
    pub fn of(pid: i32) -> Option<Self> {
        started(pid).map(|started| Self { pid, started })
    }

    /// This process.
    ///
    /// # Errors
    /// When the system does not tell when it was started.
    pub fn own() -> io::Result<Self> {
        let pid = std::process::id();
        i32::try_from(pid)
            .ok()
            .and_then(Self::of)
            .ok_or_else(|| io::Error::other(format!("the system does not tell when process {pid} was started")))
    }

    /// Whether this very process is still running.
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }
}

/// The note about one running child.
#[derive(Debug)]
pub(super) struct Running {
    path: PathBuf,
    note: Note,
}

impl Running {
    /// Notes that a child is about to be started; nothing when the session has no place for notes.
    pub(super) fn note(session: &Session, step: &str, command: &str) -> io::Result<Option<Self>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Some(folder) = session.running() else { return Ok(None) };
        let owner = Identity::own()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let started: String = owner.started.chars().filter(char::is_ascii_alphanumeric).collect();
        let token = format!("{}-{started}-{number}", owner.pid);
        let note = Note { token, step: step.to_owned(), command: command.to_owned(), owner, child: None };
        let running = Self { path: folder.join(format!("{}.json", note.token)), note };
        fs_err::create_dir_all(folder)?;
        running.write()?;
        Ok(Some(running))
    }

    /// Adds the child's id. Without it, as after a crash in between, the token in its environment still finds it.
    pub(super) fn started(&self, pid: u32) {
        let child = i32::try_from(pid).ok().and_then(Identity::of);
        let completed = Self { path: self.path.clone(), note: Note { child, ..self.note.clone() } };
        completed.write().unwrap_or_default();
    }

    /// The variable that the child must carry.
    pub(super) fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.note.token.clone().into())
    }

    /// Removes the note; one that stays names processes that are gone, and is removed by the next [`end_all`].
    pub(super) fn forget(&self) {
        fs_err::remove_file(&self.path).unwrap_or_default();
    }

    fn write(&self) -> io::Result<()> {
        fs_err::write(&self.path, serde_json::to_vec(&self.note)?)
    }
}

/// Finds what runs on although its owner is gone, by the notes in this folder.
///
/// # Errors
/// When the folder is there but cannot be read.
pub fn find(running: &Path) -> io::Result<Vec<Orphan>> {
    Ok(abandoned(running)?.into_iter().filter(|orphan| !orphan.pids.is_empty()).collect())
}

/// Ends everything that [`find`] finds and clears its notes away. Returns what was ended.
///
/// # Errors
/// When a process does not end even when it is killed, or a note cannot be removed.
pub fn end_all(running: &Path, grace: Duration) -> io::Result<Vec<Orphan>> {
    let mut ended = Vec::new();
    for orphan in abandoned(running)? {
        orphan.end(grace)?;
        fs_err::remove_file(&orphan.note)?;
        if !orphan.pids.is_empty() {
            ended.push(orphan);
        }
    }
    Ok(ended)
}

impl Orphan {
    fn end(&self, grace: Duration) -> io::Result<()> {
        self.signal(Signal::SIGTERM);
        if self.gone_within(grace) {
            return Ok(());
        }
        self.signal(Signal::SIGKILL);
        if self.gone_within(Duration::from_secs(5)) {
            return Ok(());
        }
        Err(io::Error::other(format!("{} (process {:?}) does not end", self.step, self.content.pids())))
    }

    fn signal(&self, signal: Signal) {
        for pid in self.content.pids() {
            // It may have ended since it was listed.
            kill(Pid::from_raw(pid), signal).unwrap_or_default();
        }
    }

    fn gone_within(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            if self.content.pids().is_empty() {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// All notes whose owner is gone, whether or not anything still runs.
fn abandoned(running: &Path) -> io::Result<Vec<Orphan>> {
    let mut orphans = Vec::new();
    let entries = match fs_err::read_dir(running) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(orphans),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        // A note that is being written or removed right now belongs to someone who is alive.
        let Some(note) = fs_err::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok()) else {
            continue;
        };
        if !note.owner.is_alive() {
            let pids = note.pids();
            orphans.push(Orphan {
                step: note.step.clone(),
                command: note.command.clone(),
                pids,
                note: path,
                content: note,
            });
        }
    }
    Ok(orphans)
}

impl Note {
    /// The processes of this note that are running now.
    fn pids(&self) -> Vec<i32> {
        let mut pids = carriers(&self.token);
        if let Some(child) = self.child.as_ref().filter(|child| child.is_alive() && !pids.contains(&child.pid)) {
            pids.push(child.pid);
        }
        pids
    }
}

/// The running processes that carry this token in their environment.
#[cfg(target_os = "linux")]
fn carriers(token: &str) -> Vec<i32> {
    let wanted = format!("{VARIABLE}={token}");
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
        })
        .filter(|pid| started(*pid).is_some())
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn carriers(_token: &str) -> Vec<i32> {
    Vec::new()
}

/// When a process was started: boot and clock ticks since. `None` for a process that has ended, even if not yet reaped.
#[cfg(target_os = "linux")]
fn started(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may hold blanks and parentheses itself.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    (!matches!(state, "Z" | "X")).then(|| format!("{}/{ticks}", boot.trim()))
}

#[cfg(not(target_os = "linux"))]
fn started(pid: i32) -> Option<String> {
    let pid = pid.to_string();
    let command = super::Command::new("ps", "ps").args(["-o", "lstart=", "-p", &pid]).capture(4096);
    let answer = command.run(&Session::unrecorded()).ok()?;
    let text = answer.stdout().trim().to_owned();
    (!text.is_empty()).then_some(text)
}
