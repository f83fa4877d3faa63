//! Where a campaign came from: machine, program, command. Recorded for readers, never compared.

use std::path::Path;

use jiff::Timestamp;
use serde_yaml::Mapping;

/// What is known when the campaign starts; absent facts are left out.
pub fn collect(root: &Path, command: &str, profile: &str, now: Timestamp) -> Mapping {
    let mut facts = Mapping::new();
    facts.insert("started".into(), now.to_string().into());
    facts.insert("command".into(), command.into());
    facts.insert("profile".into(), profile.into());
    facts.insert("program_version".into(), env!("CARGO_PKG_VERSION").into());
    if let Some((commit, dirty)) = source(root) {
        facts.insert("source_commit".into(), commit.into());
        facts.insert("source_modified".into(), dirty.into());
    }
    facts.insert("operating_system".into(), std::env::consts::OS.into());
    facts.insert("architecture".into(), std::env::consts::ARCH.into());
    if let Ok(cores) = std::thread::available_parallelism() {
        facts.insert("cores".into(), cores.get().into());
    }
    if let Some(model) = cpu_model() {
        facts.insert("cpu".into(), model.into());
    }
    facts
}

/// The workspace's commit, and whether its files differ from it.
fn source(root: &Path) -> Option<(String, bool)> {
    let repository = git2::Repository::open(root).ok()?;
    let commit = repository.head().ok()?.peel_to_commit().ok()?.id().to_string();
    let mut options = git2::StatusOptions::new();
    options.include_untracked(false);
    let dirty = repository.statuses(Some(&mut options)).ok()?.iter().next().is_some();
    Some((commit, dirty))
}

/// The processor's name, where the system tells it.
fn cpu_model() -> Option<String> {
    let text = fs_err::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_are_not_there_are_left_out() {
        let empty = tempfile::tempdir().unwrap();
        let facts = collect(empty.path(), "cargo xtask benchmark", "quick", "2026-08-17T10:15:00Z".parse().unwrap());
        assert_eq!(facts["started"], "2026-08-17T10:15:00Z");
        assert_eq!(facts["profile"], "quick");
        assert!(facts.get("source_commit").is_none());
    }
}
