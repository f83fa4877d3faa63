//! A campaign's identity, manifest, lock, treatment order and resumption.

pub mod clean;
pub mod id;
pub mod identity;
pub mod lock;
pub mod order;
pub mod store;

pub use id::CampaignId;
pub use identity::Identity;
pub use lock::{Holder, Lock};
pub use order::Cell;
pub use store::{Opening, Store};
