//! A machine that runs out of something while a campaign runs: a clear error, and evidence that is safe.

use std::path::Path;

use e2e::{Confined, Outcome, STAGES, Script, World, outcome};

/// One treatment of the campaign `a`.
fn treatment(world: &World, name: &str, more: &[&str]) -> std::process::Command {
    let mut command = world.command(&["benchmark", "--profile", "smoke", "--campaign", "a", "--set", STAGES]);
    command.args(["--treatment", name]).args(more);
    command
}

fn run(confined: &Confined, command: &std::process::Command) -> Outcome {
    outcome(confined.enter(command).spawn().expect("nsenter starts"))
}

/// Every published repetition is whole, and reading it tells so.
fn published(campaign: &Path) -> Vec<String> {
    let read = reports::campaign::read(campaign).expect("what is published can be read");
    read.treatments.into_iter().map(|treatment| treatment.name).collect()
}

#[test]
fn a_disk_that_fills_up_at_any_write_costs_the_repetition_and_nothing_else() {
    let mut outcomes = Vec::new();
    // From no room at all to enough for everything that a repetition writes.
    for left in [0, 4, 16, 40, 80, 120, 160, 200, 240, 320, 4000] {
        let world = World::new(&Script::Measure);
        let Some(disk) = Confined::disk(&world.results(), 12_000) else { return };
        run(&disk, &treatment(&world, "service", &[])).expect(0);
        world.play(&Script::FillDisk { left });
        let done = run(&disk, &treatment(&world, "envoy-standalone", &["--treatment", "service", "--resume"]));
        let campaign = disk.seen(&world.of("a", ""));
        let whole = published(&campaign);
        assert!(whole.contains(&"service".to_owned()), "{left} kB left");
        match done.code {
            Some(0) => assert_eq!(whole.len(), 2, "{left} kB left"),
            _ => {
                assert!(done.stderr.contains("No space left on device"), "{left} kB left: {}", done.stderr);
                assert!(done.stderr.contains("hint: "), "{left} kB left: {}", done.stderr);
            }
        }
        outcomes.push(done.code);
        fs_err::remove_file(disk.seen(&world.results().join("ballast"))).expect("the ballast");
        world.play(&Script::Measure);
        run(&disk, &treatment(&world, "envoy-standalone", &["--treatment", "service", "--resume"])).expect(0);
        assert_eq!(published(&campaign), ["service", "envoy-standalone"], "{left} kB were left");
    }
    assert!(outcomes.first() != Some(&Some(0)) && outcomes.last() == Some(&Some(0)), "{outcomes:?}");
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_written() {
    let world = World::new(&Script::Measure);
    let Some(disk) = Confined::disk(&world.results(), 1000) else { return };
    let refused = run(&disk, &treatment(&world, "service", &[])).expect(2);
    assert!(refused.stderr.contains("MB left") && refused.stderr.contains("--results-dir"), "{}", refused.stderr);
    assert!(!disk.seen(&world.of("a", "")).exists());
}

#[test]
fn a_machine_without_free_ports_is_told_so() {
    let world = World::new(&Script::Measure);
    let Some(network) = Confined::ports(40_000, 40_001) else { return };
    let failed = run(&network, &treatment(&world, "service", &[]));
    assert_ne!(failed.code, Some(0));
    assert!(failed.stderr.contains("Address already in use"), "{}", failed.stderr);
    assert!(failed.stderr.contains("ip_local_port_range"), "{}", failed.stderr);
    assert!(!world.of("a", "runs").exists());
}

#[test]
fn programs_here_may_open_what_the_machine_allows_and_never_leave_a_core_file() {
    let world = World::new(&Script::Limits);
    let command = treatment(&world, "service", &[]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -Sn 128 && ulimit -Hn 5000 && ulimit -c unlimited; exec \"$@\"", "sh"]);
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    outcome(limited.spawn().expect("a shell")).expect(0);
    let said = fs_err::read_to_string(world.of("a", "runs/service/repetition-1/stdout.log")).expect("its output");
    assert!(said.contains("open files 5000, core files 0"), "{said}");
}
