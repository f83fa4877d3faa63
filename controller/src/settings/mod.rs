//! Layered, typed settings: defaults < profile < environment < flags; every value knows its origin.
//!
//! [`keys`] declares each setting once: its dotted name, shape, default, environment variable and documentation.
//! [`resolve`] lays the layers over one another, fills in what follows from other values ([`derive`]), checks everything
//! at once ([`check`]) and returns [`Resolved`]: the typed [`Settings`] with their origins and the files they name.

mod check;
mod derive;
mod document;
mod environment;
mod keys;
mod layer;
mod nearest;
mod node;
mod origin;
mod problem;
mod provider;
mod reference;
mod resolve;
mod scenario;
mod shape;
mod stage;
mod treatment;
mod tree;
mod typed;

#[cfg(test)]
pub(crate) mod test_tree;
#[cfg(test)]
mod tests;

pub use document::markdown;
pub use environment::Environment;
pub use keys::{AMBIENT, Ambient, Key, Section, key, keys, sections};
pub use nearest::nearest;
pub use origin::Origin;
pub use problem::{Error, Problem};
pub use provider::{Place, ProviderFile, StorageClass};
pub use reference::Reference;
pub use resolve::{Entry, Profile, Request, Resolved, resolve};
pub use scenario::Scenario;
pub use shape::Shape;
pub use stage::{Ratio, Stage};
pub use treatment::{Endpoint, LocalRouter, LocalTreatment, Mode, Treatment};
pub use tree::{ConfigTree, Listed};
pub use typed::*;
