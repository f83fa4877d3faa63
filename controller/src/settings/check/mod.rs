//! Checks over all settings together, before anything runs; every problem is found, not only the first.

mod cluster;

use testbed::config::{Hardware, Policy};

use super::layer::Layer;
use super::problem::{Error, Problem};
use super::provider::Place;
use super::reference::Reference;
use super::resolve::Resolved;
use super::shape::show;
use super::tree::ConfigTree;

/// Report formats that exist.
const FORMATS: [&str; 6] = ["markdown", "html", "csv", "json", "svg", "png"];

/// Explicit values that contradict the reference profile.
pub fn conflicts<'a>(
    reference: &Reference,
    fixed: &Layer,
    explicit: impl IntoIterator<Item = &'a Layer>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for layer in explicit {
        for (name, given) in layer.iter() {
            let Some(must) = fixed.get(name).filter(|must| must.value != given.value) else { continue };
            problems.push(Problem::new(
                format!(
                    "{name} is `{}` ({}), but the reference profile {} is reproduced with `{}`",
                    show(&given.value),
                    given.origin,
                    reference.name,
                    show(&must.value)
                ),
                format!("leave {name} out, or leave the reference profile out"),
            ));
        }
    }
    problems
}

/// Everything that is wrong with values together or with the files they name.
pub fn all(tree: &ConfigTree, resolved: &Resolved) -> Result<Vec<Problem>, Error> {
    let mut problems = Vec::new();
    campaign(resolved, &mut problems);
    treatments(resolved, &mut problems);
    workload(tree, resolved, &mut problems)?;
    report(resolved, &mut problems);
    routing(tree, resolved, &mut problems)?;
    match resolved.provider.place {
        Place::Local => local(tree, resolved, &mut problems)?,
        _ => cluster::check(tree, resolved, &mut problems)?,
    }
    Ok(problems)
}

/// ` (origin)` of a setting, for messages.
fn from(resolved: &Resolved, key: &str) -> String {
    resolved.origin(key).map(|origin| format!(" ({origin})")).unwrap_or_default()
}

/// Whether a campaign may be called so: it names folders, objects and branches.
pub(crate) fn is_campaign_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    id.starts_with(allowed) && id.chars().all(|c| allowed(c) || c == '.' || c == '-') && id.len() <= 128
}

fn campaign(resolved: &Resolved, problems: &mut Vec<Problem>) {
    let settings = &resolved.settings;
    if let Some(id) = settings.campaign.as_deref().filter(|id| !is_campaign_id(id)) {
        let legal: String =
            id.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        let legal = legal.trim_matches(['-', '.']);
        let example = if is_campaign_id(legal) { legal } else { "nightly-1" };
        problems.push(Problem::new(
            format!("`{id}` cannot be a campaign's id{}", from(resolved, "campaign")),
            format!("use small letters, digits, dots and dashes, beginning with a letter or digit: {example}"),
        ));
    }
    if settings.limits.failure_rate > 1.0 {
        problems.push(Problem::new(
            format!(
                "limits.failure_rate is {}, but is a share{}",
                settings.limits.failure_rate,
                from(resolved, "limits.failure_rate")
            ),
            "give a number from 0 to 1",
        ));
    }
}

fn treatments(resolved: &Resolved, problems: &mut Vec<Problem>) {
    let provider = &resolved.provider;
    for (index, treatment) in resolved.treatments.iter().enumerate() {
        if resolved.treatments[..index].iter().any(|earlier| earlier.name == treatment.name) {
            problems.push(Problem::new(
                format!("the treatment {} is listed twice{}", treatment.name, from(resolved, "treatments")),
                "list it once; --repetitions measures it more often",
            ));
        }
        if !treatment.providers.contains(&provider.name) {
            problems.push(Problem::new(
                format!("the treatment {} cannot run on the provider {}", treatment.name, provider.name),
                format!("it runs on {} ({})", treatment.providers.join(", "), treatment.path.display()),
            ));
        }
        let incomplete = match provider.place {
            Place::Local => treatment.local.is_none().then_some("local"),
            _ if treatment.scenario.is_none() => Some("scenario"),
            _ => treatment.endpoint.is_none().then_some("endpoint"),
        };
        if let Some(field) = incomplete.filter(|_| treatment.providers.contains(&provider.name)) {
            problems.push(Problem::new(
                format!("{} has no `{field}`, which {} needs", treatment.path.display(), provider.name),
                format!("add `{field}`, or take {} out of its providers", provider.name),
            ));
        }
        let expected = &resolved.settings.gateway;
        for (key, expected, is) in [
            ("gateway.implementation", &expected.implementation, treatment.implementation.as_str()),
            ("gateway.mode", &expected.mode, treatment.mode.as_str()),
        ] {
            if let Some(expected) = expected.as_deref().filter(|expected| *expected != is) {
                problems.push(Problem::new(
                    format!("{key} is {expected}{}, but {} has {is}", from(resolved, key), treatment.name),
                    format!("leave {key} out, or choose a treatment that has {expected}"),
                ));
            }
        }
    }
}

fn workload(tree: &ConfigTree, resolved: &Resolved, problems: &mut Vec<Problem>) -> Result<(), Error> {
    let workload = &resolved.settings.workload;
    if let Some(file) = &workload.file {
        if !file.is_file() {
            problems.push(Problem::new(
                format!("the workload file {} is not there{}", file.display(), from(resolved, "workload.file")),
                "give the path of a file, or leave workload.file out",
            ));
        }
        return Ok(());
    }
    if workload.stages.is_empty() {
        problems.push(Problem::new(
            format!("the workload has no stages (profile {})", resolved.profile.name),
            "give a ladder, for instance --set workload.stages=96x1w,4x3,60x4",
        ));
    }
    for (stage, scaled) in workload.stages.iter().zip(workload.scaled_stages()) {
        if scaled.planned() == 0 {
            problems.push(Problem::new(
                format!("the stage {stage} scaled by {} plans no request", workload.rate_scale),
                "raise the rate, the duration or workload.rate_scale",
            ));
        }
    }
    let data = &workload.data;
    for (name, low, middle, high) in [
        ("input_tokens", data.input_tokens_min, data.input_tokens, data.input_tokens_max),
        ("output_tokens", data.output_tokens_min, data.output_tokens, data.output_tokens_max),
    ] {
        let middle = middle.or(low).or(high);
        if low.zip(middle).is_some_and(|(low, middle)| low > middle)
            || high.zip(middle).is_some_and(|(high, middle)| high < middle)
        {
            problems.push(Problem::new(
                format!("workload.data.{name} is not between its min and max"),
                format!("order them: {name}_min <= {name} <= {name}_max"),
            ));
        }
    }
    template(tree, resolved, problems)
}

fn template(tree: &ConfigTree, resolved: &Resolved, problems: &mut Vec<Problem>) -> Result<(), Error> {
    let origin = resolved.origin("workload.template").map(ToString::to_string).unwrap_or_default();
    named(tree.workload_template(&resolved.settings.workload.template, origin), problems)?;
    Ok(())
}

fn report(resolved: &Resolved, problems: &mut Vec<Problem>) {
    let report = &resolved.settings.report;
    for format in report.formats.iter().filter(|format| !FORMATS.contains(&format.as_str())) {
        let origin = resolved.origin("report.formats").map(ToString::to_string).unwrap_or_default();
        problems.push(Problem::unknown("report format", format, origin, &FORMATS));
    }
    for pair in &report.comparisons {
        let known = |name: &str| resolved.settings.treatments.iter().any(|treatment| treatment == name);
        if !pair
            .split_once(':')
            .is_some_and(|(baseline, candidate)| known(baseline) && known(candidate) && baseline != candidate)
        {
            problems.push(Problem::new(
                format!(
                    "`{pair}` is not a comparison of two chosen treatments{}",
                    from(resolved, "report.comparisons")
                ),
                format!("write baseline:candidate with two of {}", resolved.settings.treatments.join(", ")),
            ));
        }
    }
}

fn routing(tree: &ConfigTree, resolved: &Resolved, problems: &mut Vec<Problem>) -> Result<(), Error> {
    let policy = &resolved.settings.routing.policy;
    let origin = resolved.origin("routing.policy").map(ToString::to_string).unwrap_or_default();
    named(tree.find("routing policy", "routing", policy, origin), problems)?;
    Ok(())
}

/// The testbed's own parsers read what it will be given, so that no unknown plugin is found after a campaign has begun.
fn local(tree: &ConfigTree, resolved: &Resolved, problems: &mut Vec<Problem>) -> Result<(), Error> {
    let testbed = &resolved.settings.testbed;
    let origin = resolved.origin("testbed.hardware").map(ToString::to_string).unwrap_or_default();
    if let Some(path) = named(tree.find("hardware", "hardware", &testbed.hardware, origin), problems)? {
        let policy = tree.path("routing").join(format!("{}.yaml", resolved.settings.routing.policy));
        let read = Hardware::read(&path).and_then(|hardware| match policy.is_file() {
            true => Policy::read(&policy, &hardware.plugin_defaults).map(drop),
            false => Ok(()),
        });
        if let Err(error) = read {
            problems.push(Problem::new(error.to_string(), "mend the file: the testbed cannot run it"));
        }
    }
    Ok(())
}

/// What a name stands for; a wrong name is kept as a problem, other errors end the check.
fn named<T>(found: Result<T, Error>, problems: &mut Vec<Problem>) -> Result<Option<T>, Error> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(Error::Problems(found)) => {
            problems.extend(found);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
