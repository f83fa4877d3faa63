//! `report`: documents from a campaign's evidence, as often as wanted.

pub mod objectives;
mod overhead;
mod png;
mod published;

use std::io::Write;
use std::path::{Path, PathBuf};

use controller::failure::{Failure, Result};
use reports::campaign::{self, Campaign};
use reports::compare::Options;
use reports::forecast::Forecast;
use reports::model::Slo;
use reports::publish::Asked;
use reports::render::{self, Content, Format, Plan, Written};
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;

/// Flags of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The campaign's folder, such as `results/<campaign>`; with --check, a published report or a folder of them
    #[arg(required_unless_present_any = ["native", "check"])]
    campaign: Option<PathBuf>,
    /// Compare CANDIDATE with BASELINE; may be repeated [default: `service` against every other treatment]
    #[arg(long, value_name = "BASELINE:CANDIDATE", value_parser = pair)]
    comparison: Vec<(String, String)>,
    /// What to write: markdown, csv, json, svg, png, html [default: all but png]
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',', value_parser = format)]
    format: Vec<Format>,
    /// Where to write it; a report that is there is replaced [default: `report` in the campaign's folder; with --publish,
    /// `reports/published`, in which it gets a folder <profile>/<campaign>]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Lay a forecast over the campaign: a folder that `forecast` wrote
    #[arg(long, value_name = "DIR", conflicts_with_all = ["publish", "check"])]
    forecast: Option<PathBuf>,
    /// Report on a bare folder of inference-perf's results under this name; the first is the baseline
    #[arg(long, value_name = "NAME=DIR", value_parser = named, conflicts_with = "campaign", requires = "output")]
    native: Vec<(String, PathBuf)>,
    /// Objectives to hold the campaign to: a list such as ttft_p90=2s,itl_p50=50ms, or the name of a file in config/slo
    #[arg(long, value_name = "OBJECTIVES")]
    slo: Option<String>,
    #[command(flatten)]
    publication: published::PublishArgs,
    /// Check that published reports are what their numbers give today [default: all of `reports/published`]
    #[arg(long, conflicts_with_all = ["native", "publish", "comparison", "format", "output", "slo"])]
    check: bool,
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Reads, compares, writes, and says where the documents are.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    if args.check {
        return published::check(args.campaign.as_deref(), args.json, context);
    }
    let slo = args.slo.as_deref().map(|given| objectives::resolve(given, context)).transpose()?;
    let (mut campaign, output) = read(&args)?;
    campaign.add_records(slo.as_ref());
    let asked = Asked { comparisons: args.comparison, slo };
    if args.publication.publish {
        let root = args.output.as_deref().map(absolute).transpose()?;
        let written = published::publish(&campaign, &args.publication, &asked, root, context)?;
        return print(&asked.comparisons, &written, args.json);
    }
    let formats = if args.format.is_empty() { Format::DEFAULT.to_vec() } else { args.format };
    let costs = overhead::write(&campaign, output.parent().unwrap_or(&output))?;
    let forecast = args.forecast.as_deref().map(Forecast::read).transpose().map_err(|error| {
        Failure::usage(error).hint("`cargo xtask forecast --output DIR` writes the folder that `--forecast DIR` reads")
    })?;
    let about = About { asked: &asked, forecast: forecast.as_ref() };
    let (content, written) = write(&campaign, about, formats, output, context)?;
    if let Some(page) = costs {
        eprintln!("what the gateway itself costs: {}", page.display());
    }
    let compared = content.comparisons().iter();
    let pairs: Vec<_> =
        compared.map(|comparison| (comparison.baseline.name.clone(), comparison.candidate.name.clone())).collect();
    print(&pairs, &written, args.json)
}

/// Writes the report of a campaign that was just measured into its folder, as its settings ask, and returns the pages
/// to open.
pub fn write_for(
    folder: &Path,
    comparisons: &[String],
    formats: &[String],
    slo: Option<Slo>,
    context: &Context,
) -> anyhow::Result<Vec<PathBuf>> {
    let pairs = comparisons.iter().map(|text| pair(text)).collect::<std::result::Result<Vec<_>, _>>();
    let formats = formats.iter().map(|text| format(text)).collect::<std::result::Result<Vec<_>, _>>();
    let folder = absolute(folder)?;
    let mut campaign = campaign::read(&folder).map_err(Failure::internal)?;
    campaign.add_records(slo.as_ref());
    let asked = Asked { comparisons: pairs.map_err(Failure::usage)?, slo };
    let formats = formats.map_err(Failure::usage)?;
    let costs = overhead::write(&campaign, &folder)?;
    let about = About { asked: &asked, forecast: None };
    let (_, written) = write(&campaign, about, formats, folder.join("report"), context)?;
    Ok(costs.into_iter().chain(pages(&written)).collect())
}

/// What a report is asked to be about.
#[derive(Clone, Copy)]
struct About<'a> {
    asked: &'a Asked,
    forecast: Option<&'a Forecast>,
}

fn write(
    campaign: &Campaign,
    about: About<'_>,
    formats: Vec<Format>,
    output: PathBuf,
    context: &Context,
) -> anyhow::Result<(Content, Written)> {
    for warning in &campaign.warnings {
        eprintln!("warning: {warning}");
    }
    let content = Content::of(campaign, &about.asked.comparisons, &Options { slo: about.asked.slo.clone() })
        .map_err(|error| Failure::usage(error).hint("`--comparison BASELINE:CANDIDATE` chooses what is compared"))?;
    let wants_png = formats.contains(&Format::Png);
    let plan = Plan { formats, output, link_evidence: true };
    let mut report = content.report(campaign);
    if let Some(forecast) = about.forecast {
        report = report.with_forecast(forecast);
    }
    let staged = render::stage(&report, &plan).map_err(unwritten)?;
    if wants_png {
        png::draw(staged.charts(), context)?;
    }
    let written = staged.place().map_err(unwritten)?;
    Ok((content, written))
}

/// The pages a person opens: the report's own, or its folder when the formats have none.
fn pages(written: &Written) -> Vec<PathBuf> {
    let pages = ["README.md", "report.html"].map(|page| written.folder.join(page));
    let pages: Vec<_> = pages.into_iter().filter(|page| written.files.contains(page)).collect();
    if pages.is_empty() { vec![written.folder.clone()] } else { pages }
}

fn read(args: &Args) -> Result<(Campaign, PathBuf)> {
    if let (false, Some(output)) = (args.native.is_empty(), &args.output) {
        let campaign = campaign::from_native(&args.native).map_err(|error| {
            Failure::usage(error).hint("each `--native NAME=DIR` names a folder that inference-perf wrote")
        })?;
        return Ok((campaign, absolute(output)?));
    }
    let folder = absolute(args.campaign.as_deref().unwrap_or(Path::new(".")))?;
    let campaign = campaign::read(&folder)
        .map_err(|error| Failure::usage(error).hint("a campaign's folder holds campaign-manifest.yaml and runs/"))?;
    let output = args.output.as_deref().map_or_else(|| Ok(folder.join("report")), absolute)?;
    Ok((campaign, output))
}

/// Absolute, so that links from documents to evidence can be worked out.
fn absolute(path: &Path) -> Result<PathBuf> {
    // An existing folder by its real name: evidence and report must not differ by a symbolic link.
    fs_err::canonicalize(path).or_else(|_| std::path::absolute(path)).map_err(Failure::from)
}

pub(super) fn unwritten(error: render::Error) -> Failure {
    match error {
        error @ render::Error::NotAReport { .. } => Failure::usage(error)
            .hint("choose another `--output`; only a folder that holds nothing but a report is replaced"),
        other => Failure::internal(other),
    }
}

fn print(pairs: &[(String, String)], written: &Written, as_json: bool) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    if as_json {
        let comparisons: Vec<_> =
            pairs.iter().map(|(baseline, candidate)| json!({"baseline": baseline, "candidate": candidate})).collect();
        let document = json!({"folder": written.folder, "files": written.files, "comparisons": comparisons});
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    for page in pages(written) {
        writeln!(out, "{}", page.display())?;
    }
    Ok(Exit::Success)
}

pub(super) fn pair(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once(':') {
        Some((baseline, candidate)) if !baseline.is_empty() && !candidate.is_empty() => {
            Ok((baseline.to_owned(), candidate.to_owned()))
        }
        _ => Err("two treatments joined by a colon, such as service:agentgateway-standalone".to_owned()),
    }
}

fn named(text: &str) -> std::result::Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => Ok((name.to_owned(), folder.into())),
        _ => Err("a name and a folder joined by an equals sign, such as service=results/plain".to_owned()),
    }
}

fn format(text: &str) -> std::result::Result<Format, String> {
    text.trim().parse()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn parse(line: &str) -> std::result::Result<Args, String> {
        match Cli::try_parse_from(std::iter::once("xtask").chain(line.split(' ')))
            .map_err(|error| error.to_string())?
            .verb
        {
            Verb::Report(args) => Ok(args),
            _ => Err("another verb".to_owned()),
        }
    }

    #[test]
    fn a_campaign_or_bare_results_are_named_but_not_both() {
        assert!(parse("report results/a").is_ok());
        assert!(parse("report").is_err());
        assert!(parse("report --native a=x --native b=y --output out").is_ok());
        assert!(parse("report --native a=x").unwrap_err().contains("--output"));
        assert!(parse("report results/a --native a=x --output out").is_err());
    }

    #[test]
    fn publishing_and_checking_exclude_what_they_decide_themselves() {
        for line in ["report --check", "report --check reports/published", "report c --publish --profile quick"] {
            assert!(parse(line).is_ok(), "{line}");
        }
        for line in [
            "report --check c --publish",
            "report --check --format png",
            "report --publish",
            "report c --publish --format png",
            "report --native a=x --output out --publish",
            "report c --link https://example.org/a",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn comparisons_and_formats_are_checked_before_anything_is_read() {
        let args = parse("report c --comparison service:a --comparison service:b --format markdown,png").unwrap();
        assert_eq!(args.comparison.len(), 2);
        assert_eq!(args.format, [Format::Markdown, Format::Png]);
        assert!(parse("report c --comparison service").unwrap_err().contains("joined by a colon"));
        assert!(parse("report c --format pdf").unwrap_err().contains("markdown, csv, json, svg, png, html"));
    }
}
