//! A prefix cache: blocks of prompts, counted while in use, kept in least-recently-used order afterwards.
//!
//! Blocks are held in segments, runs of consecutive blocks that no known prompt enters or leaves in between; a prompt
//! that does splits the run. Since block hashes are chained, comparing the last block of a run compares all of it, and
//! a prompt of hundreds of blocks is matched in a few steps. Both the model server's KV cache (in tokens) and the
//! picker's index (in blocks) are such caches.

mod identity;
mod segment;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use identity::Identity;
use segment::{NONE, Segment};

/// A prompt as a cache sees it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// All tokens, the tail that fills no block included.
    pub tokens: u32,
    /// Chained hashes of the full blocks.
    pub hashes: Arc<[u64]>,
}

/// What a prompt would find and need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Tokens from the prompt's start that are cached or being computed.
    pub hit: u32,
    /// Tokens of full blocks that nobody has pinned yet.
    pub unpinned: u32,
}

/// A cache of prompt prefixes with a capacity.
#[derive(Debug)]
pub struct Cache {
    unit: u32,
    capacity: u32,
    pinned: u32,
    idle: u32,
    segments: Vec<Segment>,
    free: Vec<u32>,
    index: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    oldest: u32,
    newest: u32,
}

/// A private run of blocks in the cache, such as a request's own output; outdated once evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Private {
    segment: u32,
    generation: u32,
}

/// The end of a pinned prefix.
pub type Leaf = Option<u32>;

impl Cache {
    /// An empty cache of `capacity` tokens in blocks of `unit` tokens.
    pub fn new(capacity: u32, unit: u32) -> Self {
        Self {
            unit,
            capacity,
            pinned: 0,
            idle: 0,
            segments: Vec::new(),
            free: Vec::new(),
            index: HashMap::default(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Tokens in use.
    pub fn pinned(&self) -> u32 {
        self.pinned
    }

    /// Tokens kept for reuse, evicted when their room is needed.
    pub fn idle(&self) -> u32 {
        self.idle
    }

    /// Tokens that fit.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// What `hashes` would find and need; changes nothing.
    pub fn fit(&self, hashes: &[u64]) -> Fit {
        let mut fit = Fit::default();
        let (mut at, mut unbroken) = (0, true);
        while let Some(&segment) = hashes.get(at).and_then(|hash| self.index.get(hash)) {
            let segment = &self.segments[segment as usize];
            let common = segment.common(&hashes[at..]);
            if common == 0 {
                break;
            }
            let tokens = common * self.unit;
            let there = if segment.pins > 0 { tokens } else { segment.resident.min(tokens) };
            if unbroken {
                fit.hit += there;
                unbroken = there == tokens;
            }
            if segment.pins == 0 {
                fit.unpinned += tokens;
            }
            at += common as usize;
            if common < segment.blocks {
                break;
            }
        }
        fit.unpinned += u32::try_from(hashes.len() - at).unwrap_or(u32::MAX) * self.unit;
        fit
    }

    /// Pins all blocks of `hashes`, known or new, and evicts what has to make room.
    pub fn pin(&mut self, hashes: &Arc<[u64]>) -> Leaf {
        let (mut at, mut parent) = (0, NONE);
        while let Some(&hash) = hashes.get(at) {
            let known = self.index.get(&hash).copied();
            let common = known.map_or(0, |segment| self.segments[segment as usize].common(&hashes[at..]));
            let segment = match known {
                Some(segment) if common == self.segments[segment as usize].blocks => segment,
                Some(segment) if common > 0 => self.split(segment, common),
                _ => self.add(hashes, at, parent),
            };
            self.pin_segment(segment);
            at += self.segments[segment as usize].blocks as usize;
            parent = segment;
        }
        self.shrink();
        (parent != NONE).then_some(parent)
    }

    /// Releases a pinned prefix of which the first `computed` tokens exist; what nobody else uses becomes idle, the
    /// prefix's end before its beginning.
    pub fn unpin(&mut self, leaf: Leaf, computed: u32) {
        let mut at = leaf.unwrap_or(NONE);
        while at != NONE {
            let segment = &mut self.segments[at as usize];
            let tokens = segment.blocks * self.unit;
            let there = computed.saturating_sub(segment.start * self.unit).min(tokens);
            segment.resident = segment.resident.max(there / self.unit * self.unit);
            segment.pins -= 1;
            let parent = segment.parent;
            if segment.pins == 0 {
                let resident = segment.resident;
                self.pinned -= tokens;
                if resident > 0 {
                    self.idle += resident;
                    self.append(at);
                } else {
                    self.discard(at);
                }
            }
            at = parent;
        }
    }

    /// Pins `tokens` that belong to one request only.
    pub fn pin_private(&mut self, tokens: u32) {
        self.pinned += tokens;
        self.shrink();
    }

    /// Releases `tokens` of one request; its full blocks become idle under the returned name.
    pub fn unpin_private(&mut self, tokens: u32) -> Option<Private> {
        self.pinned -= tokens;
        let resident = tokens / self.unit * self.unit;
        if resident == 0 {
            return None;
        }
        let segment = self.slot();
        self.segments[segment as usize].resident = resident;
        self.idle += resident;
        self.append(segment);
        Some(Private { segment, generation: self.segments[segment as usize].generation })
    }

    /// Tokens of a private run that are still there.
    pub fn private(&self, private: Private) -> u32 {
        let segment = &self.segments[private.segment as usize];
        if segment.generation == private.generation { segment.resident } else { 0 }
    }

    /// Takes a private run out of the cache; its tokens are pinned anew with [`Cache::pin_private`].
    pub fn take_private(&mut self, private: Private) {
        if self.private(private) > 0 {
            self.remove(private.segment);
            self.idle -= std::mem::take(&mut self.segments[private.segment as usize].resident);
            self.discard(private.segment);
        }
    }

    /// Forgets everything that is not in use.
    pub fn clear(&mut self) {
        while self.oldest != NONE {
            self.evict_from_oldest(u32::MAX);
        }
    }

    /// Evicts the oldest idle blocks until everything fits.
    fn shrink(&mut self) {
        while self.oldest != NONE && self.pinned + self.idle > self.capacity {
            self.evict_from_oldest(self.pinned + self.idle - self.capacity);
        }
    }

    fn evict_from_oldest(&mut self, excess: u32) {
        let at = self.oldest;
        let segment = &mut self.segments[at as usize];
        let taken = segment.resident.min(excess.div_ceil(self.unit).saturating_mul(self.unit));
        segment.resident -= taken;
        self.idle -= taken;
        if segment.resident == 0 {
            self.remove(at);
            self.discard(at);
        }
    }

    fn pin_segment(&mut self, at: u32) {
        let segment = &mut self.segments[at as usize];
        segment.pins += 1;
        if segment.pins == 1 {
            self.pinned += segment.blocks * self.unit;
            let resident = segment.resident;
            if resident > 0 {
                self.idle -= resident;
                self.remove(at);
            }
        }
    }

    /// A new segment with the blocks of `hashes` from `at` on.
    fn add(&mut self, hashes: &Arc<[u64]>, at: usize, parent: u32) -> u32 {
        let added = self.slot();
        let segment = &mut self.segments[added as usize];
        segment.hashes = Some(Arc::clone(hashes));
        segment.start = u32::try_from(at).unwrap_or(u32::MAX);
        segment.blocks = u32::try_from(hashes.len() - at).unwrap_or(u32::MAX);
        segment.parent = parent;
        if parent != NONE {
            self.segments[parent as usize].children += 1;
        }
        self.index.insert(hashes[at], added);
        added
    }

    /// Splits a segment after `blocks` blocks and returns the new front part. The rest keeps its place, so that the
    /// leaves that running requests hold stay right.
    fn split(&mut self, at: u32, blocks: u32) -> u32 {
        let front = self.slot();
        let rest = &mut self.segments[at as usize];
        let (hashes, start, parent, pins) = (rest.hashes.clone(), rest.start, rest.parent, rest.pins);
        let listed = pins == 0 && rest.resident > 0;
        let resident = rest.resident.min(blocks * self.unit);
        rest.start += blocks;
        rest.blocks -= blocks;
        rest.resident -= resident;
        rest.parent = front;
        let rest_resident = rest.resident;
        if let Some(hashes) = &hashes {
            self.index.insert(hashes[start as usize], front);
            self.index.insert(hashes[(start + blocks) as usize], at);
        }
        let segment = &mut self.segments[front as usize];
        *segment = Segment { hashes, start, blocks, resident, pins, parent, children: 1, ..*segment };
        if listed {
            self.insert_after(at, front);
            if rest_resident == 0 {
                self.remove(at);
                self.discard(at);
            }
        }
        front
    }

    /// An empty segment.
    fn slot(&mut self) -> u32 {
        let empty = |generation| Segment {
            hashes: None,
            start: 0,
            blocks: 0,
            resident: 0,
            pins: 0,
            parent: NONE,
            children: 0,
            older: NONE,
            newer: NONE,
            generation,
        };
        match self.free.pop() {
            Some(at) => {
                let generation = self.segments[at as usize].generation;
                self.segments[at as usize] = empty(generation);
                at
            }
            None => {
                self.segments.push(empty(0));
                u32::try_from(self.segments.len() - 1).unwrap_or(NONE)
            }
        }
    }

    /// Frees a segment that holds nothing, and then its parents that only waited for it.
    fn discard(&mut self, mut at: u32) {
        while at != NONE {
            let segment = &mut self.segments[at as usize];
            if segment.pins > 0 || segment.resident > 0 || segment.children > 0 {
                return;
            }
            segment.generation = segment.generation.wrapping_add(1);
            let (parent, start) = (segment.parent, segment.start as usize);
            if let Some(hashes) = segment.hashes.take() {
                self.index.remove(&hashes[start]);
            }
            self.free.push(at);
            if parent != NONE {
                self.segments[parent as usize].children -= 1;
            }
            at = parent;
        }
    }

    fn append(&mut self, at: u32) {
        let newest = self.newest;
        let segment = &mut self.segments[at as usize];
        (segment.older, segment.newer) = (newest, NONE);
        if newest == NONE {
            self.oldest = at;
        } else {
            self.segments[newest as usize].newer = at;
        }
        self.newest = at;
    }

    fn insert_after(&mut self, at: u32, added: u32) {
        let newer = self.segments[at as usize].newer;
        self.segments[at as usize].newer = added;
        (self.segments[added as usize].older, self.segments[added as usize].newer) = (at, newer);
        if newer == NONE {
            self.newest = added;
        } else {
            self.segments[newer as usize].older = added;
        }
    }

    fn remove(&mut self, at: u32) {
        let Segment { older, newer, .. } = self.segments[at as usize];
        if older == NONE {
            self.oldest = newer;
        } else {
            self.segments[older as usize].newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.segments[newer as usize].older = older;
        }
    }
}

#[cfg(test)]
mod tests;
