//! The documents of every published report.

use std::error::Error;
use std::path::Path;

use super::Asked;
use crate::campaign::Campaign;
use crate::compare::Options;
use crate::render::{self, Content, Format, Plan};

/// The documents that need no further program, without links to evidence, which stays where it is.
pub fn standard(campaign: &Campaign, asked: &Asked, folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let content = Content::of(campaign, &asked.comparisons, &Options { slo: asked.slo.clone() })?;
    let plan = Plan { formats: Format::DEFAULT.to_vec(), output: folder.into(), link_evidence: false };
    render::write(&content.report(campaign), &plan)?;
    Ok(())
}
