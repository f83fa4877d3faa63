//! One run of inference-perf, from its configuration to what its files prove.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use fs_err::File;
use serde_yaml::Value;

use super::outcome::{Limits, Outcome, judge};
use super::progress::{Follower, Watcher, is_bar};
use super::python::Environment;
use super::workload::Workload;
use crate::failure::{Failure, Kind, Result};
use crate::process::{Command, Redactor, Session, Stream};

/// The name of the configuration in a run's folder.
pub const WORKLOAD_FILE: &str = "workload.yaml";

/// How a run is supervised and judged.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ends the run when nothing has moved for this long.
    pub no_progress: Duration,
    /// What makes the measurement invalid.
    pub limits: Limits,
    /// The Hugging Face token, for tokenizers that are not in a folder.
    pub hf_token: Option<secrecy::SecretString>,
}

/// Runs the workload in `folder`, which must exist and hold no earlier run. Its files stay there: the native ones,
/// `workload.yaml`, `stdout.log` and `stderr.log`.
///
/// # Errors
/// When the harness does not run to its end: missing, crashed, hung, interrupted. What it measured, valid or not, is in
/// the outcome: its exit code is 0 even when every request failed.
pub fn run(
    session: &Session,
    environment: &Environment,
    workload: &Workload,
    folder: &Path,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    fs_err::write(folder.join(WORKLOAD_FILE), workload.to_yaml()?)?;
    let mut command = Command::new("inference-perf", environment.inference_perf())
        .args(["--config_file", WORKLOAD_FILE])
        .folder(folder)
        .env("PYTHONUNBUFFERED", "1")
        .env("PYTHONNOUSERSITE", "1")
        // Rich then draws its progress bar into the pipe, the only place where finished requests are counted.
        .env("TTY_COMPATIBLE", "1")
        .env("TTY_INTERACTIVE", "1")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .transient(is_bar)
        .output_is_no_progress()
        .no_progress(options.no_progress)
        .timeout(longest(workload));
    command = if is_offline(workload) { command.env("HF_HUB_OFFLINE", "1") } else { command.pass("HF_*") };
    if let Some(token) = &options.hf_token {
        command = command.secret_env("HF_TOKEN", token);
    }
    let mut transcript = Transcript::create(folder, session.redactor().clone())?;
    let mut keep = |stream: Stream, text: &str| transcript.line(stream, text);
    let mut follower = Follower::new(workload.plan(), interval(workload), watcher, &mut keep);
    let ended = command.run_observed(session, &mut follower);
    let given_up = follower.failed().to_vec();
    drop(follower);
    let written = transcript.finish();
    let finished = ended.map_err(|error| error.failure(Kind::Measurement).hint(HINT))?;
    written.map_err(|error| Failure::internal(error).hint("the disk may be full"))?;
    Ok(judge(folder, workload, &options.limits, &given_up, finished.elapsed))
}

const HINT: &str = "the folder of the run keeps what there is: its stdout.log, stderr.log and workload.yaml";

/// Whether the tokenizer is a folder here, so that nothing needs the network.
fn is_offline(workload: &Workload) -> bool {
    let name = workload.document().get("tokenizer").and_then(|it| it.get("pretrained_model_name_or_path"));
    name.and_then(Value::as_str).is_some_and(|name| Path::new(name).is_dir())
}

fn interval(workload: &Workload) -> f64 {
    workload.document().get("load").and_then(|load| load.get("interval")).and_then(Value::as_f64).unwrap_or(1.0)
}

/// Far more than a run can take: every stage drained by the request timeout and torn down by force.
fn longest(workload: &Workload) -> Duration {
    const TEARDOWN: f64 = 180.0;
    let request = workload.request_timeout().unwrap_or(3600.0);
    let stage = |seconds: Option<f64>| seconds.unwrap_or(3600.0) + interval(workload) + request + TEARDOWN;
    let seconds: f64 = 600.0 + workload.plan().iter().map(|planned| stage(planned.seconds)).sum::<f64>();
    Duration::from_secs_f64(seconds.clamp(600.0, 30.0 * 86_400.0))
}

/// The harness's own output as evidence: redacted, without progress bars.
struct Transcript {
    redactor: Redactor,
    files: [BufWriter<File>; 2],
    written: [u64; 2],
    error: Option<std::io::Error>,
}

/// Output beyond this is left out: a harness that floods its output must not fill the disk.
const LONGEST_TRANSCRIPT: u64 = 32 << 20;

impl Transcript {
    fn create(folder: &Path, redactor: Redactor) -> Result<Self> {
        let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
        Ok(Self { redactor, files: [create("stdout.log")?, create("stderr.log")?], written: [0; 2], error: None })
    }

    fn line(&mut self, stream: Stream, text: &str) {
        let (file, written) = (&mut self.files[stream as usize], &mut self.written[stream as usize]);
        if self.error.is_some() || *written >= LONGEST_TRANSCRIPT {
            return;
        }
        let text = self.redactor.redact(text);
        *written += text.len() as u64 + 1;
        self.error = writeln!(file, "{text}").err();
        if *written >= LONGEST_TRANSCRIPT && self.error.is_none() {
            self.error = writeln!(file, "= what follows is left out: this is too much").err();
        }
    }

    fn finish(mut self) -> std::io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.files.iter_mut().try_for_each(BufWriter::flush)
    }
}
