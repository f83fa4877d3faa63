//! Every setting and every environment variable, declared once with its documentation.

mod campaign;
mod cluster;
mod gke;
mod measure;
mod workload;

use super::provider::Place;
use super::shape::Shape;

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted name, as in profile files and after `--set`.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// Built-in default as it would be typed; `None` when it follows from other settings or may be absent.
    pub default: Option<&'static str>,
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// What it means, with units; one or two sentences.
    pub doc: &'static str,
}

impl Key {
    const fn new(name: &'static str, shape: Shape, variable: &'static str, doc: &'static str) -> Self {
        Self { name, shape, default: None, variable, doc }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Whether its value must never be printed.
    pub fn secret(&self) -> bool {
        self.shape == Shape::Secret
    }
}

/// Settings that belong together, in the order of the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// One or two sentences under the heading.
    pub about: &'static str,
    /// The places that read them.
    pub places: &'static [Place],
    /// The settings.
    pub keys: &'static [Key],
}

/// Read wherever treatments run.
const EVERYWHERE: &[Place] = &[Place::Local, Place::Kind, Place::Kube, Place::Gke];
/// Read where treatments run in a cluster.
const CLUSTERS: &[Place] = &[Place::Kind, Place::Kube, Place::Gke];

/// All sections.
const SECTIONS: [Section; 10] = [
    campaign::SECTION,
    workload::SECTION,
    measure::HARNESS,
    measure::LIMITS,
    measure::REPORT,
    campaign::TESTBED,
    campaign::PROXIES,
    cluster::SECTION,
    cluster::COMPONENTS,
    gke::SECTION,
];

/// Sections in the order of the documentation.
pub fn sections() -> &'static [Section] {
    &SECTIONS
}

/// All settings in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// The setting of this dotted name.
pub fn key(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.name == name)
}

/// Whether a campaign at this place reads the setting.
pub fn is_read_at(name: &str, place: Place) -> bool {
    let section = SECTIONS.iter().find(|section| section.keys.iter().any(|key| key.name == name));
    // The harness is the same everywhere, although its version is pinned beside the cluster's components.
    name == "pins.inference_perf" || section.is_some_and(|section| section.places.contains(&place))
}

/// An environment variable that is read but is not a setting of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Ambient {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub doc: &'static str,
}

/// Variables that are not settings.
pub const AMBIENT: [Ambient; 6] = [
    Ambient { name: "BENCHMARK_PROFILE", doc: "The profile to start from, as `--profile`; `quick` when absent." },
    Ambient { name: "NO_COLOR", doc: "Any value turns colours off unless `--color always` is given." },
    Ambient { name: "TERM", doc: "`dumb` turns colours and the redrawn progress bar off." },
    Ambient { name: "CI", doc: "Any value means that progress is printed in plain lines." },
    Ambient {
        name: "XDG_CACHE_HOME",
        doc: "Where private Python environments and checkouts are cached; `~/.cache` when absent.",
    },
    Ambient {
        name: "KUBECONFIG",
        doc: "Where contexts are looked up. It is read, never changed: runs use a private copy.",
    },
];
