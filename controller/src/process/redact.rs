//! Keeps secrets out of logs, journals, command lines and evidence.
//!
//! Two nets: the values this process knows to be secret, and the shapes that secrets have. A value that was replaced by
//! mistake costs a reader a moment; a value that was kept costs its owner an account, so shapes are matched generously.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex_lite::{Captures, Regex};
use secrecy::{ExposeSecret, SecretString};

/// What stands where a secret was.
pub const REDACTED: &str = "<redacted>";

/// Shorter values are not searched for: they would match everywhere and protect nothing.
const SHORTEST: usize = 4;

/// Replaces known secrets and everything that looks like one. Clones share the known values.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    known: Arc<RwLock<Vec<SecretString>>>,
}

struct Shapes {
    tokens: Regex,
    bearer: Regex,
    authorization: Regex,
    userinfo: Regex,
    assignment: Regex,
    flag: Regex,
    private_key: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("a constant pattern, compiled by every test");
    Shapes {
        // Hugging Face, OpenAI and its imitators, GitHub, Google OAuth and API keys, AWS, JSON web tokens.
        tokens: regex(concat!(
            r"\bhf_[A-Za-z0-9]{6,}|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
            r"|\bya29\.[A-Za-z0-9_-]{10,}|\bAIza[A-Za-z0-9_-]{30,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
            r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        )),
        bearer: regex(r#"(?i)\b(bearer\s+)[^\s"',;]{6,}"#),
        authorization: regex(r#"(?i)((?:proxy-)?authorization["']?\s*[:=]\s*["']?)[^"'\r\n]+"#),
        userinfo: regex(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/\s@]+)@"),
        assignment: regex(concat!(
            r#"(?i)(\b[a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|secret[_-]?key|client-key-data|token|secret|password|passwd)"#,
            // A value stands on the line of its key: `time_to_first_token:` with a table below it is no assignment.
            r#"["']?[ \t]*[:=][ \t]*)("[^"\r\n]*"|'[^'\r\n]*'|[^\s"',;}\]]+)"#,
        )),
        flag: regex(r#"(?i)(^|\s)(--?[a-z0-9-]*(?:api-key|access-key|token|secret|password)\s+)([^\s-]\S*)"#),
        private_key: regex(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"),
    }
});

impl Redactor {
    /// A redactor that knows the shapes of secrets and no values yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value that must never be shown. Each line of a longer text counts on its own.
    pub fn add(&self, secret: &SecretString) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for line in secret.expose_secret().lines().map(str::trim).filter(|line| line.len() >= SHORTEST) {
            if !known.iter().any(|value| value.expose_secret() == line) {
                known.push(SecretString::from(line));
            }
        }
        // A secret may contain another one; the longer one goes first so that no rest of it stays.
        known.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
    }

    /// Adds the value of each environment variable whose name says that it is secret (`…_TOKEN`, `…_KEY`, `…PASSWORD…`).
    pub fn add_environment(&self, environment: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in environment {
            let name = name.to_ascii_uppercase();
            let secret = ["TOKEN", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL"].iter().any(|word| name.contains(word))
                || name.ends_with("_KEY");
            // A path or a switch is not a secret, whatever its variable is called.
            if secret && value.len() >= 8 && !value.starts_with('/') {
                self.add(&SecretString::from(value));
            }
        }
    }

    /// The text without its secrets; borrowed when there was none.
    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.known.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text.contains(secret.expose_secret()) {
                text = Cow::Owned(text.replace(secret.expose_secret(), REDACTED));
            }
        }
        if !may_hold_secret(&text) {
            return text;
        }
        let redacted = redact_shapes(&text);
        if redacted == *text { text } else { Cow::Owned(redacted) }
    }

    /// Arguments without their secrets: `--token VALUE` as well as `--token=VALUE`.
    pub fn redact_arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut previous = "";
        let mut redacted = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let flagged = SHAPES.flag.is_match(&format!("{previous} x")) && !argument.starts_with('-');
            redacted.push(if flagged { REDACTED.to_owned() } else { self.redact(argument).into_owned() });
            previous = argument;
        }
        redacted
    }
}

/// A cheap question asked of every line before the expensive ones: most lines hold none of these.
fn may_hold_secret(text: &str) -> bool {
    const HINTS: [&str; 14] = [
        "hf_",
        "sk-",
        "gh",
        "ya29.",
        "AIza",
        "AKIA",
        "ASIA",
        "eyJ",
        "://",
        "earer",
        "uthorization",
        "PRIVATE KEY",
        "oken",
        "asswd",
    ];
    HINTS.iter().any(|hint| text.contains(hint)) || {
        let lower = text.to_ascii_lowercase();
        ["key", "secret", "password", "token", "bearer", "authorization", "passwd"]
            .iter()
            .any(|word| lower.contains(word))
    }
}

fn redact_shapes(text: &str) -> String {
    let keep_prefix = |captures: &Captures<'_>| format!("{}{REDACTED}", &captures[1]);
    let text = SHAPES.private_key.replace_all(text, REDACTED);
    let text = SHAPES.userinfo.replace_all(&text, |captures: &Captures<'_>| match &captures[2] {
        "git" => captures[0].to_owned(),
        _ => format!("{}{REDACTED}@", &captures[1]),
    });
    let text = SHAPES.authorization.replace_all(&text, keep_prefix);
    let text = SHAPES.bearer.replace_all(&text, keep_prefix);
    let text = SHAPES.tokens.replace_all(&text, REDACTED);
    let text =
        SHAPES.flag.replace_all(&text, |captures: &Captures<'_>| format!("{}{}{REDACTED}", &captures[1], &captures[2]));
    SHAPES.assignment.replace_all(&text, redact_assignment).into_owned()
}

fn redact_assignment(captures: &Captures<'_>) -> String {
    let value = &captures[2];
    let bare = value.trim_matches(['"', '\'']);
    let harmless = bare.is_empty()
        || bare.parse::<f64>().is_ok()
        || bare.starts_with(REDACTED)
        || is_variable(bare)
        || matches!(bare, "{" | "[" | "|" | "|-" | ">" | ">-")
        || matches!(bare.to_ascii_lowercase().as_str(), "null" | "none" | "~" | "true" | "false");
    if harmless {
        return captures[0].to_owned();
    }
    let quote = if value.starts_with(['"', '\'']) { &value[..1] } else { "" };
    format!("{}{quote}{REDACTED}{quote}", &captures[1])
}

/// `$NAME` or `${NAME}`: says where the secret is, not what it is.
fn is_variable(value: &str) -> bool {
    let name =
        value.strip_prefix('$').map(|name| name.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(name));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|it| it == '_' || it.is_ascii_uppercase() || it.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str) -> String {
        Redactor::new().redact(text).into_owned()
    }

    #[test]
    fn everything_that_looks_like_a_secret_is_replaced() {
        for (text, expected) in [
            ("token is hf_AbCdEf0123456789 here", "token is <redacted> here"),
            ("curl -H 'Authorization: Bearer abc.def-123'", "curl -H 'Authorization: <redacted>'"),
            ("got Bearer abcdefgh12", "got Bearer <redacted>"),
            ("https://user:pa55@proxy.example:3128/x", "https://<redacted>@proxy.example:3128/x"),
            ("https://sometoken@host/simple", "https://<redacted>@host/simple"),
            (r#"{"api_key": "s3cr3t", "n": 1}"#, r#"{"api_key": "<redacted>", "n": 1}"#),
            ("OPENAI_API_KEY=abc HF_TOKEN=xyz12", "OPENAI_API_KEY=<redacted> HF_TOKEN=<redacted>"),
            ("x-api-key: plain", "x-api-key: <redacted>"),
            ("helm --token abc123 list", "helm --token <redacted> list"),
            ("    client-key-data: LS0tLS1CRUdJTg==", "    client-key-data: <redacted>"),
            ("jwt eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", "jwt <redacted>"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<redacted>"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn what_only_sounds_like_a_secret_stays() {
        for text in [
            "tokens: 1200",
            "output_tokens_per_second: 2447.5",
            "time_to_first_token:\n  units: s\n  mean: 0.05",
            "git fetch ssh://git@github.com/llm-d/llm-d-benchmark",
            "tokenizer.token: null",
            "http://127.0.0.1:8000/v1/completions",
            "token_count=64",
            "password: \"\"",
            "HF_TOKEN=$HF_TOKEN",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn known_values_are_replaced_wherever_they_stand_and_longest_first() {
        let redactor = Redactor::new();
        redactor.add(&SecretString::from("inner"));
        redactor.add(&SecretString::from("the-inner-value"));
        assert_eq!(redactor.redact("a the-inner-value b inner"), "a <redacted> b <redacted>");
    }

    #[test]
    fn each_line_of_a_known_secret_is_a_secret() {
        let redactor = Redactor::new();
        redactor.add(&SecretString::from("first line\n  second line\nx"));
        assert_eq!(redactor.redact("x: second line"), "x: <redacted>");
    }

    #[test]
    fn variables_with_telling_names_are_known_secrets_but_paths_are_not() {
        let redactor = Redactor::new();
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        redactor.add_environment([
            variable("MY_TOKEN", "opaque-value"),
            variable("SSH_KEY", "/home/someone/.ssh/id"),
            variable("PATH", "/usr/bin:/bin"),
        ]);
        assert_eq!(
            redactor.redact("opaque-value /home/someone/.ssh/id /usr/bin:/bin"),
            "<redacted> /home/someone/.ssh/id /usr/bin:/bin"
        );
    }

    #[test]
    fn the_argument_after_a_telling_flag_is_replaced() {
        let arguments =
            ["login", "--password", "open sesame", "--token=abc", "--secret", "--verbose"].map(str::to_owned);
        assert_eq!(
            Redactor::new().redact_arguments(&arguments),
            ["login", "--password", REDACTED, "--token=<redacted>", "--secret", "--verbose"]
        );
    }
}
