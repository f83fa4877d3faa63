//! A Kubernetes cluster as this program sees it: one context, through `kubectl`, with a kubeconfig of our own.
//!
//! [`Kubeconfig::private`] copies the chosen context into a file that only this campaign uses, so that nothing we run can
//! change the user's current context, and nothing the user does meanwhile (`kubectl config use-context`) can lead us to
//! another cluster. [`Kubectl`] runs against it: questions answer in JSON, changes are logged step by step, and
//! [`until`] waits for a state and can say what it saw last.
//!
//! ```no_run
//! # use std::{path::Path, time::Duration};
//! # use controller::cluster::{Kubeconfig, Kubectl, Seen};
//! # use controller::process::Session;
//! # fn example(session: &Session, folder: &Path) -> controller::failure::Result<()> {
//! let kubectl = Kubectl::new(session, Kubeconfig::private(session, Some("kind-benchmark"), folder)?);
//! let nodes = kubectl.list("nodes", &[])?;
//! kubectl.apply("lock", &serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lock"}}))?;
//! kubectl.wait("the model servers", Duration::from_secs(600), |kubectl| {
//!     let pods = kubectl.list("pods", &["--selector=app=vllm"])?;
//!     Ok(if pods.len() == 8 { Seen::Done(pods) } else { Seen::NotYet(format!("{} of 8 pods", pods.len())) })
//! })?;
//! # Ok(())
//! # }
//! ```

mod error;
mod kubeconfig;
mod kubectl;
pub mod object;
mod tools;
mod wait;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use kubeconfig::Kubeconfig;
pub use kubectl::Kubectl;
pub use tools::Tools;
pub use wait::{Pace, Seen, until};
