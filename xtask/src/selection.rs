//! The flags with which `benchmark` and `plan` choose what to measure.

use std::path::PathBuf;

use controller::process::Redactor;
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
    /// What stands in front of local servers: embedded, real, or auto (real proxies where all are found) [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub router: Option<String>,
    /// The agentgateway program for `--router real`; searched on PATH when absent
    #[arg(long, value_name = "PATH")]
    pub agentgateway: Option<PathBuf>,
    /// The Envoy program for `--router real`; searched on PATH when absent
    #[arg(long, value_name = "PATH")]
    pub envoy: Option<PathBuf>,
    /// An OpenAI-compatible server that runs already, to measure in front of; may be repeated
    #[arg(long = "backend", value_name = "URL")]
    pub backends: Vec<String>,
    /// Folder of the tokenizer of the backends' model, or `words`
    #[arg(long, value_name = "DIR")]
    pub tokenizer: Option<PathBuf>,
    /// A checkout of llm-d-benchmark to use as it is
    #[arg(long, value_name = "DIR")]
    pub llm_d_benchmark_dir: Option<PathBuf>,
    /// Any setting of docs/settings.md, may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

/// A flag as it was given.
struct Given {
    /// The setting that it sets.
    key: &'static str,
    flag: &'static str,
    /// As typed, once for each time; `None` for a switch.
    values: Option<Vec<String>>,
}

impl Selection {
    /// The settings that follow from these flags, the environment and `config/`.
    pub fn resolve(&self, context: &Context) -> controller::failure::Result<Resolved> {
        let mut request = Request::new(Environment::of_process()).profile(self.profile.clone());
        for given in self.given() {
            let value = given.values.map_or_else(|| "true".to_owned(), |values| values.join(","));
            request = request.flag(given.key, value, given.flag);
        }
        Ok(resolve(&ConfigTree::open(&context.root), &request.sets(self.sets.iter().cloned()))?)
    }

    /// The command line that makes the same choice for `verb` again, as it is pasted into a shell: under `campaign` and
    /// resumed, or without it under a new id. It may be shown and recorded: what was typed as a secret is left out.
    pub fn command(&self, verb: &str, profile: &str, campaign: Option<&str>) -> String {
        let mut words: Vec<String> = ["cargo", "xtask"].map(str::to_owned).to_vec();
        words.extend(verb.split(' ').chain(["--profile", profile]).map(str::to_owned));
        for given in self.given().into_iter().filter(|given| !matches!(given.key, "campaign" | "resume")) {
            match given.values {
                None => words.push(given.flag.to_owned()),
                Some(values) => words.extend(values.into_iter().flat_map(|value| [given.flag.to_owned(), value])),
            }
        }
        words.extend(self.sets.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
        if let Some(campaign) = campaign {
            words.extend(["--campaign", campaign, "--resume"].map(str::to_owned));
        }
        Redactor::new().redact_arguments(&words).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Every flag that was given, in the order of the help text; the one list of which flag sets what.
    fn given(&self) -> Vec<Given> {
        let text = |key, flag, value: Option<String>| value.map(|it| Given { key, flag, values: Some(vec![it]) });
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let switch = |key, flag, on: bool| on.then_some(Given { key, flag, values: None });
        let treatments = (!self.treatments.is_empty()).then(|| self.treatments.clone());
        let backends = (!self.backends.is_empty()).then(|| self.backends.clone());
        let given = [
            text("campaign", "--campaign", self.campaign.clone()),
            treatments.map(|values| Given { key: "treatments", flag: "--treatment", values: Some(values) }),
            text("repetitions", "--repetitions", self.repetitions.clone()),
            text("provider", "--provider", self.provider.clone()),
            text("results_dir", "--results-dir", path(&self.results_dir)),
            switch("resume", "--resume", self.resume),
            switch("keep", "--keep", self.keep),
            text("harness.python", "--python", path(&self.python)),
            text("proxy.router", "--router", self.router.clone()),
            text("proxy.agentgateway", "--agentgateway", path(&self.agentgateway)),
            text("proxy.envoy", "--envoy", path(&self.envoy)),
            backends.map(|values| Given { key: "backend.urls", flag: "--backend", values: Some(values) }),
            text("backend.tokenizer", "--tokenizer", path(&self.tokenizer)),
            text("upstream.dir", "--llm-d-benchmark-dir", path(&self.llm_d_benchmark_dir)),
        ];
        given.into_iter().flatten().collect()
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    if word.contains(|c: char| !(c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c))) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        selection: Selection,
    }

    const TYPED: [&str; 17] = [
        "--treatment",
        "service",
        "--treatment",
        "envoy-standalone",
        "--repetitions",
        "3",
        "--provider",
        "kube",
        "--results-dir",
        "my results",
        "--keep",
        "--python",
        "/opt/python",
        "--llm-d-benchmark-dir",
        "b",
        "--set",
        "cluster.context=it's",
    ];

    #[test]
    fn the_command_that_repeats_a_choice_has_every_flag_that_was_typed() {
        let line = Line::parse_from(["xtask"].into_iter().chain(TYPED).chain(["--campaign", "a"]));
        assert_eq!(
            line.selection.command("benchmark", "quick", None),
            "cargo xtask benchmark --profile quick --treatment service --treatment envoy-standalone --repetitions 3 \
             --provider kube --results-dir 'my results' --keep --python /opt/python --llm-d-benchmark-dir b \
             --set 'cluster.context=it'\\''s'"
        );
    }

    #[test]
    fn the_command_that_continues_a_campaign_names_it_once() {
        let line = Line::parse_from(["xtask", "--campaign", "a", "--resume"]);
        let command = line.selection.command("benchmark", "smoke", Some("a"));
        assert_eq!(command, "cargo xtask benchmark --profile smoke --campaign a --resume");
    }
}
