//! The desk-sized cloud as tests see it: seed it, break it, look at it.

mod machine;
mod seed;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use machine::Machine;
pub use seed::{CLUSTER, CONTEXT, PROJECT, ZONE, gke, kind};

/// The real programs that ours need beside the fakes; `kubectl`, `gcloud` and their like are never among them.
const REAL: [&str; 9] = ["git", "sh", "cat", "cp", "sleep", "rm", "mkdir", "tar", "python3"];

/// A folder of fakes with its memory.
#[derive(Debug)]
pub struct Cloud {
    machine: PathBuf,
}

impl Cloud {
    /// A cloud below `machine` that begins as `state` and plays these programs; `program` is the built `fake_cloud`.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn new(machine: &Path, program: &Path, plays: &[&str], state: &Value) -> Self {
        let cloud = Self { machine: machine.to_owned() };
        for folder in ["bin", "cloud"] {
            fs_err::create_dir_all(machine.join(folder)).expect("a folder");
        }
        for name in plays {
            std::os::unix::fs::symlink(program, machine.join("bin").join(name)).expect("a link");
        }
        for name in REAL {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let real = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
            if let Some(real) = real {
                std::os::unix::fs::symlink(real, machine.join("bin").join(name)).expect("a link");
            }
        }
        fs_err::write(cloud.file("state.json"), state.to_string()).expect("a state");
        fs_err::write(cloud.file("journal.jsonl"), "").expect("a journal");
        cloud
    }

    /// What `PATH` must be: the fakes and nothing else.
    pub fn path(&self) -> PathBuf {
        self.machine.join("bin")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.machine.join("cloud").join(name)
    }

    /// What is to go wrong from now on: a list of
    /// `{"match": ["kubectl", "delete", "pvc*"], "skip": 0, "times": 1, "after": false, "do": {…}}`, where `do` is
    /// `{"exit": 1, "stderr": "…", "stdout": "…"}` or `{"kind": "hang" | "killed" | "garbage" | "not-utf8" | "huge"}` or
    /// `{"kind": "lag", "lag": N}`; `{"exit": 0}` succeeds without effect.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn break_down(&self, faults: &Value) {
        fs_err::write(self.file("faults.json"), faults.to_string()).expect("faults");
        fs_err::write(self.file("faults.count.json"), "[]").expect("counts");
    }

    /// Everything works again.
    pub fn mend(&self) {
        self.break_down(&json!([]));
    }

    /// The state as it is now.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn state(&self) -> Value {
        serde_json::from_slice(&fs_err::read(self.file("state.json")).expect("a state")).expect("JSON")
    }

    /// Changes the state from outside, as a colleague or a controller would.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn change(&self, how: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        how(&mut state);
        fs_err::write(self.file("state.json"), state.to_string()).expect("a state");
    }

    /// Every call so far, as the journal has it.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn journal(&self) -> Vec<Value> {
        let text = fs_err::read_to_string(self.file("journal.jsonl")).expect("a journal");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The calls so far, each as one line.
    pub fn calls(&self) -> Vec<String> {
        let line = |call: Value| {
            let words: Vec<_> = call["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            words.join(" ")
        };
        self.journal().into_iter().map(line).collect()
    }

    /// Calls that the real programs would not understand.
    pub fn not_understood(&self) -> Vec<Value> {
        self.journal().into_iter().filter(|call| call["not_understood"] == true).collect()
    }

    /// The keys of a cluster's objects that begin so (`"pods/"`).
    pub fn objects(&self, context: &str, start: &str) -> Vec<String> {
        let state = self.state();
        let objects = state["kubernetes"][context]["objects"].as_object().cloned().unwrap_or_default();
        let mut keys: Vec<String> = objects.keys().filter(|key| key.starts_with(start)).cloned().collect();
        keys.sort();
        keys
    }
}
