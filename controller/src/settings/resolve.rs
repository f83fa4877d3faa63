//! Lays the layers over one another and returns typed settings with their origins.

use std::path::PathBuf;

use serde::Serialize;
use serde_yaml::{Mapping, Value};

use super::environment::Environment;
use super::keys::{is_read_at, keys};
use super::layer::{HIDDEN, Layer, unread_variables};
use super::origin::Origin;
use super::problem::{Error, Problem};
use super::provider::ProviderFile;
use super::reference::Reference;
use super::shape::show;
use super::treatment::Treatment;
use super::tree::ConfigTree;
use super::typed::Settings;
use super::{check, derive};
use crate::process::Redactor;

/// The profile used when none is named.
const DEFAULT_PROFILE: &str = "quick";

/// What the user asked for: a profile, flags, `--set`, and the environment.
#[derive(Clone, Debug, Default)]
pub struct Request {
    profile: Option<String>,
    flags: Vec<(String, String, String)>,
    sets: Vec<String>,
    environment: Environment,
}

impl Request {
    /// A request that only says in which environment it is made.
    pub fn new(environment: Environment) -> Self {
        Self { environment, ..Self::default() }
    }

    /// The profile named by a flag.
    #[must_use]
    pub fn profile(mut self, profile: Option<String>) -> Self {
        self.profile = profile;
        self
    }

    /// A flag of its own for a setting: `flag("repetitions", 3, "--repetitions")`.
    #[must_use]
    pub fn flag(mut self, key: &str, value: impl ToString, flag: &str) -> Self {
        self.flags.push((key.to_owned(), value.to_string(), flag.to_owned()));
        self
    }

    /// The values of `--set KEY=VALUE`, stronger than other flags.
    #[must_use]
    pub fn sets(mut self, sets: impl IntoIterator<Item = String>) -> Self {
        self.sets.extend(sets);
        self
    }
}

/// The profile that a campaign started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// What it says about itself.
    pub description: String,
    /// The file, relative to the workspace.
    pub path: PathBuf,
}

/// Settings that were checked, and the files they name.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Typed values.
    pub settings: Settings,
    /// The profile.
    pub profile: Profile,
    /// The provider.
    pub provider: ProviderFile,
    /// The treatments, in the order asked for.
    pub treatments: Vec<Treatment>,
    /// The reference profile.
    pub reference: Option<Reference>,
    /// What is not wrong but worth saying, each with its remedy.
    pub warnings: Vec<String>,
    layer: Layer,
}

/// A setting with its value and origin, ready to print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Dotted name.
    pub key: &'static str,
    /// As it may be typed after `--set KEY=`; secrets are hidden.
    pub value: String,
    /// Who gave it.
    pub origin: String,
    /// Whether this campaign's provider reads it.
    pub read: bool,
}

impl Resolved {
    /// Who gave a setting its value; `None` when it has none.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.layer.get(key).map(|given| &given.origin)
    }

    /// Every setting that has a value, in the order of the documentation.
    pub fn entries(&self) -> Vec<Entry> {
        let redactor = Redactor::new();
        keys()
            .filter_map(|key| {
                let given = self.layer.get(key.name)?;
                // A value that is no secret may hold one: a URL with a password.
                let value =
                    if key.secret() { HIDDEN.to_owned() } else { redactor.redact(&show(&given.value)).into_owned() };
                let read = is_read_at(key.name, self.provider.place);
                Some(Entry { key: key.name, value, origin: given.origin.to_string(), read })
            })
            .collect()
    }

    /// All values that are not secret, nested as in a profile file.
    pub fn document(&self) -> Mapping {
        nested(&self.layer, |name| !super::key(name).is_some_and(super::Key::secret))
    }
}

/// Resolves a request against the workspace's `config/` folder.
///
/// # Errors
/// All problems with names and values at once, each with its origin; or a file that cannot be read or parsed.
pub fn resolve(tree: &ConfigTree, request: &Request) -> Result<Resolved, Error> {
    let mut problems = Vec::new();
    let (profile, profile_layer) = read_profile(tree, request, &mut problems)?;
    let environment = Layer::from_environment(&request.environment, &mut problems);
    let mut flags = Layer::default();
    for (name, text, flag) in &request.flags {
        flags.flag(name, text, flag, &mut problems);
    }
    for set in &request.sets {
        flags.set(set, &mut problems);
    }
    let mut base = Layer::defaults()?;
    let pins = tree.read_node(&tree.path("pins.yaml"))?;
    base.over(&Layer::from_node(pins, "config/pins.yaml", "pins", &[], &mut problems));

    let wanted = |name: &str| {
        [&flags, &environment, &profile_layer, &base]
            .into_iter()
            .find_map(|layer| layer.get(name))
            .map(|given| (show(&given.value), given.origin.clone()))
    };
    let provider = match wanted("provider") {
        Some((name, origin)) => tree.provider(&name, origin)?,
        None => return Err(Problem::new("no provider is set", "give one, for instance --provider local").into()),
    };
    let reference = match wanted("reference") {
        Some((name, origin)) => Some(tree.reference(&name, origin)?),
        None => None,
    };

    let mut layer = base;
    let path = provider.path.display().to_string();
    layer.over(&Layer::from_dotted(&provider.settings, &path, &mut problems));
    layer.over(&profile_layer);
    layer.over(&environment);
    layer.over(&flags);
    if let Some(reference) = &reference {
        let path = reference.path.display().to_string();
        let fixed = Layer::from_dotted(&reference.settings, &path, &mut problems);
        problems.extend(check::conflicts(reference, &fixed, [&environment, &flags]));
        layer.over(&fixed);
    }
    finish(tree, Parts { layer, problems, profile, provider, reference, environment: &request.environment })
}

struct Parts<'a> {
    layer: Layer,
    problems: Vec<Problem>,
    profile: Profile,
    provider: ProviderFile,
    reference: Option<Reference>,
    environment: &'a Environment,
}

/// Derives, types and checks what the layers gave.
fn finish(tree: &ConfigTree, parts: Parts<'_>) -> Result<Resolved, Error> {
    let Parts { mut layer, mut problems, profile, provider, reference, environment } = parts;
    let treatments = chosen_treatments(tree, &layer, &mut problems)?;
    // What follows from other values would only repeat their problems.
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    derive::fill(&mut layer, &provider)?;
    let settings: Settings = serde_yaml::from_value(Value::Mapping(nested(&layer, |_| true)))
        .map_err(|error| Problem { message: format!("the settings do not fit together: {error}"), hint: None })?;
    let mut warnings = unread_variables(environment);
    warnings.extend(unread_flags(&layer, &provider));
    let resolved = Resolved { settings, profile, provider, treatments, reference, warnings, layer };
    problems.extend(check::all(tree, &resolved)?);
    if problems.is_empty() { Ok(resolved) } else { Err(Error::Problems(problems)) }
}

/// Flags for another provider. Variables and profiles serve several providers; a flag was typed for this campaign.
fn unread_flags(layer: &Layer, provider: &ProviderFile) -> Vec<String> {
    let given = layer
        .iter()
        .filter(|(name, given)| matches!(given.origin, Origin::Flag(_)) && !is_read_at(name, provider.place));
    given
        .map(|(name, given)| format!("{name} ({}) has no effect with the provider {}", given.origin, provider.name))
        .collect()
}

fn read_profile(tree: &ConfigTree, request: &Request, problems: &mut Vec<Problem>) -> Result<(Profile, Layer), Error> {
    let (name, origin) = match (&request.profile, request.environment.get("BENCHMARK_PROFILE")) {
        (Some(name), _) => (name.as_str(), Origin::Flag("--profile".to_owned())),
        (None, Some(name)) => (name, Origin::Variable("BENCHMARK_PROFILE".to_owned())),
        (None, None) => (DEFAULT_PROFILE, Origin::Default),
    };
    let path = tree.find("profile", "profiles", name, origin)?;
    let node = tree.read_node(&path)?;
    let relative = tree.relative(&path);
    let description = match &node {
        super::node::Node::Map(entries) => entries.get("description").map(|node| match &node.value {
            super::node::Node::Leaf(value) => show(value),
            super::node::Node::Map(_) => String::new(),
        }),
        super::node::Node::Leaf(_) => None,
    };
    let layer = Layer::from_node(node, &relative.display().to_string(), "", &["description"], problems);
    Ok((Profile { name: name.to_owned(), description: description.unwrap_or_default(), path: relative }, layer))
}

fn chosen_treatments(tree: &ConfigTree, layer: &Layer, problems: &mut Vec<Problem>) -> Result<Vec<Treatment>, Error> {
    let Some(given) = layer.get("treatments") else {
        problems.push(Problem::new("no treatment is chosen", "give at least one, for instance --treatment service"));
        return Ok(Vec::new());
    };
    let mut treatments = Vec::new();
    for name in given.value.as_sequence().into_iter().flatten().filter_map(Value::as_str) {
        match tree.treatment(name, &given.origin) {
            Ok(treatment) => treatments.push(treatment),
            Err(Error::Problems(found)) => problems.extend(found),
            Err(error) => return Err(error),
        }
    }
    Ok(treatments)
}

/// Nests dotted names; settings without a value are left out, sections never are.
fn nested(layer: &Layer, keep: impl Fn(&str) -> bool) -> Mapping {
    let mut root = Mapping::new();
    for key in keys().filter(|key| keep(key.name)) {
        put(&mut root, key.name, layer.get(key.name).map(|given| &given.value));
    }
    root
}

fn put(section: &mut Mapping, name: &str, value: Option<&Value>) {
    match (name.split_once('.'), value) {
        (Some((head, rest)), value) => {
            let entry = section.entry(Value::from(head)).or_insert_with(|| Value::Mapping(Mapping::new()));
            // No name is both a value and a section: a test over the table of settings checks it.
            if let Value::Mapping(inner) = entry {
                put(inner, rest, value);
            }
        }
        (None, Some(value)) => {
            section.insert(Value::from(name), value.clone());
        }
        (None, None) => {}
    }
}
