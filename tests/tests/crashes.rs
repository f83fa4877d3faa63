//! SIGKILL at random moments: what was published stays whole, and the campaign can be completed.

use std::time::{Duration, Instant};

use e2e::{Script, World, outcome, running, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

/// How many kills, and from which seed: `CRASHES=100` is the long form.
fn asked(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A share in [0, 1) that follows from the seed and the number of the kill.
fn share(seed: u64, number: u64) -> f64 {
    let hash = Sha256::digest([seed.to_le_bytes(), number.to_le_bytes()].concat());
    let bits = hash[..4].iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

/// Whatever is registered or published is whole: nothing half-published is ever read.
fn whole(world: &World, id: &str) -> usize {
    if !world.of(id, "runs").is_dir() {
        return 0;
    }
    let campaign = reports::campaign::read(&world.of(id, "")).expect("what is published can be read");
    let repetitions = campaign.treatments.iter().flat_map(|treatment| &treatment.repetitions);
    repetitions.inspect(|repetition| assert_eq!(repetition.stages.len(), 3)).count()
}

#[test]
fn a_campaign_killed_at_any_moment_is_completed_by_resuming_it() {
    let (kills, seed) = (asked("CRASHES", 8), asked("CRASHES_SEED", 1));
    let world = World::new(&Script::Measure);
    // The first command also builds the program.
    world.run(world.command(&["--help"])).expect(0);
    let began = Instant::now();
    world.run(world.benchmark("undisturbed", &[])).expect(0);
    let length = began.elapsed();
    let (mut found, mut killed) = ([0; 3], 0);
    for number in 0..kills {
        let id = format!("k{number}");
        // Evenly over the run: the random part moves within the kill's own slice.
        let moment = length.mul_f64((number as f64 + share(seed, number)) / kills as f64);
        let mut child = world.benchmark(&id, &[]).spawn().expect("xtask starts");
        std::thread::sleep(moment);
        if child.try_wait().expect("a child can be asked").is_none() {
            kill(Pid::from_raw(i32::try_from(child.id()).expect("a process id")), Signal::SIGKILL).expect("a kill");
            killed += 1;
        }
        outcome(child);
        let before = whole(&world, &id);
        found[before] += 1;
        let began = world.of(&id, "campaign-manifest.yaml").is_file();
        // Killed before it began, there is nothing to resume.
        let again = if began { world.benchmark(&id, &["--resume"]) } else { world.benchmark(&id, &[]) };
        let done = world.run(again).expect(0);
        assert_eq!(whole(&world, &id), 2, "killed {moment:?} after the start: {}", done.stderr);
        assert!(!world.of(&id, "campaign.lock").exists(), "killed {moment:?} after the start");
        // What the killed run had measured by then is kept for diagnosis until somebody cleans up.
        world.run(world.command(&["clean", "--campaign", &id])).expect(0);
        assert!(!world.of(&id, "work").exists(), "killed {moment:?} after the start");
        assert_eq!(whole(&world, &id), 2);
        wait_until("everything of ours has ended", || running(&world.of(&id, "")), Vec::is_empty);
    }
    eprintln!("{killed} kills within {length:?}: {found:?} with 0, 1, 2 repetitions published by then");
    assert!(killed * 2 >= kills, "only {killed} of {kills} runs were still going when they were to be killed");
}

/// The long form: minutes for each kill, so it runs only where a number of kills is asked for.
#[test]
fn a_smoke_campaign_with_the_real_harness_killed_at_any_moment_is_completed_by_resuming_it() {
    let kills = asked("REAL_CRASHES", 0);
    if kills == 0 {
        eprintln!("SKIPPED: set REAL_CRASHES to the number of real smoke campaigns to kill, about 3 minutes each");
        return;
    }
    let world = World::new(&Script::Measure);
    let smoke = |id: &str, more: &[&str]| {
        let mut command = world.command(&["benchmark", "--profile", "smoke", "--campaign", id]);
        command.args(more).env_remove("XDG_CACHE_HOME").env("HOME", std::env::var_os("HOME").unwrap_or_default());
        command
    };
    for number in 0..kills {
        let id = format!("k{number}");
        let mut child = smoke(&id, &[]).spawn().expect("xtask starts");
        let moment = Duration::from_secs_f64(100.0 * (number as f64 + share(7, number)) / kills as f64);
        std::thread::sleep(moment);
        child.kill().expect("a kill");
        outcome(child);
        let published = if world.of(&id, "runs").is_dir() {
            reports::campaign::read(&world.of(&id, "")).expect("what is published can be read").treatments.len()
        } else {
            0
        };
        let began = world.of(&id, "campaign-manifest.yaml").is_file();
        world.run(smoke(&id, if began { &["--resume"] } else { &[] })).expect(0);
        let campaign = reports::campaign::read(&world.of(&id, "")).expect("a whole campaign");
        assert_eq!(campaign.treatments.len(), 3, "killed {moment:?} after the start");
        let audit = world.command(&["audit", &world.of(&id, "").display().to_string()]);
        world.run(audit).expect(0);
        wait_until("everything of ours has ended", || running(&world.of(&id, "")), Vec::is_empty);
        eprintln!("killed after {moment:?} with {published} treatments published; completed and audited");
    }
}

#[test]
fn a_killed_campaign_that_nobody_resumes_is_tidied_by_clean() {
    let world = World::new(&Script::Measure);
    for number in 0..3 {
        let id = format!("k{number}");
        let mut child = world.benchmark(&id, &[]).spawn().expect("xtask starts");
        std::thread::sleep(Duration::from_millis(400 + 500 * number));
        child.kill().expect("a kill");
        outcome(child);
    }
    world.run(world.command(&["clean"])).expect(0);
    for number in 0..3 {
        let id = format!("k{number}");
        whole(&world, &id);
        assert!(!world.of(&id, "work").exists() && !world.of(&id, "campaign.lock").exists());
    }
    wait_until("everything of ours has ended", || running(&world.results()), Vec::is_empty);
    let nothing = world.run(world.command(&["clean"])).expect(0);
    assert!(nothing.stdout.contains("nothing to remove"), "{}", nothing.stdout);
}
