//! Documents over one comparison model: Markdown, CSV, JSON, SVG, HTML.

pub mod chart;
pub mod text;
