//! Real proxies and servers on this machine.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Real proxies in front of the `local` provider's servers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Which of them, if any.
    pub router: RouterChoice,
    /// The agentgateway program.
    pub agentgateway: Option<PathBuf>,
    /// The Envoy program.
    pub envoy: Option<PathBuf>,
    /// The picker's program.
    pub picker: Option<PathBuf>,
    /// The port that the proxy listens on.
    pub port: Option<u16>,
}

/// What stands in front of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouterChoice {
    /// The embedded router.
    Embedded,
    /// Each treatment's real proxy.
    Real,
    /// The real proxies where all of them are found, else the embedded router.
    Auto,
}

/// Servers that run already.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// Their addresses, `http://host:port`; empty for the testbed's own.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Their model's tokenizer: a folder, or `words`.
    pub tokenizer: Option<PathBuf>,
}

/// How prompts of a given length are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer<'a> {
    /// The testbed's, whose tokens are words.
    Words,
    /// A folder of the user's.
    Folder(&'a Path),
}

impl Backend {
    /// The name that stands for the tokenizer whose tokens are words.
    pub const WORDS: &str = "words";

    /// The tokenizer to use; `None` when servers of the user's are measured and none was named.
    pub fn tokenizer(&self) -> Option<Tokenizer<'_>> {
        match &self.tokenizer {
            Some(path) if path == Path::new(Self::WORDS) => Some(Tokenizer::Words),
            Some(path) => Some(Tokenizer::Folder(path)),
            None => self.urls.is_empty().then_some(Tokenizer::Words),
        }
    }
}
