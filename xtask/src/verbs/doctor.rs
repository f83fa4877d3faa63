//! `doctor`: whether this machine can run a campaign, and what to do where it cannot.

use std::io::Write;

use controller::doctor::{self, Finding, Level, Subject};
use controller::failure::Failure;
use controller::harness::python;
use controller::process::Session;
use controller::upstream;

use crate::context::Context;
use crate::exit::Exit;
use crate::selection::Selection;

/// Flags of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Examines the machine for the chosen campaign.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let resolved = args.selection.resolve(context)?;
    let session = Session::listening()?;
    let settings = &resolved.settings;
    let subject = Subject {
        settings,
        place: resolved.provider.place,
        session: &session,
        python: python::Request {
            version: settings.pins.inference_perf.clone(),
            requirements: context.root.join("config/requirements"),
            python: settings.harness.python.clone(),
            cache: python::cache_folder(),
        },
        upstream_cache: upstream::cache_folder(),
        path: None,
    };
    let findings = doctor::examine(&subject)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &findings)?;
        writeln!(out)?;
    } else {
        for finding in &findings {
            print(&mut out, finding)?;
        }
    }
    match findings.iter().filter(|finding| finding.level == Level::Problem).count() {
        0 => Ok(Exit::Success),
        // Each stands above with its fix; repeating them here would only bury them.
        count => Err(Failure::usage(format!("this machine is not ready: {count} to mend")).into()),
    }
}

fn print(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    let level = match finding.level {
        Level::Good => "ok",
        Level::Warning => "warning",
        Level::Problem => "PROBLEM",
    };
    let mut lines = finding.detail.lines();
    writeln!(out, "{level:<8} {:<16} {}", finding.check, lines.next().unwrap_or_default())?;
    for line in lines {
        writeln!(out, "{:<25} {}", "", line.trim())?;
    }
    for fix in &finding.fixes {
        writeln!(out, "{:<25} -> {fix}", "")?;
    }
    Ok(())
}
