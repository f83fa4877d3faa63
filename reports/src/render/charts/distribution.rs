//! Cumulative distributions of what people wait for, at the highest level.

use super::{Context, Drawn, Measured, series};
use crate::model::{Distribution, Level, Quantity, curve_shares};
use crate::render::chart::{Axis, Chart, Point, Scale, Series, choose_x_scale};
use crate::render::text::plain;
use crate::statistics::median;

/// A distribution that is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Distributed {
    /// File stem.
    pub id: &'static str,
    /// The latency.
    pub quantity: Quantity,
    /// Its heading, before the level.
    title: &'static str,
    subtitle: &'static str,
    /// Whether it is also drawn through a summary's percentiles, where there are no records.
    without_records: bool,
}

/// The distributions, in the order of documents.
pub const DISTRIBUTIONS: [Distributed; 2] = [
    Distributed {
        id: "ttft-distribution",
        quantity: Quantity::Ttft,
        title: "Distribution of time to first token",
        subtitle: "Further left is better: the share of requests whose first token came within this time.",
        without_records: true,
    },
    Distributed {
        id: "latency-distribution",
        quantity: Quantity::RequestLatency,
        title: "Distribution of request latency",
        subtitle: "Further left is better: the share of requests that were answered in full within this time.",
        without_records: false,
    },
];

/// Fewer stored percentiles than this say too little about a distribution's shape to draw it.
const FEWEST_PERCENTILES: usize = 5;

/// Where the points of a report's curves come from: records only where every drawn treatment has them, because a curve of
/// thirteen points beside one of a hundred would differ by its source alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curves {
    /// Each percent, from per-request records.
    Records,
    /// The percentiles of the stages' documents.
    Percentiles,
}

impl Curves {
    /// The source for these treatments at this level.
    pub fn of(drawn: &[Drawn], quantity: Quantity, level: Level) -> Self {
        let points = drawn.iter().filter_map(|drawn| drawn.treatment.at(level));
        let mut stages = points.flat_map(|point| &point.repetitions);
        let known = stages.all(|(_, stage)| {
            let sampled = stage.sampled.as_ref().and_then(|sampled| sampled.quantities.get(&quantity));
            sampled.is_some_and(|sample| sample.curve.len() == curve_shares().count())
        });
        if known { Self::Records } else { Self::Percentiles }
    }

    /// The shares, in percent.
    pub fn shares(self) -> Vec<f64> {
        match self {
            // A tenth of a percent is 0.1, not 0.10000000000000001.
            Self::Records => curve_shares().map(|share| (share * 1e5).round() / 1e3).collect(),
            Self::Percentiles => Distribution::default().percentiles().map(|at| at.probability * 100.0).to_vec(),
        }
    }

    /// For each share the value that it stays within: the median over repetitions.
    pub fn values(self, quantity: Quantity, measured: &Measured) -> Vec<Option<f64>> {
        let stages = || measured.repetitions.iter().map(|(_, stage)| stage);
        let over_repetitions =
            |of: &dyn Fn(usize) -> Vec<f64>, count: usize| (0..count).map(|i| median(&of(i))).collect();
        match self {
            Self::Records => {
                let samples: Vec<_> = stages()
                    .filter_map(|stage| stage.sampled.as_ref()?.quantities.get(&quantity))
                    .map(|sample| &sample.curve)
                    .collect();
                let at = |index: usize| samples.iter().filter_map(|curve| curve.get(index).copied()).collect();
                over_repetitions(&at, curve_shares().count())
            }
            Self::Percentiles => {
                let summaries: Vec<Distribution> = stages().filter_map(|stage| quantity.of(stage)).collect();
                let at = |index: usize| summaries.iter().filter_map(|of| of.percentiles()[index].value).collect();
                over_repetitions(&at, Distribution::default().percentiles().len())
            }
        }
    }
}

/// The distributions for which there is enough.
pub(super) fn charts(context: &Context) -> Vec<Chart> {
    let Some(level) = context.levels().max_by(|a, b| a.value().total_cmp(&b.value())) else { return Vec::new() };
    DISTRIBUTIONS.iter().filter_map(|of| chart(context, of, level)).collect()
}

fn chart(context: &Context, of: &Distributed, level: Level) -> Option<Chart> {
    let curves = Curves::of(context.drawn, of.quantity, level);
    if curves == Curves::Percentiles && !of.without_records {
        return None;
    }
    let shares = curves.shares();
    let known = |drawn: &Drawn| {
        let values = curves.values(of.quantity, drawn.treatment.at(level)?);
        let placed = shares.iter().zip(values).filter(|(_, value)| value.is_some());
        let points: Vec<Point> = placed.map(|(share, x)| Point { x, y: Some(*share), spread: None }).collect();
        (points.len() >= FEWEST_PERCENTILES).then(|| series(drawn, points, true))
    };
    let series: Vec<Series> = context.drawn.iter().filter_map(known).collect();
    let source = match curves {
        Curves::Records => "From per-request records, at each percent of the requests; the median over repetitions.",
        Curves::Percentiles => {
            "Drawn through the percentiles stored with the stage, each the median over repetitions; nothing is known between \
             them."
        }
    };
    let footer = vec![format!("{source} Measured at the client, successful requests only.")];
    (!series.is_empty()).then(|| Chart {
        id: of.id.to_owned(),
        title: format!("{} at {} {}", of.title, plain(level.value()), level.unit()),
        subtitle: of.subtitle.to_owned(),
        x: Axis { label: format!("{} (s)", of.quantity), scale: choose_x_scale(&series) },
        y: Axis { label: "share of requests (%)".to_owned(), scale: Scale::Linear },
        identity: None,
        series,
        footer: context.signed(footer),
        stamp: context.stamp(),
    })
}
