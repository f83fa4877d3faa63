//! `kubectl` against one cluster.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::error::Error;
use super::kubeconfig::Kubeconfig;
use super::tools::Tools;
use super::wait::{Pace, Seen, until};
use crate::process::{Command, Finished, Session};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(60);
/// The largest answer: all pods of a large cluster with their whole status.
const LARGEST: usize = 256 << 20;
/// How much of an answer that cannot be meant is shown.
const SHOWN: usize = 200;

/// `kubectl` against the one cluster of a private kubeconfig. Cheap to clone; the kubeconfig goes with the last clone.
///
/// Questions are noted in the journal only: they are asked again and again, and their answers are large. Changes have a
/// log each.
#[derive(Clone, Debug)]
pub struct Kubectl {
    tools: Tools,
    session: Session,
    kubeconfig: Arc<Kubeconfig>,
    pace: Pace,
    request: Duration,
}

impl Kubectl {
    /// For the cluster of this kubeconfig.
    pub fn new(session: &Session, kubeconfig: Kubeconfig) -> Self {
        Self::new_with(Tools::default(), session, kubeconfig)
    }

    /// As [`Kubectl::new`], with programs from another PATH.
    pub fn new_with(tools: Tools, session: &Session, kubeconfig: Kubeconfig) -> Self {
        let pace = Pace::default();
        Self { tools, session: session.clone(), kubeconfig: Arc::new(kubeconfig), pace, request: REQUEST }
    }

    /// The same with another limit for one request; 60 s unless said otherwise.
    #[must_use]
    pub fn limited(self, request: Duration) -> Self {
        Self { request, ..self }
    }

    /// The same cluster in another session: of one cell, or for cleanup.
    #[must_use]
    pub fn within(&self, session: &Session) -> Self {
        Self { session: session.clone(), ..self.clone() }
    }

    /// The session that its programs are recorded in.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The private kubeconfig, for other programs' `KUBECONFIG`.
    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }

    /// The name of the context.
    pub fn context(&self) -> &str {
        self.kubeconfig.context()
    }

    /// Any program that is to see this cluster and no other.
    pub fn program(&self, step: impl Into<String>, program: &str) -> Command {
        self.tools.command(step, program).env("KUBECONFIG", self.kubeconfig.path())
    }

    /// A `kubectl` of these words, to be run by the caller in [`Kubectl::session`].
    pub fn command(&self, step: impl Into<String>, words: &[&str]) -> Command {
        self.program(step, "kubectl").args(words).timeout(self.request)
    }

    /// Asks a question and returns the text of the answer.
    ///
    /// # Errors
    /// When `kubectl` fails.
    pub fn ask(&self, words: &[&str]) -> Result<String, Error> {
        let answer = self.question(words)?;
        Ok(answer.stdout().into_owned())
    }

    /// What these words name (`["service", "web", "--namespace=a"]`): an object, or a list that is not empty. `None` when
    /// there is no such thing, or the cluster does not even know the kind.
    ///
    /// # Errors
    /// When `kubectl` fails, or answers something else than JSON.
    pub fn find(&self, words: &[&str]) -> Result<Option<Value>, Error> {
        let mut all = vec!["get"];
        all.extend(words);
        all.extend(["--ignore-not-found", "--output=json"]);
        let answer = match self.question(&all) {
            Err(error) if error.is_unknown_kind() => return Ok(None),
            other => other?,
        };
        // Nothing at all is how it says that there is no such object.
        if answer.stdout_bytes().trim_ascii().is_empty() { Ok(None) } else { self.json(&all, &answer).map(Some) }
    }

    /// The objects of a kind (`"pods"`), narrowed by more words (`&["--namespace=a", "--selector=app=b"]`).
    ///
    /// # Errors
    /// When `kubectl` fails, or answers something else than a list.
    pub fn list(&self, kind: &str, words: &[&str]) -> Result<Vec<Value>, Error> {
        let mut all = vec!["get", kind];
        all.extend(words);
        all.push("--output=json");
        let answer = self.question(&all)?;
        let mut listed = self.json(&all, &answer)?;
        match listed.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(self.garbage(&all, "list of objects", "it has no items".to_owned(), &answer)),
        }
    }

    /// As [`Kubectl::list`]; nothing when the cluster does not know the kind at all.
    ///
    /// # Errors
    /// As [`Kubectl::list`].
    pub fn list_if_known(&self, kind: &str, words: &[&str]) -> Result<Vec<Value>, Error> {
        match self.list(kind, words) {
            Err(error) if error.is_unknown_kind() => Ok(Vec::new()),
            other => other,
        }
    }

    /// Makes an object be as described, by server-side apply.
    ///
    /// # Errors
    /// When `kubectl` fails.
    pub fn apply(&self, step: &str, object: &Value) -> Result<(), Error> {
        let words =
            ["apply", "--server-side", "--force-conflicts", "--field-manager=inference-benchmark", "--filename=-"];
        self.command(step, &words).stdin(object.to_string()).run(&self.session)?;
        Ok(())
    }

    /// Creates an object; fails when it is there already, which makes it fit for locks.
    ///
    /// # Errors
    /// When `kubectl` fails; [`Error::complaint`] contains `(AlreadyExists)` when it is there.
    pub fn create(&self, step: &str, object: &Value) -> Result<(), Error> {
        self.command(step, &["create", "--filename=-"]).stdin(object.to_string()).run(&self.session)?;
        Ok(())
    }

    /// Replaces an object; fails when its `metadata.resourceVersion` is not the current one.
    ///
    /// # Errors
    /// When `kubectl` fails; [`Error::complaint`] contains `(Conflict)` when somebody else was faster.
    pub fn replace(&self, step: &str, object: &Value) -> Result<(), Error> {
        self.command(step, &["replace", "--filename=-"]).stdin(object.to_string()).run(&self.session)?;
        Ok(())
    }

    /// Asks for the removal of what these words name, without waiting; what does not exist is removed already.
    ///
    /// # Errors
    /// When `kubectl` fails.
    pub fn delete(&self, step: &str, words: &[&str]) -> Result<(), Error> {
        let mut all = vec!["delete"];
        all.extend(words);
        all.extend(["--ignore-not-found", "--wait=false"]);
        match self.command(step, &all).run(&self.session).map_err(Error::from) {
            Err(error) if error.is_not_found() || error.is_unknown_kind() => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Looks at the cluster until a state is there; see [`until`].
    ///
    /// # Errors
    /// As [`until`].
    pub fn wait<T>(
        &self,
        what: &str,
        limit: Duration,
        mut look: impl FnMut(&Self) -> Result<Seen<T>, Error>,
    ) -> Result<T, Error> {
        until(&self.session, what, limit, self.pace, || look(self))
    }

    /// Waits until what these words name does not exist any more.
    ///
    /// # Errors
    /// As [`until`]; the timeout says what is left.
    pub fn wait_gone(&self, what: &str, limit: Duration, words: &[&str]) -> Result<(), Error> {
        self.wait(what, limit, |kubectl| {
            Ok(match kubectl.find(words)? {
                None => Seen::Done(()),
                Some(object) => match object.get("items").and_then(Value::as_array) {
                    Some(items) if items.is_empty() => Seen::Done(()),
                    Some(items) => Seen::NotYet(format!("still there: {}", super::object::names(items).join(", "))),
                    None => {
                        Seen::NotYet(format!("{} is {}", super::object::name(&object), super::object::phase(&object)))
                    }
                },
            })
        })
    }

    fn question(&self, words: &[&str]) -> Result<Finished, Error> {
        let command = self.command(step(words), words).capture(LARGEST);
        Ok(command.run(&self.session.without_logs())?)
    }

    fn json(&self, words: &[&str], answer: &Finished) -> Result<Value, Error> {
        serde_json::from_slice(answer.stdout_bytes())
            .map_err(|error| self.garbage(words, "JSON document", error.to_string(), answer))
    }

    fn garbage(&self, words: &[&str], expected: &'static str, reason: String, answer: &Finished) -> Error {
        let start: String = answer.stdout().chars().take(SHOWN).collect();
        let answer = self.session.redactor().redact(&start).into_owned();
        Error::Garbage { step: step(words), expected, reason, answer }
    }
}

/// What a question is called in journal and errors.
fn step(words: &[&str]) -> String {
    let shown: Vec<_> = words.iter().take(3).filter(|word| !word.starts_with('-')).copied().collect();
    format!("kubectl {}", shown.join(" "))
}
