//! JSON for github-action-benchmark's `customSmallerIsBetter` and `customBiggerIsBetter`.
//!
//! The action compares one value a name with the last commit's, and only knows one direction a file: hence two files.

use serde::Serialize;

use super::{File, metrics, place, points};
use crate::compare::Series;
use crate::model::{Better, Metric};
use crate::statistics::Spread;

/// The two files' names, with the action's `tool` for each.
pub const FILES: [(&str, &str); 2] =
    [("smaller-is-better.json", "customSmallerIsBetter"), ("bigger-is-better.json", "customBiggerIsBetter")];

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// One file for each direction: the median over repetitions, half their range as `range`, all of them in `extra`.
pub fn files(campaign_id: &str, series: &[Series]) -> Result<[File; 2], serde_json::Error> {
    let text = |better| -> Result<String, serde_json::Error> {
        let entries: Vec<Entry> = points(series)
            .flat_map(|(series, point)| {
                let name = place(series, point);
                metrics(better).filter_map(move |metric| {
                    let spread = point.spread(metric)?;
                    Some(entry(campaign_id, format!("{name}: {metric}"), metric, &spread))
                })
            })
            .collect();
        Ok(serde_json::to_string_pretty(&entries)? + "\n")
    };
    let [(smaller, _), (bigger, _)] = FILES;
    Ok([
        File { name: smaller.into(), text: text(Better::Lower)? },
        File { name: bigger.into(), text: text(Better::Higher)? },
    ])
}

fn entry(campaign_id: &str, name: String, metric: Metric, spread: &Spread) -> Entry {
    let repetitions: Vec<String> = spread.values.iter().map(f64::to_string).collect();
    Entry {
        name,
        // The action shows the unit as it is, and refuses an entry without one.
        unit: if metric.unit().is_empty() { "share" } else { metric.unit() },
        value: spread.median,
        range: (spread.count() > 1).then(|| format!("± {}", (spread.max - spread.min) / 2.0)),
        extra: format!("campaign {campaign_id}\nrepetitions: {}", repetitions.join(", ")),
    }
}
