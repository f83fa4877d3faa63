//! Evidence that somebody, or a broken disk, made up: no panic, no hang, bounded memory.
//!
//! Real files are changed at random, from a fixed seed, and read by everything that reads such files. `HOSTILE_INPUTS`
//! sets how many inputs each reader gets (default 300) and `HOSTILE_SEED` where the sequence begins.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reports::audit::{Outcome, audit_repetition};
use reports::manifest::Manifest;
use reports::native::{Config, StageFile, Validation};
use reports::{benchmark_report, campaign, publish};

/// Resident memory that reading may reach, in kilobytes.
const MEMORY_KB: u64 = 256 << 10;
/// An input that takes longer is a hang: the largest takes milliseconds.
const HANG: Duration = Duration::from_secs(60);

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// SplitMix64 (Steele et al. 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Pieces that parsers of JSON, YAML and tables have stumbled over.
const PIECES: [&str; 40] = [
    "null",
    "NaN",
    "Infinity",
    "-1",
    "1e999",
    "0",
    "18446744073709551616",
    "-0.0",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[[[",
    "}}}}",
    "\"",
    "\\",
    "\\u0000",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "&a ",
    "*a",
    "<<: *a",
    "!!binary ",
    "!tag ",
    "---\n",
    "...\n",
    "? ",
    "- - - - ",
    "\t",
    "\r\n",
    ": ",
    "# ",
    "yes",
    "0x7f",
    "2026-01-01",
    "../../etc/passwd",
    "=1+1",
    ",,,,",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
];

/// `seed` with one to six changes.
fn mutated(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(64)).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(at.min(end)..end)),
            3 => {
                let copy = bytes[at.min(end)..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            4 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            5 => replace_number(random, &mut bytes, at),
            _ => swap_lines(random, &mut bytes),
        }
    }
    bytes
}

/// Puts a piece where the next number after `from` stands: what parses is more likely to reach the checks behind.
fn replace_number(random: &mut Random, bytes: &mut Vec<u8>, from: usize) {
    let Some(start) = (from..bytes.len()).find(|at| bytes[*at].is_ascii_digit()) else { return };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let piece = PIECES[random.below(PIECES.len())];
    bytes.splice(start..start + length, piece.bytes());
}

fn swap_lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
    lines.swap(a, b);
    *bytes = lines.join(&b'\n');
}

/// Ends the whole test when one input takes too long: a hang cannot be asserted from within.
struct Watchdog {
    inputs: Arc<AtomicU64>,
}

impl Watchdog {
    fn start(reader: &'static str) -> Self {
        let inputs = Arc::new(AtomicU64::new(0));
        let watched = Arc::downgrade(&inputs);
        std::thread::spawn(move || {
            let mut before = None;
            loop {
                std::thread::sleep(HANG);
                let Some(inputs) = watched.upgrade() else { return };
                let now = inputs.load(Ordering::Relaxed);
                if before == Some(now) {
                    eprintln!("{reader} hangs at input {now}");
                    std::process::abort();
                }
                before = Some(now);
            }
        });
        Self { inputs }
    }

    fn input(&self) {
        self.inputs.fetch_add(1, Ordering::Relaxed);
    }
}

/// Highest resident memory of this process so far, in kilobytes; `None` where the system does not tell.
fn peak_memory_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Gives `read` changed copies of `seeds` in a file called `name`.
fn fuzz(reader: &'static str, name: &str, seeds: &[Vec<u8>], mut read: impl FnMut(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let mut random = Random(setting("HOSTILE_SEED", 20_261_130));
    let watchdog = Watchdog::start(reader);
    for seed in seeds {
        fs::write(&path, seed).unwrap();
        read(&path);
    }
    for _ in 0..setting("HOSTILE_INPUTS", 300) {
        watchdog.input();
        let seed = &seeds[random.below(seeds.len())];
        fs::write(&path, mutated(&mut random, seed)).unwrap();
        read(&path);
    }
    if let Some(peak) = peak_memory_kb() {
        assert!(peak < MEMORY_KB, "{reader} reached {peak} kB");
    }
}

#[test]
fn native_stage_files() {
    let seeds = ["0.6/stage_0", "0.7-streaming/stage_0", "0.7-chunked/stage_1"]
        .map(|name| fixture(&format!("tests/fixtures/native/{name}_lifecycle_metrics.json")));
    let mut accepted = 0;
    fuzz("native stage", "stage_0_lifecycle_metrics.json", &seeds, |path| {
        let Ok(file) = StageFile::read(path, 0) else { return };
        accepted += 1;
        let stage = file.stage;
        for metric in reports::model::Metric::all() {
            assert!(metric.of(&stage).is_none_or(|value| value.is_finite() && value >= 0.0), "{metric} of {path:?}");
        }
    });
    assert!(
        accepted > seeds.len(),
        "nothing that was changed was accepted: the changes are too coarse to test anything"
    );
}

#[test]
fn native_configurations_and_validations() {
    let config = [fixture("tests/fixtures/native/0.7-streaming/config.yaml")];
    fuzz("native configuration", "config.yaml", &config, |path| {
        if let Ok(Some(config)) = Config::read(path.parent().unwrap()) {
            drop((config.data(), config.planned_stages(), config.redacted(), config.workload()));
        }
    });
    let validation = [fixture("tests/fixtures/native/0.7-streaming/validation.json")];
    fuzz("native validation", "validation.json", &validation, |path| {
        drop(Validation::read(path.parent().unwrap()));
    });
}

#[test]
fn benchmark_report_documents() {
    let seeds = ["0.7-streaming/inference-perf.partial.stage_0.yaml", "0.7-unary/inference-perf.partial.stage_1.yaml"]
        .map(|name| fixture(&format!("tests/fixtures/native/{name}")));
    fuzz("Benchmark Report", "benchmark_report_v0.2,_service_stage_0_lifecycle_metrics.json.yaml", &seeds, |path| {
        let Ok(report) = benchmark_report::read(path, 0) else { return };
        for metric in reports::model::Metric::all() {
            assert!(metric.of(&report.stage).is_none_or(|value| value.is_finite() && value >= 0.0), "{metric}");
        }
    });
}

#[test]
fn manifests() {
    let seeds = [fixture("tests/fixtures/earlier/campaign-manifest.yaml")];
    fuzz("manifest", "campaign-manifest.yaml", &seeds, |path| {
        let Ok(manifest) = Manifest::read(path) else { return };
        for name in manifest.treatments.keys() {
            let folder = Path::new("runs").join(name);
            assert_eq!(folder.components().count(), 2, "{name:?} leads elsewhere");
        }
        // What was read can be written, and reads back.
        let text = manifest.to_yaml().unwrap();
        fs::write(path, text).unwrap();
        assert_eq!(Manifest::read(path).unwrap().campaign_id, manifest.campaign_id);
    });
}

#[test]
fn published_tables() {
    let seeds = [fixture("tests/fixtures/earlier/service-vs-agentgateway-standalone.csv")];
    fuzz("published table", "metrics.csv", &seeds, |path| {
        let Ok(text) = fs::read_to_string(path) else { return };
        let manifest = Manifest::new("published", serde_yaml::Mapping::new());
        drop(campaign::from_metrics(path, manifest, &text));
    });
}

#[test]
fn per_request_records() {
    let whole = String::from_utf8(fixture("tests/fixtures/native/0.6/per_request_lifecycle_metrics.json")).unwrap();
    let seeds = [whole.into_bytes()];
    fuzz("per-request records", "per_request_lifecycle_metrics.json", &seeds, |path| {
        drop(audit_repetition(path.parent().unwrap()));
    });
}

#[test]
fn compressed_records() {
    let seeds = [fixture("tests/fixtures/native/0.7-streaming/per_request_lifecycle_metrics.json.gz")];
    fuzz("compressed records", "per_request_lifecycle_metrics.json.gz", &seeds, |path| {
        drop(audit_repetition(path.parent().unwrap()));
    });
}

/// Nine levels of nine references each: 387 million values when every reference is followed.
fn alias_bomb() -> String {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let references = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{references}]\n"));
    }
    text
}

#[test]
fn yaml_bombs_and_deep_nesting_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("campaign-manifest.yaml");
    let deep = |open: &str, close: &str| format!("a: {}{}", open.repeat(100_000), close.repeat(100_000));
    let nested: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    for text in [alias_bomb(), deep("[", "]"), deep("{a: ", "}"), "- ".repeat(100_000), nested, "a: &a [*a]".to_owned()]
    {
        fs::write(&path, &text).unwrap();
        assert!(Manifest::read(&path).is_err(), "{}", &text[..text.len().min(60)]);
        assert!(benchmark_report::read(&path, 0).is_err());
        fs::copy(&path, dir.path().join("config.yaml")).unwrap();
        drop(Config::read(dir.path()));
        assert!(publish::read(dir.path()).is_err());
    }
    if let Some(peak) = peak_memory_kb() {
        assert!(peak < MEMORY_KB, "{peak} kB");
    }
}

#[test]
fn json_nested_deeply_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["[".repeat(1_000_000), format!("[{{\"info\": {}", "{\"a\": ".repeat(1_000_000))] {
        fs::write(dir.path().join("stage_0_lifecycle_metrics.json"), &text).unwrap();
        assert!(StageFile::read(&dir.path().join("stage_0_lifecycle_metrics.json"), 0).is_err());
        fs::write(dir.path().join("per_request_lifecycle_metrics.json"), &text).unwrap();
        assert!(matches!(audit_repetition(dir.path()), Outcome::Unreadable { .. }));
    }
}

#[test]
fn one_very_long_string_is_passed_over_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = fs::File::create(dir.path().join("per_request_lifecycle_metrics.json")).unwrap();
    file.write_all(b"[{\"start_time\": 1.0, \"end_time\": 2.0, \"request\": \"").unwrap();
    let block = "prompt ".repeat(64 << 10);
    (0..256).for_each(|_| file.write_all(block.as_bytes()).unwrap());
    file.write_all(b"\", \"error\": null}]").unwrap();
    let outcome = audit_repetition(dir.path());
    assert!(matches!(&outcome, Outcome::Compared(comparison) if comparison.records == 1), "{outcome:?}");
    // The string alone is larger than this whole process may get.
    if let Some(peak) = peak_memory_kb() {
        assert!(peak < 112 << 10, "{peak} kB");
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("campaign-manifest.yaml");
    for name in ["../up", "/etc", "a/b", "..", ".", "", "a\\b", "nul\u{0}", "line\nbreak", &"x".repeat(201)] {
        let name = serde_json::to_string(name).unwrap();
        let text = format!(
            "schema_version: 1\ncampaign_id: c\nsuite: llm-d-benchmark\ntreatments: {{{name}: {{repetitions: {{'1': {{}}}}}}}}\n"
        );
        fs::write(&path, text).unwrap();
        assert!(Manifest::read(&path).is_err(), "{name} was accepted");
    }
    for number in ["0", "-1", "01", "+1", "1/../2", "99999999999"] {
        let text = format!(
            "schema_version: 1\ncampaign_id: c\nsuite: llm-d-benchmark\ntreatments: {{a: {{repetitions: {{'{number}': {{}}}}}}}}\n"
        );
        fs::write(&path, text).unwrap();
        assert!(Manifest::read(&path).is_err(), "repetition {number} was accepted");
    }
}

#[test]
fn links_out_of_a_campaign_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(
        outside.path().join("stage_0_lifecycle_metrics.json"),
        fixture("tests/fixtures/native/0.6/stage_0_lifecycle_metrics.json"),
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let link = |name: &str| -> PathBuf {
        let link = dir.path().join(name);
        symlink(outside.path().join("stage_0_lifecycle_metrics.json"), &link).unwrap();
        link
    };
    assert!(StageFile::read(&link("stage_0_lifecycle_metrics.json"), 0).is_err());
    assert!(benchmark_report::read(&link("benchmark_report_v0.2,_a_stage_0_lifecycle_metrics.json.yaml"), 0).is_err());
    assert!(Manifest::read(&link("campaign-manifest.yaml")).is_err());
    assert!(matches!(audit_repetition(dir.path()), Outcome::NoRecords));
    link("per_request_lifecycle_metrics.json");
    assert!(matches!(audit_repetition(dir.path()), Outcome::Unreadable { .. }));
}
