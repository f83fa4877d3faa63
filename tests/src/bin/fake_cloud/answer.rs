//! What a call comes to.

use serde_json::Value;

/// Output and exit code.
#[derive(Debug, Default)]
pub struct Answer {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Answer {
    /// Success without output.
    pub fn done() -> Self {
        Self::default()
    }

    /// Success with this line.
    pub fn text(text: impl Into<String>) -> Self {
        Self { stdout: format!("{}\n", text.into()).into_bytes(), ..Self::default() }
    }

    /// Success with this document.
    pub fn json(value: &Value) -> Self {
        Self::text(format!("{value:#}"))
    }

    /// Failure with this complaint.
    pub fn failed(code: i32, complaint: impl Into<String>) -> Self {
        Self { code, stderr: format!("{}\n", complaint.into()), ..Self::default() }
    }
}
