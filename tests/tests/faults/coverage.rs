//! A step that exists and is in no table fails this suite.

use std::collections::BTreeSet;
use std::path::Path;

use e2e::faults::{Declared, declared};

use crate::{cluster, git, table};

/// Where the names of steps are put together, by file and expression, and which rows or tests play their faults.
const PUT_TOGETHER: [(&str, &str, &str); 13] = [
    ("controller/src/baseline/bucket.rs", "step", "controller/src/baseline/tests/buckets.rs"),
    ("controller/src/cluster/tools.rs", "step", "tests/tests/faults/cluster.rs"),
    ("controller/src/doctor/tools.rs", "format!(\"check {program}\")", "tests/tests/faults/tools.rs"),
    ("controller/src/gke/gcloud.rs", "step(words)", "tests/tests/faults/gke.rs"),
    ("controller/src/harness/python/installer.rs", "step", "tests/tests/faults/table.rs"),
    ("controller/src/harness/python/uv.rs", "step", "tests/tests/faults/table.rs"),
    ("controller/src/on_demand.rs", "format!(\"build {}\"", "tests/tests/clients.rs"),
    ("controller/src/provider/local/binary.rs", "format!(\"{name} --version\")", "tests/tests/real_proxy.rs"),
    ("controller/src/provider/local/proxy.rs", "format!(\"{name} --validate-only\")", "tests/tests/real_proxy.rs"),
    ("controller/src/provider/local/proxy.rs", "format!(\"{name} --mode validate\")", "tests/tests/real_proxy.rs"),
    ("controller/src/provider/local/pinning.rs", "step", "tests/tests/real_proxy.rs"),
    ("controller/src/upstream/environment/mod.rs", "step", "tests/tests/faults/cluster.rs"),
    ("controller/src/upstream/fetch.rs", "step", "tests/tests/faults/git.rs"),
];

/// Sources whose steps have a table of their own, in these tests.
const ELSEWHERE: [(&str, &str); 4] = [
    ("controller/src/baseline/", "controller/src/baseline/tests/buckets.rs"),
    ("controller/src/cluster/", "tests/tests/faults/gke.rs"),
    ("controller/src/gke/", "tests/tests/faults/gke.rs"),
    ("controller/src/provider/local/", "tests/tests/real_proxy.rs"),
];

/// Steps that are rows of no table, for a reason.
const NO_FAULTS: [(&str, &str); 6] = [
    ("endpoint", "a plan's name for a question that kubectl's table has as `kubectl get services`"),
    ("verify-teardown", "a plan's name for a question that kubectl's table has as `kubectl get namespace`"),
    ("install planner alone", "the second attempt of `install planner`, which is played with the first"),
    ("llm-d-benchmark's install.sh", "what it does not do is done without it"),
    ("ps", "only asked where there is no /proc"),
    ("testbed serve", "this very program; tests/tests/faults/testbed.rs kills and stops it"),
];

#[test]
fn every_step_of_the_sources_is_in_a_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let found = declared(root);
    let rows: BTreeSet<&str> = table::ROWS.iter().chain(&git::ROWS).map(|row| row.step).collect();
    let played = &cluster::undisturbed().steps;
    let covered = |it: &Declared| {
        let put_together = || PUT_TOGETHER.iter().any(|(file, name, _)| *file == it.file && *name == it.name);
        rows.contains(it.name.as_str())
            || played.contains(&it.name)
            || cluster::has_environment_step(&it.name)
            || NO_FAULTS.iter().any(|(step, _)| *step == it.name)
            || (!it.literal && put_together())
            || (it.literal && ELSEWHERE.iter().any(|(sources, _)| it.file.starts_with(sources)))
    };
    let missing: Vec<_> = found.iter().filter(|it| !covered(it)).collect();
    assert!(missing.is_empty(), "no test plays the faults of these steps:\n{missing:#?}");
    for step in &rows {
        assert!(found.iter().any(|it| it.name == **step), "{step} is in a table and not in the sources");
    }
    for tests in PUT_TOGETHER.iter().map(|(.., tests)| tests).chain(ELSEWHERE.iter().map(|(_, tests)| tests)) {
        assert!(root.join(tests).is_file(), "{tests} is not there");
    }
}
