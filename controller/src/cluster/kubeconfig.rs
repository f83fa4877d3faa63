//! A kubeconfig of our own with one context in it.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_yaml::Value;

use super::error::Error;
use super::tools::Tools;
use crate::process::{Command, Session};

/// The file's name in its folder.
const FILE: &str = "kubeconfig";

/// `kubectl config` only reads files.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A kubeconfig of one context is a few KB; all contexts of a large organisation are some hundred.
const LARGEST: usize = 8 << 20;

/// A file, readable by us only, that holds one context with its credentials; removed when dropped.
#[derive(Debug)]
pub struct Kubeconfig {
    path: PathBuf,
    context: String,
}

impl Kubeconfig {
    /// Copies `context` (the user's current one when absent) out of the user's kubeconfig into `folder`.
    ///
    /// # Errors
    /// When there is no such context, when `kubectl` cannot be run, and any error of the file system.
    pub fn private(session: &Session, context: Option<&str>, folder: &Path) -> Result<Self, Error> {
        Self::private_with(&Tools::default(), session, context, folder)
    }

    /// As [`Kubeconfig::private`], with `kubectl` from another PATH.
    ///
    /// # Errors
    /// As [`Kubeconfig::private`].
    pub fn private_with(tools: &Tools, session: &Session, context: Option<&str>, folder: &Path) -> Result<Self, Error> {
        // What is printed here are credentials: no log, only the journal.
        let quiet = session.without_logs();
        let known = contexts(tools, &quiet)?;
        let wanted = match context {
            Some(context) => context.to_owned(),
            None => current(tools, &quiet)?.ok_or_else(|| Error::NoContext { wanted: None, known: known.clone() })?,
        };
        if !known.contains(&wanted) {
            return Err(Error::NoContext { wanted: Some(wanted), known });
        }
        let arguments = ["config", "view", "--raw", "--minify", "--flatten", "--output=yaml", "--context", &wanted];
        let text = config(tools, "kubectl config view", &arguments).run(&quiet)?.stdout().into_owned();
        Self::write(text, folder)
    }

    /// Writes a kubeconfig that was had elsewhere, for instance from `kind get kubeconfig`.
    ///
    /// # Errors
    /// When it is no kubeconfig or names no current context, and any error of the file system.
    pub fn write(text: impl Into<String>, folder: &Path) -> Result<Self, Error> {
        let text = text.into();
        let parsed: Value = serde_yaml::from_str(&text)
            .map_err(|_| Error::Kubeconfig("what kubectl printed is no YAML document".to_owned()))?;
        let context = match parsed.get("current-context").and_then(Value::as_str) {
            Some(context) if !context.is_empty() => context.to_owned(),
            _ => return Err(Error::Kubeconfig("it names no current context".to_owned())),
        };
        let path = folder.join(FILE);
        place(&path, folder, &text).map_err(|error| Error::Kubeconfig(error.to_string()))?;
        Ok(Self { path, context })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The one context in it.
    pub fn context(&self) -> &str {
        &self.context
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Left behind it would be private still; the folder only goes when nothing else is in it.
        fs_err::remove_file(&self.path).ok();
        if let Some(folder) = self.path.parent() {
            std::fs::remove_dir(folder).ok();
        }
    }
}

/// The names of all contexts of the user's kubeconfig.
fn contexts(tools: &Tools, session: &Session) -> Result<Vec<String>, Error> {
    let arguments = ["config", "get-contexts", "--output=name"];
    let listed = config(tools, "kubectl config get-contexts", &arguments).run(session)?;
    Ok(listed.stdout().lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn current(tools: &Tools, session: &Session) -> Result<Option<String>, Error> {
    // Ends with 1 when none is set.
    let words = ["config", "current-context"];
    let asked = config(tools, "kubectl config current-context", &words).accept([0, 1]).run(session)?;
    let name = asked.stdout().trim().to_owned();
    Ok((asked.code == 0 && !name.is_empty()).then_some(name))
}

fn config(tools: &Tools, step: &str, arguments: &[&str]) -> Command {
    tools.command(step, "kubectl").args(arguments).timeout(TIMEOUT).capture(LARGEST)
}

fn place(path: &Path, folder: &Path, text: &str) -> std::io::Result<()> {
    if !folder.is_dir() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // A leftover may have another mode or be a link to somewhere.
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
