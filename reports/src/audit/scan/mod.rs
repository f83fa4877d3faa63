//! A pull scanner over JSON that never holds more than one window of it.
//!
//! Per-request files reach several GB and are mostly prompts of tens of kilobytes, so what is not wanted is passed over
//! with vector searches and without being stored; `serde_json` from a reader looks at every byte of a skipped string.
//! Skipped text is still checked: brackets must match, strings may hold no control characters and must be UTF-8, so a
//! file with a hole in the middle is refused rather than measured.

mod number;
#[cfg(test)]
mod tests;
mod text;

use std::io::{ErrorKind, Read};

use number::parse;
use text::{NOT_UTF8, Utf8};

/// Bytes held at once.
const WINDOW: usize = 256 * 1024;
/// Longest number, key or literal that is looked at; longer ones cannot come from inference-perf.
const TOKEN: usize = 96;
/// Deepest nesting that is followed.
const DEPTH: u32 = 120;

/// What is wrong with the text, and where.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The stream ended inside a value.
    #[error("ends at byte {offset} in the middle of a value: the file is cut short")]
    Truncated {
        /// Position in the uncompressed text.
        offset: u64,
    },
    /// The stream could not be read or decompressed.
    #[error("cannot be read after byte {offset}: {source}")]
    Read {
        /// Position in the uncompressed text.
        offset: u64,
        /// What the reader said.
        source: std::io::Error,
    },
    /// The text is not the JSON that was expected.
    #[error("is not valid at byte {offset}: {problem}")]
    Syntax {
        /// Position in the uncompressed text.
        offset: u64,
        /// What was expected or found.
        problem: &'static str,
    },
}

type Result<T> = std::result::Result<T, Error>;

/// A JSON text read through a fixed window.
#[derive(Debug)]
pub struct Scanner<R> {
    reader: R,
    window: Vec<u8>,
    position: usize,
    filled: usize,
    /// Offset in the text of the window's first byte.
    base: u64,
    ended: bool,
}

impl<R: Read> Scanner<R> {
    /// A scanner at the beginning of `reader`'s text.
    pub fn new(reader: R) -> Self {
        Self { reader, window: vec![0; WINDOW], position: 0, filled: 0, base: 0, ended: false }
    }

    /// Bytes of text consumed so far.
    pub fn offset(&self) -> u64 {
        self.base + self.position as u64
    }

    /// Whether nothing but white space is left.
    pub fn at_end(&mut self) -> Result<bool> {
        self.skip_space()?;
        Ok(self.position == self.filled)
    }

    /// The next byte that is not white space, which stays unread.
    pub fn peek(&mut self) -> Result<u8> {
        self.skip_space()?;
        if self.position == self.filled {
            return Err(Error::Truncated { offset: self.offset() });
        }
        Ok(self.window[self.position])
    }

    /// Consumes `byte`, which must come next.
    pub fn expect(&mut self, byte: u8, problem: &'static str) -> Result<()> {
        if self.peek()? != byte {
            return Err(self.syntax(problem));
        }
        self.position += 1;
        Ok(())
    }

    /// Consumes the separator of an array or object that has been entered: `true` when another member follows.
    ///
    /// `first` is true before the first member and becomes false.
    pub fn member(&mut self, close: u8, first: &mut bool) -> Result<bool> {
        let next = self.peek()?;
        if next == close {
            self.position += 1;
            return Ok(false);
        }
        if !std::mem::take(first) {
            if next != b',' {
                return Err(self.syntax("a comma is missing between two members"));
            }
            self.position += 1;
            if self.peek()? == close {
                return Err(self.syntax("a member is missing after a comma"));
            }
        }
        Ok(true)
    }

    /// Reads an object's key and its colon; a key longer than any that is known reads as empty.
    pub fn key(&mut self) -> Result<Key> {
        if self.peek()? != b'"' {
            return Err(self.syntax("a key is missing"));
        }
        self.ensure(TOKEN)?;
        let text = &self.window[self.position + 1..self.filled.min(self.position + TOKEN)];
        let key = match memchr::memchr2(b'"', b'\\', text) {
            Some(length) if text[length] == b'"' && length <= Key::CAPACITY => {
                let key = Key::new(&text[..length]);
                self.position += length + 2;
                key
            }
            _ => {
                self.skip_string()?;
                Key::new(b"")
            }
        };
        self.expect(b':', "a colon is missing after a key")?;
        Ok(key)
    }

    /// Reads a number; `null`, strings and other values are passed over and give `None`, as do `NaN` and `Infinity`.
    pub fn number(&mut self) -> Result<Option<f64>> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => {}
            _ => return self.skip_value().map(|()| None),
        }
        self.ensure(TOKEN)?;
        let text = &self.window[self.position..self.filled];
        let length = text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
        let length = length.unwrap_or(text.len());
        if length >= TOKEN {
            return Err(self.syntax("a number is longer than any clock or count"));
        }
        if length == 1 && text[0] == b'-' {
            return self.skip_value().map(|()| None);
        }
        let Some(value) = parse(&text[..length]) else {
            return Err(self.syntax("a number is malformed"));
        };
        self.position += length;
        Ok(value.is_finite().then_some(value))
    }

    /// Passes over one value of any kind.
    pub fn skip_value(&mut self) -> Result<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' | b'[' => self.skip_container(),
            b't' | b'f' | b'n' | b'N' | b'I' | b'-' | b'0'..=b'9' => self.skip_scalar(),
            _ => Err(self.syntax("a value is missing")),
        }
    }

    fn skip_scalar(&mut self) -> Result<()> {
        self.ensure(TOKEN)?;
        let text = &self.window[self.position..self.filled];
        let end =
            text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'-' | b'+'));
        let scalar = &text[..end.unwrap_or(text.len())];
        let known = matches!(scalar, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity");
        if !known && parse(scalar).is_none() {
            let problem = "a value is neither a number nor true, false or null";
            return Err(if end.is_none() && self.ended { self.truncated() } else { self.syntax(problem) });
        }
        self.position += scalar.len();
        Ok(())
    }

    /// Passes over an array or object without recursion: one bit of `kinds` a level says which bracket is open.
    fn skip_container(&mut self) -> Result<()> {
        let (mut kinds, mut depth) = (0_u128, 0_u32);
        loop {
            let rest = &self.window[self.position..self.filled];
            let Some(step) = rest.iter().position(|byte| CLASS[usize::from(*byte)] != PLAIN) else {
                self.position = self.filled;
                self.require()?;
                continue;
            };
            self.position += step;
            let byte = self.window[self.position];
            match CLASS[usize::from(byte)] {
                QUOTE => {
                    self.skip_string()?;
                    continue;
                }
                OPEN => {
                    depth += 1;
                    if depth > DEPTH {
                        return Err(self.syntax("values are nested too deeply"));
                    }
                    kinds = kinds << 1 | u128::from(byte == b'[');
                }
                CLOSE => {
                    if (kinds & 1 == 1) != (byte == b']') {
                        return Err(self.syntax("a bracket closes another kind of bracket"));
                    }
                    kinds >>= 1;
                    depth -= 1;
                }
                _ => return Err(self.syntax("a byte that JSON does not know outside strings")),
            }
            self.position += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_string(&mut self) -> Result<()> {
        self.position += 1;
        let mut utf8 = Utf8::default();
        loop {
            let rest = &self.window[self.position..self.filled];
            let found = memchr::memchr2(b'"', b'\\', rest);
            let text = &rest[..found.unwrap_or(rest.len())];
            if let Err(problem) = utf8.check(text) {
                return Err(self.syntax(problem));
            }
            match found {
                Some(at) if rest[at] == b'"' => {
                    self.position += at + 1;
                    return if utf8.complete() { Ok(()) } else { Err(self.syntax(NOT_UTF8)) };
                }
                Some(at) => {
                    if !utf8.complete() {
                        return Err(self.syntax(NOT_UTF8));
                    }
                    self.position += at;
                    self.ensure(2)?;
                    if self.filled - self.position < 2 {
                        return Err(self.truncated());
                    }
                    self.position += 2;
                }
                None => {
                    self.position = self.filled;
                    self.require()?;
                }
            }
        }
    }

    fn skip_space(&mut self) -> Result<()> {
        loop {
            let rest = &self.window[self.position..self.filled];
            match rest.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
                Some(step) => {
                    self.position += step;
                    return Ok(());
                }
                None if self.ended => {
                    self.position = self.filled;
                    return Ok(());
                }
                None => {
                    self.position = self.filled;
                    self.fill()?;
                }
            }
        }
    }

    /// Makes `bytes` unread bytes available unless the text ends before.
    fn ensure(&mut self, bytes: usize) -> Result<()> {
        while self.filled - self.position < bytes && !self.ended {
            self.fill()?;
        }
        Ok(())
    }

    /// Reads more, which must exist: the text may not end here.
    fn require(&mut self) -> Result<()> {
        while self.position == self.filled {
            if self.ended {
                return Err(self.truncated());
            }
            self.fill()?;
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        self.window.copy_within(self.position..self.filled, 0);
        self.base += self.position as u64;
        self.filled -= self.position;
        self.position = 0;
        match self.reader.read(&mut self.window[self.filled..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(Error::Truncated { offset: self.base + self.filled as u64 });
            }
            Err(source) => return Err(Error::Read { offset: self.base + self.filled as u64, source }),
        }
        Ok(())
    }

    fn truncated(&self) -> Error {
        Error::Truncated { offset: self.base + self.filled as u64 }
    }

    /// An error at the current position.
    pub fn syntax(&self, problem: &'static str) -> Error {
        Error::Syntax { offset: self.offset(), problem }
    }
}

/// A short key, copied out of the window.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    bytes: [u8; Key::CAPACITY],
    length: u8,
}

impl Key {
    const CAPACITY: usize = 40;

    fn new(text: &[u8]) -> Self {
        let mut bytes = [0; Self::CAPACITY];
        bytes[..text.len()].copy_from_slice(text);
        Self { bytes, length: text.len() as u8 }
    }

    /// The key's text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

const PLAIN: u8 = 0;
const QUOTE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const ILLEGAL: u8 = 4;

/// What each byte means outside strings; the grammar between commas is not checked in what is passed over.
const CLASS: [u8; 256] = {
    let mut class = [ILLEGAL; 256];
    let plain = b" \n\r\t,:.-+0123456789truefalsnINyEi";
    let mut index = 0;
    while index < plain.len() {
        class[plain[index] as usize] = PLAIN;
        index += 1;
    }
    class[b'"' as usize] = QUOTE;
    class[b'{' as usize] = OPEN;
    class[b'[' as usize] = OPEN;
    class[b'}' as usize] = CLOSE;
    class[b']' as usize] = CLOSE;
    class
};
