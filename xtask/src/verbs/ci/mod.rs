//! `ci`: what a change must pass, in the order in which it fails fastest. The same here and on a build machine.

mod smoke;

use std::time::{Duration, Instant};

use clap::ValueEnum;
use controller::failure::Failure;
use xshell::{Shell, cmd};

use crate::context::Context;
use crate::exit::Exit;
use crate::progress::duration;

/// Flags of `ci`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave a step out; may be given more than once
    #[arg(long, value_enum, value_name = "STEP")]
    skip: Vec<Step>,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Formatting
    Fmt,
    /// Lints, warnings are errors
    Clippy,
    /// Unit, integration and end-to-end tests
    Test,
    /// Published reports: what their numbers give today
    Published,
    /// A real campaign of the smoke profile, and checks on its report
    Smoke,
}

/// Runs every step that is not skipped and stops at the first that fails.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let shell = Shell::new()?;
    shell.change_dir(&context.root);
    let mut times = Vec::new();
    for step in Step::value_variants().iter().filter(|step| !args.skip.contains(step)) {
        let began = Instant::now();
        eprintln!("== {}", step.title());
        step.run(&shell, context)
            .map_err(|error| Failure::measurement(error).hint(format!("run this step alone with: {}", step.alone())))?;
        times.push((*step, began.elapsed()));
    }
    for (step, time) in &times {
        println!("ci: {} ok in {}", step.title(), duration(*time));
    }
    println!("ci: all ok in {}", duration(times.iter().map(|(_, time)| *time).sum::<Duration>()));
    Ok(Exit::Success)
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Fmt => "formatting",
            Self::Clippy => "lints",
            Self::Test => "tests",
            Self::Published => "published reports",
            Self::Smoke => "smoke campaign",
        }
    }

    fn run(self, shell: &Shell, context: &Context) -> anyhow::Result<()> {
        match self {
            Self::Fmt => cmd!(shell, "cargo fmt --all --check").run()?,
            Self::Clippy => cmd!(shell, "cargo clippy --workspace --all-targets --quiet -- -D warnings").run()?,
            Self::Test => {
                // Apart from the rest: what it needs of shared libraries would have them all built twice.
                cmd!(shell, "cargo test --package testbed-picker --no-fail-fast").run()?;
                cmd!(shell, "cargo test --workspace --exclude testbed-picker --no-fail-fast").run()?;
            }
            Self::Published => cmd!(shell, "cargo xtask report --check").run()?,
            Self::Smoke => smoke::run(shell, context)?,
        }
        Ok(())
    }

    /// The command that runs only this step.
    fn alone(self) -> String {
        let others = Self::value_variants().iter().filter(|step| **step != self);
        let names =
            others.filter_map(|step| step.to_possible_value()).map(|value| format!(" --skip {}", value.get_name()));
        format!("cargo xtask ci{}", names.collect::<String>())
    }
}
