//! `forecast`: what a campaign will show, before anything is started or paid for.

mod fit;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use comfy_table::Table;
use controller::failure::Failure;
use controller::forecast::{Asked, Computed, Plan};
use controller::settings::Resolved;
use reports::compare::Options;
use reports::forecast::{FILE_NAME, Forecast};
use reports::render::{self, Content, Format};
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::progress::duration;
use crate::selection::Selection;

/// Flags of `forecast`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Runs of each treatment; bands are over them
    #[arg(long, value_name = "N", default_value_t = 40)]
    seeds: u32,
    /// Where to write the report and forecast.json [default: forecast-<profile> in the folder of campaigns]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Hardware model: a name of config/hardware or a YAML file [default: the one that fits the settings]
    #[arg(long, value_name = "NAME|FILE")]
    hardware: Option<String>,
    /// Difference in percent that repetitions are to tell apart; may be repeated [default: 5 and 10]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    difference: Vec<f64>,
    /// Minutes to start the model servers, added to the GPU minutes of a repetition
    #[arg(long, value_name = "MINUTES", default_value_t = 0.0, value_parser = minutes)]
    standup: f64,
    /// Fit the hardware model to this measured campaign (or published folder with a metrics.csv) and write it
    #[arg(long, value_name = "CAMPAIGN_DIR", conflicts_with_all = ["seeds", "difference", "standup"])]
    calibrate: Option<PathBuf>,
    /// Print the result as JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Computes the forecast, writes its report, and says what it came to; or fits a hardware model.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let resolved = resolve(&args.selection, context)?;
    if let Some(campaign) = &args.calibrate {
        return fit::run(&args, &resolved, campaign, context);
    }
    let began = Instant::now();
    let differences = if args.difference.is_empty() { vec![0.05, 0.1] } else { args.difference.clone() };
    let asked =
        Asked { seeds: args.seeds, hardware: args.hardware.clone(), differences, standup_seconds: args.standup * 60.0 };
    let plan = Plan::new(&context.root, &resolved, asked)?;
    let id = resolved.settings.campaign.clone().unwrap_or_else(|| format!("forecast-{}", resolved.profile.name));
    let output = match &args.output {
        Some(output) => std::path::absolute(output)?,
        None => controller::campaign::plan::results(&context.root, &resolved)?.join(&id),
    };
    let computed = plan.compute(&id)?;
    let took = began.elapsed();
    let page = write(&computed, &resolved.settings.report.comparisons, &output)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let document = json!({
            "folder": output, "report": page, "requests": computed.requests, "seconds": took.as_secs_f64(),
            "hardware": plan.model().name(), "forecast": computed.forecast,
        });
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        let model = plan.model();
        let text = text(&computed, &model.name(), took);
        write!(out, "{text}\nreport    {}\nforecast  {}\n", page.display(), output.join(FILE_NAME).display())?;
    }
    Ok(Exit::Success)
}

/// The settings. A project that is billed is asked of no one who only computes: where nothing else is missing, none is needed.
fn resolve(selection: &Selection, context: &Context) -> controller::failure::Result<Resolved> {
    selection.resolve(context).or_else(|failure| {
        let mut with_project = selection.clone();
        with_project.sets.push("gke.project=none".to_owned());
        with_project.resolve(context).map_err(|_| failure)
    })
}

/// Writes the report and `forecast.json`; returns the page to open.
fn write(computed: &Computed, comparisons: &[String], output: &std::path::Path) -> anyhow::Result<PathBuf> {
    let pairs = comparisons.iter().map(|pair| super::report::pair(pair)).collect::<Result<Vec<_>, _>>();
    let content = Content::of(&computed.campaign, &pairs.map_err(Failure::usage)?, &Options::default())
        .map_err(Failure::usage)?;
    let report = content.report(&computed.campaign).with_forecast(&computed.forecast);
    let plan = render::Plan { formats: Format::DEFAULT.to_vec(), output: output.join("report"), link_evidence: false };
    fs_err::create_dir_all(output)?;
    render::write(&report, &plan).map_err(super::report::unwritten)?;
    fs_err::write(output.join(FILE_NAME), computed.forecast.to_json())?;
    Ok(plan.output.join("README.md"))
}

/// The forecast for people: what a repetition takes, and the band at the highest rate.
fn text(computed: &Computed, hardware: &str, took: Duration) -> String {
    let Forecast { campaign_id, runs, treatments, .. } = &computed.forecast;
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "TREATMENT",
        "AT REQ/S",
        "REQ/S",
        "OUTPUT TOK/S",
        "TTFT P50",
        "TTFT P90",
        "WALL TIME",
        "GPU MIN",
    ]);
    for treatment in treatments {
        let Some(top) = treatment.levels.last() else { continue };
        let band = |key: &str, digits: usize| {
            top.metrics.get(key).map_or_else(
                || "n/a".to_owned(),
                |band| format!("{:.digits$} [{:.digits$}, {:.digits$}]", band.p50, band.p5, band.p95),
            )
        };
        let cost = treatment.cost;
        let gpus = if cost.accelerators == 0 {
            "n/a".to_owned()
        } else {
            format!("{:.0}", cost.accelerator_minutes(|band| band.p50))
        };
        table.add_row([
            treatment.name.clone(),
            format!("{}", top.requested_qps),
            band("requests_per_second", 1),
            band("output_tokens_per_second", 0),
            band("ttft_p50_seconds", 3),
            band("ttft_p90_seconds", 3),
            duration(Duration::from_secs_f64(cost.load_seconds.p50)),
            gpus,
        ]);
    }
    format!(
        "forecast {campaign_id}: nothing was measured; {runs} runs of each treatment on {hardware}, {} requests in {:.1} s\n\
         median [5%, 95%] over runs; seconds\n\n{}\n",
        computed.requests,
        took.as_secs_f64(),
        table.trim_fmt()
    )
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent > -100.0 && percent != 0.0 => Ok(percent / 100.0),
        _ => Err("a number of percent, such as 10; not 0".to_owned()),
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes.is_finite() && minutes >= 0.0 => Ok(minutes),
        _ => Err("a number of minutes, 0 or more".to_owned()),
    }
}
