//! Workflow commands of GitHub Actions.

use super::super::document::Document;
use super::super::outcome::GateVerdict;
use super::super::rows::Verdict;
use super::words::describe;

/// GitHub shows ten annotations of a kind a step.
const SHOWN: usize = 10;

/// `::error` lines for what failed, `::warning` lines for what is undecided; worst first, ten of each.
#[must_use]
pub fn annotations(document: &Document) -> Vec<String> {
    let outcome = &document.outcome;
    let mut errors: Vec<String> = outcome.problems.iter().map(|problem| problem.what.clone()).collect();
    let failed = [Verdict::Regression, Verdict::Suspect, Verdict::Missing];
    let rows = outcome.rows.iter();
    errors.extend(rows.filter(|row| failed.contains(&row.verdict) && row.waived.is_none()).map(describe));
    if matches!(outcome.verdict, GateVerdict::NoBaseline | GateVerdict::OtherIdentity) || outcome.compared == 0 {
        errors.insert(0, document.headline.clone());
    }
    let mut warnings: Vec<String> = document.warnings.clone();
    if outcome.verdict == GateVerdict::Inconclusive {
        warnings.insert(0, document.headline.clone());
    }
    warnings.extend(outcome.rows.iter().filter(|row| row.waived.is_some()).map(describe));
    let line = |level: &str, text: &String| format!("::{level} title=Regression gate::{}", escape(text));
    let mut lines: Vec<String> = errors.iter().take(SHOWN).map(|text| line("error", text)).collect();
    lines.extend(warnings.iter().take(SHOWN).map(|text| line("warning", text)));
    lines
}

fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
