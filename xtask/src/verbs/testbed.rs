//! `testbed`: the embedded model servers and routers, as a process of their own. Hidden: `benchmark` starts it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, Stdio};
use std::time::Duration;

use controller::failure::Failure;
use testbed::bench::{self, Load};
use testbed::client::{self, Plan};
use testbed::config::Config;
use testbed::serve::Ready;

use crate::context::Context;
use crate::exit::Exit;

/// Flags of `testbed`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Serve until SIGTERM, end of standard input, or the parent's death; one JSON line on stdout says when and where
    Serve {
        /// The configuration: hardware model, number of servers, router
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Send open-loop load as a plan says and leave the results; JSON lines on stdout say how far it is
    Load {
        /// The plan: endpoint, stages, limits
        #[arg(long, value_name = "FILE")]
        plan: PathBuf,
        /// Where the results go
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Measure what the testbed itself costs: CPU time a streamed chunk, lateness of steps
    Bench {
        /// The configuration: hardware model, number of servers, router
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Streams open at the same time
        #[arg(long, default_value_t = 80)]
        streams: usize,
        /// Seconds of load
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
}

/// Carries the subcommand out.
pub fn run(args: Args, _context: &Context) -> anyhow::Result<Exit> {
    match args.command {
        Command::Serve { config } => serve(&config),
        Command::Load { plan, output } => load(&plan, &output),
        Command::Bench { config, streams, seconds } => {
            let duration = Duration::from_secs(seconds);
            measure(&config, Load { streams, duration, prompt_tokens: 192, output_tokens: 60 })
        }
    }
}

fn serve(path: &Path) -> anyhow::Result<Exit> {
    let config = Config::read(path).map_err(usage)?;
    testbed::serve::run(&config).map_err(|error| match error {
        testbed::serve::Error::Config(error) => usage(error),
        testbed::serve::Error::Listen { .. } => usage(error),
        testbed::serve::Error::Io(_) => Failure::internal(error),
    })?;
    Ok(Exit::Success)
}

/// Lines of progress a stage.
const LINES: u64 = 20;

fn load(plan: &Path, output: &Path) -> anyhow::Result<Exit> {
    let text = fs_err::read_to_string(plan).map_err(usage)?;
    let plan: Plan = serde_json::from_str(&text).map_err(usage)?;
    let steps: Vec<u64> = plan.stages.iter().map(|stage| (stage.requests() / LINES).max(1)).collect();
    let told = move |stage: usize, done: u64| {
        if done.is_multiple_of(steps[stage]) {
            // Whoever no longer reads it does not need it.
            writeln!(std::io::stdout(), "{{\"stage\":{stage},\"done\":{done}}}").unwrap_or_default();
        }
    };
    let report = client::run(&plan, told).map_err(|error| match error {
        client::Error::Plan(error) => usage(error),
        client::Error::Unfit(error) => Failure::measurement(error)
            .hint("a proxy that changes answers, buffers streams or hides errors cannot be measured by latency alone"),
        client::Error::Io(error) => Failure::internal(error),
    })?;
    fs_err::write(output, serde_json::to_vec_pretty(&report)?)?;
    Ok(Exit::Success)
}

fn measure(path: &Path, load: Load) -> anyhow::Result<Exit> {
    let config = Config::read(path).map_err(usage)?;
    let mut program = Program::new(std::env::current_exe()?);
    program.args(["testbed", "serve", "--config"]).arg(path);
    let mut served = Served(program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
    let output = served.0.stdout.take().ok_or_else(|| Failure::internal("the testbed has no output"))?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let ready: Ready = serde_json::from_str(&line)?;
    let cost = bench::run(&ready, served.0.id(), &config.model, load)?;
    println!("{}", serde_json::to_string_pretty(&cost)?);
    Ok(Exit::Success)
}

/// A testbed that ends with this value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // Closing its input ends it; a kill makes sure, and fails only where it has ended already.
        drop(self.0.stdin.take());
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn usage(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::usage(error)
}
