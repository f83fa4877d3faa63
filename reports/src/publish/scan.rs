//! Looks for what must not leave the machine: credentials, and paths that name machines or people.
//!
//! Findings name file and line and the kind of thing found, never the thing itself. The list errs towards refusing: a
//! publication that is refused costs a minute, a leaked token costs more.

use std::fmt;
use std::path::{Path, PathBuf};

/// How strictly files are looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules<'a> {
    /// Whether paths of machines are refused as well as credentials.
    pub paths: bool,
    /// Further text that may not appear, such as this machine's name and home folder.
    pub private: &'a [String],
}

/// What was found, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The kind of thing.
    pub what: &'static str,
}

/// Files may not be published; the message names every place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal(pub Vec<Finding>);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not published, because it holds what must not leave the machine:")?;
        for Finding { file, line, what } in &self.0 {
            write!(f, "\n  {}:{line}: {what}", file.display())?;
        }
        Ok(())
    }
}

/// A credential that is known by how it begins.
struct Prefixed {
    prefix: &'static str,
    /// Shortest continuation that makes it one.
    length: usize,
    what: &'static str,
}

const PREFIXED: [Prefixed; 15] = [
    Prefixed { prefix: "hf_", length: 20, what: "a Hugging Face token" },
    Prefixed { prefix: "ghp_", length: 20, what: "a GitHub token" },
    Prefixed { prefix: "gho_", length: 20, what: "a GitHub token" },
    Prefixed { prefix: "ghs_", length: 20, what: "a GitHub token" },
    Prefixed { prefix: "ghu_", length: 20, what: "a GitHub token" },
    Prefixed { prefix: "github_pat_", length: 20, what: "a GitHub token" },
    Prefixed { prefix: "glpat-", length: 16, what: "a GitLab token" },
    Prefixed { prefix: "sk-", length: 20, what: "an API key" },
    Prefixed { prefix: "AKIA", length: 16, what: "an AWS key" },
    Prefixed { prefix: "ASIA", length: 16, what: "an AWS key" },
    Prefixed { prefix: "AIza", length: 30, what: "a Google API key" },
    Prefixed { prefix: "ya29.", length: 16, what: "a Google access token" },
    Prefixed { prefix: "xoxb-", length: 16, what: "a Slack token" },
    Prefixed { prefix: "xoxp-", length: 16, what: "a Slack token" },
    Prefixed { prefix: "eyJ", length: 40, what: "a JSON web token" },
];

/// Keys whose values are credentials when they are long enough to be some.
const KEYS: [&str; 12] = [
    "api_key",
    "api-key",
    "apikey",
    "password",
    "passwd",
    "hf_token",
    "access_token",
    "client_secret",
    "secret_key",
    "token",
    "client-key-data",
    "client-certificate-data",
];

/// Shortest value of such a key that counts; shorter ones are counts, names and placeholders.
const SHORTEST_VALUE: usize = 12;

/// Folders that name people or machines.
const FOLDERS: [&str; 9] = [
    "/home/",
    "/root/",
    "/Users/",
    "/tmp/",
    "/var/folders/",
    "/private/var/",
    "/mnt/c/Users/",
    "file:///",
    ":\\Users\\",
];

/// Refuses the files when any of them holds what `rules` forbid.
pub fn refuse<'f>(files: impl IntoIterator<Item = (PathBuf, &'f [u8])>, rules: &Rules<'_>) -> Result<(), Refusal> {
    let findings: Vec<Finding> = files.into_iter().flat_map(|(path, bytes)| find(&path, bytes, rules)).collect();
    if findings.is_empty() { Ok(()) } else { Err(Refusal(findings)) }
}

/// Everything that `rules` forbid in one file, at most one finding a line.
pub fn find(path: &Path, bytes: &[u8], rules: &Rules<'_>) -> Vec<Finding> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter_map(|(index, line)| {
            let what = forbidden(&String::from_utf8_lossy(line), rules)?;
            Some(Finding { file: path.into(), line: index + 1, what })
        })
        .collect()
}

fn forbidden(line: &str, rules: &Rules<'_>) -> Option<&'static str> {
    let prefixed = || PREFIXED.iter().find(|known| has_prefixed(line, known)).map(|known| known.what);
    let private_key = || (line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----")).then_some("a private key");
    let keyed = || has_keyed_value(line).then_some("a value of a key that holds credentials");
    let bearer = || has_authorization(line).then_some("an authorization header");
    let userinfo = || has_userinfo(line).then_some("credentials in an address");
    let folder = || (rules.paths && has_folder(line)).then_some("a path on a machine");
    let private = || {
        let found = rules.private.iter().any(|text| !text.is_empty() && line.contains(text.as_str()));
        found.then_some("the name or a folder of this machine")
    };
    prefixed().or_else(private_key).or_else(bearer).or_else(keyed).or_else(userinfo).or_else(private).or_else(folder)
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Whether the text before `at` ends a word.
fn begins_word(line: &str, at: usize) -> bool {
    !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn has_prefixed(line: &str, known: &Prefixed) -> bool {
    line.match_indices(known.prefix).any(|(at, prefix)| {
        let rest = &line[at + prefix.len()..];
        begins_word(line, at) && rest.chars().take_while(|c| is_token(*c)).count() >= known.length
    })
}

fn has_authorization(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    ["bearer ", "basic "].iter().any(|scheme| {
        lower.match_indices(scheme).any(|(at, _)| {
            let value: String = lower[at + scheme.len()..]
                .chars()
                .take_while(|c| is_token(*c) || matches!(c, '=' | '/' | '+'))
                .collect();
            begins_word(&lower, at) && value.len() >= 16 && value.contains(|c: char| c.is_ascii_digit())
        })
    })
}

/// `password: value`, `"api_key": "value"`, `TOKEN=value`.
fn has_keyed_value(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    KEYS.iter().any(|key| {
        lower.match_indices(key).any(|(at, _)| {
            let rest = lower[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = rest.strip_prefix([':', '=']) else { return false };
            let value = value.trim_start().trim_start_matches(['"', '\'']);
            let value: String = value.chars().take_while(|c| !c.is_whitespace() && !"\"',;}<&)".contains(*c)).collect();
            let placeholder = value.starts_with("redacted") || value.starts_with('$');
            begins_word(&lower, at) && value.len() >= SHORTEST_VALUE && !placeholder
        })
    })
}

/// `https://user:password@host`.
fn has_userinfo(line: &str) -> bool {
    line.match_indices("://").any(|(at, separator)| {
        let rest = &line[at + separator.len()..];
        let authority: &str = rest.split(|c: char| c.is_whitespace() || "/?#\"'<>)".contains(c)).next().unwrap_or("");
        authority
            .split_once('@')
            .is_some_and(|(user, _)| user.contains(':') && !user.to_ascii_lowercase().ends_with("redacted"))
    })
}

fn has_folder(line: &str) -> bool {
    FOLDERS.iter().any(|folder| {
        line.match_indices(folder).any(|(at, _)| {
            // Inside an address or a longer path it is no folder of this machine.
            let before = line[..at].chars().next_back();
            !before
                .is_some_and(|c| c.is_alphanumeric() && !folder.starts_with(':') || matches!(c, '_' | '-' | '.' | '/'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(line: &str) -> Option<&'static str> {
        let private = ["build-host-7".to_owned(), String::new()];
        forbidden(line, &Rules { paths: true, private: &private })
    }

    #[test]
    fn credentials_of_every_known_kind_are_found() {
        let token = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
        for line in [
            format!("HF_TOKEN is hf_{token}"),
            format!("\"ghp_{token}\""),
            format!("github_pat_{token}"),
            format!("key=sk-{token}"),
            "AKIAABCDEFGHIJKLMNOP".to_owned(),
            format!("Authorization: Bearer {token}"),
            "authorization: Basic dXNlcjpwYXNzd29yZDEyMw==".to_owned(),
            "password: correct-horse-battery".to_owned(),
            "  \"api_key\": \"0123456789abcdef\",".to_owned(),
            "TOKEN=0123456789abcdef".to_owned(),
            "client-key-data: LS0tLS1CRUdJTiBSU0E".to_owned(),
            "https://someone:secret@example.org/x".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
            "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl".to_owned(),
            "ran on build-host-7".to_owned(),
        ] {
            assert!(what(&line).is_some(), "{line}");
        }
    }

    #[test]
    fn paths_of_machines_are_found_where_they_are_asked_for() {
        for line in ["path: /home/ada/results", "see `/tmp/run`", "C:\\Users\\ada", "file:///etc/hosts", "=/root/x"] {
            assert_eq!(what(line), Some("a path on a machine"), "{line}");
            assert_eq!(forbidden(line, &Rules::default()), None, "{line}");
        }
    }

    #[test]
    fn what_reports_are_full_of_is_left_alone() {
        for line in [
            "output_tokens_per_second: 16178.123456789",
            "use_server_output_tokens: true",
            "token: null",
            "api_key: REDACTED",
            "token: ${HF_TOKEN}",
            "hf_transfer is off",
            "config_sha256: df9d8e0b527a6f1b88fdeedf6c0d34a5ba7c925ee69834493b3fefa223e46158",
            "https://example.org/tmp/home/root/a@b",
            "image: cr.agentgateway.dev/agentgateway:v1.4.1",
            "the bearer of bad news, and basic arithmetic",
            "results/smoke/home/page",
            "| agentgateway-standalone | 16,178 (+134.1%) |",
            "task-sk-and-other-dashes",
        ] {
            assert_eq!(what(line), None, "{line}");
        }
    }

    #[test]
    fn a_refusal_names_file_and_line_and_keeps_the_secret() {
        let text = b"fine\npassword: correct-horse-battery\nfine\n\xff\xfe hf_a1B2c3D4e5F6g7H8i9J0k1L2\n";
        let refusal = refuse([(PathBuf::from("a/README.md"), text.as_slice())], &Rules::default()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "not published, because it holds what must not leave the machine:\n  a/README.md:2: a value of a key that \
             holds credentials\n  a/README.md:4: a Hugging Face token"
        );
    }
}
