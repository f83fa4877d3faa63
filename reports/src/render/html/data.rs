//! The numbers that the page's script draws from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compare::Point;
use crate::model::{Level, Metric, Quantity, Statistic as Stat, short};
use crate::render::chart::Chart;
use crate::render::charts::{Curves, DISTRIBUTIONS, FIGURES};
use crate::render::page::Report;

/// A figure as page and script know it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figure {
    /// Also the id of the static chart that the script replaces.
    pub id: String,
    title: String,
    reading: String,
    shows: String,
    hides: String,
    /// `ladder`, `path` or `distribution`.
    kind: &'static str,
    /// Key of a point's values; with `statistics`, the part before the statistic.
    metric: String,
    /// Whether the reader chooses the statistic.
    statistics: bool,
    axis: String,
    unit: &'static str,
    factor: f64,
    /// The horizontal axis' label.
    x: String,
    identity: bool,
}

/// A statistic that the reader may choose.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Statistic {
    key: &'static str,
    label: &'static str,
    chosen: bool,
}

/// One treatment's points.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Treatment<'a> {
    name: &'a str,
    slot: usize,
    points: Vec<Values>,
    /// By latency, in seconds: the values at the data's shares.
    distributions: BTreeMap<&'static str, Vec<Option<f64>>>,
}

#[derive(Clone, Debug, Serialize)]
struct Values {
    level: f64,
    /// Median, lowest and highest repetition; the median alone when there is one repetition.
    values: BTreeMap<String, Vec<f64>>,
}

#[derive(Serialize)]
struct Data<'a> {
    unit: &'static str,
    levels: Vec<f64>,
    /// By latency, in percent.
    shares: BTreeMap<&'static str, Vec<f64>>,
    statistic: &'static str,
    statistics: BTreeMap<&'static str, &'static str>,
    figures: &'a [Figure],
    treatments: &'a [Treatment<'a>],
}

/// Rates and shares by the name that the script uses.
const RATES: [(Metric, &str); 3] =
    [(Metric::OutputTokenRate, "output"), (Metric::RequestRate, "requests"), (Metric::FailureRate, "failed")];
const LATENCIES: [Quantity; 3] = [Quantity::Ttft, Quantity::Itl, Quantity::Ntpot];

/// The page's figures in its order: what most readers come for first. Of figures that differ only in their percentile one
/// is left, because the reader chooses the percentile.
pub(super) fn figures(report: &Report, charts: &[Chart]) -> Vec<Figure> {
    let order = [
        "throughput",
        "ttft-p50",
        "request-rate",
        "itl-p50",
        "ntpot-p50",
        "failures",
        "latency-throughput",
        "ttft-distribution",
        "latency-distribution",
    ];
    let found = |id: &str| charts.iter().find(|chart| chart.id == id);
    order.into_iter().filter_map(|id| figure(report, found(id)?)).collect()
}

fn figure(report: &Report, chart: &Chart) -> Option<Figure> {
    let view = crate::render::page::chart_view(chart);
    let known = FIGURES.iter().find(|figure| figure.id == chart.id);
    let base = Figure {
        id: chart.id.clone(),
        title: chart.title.clone(),
        reading: chart.subtitle.clone(),
        shows: view.shows,
        hides: view.hides,
        kind: "ladder",
        metric: String::new(),
        statistics: false,
        axis: String::new(),
        unit: "s",
        factor: 1.0,
        x: chart.x.label.clone(),
        identity: chart.identity.is_some(),
    };
    let Some(known) = known else {
        let distributed = DISTRIBUTIONS.iter().find(|of| of.id == chart.id);
        return Some(match distributed {
            Some(of) => Figure {
                kind: "distribution",
                metric: of.quantity.key().into(),
                axis: "share of requests".into(),
                unit: "%",
                ..base
            },
            None => Figure { kind: "path", metric: "ttft".into(), statistics: true, axis: "TTFT".into(), ..base },
        });
    };
    let figure = Figure { unit: known.unit, factor: known.factor, axis: known.axis.into(), ..base };
    Some(match known.metric {
        Metric::Latency(quantity, _) => Figure {
            title: chart.title.split(',').next().unwrap_or_default().to_owned(),
            reading: latency_reading(quantity, report).to_owned(),
            metric: quantity.key().into(),
            statistics: true,
            axis: quantity.to_string(),
            ..figure
        },
        metric => Figure { metric: RATES.iter().find(|(rate, _)| *rate == metric)?.1.into(), ..figure },
    })
}

/// How to read a latency whatever its percentile.
fn latency_reading(quantity: Quantity, report: &Report) -> &'static str {
    match quantity {
        Quantity::Itl if report.treatments.len() > 1 => {
            "Lower is better for one reader, but read it beside TTFT and throughput: busier servers have longer gaps."
        }
        Quantity::Ntpot => "Lower is better: waiting and generating, spread over the tokens that came.",
        Quantity::Ttft => "Lower is better: how long a request waits for its first token.",
        _ => "Lower is better.",
    }
}

/// The statistics that some treatment has, the median chosen when it is one of them.
pub(super) fn statistics(report: &Report) -> Vec<Statistic> {
    let points = || report.treatments.iter().flat_map(|drawn| &drawn.treatment.points);
    let known = |statistic: &Stat| {
        points().any(|point| {
            LATENCIES.iter().any(|quantity| point.median(Metric::Latency(*quantity, *statistic)).is_some())
        })
    };
    let found: Vec<Stat> = Stat::ALL.into_iter().filter(known).collect();
    let chosen = if found.contains(&Stat::P50) { Some(Stat::P50) } else { found.first().copied() };
    let choice = |statistic: Stat| Statistic {
        key: statistic.key(),
        label: statistic.label(),
        chosen: chosen == Some(statistic),
    };
    found.into_iter().map(choice).collect()
}

/// All treatments with every number that a figure may show.
pub(super) fn treatments<'a>(report: &Report<'a>) -> Vec<Treatment<'a>> {
    let top = top(report);
    let of = |drawn: &crate::render::charts::Drawn<'a>| Treatment {
        name: &drawn.treatment.display_name,
        slot: drawn.slot,
        points: drawn.treatment.points.iter().map(values).collect(),
        distributions: top.and_then(|level| Some((level, drawn.treatment.at(level)?))).map_or_else(
            BTreeMap::new,
            |(level, point)| {
                let values = |quantity| Curves::of(&report.treatments, quantity, level).values(quantity, point);
                let of = DISTRIBUTIONS.iter().map(|of| (of.quantity.key(), values(of.quantity)));
                of.map(|(key, values)| (key, values.into_iter().map(|value| value.map(short)).collect())).collect()
            },
        ),
    };
    report.treatments.iter().map(of).collect()
}

fn values(point: &Point) -> Values {
    let mut values = BTreeMap::new();
    let mut add = |key: String, metric: Metric| {
        if let Some(spread) = point.spread(metric) {
            let several = [spread.median, spread.min, spread.max].map(short).to_vec();
            values.insert(key, if spread.count() > 1 { several } else { several[..1].to_vec() });
        }
    };
    for (metric, key) in RATES {
        add(key.to_owned(), metric);
    }
    for quantity in LATENCIES {
        for statistic in Stat::ALL {
            add(format!("{}_{}", quantity.key(), statistic.key()), Metric::Latency(quantity, statistic));
        }
    }
    Values { level: point.level.value(), values }
}

fn top(report: &Report) -> Option<Level> {
    let levels = report.treatments.iter().flat_map(|drawn| drawn.treatment.points.iter().map(|point| point.level));
    levels.max_by(|a, b| a.value().total_cmp(&b.value()))
}

/// The data as JSON that may stand inside a script element.
pub(super) fn json(report: &Report, figures: &[Figure], statistics: &[Statistic], treatments: &[Treatment]) -> String {
    let mut levels: Vec<f64> =
        treatments.iter().flat_map(|treatment| treatment.points.iter().map(|point| point.level)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let shares = |level: Level| {
        let of = DISTRIBUTIONS.iter().map(|of| of.quantity);
        of.map(|quantity| (quantity.key(), Curves::of(&report.treatments, quantity, level).shares())).collect()
    };
    let data = Data {
        unit: match top(report) {
            Some(Level::Rate(_)) => "requests/s",
            Some(Level::Concurrency(_)) => "requests in flight",
            None => "",
        },
        levels,
        shares: top(report).map_or_else(BTreeMap::new, shares),
        statistic: statistics.iter().find(|statistic| statistic.chosen).map_or("p50", |statistic| statistic.key),
        statistics: statistics.iter().map(|statistic| (statistic.key, statistic.label)).collect(),
        figures,
        treatments,
    };
    // No `<` may follow: `</script>` or `<!--` in a name would end or swallow the element.
    serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c")
}
