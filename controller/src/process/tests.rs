use std::path::Path;
use std::time::{Duration, Instant};

use secrecy::SecretString;

use super::*;

/// A session that records everything in a folder of its own.
fn session(folder: &Path) -> Session {
    let places = Places {
        logs: Some(folder.join("logs")),
        journal: Some(folder.join("commands.jsonl")),
        running: Some(folder.join("running")),
    };
    Session::new(places, Redactor::new(), Interruption::default())
}

fn shell(script: &str) -> Command {
    Command::new("test step", "/bin/sh").args(["-c", script]).grace(Duration::from_millis(300))
}

fn journal(folder: &Path) -> Vec<JournalEntry> {
    let text = fs_err::read_to_string(folder.join("commands.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_alive(pid: &str) -> bool {
    orphans::Identity::of(pid.trim().parse().unwrap()).is_some()
}

/// Waits until a process is gone; its parent may take a moment to reap it.
fn assert_gone(pid: &str) {
    let end = Instant::now() + Duration::from_secs(5);
    while is_alive(pid) {
        assert!(Instant::now() < end, "{pid} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_ends_well_leaves_its_output_a_log_and_a_journal_line() {
    let folder = tempfile::tempdir().unwrap();
    let finished = shell("echo out; echo err >&2").capture(100).run(&session(folder.path())).unwrap();
    assert_eq!((finished.stdout().as_ref(), finished.stderr_tail.as_str()), ("out\n", "err"));
    let log = fs_err::read_to_string(finished.log.unwrap()).unwrap();
    assert!(log.starts_with("$ /bin/sh -c 'echo out; echo err >&2'\n"), "{log}");
    assert!(log.contains("  out\n") && log.contains("! err\n") && log.contains("= exit 0 after "), "{log}");
    let entries = journal(folder.path());
    assert_eq!(entries[0].argv, ["/bin/sh", "-c", "echo out; echo err >&2"]);
    assert_eq!((entries[0].step.as_str(), entries[0].exit.as_str()), ("test step", "exit 0"));
    assert_eq!(fs_err::read_dir(folder.path().join("running")).unwrap().count(), 0);
}

#[test]
fn an_error_says_what_failed_how_and_where_to_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let error = shell("echo some output; echo the reason >&2; exit 7").run(&session(folder.path())).unwrap_err();
    assert!(matches!(error.reason(), Reason::Exit(7)));
    let text = error.to_string();
    for part in [
        "test step failed: it ended with exit code 7",
        "command: /bin/sh -c",
        "001-test-step.log",
        "the reason",
        "some output",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(journal(folder.path())[0].exit, "exit 7");
}

#[test]
fn a_missing_program_is_told_apart_and_is_a_usage_failure() {
    let folder = tempfile::tempdir().unwrap();
    let error = Command::new("step", "no-such-program").run(&session(folder.path())).unwrap_err();
    assert!(error.is_missing());
    let failure = crate::failure::Failure::from(error);
    assert_eq!(failure.kind, crate::failure::Kind::Usage);
    assert!(failure.hints[0].contains("no-such-program"));
}

#[test]
fn a_program_that_cannot_be_executed_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken");
    fs_err::write(&path, "#!/no/such/interpreter\n").unwrap();
    fs_err::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = Command::new("step", &path).run(&session(folder.path())).unwrap_err();
    assert!(matches!(error.reason(), Reason::NotStarted(_)), "{error}");
    assert_eq!(fs_err::read_dir(folder.path().join("running")).unwrap().count(), 0);
}

#[test]
fn a_program_that_was_killed_is_told_from_one_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let error = shell("kill -9 $$").run(&session(folder.path())).unwrap_err();
    assert!(matches!(error.reason(), Reason::Signal(9)), "{error}");
    assert_eq!(journal(folder.path())[0].exit, "SIGKILL");
}

#[test]
fn success_without_what_was_to_be_made_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let error = shell("exit 0").makes(&made).run(&session(folder.path())).unwrap_err();
    assert!(error.to_string().contains(&format!("exit code 0, but {} is not there", made.display())), "{error}");
    shell(&format!("touch '{}'", made.display())).makes(&made).run(&session(folder.path())).unwrap();
}

#[test]
fn codes_other_than_zero_can_be_accepted() {
    let finished = shell("exit 1").accept([0, 1]).run(&Session::unrecorded()).unwrap();
    assert_eq!(finished.code, 1);
}

#[test]
fn a_timeout_ends_the_program_and_everything_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 60 & echo $! >{0}; echo $$ >>{0}; wait", pids.display());
    let error = shell(&script).timeout(Duration::from_millis(400)).run(&session(folder.path())).unwrap_err();
    assert!(matches!(error.reason(), Reason::Timeout(_)), "{error}");
    for pid in fs_err::read_to_string(pids).unwrap().lines() {
        assert_gone(pid);
    }
    assert_eq!(journal(folder.path())[0].exit, "timeout");
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_killed_after_its_grace() {
    let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let error = shell(script).timeout(Duration::from_millis(300)).run(&Session::unrecorded()).unwrap_err();
    assert!(matches!(error.reason(), Reason::Timeout(_)), "{error}");
}

#[test]
fn silence_ends_a_hung_program_but_not_one_that_talks() {
    let hung = shell("echo once; sleep 60").no_progress(Duration::from_millis(300)).run(&Session::unrecorded());
    assert!(matches!(hung.unwrap_err().reason(), Reason::NoProgress(_)));
    let talks = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done";
    shell(talks).no_progress(Duration::from_millis(700)).run(&Session::unrecorded()).unwrap();
}

#[test]
fn what_an_observer_counts_is_progress_and_output_need_not_be() {
    struct Counts(u64);
    impl Observer for Counts {
        fn tick(&mut self) -> Option<u64> {
            self.0 += 1;
            Some(self.0)
        }
    }
    let silent = shell("sleep 0.8").no_progress(Duration::from_millis(500));
    silent.run_observed(&Session::unrecorded(), &mut Counts(0)).unwrap();
    let clock = shell("while :; do echo tick; sleep 0.05; done").output_is_no_progress();
    let error = clock.no_progress(Duration::from_millis(400)).run(&Session::unrecorded()).unwrap_err();
    assert!(matches!(error.reason(), Reason::NoProgress(_)), "{error}");
}

#[test]
fn an_interruption_reaches_the_program_as_the_same_signal() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let interruption = session.interruption().clone();
    let script = "trap 'echo got INT; exit 0' INT; echo ready; while :; do sleep 0.05; done";
    let mut lines = Vec::new();
    // It ends by itself: a grace that a busy machine does not exceed costs nothing.
    let error = shell(script)
        .grace(Duration::from_secs(20))
        .run_observed(&session, &mut |_: Stream, line: &str| {
            lines.push(line.to_owned());
            if line == "ready" {
                interruption.deliver(2);
            }
        })
        .unwrap_err();
    assert!(matches!(error.reason(), Reason::Interrupted(2)), "{error}");
    assert_eq!(lines, ["ready", "got INT"]);
    assert_eq!(crate::failure::Failure::from(error).kind, crate::failure::Kind::Interrupted(2));
    assert!(matches!(shell("true").run(&session).unwrap_err().reason(), Reason::Interrupted(2)));
    shell("true").run(&session.for_cleanup()).unwrap();
}

#[test]
fn a_second_interruption_does_not_wait_for_the_grace() {
    let session = Session::unrecorded();
    let interruption = session.interruption().clone();
    let script = "trap '' INT TERM; echo ready; while :; do sleep 0.05; done";
    let command = shell(script).grace(Duration::from_secs(3600));
    let error = command.run_observed(&session, &mut |_: Stream, _: &str| {
        interruption.deliver(2);
        interruption.deliver(2);
    });
    assert!(matches!(error.unwrap_err().reason(), Reason::Interrupted(2)));
}

#[test]
fn output_held_open_by_a_left_over_process_does_not_hang_us() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let finished =
        shell(&format!("sleep 60 & echo $! >{}; echo done", pid.display())).run(&Session::unrecorded()).unwrap();
    assert_eq!(finished.stdout_tail, "done");
    assert_gone(&fs_err::read_to_string(pid).unwrap());
}

#[test]
fn a_flood_of_output_is_bounded_in_log_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    // 100 MB that are neither lines nor text.
    let finished = shell("head -c 100000000 /dev/zero | tr '\\0' '\\377'; echo; echo end").run(&session).unwrap();
    assert_eq!(finished.stdout_tail.lines().last(), Some("end"));
    assert!(finished.stdout_tail.len() < 64 << 10);
    let log = fs_err::metadata(finished.log.unwrap()).unwrap().len();
    assert!(log < 34 << 20, "the log has {log} bytes");
    let error = shell("head -c 100000 /dev/zero").capture(1000).run(&session).unwrap_err();
    assert!(matches!(error.reason(), Reason::TooMuchOutput(1000)), "{error}");
}

#[test]
fn a_program_sees_no_terminal_and_only_the_environment_it_was_given() {
    let environment = shell("env; cat; echo end").inherit(Inherit::Nothing).env("A", "1").capture(4096);
    let finished = environment.run(&Session::unrecorded()).unwrap();
    let text = finished.stdout();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once('=').map(|(name, _)| name)).collect();
    assert!(names.iter().all(|name| ["A", "LC_ALL", "PWD", "SHLVL", "_", "OLDPWD"].contains(name)), "{names:?}");
    assert!(text.contains("LC_ALL=C.UTF-8") && text.ends_with("end\n"), "{text}");
    let given = shell("cat").stdin("hello").capture(100).run(&Session::unrecorded()).unwrap();
    assert_eq!(given.stdout(), "hello");
    shell("true").stdin(vec![b'x'; 1 << 20]).run(&Session::unrecorded()).unwrap();
}

#[test]
fn a_secret_reaches_the_program_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let secret = SecretString::from("opaque-value-42");
    let command = shell("echo $S; echo $S >&2; exit 1").secret_env("S", &secret).arg("--password").arg("hunter22");
    let error = command.run(&session).unwrap_err();
    let log = fs_err::read_to_string(error.log().unwrap()).unwrap();
    let journal = fs_err::read_to_string(folder.path().join("commands.jsonl")).unwrap();
    for text in [log, journal, error.to_string(), format!("{error:?}"), format!("{command:?}")] {
        assert!(!text.contains("opaque-value-42"), "{text}");
    }
    assert!(error.stdout_tail().contains(REDACTED));
    assert!(command.display(&session).starts_with("S=\"$S\" /bin/sh"), "{}", command.display(&session));
    assert!(!command.display(&session).contains("hunter22"));
}

#[test]
fn the_command_line_can_be_pasted() {
    let command = Command::new("s", "helm").args(["install", "a b", "it's"]).env("K", "v w").folder("/some where");
    assert_eq!(command.display(&Session::unrecorded()), "cd '/some where' && K='v w' helm install 'a b' \"it's\"");
}

#[test]
fn a_background_child_is_found_ready_and_ended_with_its_guard() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let mut child = shell("sleep 60 & echo noise; echo port $!; wait").spawn(&session).unwrap();
    let grandchild =
        child.wait_for(Duration::from_secs(10), |line| line.strip_prefix("port ").map(str::to_owned)).unwrap();
    assert!(child.check().is_ok() && is_alive(&grandchild));
    let pid = child.pid().to_string();
    drop(child);
    assert_gone(&pid);
    assert_gone(&grandchild);
    assert_eq!(journal(folder.path())[0].exit, "stopped");
}

#[test]
fn a_background_child_that_ends_before_it_is_ready_says_why() {
    let mut child = shell("echo cannot bind >&2; exit 3").spawn(&Session::unrecorded()).unwrap();
    let error = child.wait_for(Duration::from_secs(10), |_| None::<()>).unwrap_err();
    assert!(matches!(error.reason(), Reason::EndedEarly(_)), "{error}");
    assert!(error.to_string().contains("cannot bind") && error.to_string().contains("3"), "{error}");
    let mut slow = shell("sleep 60").spawn(&Session::unrecorded()).unwrap();
    let error = slow.wait_for(Duration::from_millis(100), |_| None::<()>).unwrap_err();
    assert!(matches!(error.reason(), Reason::Timeout(_)), "{error}");
}

#[test]
fn a_child_whose_input_is_held_ends_when_we_let_go() {
    let mut child = shell("echo ready; cat; exit 0").stdin_open_while_held().spawn(&Session::unrecorded()).unwrap();
    child.wait_for(Duration::from_secs(10), |line| (line == "ready").then_some(())).unwrap();
    assert!(child.is_running());
    child.stop();
}

#[test]
fn what_cannot_be_recorded_stops_work_but_not_cleanup() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("logs"), "a file where a folder should be").unwrap();
    let session = session(folder.path());
    let error = shell("true").run(&session).unwrap_err();
    assert!(matches!(error.reason(), Reason::Record(_)), "{error}");
    shell("true").run(&session.for_cleanup()).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn children_of_a_process_that_is_gone_are_found_and_ended_and_those_of_a_living_one_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let running = folder.path().join("running");
    let mut child = shell("sleep 60 & echo $!; wait").spawn(&session).unwrap();
    let grandchild = child.wait_for(Duration::from_secs(10), |line| Some(line.to_owned())).unwrap();
    assert!(orphans::find(&running).unwrap().is_empty(), "we are alive");

    // The note as a process would leave it that was killed: with an owner that is gone.
    let note = fs_err::read_dir(&running).unwrap().next().unwrap().unwrap().path();
    let mut content: serde_json::Value = serde_json::from_slice(&fs_err::read(&note).unwrap()).unwrap();
    content["owner"]["started"] = "another boot/1".into();
    fs_err::write(&note, content.to_string()).unwrap();

    let found = orphans::find(&running).unwrap();
    assert_eq!((found.len(), found[0].step.as_str()), (1, "test step"));
    assert!(found[0].pids.contains(&grandchild.parse().unwrap()), "{found:?}");
    assert_eq!(orphans::end_all(&running, Duration::from_millis(500)).unwrap().len(), 1);
    assert_gone(&grandchild);
    assert!(!note.exists() && orphans::end_all(&running, Duration::ZERO).unwrap().is_empty());
}

#[test]
fn a_process_id_that_was_used_again_is_not_taken_for_the_old_process() {
    let own = orphans::Identity::own().unwrap();
    assert!(own.is_alive());
    assert!(!orphans::Identity { started: "earlier".into(), ..own }.is_alive());
    assert_eq!(orphans::Identity::of(i32::MAX), None);
}
