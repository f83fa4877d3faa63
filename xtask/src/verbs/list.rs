//! `profiles`, `treatments`, `scenarios`: what can be chosen, from the files of `config/`.

use std::io::Write;

use comfy_table::{ContentArrangement, Table};
use controller::failure::Failure;
use controller::settings::{ConfigTree, Treatment};
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;

/// Flags of the listing verbs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Lists profiles: what `--profile` accepts.
pub fn profiles(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let profiles = ConfigTree::open(&context.root).profiles().map_err(Failure::from)?;
    if args.json {
        return print_json(&json!(profiles));
    }
    print_table(
        &["PROFILE", "DESCRIPTION", "FILE"],
        profiles.into_iter().map(|profile| [profile.name, profile.summary, profile.path.display().to_string()]),
    )
}

/// Lists treatments: what `--treatment` accepts.
pub fn treatments(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let treatments = ConfigTree::open(&context.root).treatments().map_err(Failure::from)?;
    if args.json {
        return print_json(&json!(treatments));
    }
    let row = |treatment: Treatment| {
        let path = treatment.request_path.join(" -> ");
        [treatment.name, treatment.display_name, path, treatment.providers.join(", ")]
    };
    print_table(&["TREATMENT", "NAME", "REQUEST PATH", "PROVIDERS"], treatments.into_iter().map(row))
}

/// Lists scenarios: what the setting `scenario` accepts.
pub fn scenarios(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let scenarios = ConfigTree::open(&context.root).listed("scenarios", "summary").map_err(Failure::from)?;
    if args.json {
        return print_json(&json!(scenarios));
    }
    print_table(
        &["SCENARIO", "SUMMARY", "FILE"],
        scenarios.into_iter().map(|scenario| [scenario.name, scenario.summary, scenario.path.display().to_string()]),
    )
}

fn print_json(value: &serde_json::Value) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(Exit::Success)
}

fn print_table<const N: usize>(
    header: &[&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> anyhow::Result<Exit> {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    writeln!(std::io::stdout().lock(), "{}", table.trim_fmt())?;
    Ok(Exit::Success)
}
