//! From a work folder to published evidence: redacted, compressed, complete or not there.

use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err::File;

use super::atomic;
use crate::process::Redactor;

/// The harness's record of every request, published compressed: the only file that grows with the load.
pub const PER_REQUEST: &str = reports::native::PER_REQUEST_FILE;

/// The folder in a work folder for what is only needed while the cell runs; it is not published.
pub const SCRATCH: &str = "scratch";

/// How much of a large file is redacted at a time.
const CHUNK: usize = 1 << 20;

/// What was published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Paths relative to the repetition's folder, in order.
    pub files: Vec<PathBuf>,
    /// Their size on disk.
    pub bytes: u64,
}

/// Publishes everything in `work` as `destination`, in one step as far as any reader can tell.
///
/// Text is redacted on its way. [`PER_REQUEST`] is compressed. Left out are [`SCRATCH`], and whatever is not a plain
/// file or folder: a link could lead anywhere.
///
/// # Errors
/// Any error of the file system, and that `destination` exists. Nothing is then published and `work` is as it was.
pub fn publish(work: &Path, destination: &Path, redactor: &Redactor) -> io::Result<Published> {
    atomic::build_folder(destination, |beside| {
        let mut published = Published::default();
        copy_folder(work, beside, Path::new(""), redactor, &mut published)?;
        Ok(published)
    })
}

fn copy_folder(
    from: &Path,
    to: &Path,
    relative: &Path,
    redactor: &Redactor,
    published: &mut Published,
) -> io::Result<()> {
    let mut entries = fs_err::read_dir(from.join(relative))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs_err::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        let name = relative.join(entry.file_name());
        if kind.is_dir() && name != Path::new(SCRATCH) {
            fs_err::create_dir(to.join(&name))?;
            copy_folder(from, to, &name, redactor, published)?;
        } else if kind.is_file() {
            let name = copy_file(&entry.path(), to, &name, redactor)?;
            published.bytes += fs_err::metadata(to.join(&name))?.len();
            published.files.push(name);
        }
    }
    Ok(())
}

/// Copies one file below `to` and returns the relative path it got there.
fn copy_file(from: &Path, to: &Path, name: &Path, redactor: &Redactor) -> io::Result<PathBuf> {
    let source = File::open(from)?;
    if name.file_name().is_some_and(|file| file == PER_REQUEST) {
        let name = name.with_extension("json.gz");
        // The encoder takes a while over each call, however little it is given.
        let encoder = GzEncoder::new(File::create(to.join(&name))?, Compression::default());
        let mut target = BufWriter::with_capacity(CHUNK, encoder);
        redact_stream(source, &mut target, redactor)?;
        target.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.sync_all()?;
        return Ok(name);
    }
    let mut target = BufWriter::new(File::create(to.join(name))?);
    redact_stream(source, &mut target, redactor)?;
    target.flush()?;
    target.get_ref().sync_all()?;
    Ok(name.to_path_buf())
}

/// Copies `source` to `target`, redacting its text piece by piece. Bytes that are not text pass as they are.
fn redact_stream(mut source: impl Read, target: &mut impl Write, redactor: &Redactor) -> io::Result<()> {
    let mut pending = Vec::with_capacity(CHUNK);
    loop {
        let read = source.by_ref().take(CHUNK as u64).read_to_end(&mut pending)?;
        // A piece ends where a line or a JSON value ends, so that no secret is cut in two. A single value larger than
        // the largest piece is held to be no text at all.
        let end = if read == 0 || pending.len() > 16 * CHUNK { pending.len() } else { last_boundary(&pending) };
        match std::str::from_utf8(&pending[..end]) {
            Ok(text) => redact_piece(text, target, redactor)?,
            Err(_) => target.write_all(&pending[..end])?,
        }
        pending.drain(..end);
        if read == 0 {
            return Ok(());
        }
    }
}

/// Redacts line by line, which is many times faster than all at once: most lines are short and hold nothing to look at
/// twice. Only keys in PEM armour span lines.
fn redact_piece(text: &str, target: &mut impl Write, redactor: &Redactor) -> io::Result<()> {
    if text.contains("PRIVATE KEY") {
        return target.write_all(redactor.redact(text).as_bytes());
    }
    for line in text.split_inclusive('\n') {
        target.write_all(redactor.redact(line).as_bytes())?;
    }
    Ok(())
}

/// One past the last end of a line or of a JSON object, 0 when there is none.
fn last_boundary(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'}')).map_or(0, |position| position + 1)
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn unzip(path: &Path) -> String {
        let mut text = String::new();
        flate2::read::GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn evidence_is_published_redacted_and_compressed_without_scratch_and_links() {
        let home = tempfile::tempdir().unwrap();
        let work = home.path().join("work");
        fs_err::create_dir_all(work.join("runtime-metrics/scratch")).unwrap();
        fs_err::create_dir_all(work.join(SCRATCH)).unwrap();
        let latency = "time_to_first_token:\n  mean: 0.05\n\"time_per_output_token\": {\n  \"mean\": 0.01\n}\n";
        fs_err::write(work.join("a.yaml"), latency).unwrap();
        fs_err::write(work.join("config.yaml"), "server:\n  api_key: planted-value\n").unwrap();
        fs_err::write(work.join(PER_REQUEST), "[{\"n\": 1}, {\"n\": 2}]").unwrap();
        fs_err::write(work.join("runtime-metrics/scratch/kept.jsonl"), "{}\n").unwrap();
        fs_err::write(work.join(SCRATCH).join("tokenizer.json"), "{}").unwrap();
        fs_err::write(work.join("blob"), [0xff, 0xfe, b'\n', 0x00]).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", work.join("link")).unwrap();
        let destination = home.path().join("runs/service/repetition-1");
        let redactor = Redactor::new();
        redactor.add(&SecretString::from("planted-value"));
        let published = publish(&work, &destination, &redactor).unwrap();
        let files: Vec<_> = published.files.iter().map(|file| file.to_string_lossy()).collect();
        assert_eq!(
            files,
            [
                "a.yaml",
                "blob",
                "config.yaml",
                "per_request_lifecycle_metrics.json.gz",
                "runtime-metrics/scratch/kept.jsonl"
            ]
        );
        assert_eq!(fs_err::read_to_string(destination.join("a.yaml")).unwrap(), latency, "numbers are left alone");
        let config = fs_err::read_to_string(destination.join("config.yaml")).unwrap();
        assert!(!config.contains("planted") && config.contains("redacted"), "{config}");
        assert_eq!(unzip(&destination.join("per_request_lifecycle_metrics.json.gz")), "[{\"n\": 1}, {\"n\": 2}]");
        assert_eq!(fs_err::read(destination.join("blob")).unwrap(), [0xff, 0xfe, b'\n', 0x00]);
        assert!(work.join(PER_REQUEST).exists(), "the work folder is left as it was");
    }

    #[test]
    fn a_secret_on_the_seam_of_two_pieces_is_found() {
        let redactor = Redactor::new();
        redactor.add(&SecretString::from("planted-value"));
        let record = "{\"error\": \"sent planted-value\"}, ";
        let text = record.repeat(3 * CHUNK / record.len());
        let mut out = Vec::new();
        redact_stream(text.as_bytes(), &mut out, &redactor).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains("planted"));
        assert_eq!(out.matches("error").count(), text.matches("error").count());
    }

    #[test]
    fn a_repetition_that_is_published_is_not_published_again() {
        let home = tempfile::tempdir().unwrap();
        let (work, destination) = (home.path().join("work"), home.path().join("repetition-1"));
        fs_err::create_dir_all(&work).unwrap();
        fs_err::write(work.join("a"), "first").unwrap();
        publish(&work, &destination, &Redactor::new()).unwrap();
        fs_err::write(work.join("a"), "second").unwrap();
        assert!(publish(&work, &destination, &Redactor::new()).is_err());
        assert_eq!(fs_err::read_to_string(destination.join("a")).unwrap(), "first");
    }
}
