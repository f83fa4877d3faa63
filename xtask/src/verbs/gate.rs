//! `gate`: does a campaign fall outside what the baseline and its noise allow?

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use comfy_table::{ContentArrangement, Table};
use controller::baseline::{JudgeError, Location, Request, Store, judge};
use controller::failure::Failure;
use controller::process::Session;
use jiff::Timestamp;
use reports::gate::document::{Document, LimitsRef};
use reports::gate::identity::digest;
use reports::gate::limits::{self, Limits, Problem};
use reports::gate::render::{Cells, annotations, cells, comment, junit, step_summary};
use reports::gate::self_test::{self, Length};

use crate::context::Context;
use crate::exit::Exit;

/// Rows that a terminal shows; the documents have all.
const SHOWN: usize = 25;

/// Flags of `gate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The campaign's folder
    #[arg(required_unless_present = "self_test", value_name = "CAMPAIGN_DIR")]
    campaign: Option<PathBuf>,
    /// The baseline: a channel or the start of a digest
    #[arg(long, default_value = "main", value_name = "REF")]
    baseline: String,
    /// Where baselines are: a folder, gs://BUCKET/PREFIX or s3://BUCKET/PREFIX
    #[arg(long, default_value = "baselines", value_name = "LOCATION")]
    store: String,
    /// What is tolerated
    #[arg(long, default_value = "config/regression.yaml", value_name = "FILE")]
    limits: PathBuf,
    /// Where gate.json, gate.md, comment.md and junit.xml go [default: CAMPAIGN_DIR/gate]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Compare although this identity field differs; the report says so
    #[arg(long, value_name = "FIELD")]
    allow_identity_diff: Vec<String>,
    /// Measure the gate's own false-alarm and detection rates on synthetic campaigns, instead of judging one
    #[arg(long, value_name = "LENGTH", num_args = 0..=1, default_missing_value = "default", conflicts_with = "campaign")]
    self_test: Option<SelfTest>,
    /// Seed of the synthetic campaigns
    #[arg(long, default_value_t = 20_260_817, requires = "self_test")]
    seed: u64,
}

impl Args {
    /// A campaign against the main baseline of a store, with the workspace's limits.
    pub fn of(campaign: PathBuf, store: &str) -> Self {
        Self {
            campaign: Some(campaign),
            baseline: "main".to_owned(),
            store: store.to_owned(),
            limits: PathBuf::from("config/regression.yaml"),
            output: None,
            allow_identity_diff: Vec::new(),
            self_test: None,
            seed: 0,
        }
    }
}

/// How long the self-test may take.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SelfTest {
    /// A few gates; seconds
    Short,
    /// 2,000 gates a false-alarm scenario; under a minute
    Default,
    /// 20,000 gates with larger stages; tens of minutes
    Long,
}

/// Judges a campaign, or the gate itself.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    if let Some(length) = args.self_test {
        return self_test(length, args.seed);
    }
    let Some(folder) = &args.campaign else { anyhow::bail!(Failure::usage("no campaign folder was given")) };
    let (limits, limits_ref) = read_limits(&args.limits, context)?;
    let location = store_location(&args.store, context)?;
    let campaign = match read_campaign(folder)? {
        Ok(campaign) => campaign,
        Err(why) => {
            println!("compared 0 of 0 rows: invalid campaign");
            eprintln!("error: {why}");
            return Ok(Exit::InvalidCampaign);
        }
    };
    let store = Store::open(&location, &Session::unrecorded());
    let request = Request {
        campaign: &campaign,
        store: &store,
        reference: &args.baseline,
        allowed: &args.allow_identity_diff,
        limits: &limits,
        limits_ref,
        now: Timestamp::now(),
    };
    let document = judge(&request).map_err(|error| explain(error, &args.limits))?;
    let output = args.output.clone().unwrap_or_else(|| folder.join("gate"));
    write(&document, &output)?;
    show(&document, &output)?;
    Ok(exit(document.exit_code))
}

/// Reads a limits file; its path is relative to the workspace unless it is there as typed.
pub fn read_limits(path: &Path, context: &Context) -> anyhow::Result<(Limits, LimitsRef)> {
    let file = if path.exists() { path.to_owned() } else { context.root.join(path) };
    let limits = limits::read(&file).map_err(|error| {
        Failure::usage(error).hint("docs/regression-gate.md explains the limits file, config/regression.yaml is one")
    })?;
    let sha256 = digest(&fs_err::read(&file)?);
    Ok((limits, LimitsRef { path: path.display().to_string(), sha256 }))
}

/// The store's place; a relative folder is one of the workspace.
pub fn store_location(text: &str, context: &Context) -> anyhow::Result<Location> {
    Ok(match Location::parse(text).map_err(Failure::usage)? {
        Location::Folder(path) if path.is_relative() && !path.exists() => Location::Folder(context.root.join(path)),
        other => other,
    })
}

/// A campaign; the inner error is evidence that is no measurement, the outer one a folder that is not there.
pub fn read_campaign(folder: &Path) -> anyhow::Result<Result<reports::campaign::Campaign, String>> {
    if !folder.is_dir() {
        let failure = Failure::usage(format!("{}: there is no such folder", folder.display()));
        anyhow::bail!(failure.hint("name a campaign's folder, such as results/<campaign>"));
    }
    Ok(reports::campaign::read(folder).map_err(|error| error.to_string()))
}

fn explain(error: JudgeError, limits: &Path) -> anyhow::Error {
    match error {
        JudgeError::Limits(problems) => {
            let place = |problem: &Problem| match problem.line {
                0 => format!("{}: {}", limits.display(), problem.message),
                line => format!("{}:{line}:{}: {}", limits.display(), problem.column, problem.message),
            };
            let lines: Vec<String> = problems.iter().map(place).collect();
            Failure::usage(lines.join("\n")).hint("a limit that is about nothing looks like a limit that holds").into()
        }
        JudgeError::Store(error) => {
            Failure::usage(error).hint("is the store's location right, and are you signed in?").into()
        }
        JudgeError::Io(error) => error.into(),
    }
}

fn write(document: &Document, output: &Path) -> anyhow::Result<()> {
    fs_err::create_dir_all(output)?;
    let summary = step_summary(document);
    fs_err::write(output.join("gate.json"), document.to_json()?)?;
    fs_err::write(output.join("gate.md"), &summary)?;
    fs_err::write(output.join("comment.md"), comment(document))?;
    fs_err::write(output.join("junit.xml"), junit(document)?)?;
    if let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()) {
        let mut file = fs_err::OpenOptions::new().create(true).append(true).open(PathBuf::from(file))?;
        file.write_all(summary.as_bytes())?;
    }
    Ok(())
}

fn show(document: &Document, output: &Path) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", document.headline)?;
    let rows = &document.outcome.rows;
    if !rows.is_empty() {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(Cells::HEADS);
        for row in rows.iter().take(SHOWN) {
            table.add_row(cells(row).into_array());
        }
        writeln!(out, "{}", table.trim_fmt())?;
        if rows.len() > SHOWN {
            writeln!(out, "{} more rows in {}", rows.len() - SHOWN, output.join("gate.md").display())?;
        }
    }
    for problem in &document.outcome.problems {
        eprintln!("invalid: {}", problem.what);
    }
    for warning in &document.warnings {
        eprintln!("warning: {warning}");
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        for line in annotations(document) {
            eprintln!("{line}");
        }
    }
    Ok(())
}

fn exit(code: u8) -> Exit {
    match code {
        0 => Exit::Success,
        3 => Exit::Regression,
        4 => Exit::Inconclusive,
        5 => Exit::BaselineMissing,
        6 => Exit::IdentityMismatch,
        _ => Exit::InvalidCampaign,
    }
}

fn self_test(length: SelfTest, seed: u64) -> anyhow::Result<Exit> {
    let length = match length {
        SelfTest::Short => Length::Short,
        SelfTest::Default => Length::Default,
        SelfTest::Long => Length::Long,
    };
    let started = Instant::now();
    let mut out = std::io::stdout().lock();
    let mut written = Ok(());
    let results = self_test::run(seed, length, |result| {
        if written.is_ok() {
            written = writeln!(out, "{result}");
        }
    });
    written?;
    let broken = results.iter().filter(|result| !result.holds()).count();
    let gates: u64 = results.iter().map(|result| result.gates).sum();
    eprintln!("{gates} synthetic gates in {:.1} s, seed {seed}", started.elapsed().as_secs_f64());
    if broken == 0 {
        writeln!(out, "PASS: all {} rates hold", results.len())?;
        return Ok(Exit::Success);
    }
    writeln!(out, "FAIL: {broken} of {} rates do not hold", results.len())?;
    Ok(Exit::Regression)
}
