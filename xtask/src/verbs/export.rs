//! `export`: a campaign's numbers in other tools' formats.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use controller::failure::Failure;
use reports::campaign::{self, Campaign};
use reports::compare::{self, Series};
use reports::export::history::Entry;
use reports::export::{bencher, github_action_benchmark, history, prism};

use crate::context::Context;
use crate::exit::Exit;

/// Flags of `export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A campaign's folder
    #[arg(value_name = "CAMPAIGN_DIR")]
    dir: PathBuf,
    /// What to export for
    #[arg(long, value_enum, value_name = "TOOL")]
    to: Tool,
    /// Where to write: a folder for prism and github-action-benchmark, a file for bencher (standard output without) and
    /// history [default: CAMPAIGN_DIR/export/TOOL, history.csv]
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// For history: when the campaign ran, in RFC 3339, instead of what its manifest says
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// For history: the commit that was measured, instead of what the manifest says
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
}

/// The tools that there are formats for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// A folder for each repetition, as llm-d Prism's upload takes it
    Prism,
    /// Two JSON files, for customSmallerIsBetter and customBiggerIsBetter
    GithubActionBenchmark,
    /// Bencher Metric Format, with the repetitions' range as bounds
    Bencher,
    /// One line more in a history for change-point tools; a campaign that is there already is not added again
    History,
}

/// Exports a campaign and prints what was written.
pub fn run(args: Args, _context: &Context) -> anyhow::Result<Exit> {
    let campaign = campaign::read(&args.dir).map_err(Failure::measurement)?;
    for warning in &campaign.warnings {
        eprintln!("warning: {warning}");
    }
    let default = |name: &str| args.dir.join("export").join(name);
    match args.to {
        Tool::Prism => {
            let output = args.output.unwrap_or_else(|| default("prism"));
            for folder in prism::bundle(&campaign, &output).map_err(Failure::usage)? {
                say(&folder)?;
            }
        }
        Tool::GithubActionBenchmark => {
            let output = args.output.unwrap_or_else(|| default("github-action-benchmark"));
            let files = github_action_benchmark::files(&campaign.manifest.campaign_id, &series(&campaign)?)?;
            fs_err::create_dir_all(&output)?;
            for file in files {
                let path = output.join(&file.name);
                fs_err::write(&path, file.text)?;
                say(&path)?;
            }
        }
        Tool::Bencher => {
            let text = bencher::document(&series(&campaign)?)?;
            match args.output {
                Some(path) => {
                    fs_err::write(&path, text)?;
                    say(&path)?;
                }
                None => std::io::stdout().lock().write_all(text.as_bytes())?,
            }
        }
        Tool::History => {
            let path = args.output.unwrap_or_else(|| PathBuf::from("history.csv"));
            let entry = entry(&campaign, args.time, args.commit)?;
            append(&path, &entry, &series(&campaign)?)?;
            say(&path)?;
        }
    }
    Ok(Exit::Success)
}

/// The curves of all treatments that have any.
fn series(campaign: &Campaign) -> anyhow::Result<Vec<Series>> {
    let options = compare::Options::default();
    let measured = campaign.treatments.iter().filter(|treatment| !treatment.repetitions.is_empty());
    let series = measured.map(|treatment| compare::series(treatment, &options)).collect::<Result<_, _>>();
    Ok(series.map_err(Failure::measurement)?)
}

/// What a history's line is about: flags before the manifest's provenance.
fn entry(campaign: &Campaign, time: Option<String>, commit: Option<String>) -> anyhow::Result<Entry> {
    let recorded = |key: &str| {
        let facts = campaign.manifest.provenance.as_ref()?;
        Some(facts.get(key)?.as_str()?.to_owned())
    };
    let time = time.or_else(|| recorded("started")).ok_or_else(|| {
        Failure::usage("the manifest does not say when the campaign ran")
            .hint("say it with --time 2026-11-30T22:00:00Z")
    })?;
    let commit = commit.or_else(|| recorded("source_commit")).unwrap_or_default();
    Ok(Entry { time, commit, campaign: campaign.manifest.campaign_id.clone() })
}

/// Writes the longer history beside the old one and puts it in its place at once.
fn append(path: &Path, entry: &Entry, series: &[Series]) -> anyhow::Result<()> {
    let existing = match fs_err::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let text = history::append(existing.as_deref(), entry, series)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    if existing.as_deref() == Some(text.as_str()) {
        eprintln!("{} has campaign {} already", path.display(), entry.campaign);
        return Ok(());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    fs_err::write(&beside, text)?;
    fs_err::rename(&beside, path).with_context(|| format!("{} cannot be replaced", path.display()))
}

fn say(path: &Path) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{}", path.display())?)
}
