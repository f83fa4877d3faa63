//! Opening a per-request file: plain or gzip, told apart by its first bytes.

use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::bufread::MultiGzDecoder;
use fs_err::File;

use crate::native::PER_REQUEST_FILE;

/// Bytes read, or decompressed, at once.
const BLOCK: usize = 256 * 1024;
/// Decompressed blocks that may wait.
const AHEAD: usize = 4;

/// Why a file is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was written.
    #[error("{} is empty", .0.display())]
    Empty(PathBuf),
    /// A symbolic link, folder or device stands where the file should be.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file cannot be opened.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The per-request file of a repetition's folder, if it holds one.
pub fn find(dir: &Path) -> Option<PathBuf> {
    let candidates = [dir.join(PER_REQUEST_FILE), dir.join(format!("{PER_REQUEST_FILE}.gz"))];
    candidates.into_iter().find(|path| path.symlink_metadata().is_ok())
}

/// Opens a per-request file for reading its text.
///
/// Decompression runs in a thread of its own, so that a compressed file is read as fast as it decompresses.
pub fn open(path: &Path) -> Result<Box<dyn Read>, Error> {
    let metadata = fs_err::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(Error::NotAFile(path.to_path_buf()));
    }
    if metadata.len() == 0 {
        return Err(Error::Empty(path.to_path_buf()));
    }
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic)?;
    file.rewind()?;
    if magic == [0x1f, 0x8b] {
        Ok(Box::new(Ahead::start(MultiGzDecoder::new(BufReader::with_capacity(BLOCK, file)))))
    } else {
        Ok(Box::new(file))
    }
}

/// Reads blocks that another thread prepares; the thread ends when this is dropped.
struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    position: usize,
}

impl Ahead {
    fn start(mut reader: impl Read + Send + 'static) -> Self {
        let (sender, blocks) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            loop {
                let mut block = Vec::with_capacity(BLOCK);
                let read = reader.by_ref().take(BLOCK as u64).read_to_end(&mut block);
                let last = block.is_empty() || read.is_err();
                // What was decompressed before an error is still text; the error follows it.
                if !block.is_empty() && sender.send(Ok(block)).is_err() {
                    return;
                }
                if let Err(error) = read {
                    // Nobody listens any more when this fails, and then nobody needs the error.
                    drop(sender.send(Err(error)));
                }
                if last {
                    return;
                }
            }
        });
        Self { blocks, block: Vec::new(), position: 0 }
    }
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position == self.block.len() {
            match self.blocks.recv() {
                Ok(block) => {
                    self.block = block?;
                    self.position = 0;
                }
                Err(_) => return Ok(0),
            }
        }
        let count = out.len().min(self.block.len() - self.position);
        out[..count].copy_from_slice(&self.block[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}
