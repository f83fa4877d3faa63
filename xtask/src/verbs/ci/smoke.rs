//! The smoke campaign of `ci`: the README's way, on real programs, and what its result must show.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::context::Context;

/// What the ideal of affinity promises over chance at the top rate, less a margin for a busy machine.
const LEAST_GAIN: f64 = 1.2;

/// Runs the campaign in a folder of its own, and checks its result.
pub fn run(shell: &Shell, context: &Context) -> anyhow::Result<()> {
    let results = context.root.join("target/ci-results");
    shell.remove_path(&results)?;
    let output =
        cmd!(shell, "cargo xtask benchmark --profile smoke --campaign ci-smoke --results-dir {results} --json")
            .read()?;
    let result: Value = serde_json::from_str(&output).context("the campaign's --json result cannot be read")?;
    check(&result, &results)
}

/// Every treatment is there without a failed request, the routed ones beat the plain one at the top rate, and the report
/// exists.
fn check(result: &Value, results: &Path) -> anyhow::Result<()> {
    let treatments = result["treatments"].as_array().context("the result lists no treatments")?;
    ensure!(treatments.len() == 3, "expected 3 treatments, found {}", treatments.len());
    let mut plain = None;
    for treatment in treatments {
        let name = treatment["treatment"].as_str().context("a treatment has no name")?;
        ensure!(treatment["failures"].as_u64() == Some(0), "{name}: failed requests: {}", treatment["failures"]);
        let tokens = treatment["top"]["output_tokens_per_second"].as_f64();
        let tokens = tokens.with_context(|| format!("{name}: no output token rate at the top rate"))?;
        if name == "service" {
            plain = Some(tokens);
            continue;
        }
        let plain = plain.context("the baseline `service` does not come first")?;
        ensure!(
            tokens > plain * LEAST_GAIN,
            "{name}: {tokens:.0} output tokens/s at the top rate against {plain:.0} of `service`"
        );
    }
    let report = results.join("ci-smoke/report/README.md");
    let text = fs_err::read_to_string(report)?;
    ensure!(text.to_lowercase().contains("simulated"), "the report does not say that it is simulated");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(standalone: f64, failures: u64) -> Value {
        let treatment = |name: &str, tokens: f64, failures: u64| json!({"treatment": name, "failures": failures, "top": {"output_tokens_per_second": tokens}});
        json!({"treatments": [
            treatment("service", 1000.0, 0),
            treatment("agentgateway-standalone", standalone, failures),
            treatment("agentgateway-gateway", 2000.0, 0),
        ]})
    }

    fn checked(result: &Value) -> Result<(), String> {
        let results = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(results.path().join("ci-smoke/report")).unwrap();
        fs_err::write(results.path().join("ci-smoke/report/README.md"), "Simulated.").unwrap();
        check(result, results.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_campaign_in_which_routing_helps_passes() {
        assert_eq!(checked(&result(2100.0, 0)), Ok(()));
    }

    #[test]
    fn a_campaign_with_failures_or_without_a_gain_does_not() {
        assert!(checked(&result(2100.0, 3)).unwrap_err().contains("agentgateway-standalone: failed requests: 3"));
        assert!(checked(&result(1100.0, 0)).unwrap_err().contains("1100 output tokens/s"));
        assert!(checked(&json!({"treatments": []})).unwrap_err().contains("found 0"));
    }
}
