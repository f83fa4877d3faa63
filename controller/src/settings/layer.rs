//! One layer of settings: values with their origins, read strictly.

use std::fmt;

use indexmap::IndexMap;
use serde_yaml::Value;

use super::environment::Environment;
use super::keys::{AMBIENT, Key, key, keys};
use super::nearest::nearest;
use super::node::Node;
use super::origin::Origin;
use super::problem::Problem;
use super::shape::show;

/// What is printed in a secret's place.
pub const HIDDEN: &str = "(hidden)";

/// A value, and who gave it. `Value::Null` takes the value of lower layers away.
#[derive(Clone)]
pub struct Given {
    /// In the form that [`Shape::check`](super::Shape::check) returns.
    pub value: Value,
    /// Who gave it.
    pub origin: Origin,
}

/// Values by setting name; laying one layer over another replaces values whole.
#[derive(Clone, Default)]
pub struct Layer(IndexMap<&'static str, Given>);

/// Secrets stay out of debug output, too.
impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, given): (&'static str, &Given)| match key(name).is_some_and(Key::secret) {
            true => (name, format!("{HIDDEN} ({})", given.origin)),
            false => (name, format!("{} ({})", show(&given.value), given.origin)),
        };
        f.debug_map().entries(self.iter().map(shown)).finish()
    }
}

impl Layer {
    /// The built-in defaults.
    pub fn defaults() -> Result<Self, Problem> {
        let mut layer = Self::default();
        for key in keys() {
            if let Some(default) = key.default {
                layer.put_text(key, default, Origin::Default)?;
            }
        }
        Ok(layer)
    }

    /// The settings of a file; `ignored` are top-level entries that are no settings.
    pub fn from_node(node: Node, path: &str, prefix: &str, ignored: &[&str], problems: &mut Vec<Problem>) -> Self {
        let mut layer = Self::default();
        layer.walk(node, path, prefix, 1, ignored, problems);
        layer
    }

    /// The settings of a mapping from dotted names, as provider and reference files have them.
    pub fn from_dotted(values: &IndexMap<String, Value>, path: &str, problems: &mut Vec<Problem>) -> Self {
        let mut layer = Self::default();
        let origin = Origin::File { path: path.to_owned(), line: 1 };
        for (name, value) in values {
            match key(name) {
                Some(key) => problems.extend(layer.put(key, value.clone(), origin.clone()).err()),
                None => problems.push(unknown(name, &origin)),
            }
        }
        layer
    }

    /// The settings that environment variables give.
    pub fn from_environment(environment: &Environment, problems: &mut Vec<Problem>) -> Self {
        let mut layer = Self::default();
        for key in keys() {
            if let Some(text) = environment.get(key.variable) {
                let origin = Origin::Variable(key.variable.to_owned());
                problems.extend(layer.put_text(key, text, origin).err());
            }
        }
        layer
    }

    /// Adds one flag: a setting's name, what was typed, and the flag.
    pub fn flag(&mut self, name: &str, text: &str, flag: &str, problems: &mut Vec<Problem>) {
        let origin = Origin::Flag(flag.to_owned());
        match key(name) {
            Some(key) if key.secret() => problems.push(Problem::new(
                format!("`{name}` cannot be given on the command line ({origin}): other users could see it"),
                format!("set the environment variable {}", key.variable),
            )),
            Some(key) => problems.extend(self.put_text(key, text, origin).err()),
            None => problems.push(unknown(name, &origin)),
        }
    }

    /// Adds one `--set KEY=VALUE`.
    pub fn set(&mut self, text: &str, problems: &mut Vec<Problem>) {
        match text.split_once('=') {
            Some((name, value)) => {
                let name = name.trim();
                self.flag(name, value, &format!("--set {name}"), problems);
            }
            None => problems.push(Problem::new(
                format!("`--set {text}` has no value"),
                "write --set KEY=VALUE, for instance --set workload.stages=96x1w,4x3",
            )),
        }
    }

    /// Lays `upper` over this layer.
    pub fn over(&mut self, upper: &Self) {
        self.0.extend(upper.0.iter().map(|(name, given)| (*name, given.clone())));
    }

    /// The value given for a setting; `None` when nobody gave one or it was taken away.
    pub fn get(&self, name: &str) -> Option<&Given> {
        self.0.get(name).filter(|given| !given.value.is_null())
    }

    /// Everything given, including values taken away.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Given)> {
        self.0.iter().map(|(name, given)| (*name, given))
    }

    /// Gives a setting a value that follows from others.
    pub fn derive(&mut self, name: &str, value: impl Into<Value>, reason: impl Into<String>) -> Result<(), Problem> {
        let origin = Origin::Derived(reason.into());
        match key(name) {
            Some(key) => self.put(key, value.into(), origin),
            None => Err(unknown(name, &origin)),
        }
    }

    fn put_text(&mut self, key: &'static Key, text: &str, origin: Origin) -> Result<(), Problem> {
        if text.trim().is_empty() {
            self.0.insert(key.name, Given { value: Value::Null, origin });
            return Ok(());
        }
        let value = key.shape.parse(text).map_err(|reason| refused(key, reason, &origin))?;
        self.0.insert(key.name, Given { value, origin });
        Ok(())
    }

    fn put(&mut self, key: &'static Key, value: Value, origin: Origin) -> Result<(), Problem> {
        let value = match value {
            Value::Null => Value::Null,
            value => key.shape.check(value).map_err(|reason| refused(key, reason, &origin))?,
        };
        self.0.insert(key.name, Given { value, origin });
        Ok(())
    }

    fn walk(&mut self, node: Node, path: &str, name: &str, line: u64, ignored: &[&str], problems: &mut Vec<Problem>) {
        let origin = Origin::File { path: path.to_owned(), line };
        if let Some(key) = key(name) {
            if key.secret() {
                problems.push(Problem::new(
                    format!("`{name}` is a secret and does not belong into a file ({origin})"),
                    format!("set the environment variable {}", key.variable),
                ));
            } else {
                problems.extend(self.put(key, node.into_value(), origin).err());
            }
            return;
        }
        let is_section = name.is_empty() || keys().any(|key| inside(key.name, name));
        match node {
            Node::Map(entries) if is_section => {
                for (entry, node) in entries {
                    if name.is_empty() && ignored.contains(&entry.as_str()) {
                        continue;
                    }
                    let name = if name.is_empty() { entry } else { format!("{name}.{entry}") };
                    self.walk(node.value, path, &name, node.referenced.line(), ignored, problems);
                }
            }
            Node::Leaf(Value::Null) if is_section => {}
            Node::Leaf(value) if is_section => problems.push(Problem::new(
                format!("`{name}` is a section of settings, not `{}` ({origin})", show(&value)),
                format!("its settings: {}", siblings(&format!("{name}.")).join(", ")),
            )),
            _ => problems.push(unknown(name, &origin)),
        }
    }
}

fn inside(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

fn refused(key: &Key, reason: String, origin: &Origin) -> Problem {
    // A secret that is not what it should be must not be printed by the complaint about it.
    let reason = if key.secret() { "is not usable".to_owned() } else { reason };
    Problem::new(format!("{}: {reason} ({origin})", key.name), format!("{}: {}", key.name, key.doc))
}

/// A setting that does not exist: nearest names of all, and the list of those in the same section.
fn unknown(name: &str, origin: &Origin) -> Problem {
    let near = nearest(name, keys().map(|key| key.name));
    let mut section = name.rsplit_once('.').map_or(String::new(), |(section, _)| format!("{section}."));
    if siblings(&section).is_empty() {
        section.clear();
    }
    let list = format!("known here: {}; all: docs/settings.md", siblings(&section).join(", "));
    let hint = if near.is_empty() { list } else { format!("did you mean {}? ({list})", near.join(" or ")) };
    Problem::new(format!("unknown setting `{name}` ({origin})"), hint)
}

/// The settings and sections directly under a prefix that ends with a dot or is empty.
fn siblings(prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for rest in keys().filter_map(|key| key.name.strip_prefix(prefix)) {
        let name = match rest.split_once('.') {
            Some((section, _)) => format!("{prefix}{section}.…"),
            None => format!("{prefix}{rest}"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Warnings about variables that look like ours but are not read, with the nearest names.
pub fn unread_variables(environment: &Environment) -> Vec<String> {
    const OURS: [&str; 3] = ["BENCHMARK_", "AGW_", "LLM_D_BENCHMARK_"];
    let known: Vec<_> = keys().map(|key| key.variable).chain(AMBIENT.iter().map(|ambient| ambient.name)).collect();
    environment
        .names()
        .filter(|name| OURS.iter().any(|prefix| name.starts_with(prefix)) && !known.contains(name))
        .map(|name| match nearest(name, known.iter().copied()).first() {
            Some(near) => format!("the environment variable {name} is not read; did you mean {near}?"),
            None => format!("the environment variable {name} is not read; docs/settings.md lists those that are"),
        })
        .collect()
}
