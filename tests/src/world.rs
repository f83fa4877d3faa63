//! A machine of its own for a test: a home, a cache with a scripted harness, a results folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::harness::{Script, install};

/// A ladder that the scripted harness goes through at once: 4 requests to warm up, then 4 and 8.
pub const STAGES: &str = "workload.stages=4x1w,2x2,4x2";

/// A temporary machine.
pub struct World {
    home: tempfile::TempDir,
}

/// What a finished command left.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl World {
    /// A machine with a harness that plays `script`.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn new(script: &Script) -> Self {
        let world = Self { home: tempfile::tempdir().expect("a temporary folder") };
        install(&world.cache(), &workspace(), script);
        world
    }

    /// A machine without any harness.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn empty() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary folder") }
    }

    /// Replaces what the harness plays.
    pub fn play(&self, script: &Script) {
        install(&self.cache(), &workspace(), script);
    }

    /// The folder that holds campaigns.
    pub fn results(&self) -> PathBuf {
        self.home.path().join("results")
    }

    /// A file or folder of the campaign `id`.
    pub fn of(&self, id: &str, path: &str) -> PathBuf {
        self.results().join(id).join(path)
    }

    /// The machine's home folder, for a test's own files.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    fn cache(&self) -> PathBuf {
        self.home.path().join("cache")
    }

    /// `xtask` with these arguments, in a cleared environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(xtask());
        command.args(arguments).env_clear().current_dir(self.home.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("CARGO_MANIFEST_DIR", workspace().join("xtask"))
            .env("HOME", self.home.path())
            .env("XDG_CACHE_HOME", self.cache())
            .env("BENCHMARK_RESULTS_DIR", self.results())
            // Whatever proxies the machine has: a test that wants one says so.
            .env("BENCHMARK_ROUTER", "embedded")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A campaign `id` of two treatments on the fast ladder, with more arguments.
    pub fn benchmark(&self, id: &str, more: &[&str]) -> Command {
        let mut command = self.command(&["benchmark", "--profile", "smoke", "--campaign", id, "--set", STAGES]);
        command.args(["--treatment", "service", "--treatment", "agentgateway-standalone"]).args(more);
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self, mut command: Command) -> Outcome {
        outcome(command.spawn().expect("xtask starts"))
    }
}

/// Waits for a child and takes what it said.
///
/// # Panics
/// When it cannot be waited for.
pub fn outcome(child: Child) -> Outcome {
    let output = child.wait_with_output().expect("a child can be waited for");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Outcome {
    /// Fails the test with all that was said unless the exit code is this one.
    ///
    /// # Panics
    /// When it is another one.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// The command lines of running processes that mention `needle`, zombies left out.
pub fn running(needle: &Path) -> Vec<String> {
    processes(needle).into_iter().map(|(_, line)| line).collect()
}

/// Running processes whose command line mentions `needle`, zombies left out: id and command line.
pub fn processes(needle: &Path) -> Vec<(i32, String)> {
    let needle = needle.to_string_lossy().into_owned();
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let lines = entries.filter_map(|entry| {
        let folder = entry.ok()?.path();
        let pid = folder.file_name()?.to_str()?.parse().ok()?;
        let line = std::fs::read(folder.join("cmdline")).ok()?;
        Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|(_, line)| line.contains(&needle)).collect()
}

/// Waits until `condition` holds, and says what it last saw when it never does.
///
/// # Panics
/// When it does not hold within 20 s.
pub fn wait_until<T: std::fmt::Debug>(what: &str, mut look: impl FnMut() -> T, condition: impl Fn(&T) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let seen = look();
        if condition(&seen) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: last saw {seen:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The program under test.
///
/// # Panics
/// When it cannot be built.
pub fn xtask() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program("xtask"))
}

/// The program of a package other than this one, built here: at no cost when it is up to date.
///
/// # Panics
/// When it cannot be built.
pub fn program(package: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--quiet", "--package", package, "--message-format", "json"];
    let output = Command::new(cargo).args(arguments).current_dir(workspace()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    programs.next().expect("cargo names the program it built")
}

/// The workspace under test.
///
/// # Panics
/// When this crate is not in one.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the workspace").to_owned()
}
