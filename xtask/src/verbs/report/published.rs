//! `report --publish` and `report --check`: curated copies that leave the machine, and whether they are still true.

use std::io::Write;
use std::path::{Path, PathBuf};

use controller::failure::{Failure, Result};
use reports::campaign::Campaign;
use reports::files;
use reports::publish::{self, Asked, LocalPath, Problem, Publication, check_one, standard};
use reports::render::Written;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;

/// Where published reports are, below the workspace.
const PUBLISHED: &str = "reports/published";

/// Flags of a publication.
#[derive(Debug, clap::Args)]
pub struct PublishArgs {
    /// Write a copy that may leave this machine, with all that it is made from; refused when a secret or a path is in it
    #[arg(long, conflicts_with_all = ["native", "format"])]
    pub publish: bool,
    /// The profile under which it is published [default: what the manifest says]
    #[arg(long, value_name = "NAME", requires = "publish")]
    profile: Option<String>,
    /// Where the evidence stays: a public https address; may be repeated
    #[arg(long, value_name = "URL", requires = "publish")]
    link: Vec<String>,
    /// Text that may not appear in it, such as a project's or a customer's name; may be repeated
    #[arg(long, value_name = "TEXT", requires = "publish")]
    private: Vec<String>,
}

/// Publishes a campaign below `root`, by default the workspace's own folder.
pub fn publish(
    campaign: &Campaign,
    args: &PublishArgs,
    asked: &Asked,
    root: Option<PathBuf>,
    context: &Context,
) -> anyhow::Result<Written> {
    for warning in &campaign.warnings {
        eprintln!("warning: {warning}");
    }
    let recorded = || Some(campaign.manifest.provenance.as_ref()?.get("profile")?.as_str()?.to_owned());
    let profile = args.profile.clone().or_else(recorded).ok_or_else(|| {
        Failure::usage("the manifest does not say which profile was measured").hint("say it with --profile NAME")
    })?;
    let local = local_paths(campaign, context);
    let private = private_words(&args.private);
    let publication = Publication { profile: &profile, links: &args.link, private: &private, local: &local, asked };
    let root = root.unwrap_or_else(|| context.root.join(PUBLISHED));
    let folder = publish::publish(campaign, &publication, &root, &standard).map_err(refusal)?;
    let files = files::below(&folder)?;
    Ok(Written { folder, files })
}

fn refusal(error: publish::Error) -> Failure {
    match error {
        error @ publish::Error::Unpublishable(_) => Failure::usage(error).hint(
            "remove it from campaign-manifest.yaml, which is where documents take such text from, and publish again",
        ),
        error @ publish::Error::Link(_) => {
            Failure::usage(error).hint("--link takes public https addresses that do not expire")
        }
        error @ publish::Error::Io(_) => Failure::internal(error),
        other => Failure::usage(other),
    }
}

/// Folders that a campaign of this machine names by its nature.
fn local_paths(campaign: &Campaign, context: &Context) -> Vec<LocalPath> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let known = [
        (campaign.dir.parent().map(Path::to_path_buf), "RESULTS"),
        (Some(context.root.clone()), "WORKSPACE"),
        (Some(controller::cache::folder("")), "CACHE"),
        (home, "~"),
    ];
    let known = known.into_iter().filter_map(|(path, word)| Some((path?, word)));
    known
        .map(|(path, word)| LocalPath { path: path.display().to_string().trim_end_matches('/').to_owned(), word })
        .collect()
}

/// What was given, and this machine's name where it is one that no other text contains by chance.
fn private_words(given: &[String]) -> Vec<String> {
    let name = fs_err::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned());
    let name = name.filter(|name| name.len() >= 6 && name != "localhost");
    given.iter().cloned().chain(name).collect()
}

/// Checks one published report, or all in a folder, and prints what is wrong.
pub fn check(given: Option<&Path>, as_json: bool, context: &Context) -> anyhow::Result<Exit> {
    let default = context.root.join(PUBLISHED);
    let folder = given.unwrap_or(&default);
    if given.is_some() && !folder.is_dir() {
        return Err(Failure::usage(format!("{}: there is no such folder", folder.display())).into());
    }
    let (reports, problems) = if publish::is_report(folder) {
        (1, check_one(folder, &standard))
    } else {
        publish::check(folder, &standard).map_err(Failure::internal)?
    };
    if reports == 0 && given.is_some() {
        return Err(Failure::usage(format!("{}: holds no published report", folder.display()))
            .hint("a published report is a folder <profile>/<campaign> that `report CAMPAIGN_DIR --publish` wrote")
            .into());
    }
    tell(folder, reports, &problems, as_json)?;
    if problems.is_empty() {
        return Ok(Exit::Success);
    }
    Err(Failure::measurement(format!(
        "{} of published reports: {}",
        count(problems.len(), "problem"),
        folder.display()
    ))
    .hint("publish the campaign again, or restore what was changed by hand")
    .into())
}

fn tell(folder: &Path, reports: usize, problems: &[Problem], as_json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if as_json {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Ok(writeln!(out, "{:#}", json!({"folder": folder, "reports": reports, "problems": problems}))?);
    }
    for problem in problems {
        writeln!(out, "{problem}")?;
    }
    match (reports, problems.is_empty()) {
        (0, _) => writeln!(out, "{}: nothing is published yet, so nothing can be wrong", folder.display())?,
        (_, true) => writeln!(out, "{}: {} as their numbers give", folder.display(), count(reports, "report"))?,
        _ => {}
    }
    Ok(())
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
