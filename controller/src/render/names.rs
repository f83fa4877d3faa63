//! Names that Kubernetes accepts: DNS-1123 labels.

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
    fn a_name_that_is_a_label_already_stays_as_it_is() {
        assert_eq!(namespace("nightly-1", "service", 2), "bench-nightly-1-service-2");
    }
}
