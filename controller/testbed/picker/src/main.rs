//! The testbed's endpoint picker as an Envoy external processor: what a real proxy asks about each request.
//!
//! `testbed-picker FILE` serves until SIGTERM, the end of its standard input or its parent's death, and says with one
//! JSON line on standard output where.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use testbed_picker::{Config, Error, start};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: testbed-picker FILE");
        return ExitCode::from(2);
    };
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(path: &std::path::Path) -> Result<(), Error> {
    let config = Config::read(path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        let ready = start(&config)?;
        let line = serde_json::to_string(&ready).map_err(std::io::Error::other)?;
        let mut output = std::io::stdout();
        writeln!(output, "{line}")?;
        output.flush()?;
        testbed::serve::ended().await.map_err(Error::Io)
    });
    runtime.shutdown_background();
    outcome
}
