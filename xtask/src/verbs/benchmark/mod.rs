//! `benchmark`: a whole campaign, from settings to report.

mod dry_run;
mod summary;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use controller::campaign::{Plan, execute};
use controller::failure::{Failure, Kind};
use controller::lifecycle::{Event, Observer};
use controller::process::Session;
use controller::provider::{self, Harness, InferencePerf, OPEN_LOOP, OpenLoop};
use jiff::Timestamp;
use reports::model::Slo;

use crate::context::Context;
use crate::exit::Exit;
use crate::progress::{Progress, duration};
use crate::selection::Selection;
use crate::verbs::report;

/// Flags of `benchmark`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Print every setting with its origin, every file and command it would use and what it would take; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Objectives for the report: a list such as ttft_p90=2s,itl_p50=50ms, or the name of a file in config/slo
    #[arg(long, value_name = "OBJECTIVES")]
    slo: Option<String>,
    /// Print the result as JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Plans the campaign, runs it, writes its report and says what came out.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let slo = args.slo.as_deref().map(|given| report::objectives::resolve(given, context)).transpose()?;
    let resolved = args.selection.resolve(context)?;
    let warnings = resolved.warnings.clone();
    let plan = Plan::new(&context.root, resolved, Timestamp::now())?;
    if args.dry_run {
        dry_run::print(&plan, args.json)?;
        return Ok(Exit::Success);
    }
    let progress = Progress::new(context);
    for text in warnings {
        progress.notify(Event::Warning { text, remedy: "see docs/settings.md".to_owned() });
    }
    plan.preflight()?;
    provider::preflight(&plan, &Session::listening()?)?;
    let again = Again { verb: "benchmark", selection: &args.selection, slo };
    carry_out(&plan, again, &progress, context, args.json)?;
    Ok(Exit::Success)
}

/// How a campaign was asked for, so that it can be asked for again.
pub struct Again<'a> {
    /// The verb.
    pub verb: &'static str,
    /// Its flags.
    pub selection: &'a Selection,
    /// The objectives that its report counts goodput against.
    pub slo: Option<Slo>,
}

/// Runs a planned campaign, writes its report, says what came out, and returns its folder.
pub fn carry_out(
    plan: &Plan,
    again: Again<'_>,
    progress: &Progress,
    context: &Context,
    json: bool,
) -> anyhow::Result<PathBuf> {
    let began = Instant::now();
    eprintln!(
        "campaign {}: {} runs, {} requests, about {}",
        plan.id,
        plan.cells.len(),
        plan.estimate.requests,
        duration(std::time::Duration::from_secs_f64(plan.estimate.seconds))
    );
    let repeat = again.selection.command(again.verb, &plan.resolved.profile.name, None);
    let settings = &plan.resolved.settings;
    let harness: Box<dyn Harness> = match settings.harness.name.as_str() {
        OPEN_LOOP => Box::new(OpenLoop::new(settings)),
        _ => Box::new(InferencePerf::new(&context.root, settings)),
    };
    let executed = execute(plan, harness, progress, &repeat);
    progress.finish();
    let store = executed.map_err(|failure| with_continuation(failure, &again, plan))?;
    let (comparisons, formats) = (&settings.report.comparisons, &settings.report.formats);
    let written = report::write_for(store.folder(), comparisons, formats, again.slo, context)
        .map_err(|error| evidence_is_safe(error, store.folder()))?;
    let result = summary::Result::of(plan, &store, &written, began.elapsed(), repeat)?;
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &result)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", result.text())?;
    }
    Ok(store.folder().to_path_buf())
}

/// Measuring may have taken hours and is not to be repeated because a report could not be written.
fn evidence_is_safe(error: anyhow::Error, campaign: &Path) -> Failure {
    let failure = error.downcast::<Failure>().unwrap_or_else(Failure::internal);
    failure.hint(format!("the campaign is complete; write its report with: cargo xtask report {}", campaign.display()))
}

/// A campaign that began is continued, not repeated: the hint says how.
fn with_continuation(failure: Failure, again: &Again<'_>, plan: &Plan) -> Failure {
    let began = plan.folder().join("campaign-manifest.yaml").is_file();
    if failure.kind == Kind::Usage || !began {
        return failure;
    }
    failure.hint(format!(
        "finished repetitions are kept; continue with: {}",
        again.selection.command(again.verb, &plan.resolved.profile.name, Some(plan.id.as_str()))
    ))
}
