//! `testbed`: the embedded model servers and routers, as a process of their own. Hidden: `benchmark` starts it.

use std::path::PathBuf;

use testbed::config::Config;

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
}

/// Carries the subcommand out.
pub fn run(args: Args, _context: &Context) -> anyhow::Result<Exit> {
    match args.command {
        Command::Serve { config } => serve(&config),
    }
}

fn serve(path: &std::path::Path) -> anyhow::Result<Exit> {
    let config = Config::read(path).map_err(usage)?;
    testbed::serve::run(&config).map_err(|error| match error {
        testbed::serve::Error::Config(error) => usage(error),
        testbed::serve::Error::Listen { .. } => usage(error),
        testbed::serve::Error::Io(_) => controller::failure::Failure::internal(error),
    })?;
    Ok(Exit::Success)
}

fn usage(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> controller::failure::Failure {
    controller::failure::Failure::usage(error)
}
