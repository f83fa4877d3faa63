//! One model server: its queue, its running sequences, its KV cache. [`super::schedule`] holds the step loop.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::config::Hardware;

use super::cache::{Cache, Leaf, Private, Prompt};

/// A request as a server sees it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The prompt, hashed in the server's blocks.
    pub prompt: Prompt,
    /// Tokens to generate; at least 1.
    pub output_tokens: u32,
    /// The driver's own name for it, handed back with each event.
    pub tag: u64,
    /// When the scheduler can see it, in seconds: arrival plus [`Server::request_overhead`].
    pub visible: f64,
}

/// Why a request can never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// It does not fit into an empty KV cache.
    #[error(
        "the prompt has {prompt_tokens} tokens and {output_tokens} are asked for, but the KV cache of a server holds \
         {capacity_tokens}: the request could never be admitted"
    )]
    TooLarge {
        /// Tokens of the prompt.
        prompt_tokens: u32,
        /// Tokens to generate.
        output_tokens: u32,
        /// Tokens that fit into the cache.
        capacity_tokens: u32,
    },
    /// It has no prompt or asks for no output.
    #[error("a request needs a prompt and at least one token to generate")]
    Empty,
}

/// What happens to requests, told to the driver.
pub trait Sink {
    /// Whether [`Sink::decoded`] is wanted; without it, runs of steps are counted together.
    const EACH_TOKEN: bool;

    /// The prompt is computed and its first token exists.
    fn first_token(&mut self, tag: u64, at: f64);
    /// The first token after a preemption exists, `gap` seconds after the one before it.
    fn resumed(&mut self, tag: u64, at: f64, gap: f64);
    /// One more token exists; only called when [`Sink::EACH_TOKEN`].
    fn decoded(&mut self, tag: u64, at: f64);
    /// `steps` steps for `sequences` sequences, the first `first` seconds long, each `growth` longer than the last.
    fn stretch(&mut self, sequences: u32, first: f64, growth: f64, steps: u64);
    /// All tokens exist.
    fn finished(&mut self, tag: u64, at: f64);
}

/// Names a submitted request until it has finished or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceId(pub(super) u32);

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Prompt tokens looked up in the prefix cache, once per admission.
    pub prefix_queries: u64,
    /// Prompt tokens found there.
    pub prefix_hits: u64,
    /// Sequences that lost their place because decoding sequences needed the room.
    pub preemptions: u64,
    /// Prompt tokens of admitted requests.
    pub prompt_tokens: u64,
    /// Tokens generated.
    pub generated_tokens: u64,
    /// Requests that finished.
    pub finished: u64,
    /// Seconds spent in steps.
    pub busy_seconds: f64,
    /// Steps made.
    pub steps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Waiting,
    /// Running, with prompt tokens still to compute.
    Prefilling,
    /// Running, its prompt completed by the step in progress.
    Completing,
    Decoding,
}

#[derive(Debug)]
pub(super) struct Sequence {
    pub state: State,
    pub request: Request,
    /// Tokens generated before the sequence last joined the decoding ones.
    pub output: u32,
    /// Prompt tokens (after a preemption: and output) still to compute.
    pub remaining: u32,
    /// Tokens computed.
    pub context: u32,
    pub leaf: Leaf,
    /// Its output in the cache after a preemption.
    pub private: Option<Private>,
    /// The step at which it joined the decoding sequences.
    pub joined: u64,
    /// The step at which it has all its tokens.
    pub finishes: u64,
    /// When its last token before a preemption came.
    pub last: Option<f64>,
}

/// One model server.
#[derive(Debug)]
pub struct Server {
    pub(super) hardware: Hardware,
    pub(super) cache: Cache,
    /// Seconds: the end of the last step.
    pub(super) now: f64,
    /// Seconds: the start of the last step.
    pub(super) previous: f64,
    pub(super) step: u64,
    pub(super) sequences: Vec<Sequence>,
    free: Vec<u32>,
    pub(super) waiting: VecDeque<u32>,
    pub(super) running: Vec<u32>,
    pub(super) prefilling: Vec<u32>,
    pub(super) completing: Vec<u32>,
    pub(super) finishing: BinaryHeap<Reverse<(u64, u32)>>,
    pub(super) decoding: u32,
    /// Context tokens of the decoding sequences.
    pub(super) context: u64,
    pub(super) counters: Counters,
}

impl Server {
    /// An idle server with an empty cache at time 0.
    pub fn new(hardware: &Hardware) -> Self {
        Self {
            cache: Cache::new(hardware.kv_cache.capacity_tokens, hardware.kv_cache.block_tokens),
            hardware: hardware.clone(),
            now: 0.0,
            previous: f64::NEG_INFINITY,
            step: 0,
            sequences: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            prefilling: Vec::new(),
            completing: Vec::new(),
            finishing: BinaryHeap::new(),
            decoding: 0,
            context: 0,
            counters: Counters::default(),
        }
    }

    /// Seconds from a request's arrival until the scheduler can see it.
    pub fn request_overhead(&self) -> f64 {
        let overhead = &self.hardware.overhead;
        overhead.request_seconds + overhead.per_running_request_seconds * self.running.len() as f64
    }

    /// Whether a server of this hardware can ever run a request.
    ///
    /// # Errors
    /// When it is larger than the KV cache, or empty.
    pub fn admissible(hardware: &Hardware, prompt: &Prompt, output_tokens: u32) -> Result<(), Rejection> {
        let (prompt_tokens, capacity_tokens) = (prompt.tokens, hardware.kv_cache.capacity_tokens);
        if prompt_tokens == 0 || output_tokens == 0 {
            return Err(Rejection::Empty);
        }
        if prompt_tokens.checked_add(output_tokens).is_none_or(|tokens| tokens > capacity_tokens) {
            return Err(Rejection::TooLarge { prompt_tokens, output_tokens, capacity_tokens });
        }
        Ok(())
    }

    /// Puts a request at the queue's end.
    ///
    /// # Errors
    /// When it could never run: larger than the KV cache, or empty.
    pub fn submit(&mut self, request: Request) -> Result<SequenceId, Rejection> {
        Self::admissible(&self.hardware, &request.prompt, request.output_tokens)?;
        if self.is_idle() && self.now < request.visible {
            (self.now, self.previous) = (request.visible, request.visible);
        }
        let sequence = Sequence {
            state: State::Waiting,
            request,
            output: 0,
            remaining: 0,
            context: 0,
            leaf: None,
            private: None,
            joined: 0,
            finishes: u64::MAX,
            last: None,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.sequences[id as usize] = sequence;
                id
            }
            None => {
                self.sequences.push(sequence);
                u32::try_from(self.sequences.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.waiting.push_back(id);
        Ok(SequenceId(id))
    }

    /// Takes a request back, wherever it is, and frees its blocks. `tag` guards against a name that has passed on.
    pub fn cancel(&mut self, SequenceId(id): SequenceId, tag: u64) {
        let Some(sequence) = self.sequences.get(id as usize) else { return };
        if sequence.request.tag != tag {
            return;
        }
        match sequence.state {
            State::Free => return,
            State::Waiting => self.waiting.retain(|&other| other != id),
            State::Prefilling => self.prefilling.retain(|&other| other != id),
            State::Completing => self.completing.retain(|&other| other != id),
            State::Decoding => self.leave_decoding(id),
        }
        if let Some(place) = self.running.iter().position(|&other| other == id) {
            self.running.remove(place);
            self.release(id);
        }
        self.forget(id);
    }

    /// Requests in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Requests that hold a place in the steps.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Used part of the KV cache, 0 to 1: blocks in use, not those kept for reuse.
    pub fn usage(&self) -> f64 {
        f64::from(self.cache.pinned()) / f64::from(self.cache.capacity())
    }

    /// Totals since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Seconds: the end of the step in progress, or of the last one.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Whether there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty() && self.completing.is_empty()
    }

    /// Forgets all cached prefixes that no running request uses.
    pub fn clear_cache(&mut self) {
        self.cache.clear();
    }

    /// Tokens that a sequence has generated.
    pub(super) fn output(&self, id: u32) -> u32 {
        let sequence = &self.sequences[id as usize];
        match sequence.state {
            State::Decoding => sequence.output + u32::try_from(self.step - sequence.joined).unwrap_or(u32::MAX),
            _ => sequence.output,
        }
    }

    /// Tokens that belong to a sequence alone: the prompt's tail that fills no block, and the output.
    pub(super) fn private_tokens(&self, id: u32) -> u32 {
        let prompt = &self.sequences[id as usize].request.prompt;
        prompt.tokens - self.shared_tokens(prompt) + self.sequences[id as usize].output
    }

    pub(super) fn shared_tokens(&self, prompt: &Prompt) -> u32 {
        u32::try_from(prompt.hashes.len()).unwrap_or(u32::MAX) * self.hardware.kv_cache.block_tokens
    }

    /// Takes a sequence out of the decoding ones, with the tokens it has.
    pub(super) fn leave_decoding(&mut self, id: u32) {
        let output = self.output(id);
        let sequence = &mut self.sequences[id as usize];
        sequence.context = sequence.request.prompt.tokens + output;
        sequence.output = output;
        sequence.finishes = u64::MAX;
        self.decoding -= 1;
        self.context -= u64::from(sequence.context);
    }

    /// Returns a running sequence's blocks to the cache: output, question, prefix.
    pub(super) fn release(&mut self, id: u32) {
        let private = self.private_tokens(id);
        let private = self.cache.unpin_private(private);
        let sequence = &mut self.sequences[id as usize];
        sequence.private = private;
        self.cache.unpin(sequence.leaf.take(), sequence.context);
    }

    /// Frees a sequence's name.
    pub(super) fn forget(&mut self, id: u32) {
        let sequence = &mut self.sequences[id as usize];
        sequence.state = State::Free;
        sequence.finishes = u64::MAX;
        self.free.push(id);
    }
}
