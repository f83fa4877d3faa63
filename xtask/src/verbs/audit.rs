//! `audit`: do the stored documents follow from the per-request records?

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use controller::failure::Failure;
use reports::audit::{self, Audit, Comparison, DocumentAgreement, Outcome, Repetition};

use crate::context::Context;
use crate::exit::Exit;

/// Differing fields that are printed of one document; `--json` has all.
const SHOWN: usize = 8;

/// Flags of `audit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A campaign's folder, or a folder of inference-perf results
    #[arg(value_name = "CAMPAIGN_DIR")]
    dir: PathBuf,
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Recomputes every stage from its records and prints where documents disagree.
pub fn run(args: Args, _context: &Context) -> anyhow::Result<Exit> {
    let audit = audit::audit(&args.dir).map_err(|error| {
        let hint = "records are kept when the workload sets report.request_lifecycle.per_request: true";
        match error {
            audit::Error::NoRecords(_) => Failure::usage(error).hint(hint),
            error => Failure::usage(error),
        }
    })?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &audit).context("the audit cannot be written")?;
        writeln!(out)?;
    } else {
        print(&mut out, &audit)?;
    }
    if audit.agrees() {
        return Ok(Exit::Success);
    }
    let disagreeing = audit.repetitions.iter().filter(|repetition| !repetition.outcome.agrees()).count();
    let message = format!("{disagreeing} of {} repetitions disagree with their records", audit.repetitions.len());
    Err(Failure::measurement(message)
        .hint("quote no number of a document that disagrees; generate it again from its native files, or run again")
        .into())
}

fn print(out: &mut impl Write, audit: &Audit) -> std::io::Result<()> {
    for repetition in &audit.repetitions {
        let name = name(repetition);
        match &repetition.outcome {
            Outcome::NoRecords => writeln!(out, "{name}: not audited, it has no per-request records")?,
            Outcome::Unreadable { error } => writeln!(out, "{name}: DISAGREES: {error}")?,
            Outcome::NotSeparable { records, stages, idle_moments } => writeln!(
                out,
                "{name}: DISAGREES: {stages} stages are documented, but only {idle_moments} moments without a request \
                 in flight divide the {records} records",
            )?,
            Outcome::Compared(comparison) => print_comparison(out, &name, comparison)?,
        }
    }
    Ok(())
}

fn print_comparison(out: &mut impl Write, name: &str, comparison: &Comparison) -> std::io::Result<()> {
    let Comparison { records_file, records, bytes, stages, percentile_error, documents } = comparison;
    writeln!(out, "{name}: {records} records, {bytes} bytes of text, {records_file}")?;
    let counts: Vec<String> = stages.counts.iter().map(u64::to_string).collect();
    let planned = match (stages.counts_from, stages.as_planned) {
        (None, _) => "nothing says where stages end".to_owned(),
        (Some(source), true) => format!("as planned by {source}"),
        (Some(source), false) => format!("NOT as planned by {source}; split at the longest idle times"),
    };
    writeln!(out, "  stages of {} records: {planned}", counts.join(", "))?;
    if let Some(shortest) = stages.idle_seconds.iter().copied().reduce(f64::min) {
        let inside = stages.longest_idle_inside;
        writeln!(out, "  idle between stages: at least {shortest:.3} s; inside stages: at most {inside:.3} s")?;
    }
    if stages.unusable_records > 0 {
        writeln!(out, "  left out: {} records without usable clock readings", stages.unusable_records)?;
    }
    if *percentile_error > 0.0 {
        writeln!(out, "  percentiles are estimates within {:.2} %", percentile_error * 100.0)?;
    }
    if documents.is_empty() {
        writeln!(out, "  no documents to compare with")?;
    }
    documents.iter().try_for_each(|document| print_document(out, document))
}

fn print_document(out: &mut impl Write, document: &DocumentAgreement) -> std::io::Result<()> {
    let DocumentAgreement { document: name, agreement, error, .. } = document;
    if let Some(error) = error {
        return writeln!(out, "  {name}: DISAGREES: {error}");
    }
    if agreement.differences.is_empty() {
        return writeln!(out, "  {name}: {} fields agree", agreement.agreeing);
    }
    writeln!(out, "  {name}: DISAGREES: {} fields differ, {} agree", agreement.differences.len(), agreement.agreeing)?;
    for difference in agreement.differences.iter().take(SHOWN) {
        let recomputed = difference.recomputed.map_or_else(|| "n/a".to_owned(), |value| value.to_string());
        writeln!(out, "    {}: stored {}, recomputed {recomputed}", difference.field, difference.stored)?;
    }
    let more = agreement.differences.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "    and {more} more")?;
    }
    Ok(())
}

fn name(repetition: &Repetition) -> String {
    match (&repetition.treatment, repetition.repetition) {
        (Some(treatment), Some(number)) => format!("{treatment} repetition {number}"),
        _ => "results".to_owned(),
    }
}
