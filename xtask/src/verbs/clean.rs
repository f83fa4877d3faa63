//! `clean`: removes what interrupted and failed runs left behind, and nothing that it did not make.

use std::io::Write;
use std::path::{Path, PathBuf};

use controller::campaign::clean::{self, Leftover};
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
    Ok(Exit::Success)
}

fn describe(leftover: &Leftover, dry_run: bool, results: &Path) -> String {
    let (would_end, would_remove) = if dry_run { ("would end", "would remove") } else { ("ended", "removed") };
    let below = |path: &Path| path.strip_prefix(results).unwrap_or(path).display().to_string();
    let megabytes = |bytes: &u64| format!("{:.1} MB", *bytes as f64 / 1e6);
    match leftover {
        Leftover::Orphan { command, pids } => format!("{would_end} processes {pids:?}: {command}"),
        Leftover::Work { path, bytes } => format!("{would_remove} {} ({})", below(path), megabytes(bytes)),
        Leftover::Partial { path, bytes } => {
            format!("{would_remove} {}, never completed ({})", below(path), megabytes(bytes))
        }
        Leftover::Lock { path } => format!("{would_remove} {}, its run is gone", below(path)),
    }
}
