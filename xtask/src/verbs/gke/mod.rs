//! `gke`: Google Kubernetes Engine from nothing to a report and back to nothing.

mod campaign;

use std::io::Write;
use std::path::PathBuf;

use controller::doctor::{Finding, Level};
use controller::failure::Failure;
use controller::gke::{self, Destroyed, Gpus, Opened, Record, Scope, Target, Verb};
use controller::settings::{ConfigTree, Resolved};

use crate::context::Context;
use crate::exit::Exit;
use crate::selection::Selection;

/// Flags of `gke`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Look whether the project can have the cluster, and what `provision` would change
    Plan(PlanFlags),
    /// Make the cluster and its pools, or what is missing of them; the GPU pool begins without nodes
    Provision(Flags),
    /// See that the cluster is complete, and print what `benchmark` needs
    Verify(Flags),
    /// Take the GPU nodes and wait until their GPUs are allocatable; back to zero when that fails
    GpuUp(Flags),
    /// Give the GPU nodes back and see that none is left
    GpuDown(Flags),
    /// A whole campaign: provision, take GPU nodes for each run, measure, report, give everything back
    Campaign(campaign::Args),
    /// Remove what a campaign left and give the GPU nodes back; every deletion is verified
    Cleanup(Flags),
    /// Remove the cluster once nothing is left in it
    Destroy(Flags),
}

#[derive(Debug, clap::Args)]
struct Flags {
    #[command(flatten)]
    selection: Selection,
    /// Print the gcloud and kubectl commands; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct PlanFlags {
    #[command(flatten)]
    flags: Flags,
    /// Say what the campaign would take and cost, by release policy; nothing is asked of Google
    #[arg(long)]
    estimate: bool,
}

/// The profile of verbs that only look after infrastructure, which is the same in all profiles of GKE.
const PROFILE: &str = "gke-sim";

/// Carries the subcommand out.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let (verb, flags) = match &args.command {
        Command::Campaign(args) => return campaign::run(args, context),
        Command::Plan(PlanFlags { flags, estimate: true }) => return estimate(flags, context),
        Command::Plan(PlanFlags { flags, .. }) => (Verb::Plan, flags),
        Command::Provision(flags) => (Verb::Provision, flags),
        Command::Verify(flags) => (Verb::Verify, flags),
        Command::GpuUp(flags) => (Verb::GpuUp, flags),
        Command::GpuDown(flags) => (Verb::GpuDown, flags),
        Command::Cleanup(flags) => (Verb::Cleanup, flags),
        Command::Destroy(flags) => (Verb::Destroy, flags),
    };
    let resolved = resolve(&flags.selection, context)?;
    let scope = match verb {
        Verb::Cleanup => Some(Scope::of(&resolved.settings)?),
        _ => None,
    };
    if flags.dry_run {
        let target = Target::new(&resolved)?;
        let mut out = std::io::stdout().lock();
        for line in gke::script(&target, verb, scope.as_ref()) {
            writeln!(out, "{}", line.text())?;
        }
        return Ok(Exit::Success);
    }
    let opened = gke::open(&resolved, results(&resolved, context)?)?;
    carry_out(verb, flags, &opened, scope.as_ref())
}

/// Prints what a campaign would take and cost.
fn estimate(flags: &Flags, context: &Context) -> anyhow::Result<Exit> {
    let resolved = resolve(&flags.selection, context)?;
    let tree = ConfigTree::open(&context.root);
    let prices = gke::estimate::prices(&tree, &resolved)?;
    let estimate = gke::estimate::estimate(&resolved.settings, &prices)?;
    let mut out = std::io::stdout().lock();
    if flags.json {
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({"estimate": estimate, "prices": prices}))?;
        writeln!(out)?;
    } else {
        write!(out, "{}", estimate.text())?;
        writeln!(out, "\nprices: {} (config/prices/{}.yaml)", prices.description, resolved.settings.gke.prices)?;
    }
    Ok(Exit::Success)
}

/// The settings, with the provider and a profile that fit when none is named.
fn resolve(selection: &Selection, context: &Context) -> anyhow::Result<Resolved> {
    let mut selection = selection.clone();
    selection.provider.get_or_insert_with(|| "gke".to_owned());
    if std::env::var_os("BENCHMARK_PROFILE").is_none() {
        selection.profile.get_or_insert_with(|| PROFILE.to_owned());
    }
    let resolved = selection.resolve(context)?;
    for warning in &resolved.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(resolved)
}

/// The folder of campaigns, as `benchmark` has it.
fn results(resolved: &Resolved, context: &Context) -> anyhow::Result<PathBuf> {
    Ok(controller::campaign::plan::results(&context.root, resolved)?)
}

/// Progress, for people.
fn tell(text: &str) {
    eprintln!("gke: {text}");
}

fn carry_out(verb: Verb, flags: &Flags, opened: &Opened, scope: Option<&Scope>) -> anyhow::Result<Exit> {
    let site = &opened.site;
    match verb {
        Verb::Plan => plan(flags, opened),
        Verb::Provision => shown(gke::provision(site.gcloud(), &tell)?, flags, opened),
        Verb::Verify => shown(gke::verify(site.gcloud())?, flags, opened),
        Verb::GpuUp => {
            let took = Gpus::new(site).up(&tell)?;
            say(&format!("{} ready after {:.0} s", site.target().gpu_nodes(), took.as_secs_f64()))
        }
        Verb::GpuDown => match Gpus::new(site).down(&tell)? {
            true => say("no GPU node is left"),
            false => say("there is no GPU pool"),
        },
        Verb::Cleanup => {
            let scope = scope.ok_or_else(|| Failure::internal("cleanup without a campaign"))?;
            gke::cleanup(site, scope, &tell)?;
            say(&format!("campaign {} left nothing behind, and no GPU node is left", scope.campaign))
        }
        Verb::Destroy => match gke::destroy(site, &tell)? {
            Destroyed::Now => say("the cluster is gone"),
            Destroyed::Before => say("there is no such cluster"),
        },
    }
}

fn say(text: &str) -> anyhow::Result<Exit> {
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(Exit::Success)
}

fn plan(flags: &Flags, opened: &Opened) -> anyhow::Result<Exit> {
    let gcloud = opened.site.gcloud();
    let examined = gke::examine(gcloud)?;
    let commands: Vec<String> = examined.actions.iter().map(|action| action.line(gcloud)).collect();
    let mut out = std::io::stdout().lock();
    if flags.json {
        let document = serde_json::json!({"findings": examined.findings, "commands": commands});
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        for Finding { check, level, detail, .. } in &examined.findings {
            let level = match level {
                Level::Good => "ok",
                Level::Warning => "warning",
                Level::Problem => "PROBLEM",
            };
            writeln!(out, "{check:14} {level:8} {detail}")?;
        }
        match commands.is_empty() {
            true => writeln!(out, "\nnothing to change")?,
            false => writeln!(out, "\nprovision would run\n  {}", commands.join("\n  "))?,
        }
    }
    examined.accept()?;
    Ok(Exit::Success)
}

fn shown(record: Record, flags: &Flags, opened: &Opened) -> anyhow::Result<Exit> {
    let path = record.write(&opened.results)?;
    let mut out = std::io::stdout().lock();
    if flags.json {
        serde_json::to_writer_pretty(&mut out, &record)?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    writeln!(out, "# {} is complete; seen: {}", record.cluster, path.display())?;
    for (name, value) in record.variables() {
        writeln!(out, "export {name}={value}")?;
    }
    Ok(Exit::Success)
}
