use std::path::PathBuf;

use super::*;

fn templates() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../config/workloads")
}

fn target() -> Target {
    Target {
        base_url: "http://127.0.0.1:8123".into(),
        model: "simulated/laptop".into(),
        tokenizer: "/work folder/tokenizer".into(),
    }
}

fn harness() -> settings::Harness {
    serde_yaml::from_str(
        "{name: inference-perf, python: null, workers: 2, worker_max_concurrency: 1000, no_progress_timeout: 120}",
    )
    .unwrap()
}

fn settings(changes: &[(&str, &str)]) -> settings::Workload {
    let mut document: Value = serde_yaml::from_str(
        "{template: shared-prefix, file: null, variant: upstream, load: poisson, interval: 1, rate_scale: '1',
          request_timeout: 120, stages: [{rate: 96, duration: 1, warm_up: true}, {rate: 4.5, duration: 3}],
          data: {groups: 24, prompts_per_group: 4, prefix_tokens: 1200, question_tokens: 192, output_tokens: 60,
                 prompts: null, input_tokens: null, input_tokens_min: null, input_tokens_max: null,
                 output_tokens_min: null, output_tokens_max: null, seed: 42}}",
    )
    .unwrap();
    for (key, value) in changes {
        let value: Value = serde_yaml::from_str(value).unwrap();
        match key.split_once('.') {
            Some((section, key)) => document[section][key] = value,
            None => document[*key] = value,
        }
    }
    serde_yaml::from_value(document).unwrap()
}

fn render(changes: &[(&str, &str)]) -> Result<Workload, Error> {
    Workload::new(&templates(), &settings(changes), &harness(), &target())
}

fn file(text: &str) -> Result<Workload, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.yaml");
    fs_err::write(&path, text).unwrap();
    render(&[("file", &format!("'{}'", path.display()))])
}

#[test]
fn a_shared_prefix_workload_is_what_inference_perf_expects() {
    insta::assert_snapshot!(render(&[]).unwrap().to_yaml().unwrap());
}

#[test]
fn a_random_workload_has_lengths_around_their_mean() {
    let random = [
        ("template", "random"),
        ("data.input_tokens", "1000"),
        ("data.input_tokens_min", "700"),
        ("data.input_tokens_max", "1600"),
    ];
    let workload = render(&random).unwrap();
    let data = &workload.document()["data"];
    assert_eq!(
        serde_yaml::to_string(data).unwrap(),
        "\
type: random
input_distribution:
  type: normal
  min: 700
  max: 1600
  mean: 1000
  std_dev: 100.0
output_distribution:
  type: fixed
  min: 60
  max: 60
  mean: 60
  std_dev: 0
"
    );
}

#[test]
fn the_plan_counts_requests_as_inference_perf_does() {
    let workload = render(&[]).unwrap();
    let requests: Vec<u64> = workload.plan().iter().map(|stage| stage.requests).collect();
    assert_eq!((requests, workload.planned_requests()), (vec![96, 13], 109));
    assert_eq!(workload.plan()[1].rate, Some(4.5));
}

#[test]
fn strings_that_yaml_could_take_for_something_else_stay_strings() {
    let mut target = target();
    target.model = "on".into();
    let workload = Workload::new(&templates(), &settings(&[]), &harness(), &target).unwrap();
    let read: Value = serde_yaml::from_str(&workload.to_yaml().unwrap()).unwrap();
    assert_eq!(read["server"]["model_name"], Value::from("on"));
    // YAML 1.1, which PyYAML reads, takes a bare `on` for true.
    assert!(workload.to_yaml().unwrap().contains("\"on\"") || workload.to_yaml().unwrap().contains("'on'"));
}

#[test]
fn a_template_that_asks_for_something_unknown_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("shared-prefix.yaml.j2"), "data: 1\nx: {{ workload.nonsense }}\n").unwrap();
    let error = Workload::new(folder.path(), &settings(&[]), &harness(), &target()).unwrap_err().to_string();
    assert!(error.contains("shared-prefix.yaml.j2 line 2") && error.contains("undefined"), "{error}");
}

#[test]
fn all_problems_of_a_file_are_told_at_once_with_their_fixes() {
    let error = file(
        "load: {num_workers: 0, sweep: {type: linear}, stages: [{rate: 0, duration: 3}, {rate: 5, duration: -1},
          {rate: .nan, duration: 1}, {rate: 1}, {rate: 0.2, duration: 2}, {rate: 1, duration: 1.5}, {rate: x, duration: 1}]}",
    )
    .unwrap_err();
    let Error::Problems { ref problems, .. } = error else { panic!("{error}") };
    let what: Vec<&str> = problems.iter().map(|problem| problem.what.as_str()).collect();
    insta::assert_debug_snapshot!(what);
    let failure = Failure::from(error);
    assert_eq!((failure.kind, failure.hints.len()), (crate::failure::Kind::Usage, 10));
}

#[test]
fn a_workload_without_stages_is_refused() {
    for text in
        ["load: {stages: []}\ndata: {type: random}", "load: {}\ndata: {type: random}", "data: {type: random}", "7"]
    {
        assert!(matches!(file(text), Err(Error::Problems { .. })), "{text}");
    }
    assert!(matches!(file("load: ["), Err(Error::Yaml { .. })));
}

#[test]
fn a_file_of_the_users_own_keeps_its_load_but_not_its_endpoint_or_place() {
    let workload = file(
        "{server: {base_url: 'http://elsewhere', model_name: other}, storage: {google_cloud_storage: {path: b}},
          data: {type: random}, load: {type: concurrent, stages: [{num_requests: 32, concurrency_level: 4}]}}",
    )
    .unwrap();
    let document = workload.document();
    assert_eq!(document["server"]["base_url"], Value::from("http://127.0.0.1:8123"));
    assert_eq!(document["server"]["type"], Value::from("vllm"));
    assert_eq!(serde_yaml::to_string(&document["storage"]).unwrap(), "local_storage:\n  path: .\n");
    assert_eq!(workload.plan(), [PlannedStage { rate: None, seconds: None, requests: 32 }]);
}

#[test]
fn fractions_of_a_second_are_refused_before_a_template_hides_them() {
    let error = render(&[("stages", "[{rate: 4, duration: 2.5}]")]).unwrap_err();
    assert!(error.to_string().contains("stage 0 lasts 2.5 s"), "{error}");
}
