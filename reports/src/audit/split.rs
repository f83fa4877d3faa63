//! Where one stage ends and the next begins, in records that carry no stage.
//!
//! inference-perf drains a stage before it starts the next, so between two stages there is a moment in which no request
//! is in flight. The records are cut at every such moment while they stream past; too many cuts are joined again, at the
//! shortest idle time first, so memory stays bounded. At the end the pieces are grouped into stages so that the counts
//! differ least from the planned ones and, among equals, the idle times between stages are longest.

use super::limits::Limits;
use super::record::Record;
use super::tally::{Tally, Tokens};
use crate::model::Slo;

/// Pieces that are kept beyond those that planned counts point at.
const SPARE: usize = 48;
/// Most stages that are told apart.
pub const STAGES: usize = 256;
/// Bytes of values that are held; beyond it percentiles become estimates with a stated error.
const BYTES: usize = 24 << 20;

/// Records between two idle moments.
#[derive(Debug, Default)]
struct Piece {
    tally: Tally,
    /// Seconds without any request in flight before the first of these records.
    idle: f64,
    /// Whether the records before these are as many as were planned for whole stages.
    planned: bool,
}

/// How many requests each stage may have, and who says so.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// `config.yaml`, `stage documents`.
    pub source: &'static str,
    /// Requests of each stage.
    pub counts: Vec<u64>,
}

/// Cuts a stream of records into stages.
#[derive(Debug)]
pub struct Splitter {
    plans: Vec<Plan>,
    tokens: Tokens,
    /// Against which requests are counted; none in an audit.
    limits: Limits,
    pieces: Vec<Piece>,
    records: u64,
    /// Latest end so far.
    busy_until: f64,
    /// Records whose clocks are missing or run backwards.
    unusable: u64,
    budget: usize,
    held: usize,
}

/// The stages found.
#[derive(Debug)]
pub struct Split {
    /// Each stage's records, in order.
    pub stages: Vec<Tally>,
    /// How they were told apart.
    pub how: How,
}

/// How the stages were told apart.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct How {
    /// Records in each stage.
    pub counts: Vec<u64>,
    /// Who said how many requests each stage has; `None` when nobody did and all records are one stage.
    pub counts_from: Option<&'static str>,
    /// Whether the records' counts are those.
    pub as_planned: bool,
    /// Seconds without any request in flight before each stage after the first.
    pub idle_seconds: Vec<f64>,
    /// Longest time without any request in flight inside a stage.
    pub longest_idle_inside: f64,
    /// Records left out because their clock readings are missing or run backwards.
    pub unusable_records: u64,
}

impl Splitter {
    /// A splitter for stages as one of `plans` has them, the most trusted first; one stage without any.
    pub fn new(plans: Vec<Plan>, tokens: Tokens) -> Self {
        Self::with_budget(plans, tokens, BYTES)
    }

    fn with_budget(plans: Vec<Plan>, tokens: Tokens, budget: usize) -> Self {
        Self {
            plans,
            tokens,
            limits: Limits::default(),
            pieces: Vec::new(),
            records: 0,
            busy_until: f64::NEG_INFINITY,
            unusable: 0,
            budget,
            held: 0,
        }
    }

    /// Counts the requests that meet these objectives' limits as well.
    #[must_use]
    pub fn limited(mut self, slo: Option<&Slo>) -> Self {
        self.limits = slo.map(Limits::of).unwrap_or_default();
        self
    }

    /// Adds the next record of the file.
    pub fn push(&mut self, record: &Record) {
        let (Some(start), Some(end)) = (record.start, record.end) else {
            self.unusable += 1;
            return;
        };
        if end < start {
            self.unusable += 1;
            return;
        }
        if start > self.busy_until {
            let planned = self.boundaries().any(|boundary| boundary == self.records);
            let idle = if self.pieces.is_empty() { 0.0 } else { start - self.busy_until };
            self.pieces.push(Piece { idle, planned, ..Piece::default() });
            self.join_shortest();
        }
        self.records += 1;
        self.busy_until = self.busy_until.max(end);
        // Workers hand their records over through a queue each: one may come after the next stage's first.
        let late = self.pieces.iter().rposition(|piece| piece.tally.first_start <= end);
        let last = self.pieces.len() - 1;
        let place = if self.pieces[last].tally.records == 0 { last } else { late.unwrap_or(0) };
        let tally = &mut self.pieces[place].tally;
        let before = tally.bytes();
        tally.add(record, start, end, self.tokens);
        tally.within.add(&self.limits.judge(record, start, end, self.tokens));
        self.held += tally.bytes() - before;
        self.shrink();
    }

    /// Cumulative counts at which a stage is planned to end.
    fn boundaries(&self) -> impl Iterator<Item = u64> {
        self.plans.iter().flat_map(|plan| {
            plan.counts.iter().scan(0_u64, |sum, count| {
                *sum = sum.saturating_add(*count);
                Some(*sum)
            })
        })
    }

    fn join_shortest(&mut self) {
        let limit = SPARE + 2 * self.plans.iter().map(|plan| plan.counts.len()).sum::<usize>();
        if self.pieces.len() <= limit {
            return;
        }
        // The last piece is empty as yet, and a cut where one was planned is kept.
        let shortest = (1..self.pieces.len() - 1)
            .filter(|index| !self.pieces[*index].planned)
            .min_by(|a, b| self.pieces[*a].idle.total_cmp(&self.pieces[*b].idle));
        if let Some(index) = shortest {
            let piece = self.pieces.remove(index);
            self.pieces[index - 1].tally.merge(piece.tally);
            self.held = self.pieces.iter().map(|piece| piece.tally.bytes()).sum();
        }
    }

    fn shrink(&mut self) {
        while self.held > self.budget {
            let largest = self.pieces.iter_mut().map(|piece| piece.tally.largest()).max_by_key(|values| values.bytes());
            let Some(values) = largest else { return };
            let before = values.bytes();
            values.shrink();
            self.held -= before - values.bytes().min(before);
            if values.bytes() >= before {
                return;
            }
        }
    }

    /// The stages, as many as were planned; `Err` holds how many idle moments there are when they are too few.
    ///
    /// The first plan whose counts are met exactly is followed, otherwise the first as far as possible.
    pub fn finish(mut self) -> Result<Split, usize> {
        let one = Plan { source: "", counts: vec![self.records] };
        let plans = if self.plans.is_empty() { vec![one] } else { std::mem::take(&mut self.plans) };
        let mut found: Option<(&Plan, Grouping)> = None;
        for plan in &plans {
            let Some(grouping) = best_grouping(&self.pieces, &plan.counts) else { continue };
            if found.is_none() || grouping.difference == 0 {
                let done = grouping.difference == 0;
                found = Some((plan, grouping));
                if done {
                    break;
                }
            }
        }
        let Some((plan, grouping)) = found else { return Err(self.pieces.len().saturating_sub(1)) };
        let mut how = How {
            counts_from: Some(plan.source).filter(|source| !source.is_empty()),
            as_planned: grouping.difference == 0,
            unusable_records: self.unusable,
            ..How::default()
        };
        let mut stages = Vec::new();
        for (index, piece) in std::mem::take(&mut self.pieces).into_iter().enumerate() {
            match stages.last_mut() {
                Some(stage) if !grouping.starts.contains(&index) => {
                    how.longest_idle_inside = how.longest_idle_inside.max(piece.idle);
                    Tally::merge(stage, piece.tally);
                }
                _ => {
                    how.idle_seconds.extend((index > 0).then_some(piece.idle));
                    stages.push(piece.tally);
                }
            }
        }
        how.counts = stages.iter().map(|stage| stage.records).collect();
        Ok(Split { stages, how })
    }
}

/// The pieces with which stages begin.
#[derive(Debug)]
struct Grouping {
    starts: Vec<usize>,
    /// Sum over the stages of how far their counts are from the planned ones.
    difference: u64,
}

/// The first piece of each stage: least difference from the planned counts, then longest idle times.
///
/// Dynamic programming over (pieces, stages): both are bounded, at most some hundreds.
fn best_grouping(pieces: &[Piece], planned: &[u64]) -> Option<Grouping> {
    let mut before = vec![0_u64; pieces.len() + 1];
    for (index, piece) in pieces.iter().enumerate() {
        before[index + 1] = before[index] + piece.tally.records;
    }
    // best[end] is the cheapest way to make the stages so far of the first `end` pieces.
    let mut best: Vec<Option<(u64, f64)>> = vec![None; pieces.len() + 1];
    best[0] = Some((0, 0.0));
    let mut choices = Vec::with_capacity(planned.len());
    for count in planned {
        let mut next = vec![None; pieces.len() + 1];
        let mut from = vec![0; pieces.len() + 1];
        for (start, cost) in best.iter().enumerate() {
            let Some((difference, idle)) = cost else { continue };
            for end in start + 1..=pieces.len() {
                let difference = difference.saturating_add((before[end] - before[start]).abs_diff(*count));
                let idle = idle + pieces[start].idle;
                let better = next[end]
                    .is_none_or(|(least, longest)| difference < least || (difference == least && idle > longest));
                if better {
                    next[end] = Some((difference, idle));
                    from[end] = start;
                }
            }
        }
        best = next;
        choices.push(from);
    }
    let mut end = pieces.len();
    let (difference, _) = best[end]?;
    let mut starts: Vec<usize> = choices
        .iter()
        .rev()
        .map(|from| {
            end = from[end];
            end
        })
        .collect();
    starts.reverse();
    Some(Grouping { starts, difference })
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
