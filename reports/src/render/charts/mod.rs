//! From treatments' series to charts.

mod figure;

#[cfg(test)]
mod tests;

pub use figure::{FIGURES, Figure};

use crate::compare::{Point as Measured, Series as Treatment};
use crate::model::{Distribution, Level, Metric, Quantity, Statistic};
use crate::statistics::median;

use super::chart::{Axis, Chart, Point, Scale, Series, choose_scale, choose_x_scale};
use super::text::plain;

/// A treatment and the colour and marker that it has on every page of a report.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    /// Its measurements.
    pub treatment: &'a Treatment,
    /// 0 for the baseline.
    pub slot: usize,
}

/// Fewer stored percentiles than this say too little about a distribution's shape to draw it.
const FEWEST_PERCENTILES: usize = 5;

/// Every chart for which these treatments have data; failures only where there are any.
pub fn charts(drawn: &[Drawn], campaign_id: &str, simulated: bool) -> Vec<Chart> {
    let context = Context { drawn, campaign_id, simulated };
    let mut charts: Vec<Chart> = FIGURES.iter().filter_map(|figure| context.over_ladder(figure)).collect();
    charts.extend(context.latency_against_throughput());
    charts.extend(context.distribution());
    charts
}

struct Context<'a> {
    drawn: &'a [Drawn<'a>],
    campaign_id: &'a str,
    simulated: bool,
}

impl Context<'_> {
    fn over_ladder(&self, figure: &Figure) -> Option<Chart> {
        let series = self.series(|measured| point(measured, figure));
        let nothing_failed = figure.metric == Metric::FailureRate
            && series.iter().flat_map(|series| &series.points).all(|point| point.y.is_none_or(|share| share == 0.0));
        if nothing_failed {
            return None;
        }
        let axis = self.ladder_axis()?;
        let mut footer = vec![format!("Horizontal: {axis}, as configured. Vertical: {}", figure.shows)];
        footer.extend(self.gaps(figure.metric));
        let chart = Chart {
            id: figure.id.to_owned(),
            title: figure.title.to_owned(),
            subtitle: figure.reading.to_owned(),
            x: Axis { label: axis.to_owned(), scale: Scale::Linear },
            y: Axis { label: format!("{} ({})", figure.axis, figure.unit), scale: choose_scale(&series) },
            identity: (figure.metric == Metric::RequestRate
                && self.levels().all(|level| matches!(level, Level::Rate(_))))
            .then(|| "completed = requested".to_owned()),
            series,
            footer: self.signed(footer),
            simulated: self.simulated,
        };
        chart.has_data().then_some(chart)
    }

    /// What a user waits against what the servers deliver, one path through the ladder for each treatment.
    fn latency_against_throughput(&self) -> Option<Chart> {
        let ttft = Metric::Latency(Quantity::Ttft, Statistic::P50);
        let series = self.series(|measured| Point {
            x: measured.median(Metric::OutputTokenRate),
            y: measured.median(ttft),
            spread: measured.spread(ttft).filter(|spread| spread.count() > 1).map(|spread| (spread.min, spread.max)),
        });
        let placed =
            |series: &Series| series.points.iter().filter(|point| point.x.is_some() && point.y.is_some()).count();
        let several = series.iter().any(|series| placed(series) > 1);
        let footer = vec![
            "Each marker is a stage, joined in the order of the ladder. Output token rate over the stage's whole time, drain included; \
             TTFT at the client, successful requests only."
                .to_owned(),
        ];
        let chart = Chart {
            id: "latency-throughput".to_owned(),
            title: "Latency against throughput".to_owned(),
            subtitle:
                "Lower and further right is better: how long the first token takes at the throughput that was reached."
                    .to_owned(),
            x: Axis { label: "output token rate (tokens/s)".to_owned(), scale: Scale::Linear },
            y: Axis { label: "TTFT p50 (s)".to_owned(), scale: choose_scale(&series) },
            identity: None,
            series,
            footer: self.signed(footer),
            simulated: self.simulated,
        };
        (several && chart.has_data()).then_some(chart)
    }

    /// The distribution of TTFT at the highest level, through the percentiles that the evidence holds.
    fn distribution(&self) -> Option<Chart> {
        let level = self.levels().max_by(|a, b| a.value().total_cmp(&b.value()))?;
        let known = |drawn: &Drawn| {
            let measured = drawn.treatment.at(level)?;
            let points = cumulative(measured);
            (points.len() >= FEWEST_PERCENTILES).then(|| series(drawn, points, true))
        };
        let series: Vec<Series> = self.drawn.iter().filter_map(known).collect();
        let footer = vec![
            "Drawn through the percentiles stored with the stage, each the median over repetitions; nothing is known between them. TTFT \
             at the client, successful requests only."
                .to_owned(),
        ];
        (!series.is_empty()).then(|| Chart {
            id: "ttft-distribution".to_owned(),
            title: format!("Distribution of time to first token at {} {}", plain(level.value()), unit(level)),
            subtitle: "Further left is better: the share of requests whose first token came within this time."
                .to_owned(),
            x: Axis { label: "TTFT (s)".to_owned(), scale: choose_x_scale(&series) },
            y: Axis { label: "share of requests (%)".to_owned(), scale: Scale::Linear },
            identity: None,
            series,
            footer: self.signed(footer),
            simulated: self.simulated,
        })
    }

    fn series(&self, pick: impl Fn(&Measured) -> Point) -> Vec<Series> {
        let of = |drawn: &Drawn| series(drawn, drawn.treatment.points.iter().map(&pick).collect(), false);
        self.drawn.iter().map(of).collect()
    }

    fn levels(&self) -> impl Iterator<Item = Level> {
        self.drawn.iter().flat_map(|drawn| drawn.treatment.points.iter().map(|point| point.level))
    }

    fn ladder_axis(&self) -> Option<&'static str> {
        self.levels().next().map(Level::axis)
    }

    /// Which points are missing, in words: a gap in a line is easily overlooked.
    fn gaps(&self, metric: Metric) -> Vec<String> {
        let missing = |drawn: &Drawn| {
            let missing = drawn.treatment.points.iter().filter(|point| point.median(metric).is_none());
            let levels: Vec<String> = missing.map(|point| plain(point.level.value())).collect();
            (!levels.is_empty()).then(|| format!("n/a for {} at {}.", drawn.treatment.display_name, levels.join(", ")))
        };
        self.drawn.iter().filter_map(missing).collect()
    }

    /// The lines that every chart ends with: repetitions, simulation, load generator, campaign.
    fn signed(&self, mut footer: Vec<String>) -> Vec<String> {
        footer.push(repetitions(self.drawn));
        let stage =
            self.drawn.iter().flat_map(|drawn| &drawn.treatment.points).flat_map(|point| &point.repetitions).next();
        let harness = stage.map(|(_, stage)| &stage.harness).filter(|harness| !harness.tool.is_empty());
        let mut source = format!("Campaign {}", self.campaign_id);
        if let Some(harness) = harness {
            let version = harness.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
            source.push_str(&format!(", measured by {}{version}", harness.tool));
        }
        if self.simulated {
            source.push_str(", model servers simulated by the testbed");
        }
        footer.push(source + ".");
        footer
    }
}

/// What lines and bands are, in words.
pub(super) fn repetitions(drawn: &[Drawn]) -> String {
    let counts = || drawn.iter().map(|drawn| drawn.treatment.repetitions.len());
    match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (_, 0 | 1) => "One repetition: how far repetitions would lie apart is not known.".to_owned(),
        (fewest, most) if fewest == most => {
            format!("Lines: median of {most} repetitions. Bands: lowest to highest repetition.")
        }
        (fewest, most) => {
            format!("Lines: median of {fewest} to {most} repetitions. Bands: lowest to highest repetition.")
        }
    }
}

fn series(drawn: &Drawn, points: Vec<Point>, dense: bool) -> Series {
    Series { name: drawn.treatment.display_name.clone(), slot: drawn.slot, points, dense }
}

fn point(measured: &Measured, figure: &Figure) -> Point {
    let spread = measured.spread(figure.metric);
    Point {
        x: Some(measured.level.value()),
        y: spread.as_ref().map(|spread| spread.median * figure.factor),
        spread: spread
            .filter(|spread| spread.count() > 1)
            .map(|spread| (spread.min * figure.factor, spread.max * figure.factor)),
    }
}

/// The points of a cumulative distribution: TTFT, share of requests in percent.
fn cumulative(measured: &Measured) -> Vec<Point> {
    let known = distribution_points(measured).into_iter().filter(|(_, value)| value.is_some());
    known.map(|(share, value)| Point { x: value, y: Some(share), spread: None }).collect()
}

/// TTFT's percentiles: share of requests in percent, and the median over repetitions of the value that they stay within.
pub(super) fn distribution_points(measured: &Measured) -> Vec<(f64, Option<f64>)> {
    let ttft: Vec<Distribution> = measured.repetitions.iter().filter_map(|(_, stage)| stage.latency.ttft).collect();
    let value = |index: usize| {
        let values: Vec<f64> = ttft.iter().filter_map(|summary| summary.percentiles()[index].value).collect();
        median(&values)
    };
    let percentiles = Distribution::default().percentiles();
    percentiles.iter().enumerate().map(|(index, percentile)| (percentile.probability * 100.0, value(index))).collect()
}

/// The unit of a ladder's level, short.
pub(super) fn unit(level: Level) -> &'static str {
    match level {
        Level::Rate(_) => "requests/s",
        Level::Concurrency(_) => "requests in flight",
    }
}
