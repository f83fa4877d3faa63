//! Sentences and lists of facts around the numbers.

use serde::Serialize;
use serde_yaml::{Mapping, Value};

use crate::campaign::Campaign;
use crate::compare::{Comparison, Series};
use crate::model::{Metric, Quantity, Stack, Statistic};
use crate::render::text::plain;
use crate::render::values::{Detail, value, with_change};

/// Lists beyond this many entries are counted instead: a wall of package names hides every other fact.
const LONG_LIST: usize = 20;

/// A key and its value, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Keys joined by dots.
    pub key: String,
    /// The value as written.
    pub value: String,
}

/// Model, hardware, load generator and repetitions in one line.
pub(super) fn subject(campaign: &Campaign, treatments: &[&Series]) -> String {
    let identity = |key| campaign.manifest.identity_text(&[key]);
    let mut parts = Vec::new();
    parts.extend(identity("model"));
    match (identity("replicas"), identity("accelerator_model")) {
        (Some(replicas), Some(accelerator)) => parts.push(format!("{replicas} model servers on {accelerator}")),
        (Some(replicas), None) => parts.push(format!("{replicas} model servers")),
        (None, Some(accelerator)) => parts.push(accelerator),
        (None, None) => {}
    }
    let stage = treatments.iter().flat_map(|series| &series.points).flat_map(|point| &point.repetitions).next();
    if let Some((_, stage)) = stage.filter(|(_, stage)| !stage.harness.tool.is_empty()) {
        let version = stage.harness.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
        parts.push(format!("{}{version}", stage.harness.tool));
    }
    let counts: Vec<usize> = treatments.iter().map(|series| series.repetitions.len()).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let fewest = counts.iter().copied().min().unwrap_or(0);
    parts.push(match (fewest, most) {
        (1, 1) => "1 repetition".to_owned(),
        (fewest, most) if fewest == most => format!("{most} repetitions"),
        (fewest, most) => format!("{fewest} to {most} repetitions"),
    });
    parts.join(" · ")
}

/// Peak, knee, saturation and limits of a treatment, in sentences.
pub(super) fn turns(series: &Series) -> Vec<String> {
    let at = |level: crate::model::Level| format!("{} {}", plain(level.value()), level.unit());
    let mut said = Vec::new();
    if let Some(peak) = series.peak {
        said.push(format!(
            "peaks at {} output tokens/s at {}",
            value(peak.metric, Some(peak.value), Detail::Summary),
            at(peak.level)
        ));
    }
    if let Some(saturation) = series.saturation {
        said.push(format!("is within a tenth of that peak from {} on", at(saturation.level)));
    }
    if let Some(knee) = series.knee {
        said.push(format!("has TTFT p50 above twice its light-load value from {} on", at(knee.level)));
    } else if stays_light(series) {
        said.push("keeps TTFT p50 below twice its light-load value up to the highest level".to_owned());
    }
    if let Some(slo) = &series.slo {
        said.push(match slo.highest_met {
            Some(level) => format!("meets all objectives up to {}", at(level)),
            None => "meets all objectives at no level for certain".to_owned(),
        });
    }
    match said.pop() {
        None => Vec::new(),
        Some(last) if said.is_empty() => vec![format!("{} {last}.", series.display_name)],
        Some(last) => vec![format!("{} {} and {last}.", series.display_name, said.join(", "))],
    }
}

const TTFT: Metric = Metric::Latency(Quantity::Ttft, Statistic::P50);
const ITL: Metric = Metric::Latency(Quantity::Itl, Statistic::P50);

/// Whether TTFT was measured at every level and never reached twice its value at the lowest.
fn stays_light(series: &Series) -> bool {
    let ttft: Option<Vec<f64>> = series.points.iter().map(|point| point.median(TTFT)).collect();
    matches!(ttft.as_deref(), Some([light, rest @ ..]) if !rest.is_empty() && rest.iter().all(|ttft| *ttft < 2.0 * light))
}

/// What the numbers can and cannot tell: the comparisons' notes, failed repetitions, what was noticed while reading.
pub(super) fn notes(campaign: &Campaign, treatments: &[&Series], comparisons: &[&Comparison]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut add = |note: String| {
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for series in treatments {
        for failed in &series.failed {
            let reason = failed.reason.as_ref().map_or_else(|| ".".to_owned(), |reason| format!(": {reason}."));
            add(format!("{}, repetition {} failed and is in no number{reason}", series.display_name, failed.number));
        }
    }
    if comparisons.is_empty() && treatments.iter().all(|series| series.repetitions.len() < 2) {
        add("One repetition says nothing about how far repetitions lie apart. Repeat the campaign before drawing conclusions from \
             small differences."
            .to_owned());
    }
    for comparison in comparisons {
        comparison.notes.iter().cloned().for_each(&mut add);
    }
    campaign.warnings.iter().cloned().for_each(&mut add);
    notes
}

/// How to read ITL beside TTFT, with this page's numbers.
pub(super) fn itl(treatments: &[&Series], comparisons: &[&Comparison]) -> Option<String> {
    let measured = treatments.iter().any(|series| series.points.iter().any(|point| point.median(ITL).is_some()));
    if !measured {
        return None;
    }
    let mut said = Vec::new();
    for comparison in comparisons {
        let Some(top) = comparison.levels.last() else { continue };
        let (Some(itl), Some(ttft)) = (top.delta(ITL), top.delta(TTFT)) else { continue };
        if itl.relative.is_none() || ttft.relative.is_none() {
            continue;
        }
        let baseline = |delta: &crate::compare::Delta| {
            value(delta.metric, delta.baseline.as_ref().map(|spread| spread.median), Detail::Table)
        };
        said.push(format!(
            "At {} {}, {} has ITL p50 {} against {} and TTFT p50 {} against {}.",
            plain(top.level.value()),
            top.level.unit(),
            comparison.candidate.display_name,
            with_change(itl, Detail::Table),
            baseline(itl),
            with_change(ttft, Detail::Table),
            baseline(ttft),
        ));
    }
    if treatments.iter().any(|series| series.points.iter().any(crate::compare::Point::itl_is_chunked)) {
        said.push(
            "In some stages several tokens arrive in one chunk, so the median gap is 0 although tokens take time; read the mean there."
                .to_owned(),
        );
    }
    Some(said.join(" "))
}

/// What ran, by treatment.
pub(super) fn deployed(treatments: &[&Series]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for series in treatments {
        for component in &series.stack.components {
            let count = component.replicas.filter(|replicas| *replicas > 1);
            let words = [
                count.map_or_else(String::new, |count| format!("{count} x")),
                component.tool.clone(),
                component.tool_version.clone(),
            ];
            let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            let fact = Fact { key: format!("{}: {}", series.display_name, component.label), value: words.join(" ") };
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
    }
    facts
}

/// How the campaign came about, without the addresses of its evidence, which are links.
pub(super) fn provenance(campaign: &Campaign) -> Vec<Fact> {
    let Some(provenance) = &campaign.manifest.provenance else { return Vec::new() };
    let mut facts = flattened(provenance);
    facts.retain(|fact| fact.key != super::evidence::PUBLISHED);
    facts
}

/// Proxies that are real although what stands behind them may not be: program and version, each once.
pub(super) fn proxies(treatments: &[&Series]) -> Vec<String> {
    let mut proxies = Vec::new();
    for component in treatments.iter().flat_map(|series| &series.stack.components) {
        let program = format!("{} {}", component.tool, component.tool_version);
        if Stack::PROXIES.contains(&component.tool.as_str()) && !proxies.contains(&program) {
            proxies.push(program);
        }
    }
    proxies
}

/// A nested mapping as lines `storage.model.class`; lists joined by commas.
pub(super) fn flattened(mapping: &Mapping) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (key, value) in mapping {
        flatten(scalar(key), value, &mut facts);
    }
    facts
}

fn flatten(key: String, value: &Value, facts: &mut Vec<Fact>) {
    match value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            for (inner, value) in mapping {
                flatten(format!("{key}.{}", scalar(inner)), value, facts);
            }
        }
        Value::Sequence(items) if items.iter().any(|item| item.is_mapping() || item.is_sequence()) => {
            for (index, item) in items.iter().enumerate() {
                flatten(format!("{key}.{index}"), item, facts);
            }
        }
        Value::Sequence(items) if items.len() > LONG_LIST => {
            facts.push(Fact { key, value: format!("{} entries, listed in the manifest", items.len()) });
        }
        Value::Sequence(items) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            facts.push(Fact { key, value: items.join(", ") });
        }
        other => facts.push(Fact { key, value: scalar(other) }),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => crate::render::text::ABSENT.to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Tagged(tagged) => scalar(&tagged.value),
        Value::Sequence(_) | Value::Mapping(_) => String::new(),
    }
}
