//! The manifest's format.

use std::path::PathBuf;

use super::*;

fn in_folder(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    fs_err::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let (_folder, path) = in_folder("schema_version: 2\nnot: known\n");
    let error = Manifest::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("schema_version 2 is newer than 1, the newest that is understood here"), "{error}");
}

/// The manifest of a published campaign of the earlier bash workflow, as it was committed there.
const EARLIER: &str = include_str!("../../tests/fixtures/earlier/campaign-manifest.yaml");

fn refusal(text: &str) -> String {
    let (_folder, path) = in_folder(text);
    Manifest::read(&path).unwrap_err().to_string()
}

#[test]
fn a_manifest_of_the_earlier_workflow_is_read_as_it_is() {
    let (_folder, path) = in_folder(EARLIER);
    let manifest = Manifest::read(&path).unwrap();
    let names: Vec<_> = manifest.treatments.keys().map(String::as_str).collect();
    assert_eq!(names, ["service", "agentgateway-standalone", "agentgateway-gateway"]);
    assert_eq!(manifest.identity_text(&["storage", "model", "class"]).as_deref(), Some("premium-rwx"));
    assert_eq!(manifest.identity_text(&["replicas"]).as_deref(), Some("8"));
    let entry = manifest.repetition("agentgateway-gateway", 1).unwrap();
    assert_eq!(entry.text(&["gateway", "agentgateway_version"]).as_deref(), Some("v1.4.1"));
    assert_eq!(entry.status(), Status::Complete);
    assert!(entry.config_sha256().unwrap().starts_with("63ee4f0a"));
}

#[test]
fn reading_and_writing_changes_neither_values_nor_order() {
    let (_folder, path) = in_folder(&format!("{EARLIER}added_later: {{by: others}}\n"));
    let manifest = Manifest::read(&path).unwrap();
    let written = manifest.to_yaml().unwrap();
    let theirs: Value = serde_yaml::from_str(&fs_err::read_to_string(&path).unwrap()).unwrap();
    let ours: Value = serde_yaml::from_str(&written).unwrap();
    assert_eq!(serde_json::to_string(&ours).unwrap(), serde_json::to_string(&theirs).unwrap());
    // Only the quotes around repetition numbers differ from what the earlier workflow wrote.
    assert_eq!(written.replace("added_later:\n  by: others\n", "").replace("\"1\"", "'1'"), EARLIER);
}

#[test]
fn a_repetition_is_registered_and_found_again() {
    let mut manifest = Manifest::new("2026-11-30", Mapping::new());
    let entry = manifest.repetition_mut("service", 2);
    entry.set("status", "failed");
    entry.set("reason", "the load stopped");
    let (_folder, path) = in_folder(&manifest.to_yaml().unwrap());
    let manifest = Manifest::read(&path).unwrap();
    let entry = manifest.repetition("service", 2).unwrap();
    assert_eq!((entry.status(), entry.reason()), (Status::Failed, Some("the load stopped")));
}

#[test]
fn hostile_names_and_numbers_are_refused() {
    let head = "schema_version: 1\ncampaign_id: c\nsuite: llm-d-benchmark\n";
    for name in ["../../etc", "/etc", "..", "a/b", "a\\b", "''", "\"a\\0b\"", &"x".repeat(200)] {
        let error = refusal(&format!("{head}treatments: {{{name}: {{repetitions: {{'1': {{}}}}}}}}\n"));
        assert!(error.contains("treatment"), "{error}");
    }
    for number in ["0", "01", "-1", "one", "../1", "4294967296"] {
        let error = refusal(&format!("{head}treatments: {{a: {{repetitions: {{'{number}': {{}}}}}}}}\n"));
        assert!(error.contains("is not a number from 1"), "{error}");
    }
    assert!(check_name(&"x".repeat(NAME_LIMIT)).is_ok());
    assert!(check_name("<script>|").is_ok(), "odd, but a folder's name: documents escape it");
}

#[test]
fn other_suites_and_shapes_are_refused() {
    assert!(refusal("schema_version: 1\ncampaign_id: c\nsuite: other\n").contains("suite \"other\" is not understood"));
    assert!(refusal("schema_version: 0\ncampaign_id: c\nsuite: llm-d-benchmark\n").contains("schema_version 0"));
    assert!(refusal("- a list\n").contains("invalid type"));
    assert!(refusal("").contains("empty"));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb =
        "schema_version: 1\ncampaign_id: c\nsuite: llm-d-benchmark\na0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..16 {
        let items = vec![format!("*a{}", level - 1); 8].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    let error = refusal(&bomb);
    assert!(error.contains("repetition limit exceeded"), "{error}");
}

#[test]
fn identities_differ_by_named_fields_and_not_by_order() {
    let of = |text| serde_yaml::from_str::<Mapping>(text).unwrap();
    let left = of("{model: a, replicas: 8, storage: {class: x, size: 1}, only: left}");
    let same = of("{only: left, storage: {size: 1, class: x}, replicas: 8, model: a}");
    assert_eq!(differences(&left, &same), []);
    let right = of("{model: a, replicas: 4, storage: {class: x, size: 1, new: true}}");
    let found: Vec<_> = differences(&left, &right)
        .into_iter()
        .map(|difference| (difference.field, difference.left, difference.right))
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            ("replicas".to_owned(), text("8"), text("4")),
            ("storage.new".to_owned(), None, text("true")),
            ("only".to_owned(), text("left"), None),
        ]
    );
}

#[test]
fn warm_up_stages_are_declared_in_the_identity() {
    let manifest = Manifest::new("c", serde_yaml::from_str("{warm_up_stages: [0, 3]}").unwrap());
    assert_eq!(manifest.warm_up_stages(), [0, 3]);
    assert_eq!(Manifest::default().warm_up_stages(), [0; 0]);
}
