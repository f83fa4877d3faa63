//! The endpoint picker: filters, scorers and a picker over what it knows of each server.
//!
//! It carries out a [`Policy`] as llm-d-router v0.9.0 does: producers first (prefix matches, tokens in flight), then the
//! profile's filters and scorers in order, then the highest weighted score with ties at random.

use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::config::Policy;
use crate::config::hardware::KvCache;
use crate::config::policy::{ApproxPrefixCache, Kind, PrefixCacheAffinity};

use super::cache::{Cache, Prompt};

/// Output tokens that the load producer expects for each prompt token.
const OUTPUT_RATIO: f64 = 1.5;

/// The choice for one request, and what it put in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The server's number.
    pub server: usize,
    /// Blocks of the prompt that the server was believed to hold.
    pub matched_blocks: u32,
    /// Blocks of the prompt.
    pub blocks: u32,
    /// Tokens in flight until the response begins.
    pub prompt_load: u64,
    /// Tokens in flight until the response ends.
    pub output_load: u64,
}

/// What the picker knows of one server.
#[derive(Debug)]
struct Endpoint {
    /// Prefixes that requests sent there began with, in blocks.
    index: Option<Cache>,
    inflight: u64,
    waiting: f64,
    usage: f64,
    available: bool,
    matched: u32,
    /// Pseudo-tokens of the request at hand that it would have to compute.
    uncached: u64,
    score: f64,
}

/// An endpoint picker in front of a fixed set of servers.
#[derive(Debug)]
pub struct Picker {
    endpoints: Vec<Endpoint>,
    stages: Vec<(Kind, f64)>,
    prefix: Option<ApproxPrefixCache>,
    /// Whether tokens in flight are counted, and whether output counts too.
    load: Option<bool>,
    candidates: Vec<usize>,
    random: Pcg64Mcg,
}

impl Picker {
    /// A picker that carries out `policy` for `servers` servers; `seed` decides ties.
    pub fn new(policy: &Policy, servers: usize, seed: u64) -> Self {
        let prefix = policy.prefix_producer();
        let endpoint = |_| Endpoint {
            index: prefix.as_ref().map(|prefix| Cache::new(prefix.lru_capacity_per_server, 1)),
            inflight: 0,
            waiting: 0.0,
            usage: 0.0,
            available: true,
            matched: 0,
            uncached: 0,
            score: 0.0,
        };
        let stage = |&(plugin, weight): &(usize, f64)| {
            let plugin: &crate::config::policy::Plugin = &policy.plugins[plugin];
            (plugin.kind.clone(), weight)
        };
        Self {
            endpoints: (0..servers).map(endpoint).collect(),
            stages: policy.profile.iter().map(stage).collect(),
            load: policy.load_producer().map(|load| load.add_estimated_output_tokens),
            prefix,
            candidates: Vec::with_capacity(servers),
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Takes in what servers say of their KV caches, all alike, before the first choice: with `autoTune` the index
    /// remembers as many blocks for each server as its cache has, in blocks of the cache's size (64 pseudo-tokens at least).
    pub fn tune(&mut self, cache: &KvCache) {
        let Some(prefix) = self.prefix.as_mut().filter(|prefix| prefix.auto_tune) else { return };
        prefix.block_size_tokens = cache.block_tokens;
        prefix.lru_capacity_per_server = cache.capacity_tokens / cache.block_tokens;
        for endpoint in &mut self.endpoints {
            endpoint.index = Some(Cache::new(prefix.lru_capacity_per_server, 1));
        }
    }

    /// Pseudo-tokens of a block, and blocks of a prompt that are looked at, for [`super::hash::pseudo_tokens`].
    pub fn blocks(&self) -> (u32, usize) {
        self.prefix.as_ref().map_or((64, 0), |prefix| (prefix.block_tokens(), prefix.most_blocks()))
    }

    /// Takes in what a server reported: requests in its queue, used part of its KV cache.
    pub fn observe(&mut self, server: usize, waiting: usize, usage: f64) {
        let endpoint = &mut self.endpoints[server];
        (endpoint.waiting, endpoint.usage) = (waiting as f64, usage);
    }

    /// Says whether a server answers; one that does not is not chosen while another does.
    pub fn set_available(&mut self, server: usize, available: bool) {
        self.endpoints[server].available = available;
    }

    /// Servers that answer.
    pub fn available(&self) -> usize {
        self.endpoints.iter().filter(|endpoint| endpoint.available).count()
    }

    /// Whether a choice depends on what servers report.
    pub fn observes(&self) -> bool {
        self.stages.iter().any(|(kind, _)| matches!(kind, Kind::QueueScorer | Kind::KvCacheUtilizationScorer))
    }

    /// Tokens in flight to a server.
    pub fn inflight(&self, server: usize) -> u64 {
        self.endpoints[server].inflight
    }

    /// Chooses a server for a prompt, remembers the choice, and counts its tokens in flight.
    pub fn pick(&mut self, prompt: &Prompt) -> Pick {
        self.produce(prompt);
        self.candidates.clear();
        let nobody = self.available() == 0;
        let endpoints = &self.endpoints;
        self.candidates.extend((0..endpoints.len()).filter(|&server| nobody || endpoints[server].available));
        let stages = std::mem::take(&mut self.stages);
        for (kind, weight) in &stages {
            self.carry_out(kind, *weight, prompt);
        }
        self.stages = stages;
        let server = self.highest();
        self.record(server, prompt)
    }

    /// A response began: its prompt's tokens are no longer in flight.
    pub fn begun(&mut self, pick: &Pick) {
        self.endpoints[pick.server].inflight -= pick.prompt_load;
    }

    /// A response ended, or its request failed: its output's tokens are no longer in flight.
    pub fn ended(&mut self, pick: &Pick) {
        self.endpoints[pick.server].inflight -= pick.output_load;
    }

    /// Forgets which server was sent which prefix.
    pub fn clear_index(&mut self) {
        for endpoint in &mut self.endpoints {
            if let Some(index) = &mut endpoint.index {
                index.clear();
            }
        }
    }

    fn produce(&mut self, prompt: &Prompt) {
        let block = self.prefix.as_ref().map_or(1, ApproxPrefixCache::block_tokens);
        for endpoint in &mut self.endpoints {
            endpoint.score = 0.0;
            endpoint.matched = endpoint.index.as_ref().map_or(0, |index| index.fit(&prompt.hashes).hit);
            // A tail that fills no block counts as a whole one; what lies beyond the indexed blocks is added.
            let blocks = |blocks: usize| blocks as u64 * u64::from(block);
            let indexed = blocks(prompt.hashes.len());
            endpoint.uncached =
                indexed - blocks(endpoint.matched as usize) + u64::from(prompt.tokens).saturating_sub(indexed);
        }
    }

    fn carry_out(&mut self, kind: &Kind, weight: f64, prompt: &Prompt) {
        let blocks = prompt.hashes.len().max(1) as f64;
        match kind {
            Kind::PrefixCacheAffinityFilter(filter) => self.keep_holders(filter, blocks),
            Kind::TokenLoadScorer(scorer) => {
                let threshold = scorer.queue_threshold_tokens as f64;
                self.score(weight, |endpoint| {
                    1.0 - ((endpoint.inflight + endpoint.uncached) as f64).min(threshold) / threshold
                });
            }
            Kind::QueueScorer => {
                let waiting = |&endpoint: &usize| self.endpoints[endpoint].waiting;
                let longest = self.candidates.iter().map(waiting).fold(f64::NEG_INFINITY, f64::max);
                let shortest = self.candidates.iter().map(waiting).fold(f64::INFINITY, f64::min);
                let span = longest - shortest;
                self.score(weight, |endpoint| if span > 0.0 { (longest - endpoint.waiting) / span } else { 1.0 });
            }
            Kind::KvCacheUtilizationScorer => self.score(weight, |endpoint| 1.0 - endpoint.usage),
            Kind::PrefixCacheScorer(_) => self.score(weight, |endpoint| f64::from(endpoint.matched) / blocks),
            Kind::ApproxPrefixCacheProducer(_)
            | Kind::InflightLoadProducer(_)
            | Kind::MaxScorePicker(_)
            | Kind::Plumbing => {}
        }
    }

    fn score(&mut self, weight: f64, score: impl Fn(&Endpoint) -> f64) {
        for &candidate in &self.candidates {
            let endpoint = &mut self.endpoints[candidate];
            endpoint.score += weight * score(endpoint);
        }
    }

    /// Keeps the candidates that hold the prefix, unless the best of them is too far behind the best of the others.
    fn keep_holders(&mut self, filter: &PrefixCacheAffinity, blocks: f64) {
        if self.candidates.len() <= 1 || filter.affinity_threshold <= 0.0 {
            return;
        }
        if filter.exploration_probability > 0.0 && self.random.random::<f64>() < filter.exploration_probability {
            return;
        }
        let holds = |endpoint: &Endpoint| f64::from(endpoint.matched) / blocks >= filter.affinity_threshold;
        let (mut holders, mut others) = (f64::INFINITY, f64::INFINITY);
        for &candidate in &self.candidates {
            let endpoint = &self.endpoints[candidate];
            let best = if holds(endpoint) { &mut holders } else { &mut others };
            *best = best.min(endpoint.inflight as f64);
        }
        if holders.is_infinite() {
            return;
        }
        if filter.max_ttft_penalty_ms > 0.0 && others.is_finite() {
            let behind = (holders - others) / filter.peak_prefill_throughput * 1000.0;
            if behind > filter.max_ttft_penalty_ms {
                return;
            }
        }
        let endpoints = &self.endpoints;
        self.candidates.retain(|&candidate| holds(&endpoints[candidate]));
    }

    /// One of the candidates with the highest score.
    fn highest(&mut self) -> usize {
        let score = |&candidate: &usize| self.endpoints[candidate].score;
        let highest = self.candidates.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
        let ties = self.candidates.iter().filter(|candidate| score(candidate) >= highest).count();
        let chosen = if ties > 1 { self.random.random_range(0..ties) } else { 0 };
        let mut best = self.candidates.iter().filter(|candidate| score(candidate) >= highest);
        best.nth(chosen).copied().unwrap_or(0)
    }

    fn record(&mut self, server: usize, prompt: &Prompt) -> Pick {
        let endpoint = &mut self.endpoints[server];
        if let Some(index) = &mut endpoint.index {
            let leaf = index.pin(&prompt.hashes);
            index.unpin(leaf, u32::MAX);
        }
        let (prompt_load, output_load) = match self.load {
            None => (0, 0),
            Some(false) => (endpoint.uncached, 0),
            Some(true) => (endpoint.uncached, (f64::from(prompt.tokens) * OUTPUT_RATIO).round() as u64),
        };
        endpoint.inflight += prompt_load + output_load;
        let blocks = u32::try_from(prompt.hashes.len()).unwrap_or(u32::MAX);
        Pick { server, matched_blocks: endpoint.matched, blocks, prompt_load, output_load }
    }
}
