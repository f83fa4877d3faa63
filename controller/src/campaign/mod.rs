//! A campaign's identity, manifest, lock, treatment order and resumption.

pub mod id;
pub mod identity;
pub mod lock;
pub mod order;

pub use id::CampaignId;
pub use identity::Identity;
pub use lock::Lock;
pub use order::{Cell, TreatmentOrder};
