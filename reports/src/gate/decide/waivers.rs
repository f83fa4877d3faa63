//! Waivers: regressions that are accepted until a day.

use jiff::civil::Date;

use super::super::limits::Waiver;
use super::super::rows::{Row, Verdict};

pub(super) fn apply(rows: &mut [Row], waivers: &[Waiver], today: Date) {
    for row in rows.iter_mut().filter(|row| row.verdict == Verdict::Regression) {
        let waiver = waivers.iter().find(|waiver| {
            waiver.metric == row.metric
                && waiver.statistic.is_none_or(|statistic| statistic == row.statistic)
                && waiver.selector.matches(&row.treatment, row.stage.as_deref())
        });
        let Some(waiver) = waiver else { continue };
        let issue = waiver.issue.map(|issue| format!(" (#{issue})")).unwrap_or_default();
        if waiver.until < today {
            row.reason = Some(format!("its waiver ended on {}: {}{issue}", waiver.until, waiver.reason));
        } else {
            row.waived = Some(format!("until {}: {}{issue}", waiver.until, waiver.reason));
        }
    }
}
