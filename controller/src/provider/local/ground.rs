//! What a campaign finds on this machine before it starts anything: real proxies, and servers of the user's.

use std::net::SocketAddr;

use super::super::backend::{self, Backend, Told};
use super::binary::Proxies;
use crate::failure::{Failure, Result};
use crate::process::Session;
use crate::settings::{Origin, Resolved};

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// What stands in front of the servers.
    pub(super) proxies: Proxies,
    /// The user's servers; empty for the testbed's.
    pub(super) backends: Vec<Backend>,
    /// What each of them says of itself.
    pub(super) told: Vec<Told>,
}

impl Ground {
    /// Looks for everything that these settings ask for.
    ///
    /// # Errors
    /// Usage failures: a program or server that was asked for is not there, or is something else.
    pub(super) fn survey(resolved: &Resolved, session: &Session) -> Result<Self> {
        let settings = &resolved.settings;
        let proxies = Proxies::look_for(settings, &resolved.treatments, session)?;
        let backends = Backend::all(&settings.backend.urls)?;
        if !backends.is_empty() && settings.backend.tokenizer().is_none() {
            return Err(Failure::usage("measuring servers of your own needs their model's tokenizer")
                .hint("name its folder with --tokenizer DIR, or use --tokenizer words where counting words will do"));
        }
        let told = backends.iter().map(Backend::ask).collect::<Result<Vec<_>>>()?;
        Ok(Self { proxies, backends, told })
    }

    /// The model that the user's servers serve; `None` without any.
    ///
    /// # Errors
    /// A usage failure when they do not all serve the model that was asked for.
    pub(super) fn model(&self, resolved: &Resolved) -> Result<Option<String>> {
        if self.backends.is_empty() {
            return Ok(None);
        }
        let given = !matches!(resolved.origin("cluster.model"), None | Some(Origin::Default | Origin::Derived(_)));
        let wanted = given.then_some(resolved.settings.cluster.model.as_str());
        backend::model(&self.backends, &self.told, wanted).map(Some)
    }

    /// The addresses of the user's servers.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.backends.iter().map(|backend| backend.address).collect()
    }

    /// What of it should be said before a campaign begins.
    pub(super) fn remarks(&self) -> Vec<String> {
        let found = self.proxies.all().iter().map(|found| {
            format!(
                "{} {} at {} is the proxy; it may listen on all interfaces",
                found.product.name(),
                found.version,
                found.path.display()
            )
        });
        found.chain(self.proxies.missing.clone()).collect()
    }
}
