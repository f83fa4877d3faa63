//! `plan`: renders a cluster campaign and prints its commands, without touching a cluster.

use std::io::Write;
use std::path::{Path, PathBuf};

use controller::render::{Plan, plan};
use controller::settings::{ConfigTree, Resolved};
use controller::upstream;

use crate::context::Context;
use crate::exit::Exit;
use crate::selection::Selection;

/// Flags of `plan`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Folder for the rendered files [default: <results>/plan/<campaign>]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON for other programs
    #[arg(long)]
    json: bool,
}

/// Renders everything and prints each command that a run would execute.
pub fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let tree = ConfigTree::open(&context.root);
    let resolved = args.selection.resolve(context)?;
    for warning in &resolved.warnings {
        eprintln!("warning: {warning}");
    }
    let campaign = resolved.settings.campaign.clone().unwrap_or_else(|| resolved.profile.name.clone());
    let output =
        args.output.clone().unwrap_or_else(|| resolved.settings.results_dir.join("plan").join(campaign.as_str()));
    let output = std::path::absolute(output)?;
    let plan = plan(&tree, &resolved, &campaign, &output, &checkout(&resolved)?)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &plan)?;
        writeln!(out)?;
    } else {
        print(&plan, &mut out)?;
    }
    Ok(Exit::Success)
}

/// The folder that commands run in: the caller's checkout, or where ours is or would be.
fn checkout(resolved: &Resolved) -> anyhow::Result<PathBuf> {
    Ok(match &resolved.settings.upstream.dir {
        Some(dir) => std::path::absolute(dir)?,
        None => upstream::Spec::of(&resolved.settings, upstream::cache_folder()).folder(),
    })
}

fn print(plan: &Plan, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "# campaign {}: rendered into {}", plan.campaign, plan.folder.display())?;
    writeln!(out, "cd {}", quoted(&plan.checkout))?;
    for cell in &plan.cells {
        writeln!(out, "\n# {} repetition {} ({})", cell.treatment, cell.repetition, cell.folder.display())?;
        for (component, image) in &cell.images {
            writeln!(out, "# expects {component} {image}")?;
        }
        for step in &cell.steps {
            let words: Vec<_> = step.argv.iter().map(|word| controller::process::quote(word)).collect();
            writeln!(out, "{}", words.join(" "))?;
        }
    }
    Ok(())
}

fn quoted(path: &Path) -> String {
    controller::process::quote(&path.display().to_string())
}
