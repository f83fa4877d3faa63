//! Renders the templates of `config/` strictly: a value that is missing is an error, never an empty text.

use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_yaml::Value;

use super::error::Error;

/// Renders a template file and reads what comes out as YAML. Templates beside it can be extended and included.
pub fn yaml(path: &Path, context: &impl Serialize) -> Result<Value, Error> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut environment = strict();
    for entry in fs_err::read_dir(folder)? {
        let file = entry?.path();
        if file.is_file() && file.extension().is_some_and(|extension| extension == "j2" || extension == "yaml") {
            let sibling = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let text = fs_err::read_to_string(&file)?;
            environment.add_template_owned(sibling, text).map_err(|source| Error::Template { path: file, source })?;
        }
    }
    let text = environment
        .get_template(&name)
        .and_then(|template| template.render(Serde(context)))
        .map_err(|source| Error::Template { path: path.to_owned(), source })?;
    serde_yaml::from_str(&text).map_err(|error| Error::Yaml { path: path.to_owned(), message: error.to_string() })
}

/// Renders one line of text, as treatment files have for images.
pub fn line(path: &Path, text: &str, context: &impl Serialize) -> Result<String, Error> {
    strict().render_str(text, Serde(context)).map_err(|source| Error::Template { path: path.to_owned(), source })
}

fn strict() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The templates are YAML: nothing is escaped behind the author's back.
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment
}
