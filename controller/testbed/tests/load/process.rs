//! A testbed as a process: this test program itself, asked to serve.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::config::Config;
use testbed::serve::Ready;

/// Names the configuration to serve; absent in an ordinary run of the tests.
const ASKED: &str = "TESTBED_CONFIG_TO_SERVE";

/// How long something that is about to happen may take on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Not a test of its own: the process that [`Testbed::start`] starts ends up here and serves.
#[test]
fn serves_when_a_test_asks_for_it() {
    if let Some(path) = std::env::var_os(ASKED) {
        testbed::serve::run(&Config::read(Path::new(&path)).unwrap()).unwrap();
    }
}

/// Sends a completion request to a router over a connection of its own; what comes back is the caller's to read.
pub fn request(router: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(router).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /v1/completions HTTP/1.1\r\nhost: {router}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

/// A running testbed; it ends with this value.
pub struct Testbed {
    child: Child,
    folder: tempfile::TempDir,
    /// Where it listens.
    pub ready: Ready,
}

impl Testbed {
    /// Starts `servers` servers of a hardware model behind a picker with the optimized baseline's policy.
    pub fn start(hardware: &str, servers: usize) -> Self {
        Self::behind(
            hardware,
            servers,
            serde_json::json!({"kind": "picker", "policy": config("routing/optimized-baseline.yaml")}),
        )
    }

    /// Starts `servers` servers of a hardware model behind this router.
    pub fn behind(hardware: &str, servers: usize, router: serde_json::Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hardware = config(&format!("hardware/{hardware}.yaml"));
        let document = serde_json::json!({"hardware": hardware, "servers": servers, "model": "m", "router": router});
        let path = folder.path().join("testbed.yaml");
        fs_err::write(&path, document.to_string()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::serves_when_a_test_asks_for_it", "--nocapture"])
            .env(ASKED, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let ready = lines.find_map(|line| serde_json::from_str(line.get(line.find('{')?..)?).ok()).unwrap();
        Self { child, folder, ready }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A metric's sum over servers.
    pub fn sum(&self, metric: &str) -> f64 {
        let pages = self.ready.servers.iter().map(|server| page(server.trim_start_matches("http://")));
        let starts = |line: &str| line.strip_prefix(metric).is_some_and(|rest| rest.starts_with('{'));
        let one = |page: String| -> f64 {
            page.lines()
                .filter(|line| starts(line))
                .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
                .sum()
        };
        pages.map(one).sum()
    }

    /// Waits until something is so, and says what was seen last when it does not become so.
    pub fn wait_for(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + SOON;
        while !so(self) {
            assert!(Instant::now() < until, "not within {SOON:?}: {what}; {:?}", self.folder.path());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn page(server: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nhost: {server}\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// A file of the repository's `config/`.
pub fn config(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path)
}
