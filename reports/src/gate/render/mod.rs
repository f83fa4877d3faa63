//! A gate's result for people and for CI: Markdown, JUnit, annotations, and the words that they share.

mod annotations;
mod junit;
mod markdown;
#[cfg(test)]
mod tests;
mod words;

pub use annotations::annotations;
pub use junit::junit;
pub use markdown::{COMMENT_LIMIT, COMMENT_MARKER, STEP_SUMMARY_LIMIT, comment, step_summary};
pub use words::{Cells, cells, describe};
