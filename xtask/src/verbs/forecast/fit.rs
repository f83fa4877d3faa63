//! `forecast --calibrate`: a hardware model fitted to a measured campaign.

use std::io::Write;
use std::path::{Path, PathBuf};

use comfy_table::Table;
use controller::failure::Failure;
use controller::forecast::{self, Calibration, Model};
use controller::settings::Resolved;
use serde_json::json;

use super::Args;
use crate::context::Context;
use crate::exit::Exit;

/// How often the search is reported on, in sets of coefficients.
const TOLD_EVERY: usize = 40;

pub(super) fn run(args: &Args, resolved: &Resolved, campaign: &Path, context: &Context) -> anyhow::Result<Exit> {
    let measured = forecast::read_measured(campaign)?;
    let start = Model::find(&context.root, resolved, args.hardware.as_deref())?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from("calibrated.yaml"));
    let mut told = |tried: usize, cost: f64| {
        if tried % TOLD_EVERY == 1 {
            eprintln!("{tried} sets of coefficients tried, cost {cost:.4}");
        }
    };
    let fitted = forecast::calibrate(&context.root, resolved, &measured, &start, &mut told)?;
    let mut hardware = fitted.hardware.clone();
    hardware.description = format!("{}, fitted to {}", start.hardware.description, measured.manifest.campaign_id);
    let yaml = reports::yaml::to_string(&hardware).map_err(Failure::internal)?;
    fs_err::write(&output, yaml)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let document = json!({
            "file": output, "start": start.name(), "cost_before": fitted.cost.0, "cost_after": fitted.cost.1,
            "errors": fitted.errors,
        });
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        write!(out, "{}\nhardware  {}\n", text(&fitted, &start), output.display())?;
    }
    Ok(Exit::Success)
}

fn text(fitted: &Calibration, start: &Model) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["TREATMENT", "METRIC", "RATES", "MEDIAN ERROR", "WORST", "AT REQ/S"]);
    for errors in &fitted.errors {
        table.add_row([
            errors.treatment.clone(),
            errors.metric.clone(),
            format!("{} {}", errors.rates, if errors.held_out { "held out" } else { "fitted" }),
            format!("{:.1}%", errors.median * 100.0),
            format!("{:+.1}%", errors.worst.0 * 100.0),
            format!("{}", errors.worst.1),
        ]);
    }
    format!(
        "fitted from {}: cost {:.4} before, {:.4} after\n\n{}\n",
        start.name(),
        fitted.cost.0,
        fitted.cost.1,
        table.trim_fmt()
    )
}
