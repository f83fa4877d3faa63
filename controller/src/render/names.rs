//! Names that Kubernetes accepts: DNS-1123 labels.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Longest label that Kubernetes accepts.
pub const LONGEST: usize = 63;
/// Hexadecimal digits that keep shortened names apart.
const HASH: usize = 8;

/// A DNS-1123 label made of `parts` joined by dashes: small letters, digits and dashes, at most `longest` characters.
///
/// A name that had to be changed ends in a hash of the original, so that different originals never meet.
pub fn label(parts: &[&str], longest: usize) -> String {
    let original = parts.join("-");
    let mut name = String::with_capacity(original.len());
    for c in original.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_end_matches('-');
    if name == original && name.len() <= longest && !name.is_empty() {
        return name.to_owned();
    }
    let hash = &hex(&Sha256::digest(original.as_bytes()))[..HASH];
    let room = longest.saturating_sub(HASH + 1);
    let kept = name.get(..name.len().min(room)).unwrap_or_default().trim_end_matches('-');
    if kept.is_empty() { format!("n-{hash}") } else { format!("{kept}-{hash}") }
}

/// The namespace of one repetition of one treatment.
pub fn namespace(campaign: &str, treatment: &str, repetition: u32) -> String {
    label(&["bench", campaign, treatment, &repetition.to_string()], LONGEST)
}

/// The parts of an image's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Image {
    /// `cr.agentgateway.dev`; Docker Hub's when the name has none.
    pub registry: String,
    /// `agentgateway`.
    pub repository: String,
    /// `v1.4.1`; empty when only a digest is given.
    pub tag: String,
    /// `sha256:…`; empty when only a tag is given.
    pub digest: String,
}

impl Image {
    /// Takes a name apart.
    pub fn of(name: &str) -> Self {
        let (name, digest) = name.split_once('@').unwrap_or((name, ""));
        // A colon before the last slash belongs to the registry's port.
        let (name, tag) = match name.rsplit_once(':') {
            Some((before, tag)) if !tag.contains('/') => (before, tag),
            _ => (name, if digest.is_empty() { "latest" } else { "" }),
        };
        let (registry, repository) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest.to_owned()),
            Some(_) => ("docker.io", name.to_owned()),
            None => ("docker.io", format!("library/{name}")),
        };
        Self { registry: registry.to_owned(), repository, tag: tag.to_owned(), digest: digest.to_owned() }
    }

    /// Whether two names mean the same image: `docker.io/library/` may be left out, and a digest decides where both
    /// have one.
    pub fn is_same(&self, other: &Self) -> bool {
        let place = self.registry == other.registry && self.repository == other.repository;
        match (self.digest.as_str(), other.digest.as_str()) {
            ("", _) | (_, "") => place && self.tag == other.tag,
            (one, two) => place && one == two,
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_label(name: &str) -> bool {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        name.len() <= LONGEST
            && name.starts_with(allowed)
            && name.ends_with(allowed)
            && name.chars().all(|c| allowed(c) || c == '-')
    }

    #[test]
    fn any_model_name_becomes_a_label() {
        for model in [
            "facebook/opt-125m",
            "Qwen/Qwen3-32B",
            "meta-llama/Llama-4-Scout-17B-16E-Instruct-with-a-name-that-does-not-want-to-end-at-all-v1.0",
            "___",
            "",
            "模型/测试",
            "-a-",
            "a.b.c",
        ] {
            let name = label(&[model], LONGEST);
            assert!(is_label(&name), "{model}: {name}");
            assert!(is_label(&label(&[model], 20)), "{model}");
        }
    }

    #[test]
    fn different_names_never_meet() {
        let names = ["a/b", "a.b", "A-b", "a--b", "a-b"].map(|name| label(&[name], LONGEST));
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{names:?}");
        }
    }

    #[test]
    fn an_image_is_taken_apart_and_compared_by_what_it_means() {
        let image = Image::of("registry.test:5000/a/agentgateway:dev");
        let parts = (image.registry.as_str(), image.repository.as_str(), image.tag.as_str());
        assert_eq!(parts, ("registry.test:5000", "a/agentgateway", "dev"));
        for (one, two, same) in [
            ("docker.io/library/python:3", "python:3", true),
            ("docker.io/vllm/vllm-openai:v1", "vllm/vllm-openai:v1", true),
            ("a.b/c:1", "a.b/c:2", false),
            ("a.b/c:1", "a.b/c:1@sha256:00", true),
            ("a.b/c:1@sha256:11", "a.b/c:2@sha256:11", true),
            ("a.b/c:1@sha256:11", "a.b/c:1@sha256:00", false),
            ("localhost/c", "localhost/c:latest", true),
        ] {
            assert_eq!(Image::of(one).is_same(&Image::of(two)), same, "{one} {two}");
        }
    }

    #[test]
    fn a_name_that_is_a_label_already_stays_as_it_is() {
        assert_eq!(namespace("nightly-1", "service", 2), "bench-nightly-1-service-2");
    }
}
