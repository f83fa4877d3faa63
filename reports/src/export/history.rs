//! `history.csv`: one line a campaign, for change-point tools.
//!
//! Tools such as Apache Otava read a time column, attributes and one column a metric, and look for changes down each
//! column. A ladder that grows adds columns at the end; campaigns that lack them have empty cells.

use std::collections::HashSet;

use super::{METRICS, points};
use crate::compare::Series;
use crate::model::Level;

/// The columns before the metrics.
const FIXED: [&str; 3] = ["time", "commit", "campaign"];

/// Why a history was not extended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The existing text is not a history.
    #[error("line {line}: {what}")]
    NotAHistory {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// The campaign that a line is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it started, in RFC 3339.
    pub time: String,
    /// The commit that was measured.
    pub commit: String,
    /// The campaign's name; a campaign that is there already is not added again.
    pub campaign: String,
}

/// The history with one campaign more, and unchanged when it has that campaign already.
pub fn append(existing: Option<&str>, entry: &Entry, series: &[Series]) -> Result<String, Error> {
    let mut rows = parse(existing.unwrap_or_default())?;
    if rows.is_empty() {
        rows.push(FIXED.map(str::to_owned).to_vec());
    }
    if rows[0].len() < FIXED.len() || rows[0][..FIXED.len()] != FIXED {
        return Err(Error::NotAHistory { line: 1, what: "the columns are not those of a history" });
    }
    let campaign = guarded(&entry.campaign);
    if rows.iter().skip(1).any(|row| row[2] == campaign) {
        return Ok(existing.unwrap_or_default().to_owned());
    }
    let mut added = vec![guarded(&entry.time), guarded(&entry.commit), campaign];
    added.resize(rows[0].len(), String::new());
    for (name, value) in cells(series) {
        match rows[0].iter().position(|column| *column == name) {
            Some(column) => added[column] = value.to_string(),
            None => {
                rows[0].push(name);
                added.push(value.to_string());
            }
        }
    }
    rows.push(added);
    let width = rows[0].len();
    let lines = rows.into_iter().map(|mut row| {
        row.resize(width, String::new());
        row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n"
    });
    Ok(lines.collect())
}

/// Each metric of each level, with a column name such as `service.10rps.ttft_p50_seconds`.
fn cells(series: &[Series]) -> impl Iterator<Item = (String, f64)> {
    points(series).flat_map(|(series, point)| {
        let level = match point.level {
            Level::Rate(rate) => format!("{rate}rps"),
            Level::Concurrency(concurrency) => format!("{concurrency}concurrent"),
        };
        let place = format!("{}.{level}", series.name);
        METRICS
            .into_iter()
            .filter_map(move |metric| Some((guarded(&format!("{place}.{}", metric.key())), point.median(metric)?)))
    })
}

/// Text that no spreadsheet takes for a formula.
fn guarded(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// Rows of cells (RFC 4180); all rows must be as wide as the first.
fn parse(text: &str) -> Result<Vec<Vec<String>>, Error> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut row, mut cell, mut in_quotes, mut line) = (Vec::new(), String::new(), false, 1);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if in_quotes && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => row.push(std::mem::take(&mut cell)),
            '\r' if !in_quotes && chars.peek() == Some(&'\n') => {}
            '\n' if !in_quotes => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
                line += 1;
                let width = rows.first().map_or(0, Vec::len);
                if rows.last().is_some_and(|row| row.len() != width) {
                    return Err(Error::NotAHistory { line: line - 1, what: "it has another number of cells" });
                }
            }
            c => cell.push(c),
        }
    }
    if in_quotes || !cell.is_empty() || !row.is_empty() {
        return Err(Error::NotAHistory { line, what: "the last line is not complete" });
    }
    let columns: HashSet<&String> = rows.first().into_iter().flatten().collect();
    if columns.len() != rows.first().map_or(0, Vec::len) {
        return Err(Error::NotAHistory { line: 1, what: "a column is there twice" });
    }
    Ok(rows)
}
