//! `gcloud` against one project.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::target::Target;
use super::words::{self, Words};
use crate::cluster::{Error, Kubeconfig, Kubectl, Pace};
use crate::process::{Command, Finished, Inherit, Session, quote};

/// The largest answer: the description of a cluster with all its pools is some ten KB, a service list some hundred.
const LARGEST: usize = 16 << 20;
/// How much of an answer that cannot be meant is shown.
const SHOWN: usize = 200;
/// The longest pause between two looks at what gcloud tells.
pub const PACE: Pace = Pace { first: Duration::from_millis(100), longest: Duration::from_secs(15) };

/// `gcloud` for the project of a target, never asking anything of a person.
#[derive(Clone, Debug)]
pub struct Gcloud {
    session: Session,
    target: Target,
}

impl Gcloud {
    /// For this target.
    pub fn new(session: &Session, target: &Target) -> Self {
        Self { session: session.clone(), target: target.clone() }
    }

    /// The same in another session: of one cell, or for cleanup.
    #[must_use]
    pub fn within(&self, session: &Session) -> Self {
        Self { session: session.clone(), ..self.clone() }
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The session that its programs are recorded in.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Asks for a list.
    ///
    /// # Errors
    /// When gcloud fails, or answers something else than a JSON list.
    pub fn list(&self, words: &Words) -> Result<Vec<Value>, Error> {
        match self.look(words)? {
            (Value::Array(items), _) => Ok(items),
            (_, finished) => Err(self.garbage(words, "list", "it is no list", &finished)),
        }
    }

    /// Asks for one object.
    ///
    /// # Errors
    /// When gcloud fails, or answers something else than a JSON object.
    pub fn object(&self, words: &Words) -> Result<Value, Error> {
        match self.look(words)? {
            (object @ Value::Object(_), _) => Ok(object),
            (_, finished) => Err(self.garbage(words, "object", "it is no object", &finished)),
        }
    }

    /// Changes something, within `limit`. What came of it is for a look to say.
    ///
    /// # Errors
    /// When gcloud fails.
    pub fn change(&self, words: &Words, limit: Duration) -> Result<(), Error> {
        self.command(words, limit).run(&self.session)?;
        Ok(())
    }

    /// The cluster, as it is; `None` when there is none.
    ///
    /// # Errors
    /// As [`Gcloud::list`].
    pub fn cluster(&self) -> Result<Option<Value>, Error> {
        let found = self.list(&words::clusters(&self.target))?;
        Ok(found.into_iter().find(|cluster| cluster["name"] == self.target.cluster.as_str()))
    }

    /// `kubectl` for the cluster, with a kubeconfig of its own in `folder`.
    ///
    /// # Errors
    /// When the credentials cannot be had.
    pub fn kubectl(&self, folder: &Path) -> Result<Kubectl, Error> {
        let unwritable = |error: std::io::Error| Error::Kubeconfig(error.to_string());
        fs_err::create_dir_all(folder).map_err(unwritable)?;
        let credentials = tempfile::tempdir_in(folder).map_err(unwritable)?;
        let file = credentials.path().join("config");
        let words = words::credentials(&self.target);
        // What it writes are credentials, what it prints is nothing: the journal is enough.
        let command = self.command(&words, self.target.deadlines.look).env("KUBECONFIG", &file).makes(&file);
        command.run(&self.session.without_logs())?;
        let text = fs_err::read_to_string(&file).map_err(unwritable)?;
        // A folder for each: the file goes with its last user, and must not take another one's along.
        let own = tempfile::Builder::new().prefix("cluster-").tempdir_in(folder).map_err(unwritable)?.keep();
        Ok(Kubectl::new(&self.session, Kubeconfig::write(text, &own)?).limited(self.target.deadlines.look))
    }

    fn look(&self, words: &Words) -> Result<(Value, Finished), Error> {
        let command = self.command(words, self.target.deadlines.look).capture(LARGEST);
        let finished = command.run(&self.session.without_logs())?;
        match serde_json::from_slice(finished.stdout_bytes()) {
            Ok(value) => Ok((value, finished)),
            Err(error) => Err(self.garbage(words, "JSON document", &error.to_string(), &finished)),
        }
    }

    fn command(&self, words: &Words, limit: Duration) -> Command {
        Command::new(step(words), "gcloud")
            .args(complete(&self.target, words))
            // Its configuration and credentials, and nothing else of ours: no token belongs to it.
            .inherit(Inherit::Basics)
            .pass("CLOUDSDK_*")
            .pass("GOOGLE_*")
            .pass("USE_GKE_*")
            .env("CLOUDSDK_CORE_DISABLE_PROMPTS", "1")
            .timeout(limit)
    }

    fn garbage(&self, words: &Words, expected: &'static str, reason: &str, answer: &Finished) -> Error {
        let start: String = answer.stdout().chars().take(SHOWN).collect();
        let answer = self.session.redactor().redact(&start).into_owned();
        Error::Garbage { step: step(words), expected, reason: reason.to_owned(), answer }
    }
}

/// The call with the flags that all calls have.
fn complete(target: &Target, words: &Words) -> Words {
    let mut all = words.clone();
    all.extend([format!("--project={}", target.project), "--format=json".to_owned(), "--quiet".to_owned()]);
    all
}

/// The call as a line that can be pasted into a shell.
pub fn line(target: &Target, words: &Words) -> String {
    let all: Vec<String> = complete(target, words).iter().map(|word| quote(word)).collect();
    format!("gcloud {}", all.join(" "))
}

/// What a call is called in journal and errors: its verb.
fn step(words: &Words) -> String {
    let verb: Vec<&str> = words.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).take(4).collect();
    format!("gcloud {}", verb.join(" "))
}
