//! Builds the environment: by the checkout's own installer where that can run, otherwise the same packages one by one.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::{RECORD, Record, Request, neutral, script};
use crate::failure::{Failure, Result};
use crate::harness::python::installer::{self, Counter, Installer, explain};
use crate::harness::python::{Interpreter, Progress};
use crate::process::{Command, Session};

/// transformers, pandas and their like, and as much again while wheels are unpacked.
const NEEDED_BYTES: u64 = 3_000_000_000;

/// The planner package's source: the setting, or what the checkout's installer names.
///
/// # Errors
/// A usage failure when there is neither.
pub(super) fn planner(request: &Request) -> Result<String> {
    if let Some(planner) = &request.planner {
        let path = Path::new(planner);
        // A folder is meant as the user's shell would mean it.
        return Ok(if path.exists() { std::path::absolute(path)?.display().to_string() } else { planner.clone() });
    }
    let file = request.checkout.folder.join("install.sh");
    let text = fs_err::read_to_string(&file).unwrap_or_default();
    let named = text.lines().find_map(|line| {
        let (_, value) = line.trim().split_once("PLANNER_GIT=")?;
        Some(value.trim_matches(['"', '\'']).to_owned())
    });
    named.ok_or_else(|| {
        Failure::usage(format!("{} does not say where the planner package comes from", file.display()))
            .hint("name it: --set upstream.planner=SOURCE, or LLM_D_BENCHMARK_PLANNER (a folder, an archive, or what pip takes)")
    })
}

/// Builds it in `folder`, over whatever an interrupted build left there. The caller holds the exclusive lock.
pub(super) fn build(
    session: &Session,
    request: &Request,
    interpreter: &Interpreter,
    planner: &str,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    progress(Progress::Creating(interpreter.to_string()));
    installer::begin(folder, NEEDED_BYTES)?;
    let packages = Installer::choose(session, &request.python, interpreter, folder.join("venv"), progress)?;
    packages.create(session)?;
    progress(Progress::Installing { packages: 0, of: None });
    let by_script = script::run(session, request, folder)?;
    let installer = if by_script {
        "install.sh".to_owned()
    } else {
        with_packages(session, request, &packages, planner, progress)?;
        packages.version(session)?
    };
    progress(Progress::Verifying);
    let facts = prove(session, folder)?;
    let record = Record {
        llmdbenchmark: facts.llmdbenchmark,
        commit: request.checkout.commit.clone(),
        checkout: request.checkout.folder.clone(),
        python: facts.python,
        installer,
        planner: planner.to_owned(),
        finished: jiff::Timestamp::now(),
        freeze: facts.freeze,
    };
    let text = serde_json::to_vec_pretty(&record).map_err(Failure::internal)?;
    Ok(crate::evidence::atomic::write(&folder.join(RECORD), text)?)
}

fn with_packages(
    session: &Session,
    request: &Request,
    packages: &Installer,
    planner: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let checkout = request.checkout.folder.display().to_string();
    let mut counter = Counter::new(None, progress);
    packages.install(
        session,
        "install llm-d-benchmark",
        ["--editable", checkout.as_str()],
        Some("llmdbenchmark"),
        &mut counter,
    )?;
    let Err(whole) = packages.install(session, "install planner", [planner], None, &mut counter) else { return Ok(()) };
    session.check()?;
    // It asks for packages of other repositories that llm-d-benchmark does not import; whether the rest is enough, the
    // proof afterwards tells.
    packages.install(session, "install planner alone", ["--no-deps", planner], None, &mut counter).map_err(|_| {
        whole.hint(format!(
            "the planner package comes from {planner}; where that cannot be reached, give another source: --set \
             upstream.planner=SOURCE, or LLM_D_BENCHMARK_PLANNER (a folder, an archive, or what pip takes)"
        ))
    })
}

#[derive(Deserialize)]
struct Facts {
    llmdbenchmark: String,
    python: String,
    freeze: Vec<String>,
}

/// Imports what a run imports, and lists what is installed.
fn prove(session: &Session, folder: &Path) -> Result<Facts> {
    const QUESTION: &str = r"
import importlib.metadata as metadata, json, platform
import llmdbenchmark.cli
from planner.capacity_planner import model_memory_req
names = sorted({f'{it.metadata['Name']}=={it.version}' for it in metadata.distributions()}, key=str.lower)
print(json.dumps({'llmdbenchmark': metadata.version('llmdbenchmark'), 'python': platform.python_version(), 'freeze': names}))";
    let python = neutral(Command::new("verify llm-d-benchmark", folder.join("venv/bin/python")));
    let facts = installer::ask(session, "verify llm-d-benchmark", python, QUESTION)?;
    neutral(Command::new("try llm-d-benchmark", folder.join("venv/bin/llmdbenchmark")))
        .arg("--version")
        .timeout(Duration::from_secs(120))
        .run(session)
        .map_err(explain)?;
    Ok(facts)
}
