//! A forecast on pages and in charts.

use super::{Band, Cost, Forecast, HEADLINE, Left, Needed, POWER, Treatment};
use crate::compare::{CONFIDENCE, Series};
use crate::model::Metric;
use crate::render::chart::{Chart, Point, Series as Line};
use crate::render::charts::{Drawn, FIGURES};
use crate::render::page::Section;
use crate::render::text::{ABSENT, plain};
use crate::render::values::{Detail, value};

impl Forecast {
    /// The tables of a page: what the forecast says when the page is its own, where it was left when it is a campaign's.
    pub fn sections(&self, treatments: &[&Series]) -> Vec<Section> {
        if treatments.iter().any(|series| series.is_forecast()) {
            let names: Vec<&str> = treatments.iter().map(|series| series.name.as_str()).collect();
            return self.own(&names);
        }
        vec![self.against(&self.hold(treatments))]
    }

    fn own(&self, names: &[&str]) -> Vec<Section> {
        let treatments: Vec<&Treatment> =
            self.treatments.iter().filter(|treatment| names.contains(&treatment.name.as_str())).collect();
        let needed: Vec<&Needed> =
            self.needed.iter().filter(|needed| names.contains(&needed.candidate.as_str())).collect();
        let mut sections = vec![costs(&treatments), spreads(&treatments)];
        sections.extend((!needed.is_empty()).then(|| repetitions(&needed, &treatments)));
        sections
    }

    fn against(&self, left: &Left) -> Section {
        let Left { compared, outside, unknown } = left;
        let mut text = vec![format!(
            "Held against {} ({} runs on {}): {} of {compared} numbers lie outside the band from the 5th to the 95th \
             percentile of runs. A tenth of them would lie outside by chance if the forecast were exact and each number were \
             one repetition's.",
            self.campaign_id,
            self.runs,
            self.hardware,
            outside.len(),
        )];
        if !unknown.is_empty() {
            text.push(format!("The forecast does not have: {}.", unknown.join(", ")));
        }
        let rows = outside.iter().map(|outside| {
            let show = |number: f64| value(outside.metric, Some(number), Detail::Table);
            vec![
                format!("{} at {}", outside.treatment, plain(outside.rate)),
                outside.metric.to_string(),
                show(outside.measured),
                format!("{} to {}", show(outside.band.p5), show(outside.band.p95)),
                percent(outside.measured / outside.band.p50 - 1.0),
            ]
        });
        Section {
            title: "Against the forecast".to_owned(),
            text,
            columns: ["outside the band", "metric", "measured", "forecast", "from the median"]
                .map(str::to_owned)
                .to_vec(),
            rows: rows.collect(),
        }
    }

    /// The chart with the forecast's band under each treatment that is drawn; a forecast's own charts have it already.
    pub(crate) fn overlaid(&self, mut chart: Chart, drawn: &[Drawn]) -> Chart {
        let Some(figure) = FIGURES.iter().find(|figure| figure.id == chart.id) else { return chart };
        let mut bands = Vec::new();
        for drawn in drawn.iter().filter(|drawn| !drawn.treatment.is_forecast()) {
            let Some(treatment) = self.treatment(&drawn.treatment.name) else { continue };
            let point = |level: &super::Level| {
                let band = level.metrics.get(&figure.metric.key())?;
                let spread = Some((band.p5 * figure.factor, band.p95 * figure.factor));
                Some(Point { x: Some(level.requested_qps), y: None, spread })
            };
            let points: Vec<Point> = treatment.levels.iter().filter_map(point).collect();
            if !points.is_empty() {
                let name = format!("{}, forecast", drawn.treatment.display_name);
                bands.push(Line { name, slot: drawn.slot, points, dense: true });
            }
        }
        if !bands.is_empty() {
            chart.series.extend(bands);
            let runs = self.runs;
            chart.footer.push(format!(
                "Forecast bands: 5th to 95th percentile of {runs} computed runs ({}).",
                self.campaign_id
            ));
        }
        chart
    }
}

fn costs(treatments: &[&Treatment]) -> Section {
    let row = |treatment: &&Treatment| {
        let Cost { load_seconds, accelerators, .. } = treatment.cost;
        let accelerator = |pick: fn(&Band) -> f64| plain(treatment.cost.accelerator_minutes(pick).round());
        vec![
            treatment.display_name.clone(),
            minutes(load_seconds.p50),
            format!("{} to {}", minutes(load_seconds.p5), minutes(load_seconds.p95)),
            if accelerators == 0 { ABSENT.to_owned() } else { plain(f64::from(accelerators)) },
            if accelerators == 0 { ABSENT.to_owned() } else { accelerator(|band| band.p50) },
            if accelerators == 0 {
                ABSENT.to_owned()
            } else {
                format!("{} to {}", accelerator(|band| band.p5), accelerator(|band| band.p95))
            },
        ]
    };
    let standup = treatments.first().map_or(0.0, |treatment| treatment.cost.standup_seconds);
    let started = if standup == 0.0 {
        "Starting the model servers is not included; --standup adds it.".to_owned()
    } else {
        format!("{} to start the model servers is included in GPU minutes.", minutes(standup))
    };
    Section {
        title: "What a repetition takes".to_owned(),
        text: vec![format!(
            "From the harness's start to its end, drains and pauses between stages included. {started}"
        )],
        columns: ["treatment", "wall time", "5% to 95%", "GPUs", "GPU minutes", "5% to 95%"]
            .map(str::to_owned)
            .to_vec(),
        rows: treatments.iter().map(row).collect(),
    }
}

fn spreads(treatments: &[&Treatment]) -> Section {
    let mut rows = Vec::new();
    for treatment in treatments {
        let Some(top) = treatment.levels.last() else { continue };
        for metric in HEADLINE {
            let Some(band) = top.metrics.get(&metric.key()) else { continue };
            let show = |number: f64| value(metric, Some(number), Detail::Table);
            rows.push(vec![
                format!("{}, {metric}", treatment.display_name),
                show(band.p50),
                format!("{} to {}", show(band.p5), show(band.p95)),
                band.deviation.map_or_else(|| ABSENT.to_owned(), |deviation| format!("{:.1}%", deviation * 100.0)),
            ]);
        }
    }
    let rate = treatments.iter().find_map(|treatment| treatment.levels.last()).map_or(0.0, |level| level.requested_qps);
    Section {
        title: "How far repetitions will lie apart".to_owned(),
        text: vec![format!(
            "At {} requests/s, the highest rate. The deviation is that of the logarithms over runs: about the relative standard \
             deviation of a single repetition.",
            plain(rate)
        )],
        columns: ["treatment and metric", "median", "5% to 95%", "deviation"].map(str::to_owned).to_vec(),
        rows,
    }
}

fn repetitions(needed: &[&Needed], treatments: &[&Treatment]) -> Section {
    let name = |name: &str| {
        let found = treatments.iter().find(|treatment| treatment.name == name);
        found.map_or_else(|| name.to_owned(), |treatment| treatment.display_name.clone())
    };
    let count = |count: Option<usize>| count.map_or_else(|| "more than 1000".to_owned(), |count| count.to_string());
    let rows = needed.iter().map(|needed| {
        let metric = HEADLINE.into_iter().find(|metric| metric.key() == needed.metric);
        let metric = metric.map_or_else(|| needed.metric.clone(), |metric: Metric| metric.to_string());
        let mut row = vec![
            format!("{}, {metric}", name(&needed.candidate)),
            needed.difference.map_or_else(|| ABSENT.to_owned(), percent),
            count(needed.for_difference),
        ];
        row.extend(needed.at.iter().map(|(_, needed)| count(*needed)));
        row
    });
    let mut columns =
        vec!["against the baseline".to_owned(), "forecast difference".to_owned(), "to tell it".to_owned()];
    let asked = needed.first().map(|needed| &needed.at[..]).unwrap_or_default();
    columns.extend(asked.iter().map(|(difference, _)| format!("to tell {}", percent(*difference))));
    let baseline = needed.first().map(|needed| name(&needed.baseline)).unwrap_or_default();
    Section {
        title: "Repetitions needed".to_owned(),
        text: vec![format!(
            "Repetitions of each treatment after which a difference from {baseline} at the highest rate is called with \
             {:.0}% confidence in {:.0} of 100 campaigns: n = (t(1 - a/2) + t(power))² (s1² + s2²) / ln(1 + difference)², the \
             sample size for two means (Chow, Shao, Wang and Lokhnygina 2018, section 3.2) for the test that comparisons use.",
            CONFIDENCE * 100.0,
            POWER * 100.0
        )],
        columns,
        rows: rows.collect(),
    }
}

fn percent(fraction: f64) -> String {
    format!("{:+.1}%", fraction * 100.0)
}

fn minutes(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.1} min", seconds / 60.0) }
}
