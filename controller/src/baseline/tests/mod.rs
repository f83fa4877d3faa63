//! The gate from evidence on disk to exit codes: what it must catch, and everything that must not pass silently.

mod buckets;
mod gate;
mod store;
mod synthetic;

use std::path::Path;
use std::sync::LazyLock;

use jiff::Timestamp;
use reports::gate::document::{Document, LimitsRef};
use reports::gate::limits::{Limits, parse};

use super::folder::Folder;
use super::*;
use crate::process::Session;
use synthetic::Spec;

const LIMITS: &str = "version: 1
noise: {tau: auto, normalise_by: none}
thresholds:
  ttft: [p50 < +5% or +5ms, p90 < +5% or +5ms]
  itl: [p90 < +5% or +1ms]
  throughput: [ratio > -3%]
  failed: [rate < +0.5pp]
";

fn limits(text: &str) -> Limits {
    parse(Path::new("regression.yaml"), text).unwrap()
}

fn at(day: &str) -> Timestamp {
    format!("{day}T12:00:00Z").parse().unwrap()
}

/// A store with three A/A campaigns promoted on 1 October 2026.
struct Scene {
    folder: tempfile::TempDir,
    store: Store,
}

impl Scene {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().join("baselines"));
        Self { store: Store::open(&location, &Session::unrecorded()), folder }
    }

    /// A copy of a store that is made once: writing its campaigns takes longer than any test.
    fn with_baseline() -> Self {
        static TEMPLATE: LazyLock<tempfile::TempDir> = LazyLock::new(|| Scene::made().folder);
        let scene = Self::empty();
        let template = Folder::new(TEMPLATE.path().join("baselines"));
        for path in template.list("").unwrap() {
            let content = template.get(&path).unwrap().unwrap();
            scene.store.place.put(&path, &content).unwrap();
        }
        scene
    }

    fn made() -> Self {
        let scene = Self::empty();
        let names = ["aa-1", "aa-22", "aa-333"];
        let members: Vec<_> =
            names.into_iter().map(|name| Spec { name, ..Spec::default() }.write(scene.folder.path())).collect();
        let stored = scene.propose(&members, "2026-10-01");
        scene.promote(&stored, None, "2026-10-01").unwrap();
        scene
    }

    fn propose(&self, members: &[reports::campaign::Campaign], day: &str) -> StoredBaseline {
        propose(members, None, &self.store, None, &limits(LIMITS).validity, at(day)).unwrap().stored
    }

    fn promote(&self, stored: &StoredBaseline, previous: Option<&str>, day: &str) -> Result<(), Error> {
        self.store.promote(stored, &Channel::new("main").unwrap(), &promotion(stored, previous, day))
    }

    fn judge(&self, spec: Spec) -> Document {
        self.judge_by(spec, LIMITS, "2026-10-10", &[]).unwrap()
    }

    fn judge_by(&self, spec: Spec, text: &str, day: &str, allowed: &[&str]) -> Result<Document, JudgeError> {
        let campaign = spec.write(self.folder.path());
        let allowed: Vec<String> = allowed.iter().map(|field| (*field).to_owned()).collect();
        let limits = limits(text);
        judge(&Request {
            campaign: &campaign,
            store: &self.store,
            reference: "main",
            allowed: &allowed,
            limits: &limits,
            limits_ref: LimitsRef { path: "regression.yaml".into(), sha256: String::new() },
            now: at(day),
        })
    }
}

fn promotion(stored: &StoredBaseline, previous: Option<&str>, day: &str) -> Promotion {
    Promotion {
        time: at(day),
        digest: stored.digest.clone(),
        previous: previous.map(str::to_owned),
        author: "someone".into(),
        reason: "first".into(),
        accepted_regression: None,
        few_repetitions: None,
        members: Vec::new(),
    }
}

/// A campaign under test that measured what the baseline did.
fn same() -> Spec {
    Spec { name: "new-4444", ..Spec::default() }
}
