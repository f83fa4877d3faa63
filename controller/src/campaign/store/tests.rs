use super::*;
use crate::failure::Kind;

fn cell(treatment: &str, repetition: u32) -> Cell {
    Cell { treatment: treatment.into(), repetition }
}

fn identity(rate: u32) -> Identity {
    Identity::new().with("model", "Qwen/Qwen3-32B").unwrap().with("rate", rate).unwrap()
}

fn try_open(results: &Path, id: &str, rate: u32, resume: bool) -> Result<Store> {
    Store::open(Opening {
        results,
        id: &id.parse().unwrap(),
        identity: &identity(rate),
        provenance: Mapping::from_iter([("host".into(), "here".into())]),
        resume,
        holder: Holder::this_process("test", "2026-08-17T10:15:00Z".parse().unwrap()),
    })
}

fn entry(value: &str) -> Mapping {
    Mapping::from_iter([("config_sha256".into(), value.into())])
}

/// Publishes a repetition that consists of one file.
fn publish(store: &mut Store, cell: &Cell) {
    let work = store.begin(cell).unwrap();
    fs_err::write(work.join("summary.json"), "{}").unwrap();
    store.publish(cell, Mapping::new(), entry("abc"), &Redactor::new()).unwrap();
}

fn manifest(store: &Store) -> Manifest {
    Manifest::read(&store.folder().join(manifest::FILE_NAME)).unwrap()
}

#[test]
fn a_new_campaign_has_its_manifest_before_anything_runs() {
    let results = tempfile::tempdir().unwrap();
    let store = try_open(&results.path().join("new/results"), "a", 60, false).unwrap();
    let manifest = manifest(&store);
    assert_eq!((manifest.campaign_id.as_str(), manifest.identity_text(&["rate"]).as_deref()), ("a", Some("60")));
    assert!(manifest.provenance.is_some() && manifest.treatments.is_empty());
}

#[test]
fn a_repetition_is_registered_when_it_is_published_and_its_work_folder_goes() {
    let results = tempfile::tempdir().unwrap();
    let mut store = try_open(results.path(), "a", 60, false).unwrap();
    let service = cell("service", 1);
    assert!(!store.is_done(&service));
    publish(&mut store, &service);
    assert!(store.is_done(&service));
    assert_eq!(manifest(&store).repetition("service", 1).unwrap().config_sha256(), Some("abc"));
    assert!(results.path().join("a/runs/service/repetition-1/summary.json").is_file());
    assert!(!results.path().join("a/work").exists());
}

#[test]
fn a_campaign_that_exists_is_only_continued_when_asked_to() {
    let results = tempfile::tempdir().unwrap();
    publish(&mut try_open(results.path(), "a", 60, false).unwrap(), &cell("service", 1));
    let failure = try_open(results.path(), "a", 60, false).unwrap_err();
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.hints[0].contains("--resume"), "{:?}", failure.hints);
    let store = try_open(results.path(), "a", 60, true).unwrap();
    assert!(store.is_done(&cell("service", 1)) && !store.is_done(&cell("service", 2)));
}

#[test]
fn a_campaign_that_is_not_there_cannot_be_resumed_and_the_nearest_is_named() {
    let results = tempfile::tempdir().unwrap();
    drop(try_open(results.path(), "nightly-1", 60, false).unwrap());
    let failure = try_open(results.path(), "nightly-l", 60, true).unwrap_err();
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.hints[0].contains("nightly-1"), "{:?}", failure.hints);
    assert!(!results.path().join("nightly-l").exists(), "nothing half-written");
}

#[test]
fn another_identity_is_refused_with_the_differing_fields_and_nothing_changes() {
    let results = tempfile::tempdir().unwrap();
    publish(&mut try_open(results.path(), "a", 60, false).unwrap(), &cell("service", 1));
    let path = results.path().join("a").join(manifest::FILE_NAME);
    let before = fs_err::read(&path).unwrap();
    let failure = try_open(results.path(), "a", 30, true).unwrap_err();
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.to_string().ends_with("another identity:\n  rate: recorded 60, requested 30"), "{failure}");
    assert_eq!(fs_err::read(&path).unwrap(), before);
    assert!(!results.path().join("a").join(lock::FILE_NAME).exists(), "the lock is given back");
}

#[test]
fn a_manifest_of_a_newer_version_is_refused() {
    let results = tempfile::tempdir().unwrap();
    drop(try_open(results.path(), "a", 60, false).unwrap());
    let path = results.path().join("a").join(manifest::FILE_NAME);
    let text = fs_err::read_to_string(&path).unwrap().replace("schema_version: 1", "schema_version: 2");
    fs_err::write(&path, text).unwrap();
    let failure = try_open(results.path(), "a", 60, true).unwrap_err();
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.to_string().contains("newer"), "{failure}");
}

#[test]
fn a_folder_of_something_else_is_not_taken_for_a_campaign() {
    let results = tempfile::tempdir().unwrap();
    fs_err::create_dir(results.path().join("a")).unwrap();
    fs_err::write(results.path().join("a/thesis.tex"), "").unwrap();
    assert_eq!(try_open(results.path(), "a", 60, false).unwrap_err().kind, Kind::Usage);
    assert!(!results.path().join("a").join(manifest::FILE_NAME).exists());
}

#[test]
fn two_campaigns_run_side_by_side_but_one_campaign_only_once() {
    let results = tempfile::tempdir().unwrap();
    let _first = try_open(results.path(), "a", 60, false).unwrap();
    let _second = try_open(results.path(), "b", 60, false).unwrap();
    let failure = try_open(results.path(), "a", 60, true).unwrap_err();
    assert!(failure.to_string().contains(&format!("in use by process {}", std::process::id())), "{failure}");
}

#[test]
fn what_an_attempt_left_is_set_aside_and_kept() {
    let results = tempfile::tempdir().unwrap();
    let mut store = try_open(results.path(), "a", 60, false).unwrap();
    let service = cell("service", 1);
    for attempt in ["first", "second"] {
        fs_err::write(store.begin(&service).unwrap().join("log"), attempt).unwrap();
    }
    publish(&mut store, &service);
    let work = results.path().join("a/work/service");
    assert_eq!(fs_err::read_to_string(work.join("repetition-1.attempt-1/log")).unwrap(), "first");
    assert_eq!(fs_err::read_to_string(work.join("repetition-1.attempt-2/log")).unwrap(), "second");
    assert!(!work.join("repetition-1").exists());
}

#[test]
fn a_repetition_published_by_a_run_that_died_before_registering_it_is_registered_by_the_next() {
    let results = tempfile::tempdir().unwrap();
    let mut store = try_open(results.path(), "a", 60, false).unwrap();
    let unregistered = fs_err::read(store.folder().join(manifest::FILE_NAME)).unwrap();
    publish(&mut store, &cell("service", 1));
    fs_err::write(store.folder().join(manifest::FILE_NAME), unregistered).unwrap();
    drop(store);
    let store = try_open(results.path(), "a", 60, true).unwrap();
    assert!(store.is_done(&cell("service", 1)));
    assert_eq!(manifest(&store).repetition("service", 1).unwrap().config_sha256(), Some("abc"));
}

#[test]
fn half_published_and_moved_repetitions_are_never_read() {
    let results = tempfile::tempdir().unwrap();
    let mut store = try_open(results.path(), "a", 60, false).unwrap();
    publish(&mut store, &cell("service", 1));
    drop(store);
    let runs = results.path().join("a/runs");
    // Killed while publishing; and a copy under another treatment's name, which its own record contradicts.
    fs_err::create_dir_all(runs.join("service/.repetition-2.partial")).unwrap();
    fs_err::create_dir_all(runs.join("gateway/repetition-1")).unwrap();
    fs_err::copy(runs.join("service/repetition-1").join(ENTRY), runs.join("gateway/repetition-1").join(ENTRY)).unwrap();
    let mut store = try_open(results.path(), "a", 60, true).unwrap();
    assert!(!runs.join("service/.repetition-2.partial").exists());
    assert!(!store.is_done(&cell("service", 2)) && !store.is_done(&cell("gateway", 1)));
    // Running the cell sets the unvouched evidence aside instead of mixing it in or overwriting it.
    publish(&mut store, &cell("gateway", 1));
    assert!(results.path().join("a/work/gateway/repetition-1.attempt-1").join(ENTRY).is_file());
    assert!(runs.join("gateway/repetition-1/summary.json").is_file());
}

#[test]
fn a_registered_repetition_whose_evidence_is_gone_is_run_again() {
    let results = tempfile::tempdir().unwrap();
    let mut store = try_open(results.path(), "a", 60, false).unwrap();
    publish(&mut store, &cell("service", 1));
    fs_err::remove_dir_all(store.published(&cell("service", 1))).unwrap();
    assert!(!store.is_done(&cell("service", 1)));
    publish(&mut store, &cell("service", 1));
    assert!(store.is_done(&cell("service", 1)));
}
