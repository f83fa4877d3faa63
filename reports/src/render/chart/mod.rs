//! Charts: a small model of what is drawn, and one static SVG writer for it.
//!
//! The writer is our own rather than a plotting library's: reports need classes and custom properties on every mark (dark
//! mode, print, the interactive page), text whose place never depends on the fonts of the machine, markers beside colours,
//! bands that end where data ends, and the same bytes on every run. That is less code than adapting a general backend.

mod layout;
mod scale;
mod svg;
mod theme;

#[cfg(test)]
mod tests;

pub use scale::{Scale, choose_scale, choose_x_scale};
pub use svg::{draw, draw_inline};
pub use theme::{DARK, LIGHT, MARKERS, Marker, css};

/// One chart: everything the writer needs, already in the units that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// File stem and id prefix: `[a-z0-9-]+`.
    pub id: String,
    /// What is shown, in a few words.
    pub title: String,
    /// One sentence on how to read it.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, baseline first.
    pub series: Vec<Series>,
    /// A straight reference line y = x, with its name (completed = requested).
    pub identity: Option<String>,
    /// Lines below the chart: unit and source of the axes, repetitions, missing points, what the chart does not show.
    pub footer: Vec<String>,
    /// What the numbers are when they were not measured on real servers (`SIMULATED`, `FORECAST`); stamped on the chart,
    /// because charts travel without their page.
    pub stamp: Option<&'static str>,
}

/// An axis: its label with unit, and how values map onto it.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label with the unit: `TTFT p50 (s)`.
    pub label: String,
    /// Linear from zero, or logarithmic.
    pub scale: Scale,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the legend, as given; the writer shortens and escapes it.
    pub name: String,
    /// Which colour and marker: 0 is the baseline's.
    pub slot: usize,
    /// The points in drawing order.
    pub points: Vec<Point>,
    /// Whether the points are so many that markers would hide the line (distributions).
    pub dense: bool,
}

/// One point; a missing value leaves a gap in the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: Option<f64>,
    /// Position on the vertical axis: the median over repetitions.
    pub y: Option<f64>,
    /// Lowest and highest repetition, when there are several.
    pub spread: Option<(f64, f64)>,
}

impl Point {
    /// Both coordinates, when both are there and finite.
    fn position(&self) -> Option<(f64, f64)> {
        match (self.x, self.y) {
            (Some(x), Some(y)) if x.is_finite() && y.is_finite() => Some((x, y)),
            _ => None,
        }
    }
}

impl Chart {
    /// Whether any series has a point to draw; an empty chart is left out of a report.
    pub fn has_data(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| point.position().is_some())
    }
}
