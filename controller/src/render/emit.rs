//! YAML for Python to read.

use serde_yaml::Value;

use super::error::Error;

/// Writes a document that PyYAML reads back as the same values (`yes`, `22:22`, `1_000`, dates and `0755` stay text).
///
/// # Errors
/// When the value holds what YAML cannot, such as a mapping as a key.
pub fn emit(value: &Value) -> Result<String, Error> {
    let mut text = serde_saphyr::to_string(value).map_err(|error| Error::Emit(error.to_string()))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// What a Python script prints for an input; `None` without Python or PyYAML.
#[cfg(test)]
pub(super) fn python(script: &str, input: &str) -> Option<String> {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || error.contains("No module named"), "{error}");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that one YAML version or another takes for something else.
    const TRICKY: &[&str] = &[
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "true",
        "null",
        "~",
        "",
        " ",
        "22:22",
        "190:20:30",
        "1_000",
        "0755",
        "0o17",
        "0x1F",
        "1e3",
        "1.",
        ".5",
        "+1",
        "-.inf",
        ".nan",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "=",
        "<<",
        "- a",
        "a: b",
        "a #b",
        "#a",
        "'",
        "\"",
        "\\",
        "a\nb",
        "a\n",
        "\ta",
        "é",
        "{}",
        "[a]",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "?",
        ":",
        "-",
        "---",
        "...",
        "1:2:3",
        "012",
        "8Gi",
        "16",
        "1.0",
        "\u{85}",
        "\u{2028}",
        "\u{7f}",
        "a\r\nb",
        "cr.agentgateway.dev/agentgateway:v1.4.1",
        "export A=1\nexec vllm serve \"$MODEL\" \\\n  --port 8000\n",
    ];

    #[test]
    fn tricky_text_is_the_same_in_our_own_reader() {
        let value = document();
        assert_eq!(serde_yaml::from_str::<Value>(&emit(&value).unwrap()).unwrap(), value);
    }

    #[test]
    fn tricky_text_is_the_same_in_pyyaml() {
        let value = document();
        let script = "import json, sys, yaml\nprint(json.dumps(yaml.safe_load(sys.stdin.buffer.read())))";
        let Some(printed) = python(script, &emit(&value).unwrap()) else {
            eprintln!("SKIPPED: no python3 with PyYAML on PATH");
            return;
        };
        let back: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(back, serde_json::to_value(&value).unwrap());
    }

    fn document() -> Value {
        let mut document = serde_yaml::Mapping::new();
        document.insert("list".into(), TRICKY.iter().map(|text| Value::from(*text)).collect::<Vec<_>>().into());
        for text in TRICKY.iter().filter(|text| !text.contains('\n')) {
            document.insert(format!("key {text}").into(), Value::from(*text));
        }
        document.insert("numbers".into(), vec![Value::from(1), Value::from(5.625), Value::from(-3)].into());
        document.insert("empty".into(), Value::Mapping(serde_yaml::Mapping::new()));
        Value::Mapping(document)
    }
}
