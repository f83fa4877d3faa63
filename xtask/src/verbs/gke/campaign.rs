//! `gke campaign`: from nothing to a report and back to nothing.

use controller::campaign::Plan;
use controller::failure::{Failure, Result};
use controller::gke::{self, Line, Scope, Target, Verb};
use controller::lifecycle::{Event, Observer};
use jiff::Timestamp;

use crate::context::Context;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::selection::Selection;
use crate::verbs::{benchmark, gate};

/// Flags of `gke campaign`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Hold the result against the baseline in this place: a folder, gs://BUCKET/PREFIX or s3://BUCKET/PREFIX
    #[arg(long, value_name = "LOCATION")]
    baselines: Option<String>,
    /// Print the commands around the campaign; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Plans, provisions, measures, reports, judges, and gives everything back.
pub fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    if args.selection.profile.is_none() && std::env::var_os("BENCHMARK_PROFILE").is_none() {
        return Err(Failure::usage("it does not say what to measure, and GPUs cost money")
            .hint("name it with --profile or BENCHMARK_PROFILE; `cargo xtask profiles` lists them")
            .hint("what it would cost: cargo xtask gke plan --estimate --profile NAME")
            .into());
    }
    let mut plan = Plan::new(&context.root, super::resolve(&args.selection, context)?, Timestamp::now())?;
    // Simulated and CPU servers run without GPU nodes.
    plan.take_gpus = plan.resolved.settings.cluster.accelerator.kind == "gpu";
    if args.dry_run {
        return dry_run(&plan);
    }
    plan.preflight()?;
    let opened = gke::open(&plan.resolved, plan.results.clone())?;
    let progress = Progress::new(context);
    let outcome = gke::campaign(&opened.site, &plan, &progress, || measure(args, &plan, &progress, context));
    progress.finish();
    Ok(outcome?)
}

/// The campaign itself, once the cluster is ours.
fn measure(args: &Args, plan: &Plan, progress: &Progress, context: &Context) -> Result<Exit> {
    let again = benchmark::Again { verb: "gke campaign", selection: &args.selection, slo: None };
    let folder = benchmark::carry_out(plan, again, progress, context, args.json).map_err(failure)?;
    let Some(baselines) = &args.baselines else { return Ok(Exit::Success) };
    progress.notify(Event::Preparing { what: format!("holding the campaign against {baselines}") });
    gate::run(gate::Args::of(folder, baselines), context).map_err(failure)
}

fn failure(error: anyhow::Error) -> Failure {
    error.downcast::<Failure>().unwrap_or_else(Failure::internal)
}

fn dry_run(plan: &Plan) -> anyhow::Result<Exit> {
    let target = Target::new(&plan.resolved)?;
    let scope = Scope::planned(&plan.resolved.settings, plan.id.clone());
    let show = |verb: Verb, remark: &str| {
        println!("# {remark}");
        for line in gke::script(&target, verb, Some(&scope)).iter().map(Line::text) {
            println!("{line}");
        }
    };
    show(Verb::Provision, "the cluster");
    println!("# the lock, and the secret from HF_TOKEN on standard input");
    for cell in &plan.cells {
        if plan.take_gpus {
            show(Verb::GpuUp, &format!("GPU nodes for {cell}"));
        }
        println!("# {cell}: the commands of `cargo xtask plan`");
    }
    show(Verb::Cleanup, "whatever happened");
    Ok(Exit::Success)
}
