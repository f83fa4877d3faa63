//! A machine for cluster campaigns: every tool is played, a checkout is there, a Python that only pretends.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fake::Cloud;
use crate::world::{Outcome, outcome, workspace, xtask};

/// The token in the machine's environment: no file, argument or output may show it.
pub const TOKEN: &str = "hf_labLabLabLabLabLab0001";

/// Answers what an interpreter is asked, makes environments whose programs are the played ones.
const PYTHON: &str = r#"
case "$*" in
  *version_info*) echo '{"version":[3,12,1],"implementation":"CPython","executable":"BIN/python3.12","venv":true}';;
  *"-m venv"*)
    for folder; do :; done
    mkdir -p "$folder/bin"
    for name in python llmdbenchmark; do
      played=$name; test $name = python && played=python3.12
      printf '#!/bin/sh\nexec BIN/%s "$@"\n' $played > "$folder/bin/$name"
      chmod +x "$folder/bin/$name"
    done;;
  *"import llmdbenchmark"*) echo '{"llmdbenchmark":"0.8.0","python":"3.12.1","freeze":["llmdbenchmark==0.8.0"]}';;
  *"pip --version"*) echo 'pip 24.2 from nowhere';;
esac
"#;

/// The machine.
pub struct Lab {
    home: tempfile::TempDir,
    /// Its clusters.
    pub cloud: Cloud,
}

impl Lab {
    /// A machine whose clusters begin as `state`; `program` is the built `fake_cloud`.
    ///
    /// # Panics
    /// When the file system does not let us.
    pub fn new(program: &Path, state: &Value) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let plays = ["kubectl", "kind", "helm", "skopeo", "gcloud", "llmdbenchmark"];
        let cloud = Cloud::new(home.path(), program, &plays, state);
        let lab = Self { home, cloud };
        let bin = lab.cloud.path().display().to_string();
        lab.script("python3.12", &PYTHON.replace("BIN", &bin));
        lab.script("helmfile", "echo helmfile version 1.5.1");
        lab.script("docker", "exit 0");
        lab.script("gke-gcloud-auth-plugin", "echo v0.5.10");
        for name in ["chmod", "printf"] {
            lab.script(name, &format!("exec /bin/{name} \"$@\""));
        }
        lab.checkout();
        lab
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.cloud.path().join(name);
        fs_err::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a file");
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// A checkout of llm-d-benchmark as small as one can be.
    fn checkout(&self) {
        let folder = self.path("llm-d-benchmark");
        fs_err::create_dir_all(&folder).expect("a folder");
        fs_err::write(folder.join("install.sh"), "PLANNER_GIT=\"git+https://planner.invalid/x.git@v1\"\n")
            .expect("a file");
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"];
        for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "--message=a"]] {
            let mut git = Command::new("git");
            let done = git.args(identity).args(words).current_dir(&folder).env("HOME", self.home.path()).status();
            assert!(done.expect("git runs").success(), "git {words:?}");
        }
    }

    /// A path of the machine.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A file or folder of a campaign.
    pub fn of(&self, campaign: &str, path: &str) -> PathBuf {
        self.path("results").join(campaign).join(path)
    }

    /// The text with this machine's folder taken out.
    pub fn plain(&self, text: &str) -> String {
        text.replace(&self.home.path().display().to_string(), "HOME")
    }

    /// `xtask benchmark` with two short stages and these arguments.
    pub fn benchmark(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(xtask());
        command.args(["benchmark", "--profile", "kind-smoke", "--set", "workload.stages=4x1,4x2"]).args(arguments);
        command
            .env_clear()
            .current_dir(self.home.path())
            .env("PATH", self.cloud.path())
            .env("CARGO_MANIFEST_DIR", workspace().join("xtask"))
            .env("HOME", self.home.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("BENCHMARK_RESULTS_DIR", self.path("results"))
            .env("LLM_D_BENCHMARK_DIR", self.path("llm-d-benchmark"))
            .env("HF_TOKEN", TOKEN)
            // What another active environment leaves in a shell.
            .env("VIRTUAL_ENV", "/other/environment")
            .env("PYTHONPATH", "/other/modules")
            .env("LLMDBENCH_NAMESPACE", "other")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self, mut command: Command) -> Outcome {
        outcome(command.spawn().expect("xtask starts"))
    }

    /// The calls that change something, and those of other programs than kubectl: what is asked while waiting comes as
    /// often as it comes.
    ///
    /// # Panics
    /// When there is no journal.
    pub fn changes(&self) -> Vec<String> {
        let asks =
            ["kubectl get", "kubectl config", "kubectl logs", "kubectl exec harness", "kind get", "helm version"];
        let told = |line: &String| !asks.iter().any(|ask| line.starts_with(ask)) && !line.ends_with("--version");
        let others = ["helm plugin list", "kubectl version --client", "kind version"];
        let calls = self.cloud.calls().into_iter().filter(told).filter(|line| !others.contains(&line.as_str()));
        calls.map(|line| self.plain(&line)).collect()
    }

    /// Every file below the results that mentions `needle`.
    ///
    /// # Panics
    /// When a folder cannot be read.
    pub fn mentions(&self, needle: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.path("results"), self.path("cloud")];
        while let Some(folder) = open.pop() {
            for entry in fs_err::read_dir(folder).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                } else if fs_err::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(needle)) {
                    found.push(path);
                }
            }
        }
        found
    }
}
