//! A model server in real time: the engine on a thread of its own, which sleeps to each step's absolute deadline.
//!
//! A thread a server keeps deadlines better than timers of the HTTP runtime, whose resolution is a millisecond; and since
//! deadlines come from the engine's clock, never from "now", a late wake-up is not added to the steps after it.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::config::Hardware;
use crate::engine::{Counters, Prompt, Rejection, Request, SequenceId, Server, Sink};

use super::histogram::Histogram;

/// What a stream is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// One more token.
    Token,
    /// The token that was the last one has been sent.
    Finished,
}

enum Command {
    Submit { prompt: Prompt, tokens: u32, tag: u64, arrived: Instant, reply: oneshot::Sender<Submitted> },
    Cancel { tag: u64 },
    Reset,
}

type Submitted = Result<mpsc::UnboundedReceiver<Event>, Rejection>;

/// What a server tells about itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    /// Requests that hold a place in the steps.
    pub(super) running: usize,
    /// Requests in the queue.
    pub(super) waiting: usize,
    /// Used part of the KV cache, 0 to 1.
    pub(super) usage: f64,
    /// The engine's totals.
    pub(super) counters: Counters,
    /// Seconds from arrival to first token.
    pub(super) first_token: Histogram,
    /// Seconds between tokens.
    pub(super) between_tokens: Histogram,
    /// Seconds from arrival to last token.
    pub(super) whole: Histogram,
    /// Seconds by which steps ended late.
    pub(super) step_lateness: Histogram,
}

/// A handle on a server's thread; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Backend {
    commands: Sender<Command>,
    snapshot: Arc<Mutex<Snapshot>>,
}

/// A request under way; dropped before its end, it is cancelled and its blocks are freed.
#[derive(Debug)]
pub(super) struct Stream {
    /// What happens to it.
    pub(super) events: mpsc::UnboundedReceiver<Event>,
    commands: Sender<Command>,
    tag: u64,
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The thread may have ended before, with nothing left to cancel.
        drop(self.commands.send(Command::Cancel { tag: self.tag }));
    }
}

impl Backend {
    /// Starts a server's thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(number: usize, hardware: &Hardware) -> std::io::Result<Self> {
        let (commands, received) = channel();
        let snapshot = Arc::new(Mutex::new(Snapshot::default()));
        let mut worker = Worker {
            server: Server::new(hardware),
            received,
            epoch: Instant::now(),
            requests: HashMap::new(),
            outbox: VecDeque::new(),
            response_seconds: hardware.overhead.response_seconds,
            snapshot: Arc::clone(&snapshot),
        };
        std::thread::Builder::new().name(format!("server-{number}")).spawn(move || worker.run())?;
        Ok(Self { commands, snapshot })
    }

    /// Hands a request to the scheduler.
    ///
    /// # Errors
    /// When it could never run. The answer is `None` when the server's thread has ended.
    pub(super) async fn submit(&self, prompt: Prompt, tokens: u32, tag: u64) -> Option<Result<Stream, Rejection>> {
        let (reply, submitted) = oneshot::channel();
        let command = Command::Submit { prompt, tokens, tag, arrived: Instant::now(), reply };
        self.commands.send(command).ok()?;
        let submitted = submitted.await.ok()?;
        Some(submitted.map(|events| Stream { events, commands: self.commands.clone(), tag }))
    }

    /// Forgets all cached prefixes that no running request uses.
    pub(super) fn reset(&self) {
        // A thread that has ended has no cache either.
        drop(self.commands.send(Command::Reset));
    }

    /// What the server tells about itself at this moment.
    pub(super) fn snapshot(&self) -> Snapshot {
        lock(&self.snapshot).clone()
    }

    /// Requests in the queue, and the used part of the KV cache: what a picker scrapes.
    pub(super) fn observed(&self) -> (usize, f64) {
        let snapshot = lock(&self.snapshot);
        (snapshot.waiting, snapshot.usage)
    }
}

/// A lock that a panicking holder cannot have left half-changed: every update replaces whole values.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Open {
    id: SequenceId,
    events: mpsc::UnboundedSender<Event>,
    arrived: f64,
    last: Option<f64>,
}

struct Worker {
    server: Server,
    received: Receiver<Command>,
    epoch: Instant,
    requests: HashMap<u64, Open>,
    /// What the engine has computed and clients get `response_seconds` later, in order of time.
    outbox: VecDeque<(f64, u64, Event)>,
    response_seconds: f64,
    snapshot: Arc<Mutex<Snapshot>>,
}

/// Collects the engine's events.
struct Collected<'a> {
    outbox: &'a mut VecDeque<(f64, u64, Event)>,
    delay: f64,
}

impl Sink for Collected<'_> {
    const EACH_TOKEN: bool = true;

    fn first_token(&mut self, tag: u64, at: f64) {
        self.outbox.push_back((at + self.delay, tag, Event::Token));
    }

    fn resumed(&mut self, tag: u64, at: f64, _gap: f64) {
        self.first_token(tag, at);
    }

    fn decoded(&mut self, tag: u64, at: f64) {
        self.first_token(tag, at);
    }

    fn stretch(&mut self, _sequences: u32, _first: f64, _growth: f64, _steps: u64) {}

    fn finished(&mut self, tag: u64, at: f64) {
        self.outbox.push_back((at + self.delay, tag, Event::Finished));
    }
}

/// What the engine is waiting for.
#[derive(Clone, Copy)]
enum Due {
    Nothing,
    /// A request becomes visible.
    Request(f64),
    /// The step in progress ends.
    Step(f64),
}

impl Worker {
    fn run(&mut self) {
        let mut due = Due::Nothing;
        loop {
            let now = self.clock();
            self.deliver(now);
            match due {
                Due::Step(end) if end <= now => {
                    let mut sink = Collected { outbox: &mut self.outbox, delay: self.response_seconds };
                    self.server.settle(&mut sink);
                    lock(&self.snapshot).step_lateness.add(now - end);
                    due = self.plan();
                    continue;
                }
                Due::Request(visible) if visible <= now => {
                    self.server.wake(visible);
                    due = self.plan();
                    continue;
                }
                Due::Step(_) | Due::Request(_) | Due::Nothing => {}
            }
            let wake = match due {
                Due::Nothing => self.outbox.front().map(|&(at, ..)| at),
                Due::Step(at) | Due::Request(at) => Some(self.outbox.front().map_or(at, |&(first, ..)| first.min(at))),
            };
            let command = match wake {
                None => self.received.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self.received.recv_timeout(Duration::from_secs_f64((at - self.clock()).max(0.0))),
            };
            match command {
                Ok(command) => {
                    self.obey(command);
                    // A step in progress is not changed by what arrives meanwhile.
                    if matches!(due, Due::Step(_)) {
                        self.publish();
                    } else {
                        due = self.plan();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn plan(&mut self) -> Due {
        let horizon = self.server.now();
        let mut sink = Collected { outbox: &mut self.outbox, delay: self.response_seconds };
        let due = match self.server.plan(horizon, &mut sink) {
            crate::engine::Next::Idle => Due::Nothing,
            crate::engine::Next::Wait(visible) => Due::Request(visible),
            crate::engine::Next::Run(stretch) => Due::Step(stretch.end),
        };
        self.publish();
        due
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Submit { prompt, tokens, tag, arrived, reply } => {
                let arrived = arrived.saturating_duration_since(self.epoch).as_secs_f64();
                let visible = arrived + self.server.request_overhead();
                let submitted = self.server.submit(Request { prompt, output_tokens: tokens, tag, visible });
                let answer = submitted.map(|id| {
                    let (events, receiver) = mpsc::unbounded_channel();
                    self.requests.insert(tag, Open { id, events, arrived, last: None });
                    receiver
                });
                if reply.send(answer).is_err() {
                    self.cancel(tag);
                }
            }
            Command::Cancel { tag } => self.cancel(tag),
            Command::Reset => self.server.clear_cache(),
        }
    }

    fn cancel(&mut self, tag: u64) {
        if let Some(open) = self.requests.remove(&tag) {
            self.server.cancel(open.id, tag);
        }
    }

    /// Hands over what is due, and counts it.
    fn deliver(&mut self, now: f64) {
        if self.outbox.front().is_none_or(|&(at, ..)| at > now) {
            return;
        }
        let mut gone = Vec::new();
        let mut snapshot = lock(&self.snapshot);
        while let Some(&(at, tag, event)) = self.outbox.front().filter(|&&(at, ..)| at <= now) {
            self.outbox.pop_front();
            let Some(open) = self.requests.get_mut(&tag) else { continue };
            if open.events.send(event).is_err() {
                gone.push(tag);
                continue;
            }
            match event {
                Event::Token => match open.last.replace(at) {
                    None => snapshot.first_token.add(at - open.arrived),
                    Some(last) => snapshot.between_tokens.add(at - last),
                },
                Event::Finished => {
                    snapshot.whole.add(at - open.arrived);
                    self.requests.remove(&tag);
                }
            }
        }
        drop(snapshot);
        for tag in gone {
            self.cancel(tag);
        }
    }

    fn publish(&self) {
        let mut snapshot = lock(&self.snapshot);
        snapshot.running = self.server.running();
        snapshot.waiting = self.server.waiting();
        snapshot.usage = self.server.usage();
        snapshot.counters = *self.server.counters();
    }

    fn clock(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }
}
