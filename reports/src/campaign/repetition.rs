//! One repetition's evidence: a document a stage, checked against each other and against the native files beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Error, Repetition, agreement, layout};
use crate::benchmark_report::{self, Version};
use crate::model::{Stack, Stage};
use crate::native::{Config, StageFile, stage_file_name};

/// A repetition with the stack that its documents describe.
pub(super) struct Read {
    pub repetition: Repetition,
    pub stack: Stack,
}

/// Reads the documents of a repetition's folder.
pub(super) fn read(
    dir: &Path,
    treatment: &str,
    number: u32,
    warm_up: &[u32],
    warnings: &mut Vec<String>,
) -> Result<Read, Error> {
    let nothing = || Error::NoEvidence { treatment: treatment.into(), repetition: number, dir: dir.into() };
    if let Err(error) = fs_err::symlink_metadata(dir) {
        return Err(if error.kind() == std::io::ErrorKind::NotFound { nothing() } else { error.into() });
    }
    layout::must_be_folder(dir)?;
    let documents = documents(dir)?;
    if documents.is_empty() {
        return Err(nothing());
    }
    let mut stages = Vec::new();
    let mut stack: Option<Stack> = None;
    for (stage_number, versions) in documents {
        let mut report = newest(dir, stage_number, versions)?;
        for key in report.unknown_keys {
            let place = format!("{treatment}, repetition {number}, stage {stage_number}");
            warnings.push(format!("{place}: unknown key {key} ignored"));
        }
        report.stage.warm_up |= warm_up.contains(&stage_number);
        complete_from_native(dir, &mut report.stage)?;
        stages.push(report.stage);
        match &stack {
            None => stack = Some(report.stack),
            Some(first) => {
                let found = agreement::between_components(first, &report.stack);
                if !found.is_empty() {
                    let what = format!("stage {stage_number} names another stack: {}", agreement::list(&found));
                    return Err(Error::Incomplete { dir: dir.into(), what });
                }
            }
        }
    }
    check_ladder(dir, &stages)?;
    Ok(Read { repetition: Repetition { number, dir: dir.into(), stages }, stack: stack.unwrap_or_default() })
}

/// Documents by stage and version; names alone decide.
fn documents(dir: &Path) -> Result<BTreeMap<u32, BTreeMap<Version, PathBuf>>, Error> {
    let mut found: BTreeMap<u32, BTreeMap<Version, PathBuf>> = BTreeMap::new();
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let Some((version, stage)) = entry.file_name().to_str().and_then(benchmark_report::parse_file_name) else {
            continue;
        };
        if let Some(other) = found.entry(stage).or_default().insert(version, entry.path()) {
            let (one, two) = (other.display(), entry.path());
            let what = format!("stage {stage} has two documents: {one} and {}", two.display());
            return Err(Error::Incomplete { dir: dir.into(), what });
        }
    }
    Ok(found)
}

/// The same stage in two versions is one stage: the newer one counts, and both must tell the same requests.
fn newest(dir: &Path, stage: u32, versions: BTreeMap<Version, PathBuf>) -> Result<benchmark_report::Report, Error> {
    let mut reports = Vec::new();
    for path in versions.values() {
        reports.push(benchmark_report::read(path, stage)?);
    }
    let counts = |report: &benchmark_report::Report| (report.stage.requests.total, report.stage.requests.failures);
    if reports.windows(2).any(|pair| counts(&pair[0]) != counts(&pair[1])) {
        let what = format!("stage {stage}: its v0.2 and v0.2.1 documents count different requests");
        return Err(Error::Incomplete { dir: dir.into(), what });
    }
    reports.pop().ok_or_else(|| Error::Incomplete { dir: dir.into(), what: format!("stage {stage} has no document") })
}

/// Takes from the native file what the format has no place for, where it lies beside the document.
fn complete_from_native(dir: &Path, stage: &mut Stage) -> Result<(), Error> {
    let path = dir.join(stage_file_name(stage.number));
    let known = stage.load.achieved_rate.is_some() && stage.throughput.seconds.is_some();
    if known || !fs_err::exists(&path)? {
        return Ok(());
    }
    let native = StageFile::read(&path, stage.number)?.stage;
    if native.requests.total != stage.requests.total {
        let (here, there) = (stage.requests.total, native.requests.total);
        let what = format!("stage {}: the document counts {here} requests, the native file {there}", stage.number);
        return Err(Error::Incomplete { dir: dir.into(), what });
    }
    stage.load.achieved_rate = stage.load.achieved_rate.or(native.load.achieved_rate);
    stage.load.send_seconds = stage.load.send_seconds.or(native.load.send_seconds);
    stage.load.schedule_delay = stage.load.schedule_delay.or(native.load.schedule_delay);
    stage.throughput.seconds = stage.throughput.seconds.or(native.throughput.seconds);
    if stage.requests.failures_by_label.is_empty() {
        stage.requests.failures_by_label = native.requests.failures_by_label;
    }
    Ok(())
}

/// A run that was interrupted leaves fewer stages than its configuration planned.
fn check_ladder(dir: &Path, stages: &[Stage]) -> Result<(), Error> {
    let incomplete = |what: String| Err(Error::Incomplete { dir: dir.into(), what });
    if let Some(stage) = stages.iter().find(|stage| stage.level().is_none()) {
        return incomplete(format!("stage {} names neither a requested rate nor a concurrency", stage.number));
    }
    let planned = Config::read(dir)?.and_then(|config| config.planned_stages());
    match planned {
        Some(planned) if stages.len() < planned => {
            incomplete(format!("{} of {planned} planned stages have a document", stages.len()))
        }
        _ => Ok(()),
    }
}
