//! The settings as a whole, against a copy of the real `config/` folder.

use std::collections::HashSet;

use super::test_tree::{copy, workspace};
use super::*;
use crate::failure::{Failure, Kind};
use secrecy::ExposeSecret;

fn request(variables: &[(&str, &str)], sets: &[&str]) -> Request {
    Request::new(variables.iter().copied().collect()).sets(sets.iter().map(|set| (*set).to_owned()))
}

fn attempt(variables: &[(&str, &str)], sets: &[&str]) -> Result<Resolved, Error> {
    let (_folder, tree) = copy();
    resolve(&tree, &request(variables, sets))
}

/// The message and hints that the user of a refused request sees; it is always a usage failure.
#[track_caller]
fn refusal(outcome: Result<Resolved, Error>) -> String {
    let failure = Failure::from(outcome.map(|resolved| resolved.settings).unwrap_err());
    assert_eq!(failure.kind, Kind::Usage);
    format!("{failure}\n{}", failure.hints.join("\n"))
}

#[test]
fn every_profile_resolves() {
    let (_folder, tree) = copy();
    for profile in tree.profiles().unwrap() {
        let environment = [("BENCHMARK_GKE_PROJECT", "a-project")].into_iter().collect();
        let request = Request::new(environment).profile(Some(profile.name.clone()));
        let resolved = resolve(&tree, &request).unwrap_or_else(|error| panic!("{}: {error}", profile.name));
        assert!(!resolved.profile.description.is_empty(), "{}", profile.name);
        assert!(resolved.warnings.is_empty(), "{:?}", resolved.warnings);
    }
}

#[test]
fn every_treatment_can_be_read() {
    let treatments = ConfigTree::open(workspace()).treatments().unwrap();
    assert!(treatments.iter().any(|treatment| treatment.name == "canary-delay"));
    for treatment in treatments {
        assert!(!treatment.providers.is_empty(), "{}", treatment.name);
    }
}

#[test]
fn each_layer_is_stronger_than_the_one_below_and_leaves_its_origin() {
    let (_folder, tree) = copy();
    let origin = |request: &Request| {
        let resolved = resolve(&tree, request).unwrap();
        (resolved.settings.repetitions, resolved.origin("repetitions").unwrap().to_string())
    };
    let environment = request(&[("BENCHMARK_REPETITIONS", "4")], &[]);
    assert_eq!(origin(&request(&[], &[])), (1, "config/profiles/quick.yaml:4".to_owned()));
    assert_eq!(origin(&environment), (4, "$BENCHMARK_REPETITIONS".to_owned()));
    let flag = environment.flag("repetitions", 5, "--repetitions");
    assert_eq!(origin(&flag), (5, "--repetitions".to_owned()));
    let set = flag.sets(["repetitions=6".to_owned()]);
    assert_eq!(origin(&set), (6, "--set repetitions".to_owned()));
}

#[test]
fn a_value_taken_away_falls_back_to_what_follows_from_the_others() {
    let resolved = attempt(&[], &["workload.load="]).unwrap();
    assert_eq!(resolved.settings.workload.load, Arrivals::Poisson);
    assert_eq!(resolved.origin("workload.load").unwrap().to_string(), "follows from workload.variant upstream");
}

#[test]
fn pins_say_which_line_they_come_from() {
    let resolved = attempt(&[], &[]).unwrap();
    assert_eq!(resolved.settings.pins.inference_perf, "0.7.0");
    assert_eq!(resolved.origin("pins.inference_perf").unwrap().to_string(), "config/pins.yaml:2");
    let overridden = attempt(&[("AGW_VERSION", "v1.5.0")], &[]).unwrap();
    assert_eq!(overridden.settings.agentgateway.image, "cr.agentgateway.dev/agentgateway:v1.5.0");
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    assert_eq!(attempt(&[("BENCHMARK_REPETITIONS", " ")], &[]).unwrap().settings.repetitions, 1);
}

#[test]
fn an_unknown_profile_is_named_with_the_nearest_ones_and_the_list() {
    let tree = ConfigTree::open(workspace());
    let text = refusal(resolve(&tree, &request(&[], &[]).profile(Some("qiuck".to_owned()))));
    assert!(text.contains("unknown profile `qiuck` (--profile)"), "{text}");
    assert!(text.contains("did you mean quick?"), "{text}");
    assert!(text.contains("full-local") && text.contains("smoke"), "{text}");
}

#[test]
fn an_unknown_treatment_says_who_asked_for_it() {
    let text = refusal(attempt(&[("BENCHMARK_TREATMENT", "service,agentgateway-stand-alone")], &[]));
    assert!(text.contains("unknown treatment `agentgateway-stand-alone` ($BENCHMARK_TREATMENT)"), "{text}");
    assert!(text.contains("did you mean agentgateway-standalone"), "{text}");
    assert!(text.contains("envoy-standalone"), "{text}");
}

#[test]
fn an_unknown_provider_is_refused() {
    let text = refusal(attempt(&[], &["provider=loacl"]));
    assert!(text.contains("unknown provider `loacl` (--set provider)"), "{text}");
    assert!(text.contains("did you mean local?") && text.contains("gke"), "{text}");
}

#[test]
fn an_unknown_key_on_the_command_line_is_refused_with_its_neighbours() {
    let text = refusal(attempt(&[], &["workload.stagse=4x3"]));
    assert!(text.contains("unknown setting `workload.stagse` (--set workload.stagse)"), "{text}");
    assert!(text.contains("did you mean workload.stages"), "{text}");
    assert!(text.contains("workload.data.…"), "{text}");
}

#[test]
fn an_unknown_key_in_a_profile_is_refused_with_file_and_line() {
    let (folder, tree) = copy();
    let path = folder.path().join("config/profiles/mine.yaml");
    fs_err::write(&path, "description: Mine.\nworkload:\n  stages: [4x3]\n  intervall: 2\n").unwrap();
    let text = refusal(resolve(&tree, &request(&[], &[]).profile(Some("mine".to_owned()))));
    assert!(text.contains("unknown setting `workload.intervall` (config/profiles/mine.yaml:4)"), "{text}");
    assert!(text.contains("did you mean workload.interval?"), "{text}");
}

#[test]
fn a_duplicate_key_in_a_profile_is_refused() {
    let (folder, tree) = copy();
    fs_err::write(folder.path().join("config/profiles/mine.yaml"), "repetitions: 1\nrepetitions: 2\n").unwrap();
    let text = refusal(resolve(&tree, &request(&[], &[]).profile(Some("mine".to_owned()))));
    assert!(text.contains("config/profiles/mine.yaml is not valid") && text.contains("duplicate"), "{text}");
}

#[test]
fn all_problems_are_told_at_once() {
    let text = refusal(attempt(
        &[("BENCHMARK_REPETITIONS", "none")],
        &["workload.stages=0x10", "order=backwards", "workload.interval=-1", "results"],
    ));
    for part in [
        "5 problems",
        "repetitions: `none` is not usable: expected whole number of at least 1 ($BENCHMARK_REPETITIONS)",
        "workload.stages: stage 0: the rate is 0",
        "`backwards` is not usable: expected one of fixed, rotated",
        "workload.interval: `-1` is not usable",
        "`--set results` has no value",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_workload_that_cannot_run_is_refused_before_anything_starts() {
    for (set, reason) in [
        ("workload.stages=", "the workload has no stages"),
        ("workload.stages=4x-3", "the duration is -3"),
        ("workload.template=nothing-like-it", "unknown workload `nothing-like-it`"),
        ("workload.file=/no/such/file.yaml", "is not there"),
        ("workload.rate_scale=1/100000", "plans no request"),
        ("testbed.hardware=laptop-5", "unknown hardware `laptop-5`"),
        ("routing.policy=optimised-baseline", "did you mean optimized-baseline"),
        ("limits.failure_rate=2", "is a share"),
        ("report.formats=markdown,pdf", "unknown report format `pdf`"),
        ("report.comparisons=service:service", "is not a comparison of two chosen treatments"),
        ("treatments=service,service", "is listed twice"),
        ("treatments=istio-gateway", "cannot run on the provider local"),
        ("gateway.mode=standalone", "gateway.mode is standalone"),
        ("campaign=Nightly/Run 1", "nightly-run-1"),
    ] {
        let text = refusal(attempt(&[], &[set]));
        assert!(text.contains(reason), "{set}: {text}");
    }
}

#[test]
fn a_routing_policy_with_an_unknown_plugin_is_refused_by_the_testbeds_parser() {
    let (folder, tree) = copy();
    let text = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n- type: fortune-teller\n";
    fs_err::write(folder.path().join("config/routing/mine.yaml"), text).unwrap();
    let text = refusal(resolve(&tree, &request(&[], &["routing.policy=mine"])));
    assert!(text.contains("fortune-teller") && text.contains("config/routing/mine.yaml"), "{text}");
}

#[test]
fn a_treatment_file_with_an_unknown_field_is_refused_with_its_line() {
    let (folder, tree) = copy();
    let path = folder.path().join("config/treatments/service.yaml");
    let text = fs_err::read_to_string(&path).unwrap() + "colour: green\n";
    fs_err::write(&path, text).unwrap();
    let text = refusal(resolve(&tree, &request(&[], &[])));
    assert!(text.contains("config/treatments/service.yaml is not valid"), "{text}");
    assert!(text.contains("colour") && text.contains("line"), "{text}");
}

#[test]
fn a_secret_comes_from_the_environment_only_and_is_never_printed() {
    let resolved = attempt(&[("HF_TOKEN", "hf_verysecret")], &[]).unwrap();
    assert_eq!(resolved.settings.secrets.hf_token.as_ref().unwrap().expose_secret(), "hf_verysecret");
    let printed = [
        format!("{resolved:?}"),
        serde_json::to_string(&resolved.settings).unwrap(),
        serde_json::to_string(&resolved.entries()).unwrap(),
        serde_json::to_string(&resolved.document()).unwrap(),
    ];
    for text in &printed {
        assert!(!text.contains("hf_verysecret"), "{text}");
    }
    let text = refusal(attempt(&[], &["secrets.hf_token=hf_verysecret"]));
    assert!(text.contains("cannot be given on the command line"), "{text}");
    assert!(text.contains("HF_TOKEN") && !text.contains("hf_verysecret"), "{text}");
}

#[test]
fn a_variable_that_nobody_reads_is_warned_about() {
    let resolved = attempt(&[("BENCHMARK_REPETITION_COUNT", "3"), ("BENCHMARK_TREATMENTS", "service")], &[]).unwrap();
    let text = resolved.warnings.join("\n");
    assert!(text.contains("BENCHMARK_TREATMENTS is not read; did you mean BENCHMARK_TREATMENT?"), "{text}");
    assert!(text.contains("BENCHMARK_REPETITION_COUNT is not read"), "{text}");
}

#[test]
fn a_flag_that_the_provider_does_not_read_is_warned_about_but_a_variable_may_serve_other_campaigns() {
    let request = request(&[("BENCHMARK_KEEP", "true"), ("BENCHMARK_GKE_PROJECT", "p")], &["gke.project=q"]);
    let resolved = resolve(&ConfigTree::open(workspace()), &request.flag("keep", true, "--keep")).unwrap();
    assert_eq!(
        resolved.warnings,
        [
            "keep (--keep) has no effect with the provider local",
            "gke.project (--set gke.project) has no effect with the provider local"
        ]
    );
    let read = |key: &str| resolved.entries().iter().any(|entry| entry.key == key && entry.read);
    assert_eq!(["repetitions", "pins.inference_perf", "keep", "gke.project"].map(read), [true, true, false, false]);
}

#[test]
fn names_and_variables_are_declared_once_and_no_name_is_also_a_section() {
    let (mut names, mut variables) = (HashSet::new(), HashSet::new());
    for key in keys() {
        assert!(names.insert(key.name), "{}", key.name);
        assert!(variables.insert(key.variable), "{}", key.variable);
        assert!(key.doc.ends_with('.'), "{}", key.name);
        assert!(!keys().any(|other| other.name.starts_with(&format!("{}.", key.name))), "{}", key.name);
    }
    for ambient in AMBIENT {
        assert!(variables.insert(ambient.name), "{}", ambient.name);
    }
}

#[test]
fn the_typed_settings_have_exactly_the_declared_names() {
    fn leaves(value: &serde_json::Value, prefix: &str, names: &mut HashSet<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                    leaves(value, &name, names);
                }
            }
            _ => {
                names.insert(prefix.to_owned());
            }
        }
    }
    let resolved = attempt(&[], &[]).unwrap();
    let mut typed = HashSet::new();
    leaves(&serde_json::to_value(&resolved.settings).unwrap(), "", &mut typed);
    let declared: HashSet<_> = keys().map(|key| key.name.to_owned()).collect();
    assert_eq!(typed, declared);
}

/// The names that CI of the earlier workflow sets.
#[test]
fn every_variable_of_the_earlier_workflow_is_read() {
    let names: HashSet<_> = keys().map(|key| key.variable).collect();
    let earlier = include_str!("earlier-variables.txt");
    let missing: Vec<_> = earlier.split_whitespace().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_settings_page_is_what_the_table_says() {
    let path = workspace().join("docs/settings.md");
    let page = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs_err::write(&path, &page).unwrap();
    }
    let kept = fs_err::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, page, "run the test again with UPDATE_DOCS=1 to write docs/settings.md");
}

#[test]
fn the_smoke_profile_is_short_and_both_fast_profiles_measure_the_same_treatments() {
    let (_folder, tree) = copy();
    let profile = |name: &str| {
        let resolved = resolve(&tree, &request(&[], &[]).profile(Some(name.to_owned()))).unwrap();
        (resolved.settings.treatments.clone(), resolved.settings.workload.seconds())
    };
    let (quick, smoke) = (profile("quick"), profile("smoke"));
    assert_eq!(quick.0, smoke.0);
    assert_eq!(quick.1, 22.0);
    assert_eq!(smoke.1, 11.0);
}
