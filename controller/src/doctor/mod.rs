//! Looks at the machine before anything is started: every problem at once, each with its fix.
//!
//! A check is a function from the [`Subject`] to a [`Finding`]; which checks there are depends on where treatments run.
//! The same checks serve `doctor` and the start of a campaign.

mod cluster;
mod machine;
mod tools;

use std::path::PathBuf;

use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::harness::python;
use crate::process::Session;
use crate::settings::{Place, Settings};

/// What is examined.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The settings of the campaign that is to run.
    pub settings: &'a Settings,
    /// Where its treatments run.
    pub place: Place,
    /// How programs are run.
    pub session: &'a Session,
    /// Which Python environment the harness needs.
    pub python: python::Request,
    /// Where the llm-d-benchmark checkout is kept.
    pub upstream_cache: PathBuf,
    /// Where programs are looked for, instead of our own PATH.
    pub path: Option<std::ffi::OsString>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at: `python`, `disk`, `kubectl`, …
    pub check: String,
    /// How it is.
    pub level: Level,
    /// What was seen.
    pub detail: String,
    /// What to do about it; empty when nothing is to be done.
    pub fixes: Vec<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be.
    Good,
    /// It will run, with a drawback.
    Warning,
    /// It will not run.
    Problem,
}

impl Finding {
    /// All is well.
    pub fn good(check: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { check: check.into(), level: Level::Good, detail: detail.into(), fixes: Vec::new() }
    }

    /// It will run, with a drawback.
    pub fn warning(check: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), level: Level::Warning, detail: detail.into(), fixes: vec![fix.into()] }
    }

    /// It will not run.
    pub fn problem(check: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), level: Level::Problem, detail: detail.into(), fixes: vec![fix.into()] }
    }

    /// A failure as a finding, with its hints as fixes.
    pub fn failed(check: impl Into<String>, failure: &Failure) -> Self {
        let detail = failure.to_string();
        Self { check: check.into(), level: Level::Problem, detail, fixes: failure.hints.clone() }
    }
}

/// A check. It must not change anything.
pub type Check = fn(&Subject<'_>) -> Vec<Finding>;

/// The checks for treatments that run in this kind of place, in the order of the report.
pub fn checks(place: Place) -> Vec<Check> {
    let mut checks: Vec<Check> = vec![machine::folders, machine::disk, machine::files];
    match place {
        Place::Local => {
            checks.insert(0, machine::python);
            checks.extend([machine::processors as Check, machine::ports]);
        }
        _ => {
            checks.insert(0, machine::interpreter);
            checks.extend([tools::git as Check, tools::cluster, cluster::cluster]);
        }
    }
    checks
}

/// Carries all checks out.
///
/// # Errors
/// Only when the user asks to stop; what is wrong with the machine is in the findings.
pub fn examine(subject: &Subject<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for check in checks(subject.place) {
        subject.session.check()?;
        findings.extend(check(subject));
    }
    subject.session.check()?;
    Ok(findings)
}

/// The machine is not ready; all problems at once.
#[derive(Debug, thiserror::Error)]
#[error("this machine is not ready:{}", list(.0))]
pub struct NotReady(Vec<Finding>);

fn list(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("\n  {}: {}", finding.check, finding.detail)).collect()
}

/// # Errors
/// A usage failure with every problem, and every fix as a hint.
pub fn require(findings: &[Finding]) -> Result<()> {
    let problems: Vec<Finding> = findings.iter().filter(|it| it.level == Level::Problem).cloned().collect();
    if problems.is_empty() {
        return Ok(());
    }
    let mut fixes: Vec<String> = Vec::new();
    for fix in problems.iter().flat_map(|problem| &problem.fixes) {
        if !fixes.contains(fix) {
            fixes.push(fix.clone());
        }
    }
    Err(fixes.into_iter().fold(Failure::usage(NotReady(problems)), Failure::hint))
}

#[cfg(test)]
mod tests;
