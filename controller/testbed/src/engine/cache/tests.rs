use super::*;
use crate::engine::hash;

/// A prompt whose parts are named by numbers, each with its own length in blocks.
fn prompt(parts: &[(u64, usize)]) -> Arc<[u64]> {
    let mut hashes: Vec<u64> = Vec::new();
    for &(name, blocks) in parts {
        let previous = hashes.last().copied().unwrap_or_default();
        hashes.extend(hash::named(previous, name, blocks));
    }
    hashes.into()
}

fn fit(hit: u32, unpinned: u32) -> Fit {
    Fit { hit, unpinned }
}

#[test]
fn a_finished_prompt_is_found_by_prompts_that_share_its_beginning() {
    let mut cache = Cache::new(1000, 16);
    let (one, two) = (prompt(&[(1, 10), (2, 5)]), prompt(&[(1, 10), (3, 5)]));
    assert_eq!(cache.fit(&one), fit(0, 240));
    let leaf = cache.pin(&one);
    assert_eq!(cache.pinned(), 240);
    cache.unpin(leaf, 240);
    assert_eq!((cache.pinned(), cache.idle()), (0, 240));
    assert_eq!(cache.fit(&two), fit(160, 240));
    let leaf = cache.pin(&two);
    assert_eq!((cache.pinned(), cache.idle()), (240, 80), "the shared beginning is held once");
    cache.unpin(leaf, 240);
    assert_eq!(cache.idle(), 320);
    assert_eq!(cache.fit(&one), fit(240, 240));
}

#[test]
fn a_prompt_that_ends_inside_a_known_one_is_a_full_hit() {
    let mut cache = Cache::new(1000, 16);
    let leaf = cache.pin(&prompt(&[(1, 10)]));
    cache.unpin(leaf, 160);
    let short: Arc<[u64]> = prompt(&[(1, 10)])[..4].into();
    assert_eq!(cache.fit(&short), fit(64, 64));
    let leaf = cache.pin(&short);
    assert_eq!((cache.pinned(), cache.idle()), (64, 96));
    cache.unpin(leaf, 64);
    assert_eq!(cache.fit(&prompt(&[(1, 10)])), fit(160, 160));
}

#[test]
fn shared_blocks_stay_pinned_until_their_last_user_leaves() {
    let mut cache = Cache::new(1000, 16);
    let one = cache.pin(&prompt(&[(1, 10), (2, 5)]));
    let two = cache.pin(&prompt(&[(1, 10), (3, 5)]));
    assert_eq!(cache.pinned(), 320);
    cache.unpin(one, 240);
    assert_eq!((cache.pinned(), cache.idle()), (240, 80));
    cache.unpin(two, 240);
    assert_eq!((cache.pinned(), cache.idle()), (0, 320));
}

#[test]
fn eviction_takes_the_oldest_prompt_first_and_its_end_before_its_beginning() {
    let mut cache = Cache::new(320, 16);
    for parts in [[(1, 6), (2, 4)], [(3, 6), (4, 4)]] {
        let leaf = cache.pin(&prompt(&parts));
        cache.unpin(leaf, 160);
    }
    cache.pin_private(17);
    assert_eq!(cache.fit(&prompt(&[(1, 6), (2, 4)])).hit, 128, "two blocks made room for 17 tokens");
    assert_eq!(cache.fit(&prompt(&[(3, 6), (4, 4)])).hit, 160);
    cache.pin_private(200);
    assert_eq!(cache.fit(&prompt(&[(1, 6), (2, 4)])).hit, 0);
    assert_eq!(cache.fit(&prompt(&[(3, 6), (4, 4)])).hit, 96);
}

#[test]
fn only_the_computed_part_of_an_abandoned_prompt_is_kept() {
    let mut cache = Cache::new(1000, 16);
    let leaf = cache.pin(&prompt(&[(1, 10)]));
    cache.unpin(leaf, 70);
    assert_eq!(cache.fit(&prompt(&[(1, 10)])), fit(64, 160));
    let leaf = cache.pin(&prompt(&[(9, 10)]));
    cache.unpin(leaf, 0);
    assert_eq!((cache.idle(), cache.pinned()), (64, 0));
}

#[test]
fn private_blocks_can_be_taken_back_until_they_are_evicted() {
    let mut cache = Cache::new(160, 16);
    cache.pin_private(40);
    let private = cache.unpin_private(40).unwrap();
    assert_eq!(cache.private(private), 32);
    cache.take_private(private);
    assert_eq!((cache.idle(), cache.private(private)), (0, 0));
    cache.pin_private(40);
    let private = cache.unpin_private(40).unwrap();
    cache.pin_private(160);
    assert_eq!(cache.private(private), 0);
    cache.take_private(private);
    assert_eq!(cache.idle(), 0);
}

#[test]
fn clearing_forgets_idle_blocks_and_keeps_pinned_ones() {
    let mut cache = Cache::new(1000, 16);
    let used = cache.pin(&prompt(&[(1, 10), (2, 5)]));
    let idle = cache.pin(&prompt(&[(1, 10), (3, 5)]));
    cache.unpin(idle, 240);
    cache.clear();
    assert_eq!((cache.pinned(), cache.idle()), (240, 0));
    assert_eq!(cache.fit(&prompt(&[(1, 10), (3, 5)])), fit(160, 80));
    cache.unpin(used, 240);
    assert_eq!(cache.idle(), 240);
}

/// Compares with a plain model that holds every block by itself.
#[test]
fn random_traffic_matches_a_block_by_block_model() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(7);
    let mut cache = Cache::new(40, 1);
    let mut model = BlockModel { capacity: 40, ..BlockModel::default() };
    let mut held: Vec<(Leaf, Arc<[u64]>)> = Vec::new();
    for round in 0..20_000 {
        let parts: Vec<_> =
            (0..random.random_range(1..4)).map(|_| (random.random_range(0..3), random.random_range(1..4))).collect();
        let hashes = prompt(&parts);
        let fitted = cache.fit(&hashes);
        assert_eq!((fitted.hit, fitted.unpinned), model.fit(&hashes), "round {round}");
        if cache.pinned() + fitted.unpinned <= 40 && held.len() < 3 {
            held.push((cache.pin(&hashes), Arc::clone(&hashes)));
            model.pin(&hashes);
        } else if !held.is_empty() {
            let (leaf, hashes) = held.remove(random.random_range(0..held.len()));
            cache.unpin(leaf, u32::MAX);
            model.unpin(&hashes);
        }
        assert_eq!(
            (cache.pinned() as usize, cache.idle() as usize),
            (model.pins.len(), model.idle.len()),
            "round {round}"
        );
    }
}

#[derive(Default)]
struct BlockModel {
    capacity: usize,
    pins: HashMap<u64, u32>,
    /// Oldest first.
    idle: Vec<u64>,
}

impl BlockModel {
    fn fit(&self, hashes: &[u64]) -> (u32, u32) {
        let there = |hash| self.pins.contains_key(hash) || self.idle.contains(hash);
        let hit = hashes.iter().take_while(|hash| there(hash)).count();
        let unpinned = hashes.iter().filter(|hash| !self.pins.contains_key(hash)).count();
        (u32::try_from(hit).unwrap(), u32::try_from(unpinned).unwrap())
    }

    fn pin(&mut self, hashes: &[u64]) {
        for hash in hashes {
            self.idle.retain(|other| other != hash);
            *self.pins.entry(*hash).or_default() += 1;
        }
        let excess = (self.pins.len() + self.idle.len()).saturating_sub(self.capacity);
        self.idle.drain(..excess);
    }

    fn unpin(&mut self, hashes: &[u64]) {
        for hash in hashes.iter().rev() {
            let pins = self.pins.get_mut(hash).unwrap();
            *pins -= 1;
            if *pins == 0 {
                self.pins.remove(hash);
                self.idle.push(*hash);
            }
        }
    }
}
