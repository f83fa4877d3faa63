//! `clean`: removes what interrupted and failed runs left behind, on request also what can be made again, and nothing
//! that it did not make.

use std::io::Write;
use std::path::{Path, PathBuf};

use controller::campaign::clean::{self, Leftover};
use controller::harness::python;
use jiff::Timestamp;

use crate::context::Context;
use crate::exit::Exit;

/// Flags of `clean`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder that holds campaigns [default: the workspace's results]
    #[arg(long, value_name = "DIR", env = "BENCHMARK_RESULTS_DIR")]
    results_dir: Option<PathBuf>,
    /// Only this campaign; all of the folder when absent
    #[arg(long, value_name = "ID")]
    campaign: Option<String>,
    /// Also the private Python environments in the cache; the next campaign makes its own again, which takes minutes
    #[arg(long)]
    environments: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Lists and removes the leftovers of every campaign that no run is using.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let results = args.results_dir.unwrap_or_else(|| context.root.join("results"));
    let mut out = std::io::stdout().lock();
    let mut found = 0;
    for campaign in clean::campaigns(&results, args.campaign.as_deref())? {
        let Some(leftovers) = clean::find(&results, &campaign)?.leftovers else {
            writeln!(out, "{campaign}: in use, left alone")?;
            continue;
        };
        let leftovers = if args.dry_run {
            leftovers
        } else {
            clean::remove(&results, &campaign, "cargo xtask clean", Timestamp::now())?
        };
        for leftover in &leftovers {
            writeln!(out, "{campaign}: {}", describe(leftover, args.dry_run, &results))?;
        }
        found += leftovers.len();
    }
    if found == 0 {
        writeln!(out, "nothing to remove in {}", results.display())?;
    }
    if args.environments {
        remove_environments(args.dry_run, &mut out)?;
    }
    Ok(Exit::Success)
}

fn remove_environments(dry_run: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let cache = python::cache_folder();
    let environments = python::clean::environments(&cache)?;
    if environments.is_empty() {
        writeln!(out, "no environment in {}", cache.display())?;
    }
    for environment in environments {
        let what = match &environment.record {
            Some(record) => format!("inference-perf {}, Python {}", record.inference_perf, record.python),
            None => "never finished".to_owned(),
        };
        let done = if environment.in_use {
            "in use, left alone"
        } else if dry_run {
            "would be removed"
        } else if python::clean::remove(&environment)? {
            "removed"
        } else {
            "in use, left alone"
        };
        writeln!(out, "{}: {done} ({what}, {})", environment.folder.display(), megabytes(environment.bytes))?;
    }
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn describe(leftover: &Leftover, dry_run: bool, results: &Path) -> String {
    let (would_end, would_remove) = if dry_run { ("would end", "would remove") } else { ("ended", "removed") };
    let below = |path: &Path| path.strip_prefix(results).unwrap_or(path).display().to_string();
    match leftover {
        Leftover::Orphan { command, pids } => format!("{would_end} processes {pids:?}: {command}"),
        Leftover::Work { path, bytes } => format!("{would_remove} {} ({})", below(path), megabytes(*bytes)),
        Leftover::Partial { path, bytes } => {
            format!("{would_remove} {}, never completed ({})", below(path), megabytes(*bytes))
        }
        Leftover::Lock { path } => format!("{would_remove} {}, its run is gone", below(path)),
    }
}
