//! `--slo`: objectives given in words, or by the name of a file.

use std::path::Path;

use controller::failure::{Failure, Result};
use reports::model::Slo;
use reports::{files, yaml};

use crate::context::Context;

/// Where named objectives are, below the workspace.
const FOLDER: &str = "config/slo";

/// A file of objectives.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    objectives: serde_json::Map<String, serde_json::Value>,
}

/// The objectives of a list such as `ttft_p90=2s,itl_p50=50ms`, of a file, or of a name in `config/slo`.
pub fn resolve(given: &str, context: &Context) -> Result<Slo> {
    if given.contains('=') {
        return given.parse().map_err(|error| Failure::usage(error).hint("separate several objectives by commas"));
    }
    let named = context.root.join(FOLDER).join(format!("{given}.yaml"));
    let path = if given.ends_with(".yaml") { Path::new(given) } else { &named };
    let file: File = yaml::read(path, files::DOCUMENT_LIMIT).map_err(|error| {
        Failure::usage(error).hint(format!("name a file in {FOLDER}, or write objectives such as ttft_p90=2s"))
    })?;
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list: Vec<String> = file.objectives.iter().map(|(key, limit)| format!("{key}={}", text(limit))).collect();
    list.join(",").parse().map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(root: &Path) -> Context {
        Context { root: root.into(), color: false, interactive: false }
    }

    #[test]
    fn a_list_a_name_and_a_path_give_the_same_objectives() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config/slo/chat.yaml");
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(&file, "objectives:\n  ttft_p90: 2s\n  itl_p50: 50ms\n").unwrap();
        let context = context(folder.path());
        let list = resolve("ttft_p90=2s,itl_p50=50ms", &context).unwrap();
        assert_eq!(resolve("chat", &context).unwrap(), list);
        assert_eq!(resolve(file.to_str().unwrap(), &context).unwrap(), list);
    }

    #[test]
    fn what_names_no_objectives_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path());
        assert!(resolve("ttft_p90=fast", &context).unwrap_err().to_string().contains("a positive time"));
        assert!(resolve("nobody", &context).unwrap_err().to_string().contains("nobody.yaml"));
        let file = folder.path().join("odd.yaml");
        for text in ["objectives: {ttft_p90: 2}", "objectives: {}", "limits: {}", "objectives: [a]"] {
            fs_err::write(&file, text).unwrap();
            assert!(resolve(file.to_str().unwrap(), &context).is_err(), "{text}");
        }
    }

    #[test]
    fn the_objectives_that_come_with_the_workspace_are_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for entry in fs_err::read_dir(root.join(FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            assert!(resolve(path.to_str().unwrap(), &context(root)).is_ok(), "{}", path.display());
        }
    }
}
