//! A run of blocks in a cache.

use std::sync::Arc;

/// No segment.
pub(super) const NONE: u32 = u32::MAX;

/// Consecutive blocks that no known prompt enters or leaves in between.
#[derive(Debug)]
pub(super) struct Segment {
    /// The prompt that brought the blocks; none for private ones and free slots.
    pub(super) hashes: Option<Arc<[u64]>>,
    pub(super) start: u32,
    pub(super) blocks: u32,
    /// Tokens, from the first block on, whose content is there; all of them count while pinned.
    pub(super) resident: u32,
    pub(super) pins: u32,
    pub(super) parent: u32,
    pub(super) children: u32,
    pub(super) older: u32,
    pub(super) newer: u32,
    pub(super) generation: u32,
}

impl Segment {
    /// How many blocks from the front agree with `hashes`; chained hashes agree up to one point.
    pub(super) fn common(&self, hashes: &[u64]) -> u32 {
        let Some(own) = &self.hashes else { return 0 };
        let own = &own[self.start as usize..(self.start + self.blocks) as usize];
        let most = own.len().min(hashes.len());
        if own[most - 1] == hashes[most - 1] {
            return u32::try_from(most).unwrap_or(u32::MAX);
        }
        let (mut agree, mut differ) = (0, most);
        while differ - agree > 1 {
            let middle = usize::midpoint(agree, differ);
            if own[middle - 1] == hashes[middle - 1] {
                agree = middle;
            } else {
                differ = middle;
            }
        }
        u32::try_from(agree).unwrap_or(u32::MAX)
    }
}
