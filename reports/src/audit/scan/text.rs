//! Whether skipped strings could be text at all.

/// What is wrong with a string of other bytes.
pub const NOT_UTF8: &str = "a string is not UTF-8";

/// Checks a string that arrives in pieces.
#[derive(Debug, Default)]
pub struct Utf8 {
    /// The bytes of a character that began in the piece before.
    pending: Vec<u8>,
}

impl Utf8 {
    /// Takes the next piece; a character may continue in the one after.
    pub fn check(&mut self, mut text: &[u8]) -> std::result::Result<(), &'static str> {
        let (low, high) = text.iter().fold((0xff_u8, 0_u8), |(low, high), byte| (low.min(*byte), high.max(*byte)));
        if low < 0x20 {
            return Err("a string holds a control character");
        }
        if high < 0x80 && self.pending.is_empty() {
            return Ok(());
        }
        while let (false, Some((first, rest))) = (self.pending.is_empty(), text.split_first()) {
            self.pending.push(*first);
            text = rest;
            match std::str::from_utf8(&self.pending) {
                Ok(_) => self.pending.clear(),
                Err(error) if error.error_len().is_some() || self.pending.len() > 3 => return Err(NOT_UTF8),
                Err(_) => {}
            }
        }
        if let Err(error) = std::str::from_utf8(text) {
            if error.error_len().is_some() {
                return Err(NOT_UTF8);
            }
            self.pending.extend_from_slice(&text[error.valid_up_to()..]);
        }
        Ok(())
    }

    /// Whether no character is left unfinished.
    pub fn complete(&self) -> bool {
        self.pending.is_empty()
    }
}
