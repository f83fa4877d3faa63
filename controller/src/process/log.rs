//! A step's log file: the command first, then its output line by line, then how it ended.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fs_err::File;

use super::output::Stream;

/// Output beyond this is counted, not kept: a program that floods its output must not fill the disk.
const LIMIT: u64 = 32 << 20;

/// A log shared by the readers of both streams.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    writer: BufWriter<File>,
    written: u64,
    left_out: u64,
    error: Option<io::Error>,
}

impl Log {
    /// Creates the file, and writes its first line.
    pub(super) fn create(path: PathBuf, command: &str) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder)?;
        }
        let mut writer = BufWriter::new(File::create(&path)?);
        writeln!(writer, "$ {command}")?;
        writer.flush()?;
        let state = State { writer, written: 0, left_out: 0, error: None };
        Ok(Self { path, state: Mutex::new(state) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is room for a line of this many bytes; what does not find room is counted as left out.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let mut state = self.lock();
        let room = state.written < LIMIT;
        if !room {
            state.left_out += bytes as u64 + 1;
        }
        room
    }

    /// Adds a line of output. The first error is kept and ends the log, not the program.
    pub(super) fn line(&self, stream: Stream, text: &str) {
        let mut state = self.lock();
        state.written += text.len() as u64 + 1;
        state.attempt(|writer| writeln!(writer, "{} {text}", stream.mark()));
    }

    /// Makes what was written so far visible to a reader of the file.
    pub(super) fn flush(&self) {
        self.lock().attempt(BufWriter::flush);
    }

    /// Writes how the program ended.
    ///
    /// # Errors
    /// The first error since the log was created.
    pub(super) fn finish(&self, outcome: &str) -> io::Result<()> {
        let mut state = self.lock();
        let left_out = state.left_out;
        if left_out > 0 {
            state.attempt(|writer| writeln!(writer, "= {left_out} more bytes of output left out"));
        }
        state.attempt(|writer| writeln!(writer, "= {outcome}"));
        state.attempt(BufWriter::flush);
        state.error.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.writer).err();
        }
    }
}
