//! Secrets planted in every input are found in no output.

use std::path::Path;

use e2e::{Outcome, Script, World};

/// Where secrets come in, and what is secret about each.
const PLANTED: [(&str, &str, &str); 8] = [
    ("HF_TOKEN", "hf_plantedPlantedPlanted01", "hf_plantedPlantedPlanted01"),
    ("HUGGING_FACE_HUB_TOKEN", "hf_plantedPlantedPlanted02", "hf_plantedPlantedPlanted02"),
    ("OPENAI_API_KEY", "sk-planted-03-planted", "sk-planted-03-planted"),
    ("AWS_SECRET_ACCESS_KEY", "planted04/planted+planted", "planted04/planted+planted"),
    ("HTTPS_PROXY", "http://someone:planted05@127.0.0.1:9", "planted05"),
    ("PIP_INDEX_URL", "https://someone:planted06@127.0.0.1/simple", "planted06"),
    ("LLM_D_BENCHMARK_URL", "https://planted07planted@127.0.0.1/llm-d-benchmark.git", "planted07planted"),
    ("CUSTOM_HEADER", "Authorization: Bearer planted08.planted-planted", "planted08.planted-planted"),
];

fn planted(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(arguments);
    command.envs(PLANTED.map(|(name, value, _)| (name, value)));
    world.run(command)
}

fn clean(what: &str, text: &str) {
    for (name, _, secret) in PLANTED {
        assert!(!text.contains(secret), "{what} holds the secret of {name}:\n{text}");
    }
}

/// Looks into every file below a folder, compressed ones too; returns how many there were.
fn search(folder: &Path) -> usize {
    let mut files = 0;
    for entry in fs_err::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files += search(&path);
            continue;
        }
        files += 1;
        let bytes = fs_err::read(&path).expect("a file");
        clean(&path.display().to_string(), &String::from_utf8_lossy(&bytes));
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut text = String::new();
            let read = std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*bytes), &mut text);
            assert!(read.is_ok(), "{} cannot be unpacked", path.display());
            clean(&path.display().to_string(), &text);
        }
    }
    files
}

const CAMPAIGN: [&str; 11] = [
    "benchmark",
    "--profile",
    "smoke",
    "--campaign",
    "a",
    "--treatment",
    "service",
    "--set",
    e2e::STAGES,
    "--set",
    "upstream.url=https://someone:planted06@127.0.0.1/llm-d-benchmark.git",
];

#[test]
fn a_campaign_that_succeeds_tells_no_secret() {
    let world = World::new(&Script::Leak);
    let done = planted(&world, &CAMPAIGN).expect(0);
    clean("stdout", &done.stdout);
    clean("stderr", &done.stderr);
    assert!(search(&world.results()) > 20);
}

#[test]
fn a_campaign_that_fails_tells_no_secret_with_the_end_of_its_output() {
    let world = World::new(&Script::LeakAndCrash);
    let failed = planted(&world, &CAMPAIGN).expect(3);
    clean("stdout", &failed.stdout);
    clean("stderr", &failed.stderr);
    assert!(failed.stderr.contains("<redacted>"), "the harness told none: {}", failed.stderr);
    // Its folder is kept for diagnosis as the harness wrote it; what we wrote beside it is searched.
    for written_by_us in ["campaign-manifest.yaml", "commands.jsonl"] {
        let text = fs_err::read_to_string(world.of("a", written_by_us)).expect("a file");
        clean(written_by_us, &text);
    }
    search(&world.of("a", "work/service/repetition-1/logs"));
}

#[test]
fn no_secret_is_in_the_command_line_of_a_child() {
    let world = World::new(&Script::Leak);
    planted(&world, &CAMPAIGN).expect(0);
    let known = fs_err::read_to_string(world.results().with_file_name("known-to-children.txt")).expect("a file");
    let arguments = known.lines().filter(|line| line.contains("inference-perf")).collect::<Vec<_>>().join("\n");
    assert!(!arguments.is_empty(), "{known}");
    clean("a command line", &arguments);
}

#[test]
fn errors_and_dry_runs_tell_no_secret() {
    let world = World::new(&Script::Measure);
    for (arguments, code) in [
        (&["benchmark", "--dry-run"][..], 0),
        (&["benchmark", "--dry-run", "--json"], 0),
        (&["upstream", "sync"], 2),
        (&["upstream", "status"], 0),
        (&["plan", "--profile", "kind-smoke", "--output", "rendered"], 0),
        (&["doctor", "--json"], 0),
    ] {
        let done = planted(&world, arguments).expect(code);
        clean(&format!("{arguments:?}"), &done.stdout);
        clean(&format!("{arguments:?}"), &done.stderr);
    }
    search(&world.results().with_file_name("rendered"));
}
