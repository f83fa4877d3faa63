//! `completions`: shell completion scripts.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::context::Context;
use crate::exit::Exit;

/// Flags of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to complete in
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completion script of the `xtask` program.
pub fn run(args: Args, _context: &Context) -> anyhow::Result<Exit> {
    clap_complete::generate(args.shell, &mut Cli::command(), "xtask", &mut std::io::stdout());
    Ok(Exit::Success)
}
