//! Samples the testbed's own metrics while a load runs.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fs_err::File;
use jiff::Timestamp;
use serde::Serialize;

use super::super::http;

/// The folder in a repetition's evidence that holds samples.
pub(super) const FOLDER: &str = "runtime-metrics";

/// How long a scrape may take: longer than any pause that a busy machine causes.
const DEADLINE: Duration = Duration::from_secs(5);

/// Where a sample comes from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// `router`, `server-1`, …
    pub(super) name: String,
    /// Its metrics page.
    pub(super) url: String,
}

/// One line of `samples.jsonl`.
#[derive(Debug, Serialize)]
struct Sample<'a> {
    at: Timestamp,
    /// Seconds since sampling began, by a monotonic clock.
    elapsed_seconds: f64,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, f64>,
}

/// A thread that samples; ended by [`Sampler::finish`], or when dropped.
#[derive(Debug)]
pub(super) struct Sampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    sources: Vec<Source>,
    folder: PathBuf,
}

impl Sampler {
    /// Samples `sources` every `interval` into `<evidence>/runtime-metrics/samples.jsonl`, the first time at once.
    ///
    /// # Errors
    /// When the file or the thread cannot be created.
    pub(super) fn start(sources: Vec<Source>, interval: Duration, evidence: &Path) -> io::Result<Self> {
        let folder = evidence.join(FOLDER);
        fs_err::create_dir_all(&folder)?;
        let file = File::create(folder.join("samples.jsonl"))?;
        let (stop, stopped) = channel::<()>();
        let sampled = sources.clone();
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(move || {
            let began = Instant::now();
            let mut out = BufWriter::new(file);
            for sample in 0_u32.. {
                for source in &sampled {
                    write_sample(&mut out, source, began)?;
                }
                out.flush()?;
                // Absolute deadlines: a slow scrape does not shift the ones after it.
                let next = began + interval * (sample + 1);
                match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => break,
                }
            }
            Ok(())
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread), sources, folder })
    }

    /// Stops, and keeps each source's whole page as it is at the end as `<source>.prom`; returns the pages.
    ///
    /// # Errors
    /// The first error of sampling or of a last page.
    pub(super) fn finish(mut self) -> io::Result<BTreeMap<String, String>> {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| io::Error::other("the thread that samples metrics panicked"))??;
        }
        let mut pages = BTreeMap::new();
        for source in &self.sources {
            let page = http::get(&source.url, DEADLINE)?.success()?;
            fs_err::write(self.folder.join(format!("{}.prom", source.name)), &page)?;
            pages.insert(source.name.clone(), page);
        }
        Ok(pages)
    }

    fn stop(&mut self) {
        drop(self.stop.take());
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn write_sample(out: &mut impl Write, source: &Source, began: Instant) -> io::Result<()> {
    let at = Timestamp::now();
    let elapsed_seconds = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    let (metrics, error) = match http::get(&source.url, DEADLINE).and_then(http::Answer::success) {
        Ok(page) => (values(&page), None),
        Err(error) => (BTreeMap::new(), Some(error.to_string())),
    };
    serde_json::to_writer(&mut *out, &Sample { at, elapsed_seconds, source: &source.name, error, metrics })?;
    out.write_all(b"\n")
}

/// The series of a Prometheus page and their values; histograms' buckets are left out.
pub(super) fn values(page: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        if series.split('{').next().is_some_and(|name| name.ends_with("_bucket")) {
            continue;
        }
        if let Some(value) = value.parse().ok().filter(|value: &f64| value.is_finite()) {
            values.insert(series.trim().to_owned(), value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_without_its_comments_and_buckets() {
        let page = "# TYPE vllm:num_requests_running gauge\n\
                    vllm:num_requests_running{model_name=\"a b\"} 3\n\
                    vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 7\n\
                    vllm:time_to_first_token_seconds_sum 1.5\n\
                    vllm:kv_cache_usage_perc NaN\n\
                    garbage\n";
        let values: Vec<_> = values(page).into_iter().collect();
        assert_eq!(
            values,
            [
                ("vllm:num_requests_running{model_name=\"a b\"}".to_owned(), 3.0),
                ("vllm:time_to_first_token_seconds_sum".to_owned(), 1.5),
            ]
        );
    }

    #[test]
    fn a_source_that_does_not_answer_is_recorded_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let source = Source { name: "server-1".into(), url: "http://127.0.0.1:1/metrics".into() };
        let sampler = Sampler::start(vec![source], Duration::from_secs(3600), folder.path()).unwrap();
        assert!(sampler.finish().is_err());
        let text = fs_err::read_to_string(folder.path().join(FOLDER).join("samples.jsonl")).unwrap();
        let sample: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(sample["source"], "server-1");
        assert!(sample["error"].as_str().unwrap().contains("GET http://127.0.0.1:1/metrics"), "{sample}");
        assert!(sample.get("metrics").is_none());
    }
}
