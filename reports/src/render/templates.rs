//! The templates of `config/report/`, compiled into the program so that a report needs no file but its evidence.
//!
//! Editing one is enough to change reports: `cargo xtask` rebuilds when they change.

use std::sync::LazyLock;

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::text::{markdown, xml};

/// A template that could not be filled: a fault of the template, not of the evidence.
#[derive(Debug, thiserror::Error)]
#[error("cannot fill the template {name}")]
pub struct Error {
    name: &'static str,
    #[source]
    source: minijinja::Error,
}

const MARKDOWN: &str = "markdown";

static TEMPLATES: LazyLock<Result<Environment<'static>, minijinja::Error>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "md")) => AutoEscape::Custom(MARKDOWN.into()),
        Some((_, "html")) => AutoEscape::Html,
        _ => AutoEscape::None,
    });
    environment.set_formatter(|out, state, value: &Value| {
        if value.kind() != ValueKind::String || value.is_safe() {
            return out.write_str(&value.to_string()).map_err(minijinja::Error::from);
        }
        let text = value.as_str().unwrap_or_default();
        let escaped = match state.auto_escape() {
            AutoEscape::Custom(name) if name == MARKDOWN => markdown(text),
            AutoEscape::Html => xml(text),
            _ => text.to_owned(),
        };
        out.write_str(&escaped).map_err(minijinja::Error::from)
    });
    for (name, source) in SOURCES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
});

const SOURCES: [(&str, &str); 2] = [
    ("page.md", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../config/report/page.md"))),
    ("report.html", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../config/report/report.html"))),
];

/// Fills the template `name`.
pub(super) fn fill(name: &'static str, context: impl Serialize) -> Result<String, Error> {
    // minijinja's errors cannot be cloned; a template that does not parse is caught by every test that renders.
    let environment = TEMPLATES
        .as_ref()
        .map_err(|error| Error { name, source: minijinja::Error::new(error.kind(), format!("{error:#}")) })?;
    environment
        .get_template(name)
        .and_then(|template| template.render(Serde(context)))
        .map_err(|source| Error { name, source })
}
