//! Documents over one comparison model: Markdown, CSV, JSON, SVG, HTML.
//!
//! [`Content`] chooses what is compared, [`page::Report`] speaks about it, [`write()`] puts the documents into a folder.

pub mod chart;
pub mod charts;
mod content;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod page;
pub mod templates;
pub mod text;
pub mod values;
mod write;

#[cfg(test)]
pub(crate) mod fixture;

pub use content::{Content, USUAL_BASELINE, usual_pairs};
pub use write::{Error, Format, Plan, Staged, Written, stage, write};
