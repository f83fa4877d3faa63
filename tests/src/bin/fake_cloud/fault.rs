//! What is to go wrong: read from `faults.json`, counted in `faults.count.json`.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::state::Lock;

/// A fault that a call has met.
#[derive(Debug)]
pub struct Fault {
    /// As in the journal.
    pub name: String,
    /// Whether the call's work is done first.
    pub after: bool,
    /// Looks after which what this call deletes or creates is gone or ready.
    pub lag: Option<u64>,
    action: Value,
}

/// The fault that these words meet, if any. Each fault may let some calls pass (`skip`) and is met so many `times`.
pub fn next(folder: &Path, words: &[String]) -> Option<Fault> {
    let _lock = Lock::take(folder);
    let faults: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("faults.json")).ok()?).expect("faults");
    let counts_file = folder.join("faults.count.json");
    let mut counts: Vec<u64> =
        std::fs::read(&counts_file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    counts.resize(faults.len().max(counts.len()), 0);
    let mut met = None;
    for (fault, count) in faults.iter().zip(&mut counts) {
        if met.is_some() || !matches(fault, words) {
            continue;
        }
        *count += 1;
        let skip = fault["skip"].as_u64().unwrap_or(0);
        let times = fault["times"].as_u64().unwrap_or(u64::MAX);
        if *count > skip && *count - skip <= times {
            met = Some(Fault {
                name: fault["match"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join(" "),
                after: fault["after"].as_bool().unwrap_or(false),
                lag: fault["do"]["lag"].as_u64(),
                action: fault["do"].clone(),
            });
        }
    }
    std::fs::write(counts_file, serde_json::to_vec(&counts).expect("counts")).expect("a file");
    met
}

/// Whether the words of the fault occur in this order; one that ends in `*` stands for any ending.
fn matches(fault: &Value, words: &[String]) -> bool {
    let mut rest = words.iter();
    fault["match"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .all(|wanted| rest.any(|word| wanted.strip_suffix('*').map_or(word == wanted, |start| word.starts_with(start))))
}

impl Fault {
    /// Does what the fault says; returns when the call's own work is to be done all the same.
    pub fn act(&self) {
        let text = |name: &str| self.action[name].as_str().unwrap_or_default().to_owned();
        match self.action["kind"].as_str().unwrap_or("answer") {
            // Until somebody ends us.
            "hang" => loop {
                std::thread::sleep(std::time::Duration::from_secs(60));
            },
            "killed" => {
                let pid = std::process::id().to_string();
                std::process::Command::new("/bin/kill").args(["-9", &pid]).status().expect("kill");
                std::thread::sleep(std::time::Duration::from_secs(60));
            }
            "garbage" => say(b"<html>\nService Unavailable {[\n", "", 0),
            "not-utf8" => say(b"{\"items\": [\"\xff\xfe\xfd\"", "", 0),
            "huge" => say(&b"0123456789abcdef".repeat(64 << 10), "", 0),
            "lag" => {}
            _ => {
                let code = self.action["exit"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(0);
                say(text("stdout").as_bytes(), &text("stderr"), code);
            }
        }
    }
}

fn say(stdout: &[u8], stderr: &str, code: i32) -> ! {
    std::io::stdout().write_all(stdout).ok();
    std::io::stderr().write_all(stderr.as_bytes()).ok();
    std::process::exit(code)
}
