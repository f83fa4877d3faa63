//! Axis scales: when logarithmic, where ticks go, how a value becomes a position.

use super::{Point, Series};

/// How an axis maps values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero.
    Linear,
    /// Decades; values at or below zero cannot be shown and leave gaps.
    Log,
}

/// A line whose highest point is below this share of the chart's top is flat on a linear axis.
const HIDDEN_SHARE: f64 = 0.1;

/// Logarithmic when a linear axis would press one line flat against zero, and every value can be shown.
pub fn choose_scale(series: &[Series]) -> Scale {
    by_tops(series, |point| point.y)
}

/// As [`choose_scale`], for the horizontal axis.
pub fn choose_x_scale(series: &[Series]) -> Scale {
    by_tops(series, |point| point.x)
}

fn by_tops(series: &[Series], coordinate: impl Fn(&Point) -> Option<f64>) -> Scale {
    let values = |series: &Series| series.points.iter().filter_map(&coordinate).collect::<Vec<f64>>();
    if series.iter().flat_map(values).any(|value| value <= 0.0) {
        return Scale::Linear;
    }
    let tops = series.iter().filter_map(|series| values(series).into_iter().reduce(f64::max));
    let (lowest, highest) = tops.fold((f64::INFINITY, 0.0_f64), |(low, high), top| (low.min(top), high.max(top)));
    if lowest < HIDDEN_SHARE * highest { Scale::Log } else { Scale::Linear }
}

/// The values an axis spans and the ticks on it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Domain {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<f64>,
}

impl Domain {
    /// The smallest pleasant span over `values` with about `count` ticks.
    pub fn over(values: impl Iterator<Item = f64>, scale: Scale, count: usize) -> Self {
        let usable = values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        match scale {
            Scale::Linear => Self::linear(if high.is_finite() { high } else { 0.0 }, count),
            Scale::Log if high.is_finite() => Self::log(low, high),
            Scale::Log => Self::log(1.0, 10.0),
        }
    }

    fn linear(high: f64, count: usize) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let step = nice_step(high / count as f64);
        let steps = (high / step - 1e-9).ceil().max(1.0);
        let ticks = (0..=steps as usize).map(|index| index as f64 * step).collect();
        Self { scale: Scale::Linear, low: 0.0, high: steps * step, ticks }
    }

    fn log(low: f64, high: f64) -> Self {
        let mantissas = [1.0, 2.0, 5.0];
        let first = low.log10().floor() as i32;
        let last = high.log10().ceil() as i32 + 1;
        let all: Vec<f64> = (first..=last).flat_map(|e| mantissas.map(|m| m * 10f64.powi(e))).collect();
        let from = all.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(0);
        let to = all.iter().position(|tick| *tick >= high * (1.0 - 1e-9)).unwrap_or(all.len() - 1).max(from + 1);
        let span = &all[from..=to];
        // Beyond two decades the fives and twos crowd the axis.
        let sparse = span.len() > 9;
        let ticks = span.iter().copied().filter(|tick| !sparse || is_decade(*tick)).collect();
        Self { scale: Scale::Log, low: span[0], high: span[span.len() - 1], ticks }
    }

    /// Where `value` lies between 0 (low end) and 1 (high end); `None` where the scale cannot show it.
    pub fn share(&self, value: f64) -> Option<f64> {
        match self.scale {
            Scale::Linear => Some((value - self.low) / (self.high - self.low)),
            Scale::Log if value > 0.0 => Some((value / self.low).ln() / (self.high / self.low).ln()),
            Scale::Log => None,
        }
    }
}

fn is_decade(tick: f64) -> bool {
    let exponent = tick.log10();
    (exponent - exponent.round()).abs() < 1e-6
}

/// The next of 1, 2, 2.5, 5 or 10 times a power of ten at or above `raw`.
fn nice_step(raw: f64) -> f64 {
    let magnitude = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| raw <= factor * magnitude * (1.0 + 1e-9));
    factor.unwrap_or(10.0) * magnitude
}
