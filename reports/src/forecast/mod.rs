//! Forecasts: what runs in virtual time say about a campaign, and where a measured campaign left it.
//!
//! [`Forecast`] is `forecast.json`: for each treatment and rate the band of every metric over runs, how far runs lie apart,
//! what a repetition takes, and how many repetitions tell two treatments apart. It is made from a [`Campaign`] whose
//! repetitions are the runs, and read back to be laid over a measured one.

mod left;
mod needed;
mod page;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use left::{Left, Outside};
pub use needed::{Needed, POWER, repetitions_needed};

use crate::campaign::Campaign;
use crate::compare::{self, Options, Point, Series, band_of_sorted};
use crate::files;
use crate::model::{Metric, Quantity, Statistic};
use crate::statistics::Spread;

/// The file's name.
pub const FILE_NAME: &str = "forecast.json";
/// The format's version.
pub const SCHEMA_VERSION: u32 = 1;

/// The metrics that a forecast is judged by, and that a campaign is held against.
pub const HEADLINE: [Metric; 6] = [
    Metric::RequestRate,
    Metric::OutputTokenRate,
    Metric::Latency(Quantity::Ttft, Statistic::P50),
    Metric::Latency(Quantity::Ttft, Statistic::P90),
    Metric::Latency(Quantity::Itl, Statistic::P50),
    Metric::Latency(Quantity::Ntpot, Statistic::P50),
];

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] files::Error),
    /// It is not a forecast.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser found.
        source: serde_json::Error,
    },
    /// A version that is not understood.
    #[error("{path}: forecast version {found} is newer than {SCHEMA_VERSION}, the newest that is understood here", path = path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The runs cannot be put together.
    #[error(transparent)]
    Compare(#[from] compare::Error),
}

/// A forecast: `forecast.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// The format's version.
    pub schema_version: u32,
    /// The campaign's name.
    pub campaign_id: String,
    /// Runs of each treatment.
    pub runs: usize,
    /// The hardware model, in a line.
    pub hardware: String,
    /// The treatments.
    pub treatments: Vec<Treatment>,
    /// What it takes to tell treatments apart, at the highest rate.
    pub needed: Vec<Needed>,
}

/// A treatment's forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Treatment {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// What a repetition takes.
    pub cost: Cost,
    /// The rates, ascending, without warm-up.
    pub levels: Vec<Level>,
}

/// What one repetition takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds from the harness's start to its end.
    pub load_seconds: Band,
    /// Seconds to start the model servers before it, as given; they hold their accelerators meanwhile.
    pub standup_seconds: f64,
    /// Accelerators that are held.
    pub accelerators: u32,
}

impl Cost {
    /// Minutes of all accelerators together: the band's value at `pick`, and the time to start.
    pub fn accelerator_minutes(&self, pick: impl Fn(&Band) -> f64) -> f64 {
        (pick(&self.load_seconds) + self.standup_seconds) / 60.0 * f64::from(self.accelerators)
    }
}

/// One rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Requested requests a second.
    pub requested_qps: f64,
    /// The band of each metric, by its key.
    pub metrics: IndexMap<String, Band>,
}

/// A metric over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Standard deviation of the logarithms, which is the relative one; `None` where a value is not above 0.
    pub deviation: Option<f64>,
}

impl Band {
    /// The band of a spread over runs.
    pub fn of(spread: &Spread) -> Option<Self> {
        let (p5, p95) = band_of_sorted(&spread.values)?;
        Some(Self { p5, p50: spread.median, p95, deviation: log_deviation(&spread.values) })
    }

    /// Whether a value lies in the band.
    pub fn holds(&self, value: f64) -> bool {
        (self.p5..=self.p95).contains(&value)
    }
}

/// Standard deviation of the logarithms; `None` for fewer than two values or one that is not above 0.
fn log_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    Some((squares / (logs.len() - 1) as f64).sqrt())
}

impl Forecast {
    /// The forecast that a campaign of computed runs is. `costs` are the treatments', by name; `differences` those, as
    /// fractions, that repetitions are to tell apart.
    ///
    /// # Errors
    /// When a treatment's runs have no ladder in common.
    pub fn of(
        campaign: &Campaign,
        hardware: &str,
        costs: &IndexMap<String, Cost>,
        differences: &[f64],
    ) -> Result<Self, Error> {
        let series = campaign.treatments.iter().map(|treatment| compare::series(treatment, &Options::default()));
        let series: Vec<Series> = series.collect::<Result<_, _>>()?;
        let treatment = |series: &Series| {
            Some(Treatment {
                name: series.name.clone(),
                display_name: series.display_name.clone(),
                cost: *costs.get(&series.name)?,
                levels: series.points.iter().map(level).collect(),
            })
        };
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            campaign_id: campaign.manifest.campaign_id.clone(),
            runs: series.iter().map(|series| series.repetitions.len()).min().unwrap_or(0),
            hardware: hardware.to_owned(),
            treatments: series.iter().filter_map(treatment).collect(),
            needed: needed::of(&series, differences),
        })
    }

    /// Reads the forecast of a folder.
    ///
    /// # Errors
    /// When there is none, or it is of a newer version.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Versioned {
            schema_version: u32,
        }
        let path = folder.join(FILE_NAME);
        let text = files::read_text(&path, files::DOCUMENT_LIMIT)?;
        let json = |source| Error::Json { path: path.clone(), source };
        let Versioned { schema_version: found } = serde_json::from_str(&text).map_err(json)?;
        if found > SCHEMA_VERSION {
            return Err(Error::Version { path, found });
        }
        serde_json::from_str(&text).map_err(json)
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("numbers, text, lists and mappings by text are JSON");
        text.push('\n');
        text
    }

    /// The treatment of that name.
    pub fn treatment(&self, name: &str) -> Option<&Treatment> {
        self.treatments.iter().find(|treatment| treatment.name == name)
    }
}

impl Treatment {
    /// The band of a metric at a rate (to 1e-6 relative, as text formats round).
    pub fn band(&self, rate: f64, metric: Metric) -> Option<&Band> {
        let same = |level: &&Level| (level.requested_qps - rate).abs() <= 1e-6 * rate.abs();
        self.levels.iter().find(same)?.metrics.get(&metric.key())
    }
}

fn level(point: &Point) -> Level {
    let band = |metric: Metric| Some((metric.key(), Band::of(&point.spread(metric)?)?));
    Level { requested_qps: point.level.value(), metrics: Metric::all().into_iter().filter_map(band).collect() }
}
