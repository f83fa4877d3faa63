//! The pod that samples metrics during a load, and bringing home what it sampled.

use std::io::Read;
use std::path::{Component, Path};
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_yaml::{Mapping, Value};

use super::cell::Up;
use crate::campaign::identity::sha256;
use crate::cluster::{Seen, object};
use crate::evidence::runtime_metrics;
use crate::failure::{Failure, Kind, Result};
use crate::lifecycle::{Event, Observer};
use crate::render::COLLECTOR;
use crate::settings::Resolved;

const REQUEST: Duration = Duration::from_secs(60);
/// A small image, pulled once a node.
const READY: Duration = Duration::from_secs(300);
/// Some hundred MB through the API server.
const TRANSFER: Duration = Duration::from_secs(900);
/// Transfers that break off are common, and cheap to repeat.
const ATTEMPTS: u32 = 3;
/// The largest archive, packed.
const LARGEST: usize = 1 << 30;

/// A pod that samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collector;

/// Starts sampling.
///
/// # Errors
/// Why nothing is sampled; a load runs all the same.
pub(super) fn start(up: &Up<'_>, observer: &dyn Observer) -> Result<Collector> {
    if !up.resolved.settings.metrics.runtime {
        return Err(Failure::usage("metrics.runtime is off"));
    }
    observer.notify(Event::Preparing { what: "starting the metrics collector".to_owned() });
    up.execute(&up.steps().collector(), REQUEST)?;
    let namespace = format!("--namespace={}", up.namespace);
    up.kubectl.wait("the metrics collector", READY, |kubectl| {
        Ok(match kubectl.find(&["pod", COLLECTOR, &namespace])? {
            Some(pod) if object::pod_ready(&pod) => Seen::Done(()),
            Some(pod) => Seen::NotYet(object::pod_trouble(&pod)),
            None => Seen::NotYet("no pod".to_owned()),
        })
    })?;
    Ok(Collector)
}

impl Collector {
    /// Brings home samples, last pages and pod logs.
    ///
    /// # Errors
    /// When no transfer arrived whole.
    pub(super) fn finish(self, up: &Up<'_>) -> Result<()> {
        let session = up.kubectl.session().without_logs();
        let mut last = Failure::measurement("nothing was transferred");
        for _ in 0..ATTEMPTS {
            session.check()?;
            // An archive is no text: it is captured, and kept out of every log.
            let command = up.command(&up.steps().fetch_samples(), TRANSFER).capture(LARGEST);
            let arrived = command
                .run(&session)
                .map_err(|error| error.failure(Kind::Measurement))
                .and_then(|finished| unpack(finished.stdout_bytes(), &up.work.join(runtime_metrics::FOLDER)));
            match arrived {
                Ok(()) => return Ok(()),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }
}

/// What the manifest records of sampling.
pub(super) fn record(resolved: &Resolved, collected: bool) -> Value {
    let metrics = &resolved.settings.metrics;
    let mut record = Mapping::new();
    record.insert("enabled".into(), metrics.runtime.into());
    record.insert("interval_seconds".into(), metrics.interval.into());
    if metrics.runtime {
        record.insert("collected".into(), collected.into());
    }
    Value::Mapping(record)
}

/// Checks an archive against the length and hash that precede it, and unpacks the files it may hold.
fn unpack(transferred: &[u8], folder: &Path) -> Result<()> {
    let broken = |what: &str| Failure::measurement(format!("the collector's archive did not arrive whole: {what}"));
    let end = transferred.iter().position(|byte| *byte == b'\n').ok_or_else(|| broken("it has no first line"))?;
    let head = std::str::from_utf8(&transferred[..end]).map_err(|_| broken("its first line is no text"))?;
    let (length, digest) = head.split_once(' ').ok_or_else(|| broken("its first line is another one"))?;
    let length: usize = length.parse().map_err(|_| broken("its first line names no length"))?;
    let content = &transferred[end + 1..];
    if content.len() != length {
        return Err(broken(&format!("{} of {length} bytes", content.len())));
    }
    if sha256(content) != digest {
        return Err(broken("its SHA-256 is another one"));
    }
    let mut archive = tar::Archive::new(GzDecoder::new(content));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        // Nothing but plain files below the folder: what comes from elsewhere decides neither where nor what.
        let plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || !entry.header().entry_type().is_file() {
            continue;
        }
        let path = folder.join(&name);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        fs_err::write(path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            // Written as given: the safe way refuses the names that this test is about.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(tar::EntryType::Regular);
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        let content = builder.into_inner().unwrap().finish().unwrap();
        let mut all = format!("{} {}\n", content.len(), sha256(&content)).into_bytes();
        all.write_all(&content).unwrap();
        all
    }

    #[test]
    fn a_whole_archive_is_unpacked_and_nothing_leaves_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("runtime-metrics");
        let sent = archive(&[("samples.jsonl", "{}\n"), ("pod-logs/a-vllm.log", "ready"), ("../outside", "x")]);
        unpack(&sent, &folder).unwrap();
        assert_eq!(fs_err::read_to_string(folder.join("samples.jsonl")).unwrap(), "{}\n");
        assert_eq!(fs_err::read_to_string(folder.join("pod-logs/a-vllm.log")).unwrap(), "ready");
        assert!(!home.path().join("outside").exists());
    }

    #[test]
    fn an_archive_that_broke_off_or_was_changed_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let sent = archive(&[("samples.jsonl", "{}\n")]);
        let mut changed = sent.clone();
        *changed.last_mut().unwrap() ^= 1;
        for (bytes, reason) in [
            (&sent[..sent.len() - 1], "bytes"),
            (&changed[..], "SHA-256"),
            (&b""[..], "no first line"),
            (&b"<html>\n"[..], "another one"),
            (&b"x y\n"[..], "no length"),
        ] {
            let failure = unpack(bytes, &home.path().join("m")).unwrap_err();
            assert!(failure.to_string().contains(reason), "{failure}");
        }
        assert!(!home.path().join("m").exists());
    }
}
