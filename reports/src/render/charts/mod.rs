//! From treatments' series to charts.

mod distribution;
mod figure;

#[cfg(test)]
mod tests;

pub(super) use distribution::{Curves, DISTRIBUTIONS};
pub use figure::{FIGURES, Figure};

use crate::compare::{Point as Measured, Series as Treatment};
use crate::model::{Level, Metric, Quantity, Stack, Statistic};

use super::chart::{Axis, Chart, Point, Scale, Series, choose_scale};
use super::text::plain;

/// A treatment and the colour and marker that it has on every page of a report.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    /// Its measurements.
    pub treatment: &'a Treatment,
    /// 0 for the baseline.
    pub slot: usize,
}

/// Every chart for which these treatments have data; failures only where there are any.
pub fn charts(drawn: &[Drawn], campaign_id: &str, simulated: bool) -> Vec<Chart> {
    let context = Context { drawn, campaign_id, simulated };
    let mut charts: Vec<Chart> = FIGURES.iter().filter_map(|figure| context.over_ladder(figure)).collect();
    charts.extend(context.latency_against_throughput());
    charts.extend(distribution::charts(&context));
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
            stamp: self.stamp(),
        };
        chart.has_data().then_some(chart)
    }

    /// What a user waits against what the servers deliver, one path through the ladder for each treatment.
    fn latency_against_throughput(&self) -> Option<Chart> {
        let ttft = Metric::Latency(Quantity::Ttft, Statistic::P50);
        let series = self.series(|measured| Point {
            x: measured.median(Metric::OutputTokenRate),
            y: measured.median(ttft),
            spread: measured.band(ttft),
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
            stamp: self.stamp(),
        };
        (several && chart.has_data()).then_some(chart)
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

    /// Whether nobody measured what is drawn.
    fn forecast(&self) -> bool {
        self.drawn.iter().any(|drawn| drawn.treatment.is_forecast())
    }

    fn stamp(&self) -> Option<&'static str> {
        if self.forecast() { Some("FORECAST") } else { self.simulated.then_some("SIMULATED") }
    }

    /// The lines that every chart ends with: repetitions, simulation, load generator, campaign.
    fn signed(&self, mut footer: Vec<String>) -> Vec<String> {
        footer.push(repetitions(self.drawn));
        let stage =
            self.drawn.iter().flat_map(|drawn| &drawn.treatment.points).flat_map(|point| &point.repetitions).next();
        let harness = stage.map(|(_, stage)| &stage.harness).filter(|harness| !harness.tool.is_empty());
        let mut source = format!("Campaign {}", self.campaign_id);
        if let Some(harness) = harness {
            let verb = if self.forecast() { "computed" } else { "measured" };
            let version = harness.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
            source.push_str(&format!(", {verb} by {}{version}", harness.tool));
        }
        match self.drawn.iter().find_map(|drawn| drawn.treatment.stack.simulator()) {
            Some(Stack::SIMULATED_TOOL) => source.push_str(", model servers simulated by the testbed"),
            Some(tool) => source.push_str(&format!(", model servers simulated by {tool}")),
            None => {}
        }
        footer.push(source + ".");
        footer
    }
}

/// What lines and bands are, in words.
pub(super) fn repetitions(drawn: &[Drawn]) -> String {
    if let Some(forecast) = drawn.iter().find(|drawn| drawn.treatment.is_forecast()) {
        let runs = forecast.treatment.repetitions.len();
        return format!("Lines: median of {runs} computed runs. Bands: 5th to 95th percentile.");
    }
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
    Point {
        x: Some(measured.level.value()),
        y: measured.median(figure.metric).map(|median| median * figure.factor),
        spread: measured.band(figure.metric).map(|(low, high)| (low * figure.factor, high * figure.factor)),
    }
}
