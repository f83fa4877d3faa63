//! The small languages inside a limits file: selectors, threshold lines, quantities.
//!
//! ```text
//! selector   metric[{tag:value[,tag:value]}]      tags: stage, treatment
//! line       statistic op bound [or bound]        op: < or <=; > or >= for throughput
//!            statistic op quantity absolute
//! bound      +5% | -3% | +3ms | +0.5pp
//! ```

use super::super::metric::{Metric, Statistic};
use super::{Bound, Selector};

/// Why a text is not understood, and at which of its characters (from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub offset: usize,
    pub message: String,
}

fn reason(offset: usize, message: impl Into<String>) -> Reason {
    Reason { offset, message: message.into() }
}

/// `metric{tags}`, and what follows it.
pub(super) fn selector(text: &str) -> Result<(Metric, Selector, &str), Reason> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = &text[..end];
    let metric = Metric::from_key(name).ok_or_else(|| {
        let known: Vec<&str> = Metric::ALL.iter().map(|metric| metric.key()).collect();
        reason(0, format!("unknown metric `{name}`; known: {}", known.join(", ")))
    })?;
    let rest = &text[end..];
    let Some(inner) = rest.strip_prefix('{') else { return Ok((metric, Selector::default(), rest)) };
    let Some(close) = inner.find('}') else { return Err(reason(end, "`{` is not closed by `}`")) };
    let mut selector = Selector::default();
    let mut offset = end + 1;
    for tag in inner[..close].split(',') {
        let Some((name, value)) = tag.split_once(':') else {
            return Err(reason(offset, format!("`{}` is not `tag:value`", tag.trim())));
        };
        let slot = match name.trim() {
            "stage" => &mut selector.stage,
            "treatment" => &mut selector.treatment,
            other => return Err(reason(offset, format!("unknown tag `{other}`; known: stage, treatment"))),
        };
        let value = value.trim();
        if value.is_empty() {
            return Err(reason(offset, format!("tag `{}` has no value", name.trim())));
        }
        if slot.replace(value.to_owned()).is_some() {
            return Err(reason(offset, format!("tag `{}` is given twice", name.trim())));
        }
        offset += tag.len() + 1;
    }
    Ok((metric, selector, &inner[close + 1..]))
}

/// A threshold line of a metric.
pub(super) fn line(metric: Metric, text: &str) -> Result<(Statistic, Bound), Reason> {
    let mut words = words(text);
    let (at, name) = words.next().ok_or_else(|| reason(0, "the line is empty"))?;
    let statistic = statistic(metric, name).map_err(|message| reason(at, message))?;
    let (at, operator) = words.next().ok_or_else(|| reason(text.len(), "expected `<` or `>` after the statistic"))?;
    let wanted = if metric.higher_is_better() { [">", ">="] } else { ["<", "<="] };
    if !wanted.contains(&operator) {
        let why = if metric.higher_is_better() { "more is better" } else { "less is better" };
        return Err(reason(
            at,
            format!("expected `{}` or `{}` ({why} of {metric}), found `{operator}`", wanted[0], wanted[1]),
        ));
    }
    let rest: Vec<(usize, &str)> = words.collect();
    let bound = match rest.as_slice() {
        [(at, value), (_, "absolute")] => {
            let limit = absolute(metric, value).map_err(|message| reason(*at, message))?;
            Bound::Absolute { limit, inclusive: operator.ends_with('=') }
        }
        [first] => relative(metric, &[*first])?,
        [first, (_, "or"), second] => relative(metric, &[*first, *second])?,
        [] => return Err(reason(text.len(), "expected a bound such as `+5%`")),
        [_, (at, word), ..] => {
            return Err(reason(*at, format!("expected `or` or `absolute`, found `{word}`")));
        }
    };
    Ok((statistic, bound))
}

/// A statistic of a metric, by name.
pub(super) fn statistic(metric: Metric, name: &str) -> Result<Statistic, String> {
    Statistic::from_key(metric, name).ok_or_else(|| {
        let known: Vec<&str> = Statistic::of(metric).iter().map(|statistic| statistic.key()).collect();
        format!("{metric} has no statistic `{name}`; it has {}", known.join(", "))
    })
}

/// `5%` as a share.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    match quantity(text)? {
        (value, "%") if value >= 0.0 => Ok(value / 100.0),
        _ => Err(format!("`{text}` is not a percentage such as `5%`")),
    }
}

/// `250ms` or `1s` in seconds.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match quantity(text)? {
        (value, "ms") if value >= 0.0 => Ok(value / 1e3),
        (value, "s") if value >= 0.0 => Ok(value),
        (value, "us" | "µs") if value >= 0.0 => Ok(value / 1e6),
        _ => Err(format!("`{text}` is not a time such as `5ms` or `1s`")),
    }
}

fn relative(metric: Metric, bounds: &[(usize, &str)]) -> Result<Bound, Reason> {
    let (mut tolerance, mut floor) = (None, None);
    for &(at, text) in bounds {
        let fault = |message: String| reason(at, message);
        let sign = if metric.higher_is_better() { '-' } else { '+' };
        let Some(magnitude) = text.strip_prefix(sign) else {
            return Err(fault(format!(
                "`{text}` does not start with `{sign}`: a change against the baseline has a sign, a hard limit ends with \
                 `absolute`"
            )));
        };
        let unit = quantity(magnitude).map_err(fault)?.1;
        let slot = match (metric, unit) {
            (Metric::Failed, "pp") => &mut tolerance,
            (Metric::Failed, _) => {
                return Err(fault(format!("`{text}`: failures are compared in `pp`, percentage points")));
            }
            (_, "%") => &mut tolerance,
            (Metric::Throughput, _) => return Err(fault(format!("`{text}`: throughput is compared in `%`"))),
            _ => &mut floor,
        };
        let value = if unit == "%" || unit == "pp" {
            quantity(magnitude).map(|(value, _)| value / 100.0)
        } else {
            seconds(magnitude)
        };
        if slot.replace(value.map_err(fault)?).is_some() {
            return Err(fault(format!("`{text}`: the line has two bounds of this kind")));
        }
    }
    Ok(Bound::Relative { tolerance, floor })
}

fn absolute(metric: Metric, text: &str) -> Result<f64, String> {
    match metric {
        Metric::Throughput | Metric::Failed => percent(text),
        _ => seconds(text),
    }
}

fn quantity(text: &str) -> Result<(f64, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text[..end].parse().map_err(|_| format!("`{text}` does not start with a number"))?;
    Ok((value, &text[end..]))
}

/// Words with their offsets in characters.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(move |word| {
        let bytes = word.as_ptr() as usize - text.as_ptr() as usize;
        (text[..bytes].chars().count(), word)
    })
}
