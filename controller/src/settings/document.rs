//! `docs/settings.md`, generated from the table of settings.

use std::fmt::Write;

use super::keys::{AMBIENT, Key, sections};

/// The documentation of every setting and every environment variable, as Markdown.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for section in sections() {
        page += &format!(
            "\n## {}\n\n{}\n\n| Setting | Environment variable | Values | Default | Meaning |\n|---|---|---|---|---|\n",
            section.title, section.about
        );
        for key in section.keys {
            page += &row(key);
        }
    }
    page += "\n## Other variables\n\n| Environment variable | Meaning |\n|---|---|\n";
    for ambient in AMBIENT {
        // Writing to a String cannot fail.
        writeln!(page, "| `{}` | {} |", ambient.name, ambient.doc).unwrap_or_default();
    }
    page
}

fn row(key: &Key) -> String {
    let default = key.default.map(|default| format!("`{default}`")).unwrap_or_default();
    let values = match key.shape {
        super::Shape::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        shape => shape.words(),
    };
    format!("| `{}` | `{}` | {values} | {default} | {} |\n", key.name, key.variable, key.doc)
}

const HEAD: &str = "\
# Settings

This page is generated from the table of settings (`controller/src/settings/keys/`); a test keeps it true.

Each setting takes its value from the strongest layer that gives one:

1. the built-in default, and the versions of `config/pins.yaml`
2. the provider's file, `config/providers/<name>.yaml`
3. the profile, `config/profiles/<name>.yaml` (`--profile`, `quick` when absent)
4. the environment variable; an empty one counts as not set
5. flags: those with a name of their own, then `--set KEY=VALUE`
6. the reference profile, when one is chosen; an environment variable or flag that contradicts it is an error

What no layer gives may follow from other settings. `cargo xtask benchmark --dry-run` prints every value with its origin.
An unknown name, or a value of the wrong shape, ends the program with exit code 2 before anything runs; `--set KEY=` takes
a value away again. Secrets come from the environment only and are never printed.
";
