//! A picker in use: what it chose, and what each server has in flight, shared by everything that asks it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::config::Policy;
use crate::config::hardware::KvCache;
use crate::engine::{Pick, Picker, hash};

use super::api::{Endpoint, Generation, Refusal};
use super::backend::lock;
use super::pages::{self, Routed};

/// Blocks from a prompt's beginning that tell one group of prompts from another.
const PREFIX_BLOCKS: usize = 4;

/// A picker with its counters.
#[derive(Debug)]
pub struct Choices {
    model: String,
    state: Mutex<State>,
    failed: AtomicU64,
}

#[derive(Debug)]
struct State {
    picker: Picker,
    routed: Vec<Routed>,
    prefixes: Vec<HashSet<u64>>,
}

impl Choices {
    /// A picker that carries out `policy` for `servers` servers of `model`; `seed` decides ties.
    pub fn new(servers: usize, model: &str, policy: &Policy, seed: u64) -> Self {
        let state = State {
            picker: Picker::new(policy, servers, seed),
            routed: vec![Routed::default(); servers],
            prefixes: vec![HashSet::new(); servers],
        };
        Self { model: model.to_owned(), state: Mutex::new(state), failed: AtomicU64::new(0) }
    }

    /// Takes in what servers say of their KV caches, before the first choice.
    pub fn tune(&self, cache: &KvCache) {
        lock(&self.state).picker.tune(cache);
    }

    /// The text that a request's prompt consists of; empty for paths that do not generate.
    ///
    /// # Errors
    /// When a generation request cannot be understood.
    pub fn prompt(path: &str, body: &[u8]) -> Result<String, Refusal> {
        let path = path.split('?').next().unwrap_or_default();
        Endpoint::at(path)
            .map_or(Ok(String::new()), |endpoint| Generation::parse(endpoint, body).map(|generation| generation.text))
    }

    /// Chooses a server for a prompt; its tokens are in flight until the answer is dropped.
    pub fn pick(self: &Arc<Self>, text: &str) -> Flight {
        let mut state = lock(&self.state);
        let (block, most) = state.picker.blocks();
        let prompt = hash::pseudo_tokens(&self.model, text.as_bytes(), block, most);
        let pick = state.picker.pick(&prompt);
        let routed = &mut state.routed[pick.server];
        routed.picks += 1;
        routed.matched_picks += u64::from(pick.matched_blocks > 0);
        routed.blocks += u64::from(pick.blocks);
        routed.matched_blocks += u64::from(pick.matched_blocks);
        if let Some(&prefix) = prompt.hashes.get(PREFIX_BLOCKS - 1).or(prompt.hashes.last()) {
            state.prefixes[pick.server].insert(prefix);
        }
        Flight { choices: Arc::clone(self), pick, begun: false }
    }

    /// Whether a choice depends on what servers report.
    pub fn observes(&self) -> bool {
        lock(&self.state).picker.observes()
    }

    /// Takes in what a server reported: requests in its queue, used part of its KV cache (1 is all).
    pub fn observe(&self, server: usize, waiting: usize, usage: f64) {
        lock(&self.state).picker.observe(server, waiting, usage);
    }

    /// Says whether a server answers; one that does not is not chosen while another does.
    pub fn set_available(&self, server: usize, available: bool) {
        lock(&self.state).picker.set_available(server, available);
    }

    /// Servers that answer.
    pub fn available(&self) -> usize {
        lock(&self.state).picker.available()
    }

    /// Counts a request that no server answered.
    pub fn count_failure(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// The metrics page: what was sent where, and how many requests no server answered.
    pub fn page(&self) -> String {
        let state = lock(&self.state);
        let mut routed = state.routed.clone();
        for (number, routed) in routed.iter_mut().enumerate() {
            routed.prefixes = state.prefixes[number].len();
            routed.inflight = state.picker.inflight(number);
        }
        pages::router(&routed, self.failed.load(Ordering::Relaxed))
    }

    /// Forgets what was sent where.
    pub fn reset(&self) {
        let mut state = lock(&self.state);
        state.picker.clear_index();
        state.routed.fill(Routed::default());
        state.prefixes.iter_mut().for_each(HashSet::clear);
    }
}

/// Tokens in flight; dropped, they no longer are, whatever became of the request.
#[derive(Debug)]
pub struct Flight {
    choices: Arc<Choices>,
    pick: Pick,
    begun: bool,
}

impl Flight {
    /// The chosen server's number, from 0.
    pub fn server(&self) -> usize {
        self.pick.server
    }

    /// The answer began: its prompt's tokens are no longer in flight.
    pub fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            lock(&self.choices.state).picker.begun(&self.pick);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.begin();
        lock(&self.choices.state).picker.ended(&self.pick);
    }
}
