//! A cloud that fits on a desk: plays `kubectl`, `gcloud` and their like under the names of the links that start it.
//!
//! `<machine>/bin/kubectl` is a link to this program; its memory is the folder `<machine>/cloud`: `state.json` (clusters,
//! pools, objects, disks: what was created is there until it is deleted), `faults.json` (what is to go wrong) and
//! `journal.jsonl` (every call, in order). A verb or flag that the real program does not have is refused with exit code 64
//! and marked in the journal, so that a typing error fails a test.

mod answer;
mod benchmark;
mod call;
mod fault;
mod gcloud;
mod kubectl;
mod state;
mod tools;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use answer::Answer;
use call::{Call, Verb};
use serde_json::json;
use sha2::Digest;

/// What the programs that are played know to do.
const PROGRAMS: [(&str, &[Verb]); 6] = [
    ("gcloud", &gcloud::VERBS),
    ("helm", &tools::HELM),
    ("kind", &tools::KIND),
    ("kubectl", &kubectl::VERBS),
    ("llmdbenchmark", &benchmark::VERBS),
    ("skopeo", &tools::SKOPEO),
];

/// The exit code for a call that the real program would not understand either.
const NOT_UNDERSTOOD: i32 = 64;

fn main() {
    let argv: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let started = started_as(&argv[0]);
    let program = started.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = started.parent().and_then(Path::parent).unwrap_or(Path::new("/")).join("cloud");
    let mut words = vec![program.clone()];
    words.extend(argv.into_iter().skip(1));
    let stdin = read_stdin(&words);

    let parsed = PROGRAMS
        .iter()
        .find(|(name, _)| *name == program)
        .ok_or_else(|| format!("{program} is not played here"))
        .and_then(|(_, verbs)| Call::parse(&arranged(&program, &words), verbs, stdin.clone()));
    let fault = fault::next(&folder, &words);
    journal(&folder, &words, &stdin, fault.as_ref(), parsed.is_err());
    if let Some(fault) = fault.as_ref().filter(|fault| !fault.after) {
        fault.act();
    }
    let answer = match parsed {
        Err(reason) => Answer::failed(NOT_UNDERSTOOD, format!("fake {program}: {reason}")),
        Ok(call) => {
            state::within(&folder, fault.as_ref().and_then(|fault| fault.lag), |state| (call.verb.run)(state, &call))
        }
    };
    if let Some(fault) = fault.filter(|fault| fault.after) {
        fault.act();
    }
    std::io::stdout().write_all(&answer.stdout).ok();
    std::io::stderr().write_all(answer.stderr.as_bytes()).ok();
    std::process::exit(answer.code);
}

/// The words with the verb first.
fn arranged(program: &str, words: &[String]) -> Vec<String> {
    match program {
        "llmdbenchmark" => benchmark::arrange(words.to_vec()),
        "skopeo" if words.iter().any(|word| word == "--version") => vec![words[0].clone(), "version".to_owned()],
        _ => words.to_vec(),
    }
}

/// The link that we were started by; a bare name was found on PATH.
fn started_as(argv0: &str) -> PathBuf {
    if argv0.contains('/') {
        return PathBuf::from(argv0);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(argv0)).find(|file| file.is_file()).unwrap_or_default()
}

/// What stands on standard input, for the calls that read it.
fn read_stdin(words: &[String]) -> Vec<u8> {
    let reads = |word: &String| word == "-" || word.ends_with("=-") || word.ends_with("/dev/stdin");
    let mut bytes = Vec::new();
    if words.iter().any(reads) {
        std::io::stdin().read_to_end(&mut bytes).ok();
    }
    bytes
}

fn journal(folder: &Path, words: &[String], stdin: &[u8], fault: Option<&fault::Fault>, unknown: bool) {
    let digest: String = sha2::Sha256::digest(stdin).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut line = json!({"argv": words, "pid": std::process::id()});
    if !stdin.is_empty() {
        line["stdin_sha256"] = digest.into();
    }
    if let Some(fault) = fault {
        line["fault"] = fault.name.clone().into();
    }
    if unknown {
        line["not_understood"] = true.into();
    }
    // One write of one line, appended: calls that run side by side do not mix.
    let file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("journal.jsonl"));
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).expect("a journal");
}
