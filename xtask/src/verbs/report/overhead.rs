//! What the gateway itself costs: documents beside the report, where the open-loop client measured.

use std::path::{Path, PathBuf};

use controller::failure::Failure;
use reports::campaign::Campaign;
use reports::overhead;
use reports::render::chart;

/// The folder beside the report.
const FOLDER: &str = "overhead";

/// Writes the documents into a folder of `beside` and returns the page to open; `None` where another client measured.
pub fn write(campaign: &Campaign, beside: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Some(costs) = overhead::build(campaign).map_err(Failure::usage)? else { return Ok(None) };
    let folder = beside.join(FOLDER);
    fs_err::create_dir_all(&folder)?;
    let charts = overhead::charts(&costs);
    for drawn in &charts {
        fs_err::write(folder.join(format!("{}.svg", drawn.id)), chart::draw(drawn))?;
    }
    fs_err::write(folder.join("overhead.json"), serde_json::to_vec_pretty(&costs)?)?;
    let page = folder.join("README.md");
    fs_err::write(&page, overhead::markdown(&costs, &charts))?;
    Ok(Some(page))
}
