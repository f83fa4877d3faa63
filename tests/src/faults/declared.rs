//! Finds the names of all external steps in the sources, so that a suite can notice one that it does not cover.

use std::path::{Path, PathBuf};

/// A step's name in the sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// The file, below the workspace.
    pub file: String,
    /// What is called with the name.
    pub call: String,
    /// The name; where it is put together at run time, the expression.
    pub name: String,
    /// Whether the name is written out.
    pub literal: bool,
}

/// What gives a step its name as its first argument.
const CALLS: [&str; 17] = [
    "Command::new(",
    "git(",
    "command(",
    "program(",
    "config(",
    ".apply(",
    ".create(",
    ".replace(",
    ".delete(",
    "Step::new(",
    "kubectl(",
    "release(",
    "install(",
    "pip(",
    "llmdbenchmark(",
    "helm(",
    "skopeo(",
];

/// All names in the sources of the controller, without those of its tests.
///
/// # Panics
/// When a source file cannot be read.
pub fn declared(workspace: &Path) -> Vec<Declared> {
    let mut files = Vec::new();
    sources(&workspace.join("controller/src"), &mut files);
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(workspace).expect("a file of the workspace").display().to_string();
        let text = fs_err::read_to_string(&file).expect("a source file");
        let code = without_tests(&text);
        for call in CALLS {
            found.extend(calls(&code, call).filter_map(|arguments| step(&name, call, arguments)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The code without comments and without items that only tests have: what those run is no step of a campaign.
fn without_tests(text: &str) -> String {
    let mut skipping = false;
    let kept = text.lines().filter(|line| {
        let begins = *line == "#[cfg(test)]";
        let ends = skipping && (*line == "}" || (line.starts_with("mod ") && line.ends_with(';')));
        let kept = !skipping && !begins && !line.trim_start().starts_with("//");
        skipping = (skipping || begins) && !ends;
        kept
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, files),
            false if name.ends_with(".rs") && name != "tests.rs" => files.push(path),
            _ => {}
        }
    }
}

/// What follows each call of this name, not of one that only ends like it.
fn calls<'a>(code: &'a str, call: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(call).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back().unwrap_or(' ');
        let longer = before.is_alphanumeric() || before == '_';
        let defined = code[..at].ends_with("fn ");
        (!longer && !defined).then(|| &code[at + call.len()..])
    })
}

fn step(file: &str, call: &str, arguments: &str) -> Option<Declared> {
    let declared = |name: &str, literal| {
        let call = call.trim_end_matches('(').trim_start_matches('.').to_owned();
        Some(Declared { file: file.to_owned(), call, name: name.to_owned(), literal })
    };
    let first = arguments.trim_start();
    if let Some(name) = quoted(first) {
        return declared(name, true);
    }
    // `kubectl(resolved, "label", …)`: the name comes after what it is for.
    let second = first.split_once(',').and_then(|(_, second)| quoted(second.trim_start()));
    if let Some(name) = second.filter(|_| ["kubectl(", "llmdbenchmark(", "release(", "install("].contains(&call)) {
        return declared(name, true);
    }
    // Only here is a name that is put together of interest: everything else ends up here.
    if call != "Command::new(" {
        return None;
    }
    let expression: String = first.chars().take_while(|it| !matches!(it, ',' | '\n')).collect();
    declared(&expression, false)
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.split_once('"').map(|(name, _)| name)
}
