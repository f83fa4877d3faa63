//! The driver: sends requests, lets servers compute until each arrival, and keeps the times.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::engine::{Pick, Picker, Request, Server, Sink};

use super::load::arrivals;
use super::outcome::{Began, StageOutcome};
use super::{Error, Gaps, Route, Setup, StageLoad};

/// Seconds that inference-perf waits at the beginning of each stage, so that its workers are there for the first request.
const LEAD_SECONDS: f64 = 1.0;

/// How often a picker reads what servers report, in seconds, as llm-d-router does.
const SCRAPE_SECONDS: f64 = 0.05;

/// Later than anything.
const NEVER: f64 = 1e18;

pub(super) fn run(setup: &Setup, seed: u64) -> Result<Vec<StageOutcome>, Error> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let order = setup.prompts.order(&mut random);
    let picker = match &setup.route {
        Route::Service => None,
        Route::Picker(policy) => Some(super::picker(policy, setup.servers, &setup.hardware, seed)),
    };
    let mut run = Run {
        setup,
        order,
        servers: (0..setup.servers).map(|_| Server::new(&setup.hardware)).collect(),
        front: picker.map(|picker| Front { picker, flights: Vec::new(), scraped: f64::NEG_INFINITY }),
        random,
        seen: Seen::default(),
    };
    let mut start = 0.0;
    let mut outcomes = Vec::with_capacity(setup.load.stages.len());
    for stage in &setup.load.stages {
        let outcome = run.stage(stage, start + LEAD_SECONDS)?;
        start = outcome.end + setup.load.interval;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

struct Run<'a> {
    setup: &'a Setup,
    order: Vec<u32>,
    servers: Vec<Server>,
    front: Option<Front>,
    random: Pcg64Mcg,
    seen: Seen,
}

/// A picker and what it has sent.
struct Front {
    picker: Picker,
    /// By the request's number in its stage.
    flights: Vec<Pick>,
    /// When the picker last read what servers report.
    scraped: f64,
}

/// What servers did with a stage's requests; a request's tag is its number in the stage.
#[derive(Default)]
struct Seen {
    first: Vec<f64>,
    last: Vec<f64>,
    gaps: Gaps,
    /// Requests whose first token the picker has not been told of.
    begun: Vec<u32>,
    /// Requests whose end the picker has not been told of.
    ended: Vec<u32>,
    finished: usize,
}

impl Sink for Seen {
    const EACH_TOKEN: bool = false;

    fn first_token(&mut self, tag: u64, at: f64) {
        self.first[tag as usize] = at;
        self.begun.push(tag as u32);
    }

    fn resumed(&mut self, _tag: u64, _at: f64, gap: f64) {
        self.gaps.add(gap, 1);
    }

    fn decoded(&mut self, _tag: u64, _at: f64) {}

    fn stretch(&mut self, sequences: u32, first: f64, growth: f64, steps: u64) {
        self.gaps.add_steps(sequences, first, growth, steps);
    }

    fn finished(&mut self, tag: u64, at: f64) {
        self.last[tag as usize] = at;
        self.ended.push(tag as u32);
        self.finished += 1;
    }
}

impl Run<'_> {
    fn stage(&mut self, stage: &StageLoad, start: f64) -> Result<StageOutcome, Error> {
        let setup = self.setup;
        let (hardware, load) = (&setup.hardware, &setup.load);
        let times = arrivals(load.arrivals, stage, start, &mut self.random);
        let unknown = vec![f64::NAN; times.len()];
        self.seen = Seen { first: unknown.clone(), last: unknown, ..Seen::default() };
        let mut began = Began::new(self.servers.iter().map(|server| *server.counters()));
        for (number, &at) in times.iter().enumerate() {
            let asked = &setup.prompts.all[self.order[number % self.order.len()] as usize];
            let reaches = at + setup.delay + hardware.overhead.request_seconds;
            let chosen = match &mut self.front {
                // Nobody looks at servers, so that only the one that is hit has to be brought up to date.
                None => {
                    let chosen = self.random.random_range(0..self.servers.len());
                    self.servers[chosen].advance(reaches, &mut self.seen);
                    chosen
                }
                Some(front) => {
                    front.scrape(reaches, &mut self.servers, &mut self.seen);
                    self.servers.iter_mut().for_each(|server| server.advance(reaches, &mut self.seen));
                    front.follow(&mut self.seen);
                    let pick = front.picker.pick(&asked.picker);
                    front.flights.push(pick);
                    pick.server
                }
            };
            began.sent(chosen, asked);
            let server = &mut self.servers[chosen];
            let visible = at + setup.delay + server.request_overhead();
            let (prompt, output_tokens) = (asked.server.clone(), asked.output_tokens);
            server.submit(Request { prompt, output_tokens, tag: number as u64, visible })?;
        }
        self.servers.iter_mut().for_each(|server| server.advance(NEVER, &mut self.seen));
        if let Some(front) = &mut self.front {
            front.follow(&mut self.seen);
            front.flights.clear();
        }
        if self.seen.finished < times.len() {
            return Err(Error::Unfinished(times.len() - self.seen.finished));
        }
        let response = hardware.overhead.response_seconds;
        let Seen { first, last, gaps, .. } = std::mem::take(&mut self.seen);
        let counters = self.servers.iter().map(|server| *server.counters());
        let asked = (0..times.len()).map(|number| &setup.prompts.all[self.order[number % self.order.len()] as usize]);
        let outputs = asked.map(|asked| asked.output_tokens);
        Ok(began.ended(counters, response, &times, outputs, (first, last, gaps)))
    }
}

impl Front {
    /// Lets the picker read what servers reported at the last scrape before `now`.
    fn scrape(&mut self, now: f64, servers: &mut [Server], seen: &mut Seen) {
        let scrape = (now / SCRAPE_SECONDS).floor() * SCRAPE_SECONDS;
        if !self.picker.observes() || scrape <= self.scraped {
            return;
        }
        self.scraped = scrape;
        for (number, server) in servers.iter_mut().enumerate() {
            server.advance(scrape, seen);
            self.picker.observe(number, server.waiting(), server.usage());
        }
    }

    /// Tells the picker which answers have begun and ended since it was last told.
    fn follow(&mut self, seen: &mut Seen) {
        for tag in seen.begun.drain(..) {
            self.picker.begun(&self.flights[tag as usize]);
        }
        for tag in seen.ended.drain(..) {
            self.picker.ended(&self.flights[tag as usize]);
        }
    }
}
