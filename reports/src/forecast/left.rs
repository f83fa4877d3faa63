//! Where a measured campaign left the band.

use super::{Band, Forecast, HEADLINE};
use crate::compare::Series;
use crate::model::{Level, Metric};

/// A campaign held against a forecast.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Left {
    /// Numbers that the forecast has a band for.
    pub compared: usize,
    /// Those outside it.
    pub outside: Vec<Outside>,
    /// Treatments that the forecast does not have.
    pub unknown: Vec<String>,
}

/// One number outside its band.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// The treatment's name for people.
    pub treatment: String,
    /// The rate.
    pub rate: f64,
    /// The metric.
    pub metric: Metric,
    /// The median over repetitions.
    pub measured: f64,
    /// The band.
    pub band: Band,
}

impl Forecast {
    /// Holds treatments against the forecast, rate by rate.
    pub fn hold(&self, treatments: &[&Series]) -> Left {
        let mut left = Left::default();
        for series in treatments {
            let Some(forecast) = self.treatment(&series.name) else {
                left.unknown.push(series.display_name.clone());
                continue;
            };
            for point in &series.points {
                let Level::Rate(rate) = point.level else { continue };
                for metric in HEADLINE {
                    let Some((measured, &band)) = point.median(metric).zip(forecast.band(rate, metric)) else {
                        continue;
                    };
                    left.compared += 1;
                    if !band.holds(measured) {
                        let treatment = series.display_name.clone();
                        left.outside.push(Outside { treatment, rate, metric, measured, band });
                    }
                }
            }
        }
        left
    }
}
