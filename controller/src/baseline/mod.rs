//! Where baselines live: a folder, gs:// or s3://, behind one interface.
//!
//! ```text
//! objects/sha256/ab/<digest>                          immutable: a baseline (JSON) or a run's samples (zstd)
//! identities/<identity>/<channel>/CURRENT             the one thing that changes, by compare-and-swap
//! identities/<identity>/<channel>/history/<time>-<digest>.json   append-only promotion records
//! ```

mod bucket;
mod folder;
mod judge;
mod place;
mod proposal;
mod samples;
mod store;
#[cfg(test)]
mod tests;
mod transfer;

pub use bucket::Service;
pub use judge::{JudgeError, Request, judge};
pub use place::{Error as PlaceError, Location, NotALocation, Place};
pub use proposal::{Proposal, ProposalError, member, propose};
pub use store::{Channel, Error, Found, Promotion, Store, StoredBaseline, VerifyProblem};
pub use transfer::{Transfer, transfer};
