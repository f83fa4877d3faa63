//! Programs that cluster providers call: asked for their version, and for what they need besides.

use std::time::Duration;

use super::{Finding, Subject};
use crate::process::{Command, Error, Inherit};
use crate::settings::Place;
use crate::upstream::{self, Spec, State};

/// A program that must answer.
struct Tool {
    name: &'static str,
    version: &'static [&'static str],
    fix: &'static str,
}

const KUBECTL: Tool = Tool {
    name: "kubectl",
    version: &["version", "--client"],
    fix: "install kubectl: https://kubernetes.io/docs/tasks/tools",
};
const HELM: Tool =
    Tool { name: "helm", version: &["version", "--short"], fix: "install Helm: https://helm.sh/docs/intro/install" };
const HELMFILE: Tool =
    Tool { name: "helmfile", version: &["--version"], fix: "install helmfile: https://helmfile.readthedocs.io" };
const SKOPEO: Tool = Tool {
    name: "skopeo",
    version: &["--version"],
    fix: "install skopeo: https://github.com/containers/skopeo/blob/main/install.md",
};
const KIND: Tool = Tool { name: "kind", version: &["version"], fix: "install kind: https://kind.sigs.k8s.io" };
const GCLOUD: Tool =
    Tool { name: "gcloud", version: &["--version"], fix: "install the Google Cloud CLI: https://cloud.google.com/sdk" };
const GKE_PLUGIN: Tool = Tool {
    name: "gke-gcloud-auth-plugin",
    version: &["--version"],
    fix: "gcloud components install gke-gcloud-auth-plugin",
};

/// git, and the checkout that it would fetch.
pub(super) fn git(subject: &Subject<'_>) -> Vec<Finding> {
    const GIT: Tool = Tool { name: "git", version: &["--version"], fix: "install git with your package manager" };
    let git = ask(subject, &GIT);
    let spec = Spec::of(subject.settings, subject.upstream_cache.clone());
    let checkout = match upstream::status(&spec) {
        Ok(status) => match status.state {
            State::Ready => Finding::good("llm-d-benchmark", format!("{} is ready", status.folder.display())),
            State::Missing | State::Outdated | State::WrongRemote | State::Incomplete => {
                Finding::good("llm-d-benchmark", format!("{} will be fetched from {}", status.revision, status.url))
            }
            State::Foreign => {
                Finding::failed("llm-d-benchmark", &upstream::Error::Foreign { folder: status.folder }.into())
            }
            State::Modified => Finding::failed(
                "llm-d-benchmark",
                &upstream::Error::Dirty { folder: status.folder, files: status.modified }.into(),
            ),
        },
        Err(error) => Finding::failed("llm-d-benchmark", &error.into()),
    };
    vec![git, checkout]
}

/// What the provider's place needs.
pub(super) fn cluster(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        [&KUBECTL, &HELM, &HELMFILE, &SKOPEO].into_iter().map(|tool| ask(subject, tool)).collect();
    findings.push(helm_diff(subject));
    match subject.place {
        Place::Kind => {
            findings.push(ask(subject, &KIND));
            findings.push(containers(subject));
        }
        Place::Gke => findings.extend([&GCLOUD, &GKE_PLUGIN].into_iter().map(|tool| ask(subject, tool))),
        _ => {}
    }
    findings
}

fn command(subject: &Subject<'_>, program: &str, arguments: &[&str]) -> Command {
    let command = Command::new(format!("check {program}"), program)
        .args(arguments)
        .inherit(Inherit::Everything)
        .timeout(Duration::from_secs(30))
        .capture(1 << 20);
    match &subject.path {
        Some(path) => command.env("PATH", path),
        None => command,
    }
}

fn ask(subject: &Subject<'_>, tool: &Tool) -> Finding {
    match command(subject, tool.name, tool.version).run(subject.session) {
        Ok(answer) => match answer.stdout().lines().next().map(str::trim) {
            Some(version) if !version.is_empty() => Finding::good(tool.name, version),
            _ => Finding::problem(tool.name, "it answers nothing when it is asked for its version", tool.fix),
        },
        Err(error) => unusable(tool.name, &error, tool.fix),
    }
}

fn unusable(name: &str, error: &Error, fix: &str) -> Finding {
    let said = error.stderr_tail().lines().next().map(|line| format!(": {line}")).unwrap_or_default();
    Finding::problem(name, format!("{}{said}", error.reason()), fix)
}

/// helmfile compares with helm-diff, a plugin of Helm.
fn helm_diff(subject: &Subject<'_>) -> Finding {
    let wanted = &subject.settings.pins.helm_diff;
    let fix = format!("helm plugin install https://github.com/databus23/helm-diff --version {wanted}");
    match command(subject, "helm", &["plugin", "list"]).run(subject.session) {
        Ok(answer) => match answer.stdout().lines().find(|line| line.split_whitespace().next() == Some("diff")) {
            Some(line) => {
                let version = line.split_whitespace().nth(1).unwrap_or("of unknown version");
                let helm = command(subject, "helm", &["version", "--short"]).run(subject.session);
                let helm = helm.map(|answer| answer.stdout().trim().to_owned()).unwrap_or_default();
                let pinned = parsed(wanted);
                // Helm 4 loads only plugins that were built for it, of which the pinned one is the first that works.
                if major(&helm) == Some(4) && pinned.is_some() && parsed(version) < pinned {
                    let detail = format!("{version} does not work with Helm {helm}; {wanted} and later do");
                    return Finding::problem("helm-diff", detail, format!("helm plugin uninstall diff && {fix}"));
                }
                Finding::good("helm-diff", version)
            }
            None => Finding::problem("helm-diff", "Helm does not have the plugin", fix),
        },
        Err(error) => unusable("helm-diff", &error, &fix),
    }
}

fn major(version: &str) -> Option<u32> {
    parsed(version).map(|(major, _, _)| major)
}

/// `v3.15.11+g12500dd` as numbers.
fn parsed(version: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split(['.', '+', '-']).map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?, numbers.next()?))
}

/// kind needs a container engine that answers, not only its program.
fn containers(subject: &Subject<'_>) -> Finding {
    const FIX: &str = "start Docker or Podman, and make sure that this user may use it";
    let engines = ["docker", "podman"].map(|engine| (engine, command(subject, engine, &["info"]).run(subject.session)));
    if let Some((engine, _)) = engines.iter().find(|(_, answer)| answer.is_ok()) {
        return Finding::good("containers", format!("{engine} answers"));
    }
    match engines.into_iter().find_map(|(_, answer)| answer.err().filter(|error| !error.is_missing())) {
        Some(error) => unusable("containers", &error, FIX),
        None => Finding::problem("containers", "there is neither docker nor podman", FIX),
    }
}
