//! What a campaign would do, printed instead of done.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use controller::campaign::Plan;
use serde_json::json;

use crate::progress::duration;

/// Prints the plan as text, or as JSON for other programs.
pub fn print(plan: &Plan, as_json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if as_json {
        let document = json!({
            "campaign": plan.id.as_str(),
            "folder": plan.folder(),
            "profile": plan.resolved.profile,
            "runs": plan.cells.iter().map(|cell| json!({"treatment": cell.treatment, "repetition": cell.repetition}))
                .collect::<Vec<_>>(),
            "estimate": plan.estimate,
            "settings": plan.resolved.entries(),
            "identity": plan.identity.fields(),
            "files": files(plan),
            "commands": commands(plan),
        });
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", text(plan))?;
    Ok(())
}

fn text(plan: &Plan) -> String {
    let mut lines = vec![format!("campaign {} in {}", plan.id, plan.folder().display()), String::new()];
    lines.push("settings".to_owned());
    let (entries, others): (Vec<_>, Vec<_>) = plan.resolved.entries().into_iter().partition(|entry| entry.read);
    let width = entries.iter().map(|entry| entry.key.len()).max().unwrap_or(0);
    lines.extend(entries.iter().map(|entry| format!("  {:width$}  {}  ({})", entry.key, entry.value, entry.origin)));
    if !others.is_empty() {
        lines.push(format!("  ({} settings of other providers: --json lists them)", others.len()));
    }
    lines.push("\nruns, in order".to_owned());
    lines.extend(plan.cells.iter().map(|cell| format!("  {cell}")));
    lines.push("\nfiles read".to_owned());
    lines.extend(files(plan).iter().map(|file| format!("  {}", file.display())));
    lines.push("\ncommands".to_owned());
    lines.extend(commands(plan).iter().map(|command| format!("  {command}")));
    let estimate = plan.estimate;
    lines.push(format!(
        "\nestimate: {} of wall time (longer where a treatment saturates; the first run also installs the harness), {} \
         requests, {} MB of disk",
        duration(Duration::from_secs_f64(estimate.seconds)),
        estimate.requests,
        estimate.bytes.div_ceil(1_000_000)
    ));
    lines.push("nothing was run and nothing was written\n".to_owned());
    lines.join("\n")
}

/// The files of the workspace that decide what is measured.
fn files(plan: &Plan) -> Vec<PathBuf> {
    let settings = &plan.resolved.settings;
    let mut files = vec![
        plan.resolved.profile.path.clone(),
        plan.resolved.provider.path.clone(),
        PathBuf::from("config/pins.yaml"),
        PathBuf::from(format!("config/hardware/{}.yaml", settings.testbed.hardware)),
        PathBuf::from(format!("config/routing/{}.yaml", settings.routing.policy)),
        settings
            .workload
            .file
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("config/workloads/{}.yaml.j2", settings.workload.template))),
    ];
    files.extend(plan.resolved.treatments.iter().map(|treatment| treatment.path.clone()));
    files
}

/// The programs that run, with the places that are only known then left as words.
fn commands(plan: &Plan) -> Vec<String> {
    let version = &plan.resolved.settings.pins.inference_perf;
    vec![
        format!("python -m venv ENVIRONMENT && pip install inference-perf=={version} (once, where it is not cached)"),
        "for each run: cargo xtask testbed serve --config WORK/scratch/testbed.yaml".to_owned(),
        "for each run: inference-perf --config_file WORK/workload.yaml".to_owned(),
    ]
}
