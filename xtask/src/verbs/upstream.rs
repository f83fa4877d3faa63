//! `upstream`: the pinned llm-d-benchmark checkout.

use std::io::Write;
use std::path::PathBuf;

use controller::failure::Failure;
use controller::harness::python;
use controller::process::Session;
use controller::settings::Resolved;
use controller::upstream::{self, Checkout, Environment, Request, Spec, Status};

use crate::context::Context;
use crate::exit::Exit;
use crate::selection::Selection;

/// Flags of `upstream`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Fetch the pinned commit unless it is there
    Sync(Flags),
    /// Install it into its private Python environment unless it is, and try it
    Install(Flags),
    /// Tell what is there, without the network
    Status(Flags),
    /// Remove the checkout that `sync` made; one with changes in it, or of somebody else, is left alone
    Clean(Flags),
}

#[derive(Debug, clap::Args)]
struct Flags {
    /// A checkout of llm-d-benchmark to use as it is
    #[arg(long, value_name = "DIR")]
    llm_d_benchmark_dir: Option<PathBuf>,
    /// Any setting of docs/settings.md, may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Carries the subcommand out.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Sync(flags) => sync(flags, context),
        Command::Install(flags) => install(flags, context),
        Command::Status(flags) => status(flags, context),
        Command::Clean(flags) => clean(flags, context),
    }
}

impl Flags {
    fn resolve(&self, context: &Context) -> anyhow::Result<Resolved> {
        let selection = Selection {
            llm_d_benchmark_dir: self.llm_d_benchmark_dir.clone(),
            sets: self.sets.clone(),
            ..Selection::default()
        };
        Ok(selection.resolve(context)?)
    }

    fn spec(&self, context: &Context) -> anyhow::Result<Spec> {
        Ok(Spec::of(&self.resolve(context)?.settings, upstream::cache_folder()))
    }
}

fn install(flags: &Flags, context: &Context) -> anyhow::Result<Exit> {
    let settings = flags.resolve(context)?.settings;
    let session = Session::listening()?;
    let spec = Spec::of(&settings, upstream::cache_folder());
    let request = Request {
        checkout: upstream::sync(&session, &spec).map_err(Failure::from)?,
        planner: settings.upstream.planner.clone(),
        python: python::Request {
            version: settings.pins.inference_perf.clone(),
            requirements: context.root.join("config/requirements"),
            python: settings.harness.python.clone(),
            cache: python::cache_folder(),
        },
    };
    let mut told = String::new();
    let environment = Environment::prepare(&session, &request, &mut |what| {
        if what != told {
            eprintln!("{what}");
            told = what;
        }
    })?;
    let record = environment.record();
    let mut out = std::io::stdout().lock();
    if flags.json {
        serde_json::to_writer_pretty(&mut out, record)?;
        writeln!(out)?;
    } else {
        writeln!(out, "llmdbenchmark {} on Python {}", record.llmdbenchmark, record.python)?;
        writeln!(out, "checkout  {} at {}", record.checkout.display(), record.commit)?;
        writeln!(out, "installer {}, {} packages", record.installer, record.freeze.len())?;
        writeln!(out, "planner   {}", record.planner)?;
    }
    Ok(Exit::Success)
}

fn sync(flags: &Flags, context: &Context) -> anyhow::Result<Exit> {
    let checkout = upstream::sync(&Session::listening()?, &flags.spec(context)?).map_err(Failure::from)?;
    let mut out = std::io::stdout().lock();
    if flags.json {
        serde_json::to_writer_pretty(&mut out, &checkout)?;
        writeln!(out)?;
    } else {
        print_checkout(&mut out, &checkout)?;
    }
    Ok(Exit::Success)
}

fn status(flags: &Flags, context: &Context) -> anyhow::Result<Exit> {
    let status = upstream::status(&flags.spec(context)?).map_err(Failure::from)?;
    let mut out = std::io::stdout().lock();
    if flags.json {
        serde_json::to_writer_pretty(&mut out, &status)?;
        writeln!(out)?;
    } else {
        print_status(&mut out, &status)?;
    }
    Ok(Exit::Success)
}

fn clean(flags: &Flags, context: &Context) -> anyhow::Result<Exit> {
    let cache = flags.spec(context)?.cache;
    let removed = upstream::clean(&cache).map_err(Failure::from)?;
    let mut out = std::io::stdout().lock();
    if flags.json {
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({ "removed": removed }))?;
        writeln!(out)?;
    } else if removed.is_empty() {
        writeln!(out, "nothing to remove in {}", cache.display())?;
    } else {
        removed.iter().try_for_each(|path| writeln!(out, "removed {}", path.display()))?;
    }
    Ok(Exit::Success)
}

fn print_checkout(out: &mut impl Write, checkout: &Checkout) -> std::io::Result<()> {
    let how = match (checkout.callers, checkout.fetched) {
        (true, _) => "yours, used as it is",
        (_, true) => "fetched",
        (_, false) => "already there",
    };
    writeln!(out, "folder    {}", checkout.folder.display())?;
    writeln!(out, "commit    {} ({how})", checkout.commit)?;
    checkout.warnings.iter().try_for_each(|warning| writeln!(out, "warning   {warning}"))
}

fn print_status(out: &mut impl Write, status: &Status) -> std::io::Result<()> {
    let state = serde_json::to_value(status.state)?;
    let commit = status.commit.as_deref().unwrap_or("n/a");
    writeln!(out, "state     {}", state.as_str().unwrap_or("n/a"))?;
    writeln!(out, "folder    {}{}", status.folder.display(), if status.callers { " (yours)" } else { "" })?;
    writeln!(out, "commit    {commit}")?;
    writeln!(out, "wanted    {} of {}", status.revision, status.url)?;
    status.modified.iter().try_for_each(|file| writeln!(out, "modified  {file}"))?;
    status.warnings.iter().try_for_each(|warning| writeln!(out, "warning   {warning}"))
}
