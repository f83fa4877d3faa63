//! The flags with which `benchmark` and `plan` choose what to measure.

use std::path::PathBuf;

use controller::settings::{ConfigTree, Environment, Request, Resolved, resolve};

use crate::context::Context;

/// What to measure, where, and with which settings.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Selection {
    /// Profile to start from; `profiles` lists them [default: quick]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Campaign id; generated from profile and date when absent
    #[arg(long, value_name = "ID")]
    pub campaign: Option<String>,
    /// Treatment to measure, may be repeated; `treatments` lists them
    #[arg(long = "treatment", value_name = "NAME")]
    pub treatments: Vec<String>,
    /// How often each treatment is measured
    #[arg(long, value_name = "N")]
    pub repetitions: Option<String>,
    /// Where treatments run: local, kind, kube, gke
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Folder that holds campaigns [default: results]
    #[arg(long, value_name = "DIR")]
    pub results_dir: Option<PathBuf>,
    /// Continue the campaign at its first unfinished repetition
    #[arg(long)]
    pub resume: bool,
    /// Leave the deployment of the last treatment in place
    #[arg(long)]
    pub keep: bool,
    /// Python interpreter for the harness's private environment
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// A checkout of llm-d-benchmark to use as it is
    #[arg(long, value_name = "DIR")]
    pub llm_d_benchmark_dir: Option<PathBuf>,
    /// Any setting of docs/settings.md, may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl Selection {
    /// The settings that follow from these flags, the environment and `config/`.
    pub fn resolve(&self, context: &Context) -> controller::failure::Result<Resolved> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let treatments = (!self.treatments.is_empty()).then(|| self.treatments.join(","));
        let request = Request::new(Environment::of_process())
            .profile(self.profile.clone())
            .flag("campaign", self.campaign.as_ref(), "--campaign")
            .flag("treatments", treatments, "--treatment")
            .flag("repetitions", self.repetitions.as_ref(), "--repetitions")
            .flag("provider", self.provider.as_ref(), "--provider")
            .flag("results_dir", path(&self.results_dir), "--results-dir")
            .flag("resume", self.resume.then_some(true), "--resume")
            .flag("keep", self.keep.then_some(true), "--keep")
            .flag("harness.python", path(&self.python), "--python")
            .flag("upstream.dir", path(&self.llm_d_benchmark_dir), "--llm-d-benchmark-dir")
            .sets(self.sets.iter().cloned());
        Ok(resolve(&ConfigTree::open(&context.root), &request)?)
    }
}
