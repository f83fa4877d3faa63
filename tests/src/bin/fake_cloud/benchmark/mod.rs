//! `llmdbenchmark`: deploys what a scenario asks for as objects, and runs a load by writing what a load leaves.

mod deploy;
mod load;

use std::path::PathBuf;

use serde_json::Value;

use crate::answer::Answer;
use crate::call::{Call, Verb};
use crate::kubectl::config;

macro_rules! global {
    ($more:literal) => {
        concat!("spec= workspace= n/dry-run p/namespace= k/kubeconfig= ", $more)
    };
}

/// Its verbs; the flags that stand before a verb are moved behind it.
pub const VERBS: [Verb; 6] = [
    Verb { words: "version", flags: "", run: |_, _| Answer::text("llmdbenchmark 0.8.0") },
    Verb { words: "plan", flags: global!(""), run: plan },
    Verb {
        words: "standup",
        flags: global!("skip-smoketest data-access-timeout= modelservice-deploy-timeout= monitoring no-monitoring"),
        run: deploy::standup,
    },
    Verb { words: "smoketest", flags: global!(""), run: smoketest },
    Verb {
        words: "run",
        flags: global!("l/harness= w/workload= workload-file-path= endpoint-url= fast-collect monitoring"),
        run: load::run,
    },
    Verb { words: "teardown", flags: global!("d/deep"), run: deploy::teardown },
];

/// The words with the verb first, as [`Call::parse`] wants them.
pub fn arrange(words: Vec<String>) -> Vec<String> {
    if words.iter().any(|word| word == "--version") {
        return vec![words[0].clone(), "version".to_owned()];
    }
    let verb = |word: &String| VERBS.iter().any(|verb| verb.words == word.as_str());
    match words.iter().position(verb) {
        Some(at) => {
            let mut arranged = vec![words[0].clone(), words[at].clone()];
            arranged.extend(words[1..at].iter().chain(&words[at + 1..]).cloned());
            arranged
        }
        None => words,
    }
}

/// The scenario that the specification names.
fn scenario(call: &Call) -> Result<Value, Answer> {
    let read = |path: PathBuf| -> Option<Value> { serde_yaml::from_str(&std::fs::read_to_string(path).ok()?).ok() };
    let spec = read(call.flag("spec").unwrap_or_default().into());
    let path = spec.as_ref().and_then(|spec| spec["scenario_file"]["path"].as_str()).map(PathBuf::from);
    let scenario = path.and_then(read).map(|mut document| document["scenario"][0].take());
    scenario.filter(Value::is_object).ok_or_else(|| Answer::failed(2, "the specification names no scenario"))
}

fn context(call: &Call) -> Result<String, Answer> {
    config::context(call)
}

fn plan(_: &mut Value, call: &Call) -> Answer {
    match scenario(call) {
        Ok(_) if call.has("dry-run") => Answer::text("Rendered 1 stack(s)\nErrors: 0"),
        Ok(_) => Answer::failed(2, "plan is only asked for with --dry-run here"),
        Err(answer) => answer,
    }
}

fn smoketest(state: &mut Value, call: &Call) -> Answer {
    match context(call) {
        Ok(context) if deploy::is_up(state, &context, call.flag("namespace").unwrap_or_default()) => {
            Answer::text("smoketest passed")
        }
        Ok(_) => Answer::failed(1, "smoketest failed: nothing is deployed"),
        Err(answer) => answer,
    }
}
