//! Documents over one comparison model: Markdown, CSV, JSON, SVG, HTML.

pub mod chart;
pub mod charts;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod page;
pub mod templates;
pub mod text;
pub mod values;

#[cfg(test)]
mod fixture;
