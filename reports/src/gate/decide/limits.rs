//! Hard limits: values that may not be exceeded, whatever the baseline was.

use super::super::calibration::count;
use super::super::limits::Bound;
use super::super::metric::{Metric, Statistic};
use super::super::rows::{Row, Tier, Verdict};
use super::super::summary::StageSummary;
use super::View;

pub(super) fn rows(view: &View<'_>) -> Vec<Row> {
    let mut found = Vec::new();
    for (metric, statistic) in view.inputs.limits.measured(true) {
        for treatment in view.new.treatments() {
            for (stage, repetitions) in view.new.stages(treatment) {
                let rule = view.inputs.limits.rule(metric, statistic, treatment, Some(stage), true);
                let Some(Bound::Absolute { limit, inclusive }) = rule.map(|rule| rule.bound) else { continue };
                let mut row = Row::new(treatment, metric, statistic, Some(stage), Tier::Limit);
                judge(&mut row, repetitions, limit, inclusive);
                found.push(row);
            }
        }
    }
    found
}

fn judge(row: &mut Row, repetitions: &[&StageSummary], limit: f64, inclusive: bool) {
    let values: Vec<f64> = repetitions.iter().filter_map(|stage| value(stage, row.metric, row.statistic)).collect();
    row.limit = Some(limit);
    row.repetitions.new = values.len() as u64;
    row.samples.new = repetitions.iter().map(|stage| count(stage, row.metric)).sum();
    if values.is_empty() {
        return row.conclude(Verdict::Missing, "the campaign has no value to hold against the limit");
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    row.values.new = Some(mean);
    let excess = if row.metric.higher_is_better() { limit - mean } else { mean - limit };
    if excess > 0.0 || (excess == 0.0 && !inclusive) {
        row.conclude(Verdict::Regression, "beyond the hard limit");
    } else {
        row.verdict = Verdict::Pass;
    }
}

fn value(stage: &StageSummary, metric: Metric, statistic: Statistic) -> Option<f64> {
    match metric {
        Metric::Throughput => stage.throughput_ratio(),
        Metric::Failed => (stage.requests > 0).then_some(stage.failures? as f64 / stage.requests as f64),
        _ => stage.quantile(metric, statistic).map(|quantile| quantile.seconds),
    }
}
