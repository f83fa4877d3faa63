//! The step loop: what a server computes next, and how long it takes.

use std::cmp::Reverse;

use super::server::{Server, Sink, State};

/// Steps of equal work, planned together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// When it began, in seconds.
    pub start: f64,
    /// When its last step ends, in seconds.
    pub end: f64,
}

/// What a server does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Nothing until a request comes.
    Idle,
    /// Nothing until this time, in seconds, when a submitted request becomes visible.
    Wait(f64),
    /// It computes.
    Run(Stretch),
}

/// A prefill chunk of this size hides all that it can hide of the decode time.
const FULL_OVERLAP_TOKENS: f64 = 2048.0;

/// What one step prefills.
#[derive(Default)]
struct Prefill {
    tokens: u32,
    /// Sum over the chunk's tokens of the context before each.
    attention: f64,
    preempted: bool,
    /// A request waits that this step's schedule could not see yet.
    lagging: bool,
}

impl Server {
    /// Lets time pass until `until`, in seconds; the last step starts then or earlier.
    pub fn advance<S: Sink>(&mut self, until: f64, sink: &mut S) {
        while self.now <= until {
            self.settle(sink);
            match self.plan(until, sink) {
                Next::Idle => return,
                Next::Wait(time) => (self.now, self.previous) = (time, time),
                Next::Run(_) => {}
            }
        }
    }

    /// Moves an idle or waiting server's clock forward; a clock never goes back, and never while a step runs.
    pub fn wake(&mut self, now: f64) {
        if now > self.now {
            (self.now, self.previous) = (now, now);
        }
    }

    /// Ends the step that [`Server::plan`] began: tokens come out, sequences finish.
    pub fn settle<S: Sink>(&mut self, sink: &mut S) {
        if S::EACH_TOKEN {
            for &id in &self.running {
                let sequence = &self.sequences[id as usize];
                if sequence.state == State::Decoding && sequence.joined < self.step {
                    sink.decoded(sequence.request.tag, self.now);
                }
            }
        }
        for id in std::mem::take(&mut self.completing) {
            self.complete_prefill(id, sink);
        }
        while let Some(&Reverse((step, id))) = self.finishing.peek().filter(|Reverse((step, _))| *step <= self.step) {
            self.finishing.pop();
            let sequence = &self.sequences[id as usize];
            if sequence.finishes == step && sequence.state == State::Decoding {
                self.leave_decoding(id);
                self.finish(id, sink);
            }
        }
    }

    fn complete_prefill<S: Sink>(&mut self, id: u32, sink: &mut S) {
        let (now, step) = (self.now, self.step);
        let sequence = &mut self.sequences[id as usize];
        let tag = sequence.request.tag;
        match sequence.last {
            None => sink.first_token(tag, now),
            Some(last) => sink.resumed(tag, now, now - last),
        }
        sequence.output += 1;
        let (output, wanted) = (sequence.output, sequence.request.output_tokens);
        let context = sequence.request.prompt.tokens + output;
        if output < wanted {
            sequence.state = State::Decoding;
            sequence.joined = step;
            sequence.finishes = step + u64::from(wanted - output);
            self.finishing.push(Reverse((sequence.finishes, id)));
            self.decoding += 1;
            self.context += u64::from(context);
        } else {
            sequence.context = context;
        }
        self.counters.generated_tokens += 1;
        self.cache.pin_private(1);
        if output >= wanted {
            self.finish(id, sink);
        }
    }

    fn finish<S: Sink>(&mut self, id: u32, sink: &mut S) {
        if let Some(place) = self.running.iter().position(|&other| other == id) {
            self.running.remove(place);
        }
        self.release(id);
        self.counters.finished += 1;
        sink.finished(self.sequences[id as usize].request.tag, self.now);
        self.forget(id);
    }

    /// Begins the next step, or as many equal ones as may start until `horizon` (in seconds) without anything else
    /// happening, and moves the clock to their end.
    pub fn plan<S: Sink>(&mut self, horizon: f64, sink: &mut S) -> Next {
        loop {
            if self.is_idle() {
                return Next::Idle;
            }
            let mut prefill = Prefill { preempted: self.preempt(), ..Prefill::default() };
            self.fill(&mut prefill);
            if self.decoding == 0 && prefill.tokens == 0 {
                match self.waiting.front().map(|&id| self.sequences[id as usize].request.visible) {
                    _ if prefill.preempted => continue,
                    Some(visible) if visible > self.now => return Next::Wait(visible),
                    _ => return Next::Idle,
                }
            }
            return Next::Run(self.run(&prefill, horizon, sink));
        }
    }

    /// Takes the last running sequences' places until the decoding ones can grow by one token each.
    fn preempt(&mut self) -> bool {
        let mut preempted = false;
        while self.decoding > 0 && self.cache.pinned() + self.decoding > self.cache.capacity() {
            let Some(id) = self.running.pop() else { break };
            preempted = true;
            self.counters.preemptions += 1;
            if self.sequences[id as usize].state == State::Decoding {
                self.leave_decoding(id);
                self.sequences[id as usize].last = Some(self.now);
            } else {
                self.prefilling.retain(|&other| other != id);
            }
            self.release(id);
            let sequence = &mut self.sequences[id as usize];
            sequence.state = State::Waiting;
            sequence.remaining = 0;
            sequence.request.visible = f64::NEG_INFINITY;
            self.waiting.push_front(id);
        }
        preempted
    }

    /// Spends the step's budget: decodes first, then chunks of started prompts, then new prompts in order of arrival.
    fn fill(&mut self, prefill: &mut Prefill) {
        let mut budget = self.hardware.scheduler.prefill_budget_tokens - self.decoding;
        let mut started = std::mem::take(&mut self.prefilling);
        started.retain(|&id| budget == 0 || !self.chunk(id, &mut budget, prefill));
        self.prefilling = started;
        if prefill.preempted {
            return;
        }
        let busy = self.decoding > 0 || !self.prefilling.is_empty() || !self.completing.is_empty();
        let seen = if self.hardware.scheduler.asynchronous && busy { self.previous } else { self.now };
        while let Some(&id) = self.waiting.front() {
            if budget == 0 || self.running.len() >= self.hardware.scheduler.max_sequences as usize {
                return;
            }
            if self.sequences[id as usize].request.visible > seen {
                prefill.lagging = true;
                return;
            }
            if !self.admit(id) {
                return;
            }
            self.waiting.pop_front();
            self.running.push(id);
            if !self.chunk(id, &mut budget, prefill) {
                self.prefilling.push(id);
            }
        }
    }

    /// Gives a sequence its chunk of the step; whether that completes its prompt.
    fn chunk(&mut self, id: u32, budget: &mut u32, prefill: &mut Prefill) -> bool {
        let sequence = &mut self.sequences[id as usize];
        let tokens = sequence.remaining.min(*budget);
        *budget -= tokens;
        prefill.tokens += tokens;
        prefill.attention += f64::from(tokens) * (f64::from(sequence.context) + f64::from(tokens) / 2.0);
        sequence.remaining -= tokens;
        sequence.context += tokens;
        let complete = sequence.remaining == 0;
        sequence.state = if complete { State::Completing } else { State::Prefilling };
        if complete {
            self.completing.push(id);
        }
        complete
    }

    /// Pins a waiting request's blocks if its whole prompt fits.
    fn admit(&mut self, id: u32) -> bool {
        let own = self.private_tokens(id);
        let sequence = &self.sequences[id as usize];
        let prompt = &sequence.request.prompt;
        let fit = self.cache.fit(&prompt.hashes);
        if self.cache.pinned() + fit.unpinned + own > self.cache.capacity() {
            return false;
        }
        let block = self.hardware.kv_cache.block_tokens;
        let total = prompt.tokens + sequence.output;
        let mut hit = fit.hit;
        let hashes = prompt.hashes.clone();
        if let Some(private) = sequence.private {
            if hit == self.shared_tokens(prompt) {
                hit += self.cache.private(private);
            }
            self.cache.take_private(private);
        }
        // The last block is always computed again: the next token's logits come from it.
        let hit = hit.min((total - 1) / block * block);
        let leaf = self.cache.pin(&hashes);
        self.cache.pin_private(own);
        self.counters.prefix_queries += u64::from(total);
        self.counters.prefix_hits += u64::from(hit);
        let sequence = &mut self.sequences[id as usize];
        if sequence.output == 0 {
            self.counters.prompt_tokens += u64::from(total);
        }
        (sequence.leaf, sequence.private) = (leaf, None);
        (sequence.remaining, sequence.context) = (total - hit, hit);
        true
    }

    /// Seconds of the next step without prefill.
    fn decode_seconds(&self) -> f64 {
        let step = &self.hardware.step;
        let running = self.running.len() as f64;
        step.base_seconds
            + step.per_sequence_seconds * running
            + step.per_sequence_squared_seconds * running * running
            + step.per_context_token_seconds * self.context as f64
            + step.per_unique_token_seconds * f64::from(self.cache.pinned())
    }

    fn run<S: Sink>(&mut self, prefill: &Prefill, horizon: f64, sink: &mut S) -> Stretch {
        let coefficients = self.hardware.step;
        let mut first = self.decode_seconds();
        let mut growth = 0.0;
        let mut steps = 1;
        if prefill.tokens > 0 {
            let hidden = coefficients.prefill_overlap * (f64::from(prefill.tokens) / FULL_OVERLAP_TOKENS).min(1.0);
            first = first * (1.0 - hidden)
                + coefficients.per_prefill_token_seconds * f64::from(prefill.tokens)
                + coefficients.per_prefill_token_context_seconds * prefill.attention;
        } else if !prefill.lagging && !prefill.preempted {
            let tokens = coefficients.per_context_token_seconds + coefficients.per_unique_token_seconds;
            growth = tokens * f64::from(self.decoding);
            steps = self.equal_steps(horizon - self.now, first, growth);
        }
        let more = (steps - 1) as f64;
        let seconds = steps as f64 * first + growth * steps as f64 * more / 2.0;
        let start = self.now;
        if self.decoding > 0 {
            sink.stretch(self.decoding, first, growth, steps);
        }
        let tokens = steps * u64::from(self.decoding);
        self.step += steps;
        self.context += tokens;
        self.cache.pin_private(u32::try_from(tokens).unwrap_or(u32::MAX));
        self.counters.generated_tokens += tokens;
        self.counters.busy_seconds += seconds;
        self.counters.steps += steps;
        self.now = start + seconds;
        self.previous = self.now - (first + growth * more);
        Stretch { start, end: self.now }
    }

    /// How many steps follow each other unchanged: until a sequence finishes, the cache is full, or the last step that
    /// starts within `time` seconds.
    fn equal_steps(&self, time: f64, first: f64, growth: f64) -> u64 {
        let Some(Reverse((finishes, _))) = self.finishing.peek() else { return 1 };
        let room = (self.cache.capacity() - self.cache.pinned()) / self.decoding;
        let steps = finishes.saturating_sub(self.step).min(u64::from(room));
        // Step i starts `i first + growth i (i - 1) / 2` seconds from now.
        let starts = if growth > 1e-15 {
            let linear = first - growth / 2.0;
            ((linear * linear + 2.0 * growth * time).sqrt() - linear) / growth
        } else {
            time / first
        };
        let within = if starts < 1e15 { starts.max(0.0) as u64 + 1 } else { u64::MAX };
        steps.min(within).max(1)
    }
}
