//! The memory of the cloud: one JSON document, read and written under a lock.

use std::fs::File;
use std::path::Path;

use serde_json::{Value, json};

use crate::answer::Answer;

/// Keeps calls that run side by side apart.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Waits for the others.
    pub fn take(folder: &Path) -> Self {
        let file = File::options().create(true).append(true).open(folder.join("lock")).expect("a lock file");
        file.lock().expect("a lock");
        Self(file)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.unlock().ok();
    }
}

/// Runs `work` on the state and keeps what it leaves; `lag` overrides the state's own for this call.
pub fn within(folder: &Path, lag: Option<u64>, work: impl FnOnce(&mut Value) -> Answer) -> Answer {
    let _lock = Lock::take(folder);
    let file = folder.join("state.json");
    let mut state: Value = std::fs::read(&file)
        .ok()
        .map(|bytes| serde_json::from_slice(&bytes).expect("the state is JSON"))
        .unwrap_or_else(|| json!({}));
    let usual = state["lag"].clone();
    if let Some(lag) = lag {
        state["lag"] = lag.into();
    }
    let answer = work(&mut state);
    state["lag"] = usual;
    let beside = folder.join("state.json.new");
    std::fs::write(&beside, serde_json::to_vec_pretty(&state).expect("JSON")).expect("a file");
    std::fs::rename(beside, file).expect("a rename");
    answer
}

/// The looks after which a change is done.
pub fn lag(state: &Value) -> u64 {
    state["lag"].as_u64().unwrap_or(0)
}

/// The value at a key of an object, made an empty object when it is not there.
pub fn entry<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    let object = value.as_object_mut().expect("an object");
    object.entry(key).or_insert_with(|| json!({}))
}

/// The texts of a list.
pub fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
