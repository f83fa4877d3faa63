//! `baseline`: what campaigns are held against, from proposal to promotion.

use std::io::Write;
use std::path::{Path, PathBuf};

use controller::baseline::{
    Channel, Error as StoreError, Promotion, Proposal, Store, StoredBaseline, propose, transfer,
};
use controller::failure::Failure;
use controller::process::Session;
use jiff::Timestamp;
use reports::campaign::Campaign;
use reports::gate::baseline::Freshness;
use reports::gate::calibration::{Calibration, ENOUGH_DF};
use reports::gate::decide::{Inputs, decide};
use reports::gate::limits::Limits;
use reports::gate::observe::observe;
use reports::gate::outcome::{GateVerdict, Outcome};
use reports::gate::render::describe;
use reports::gate::rows::Verdict;

use super::gate::{read_campaign, read_limits, store_location};
use crate::context::Context;
use crate::exit::Exit;

/// Flags of `baseline`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where baselines are: a folder, gs://BUCKET/PREFIX or s3://BUCKET/PREFIX
    #[arg(long, global = true, default_value = "baselines", value_name = "LOCATION")]
    store: String,
    /// What is tolerated
    #[arg(long, global = true, default_value = "config/regression.yaml", value_name = "FILE")]
    limits: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Put a baseline together from campaigns and store it; nothing points at it yet
    Propose(ProposeArgs),
    /// Make a stored baseline the current one of its identity and channel
    Promote(PromoteArgs),
    /// List the current baselines
    List,
    /// Show a baseline: members, noise, history
    Show(ReferenceArgs),
    /// Check every object, pointer and record
    Verify,
    /// Copy what another store has into this one
    Pull(TransferArgs),
    /// Copy what this store has into another one
    Push(TransferArgs),
    /// Learn how much runs differ from campaigns that measured the same thing (A/A)
    Calibrate(CalibrateArgs),
}

#[derive(Debug, clap::Args)]
struct ProposeArgs {
    /// The member campaigns' folders
    #[arg(required = true, value_name = "CAMPAIGN_DIR")]
    campaigns: Vec<PathBuf>,
    /// Noise learned by `calibrate`, instead of from the members
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Where samples go, when not into the store itself
    #[arg(long, value_name = "LOCATION")]
    samples: Option<String>,
    /// The channel to compare with
    #[arg(long, default_value = "main")]
    channel: String,
}

#[derive(Debug, clap::Args)]
struct PromoteArgs {
    /// The digest, or its start
    digest: String,
    /// What the baseline is for
    #[arg(long, default_value = "main")]
    channel: String,
    /// Who decides
    #[arg(long)]
    author: String,
    /// Why
    #[arg(long)]
    reason: String,
    /// Why a baseline that is worse than the current one is accepted
    #[arg(long, value_name = "REASON")]
    accept_regression: Option<String>,
    /// Why fewer than three repetitions are enough
    #[arg(long, value_name = "REASON")]
    few_repetitions: Option<String>,
}

#[derive(Debug, clap::Args)]
struct ReferenceArgs {
    /// The digest, or its start
    digest: String,
}

#[derive(Debug, clap::Args)]
struct TransferArgs {
    /// The other store
    #[arg(value_name = "LOCATION")]
    other: String,
    /// Move pointers forward too, where nothing was promoted on both sides
    #[arg(long)]
    pointers: bool,
}

#[derive(Debug, clap::Args)]
struct CalibrateArgs {
    /// Folders of campaigns that measured the same thing
    #[arg(required = true, value_name = "CAMPAIGN_DIR")]
    campaigns: Vec<PathBuf>,
    /// Where the result goes, for `propose --calibration`
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Carries an action out.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let session = Session::unrecorded();
    let store = Store::open(&store_location(&args.store, context)?, &session);
    let out = &mut std::io::stdout().lock();
    match &args.action {
        Action::Propose(flags) => {
            let (limits, _) = read_limits(&args.limits, context)?;
            let samples = flags.samples.as_deref().map(|text| store_location(text, context)).transpose()?;
            let samples = samples.map(|location| Store::open(&location, &session));
            propose_baseline(flags, &store, samples.as_ref(), &limits, out)
        }
        Action::Promote(flags) => promote(flags, &store, &read_limits(&args.limits, context)?.0, out),
        Action::List => list(&store, out),
        Action::Show(flags) => show(&store, &flags.digest, out),
        Action::Verify => verify(&store, out),
        Action::Pull(flags) => {
            let other = Store::open(&store_location(&flags.other, context)?, &session);
            copy(&other, &store, flags.pointers, out)
        }
        Action::Push(flags) => {
            let other = Store::open(&store_location(&flags.other, context)?, &session);
            copy(&store, &other, flags.pointers, out)
        }
        Action::Calibrate(flags) => calibrate(flags, out),
    }
}

fn campaigns(folders: &[PathBuf]) -> anyhow::Result<Vec<Campaign>> {
    folders
        .iter()
        .map(|folder| {
            let campaign = read_campaign(folder)?;
            Ok(campaign.map_err(|why| Failure::usage(why).hint("only complete, valid campaigns can be part of it"))?)
        })
        .collect()
}

fn propose_baseline(
    flags: &ProposeArgs,
    store: &Store,
    samples: Option<&Store>,
    limits: &Limits,
    out: &mut impl Write,
) -> anyhow::Result<Exit> {
    let campaigns = campaigns(&flags.campaigns)?;
    let calibration = flags.calibration.as_deref().map(read_calibration).transpose()?;
    let now = Timestamp::now();
    let Proposal { stored, warnings } =
        propose(&campaigns, calibration, store, samples, &limits.validity, now).map_err(Failure::usage)?;
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    writeln!(out, "{}", stored.digest)?;
    describe_baseline(&stored, now, out)?;
    let channel = Channel::new(&flags.channel).map_err(failure)?;
    let identity = stored.baseline.identity.key();
    match store.current(&identity, &channel).map_err(failure)? {
        None => writeln!(out, "channel {} has no baseline of this identity yet", channel.as_str())?,
        Some(current) => {
            let current = store.load(&current).map_err(failure)?;
            let outcome = against(&stored, &current, limits);
            writeln!(out, "against the current baseline {}: {}", &current.digest[..12], outcome.headline())?;
            let changed = [Verdict::Regression, Verdict::Improvement, Verdict::Suspect, Verdict::Missing];
            for row in outcome.rows.iter().filter(|row| changed.contains(&row.verdict)) {
                writeln!(out, "  {}", describe(row))?;
            }
        }
    }
    writeln!(
        out,
        "to use it: cargo xtask baseline promote {} --channel {} --author WHO --reason WHY",
        &stored.digest[..12],
        channel.as_str()
    )?;
    Ok(Exit::Success)
}

fn read_calibration(path: &Path) -> anyhow::Result<Calibration> {
    let text = fs_err::read_to_string(path).map_err(Failure::usage)?;
    let calibration = serde_json::from_str(&text);
    Ok(calibration.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?)
}

/// A proposed baseline judged as if it were a campaign.
fn against(proposed: &StoredBaseline, current: &StoredBaseline, limits: &Limits) -> Outcome {
    let calibration = proposed.baseline.calibration.as_ref().or(current.baseline.calibration.as_ref());
    decide(&Inputs {
        limits,
        new: &proposed.baseline.summary,
        baseline: Some(&current.baseline.summary),
        calibration,
        today: jiff::tz::Offset::UTC.to_datetime(proposed.baseline.created).date(),
    })
}

fn promote(flags: &PromoteArgs, store: &Store, limits: &Limits, out: &mut impl Write) -> anyhow::Result<Exit> {
    let channel = Channel::new(&flags.channel).map_err(failure)?;
    let stored = store.load(&store.expand(&flags.digest).map_err(failure)?).map_err(failure)?;
    let identity = stored.baseline.identity.key();
    let previous = store.current(&identity, &channel).map_err(failure)?;
    if let Some(previous) = &previous {
        // A current baseline that is gone or damaged must not keep a good one out.
        match store.load(previous) {
            Err(error) => eprintln!("warning: the current baseline cannot be compared with: {error}"),
            Ok(current) => {
                let outcome = against(&stored, &current, limits);
                let worse = matches!(outcome.verdict, GateVerdict::Regression | GateVerdict::Invalid);
                if worse && flags.accept_regression.is_none() {
                    let rows: Vec<String> = outcome
                        .problems
                        .iter()
                        .map(|problem| problem.what.clone())
                        .chain(
                            outcome
                                .rows
                                .iter()
                                .filter(|row| {
                                    matches!(row.verdict, Verdict::Regression | Verdict::Suspect | Verdict::Missing)
                                })
                                .map(describe),
                        )
                        .collect();
                    let what = format!("it is worse than the current baseline:\n  {}", rows.join("\n  "));
                    anyhow::bail!(Failure::usage(what).hint("if that is meant, say why: --accept-regression REASON"));
                }
            }
        }
    }
    let members = stored.baseline.members.iter();
    let promotion = Promotion {
        time: Timestamp::now(),
        digest: stored.digest.clone(),
        previous,
        author: flags.author.clone(),
        reason: flags.reason.clone(),
        accepted_regression: flags.accept_regression.clone(),
        few_repetitions: flags.few_repetitions.clone(),
        members: members.map(|member| (member.campaign.clone(), member.manifest_sha256.clone())).collect(),
    };
    store.promote(&stored, &channel, &promotion).map_err(failure)?;
    writeln!(out, "{} is now the baseline of identity {identity} in channel {}", stored.digest, channel.as_str())?;
    Ok(Exit::Success)
}

fn list(store: &Store, out: &mut impl Write) -> anyhow::Result<Exit> {
    let now = Timestamp::now();
    for (identity, channel, digest) in store.pointers().map_err(failure)? {
        let state = match store.load(&digest) {
            Ok(stored) => age(&stored, now),
            Err(error) => error.to_string(),
        };
        writeln!(out, "{identity}  {}  {}  {state}", channel.as_str(), &digest[..12])?;
    }
    Ok(Exit::Success)
}

fn show(store: &Store, digest: &str, out: &mut impl Write) -> anyhow::Result<Exit> {
    let stored = store.load(&store.expand(digest).map_err(failure)?).map_err(failure)?;
    writeln!(out, "{}", stored.digest)?;
    describe_baseline(&stored, Timestamp::now(), out)?;
    for (identity, channel, _) in store.pointers().map_err(failure)? {
        if identity != stored.baseline.identity.key() {
            continue;
        }
        for record in store.history(&identity, &channel).map_err(failure)? {
            let digest = record.digest.get(..12).unwrap_or(&record.digest);
            writeln!(out, "{} {} {digest} by {}: {}", record.time, channel.as_str(), record.author, record.reason)?;
        }
    }
    Ok(Exit::Success)
}

fn verify(store: &Store, out: &mut impl Write) -> anyhow::Result<Exit> {
    let problems = store.verify().map_err(failure)?;
    for problem in &problems {
        writeln!(out, "{}: {}", problem.path, problem.what)?;
    }
    if problems.is_empty() {
        writeln!(out, "{}: every object, pointer and record is as it should be", store.location())?;
        return Ok(Exit::Success);
    }
    eprintln!("error: {} problems in {}", problems.len(), store.location());
    Ok(Exit::BaselineMissing)
}

fn copy(from: &Store, to: &Store, pointers: bool, out: &mut impl Write) -> anyhow::Result<Exit> {
    let done = transfer(from, to, pointers).map_err(failure)?;
    writeln!(
        out,
        "{} -> {}: {} objects, {} records, {} pointers",
        from.location(),
        to.location(),
        done.objects,
        done.records,
        done.pointers
    )?;
    if let Some(first) = done.diverged.first() {
        let what = format!("{first} was left alone: the target has promotions that the source does not know");
        anyhow::bail!(Failure::usage(what).hint("copy the other way first, then decide which baseline is meant"));
    }
    Ok(Exit::Success)
}

fn calibrate(flags: &CalibrateArgs, out: &mut impl Write) -> anyhow::Result<Exit> {
    let campaigns = campaigns(&flags.campaigns)?;
    let summaries: Vec<_> = campaigns
        .iter()
        .map(|campaign| {
            let observation = observe(campaign);
            for warning in &observation.warnings {
                eprintln!("warning: {}: {warning}", campaign.manifest.campaign_id);
            }
            observation.summary
        })
        .collect();
    let calibration = Calibration::learn(&summaries);
    if calibration.noise.is_empty() {
        let failure =
            Failure::usage("no treatment has two repetitions in one campaign: there is nothing to learn from");
        anyhow::bail!(failure.hint("run campaigns with --repetitions 3 or more"));
    }
    write_noise(&calibration, out)?;
    if let Some(path) = &flags.output {
        fs_err::write(path, serde_json::to_string_pretty(&calibration)? + "\n")?;
    }
    Ok(Exit::Success)
}

fn write_noise(calibration: &Calibration, out: &mut impl Write) -> anyhow::Result<()> {
    for noise in &calibration.noise {
        writeln!(
            out,
            "{} {}: runs differ by {:.1}% a stage, {:.1}% over all stages ({} degrees of freedom)",
            noise.metric,
            noise.statistic,
            100.0 * noise.stage,
            100.0 * noise.mean,
            noise.df
        )?;
    }
    if calibration.noise.iter().any(|noise| noise.df < ENOUGH_DF) {
        eprintln!(
            "warning: fewer than {ENOUGH_DF} degrees of freedom (repetitions beyond the first, over campaigns and treatments): \
             detectable effects are wide until more campaigns are in"
        );
    }
    Ok(())
}

fn describe_baseline(stored: &StoredBaseline, now: Timestamp, out: &mut impl Write) -> anyhow::Result<()> {
    let baseline = &stored.baseline;
    writeln!(out, "identity {}, {}", baseline.identity.key(), age(stored, now))?;
    for member in &baseline.members {
        let sha256 = member.manifest_sha256.get(..12).unwrap_or_default();
        writeln!(out, "member {} (manifest {sha256})", member.campaign)?;
    }
    let bytes: u64 = baseline.samples.iter().map(|samples| samples.bytes).sum();
    writeln!(out, "samples of {} runs, {bytes} bytes", baseline.samples.len())?;
    match &baseline.calibration {
        Some(calibration) => write_noise(calibration, out),
        None => Ok(writeln!(out, "no calibration: verdicts will be inconclusive")?),
    }
}

fn age(stored: &StoredBaseline, now: Timestamp) -> String {
    let days = stored.baseline.age_days(now);
    let state = match stored.baseline.freshness(now) {
        Freshness::Fresh => "fresh",
        Freshness::Old => "old",
        Freshness::Stale => "stale",
    };
    format!("{} repetitions, {days} days old ({state})", stored.baseline.repetitions())
}

fn failure(error: StoreError) -> Failure {
    Failure::usage(error)
}
