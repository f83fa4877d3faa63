//! Reads a child's output: bytes to lines to log, tail, capture and listener, in bounded memory whatever arrives.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::log::Log;
use super::redact::Redactor;
use super::supervise::Event;

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    pub(super) fn mark(self) -> char {
        match self {
            Self::Stdout => ' ',
            Self::Stderr => '!',
        }
    }
}

/// Longer lines are delivered in pieces.
const LONGEST_LINE: usize = 64 << 10;
/// How much of a long line's end is searched for a blank to break at, so that no word (and no secret) is cut.
const BREAK_WINDOW: usize = 4 << 10;
/// What an error shows of a stream.
const TAIL_LINES: usize = 20;
const TAIL_LINE_CHARS: usize = 400;

/// How much of a line is kept for a tail: far more than is shown, so that no secret is cut where it is shown.
const TAIL_LINE_BYTES: usize = 8 << 10;

/// The last lines of a stream, as they came.
#[derive(Debug, Default)]
pub(super) struct Tail(VecDeque<Vec<u8>>);

impl Tail {
    fn push(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if self.0.len() == TAIL_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line[..line.len().min(TAIL_LINE_BYTES)].to_vec());
    }

    fn text(&self, redactor: &Redactor) -> String {
        let shown = self.0.iter().map(|line| {
            let text = printable(&String::from_utf8_lossy(line));
            let text = redactor.redact(&text);
            let mut shown: String = text.chars().take(TAIL_LINE_CHARS).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            shown
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// What a reader shares with the thread that supervises the child.
#[derive(Debug)]
pub(super) struct Shared {
    started: Instant,
    last_activity: AtomicU64,
    /// Whether anyone wants the lines as they come.
    pub(super) listening: AtomicBool,
    pub(super) tails: [Mutex<Tail>; 2],
    /// The first `limit` bytes of stdout, and whether there were more.
    pub(super) captured: Mutex<(Vec<u8>, bool)>,
}

impl Shared {
    pub(super) fn new(listening: bool) -> Self {
        Self {
            started: Instant::now(),
            last_activity: AtomicU64::new(0),
            listening: AtomicBool::new(listening),
            tails: Default::default(),
            captured: Mutex::default(),
        }
    }

    /// Notes that the child has done something.
    pub(super) fn touch(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity.store(millis, Ordering::Relaxed);
    }

    /// Time since the child last did something.
    pub(super) fn idle(&self) -> std::time::Duration {
        let last = std::time::Duration::from_millis(self.last_activity.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }

    /// The last lines of a stream, redacted.
    pub(super) fn tail(&self, stream: Stream, redactor: &Redactor) -> String {
        self.tails[stream as usize].lock().unwrap_or_else(PoisonError::into_inner).text(redactor)
    }
}

/// How lines reach the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Nobody wants them.
    Nothing,
    /// The child waits until the supervisor has taken the line.
    Every,
    /// A background child never waits: lines that nobody takes in time are only logged.
    BestEffort,
}

/// One stream's reader; [`Pump::run`] is a thread's work.
pub(super) struct Pump {
    pub(super) stream: Stream,
    pub(super) shared: Arc<Shared>,
    pub(super) log: Option<Arc<Log>>,
    pub(super) redactor: Redactor,
    pub(super) capture: Option<usize>,
    pub(super) delivery: Delivery,
    pub(super) transient: Option<fn(&str) -> bool>,
    pub(super) counts: bool,
    pub(super) events: SyncSender<Event>,
}

impl Pump {
    /// Reads to the end of the stream.
    pub(super) fn run(mut self, mut source: impl Read) {
        let mut buffer = vec![0; LONGEST_LINE];
        let mut line = Vec::new();
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            if self.counts {
                self.shared.touch();
            }
            self.keep(&buffer[..count]);
            for piece in buffer[..count].split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
                line.extend_from_slice(piece);
                if matches!(piece.last(), Some(b'\n' | b'\r')) {
                    line.pop();
                    self.emit(&line);
                    line.clear();
                } else if line.len() >= LONGEST_LINE {
                    let rest = line.split_off(break_point(&line));
                    self.emit(&line);
                    line = rest;
                }
            }
            if let Some(log) = &self.log {
                log.flush();
            }
        }
        self.emit(&line);
        // Nobody waits any more when this fails.
        self.events.send(Event::Closed).unwrap_or_default();
    }

    fn keep(&self, bytes: &[u8]) {
        let Some(limit) = self.capture else { return };
        let mut captured = self.shared.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let room = limit.saturating_sub(captured.0.len()).min(bytes.len());
        captured.0.extend_from_slice(&bytes[..room]);
        captured.1 |= room < bytes.len();
    }

    fn emit(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let log = self.log.as_deref().filter(|log| log.takes(line.len()));
        let listening = self.shared.listening.load(Ordering::Relaxed);
        // A flood that nobody listens to is not worth decoding.
        let text = if log.is_some() || listening || self.transient.is_some() {
            printable(&String::from_utf8_lossy(line))
        } else {
            String::new()
        };
        if !self.transient.is_some_and(|is_transient| is_transient(&text)) {
            if let Some(log) = log {
                log.line(self.stream, &self.redactor.redact(&text));
            }
            self.shared.tails[self.stream as usize].lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        if listening {
            let event = Event::Line(self.stream, text);
            match self.delivery {
                Delivery::Nothing => {}
                Delivery::Every => self.events.send(event).unwrap_or_default(),
                Delivery::BestEffort => self.events.try_send(event).unwrap_or_default(),
            }
        }
    }
}

/// Where to break an over-long line: after the last blank near its end, else at its end.
fn break_point(line: &[u8]) -> usize {
    let window = line.len().saturating_sub(BREAK_WINDOW);
    line[window..].iter().rposition(u8::is_ascii_whitespace).map_or(line.len(), |position| window + position + 1)
}

/// The text without escape sequences and control characters, which could hide or fake output on a terminal.
fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\t' => clean.push('\t'),
            '\u{1b}' => skip_escape(&mut chars),
            char if char.is_control() => {}
            char => clean.push(char),
        }
    }
    clean
}

/// Skips the rest of an ANSI escape sequence: CSI to its final byte, OSC to its terminator, else one character.
fn skip_escape(chars: &mut std::str::Chars<'_>) {
    match chars.next() {
        Some('[') => {
            chars.find(|char| ('@'..='~').contains(char));
        }
        Some(']') => {
            chars.find(|char| matches!(char, '\u{7}' | '\\'));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;

    fn pump(bytes: &[u8], capture: Option<usize>) -> (Vec<String>, Arc<Shared>) {
        let (events, received): (_, Receiver<Event>) = sync_channel(1 << 16);
        let shared = Arc::new(Shared::new(true));
        let pump = Pump {
            stream: Stream::Stdout,
            shared: Arc::clone(&shared),
            log: None,
            redactor: Redactor::new(),
            capture,
            delivery: Delivery::Every,
            transient: None,
            counts: true,
            events,
        };
        pump.run(bytes);
        let lines = received.into_iter().filter_map(|event| match event {
            Event::Line(_, text) => Some(text),
            _ => None,
        });
        (lines.collect(), shared)
    }

    #[test]
    fn lines_that_are_not_utf8_are_delivered_and_do_not_end_the_stream() {
        let (lines, _) = pump(b"one\n\xff\xfetwo\nthree", None);
        assert_eq!(lines, ["one", "\u{fffd}\u{fffd}two", "three"]);
    }

    #[test]
    fn a_carriage_return_ends_a_line_so_that_progress_bars_can_be_followed() {
        let (lines, _) = pump(b"10%\r20%\r\ndone\n", None);
        assert_eq!(lines, ["10%", "20%", "done"]);
    }

    #[test]
    fn an_endless_line_is_delivered_in_pieces_broken_at_a_blank() {
        let text = "word ".repeat(40_000);
        let (lines, shared) = pump(text.as_bytes(), None);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= 2 * LONGEST_LINE));
        assert!(lines.iter().all(|line| line.starts_with("word") && line.ends_with("word ")));
        assert_eq!(lines.concat(), text);
        assert!(shared.tail(Stream::Stdout, &Redactor::new()).chars().count() < TAIL_LINES * (TAIL_LINE_CHARS + 2));
    }

    #[test]
    fn escape_sequences_and_control_characters_do_not_reach_log_or_terminal() {
        let (lines, _) = pump(b"\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07\ta\n", None);
        assert_eq!(lines, ["red bell\ta"]);
    }

    #[test]
    fn captured_output_is_kept_as_bytes_up_to_its_limit() {
        let (_, shared) = pump(b"\x1b[1mabcdef", Some(6));
        assert_eq!(*shared.captured.lock().unwrap(), (b"\x1b[1mab".to_vec(), true));
    }

    #[test]
    fn the_tail_holds_the_last_lines_and_no_secret() {
        let mut text: String = (0..50).map(|n| format!("line {n}\n")).collect();
        text.push_str("token=abcdefgh\n");
        let (_, shared) = pump(text.as_bytes(), None);
        let tail = shared.tail(Stream::Stdout, &Redactor::new());
        assert!(tail.starts_with("line 31\n") && tail.ends_with("line 49\ntoken=<redacted>"), "{tail}");
    }
}
