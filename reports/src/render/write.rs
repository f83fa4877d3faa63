//! A whole report on disk: built beside its place, moved into it at once.

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::compare::Comparison;
use crate::files;

use super::chart::{Chart, draw};
use super::markdown::Beside;
use super::page::{Place, Report, folder};
use super::{csv, html, json, markdown, templates};

/// A format that a report is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// `README.md` of the campaign and of each comparison.
    Markdown,
    /// `metrics.csv`.
    Csv,
    /// `comparison.json`.
    Json,
    /// Charts as SVG.
    Svg,
    /// Charts as PNG; drawn by the `reports-png` program from the SVG files.
    Png,
    /// `report.html`.
    Html,
}

/// What to write, and where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The formats.
    pub formats: Vec<Format>,
    /// The report's folder: created, or replaced as a whole.
    pub output: PathBuf,
    /// Whether pages may link to evidence folders; not in copies that leave the machine.
    pub link_evidence: bool,
}

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A template could not be filled.
    #[error(transparent)]
    Template(#[from] templates::Error),
    /// The folder holds something that no report has, so it is not replaced.
    #[error("{folder} holds {found:?}, which is no part of a report", folder = folder.display())]
    NotAReport {
        /// The folder that was to be replaced.
        folder: PathBuf,
        /// The entry that does not belong.
        found: String,
    },
}

/// A report that is complete but not yet in its place; dropped, it is removed again.
#[derive(Debug)]
pub struct Staged {
    folder: PathBuf,
    output: PathBuf,
    charts: Vec<PathBuf>,
    keep_svg: bool,
    wants_png: bool,
    placed: bool,
}

/// A report in its place.
#[derive(Clone, Debug)]
pub struct Written {
    /// The report's folder.
    pub folder: PathBuf,
    /// Its files, sorted.
    pub files: Vec<PathBuf>,
}

impl Format {
    /// All formats, in the order of documents.
    pub const ALL: [Self; 6] = [Self::Markdown, Self::Csv, Self::Json, Self::Svg, Self::Png, Self::Html];
    /// What a report is written in unless asked otherwise: all that needs no further program.
    pub const DEFAULT: [Self; 5] = [Self::Markdown, Self::Csv, Self::Json, Self::Svg, Self::Html];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| format!("{name:?} is none of {all}"))
    }
}

/// Writes a report in formats that need no further program; see [`stage`] for PNG.
pub fn write(report: &Report, plan: &Plan) -> Result<Written, Error> {
    stage(report, plan)?.place()
}

/// Writes a report beside its place. With PNG among the formats, its charts are in [`Staged::charts`] and are to be drawn
/// beside themselves before [`Staged::place`].
pub fn stage(report: &Report, plan: &Plan) -> Result<Staged, Error> {
    refuse_foreign(&plan.output)?;
    let has = |format| plan.formats.contains(&format);
    let png = has(Format::Png);
    let mut staged = Staged {
        folder: beside(&plan.output, "part"),
        output: plan.output.clone(),
        charts: Vec::new(),
        // A page without its charts would show broken images.
        keep_svg: has(Format::Svg) || (has(Format::Markdown) && !png),
        wants_png: png,
        placed: false,
    };
    remove(&staged.folder)?;
    fs_err::create_dir_all(&staged.folder)?;
    staged.campaign(report, plan)?;
    for comparison in report.comparisons {
        staged.comparison(report, comparison, plan)?;
    }
    Ok(staged)
}

impl Staged {
    /// The charts as SVG files, to be drawn as PNG.
    pub fn charts(&self) -> &[PathBuf] {
        &self.charts
    }

    /// Moves the report into its place, replacing an earlier one.
    pub fn place(mut self) -> Result<Written, Error> {
        if !self.keep_svg {
            for chart in &self.charts {
                fs_err::remove_file(chart)?;
            }
        }
        let old = beside(&self.output, "old");
        remove(&old)?;
        let replaced = self.output.exists();
        if replaced {
            fs_err::rename(&self.output, &old)?;
        }
        if let Err(error) = fs_err::rename(&self.folder, &self.output) {
            if replaced {
                fs_err::rename(&old, &self.output)?;
            }
            return Err(error.into());
        }
        self.placed = true;
        remove(&old)?;
        let files = files::below(&self.output)?;
        Ok(Written { folder: self.output.clone(), files })
    }

    fn campaign(&mut self, report: &Report, plan: &Plan) -> Result<(), Error> {
        let charts = report.charts();
        let page = report.campaign_page(&charts, &place(plan, plan.output.clone()));
        let mut files = Vec::new();
        if report.comparisons.is_empty() && plan.formats.contains(&Format::Csv) {
            let treatments: Vec<_> = report.treatments.iter().map(|drawn| drawn.treatment).collect();
            fs_err::write(self.folder.join(METRICS), csv::metrics(&treatments))?;
            files.push(METRICS);
        }
        if plan.formats.contains(&Format::Markdown) {
            let beside = Beside { charts_folder: "charts/", extension: self.extension(), files: &files };
            fs_err::write(self.folder.join(README), markdown::page(&page, beside)?)?;
        }
        if plan.formats.contains(&Format::Html) {
            fs_err::write(self.folder.join(HTML), html::page(report, &page, &charts)?)?;
        }
        self.draw(&charts, &self.folder.join(CHARTS))
    }

    fn comparison(&mut self, report: &Report, comparison: &Comparison, plan: &Plan) -> Result<(), Error> {
        let name = folder(comparison);
        let target = self.folder.join(&name);
        fs_err::create_dir_all(&target)?;
        let mut files = Vec::new();
        if plan.formats.contains(&Format::Csv) {
            fs_err::write(target.join(METRICS), csv::metrics(&[&comparison.baseline, &comparison.candidate]))?;
            files.push(METRICS);
        }
        if plan.formats.contains(&Format::Json) {
            fs_err::write(target.join(COMPARISON), json::comparison(comparison))?;
            files.push(COMPARISON);
        }
        let charts = report.comparison_charts(comparison);
        if plan.formats.contains(&Format::Markdown) {
            let page = report.comparison_page(comparison, &charts, &place(plan, plan.output.join(&name)));
            let beside = Beside { charts_folder: "", extension: self.extension(), files: &files };
            fs_err::write(target.join(README), markdown::page(&page, beside)?)?;
        }
        self.draw(&charts, &target)
    }

    fn extension(&self) -> &'static str {
        if self.keep_svg { "svg" } else { "png" }
    }

    fn draw(&mut self, charts: &[Chart], target: &Path) -> Result<(), Error> {
        if charts.is_empty() || !(self.keep_svg || self.wants_png) {
            return Ok(());
        }
        fs_err::create_dir_all(target)?;
        for chart in charts {
            let file = target.join(format!("{}.svg", chart.id));
            fs_err::write(&file, draw(chart))?;
            self.charts.push(file);
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.placed && fs_err::remove_dir_all(&self.folder).is_err() {
            // Nothing more can be done here: the next report removes it before it begins.
        }
    }
}

const README: &str = "README.md";
const HTML: &str = "report.html";
const METRICS: &str = "metrics.csv";
const COMPARISON: &str = "comparison.json";
const CHARTS: &str = "charts";

fn place(plan: &Plan, folder: PathBuf) -> Place {
    Place { folder, link_evidence: plan.link_evidence }
}

/// A hidden neighbour of `output` on the same file system.
fn beside(output: &Path, purpose: &str) -> PathBuf {
    let name = output.file_name().map_or_else(|| "report".into(), |name| name.to_string_lossy().into_owned());
    output.with_file_name(format!(".{name}.{purpose}"))
}

/// Refuses to replace a folder that holds anything that a report does not.
fn refuse_foreign(output: &Path) -> Result<(), Error> {
    if !output.exists() {
        return Ok(());
    }
    for entry in fs_err::read_dir(output)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type()?.is_dir();
        let known = if is_folder {
            name == CHARTS || name.contains("-vs-")
        } else {
            [README, HTML, METRICS].contains(&name.as_str())
        };
        if !known {
            return Err(Error::NotAReport { folder: output.into(), found: name });
        }
    }
    Ok(())
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs_err::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
