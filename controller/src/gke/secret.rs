//! The Hugging Face token as a Secret: an existing one, or made from the environment through standard input.

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::site::Site;
use crate::failure::{Failure, Result};
use crate::render::MANAGED_BY;
use crate::settings::Settings;

/// The key under which llm-d-benchmark looks for the token.
const KEY: &str = "HF_TOKEN";

/// Sees to it that the source secret is there.
///
/// # Errors
/// A usage failure when there is neither a secret nor a token to make one of.
pub fn ensure(site: &Site, settings: &Settings) -> Result<()> {
    let (namespace, name) = (&settings.cluster.secret_namespace, &settings.cluster.hf_secret);
    let here = format!("--namespace={namespace}");
    let existing = site.kubectl()?.find(&["secret", name, &here])?;
    match (&settings.secrets.hf_token, existing) {
        (Some(token), _) => put(site, namespace, name, token),
        (None, Some(_)) => Ok(()),
        // Simulated servers download nothing.
        (None, None) if settings.cluster.accelerator.kind == "sim" => Ok(()),
        (None, None) => {
            Err(Failure::usage(format!("there is no secret {name} in namespace {namespace}, and no HF_TOKEN"))
                .hint("export HF_TOKEN: it is handed to kubectl on standard input and kept nowhere else"))
        }
    }
}

fn put(site: &Site, namespace: &str, name: &str, token: &SecretString) -> Result<()> {
    let kubectl = site.kubectl()?;
    let labels = json!({"app.kubernetes.io/managed-by": MANAGED_BY});
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}});
    kubectl.apply("secret namespace", &home)?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "stringData": {KEY: token.expose_secret()},
    });
    kubectl.apply("hf secret", &secret)?;
    Ok(())
}
