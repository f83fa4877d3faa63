//! What can go wrong with a store of baselines, in words for a person.

use reports::gate::baseline;
use reports::gate::identity::Difference;

use crate::baseline::place::Error as PlaceError;

/// Why the store could not answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place said no.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// There is no baseline at all in the channel.
    #[error("{location} has no baseline in channel `{channel}`")]
    Missing {
        /// The store.
        location: String,
        /// The channel.
        channel: String,
    },
    /// There are baselines, all of other identities.
    #[error(
        "{location} has no baseline of this campaign's identity in channel `{channel}`; the nearest, {digest}, differs in:{}",
        lines(differences)
    )]
    OtherIdentity {
        /// The store.
        location: String,
        /// The channel.
        channel: String,
        /// The nearest baseline.
        digest: String,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// A pointer or record names an object that is not there.
    #[error("{location}: object {digest} is gone; the store is incomplete")]
    Evicted {
        /// The store.
        location: String,
        /// The object.
        digest: String,
    },
    /// An object is not what it should be.
    #[error("{location}: {source}")]
    Object {
        /// The store.
        location: String,
        /// What is wrong.
        source: baseline::Error,
    },
    /// A digest that no object or more than one has.
    #[error("{location}: {count} objects have a digest that starts with {prefix}")]
    Ambiguous {
        /// The store.
        location: String,
        /// What was asked for.
        prefix: String,
        /// How many there are.
        count: usize,
    },
    /// A pointer or history record that cannot be read.
    #[error("{path} is not understood: {why}")]
    Record {
        /// Its path in the store.
        path: String,
        /// Why.
        why: String,
    },
    /// The promotion is not allowed as asked for.
    #[error("{0}")]
    Refused(String),
}

fn lines(differences: &[Difference]) -> String {
    let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "n/a".into());
    differences
        .iter()
        .map(|difference| {
            let (campaign, baseline) = (show(&difference.campaign), show(&difference.baseline));
            format!("\n  {}: {campaign} here, {baseline} in the baseline", difference.field)
        })
        .collect()
}
