//! Google Kubernetes Engine from nothing to a report and back to nothing.
//!
//! [`Target`] says what is wanted and is checked before anything is asked of Google. [`Site`] is the cluster: `gcloud`,
//! and `kubectl` with a kubeconfig of its own. On them work, each idempotent: [`examine`] and [`provision`], [`Gpus`] (take
//! and give back), [`lock`], [`cleanup()`], [`destroy()`]. What may still be billed is never forgotten: every step that
//! gives something back looks until it sees it gone, goes on when another step failed, and ends in a cleanup failure that
//! names what it did not see go.

mod campaign;
mod cleanup;
mod destroy;
pub mod estimate;
mod examine;
mod gcloud;
mod gpu;
mod hold;
mod leftover;
pub mod lock;
mod open;
mod provision;
mod script;
mod secret;
mod site;
mod state;
mod target;
mod words;

pub use campaign::campaign;
pub use cleanup::{Scope, cleanup};
pub use destroy::{Destroyed, destroy};
pub use examine::{Action, Examined, examine};
pub use gcloud::Gcloud;
pub use gpu::{Gpus, Pool};
pub use hold::{AfterLoad, Hold, Terms};
pub use leftover::{Leftover, Leftovers};
pub use open::{Opened, open};
pub use provision::{PoolRecord, Record, provision, verify};
pub use script::{Line, Verb, script};
pub use secret::ensure as ensure_secret;
pub use site::Site;
pub use state::Family;
pub use target::{Deadlines, Target};
