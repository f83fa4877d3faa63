//! Everything that can be known to be wrong before anything is created, all at once.

use std::path::Path;

use super::{kind, namespace};
use crate::campaign::{CampaignId, Cell};
use crate::cluster::{Kubeconfig, Kubectl, Tools};
use crate::doctor::{self, Finding, Subject};
use crate::failure::Result;
use crate::harness::python;
use crate::process::Session;
use crate::render;
use crate::settings::{Place, Resolved};
use crate::upstream;

/// Examines machine, tools and cluster, and whose the campaign's namespaces are. Changes nothing.
///
/// # Errors
/// A usage failure with every problem and its fix.
pub fn preflight(root: &Path, resolved: &Resolved, id: &CampaignId, cells: &[Cell], session: &Session) -> Result<()> {
    let settings = &resolved.settings;
    let subject = Subject {
        settings,
        place: resolved.provider.place,
        session,
        python: python::Request {
            version: settings.pins.inference_perf.clone(),
            requirements: root.join("config/requirements"),
            python: settings.harness.python.clone(),
            cache: python::cache_folder(),
        },
        upstream_cache: upstream::cache_folder(),
        path: None,
    };
    let mut findings = doctor::examine(&subject)?;
    let private = tempfile::tempdir()?;
    if let Some(kubectl) = existing(&Tools::default(), session, resolved, private.path()) {
        findings.extend(foreign_namespaces(&kubectl, id, cells));
    }
    doctor::require(&findings)
}

/// The cluster, when there is one to ask; what keeps it from being asked is the doctor's to tell.
pub(crate) fn existing(tools: &Tools, session: &Session, resolved: &Resolved, folder: &Path) -> Option<Kubectl> {
    let settings = &resolved.settings;
    let kubeconfig = match resolved.provider.place {
        Place::Kind => {
            let name = &settings.cluster.name;
            let exists = kind::exists(tools, session, name).ok()?;
            exists.then(|| kind::kubeconfig(tools, session, name, folder).ok()).flatten()?
        }
        _ => Kubeconfig::private_with(tools, session, settings.cluster.context.as_deref(), folder).ok()?,
    };
    Some(Kubectl::new_with(tools.clone(), session, kubeconfig))
}

fn foreign_namespaces(kubectl: &Kubectl, id: &CampaignId, cells: &[Cell]) -> Vec<Finding> {
    let campaign = id.to_string();
    let mut findings = Vec::new();
    for cell in cells {
        let name = render::names::namespace(&campaign, &cell.treatment, cell.repetition);
        match namespace::owner(kubectl, &name, &campaign) {
            Ok(namespace::Owner::Other(why)) => {
                findings.push(Finding::failed("namespace", &namespace::foreign(&name, &why)))
            }
            Ok(_) => {}
            // One reason is enough: the next question would fail in the same way.
            Err(failure) => return vec![Finding::failed("cluster", &failure)],
        }
    }
    findings
}
