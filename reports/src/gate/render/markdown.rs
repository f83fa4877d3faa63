//! Markdown for a step summary and for a comment that is updated in place.

use std::fmt::Write as _;

use super::super::document::Document;
use super::super::rows::{Row, Verdict};
use super::words::{Cells, cells};

/// GitHub refuses step summaries above 1 MiB; some room is left.
pub const STEP_SUMMARY_LIMIT: usize = 1000 * 1024;
/// GitHub refuses comments above 65,536 characters; some room is left.
pub const COMMENT_LIMIT: usize = 60 * 1024;
/// Marks the comment, so that the next run updates it instead of adding another.
pub const COMMENT_MARKER: &str = "<!-- regression-gate -->";

/// The whole result, worst rows first, as far as a step summary holds it.
#[must_use]
pub fn step_summary(document: &Document) -> String {
    markdown(document, STEP_SUMMARY_LIMIT)
}

/// The same for a comment, with the marker that it is found by. The headline is its first visible line.
#[must_use]
pub fn comment(document: &Document) -> String {
    let text = markdown(document, COMMENT_LIMIT - COMMENT_MARKER.len() - 2);
    format!("{text}\n{COMMENT_MARKER}\n")
}

fn markdown(document: &Document, limit: usize) -> String {
    let mut text = head(document);
    let rows = &document.outcome.rows;
    if rows.is_empty() {
        return text;
    }
    text += "\n| ";
    text += &Cells::HEADS.join(" | ");
    text += " |\n|";
    text += &"---|".repeat(Cells::HEADS.len());
    text.push('\n');
    for (shown, row) in rows.iter().enumerate() {
        let line = line(row);
        // Room for the sentence that says what is missing.
        if text.len() + line.len() + 120 > limit {
            let left = rows.len() - shown;
            text += &format!("\n{left} of {} rows are left out for length; gate.json has them all.\n", rows.len());
            break;
        }
        text += &line;
    }
    text
}

fn head(document: &Document) -> String {
    let mut text = format!("{}\n\n", document.headline);
    let mut say = |line: String| {
        // Long lists of problems must not push the rows out.
        if text.len() < 16 * 1024 {
            text += &line;
            text.push('\n');
        }
    };
    say(format!("Campaign `{}` against {}.", document.campaign, baseline(document)));
    let counts: Vec<String> = [
        Verdict::Regression,
        Verdict::Suspect,
        Verdict::Missing,
        Verdict::Inconclusive,
        Verdict::Void,
        Verdict::Improvement,
        Verdict::Pass,
        Verdict::NotGated,
    ]
    .into_iter()
    .map(|verdict| (document.outcome.count(verdict), verdict))
    .filter(|(count, _)| *count > 0)
    .map(|(count, verdict)| format!("{count} {verdict}"))
    .collect();
    say(format!("Rows: {}.", if counts.is_empty() { "none".into() } else { counts.join(", ") }));
    if !document.outcome.problems.is_empty() {
        say("\nThe campaign is not a valid measurement:\n".into());
        for problem in &document.outcome.problems {
            say(format!("- {}", escape(&problem.what)));
        }
    }
    if let Some(creep) = document.creep.as_ref().filter(|creep| !creep.rows.is_empty()) {
        say(format!("\nWorse in small steps since the baseline of {} days ago:\n", creep.age_days));
        for row in &creep.rows {
            say(format!("- {}: {:+.1}%", escape(&row.name), 100.0 * row.change));
        }
    }
    if !document.allowed_differences.is_empty() {
        say("\nAllowed differences of identity:\n".into());
        for difference in &document.allowed_differences {
            let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "n/a".into());
            let (new, old) = (show(&difference.campaign), show(&difference.baseline));
            say(format!("- {}: {} here, {} in the baseline", difference.field, escape(&new), escape(&old)));
        }
    }
    if !document.warnings.is_empty() {
        say(String::new());
        for warning in &document.warnings {
            say(format!("- warning: {}", escape(warning)));
        }
    }
    text
}

fn baseline(document: &Document) -> String {
    match &document.baseline {
        None => "no baseline".into(),
        Some(baseline) => format!(
            "baseline `{}` ({}, {} days old, of {})",
            &baseline.sha256[..baseline.sha256.len().min(12)],
            baseline.reference,
            baseline.age_days,
            baseline.members.join(", ")
        ),
    }
}

fn line(row: &Row) -> String {
    let mut line = String::from("|");
    for cell in cells(row).into_array() {
        write!(line, " {} |", escape(&cell)).unwrap_or_default();
    }
    line.push('\n');
    line
}

/// Keeps names and reasons from becoming markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '`' | '*' | '_' | '[' | ']' | '#' | '\\' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '\n' | '\r' => escaped.push(' '),
            '@' => escaped.push_str("@\u{200b}"),
            other => escaped.push(other),
        }
    }
    escaped
}
