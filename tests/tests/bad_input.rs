//! Bad input: refused before anything runs, with the nearest names, and nothing half-written.

use e2e::{Outcome, Script, World};

fn world() -> World {
    World::new(&Script::Measure)
}

fn refused(arguments: &[&str]) -> Outcome {
    let world = world();
    let mut all = vec!["benchmark"];
    all.extend(arguments);
    let outcome = world.run(world.command(&all)).expect(2);
    assert!(!world.results().exists(), "something was written: {}", outcome.stderr);
    outcome
}

#[test]
fn unknown_names_are_refused_with_the_nearest_ones_and_the_list() {
    for (arguments, nearest) in [
        (["--profile", "qiuck"], "did you mean quick?"),
        (["--treatment", "servcie"], "did you mean service?"),
        (["--provider", "locl"], "did you mean local?"),
        (["--set", "routing.policy=optimised-baseline"], "did you mean optimized-baseline?"),
        (["--set", "testbed.hardware=laptop4"], "laptop-4-fast"),
        (["--set", "workload.stagse=4x3"], "workload.stages"),
    ] {
        let outcome = refused(&arguments);
        assert!(outcome.stderr.contains(nearest), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn ladders_that_cannot_be_run_are_refused() {
    for (stages, reason) in [("", "no stages"), ("0x3", "rate is 0"), ("4x-3", "duration is -3"), ("4", "4")] {
        let outcome = refused(&["--set", &format!("workload.stages={stages}")]);
        assert!(outcome.stderr.contains(reason), "{stages}: {}", outcome.stderr);
    }
}

#[test]
fn campaign_ids_with_capitals_or_slashes_are_refused_with_a_proposal() {
    for id in ["Quick", "a/b", "../up"] {
        let outcome = refused(&["--campaign", id]);
        assert!(outcome.stderr.contains("hint: use small letters") || outcome.stderr.contains("hint: use lower-case"));
    }
}

#[test]
fn a_campaign_that_is_not_there_cannot_be_resumed() {
    assert!(refused(&["--resume"]).stderr.contains("--campaign"));
    assert!(refused(&["--resume", "--campaign", "nope"]).stderr.contains("there is no campaign"));
}

#[test]
fn a_results_folder_that_cannot_be_written_is_refused() {
    let outcome = refused(&["--profile", "smoke", "--results-dir", "/proc/results"]);
    assert!(outcome.stderr.contains("--results-dir"), "{}", outcome.stderr);
}

#[test]
fn a_dry_run_tells_every_setting_with_its_origin_and_writes_nothing() {
    let world = world();
    let arguments = ["benchmark", "--dry-run", "--profile", "smoke", "--campaign", "a", "--set", "testbed.servers=2"];
    let outcome = world.run(world.command(&arguments)).expect(0);
    for line in ["campaign a in ", "(--set testbed.servers)", "(config/profiles/smoke.yaml:", "nothing was written"] {
        assert!(outcome.stdout.contains(line), "{line}: {}", outcome.stdout);
    }
    assert!(!world.results().exists());
}

#[test]
fn upstream_clean_looks_where_sync_would_write_and_leaves_what_is_not_ours() {
    let world = world();
    let cache = world.results().with_file_name("checkouts");
    fs_err::create_dir_all(cache.join("llm-d-benchmark/somebody-s")).expect("a folder of somebody else");
    let clean = |setting: &str| world.command(&["upstream", "clean", "--set", setting]);
    let outcome = world.run(clean(&format!("upstream.cache_dir={}", cache.display()))).expect(2);
    assert!(outcome.stderr.contains("was not made by this program"), "{}", outcome.stderr);
    assert!(cache.join("llm-d-benchmark/somebody-s").is_dir());
    let empty = cache.join("empty");
    let outcome = world.run(clean(&format!("upstream.cache_dir={}", empty.display()))).expect(0);
    assert_eq!(outcome.stdout.trim_end(), format!("nothing to remove in {}", empty.display()));
}
