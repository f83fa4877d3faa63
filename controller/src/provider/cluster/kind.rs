//! A Kind cluster: made when it is not there, used when it is; images brought in as archives.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::cell::Up;
use crate::cluster::{Kubeconfig, Tools};
use crate::failure::{Kind, Result};
use crate::lifecycle::{Event, Observer};
use crate::process::Session;
use crate::render::create_kind;

/// A node's image is about 1 GB.
const CREATE: Duration = Duration::from_secs(1800);
const ASK: Duration = Duration::from_secs(60);
/// An image of some GB on a slow line.
const COPY: Duration = Duration::from_secs(3600);

/// The kubeconfig of the cluster of this name, which is made when it is not there and stays afterwards.
///
/// # Errors
/// When it cannot be made or does not answer.
pub(super) fn ensure(session: &Session, name: &str, private: &Path, observer: &dyn Observer) -> Result<Kubeconfig> {
    if exists(&Tools::default(), session, name)? {
        observer.notify(Event::Preparing { what: format!("using the Kind cluster {name}") });
    } else {
        observer.notify(Event::Preparing { what: format!("creating the Kind cluster {name}") });
        // Its own kubeconfig would become the user's current context; this one is thrown away.
        let scratch = tempfile::tempdir()?;
        let step = create_kind(name, &scratch.path().join("kubeconfig"));
        Tools::default()
            .command(step.name, &step.argv[0])
            .args(&step.argv[1..])
            .timeout(CREATE)
            .run(session)
            .map_err(|error| error.failure(Kind::Usage))?;
    }
    kubeconfig(&Tools::default(), session, name, private)
}

/// The kubeconfig of a cluster that exists.
///
/// # Errors
/// When kind cannot give it.
pub(crate) fn kubeconfig(tools: &Tools, session: &Session, name: &str, folder: &Path) -> Result<Kubeconfig> {
    // What it prints are credentials.
    let quiet = session.without_logs();
    let words = ["get", "kubeconfig", "--name", name];
    let asked = tools.command("kind get kubeconfig", "kind").args(words).timeout(ASK).capture(1 << 20).run(&quiet);
    let text = asked.map_err(|error| error.failure(Kind::Usage))?.stdout().into_owned();
    Kubeconfig::write(text, folder).map_err(|error| error.failure(Kind::Usage))
}

/// Whether there is a cluster of this name.
///
/// # Errors
/// When kind cannot be asked.
pub(crate) fn exists(tools: &Tools, session: &Session, name: &str) -> Result<bool> {
    let asked = tools.command("kind get clusters", "kind").args(["get", "clusters"]).timeout(ASK).capture(1 << 20);
    let answer = asked.run(session).map_err(|error| error.failure(Kind::Usage))?;
    // Without any cluster it says so on stderr and prints nothing.
    Ok(answer.stdout().lines().any(|line| line.trim() == name))
}

/// Brings the cell's images onto the nodes, each once a run.
///
/// # Errors
/// When an image cannot be had or loaded.
pub(super) fn load_images(
    up: &Up<'_>,
    loaded: &mut BTreeSet<String>,
    private: &Path,
    observer: &dyn Observer,
) -> Result<()> {
    for image in up.rendered.needed_images() {
        if loaded.contains(&image) {
            continue;
        }
        observer.notify(Event::Preparing { what: format!("loading {image} into Kind") });
        let archives = tempfile::Builder::new().prefix("image-").tempdir_in(private)?;
        let archive = archives.path().join("image.tar");
        for step in up.steps().load_image(&image, &archive) {
            up.execute(&step, COPY)?;
        }
        loaded.insert(image);
    }
    Ok(())
}
