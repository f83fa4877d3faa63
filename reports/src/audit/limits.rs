//! Which requests were fast enough.

use super::record::Record;
use super::tally::Tokens;
use crate::model::{Objective, Quantity, Slo, Within};

/// The objectives that requests are counted against.
#[derive(Clone, Debug, Default)]
pub struct Limits(Vec<Objective>);

/// Of each objective, whether a request met it; `None` where it has no such latency.
pub type Judged = Vec<Option<bool>>;

/// Successful requests by the objectives that they met.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// By objective: requests that met it, requests that have the latency.
    each: Vec<(u64, u64)>,
    all: u64,
}

impl Limits {
    /// The limits of these objectives.
    pub fn of(slo: &Slo) -> Self {
        Self(slo.objectives.clone())
    }

    /// Judges one request; a request that failed met nothing.
    ///
    /// A request meets a limit on inter-token latency when the objective's share of its own gaps is within it.
    pub fn judge(&self, record: &Record, start: f64, end: f64, tokens: Tokens) -> Judged {
        if record.failed {
            return vec![Some(false); self.0.len()];
        }
        self.0.iter().map(|objective| meets(*objective, record, start, end, tokens)).collect()
    }
}

fn meets(objective: Objective, record: &Record, start: f64, end: f64, tokens: Tokens) -> Option<bool> {
    let limit = objective.seconds;
    // An answer in one piece has a first token and nothing to wait for after it.
    let in_one_piece = record.first_token(start).map(|_| true);
    if objective.quantity == Quantity::Itl {
        let (within, gaps) =
            record.gaps().fold((0_u64, 0_u64), |(within, gaps), gap| (within + u64::from(gap <= limit), gaps + 1));
        return if gaps > 0 { Some(within as f64 >= objective.share() * gaps as f64) } else { in_one_piece };
    }
    let value = match objective.quantity {
        Quantity::Ttft => record.first_token(start),
        Quantity::Tpot => record.tpot(tokens),
        Quantity::Ntpot => record.ntpot(end - start, tokens),
        Quantity::RequestLatency => Some(end - start),
        Quantity::Itl => None,
    };
    let met = value.map(|value| value <= limit);
    if objective.quantity == Quantity::Tpot { met.or(in_one_piece) } else { met }
}

impl Counts {
    /// Adds a request.
    pub fn add(&mut self, judged: &Judged) {
        self.each.resize(judged.len(), (0, 0));
        for (count, judged) in self.each.iter_mut().zip(judged) {
            count.0 += u64::from(*judged == Some(true));
            count.1 += u64::from(judged.is_some());
        }
        self.all += u64::from(!judged.is_empty() && judged.iter().all(|judged| *judged == Some(true)));
    }

    /// Adds all requests of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.each.resize(self.each.len().max(other.each.len()), (0, 0));
        for (ours, theirs) in self.each.iter_mut().zip(&other.each) {
            *ours = (ours.0 + theirs.0, ours.1 + theirs.1);
        }
        self.all += other.all;
    }

    /// The counts, where there are objectives. A latency that no request has cannot be judged.
    pub fn within(&self) -> Option<Within> {
        let each: Vec<Option<u64>> = self.each.iter().map(|(met, known)| (*known > 0).then_some(*met)).collect();
        let all = each.iter().all(Option::is_some).then_some(self.all);
        (!each.is_empty()).then_some(Within { each, all })
    }
}
