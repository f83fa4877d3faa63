//! A campaign's identity, manifest, lock, treatment order and resumption.

pub mod clean;
pub mod execute;
pub mod id;
pub mod identity;
pub mod lock;
pub mod order;
pub mod plan;
pub mod provenance;
pub mod store;

pub use execute::execute;
pub use id::CampaignId;
pub use identity::Identity;
pub use lock::{Holder, Lock};
pub use order::Cell;
pub use plan::Plan;
pub use store::{Opening, Store};
