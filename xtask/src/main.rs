//! `cargo xtask`: parses the command line, dispatches to one file a verb, and exits at one place.

mod cli;
mod context;
mod exit;
mod progress;
mod selection;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    controller::process::limits::prepare();
    let context = context::Context::new(&cli.global);
    exit::from(&context, cli.verb.run(&context))
}
