//! Chained block hashes: a block's hash covers everything before it, so equal hashes mean equal prefixes.

use std::sync::Arc;

use xxhash_rust::xxh64::{Xxh64, xxh64};

use super::cache::Prompt;

/// Bytes that the picker packs into one pseudo-token.
pub const PSEUDO_TOKEN_BYTES: usize = 4;

/// A server's view of a prompt: each whitespace-separated word is a token, hashed in full blocks of `block` words.
pub fn words(text: &str, block: u32) -> Prompt {
    let mut hashes = Vec::with_capacity(text.len() / 5 / block as usize + 1);
    let (mut tokens, mut in_block, mut hasher) = (0_u32, 0, Xxh64::new(0));
    for word in text.split_ascii_whitespace() {
        hasher.update(word.as_bytes());
        hasher.update(b" ");
        tokens += 1;
        in_block += 1;
        if in_block == block {
            let hash = hasher.digest();
            hashes.push(hash);
            hasher = Xxh64::new(hash);
            in_block = 0;
        }
    }
    Prompt { tokens, hashes: hashes.into() }
}

/// A picker's view of a prompt: 4 bytes are a pseudo-token, hashed in blocks of `block` pseudo-tokens, at most
/// `most_blocks`; the first hash covers the model's name. A tail shorter than a block is a block too.
pub fn pseudo_tokens(model: &str, text: &[u8], block: u32, most_blocks: usize) -> Prompt {
    let bytes = block as usize * PSEUDO_TOKEN_BYTES;
    let mut previous = xxh64(model.as_bytes(), 0);
    let hashes: Arc<[u64]> = text
        .chunks(bytes)
        .take(most_blocks)
        .map(|content| {
            let mut hasher = Xxh64::new(0);
            hasher.update(&xxh64(content, 0).to_le_bytes());
            hasher.update(&previous.to_le_bytes());
            previous = hasher.digest();
            previous
        })
        .collect();
    let tokens = text.len().div_ceil(PSEUDO_TOKEN_BYTES);
    Prompt { tokens: u32::try_from(tokens).unwrap_or(u32::MAX), hashes }
}

/// Chained hashes of `blocks` blocks of content that only needs a name, continuing after `previous`.
pub fn named(previous: u64, name: u64, blocks: usize) -> impl Iterator<Item = u64> {
    let mut hash = xxh64(&name.to_le_bytes(), previous);
    std::iter::repeat_with(move || {
        hash = xxh64(&hash.to_le_bytes(), 1);
        hash
    })
    .take(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_share_hashes_up_to_the_block_in_which_they_differ() {
        let one = words("a b c d e f g h", 2);
        let two = words("a b c d x f g h", 2);
        assert_eq!(one.tokens, 8);
        assert_eq!(one.hashes[..2], two.hashes[..2]);
        assert_ne!(one.hashes[2], two.hashes[2]);
        assert_ne!(one.hashes[3], two.hashes[3], "a later block's hash covers the difference before it");
    }

    #[test]
    fn words_are_not_confused_with_their_concatenation() {
        assert_ne!(words("ab c", 2).hashes, words("a bc", 2).hashes);
    }

    #[test]
    fn a_tail_shorter_than_a_block_is_a_block_to_the_picker_and_none_to_the_server() {
        let prompt = words("a b c", 2);
        assert_eq!((prompt.tokens, prompt.hashes.len()), (3, 1));
        let prompt = pseudo_tokens("m", &[b'x'; 257], 64, 100);
        assert_eq!((prompt.tokens, prompt.hashes.len()), (65, 2));
        assert_eq!(pseudo_tokens("m", &[b'x'; 257], 64, 1).hashes.len(), 1, "no more blocks than are looked at");
    }

    #[test]
    fn a_laptop_prompt_of_a_known_group_matches_23_of_28_picker_blocks() {
        let group: Vec<_> = (0..1200).map(crate::tokenizer::word).collect();
        let prompt = |question: usize| {
            let question = (0..192).map(|word| crate::tokenizer::word(2000 + question * 192 + word));
            let words: Vec<_> = group.iter().cloned().chain(question).collect();
            words.join(" ")
        };
        let hashes = |question| pseudo_tokens("m", prompt(question).as_bytes(), 64, 2048).hashes;
        let (one, two) = (hashes(0), hashes(1));
        assert_eq!(one.len(), 28);
        assert_eq!(one.iter().zip(two.iter()).filter(|(one, two)| one == two).count(), 23);
        assert_eq!(words(&prompt(0), 16).tokens, 1392);
        assert_eq!(words(&prompt(0), 16).hashes.len(), 87);
    }

    #[test]
    fn the_model_name_is_part_of_the_picker_s_hashes() {
        let text = [b'x'; 256];
        assert_ne!(pseudo_tokens("a", &text, 64, 9).hashes, pseudo_tokens("b", &text, 64, 9).hashes);
    }
}
