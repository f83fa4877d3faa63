//! Real proxies on this machine: where they are, and which version they are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::{Failure, Kind, Result};
use crate::process::{Command, Session};
use crate::settings::{RouterChoice, Settings, Treatment};

/// How long a proxy may take to tell its version.
const ANSWER: Duration = Duration::from_secs(10);

/// The proxies that the local provider can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    /// agentgateway.
    Agentgateway,
    /// Envoy.
    Envoy,
}

impl Product {
    /// Its name, which is its program's too.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Agentgateway => "agentgateway",
            Self::Envoy => "envoy",
        }
    }

    /// The product that a treatment is about; `None` for those without a proxy.
    pub(super) fn of(treatment: &Treatment) -> Option<Self> {
        [Self::Agentgateway, Self::Envoy].into_iter().find(|product| product.name() == treatment.implementation)
    }

    fn given(self, settings: &Settings) -> Option<&Path> {
        match self {
            Self::Agentgateway => settings.proxy.agentgateway.as_deref(),
            Self::Envoy => settings.proxy.envoy.as_deref(),
        }
    }

    /// The version in what `--version` printed; `None` when another program printed it.
    fn version(self, printed: &str) -> Option<String> {
        match self {
            Self::Agentgateway => {
                let told: serde_json::Value = serde_json::from_str(printed.trim()).ok()?;
                told["git_revision"].as_str()?;
                told["version"].as_str().map(str::to_owned)
            }
            // `envoy  version: <revision>/1.40.0/Clean/RELEASE/BoringSSL`
            Self::Envoy => {
                let (program, parts) = printed.trim().split_once("version: ")?;
                program.contains("envoy").then(|| parts.split('/').nth(1).map(str::to_owned))?
            }
        }
    }
}

/// A program that has told its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// What it is.
    pub(super) product: Product,
    /// Its file.
    pub(super) path: PathBuf,
    /// Its version.
    pub(super) version: String,
}

/// What stands in front of the servers in a campaign: the embedded router for all treatments, or real proxies for all
/// that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Proxies {
    found: Vec<Found>,
    /// Why the embedded router is used although real ones were looked for.
    pub(super) missing: Option<String>,
}

impl Proxies {
    /// Looks for what the treatments need. With `auto` the embedded router is used unless every proxy is there: one
    /// campaign never compares a real proxy with an embedded one.
    ///
    /// # Errors
    /// A usage failure when a proxy that was asked for is missing, or when a program that was found cannot be used.
    pub(super) fn look_for(settings: &Settings, treatments: &[Treatment], session: &Session) -> Result<Self> {
        let choice = settings.proxy.router;
        if choice == RouterChoice::Embedded {
            return Ok(Self::default());
        }
        let mut proxies = Self::default();
        for product in treatments.iter().filter_map(Product::of) {
            if proxies.found.iter().any(|found| found.product == product) {
                continue;
            }
            match (find(product, settings)?, choice) {
                (Some(path), _) => proxies.found.push(ask(product, path, session)?),
                (None, RouterChoice::Real) => return Err(missing(product)),
                (None, _) => {
                    let name = product.name();
                    proxies.missing = Some(format!("no `{name}` on PATH: the embedded router stands in for the proxy"));
                }
            }
        }
        if proxies.missing.is_some() {
            proxies.found.clear();
        }
        Ok(proxies)
    }

    /// The real proxy of a treatment.
    pub(super) fn of(&self, treatment: &Treatment) -> Option<&Found> {
        let product = Product::of(treatment)?;
        self.found.iter().find(|found| found.product == product)
    }

    /// All that were found.
    pub(super) fn all(&self) -> &[Found] {
        &self.found
    }
}

/// The program's path: as given, else from PATH.
fn find(product: Product, settings: &Settings) -> Result<Option<PathBuf>> {
    let Some(given) = product.given(settings) else { return Ok(which::which(product.name()).ok()) };
    let path = std::path::absolute(given)?;
    if path.is_file() {
        return Ok(Some(path));
    }
    Err(Failure::usage(format!("{} is not a file", given.display()))
        .hint(format!("give the path of the {} program, or use --router embedded", product.name())))
}

fn missing(product: Product) -> Failure {
    let name = product.name();
    Failure::usage(format!("--router real needs `{name}`, which was not found on PATH")).hint(format!(
        "install its release binary, or name it with --{name} PATH or BENCHMARK_{}; --router embedded needs none",
        name.to_uppercase()
    ))
}

fn ask(product: Product, path: PathBuf, session: &Session) -> Result<Found> {
    let name = product.name();
    let hint = || format!("give another program with --{name} PATH, or use --router embedded");
    let asked = Command::new(format!("{name} --version"), &path).arg("--version").capture(1 << 20).timeout(ANSWER);
    let answer = asked.run(session).map_err(|error| error.failure(Kind::Usage).hint(hint()))?;
    let printed = answer.stdout();
    let version = product.version(&printed).ok_or_else(|| {
        let beginning: String = printed.trim().chars().take(100).collect();
        Failure::usage(format!("{} is not {name}: `--version` printed `{beginning}`", path.display())).hint(hint())
    })?;
    Ok(Found { product, path, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_each_program_prints() {
        let printed = r#"{"version":"v1.4.1","git_revision":"75b4e6c","rust_version":"1.90.0"}"#;
        assert_eq!(Product::Agentgateway.version(printed).unwrap(), "v1.4.1");
        let printed = "\nenvoy  version: 9e5580933739/1.40.0/Clean/RELEASE/BoringSSL\n\n";
        assert_eq!(Product::Envoy.version(printed).unwrap(), "1.40.0");
        for other in ["nginx version: nginx/1.22", "{\"version\": 3}", ""] {
            assert_eq!(Product::Agentgateway.version(other), None, "{other}");
            assert_eq!(Product::Envoy.version(other), None, "{other}");
        }
    }
}
