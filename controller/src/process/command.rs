//! What to run: a builder that is plain data until it is run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::child::Child;
use super::error::Error;
use super::output::Delivery;
use super::session::Session;
use super::supervise::{Finished, Ignore, Observer};

/// Which of our own environment variables a program sees. `LC_ALL=C.UTF-8` is always set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything: for tools that the user has configured (kubectl, gcloud, git, pip).
    Everything,
    /// What any program needs: PATH, HOME, TMPDIR, USER, XDG folders, proxies and certificates.
    #[default]
    Basics,
    /// Nothing at all.
    Nothing,
}

/// The variables of [`Inherit::Basics`]; a trailing `*` stands for any ending.
const BASICS: [&str; 22] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "USER",
    "LOGNAME",
    "SHELL",
    "TZ",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// What to run, how long it may take and what it may see.
#[derive(Clone, Debug)]
pub struct Command {
    pub(super) step: String,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) inherit: Inherit,
    pub(super) pass: Vec<String>,
    pub(super) environment: Vec<(String, Value)>,
    pub(super) folder: Option<PathBuf>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) stdin_open: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) no_progress: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) capture: Option<usize>,
    pub(super) accepted: Vec<i32>,
    pub(super) makes: Option<PathBuf>,
    pub(super) transient: Option<fn(&str) -> bool>,
    pub(super) output_counts: bool,
}

/// A value of the environment; `Plain(None)` removes the variable.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Plain(Option<OsString>),
    Secret(SecretString),
}

impl Command {
    /// A command for the step of this name (`pip install`, `helm upgrade`): it names log, journal line and errors.
    pub fn new(step: impl Into<String>, program: impl AsRef<OsStr>) -> Self {
        Self {
            step: step.into(),
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            inherit: Inherit::default(),
            pass: Vec::new(),
            environment: Vec::new(),
            folder: None,
            stdin: None,
            stdin_open: false,
            timeout: None,
            no_progress: None,
            grace: Duration::from_secs(10),
            capture: None,
            accepted: vec![0],
            makes: None,
            transient: None,
            output_counts: true,
        }
    }

    /// Adds an argument. Never a secret: other users can see arguments.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Which of our environment variables it sees; [`Inherit::Basics`] unless said otherwise.
    #[must_use]
    pub fn inherit(mut self, inherit: Inherit) -> Self {
        self.inherit = inherit;
        self
    }

    /// Lets a variable of ours through; a trailing `*` stands for any ending (`PIP_*`).
    #[must_use]
    pub fn pass(mut self, pattern: impl Into<String>) -> Self {
        self.pass.push(pattern.into());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), Value::Plain(Some(value.as_ref().to_owned()))));
        self
    }

    /// Removes a variable that would be inherited.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<String>) -> Self {
        self.environment.push((name.into(), Value::Plain(None)));
        self
    }

    /// Sets a variable to a secret: shown as `NAME=$NAME`, and replaced wherever the program prints it.
    #[must_use]
    pub fn secret_env(mut self, name: impl Into<String>, value: &SecretString) -> Self {
        self.environment.push((name.into(), Value::Secret(value.clone())));
        self
    }

    /// Runs it in this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    /// Gives it these bytes to read; without them it reads nothing.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Keeps its standard input open for as long as we live and hold it. A child that ends when its input ends is never
    /// left behind, not even by a SIGKILL of ours.
    #[must_use]
    pub fn stdin_open_while_held(mut self) -> Self {
        self.stdin_open = true;
        self
    }

    /// Ends it after this time.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Ends it when it has neither printed anything nor shown the observer any progress for this long.
    #[must_use]
    pub fn no_progress(mut self, limit: Duration) -> Self {
        self.no_progress = Some(limit);
        self
    }

    /// The time between asking it to end and killing it; 10 s unless said otherwise.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Keeps its standard output, at most so many bytes: more is an error. Captured bytes are not redacted.
    #[must_use]
    pub fn capture(mut self, limit: usize) -> Self {
        self.capture = Some(limit);
        self
    }

    /// What it makes. An exit code of success without it is [`super::Reason::NoEffect`].
    #[must_use]
    pub fn makes(mut self, path: impl Into<PathBuf>) -> Self {
        self.makes = Some(path.into());
        self
    }

    /// Exit codes that are a success; only 0 unless said otherwise.
    #[must_use]
    pub fn accept(mut self, codes: impl Into<Vec<i32>>) -> Self {
        self.accepted = codes.into();
        self
    }

    /// Lines of which this is true, such as a progress bar's, are delivered but kept out of log and tail.
    #[must_use]
    pub fn transient(mut self, is_transient: fn(&str) -> bool) -> Self {
        self.transient = Some(is_transient);
        self
    }

    /// Output alone is no progress to the watchdog, only what the observer counts: for programs that draw a clock.
    #[must_use]
    pub fn output_is_no_progress(mut self) -> Self {
        self.output_counts = false;
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// Everything that is not an accepted exit code within its limits; see [`super::Reason`].
    pub fn run(&self, session: &Session) -> Result<Finished, Error> {
        self.run_observed(session, &mut Ignore)
    }

    /// Runs it to its end and tells the observer what happens meanwhile.
    ///
    /// # Errors
    /// As [`Command::run`].
    pub fn run_observed(&self, session: &Session, observer: &mut dyn Observer) -> Result<Finished, Error> {
        let delivery = if observer.wants_lines() { Delivery::Every } else { Delivery::Nothing };
        Child::start(self, session, delivery)?.finish(observer)
    }

    /// Starts it in the background. It is ended when the guard is dropped; timeout and watchdog do not apply.
    ///
    /// # Errors
    /// When it is missing or cannot be started.
    pub fn spawn(&self, session: &Session) -> Result<Child, Error> {
        Child::start(self, session, Delivery::BestEffort)
    }

    /// The command as a line that can be pasted into a shell, without secrets.
    pub fn display(&self, session: &Session) -> String {
        let mut words = Vec::new();
        for (name, value) in &self.environment {
            match value {
                Value::Plain(Some(value)) => {
                    words.push(format!("{name}={}", quote(&session.redactor().redact(&value.to_string_lossy()))));
                }
                Value::Plain(None) => {}
                Value::Secret(_) => words.push(format!("{name}=\"${name}\"")),
            }
        }
        words.extend(self.redacted_words(session).iter().map(|word| quote(word)));
        let line = words.join(" ");
        match &self.folder {
            Some(folder) => format!("cd {} && {line}", quote(&folder.to_string_lossy())),
            None => line,
        }
    }

    /// Program and arguments without secrets.
    pub(super) fn redacted_words(&self, session: &Session) -> Vec<String> {
        let words: Vec<String> = std::iter::once(&self.program)
            .chain(&self.arguments)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        session.redactor().redact_arguments(&words)
    }

    /// The whole environment of the child.
    pub(super) fn full_environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment: indexmap::IndexMap<OsString, OsString> =
            std::env::vars_os().filter(|(name, _)| self.passes(&name.to_string_lossy())).collect();
        environment.shift_remove(OsStr::new("LANG"));
        environment.insert("LC_ALL".into(), "C.UTF-8".into());
        for (name, value) in &self.environment {
            match value {
                Value::Plain(Some(value)) => environment.insert(name.into(), value.clone()),
                Value::Secret(value) => environment.insert(name.into(), value.expose_secret().into()),
                Value::Plain(None) => environment.shift_remove(OsStr::new(name)),
            };
        }
        environment.into_iter().collect()
    }

    pub(super) fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.environment.iter().filter_map(|(_, value)| match value {
            Value::Secret(secret) => Some(secret),
            Value::Plain(_) => None,
        })
    }

    fn passes(&self, name: &str) -> bool {
        let listed = |pattern: &str| pattern.strip_suffix('*').map_or(name == pattern, |start| name.starts_with(start));
        match self.inherit {
            Inherit::Everything => true,
            Inherit::Basics => BASICS.iter().any(|pattern| listed(pattern)) || self.pass.iter().any(|it| listed(it)),
            Inherit::Nothing => self.pass.iter().any(|it| listed(it)),
        }
    }
}

/// Quotes a word for a POSIX shell.
pub fn quote(word: &str) -> String {
    // A NUL cannot be quoted, and cannot be in an argument either.
    shlex::try_quote(word).map_or_else(|_| format!("{word:?}"), std::borrow::Cow::into_owned)
}
