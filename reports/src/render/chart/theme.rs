//! Colours and markers: readable without colour, told apart by people who see colours differently.

use std::fmt::Write;

/// A marker's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle pointing up.
    Up,
    /// A square on its corner.
    Diamond,
    /// A triangle pointing down.
    Down,
    /// A plus sign.
    Cross,
    /// A circle, not filled.
    Ring,
}

/// Markers by slot; a slot beyond the list starts again.
pub const MARKERS: [Marker; 7] =
    [Marker::Circle, Marker::Square, Marker::Up, Marker::Diamond, Marker::Down, Marker::Cross, Marker::Ring];

/// Colours of the surface and of the series.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Behind everything.
    pub paper: &'static str,
    /// Titles and names.
    pub ink: &'static str,
    /// Everything else that is read.
    pub muted: &'static str,
    /// Grid lines.
    pub grid: &'static str,
    /// By slot. The baseline is neutral; the rest follow Okabe and Ito, darkened until text in them has contrast 4.5.
    pub series: [&'static str; 7],
}

/// On white: what every SVG's attributes say.
pub const LIGHT: Theme = Theme {
    paper: "#ffffff",
    ink: "#1f2328",
    muted: "#59636e",
    grid: "#e3e7ec",
    series: ["#57606a", "#0072b2", "#c24e00", "#007a5a", "#a8437f", "#7d6100", "#1f2328"],
};

/// On near-black: applied by style sheet where the viewer asks for it.
pub const DARK: Theme = Theme {
    paper: "#12161c",
    ink: "#e6edf3",
    muted: "#9aa5b1",
    grid: "#2a313a",
    series: ["#a3adb8", "#56b4e9", "#f2935c", "#3ecfa0", "#e39ac6", "#e0bd4a", "#e6edf3"],
};

/// Style rules that give the writer's classes this theme's colours.
pub fn css(theme: &Theme, prefix: &str) -> String {
    let mut rules = format!(
        "{prefix}.paper{{fill:{}}}{prefix}.ink{{fill:{}}}{prefix}.muted{{fill:{}}}{prefix}.grid{{stroke:{}}}\
         {prefix}.axis{{stroke:{}}}",
        theme.paper, theme.ink, theme.muted, theme.grid, theme.muted
    );
    for (slot, colour) in theme.series.iter().enumerate() {
        // Writing to a String cannot fail.
        let written = write!(rules, "{prefix}.s{slot}{{stroke:{colour}}}{prefix}.f{slot}{{fill:{colour}}}");
        debug_assert!(written.is_ok(), "a String takes all text");
    }
    rules
}
