//! The tokenizer that clients of simulated servers use: WordLevel over whitespace, one word a token.
//!
//! Any sequence of token ids decodes to text that encodes to the same number of tokens again, which byte-level
//! tokenizers cannot promise; words are 4 letters, so that a token is 5 bytes of text with its space.

use std::path::Path;

use serde_json::json;

/// How many words the vocabulary holds, besides the unknown word.
pub const WORDS: usize = 8192;

/// An answer's words lie this far apart, so that a chunk that is lost or out of order shows.
pub const ANSWER_STRIDE: usize = 7;
const UNKNOWN: &str = "[UNK]";

/// The `index`-th word: four lower-case letters, all different for indices below 26^4.
pub fn word(index: usize) -> String {
    let letter = |place: u32| char::from(b'a' + u8::try_from(index / 26_usize.pow(place) % 26).unwrap_or_default());
    (0..4).rev().map(letter).collect()
}

/// Writes `tokenizer.json` and `tokenizer_config.json` into `folder`, which must exist, for Hugging Face's loaders.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path) -> std::io::Result<()> {
    let mut vocabulary = serde_json::Map::new();
    vocabulary.insert(UNKNOWN.to_owned(), 0.into());
    for index in 0..WORDS {
        vocabulary.insert(word(index), (index + 1).into());
    }
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [{
            "id": 0, "content": UNKNOWN, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true
        }],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    });
    let config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": UNKNOWN,
        "model_max_length": 1_000_000,
        "clean_up_tokenization_spaces": false,
    });
    fs_err::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
    fs_err::write(folder.join("tokenizer_config.json"), config.to_string())
}
