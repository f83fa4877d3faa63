//! A published `metrics.csv` as a campaign: what a report can be regenerated from when evidence stayed elsewhere.

use std::path::Path;

use super::{Campaign, Error, FailedRepetition, Repetition, Treatment};
use crate::manifest::{Manifest, Status};
use crate::model::{Distribution, Metric, Quantity, Stack, Stage, Statistic};
use crate::render::csv::{self, Column};

/// A campaign of a table's numbers. Tables of the earlier workflow, which have the first sixteen columns only and one row
/// a rate, are read too: their rows are repetition 1, and their stages are numbered in the order of rows.
pub fn from_metrics(dir: &Path, manifest: Manifest, text: &str) -> Result<Campaign, Error> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let heads = match lines.next() {
        Some((line, head)) => heads(line, head)?,
        None => return Err(Error::Metrics { line: 1, what: "the table is empty".into() }),
    };
    let mut treatments: Vec<Treatment> = Vec::new();
    for (line, row) in lines.filter(|(_, row)| !row.is_empty()) {
        let row = Row::parse(line, row, &heads)?;
        let treatment = find_or_push(&mut treatments, &manifest, &row.treatment);
        let repetition = match treatment.repetitions.iter_mut().find(|known| known.number == row.repetition) {
            Some(known) => known,
            None => {
                let new = Repetition { number: row.repetition, dir: dir.into(), stages: Vec::new() };
                treatment.repetitions.push(new);
                treatment.repetitions.last_mut().expect("one was pushed")
            }
        };
        let mut stage = row.stage;
        stage.number = row.number.unwrap_or(repetition.stages.len() as u32);
        stage.settle();
        repetition.stages.push(stage);
    }
    for treatment in &mut treatments {
        treatment.repetitions.sort_by_key(|repetition| repetition.number);
        for repetition in &mut treatment.repetitions {
            repetition.stages.sort_by_key(|stage| stage.number);
        }
    }
    Ok(Campaign { dir: dir.into(), manifest, treatments, warnings: Vec::new() })
}

fn heads(line: usize, text: &str) -> Result<Vec<Column>, Error> {
    let known: Vec<Column> = csv::columns().into_iter().chain(csv::interval_columns()).collect();
    let cells = csv::split(text).ok_or_else(|| Error::Metrics { line, what: "a quote does not end".into() })?;
    let find = |head: &String| {
        let column = known.iter().copied().find(|column| column.head() == *head);
        column.ok_or_else(|| Error::Metrics { line, what: format!("column {head:?} is not known") })
    };
    let columns: Vec<_> = cells.iter().map(find).collect::<Result<_, _>>()?;
    for needed in [Column::Treatment, Column::Metric(Metric::Requests)] {
        if !columns.contains(&needed) {
            return Err(Error::Metrics { line, what: format!("column {:?} is missing", needed.head()) });
        }
    }
    Ok(columns)
}

fn find_or_push<'a>(treatments: &'a mut Vec<Treatment>, manifest: &Manifest, name: &str) -> &'a mut Treatment {
    if let Some(index) = treatments.iter().position(|treatment| treatment.name == name) {
        return &mut treatments[index];
    }
    let entry = manifest.treatments.get(name);
    let failed = entry.into_iter().flat_map(|entry| &entry.repetitions).filter_map(|(number, entry)| {
        let failed = entry.status() == Status::Failed;
        let number = number.parse().ok()?;
        failed.then(|| FailedRepetition { number, reason: entry.reason().map(Into::into) })
    });
    treatments.push(Treatment {
        name: name.into(),
        display_name: entry.and_then(|entry| entry.display_name()).unwrap_or(name).into(),
        repetitions: Vec::new(),
        failed: failed.collect(),
        stack: Stack::default(),
    });
    treatments.last_mut().expect("one was pushed")
}

struct Row {
    treatment: String,
    repetition: u32,
    number: Option<u32>,
    stage: Stage,
}

impl Row {
    fn parse(line: usize, text: &str, heads: &[Column]) -> Result<Self, Error> {
        let wrong = |what: String| Error::Metrics { line, what };
        let cells = csv::split(text).ok_or_else(|| wrong("a quote does not end".into()))?;
        if cells.len() != heads.len() {
            return Err(wrong(format!("{} cells under {} columns", cells.len(), heads.len())));
        }
        let mut row = Self { treatment: String::new(), repetition: 1, number: None, stage: Stage::default() };
        for (column, cell) in heads.iter().zip(&cells) {
            if *column == Column::Treatment {
                row.treatment = csv::unguarded(cell).into();
                continue;
            }
            if cell.is_empty() {
                continue;
            }
            let value = cell.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            let value = value.ok_or_else(|| wrong(format!("{}: {cell:?} is no number", column.head())))?;
            row.set(*column, value).ok_or_else(|| wrong(format!("{}: {cell} is no count", column.head())))?;
        }
        if row.treatment.is_empty() {
            return Err(wrong("the treatment has no name".into()));
        }
        if row.stage.level().is_none() {
            return Err(wrong("neither a requested rate nor a concurrency".into()));
        }
        Ok(row)
    }

    /// Puts a number into its place; `None` when it must be whole and is not.
    fn set(&mut self, column: Column, value: f64) -> Option<()> {
        let whole = (value.fract() == 0.0).then_some(value as u64);
        let Self { stage, .. } = self;
        match column {
            // Intervals are the records' to tell, which lie beside the table.
            Column::Treatment | Column::Metric(Metric::FailureRate) | Column::Low(_) | Column::High(_) => {}
            Column::Repetition => self.repetition = whole?.try_into().ok()?,
            Column::Stage => self.number = Some(whole?.try_into().ok()?),
            Column::Concurrency => stage.load.concurrency = Some(whole?),
            Column::Seconds => stage.throughput.seconds = Some(value),
            Column::WarmUp => stage.warm_up = whole? != 0,
            Column::Metric(metric) => match metric {
                Metric::Latency(quantity, statistic) => set_latency(stage, quantity, statistic, value),
                Metric::InputTokenRate => stage.throughput.input_tokens = Some(value),
                Metric::OutputTokenRate => stage.throughput.output_tokens = Some(value),
                Metric::TotalTokenRate => stage.throughput.total_tokens = Some(value),
                Metric::RequestRate => stage.throughput.requests = Some(value),
                Metric::RequestedRate => stage.load.requested_rate = Some(value),
                Metric::AchievedRate => stage.load.achieved_rate = Some(value),
                Metric::Failures => stage.requests.failures = Some(whole?),
                Metric::Requests => stage.requests.total = whole?,
                Metric::FailureRate => {}
            },
        }
        Some(())
    }
}

fn set_latency(stage: &mut Stage, quantity: Quantity, statistic: Statistic, value: f64) {
    let latency = &mut stage.latency;
    let summary = match quantity {
        Quantity::Ttft => &mut latency.ttft,
        Quantity::Itl => &mut latency.itl,
        Quantity::Tpot => &mut latency.tpot,
        Quantity::Ntpot => &mut latency.ntpot,
        Quantity::RequestLatency => &mut latency.request,
    };
    let summary = summary.get_or_insert_with(Distribution::default);
    let place = match statistic {
        Statistic::Mean => &mut summary.mean,
        Statistic::Min => &mut summary.min,
        Statistic::P50 => &mut summary.p50,
        Statistic::P75 => &mut summary.p75,
        Statistic::P90 => &mut summary.p90,
        Statistic::P95 => &mut summary.p95,
        Statistic::P99 => &mut summary.p99,
        Statistic::P99p9 => &mut summary.p99p9,
        Statistic::Max => &mut summary.max,
    };
    *place = Some(value);
}
