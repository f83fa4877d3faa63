//! The command line's types: global flags and the list of verbs.

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::context::Context;
use crate::exit::Exit;
use crate::verbs;

/// Measures what an inference gateway costs and what it brings, again and again.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, propagate_version = true, after_help = crate::exit::TABLE)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

/// Flags that every verb understands.
#[derive(Args, Debug)]
pub struct Global {
    /// When to colour the output; NO_COLOR and TERM=dumb turn `auto` off
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// One variant a verb; its file in `verbs/` holds its flags and its output.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Check this machine: every problem at once, each with its fix
    Doctor(verbs::doctor::Args),
    /// Manage the pinned llm-d-benchmark checkout
    Upstream(verbs::upstream::Args),
    /// Render a cluster campaign and print its commands without touching a cluster
    Plan(verbs::plan::Args),
    /// Compute in virtual time what a campaign will show, how long it takes and how many repetitions it needs
    Forecast(verbs::forecast::Args),
    /// Run a campaign: every treatment, the real harness, a comparison report
    Benchmark(verbs::benchmark::Args),
    /// Google Kubernetes Engine: provision, take and give back GPU nodes, clean up, whole campaigns
    Gke(verbs::gke::Args),
    /// List the profiles that `--profile` accepts
    Profiles(verbs::list::Args),
    /// List the treatments that `--treatment` accepts
    Treatments(verbs::list::Args),
    /// List the scenarios that a cluster treatment may start from
    Scenarios(verbs::list::Args),
    /// Recompute a campaign's numbers from its per-request records and compare them with the stored documents
    Audit(verbs::audit::Args),
    /// Write a campaign's numbers in the formats of other tools
    Export(verbs::export::Args),
    /// Remove what interrupted and failed runs left behind
    Clean(verbs::clean::Args),
    /// Format, lint, test, and run a smoke campaign
    Ci(verbs::ci::Args),
    /// Hold a campaign against the stored baseline, or test the gate itself
    Gate(verbs::gate::Args),
    /// Propose, promote and look after the baselines that campaigns are held against
    Baseline(verbs::baseline::Args),
    /// Write a campaign's report: Markdown, HTML, charts, tables
    Report(verbs::report::Args),
    /// Print a shell completion script
    Completions(verbs::completions::Args),
    /// Run the embedded model servers and routers
    #[command(hide = true)]
    Testbed(verbs::testbed::Args),
}

impl Verb {
    /// Carries the verb out.
    pub fn run(self, context: &Context) -> anyhow::Result<Exit> {
        match self {
            Self::Doctor(args) => verbs::doctor::run(args, context),
            Self::Upstream(args) => verbs::upstream::run(args, context),
            Self::Plan(args) => verbs::plan::run(args, context),
            Self::Benchmark(args) => verbs::benchmark::run(args, context),
            Self::Forecast(args) => verbs::forecast::run(args, context),
            Self::Gke(args) => verbs::gke::run(args, context),
            Self::Profiles(args) => verbs::list::profiles(args, context),
            Self::Treatments(args) => verbs::list::treatments(args, context),
            Self::Scenarios(args) => verbs::list::scenarios(args, context),
            Self::Audit(args) => verbs::audit::run(args, context),
            Self::Export(args) => verbs::export::run(args, context),
            Self::Clean(args) => verbs::clean::run(args, context),
            Self::Ci(args) => verbs::ci::run(args, context),
            Self::Gate(args) => verbs::gate::run(args, context),
            Self::Baseline(args) => verbs::baseline::run(args, context),
            Self::Report(args) => verbs::report::run(args, context),
            Self::Completions(args) => verbs::completions::run(args, context),
            Self::Testbed(args) => verbs::testbed::run(args, context),
        }
    }
}
