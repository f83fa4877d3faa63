//! The Hugging Face token that a cluster keeps in a Secret.

use base64::Engine;
use secrecy::SecretString;

use crate::cluster::{Kubectl, object};
use crate::failure::{Failure, Result};
use crate::settings::Cluster;

/// The keys under which such Secrets hold it.
const KEYS: [&str; 3] = ["HF_TOKEN", "token", "hf_token"];

/// The token; `None` when there is no such Secret.
///
/// # Errors
/// When the cluster cannot be asked, or the Secret holds no token.
pub(super) fn from_cluster(kubectl: &Kubectl, settings: &Cluster) -> Result<Option<SecretString>> {
    let (namespace, name) = (&settings.secret_namespace, &settings.hf_secret);
    // What it prints is the token.
    let quiet = kubectl.within(&kubectl.session().without_logs());
    let found = match quiet.find(&["secret", name, &format!("--namespace={namespace}")]) {
        Err(error) if error.is_not_found() => None,
        // Who may not read Secrets may still have one that llm-d-benchmark is told of by other means.
        Err(error) if error.complaint().contains("(Forbidden)") => None,
        other => other?,
    };
    let Some(secret) = found else { return Ok(None) };
    let value = KEYS.iter().map(|key| object::text(&secret, &format!("/data/{key}"))).find(|value| !value.is_empty());
    let wrong = |what: &str| {
        Failure::usage(format!("Secret {name} in namespace {namespace} {what}"))
            .hint(format!("kubectl create secret generic {name} --namespace {namespace} --from-literal=HF_TOKEN=…"))
    };
    let encoded = value.ok_or_else(|| wrong("holds no HF_TOKEN"))?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).map_err(|_| wrong("is not base64"))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not text"))?;
    Ok(Some(SecretString::from(text.trim().to_owned())))
}
