//! A metric's value as people read it, with its unit.

use crate::compare::Delta;
use crate::model::{Metric, Quantity};

use super::text::{ABSENT, fixed, number};

/// How exact a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// As in published summaries: seconds with one decimal.
    Summary,
    /// As `Summary` where no value is so long that tenths of a second are enough.
    Close,
    /// For tables that are looked up: milliseconds kept.
    Table,
}

/// The value with its unit, or `n/a`.
pub fn value(metric: Metric, value: Option<f64>, detail: Detail) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return ABSENT.to_owned() };
    match metric {
        Metric::Latency(Quantity::Ttft | Quantity::RequestLatency, _) => seconds(value, detail),
        Metric::Latency(..) => format!("{} ms", fixed(value * 1000.0, 1)),
        Metric::InputTokenRate | Metric::OutputTokenRate | Metric::TotalTokenRate if value >= 99.5 => fixed(value, 0),
        Metric::InputTokenRate | Metric::OutputTokenRate | Metric::TotalTokenRate => number(value),
        Metric::RequestRate | Metric::RequestedRate | Metric::AchievedRate => fixed(value, 2),
        Metric::FailureRate => percent(value),
        Metric::Failures | Metric::Requests => fixed(value, 0),
    }
}

/// Seconds from a tenth on, milliseconds below, where one decimal of a second would say nothing.
fn seconds(value: f64, detail: Detail) -> String {
    match detail {
        _ if value < 0.0995 => format!("{} ms", number(value * 1000.0)),
        Detail::Close if value < 0.9995 => format!("{} ms", number(value * 1000.0)),
        Detail::Close => format!("{} s", fixed(value, 2)),
        Detail::Summary => format!("{} s", fixed(value, 1)),
        Detail::Table => format!("{} s", fixed(value, 3)),
    }
}

/// A share in percent; a share that is not zero never reads as zero.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.005 { "< 0.01%".to_owned() } else { format!("{}%", fixed(percent, 2)) }
}

/// A relative change with its sign: `+134.1%`.
pub fn change(relative: Option<f64>) -> Option<String> {
    let percent = relative.filter(|relative| relative.is_finite())? * 100.0;
    let text = fixed(percent, 1);
    Some(if text.starts_with('-') || text == "0.0" { format!("{text}%") } else { format!("+{text}%") })
}

/// The candidate's value and its change: `16,178 (+134.1%)`.
pub fn with_change(delta: &Delta, detail: Detail) -> String {
    let candidate = value(delta.metric, delta.candidate.as_ref().map(|spread| spread.median), detail);
    match change(delta.relative) {
        Some(change) => format!("{candidate} ({change})"),
        None => candidate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Statistic;

    const TTFT: Metric = Metric::Latency(Quantity::Ttft, Statistic::P50);
    const ITL: Metric = Metric::Latency(Quantity::Itl, Statistic::P50);

    #[test]
    fn values_read_as_in_the_published_table() {
        assert_eq!(value(Metric::OutputTokenRate, Some(16_178.23), Detail::Summary), "16,178");
        assert_eq!(value(Metric::RequestRate, Some(6.7019), Detail::Summary), "6.70");
        assert_eq!(value(TTFT, Some(62.94), Detail::Summary), "62.9 s");
        assert_eq!(value(TTFT, Some(0.1482), Detail::Summary), "0.1 s");
        assert_eq!(value(TTFT, Some(0.1482), Detail::Table), "0.148 s");
        assert_eq!(value(TTFT, Some(0.05412), Detail::Summary), "54.1 ms");
        assert_eq!(value(ITL, Some(0.052_67), Detail::Summary), "52.7 ms");
        assert_eq!(value(TTFT, Some(0.1232), Detail::Close), "123 ms");
        assert_eq!(value(TTFT, Some(2.7264), Detail::Close), "2.73 s");
        assert_eq!(value(ITL, None, Detail::Summary), "n/a");
    }

    #[test]
    fn changes_carry_their_sign_and_nothing_reads_minus_zero() {
        let read = |relative| change(Some(relative)).unwrap();
        assert_eq!([1.3412, -0.998, 0.0, -0.0001].map(read), ["+134.1%", "-99.8%", "0.0%", "0.0%"]);
        assert_eq!(change(None), None);
    }

    #[test]
    fn a_share_that_is_not_zero_never_reads_as_zero() {
        assert_eq!(
            ["0.00%", "< 0.01%", "0.05%"],
            [percent(0.0), percent(0.000_01), percent(0.000_5)].each_ref().map(String::as_str)
        );
    }
}
