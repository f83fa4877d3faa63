//! Paths of this machine in what a manifest says about how its campaign came about.
//!
//! A command as it was typed names folders: the results, the workspace, a home. Folders that are known to be ours are
//! replaced by a word, which says as much to a reader elsewhere. Any other path still stops the publication.

use serde_yaml::{Mapping, Value};

use crate::manifest::Manifest;

/// A folder of this machine and the word that takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPath {
    /// The folder, absolute.
    pub path: String,
    /// What is written instead: `RESULTS`.
    pub word: &'static str,
}

/// The manifest with local folders replaced in its provenance and in the entries of its repetitions. The identity stays
/// as it is: it is compared, and a path in it says that runs elsewhere could never match.
pub(super) fn without(manifest: &Manifest, local: &[LocalPath]) -> Manifest {
    let mut longest_first: Vec<&LocalPath> = local.iter().filter(|local| local.path.len() > 1).collect();
    longest_first.sort_by_key(|local| std::cmp::Reverse(local.path.len()));
    let mut manifest = manifest.clone();
    if let Some(provenance) = &mut manifest.provenance {
        replace_in_mapping(provenance, &longest_first);
    }
    for treatment in manifest.treatments.values_mut() {
        for entry in treatment.repetitions.values_mut() {
            replace_in_mapping(&mut entry.0, &longest_first);
        }
    }
    manifest
}

fn replace_in_mapping(mapping: &mut Mapping, local: &[&LocalPath]) {
    for (_, value) in mapping.iter_mut() {
        replace_in(value, local);
    }
}

fn replace_in(value: &mut Value, local: &[&LocalPath]) {
    match value {
        Value::String(text) => *text = local.iter().fold(std::mem::take(text), |text, local| replaced(&text, local)),
        Value::Sequence(items) => items.iter_mut().for_each(|item| replace_in(item, local)),
        Value::Mapping(mapping) => replace_in_mapping(mapping, local),
        _ => {}
    }
}

/// `text` with the path replaced wherever it stands as a whole: another folder may begin or end with the same letters.
fn replaced(text: &str, LocalPath { path, word }: &LocalPath) -> String {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(path.as_str()) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let whole = !before.ends_with(|c: char| in_name(c) || c == '/') && !after.starts_with(in_name);
        out.push_str(before);
        out.push_str(if whole { word } else { path });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_folders_become_words_the_innermost_first_and_others_stay() {
        let local = [
            LocalPath { path: "/home/ada".into(), word: "~" },
            LocalPath { path: "/home/ada/results".into(), word: "RESULTS" },
        ];
        let mut manifest = Manifest::new("a", serde_yaml::from_str("file: /home/ada/load.yaml").unwrap());
        manifest.provenance = Some(
            serde_yaml::from_str(
                "command: xtask --results-dir /home/ada/results --python /home/ada/bin/python\n\
                 other: [/home/adam, /mnt/home/ada, /srv/x]",
            )
            .unwrap(),
        );
        manifest.repetition_mut("service", 1).set("log", "/home/ada/results/a/log");
        let text = without(&manifest, &local).to_yaml().unwrap();
        for line in [
            "command: xtask --results-dir RESULTS --python ~/bin/python",
            "- /home/adam",
            "- /mnt/home/ada",
            "log: RESULTS/a/log",
            "file: /home/ada/load.yaml",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn the_root_folder_replaces_nothing() {
        let mut manifest = Manifest::new("a", Mapping::new());
        manifest.provenance = Some(serde_yaml::from_str("command: /usr/bin/env").unwrap());
        let local = [LocalPath { path: "/".into(), word: "~" }, LocalPath { path: String::new(), word: "~" }];
        assert_eq!(without(&manifest, &local), manifest);
    }
}
