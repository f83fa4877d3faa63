//! A store in object storage, through the service's own command-line program, which also knows how to sign in.
//!
//! The pointer is changed with the service's own condition (generation or ETag), so two promotions at once cannot both
//! win. These programs tell a missing object from a failure only by their messages, so those are looked at.

use std::path::PathBuf;
use std::time::Duration;

use super::place::{Error, Place};
use crate::process::{self, Command, Inherit, Session};

/// The largest object that is read: a repetition's samples are a few MB.
const LARGEST: usize = 256 << 20;
const TIMEOUT: Duration = Duration::from_secs(300);

/// A storage service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Google Cloud Storage, through `gcloud storage`.
    Google,
    /// S3 and compatible services, through `aws s3` and `aws s3api`.
    Amazon,
}

impl Service {
    /// The scheme of its URLs.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Google => "gs",
            Self::Amazon => "s3",
        }
    }
}

/// A bucket with a prefix as a place.
#[derive(Debug)]
pub struct Bucket {
    service: Service,
    bucket: String,
    prefix: String,
    session: Session,
    program: PathBuf,
}

impl Bucket {
    /// Nothing is asked of the service yet.
    #[must_use]
    pub fn new(service: Service, bucket: String, prefix: String, session: Session) -> Self {
        let program = match service {
            Service::Google => "gcloud",
            Service::Amazon => "aws",
        };
        Self { service, bucket, prefix, session, program: program.into() }
    }

    /// The same with another program than the one on PATH.
    #[cfg(test)]
    #[must_use]
    pub fn with_program(mut self, program: PathBuf) -> Self {
        self.program = program;
        self
    }

    fn key(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.into() } else { format!("{}/{path}", self.prefix) }
    }

    fn url(&self, path: &str) -> String {
        format!("{}://{}/{}", self.service.scheme(), self.bucket, self.key(path))
    }

    fn command(&self, step: &str, arguments: &[&str]) -> Command {
        let command = Command::new(step, &self.program).inherit(Inherit::Everything).timeout(TIMEOUT).args(arguments);
        match self.service {
            // Never waits for an answer on a terminal that is not there.
            Service::Google => command.env("CLOUDSDK_CORE_DISABLE_PROMPTS", "1"),
            Service::Amazon => command.env("AWS_PAGER", ""),
        }
    }

    /// Runs a command that may find nothing.
    fn find(&self, command: &Command) -> Result<Option<Vec<u8>>, Error> {
        match command.clone().capture(LARGEST).run(&self.session) {
            Ok(finished) => Ok(Some(finished.stdout_bytes().to_vec())),
            Err(error) if says(&error, &["not found", "matched no objects", "nosuchkey", "(404)", "404:"]) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What the service calls the current version of an object; `None` when there is none.
    fn version(&self, path: &str) -> Result<Option<String>, Error> {
        let url = self.url(path);
        let key = self.key(path);
        let command = match self.service {
            Service::Google => self.command(
                "look at a stored object",
                &["storage", "objects", "describe", &url, "--format=value(generation)"],
            ),
            Service::Amazon => self.command(
                "look at a stored object",
                &[
                    "s3api",
                    "head-object",
                    "--bucket",
                    &self.bucket,
                    "--key",
                    &key,
                    "--query",
                    "ETag",
                    "--output",
                    "text",
                ],
            ),
        };
        let found = self.find(&command)?;
        Ok(found.map(|text| String::from_utf8_lossy(&text).trim().to_owned()).filter(|text| !text.is_empty()))
    }

    /// Stores content if the object still is at `version` (`None`: not there).
    fn store(&self, path: &str, version: Option<&str>, content: &[u8]) -> Result<(), Error> {
        let result = match self.service {
            Service::Google => {
                let condition = format!("--if-generation-match={}", version.unwrap_or("0"));
                self.command("store an object", &["storage", "cp", "-", &self.url(path), &condition])
                    .stdin(content)
                    .run(&self.session)
            }
            Service::Amazon => {
                // The program wants a file that it can read twice.
                let file = tempfile::NamedTempFile::new()?;
                fs_err::write(file.path(), content)?;
                let body = file.path().to_string_lossy().into_owned();
                let key = self.key(path);
                let mut arguments =
                    vec!["s3api", "put-object", "--bucket", &self.bucket, "--key", &key, "--body", &body];
                match version {
                    Some(version) => arguments.extend(["--if-match", version]),
                    None => arguments.extend(["--if-none-match", "*"]),
                }
                self.command("store an object", &arguments).run(&self.session)
            }
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) if says(&error, &["412", "precondition", "pre-condition", "conditionnotmet"]) => {
                Err(Error::Changed { path: path.into() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Place for Bucket {
    fn get(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let url = self.url(path);
        match self.service {
            Service::Google => self.find(&self.command("read a stored object", &["storage", "cat", &url])),
            Service::Amazon => self.find(&self.command("read a stored object", &["s3", "cp", &url, "-"])),
        }
    }

    fn put(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        match self.store(path, None, content) {
            // Somebody stored it first: objects are named by their content, so it is the same.
            Err(Error::Changed { .. }) => Ok(()),
            other => other,
        }
    }

    fn swap(&self, path: &str, expected: Option<&[u8]>, content: &[u8]) -> Result<(), Error> {
        // The version is asked for before the content: a change in between makes the condition fail.
        let version = self.version(path)?;
        let current = if version.is_some() { self.get(path)? } else { None };
        if current.as_deref() != expected {
            return Err(Error::Changed { path: path.into() });
        }
        self.store(path, version.as_deref(), content)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let url = self.url(folder);
        let text = match self.service {
            Service::Google => {
                let pattern = format!("{url}/**");
                self.find(&self.command("list stored objects", &["storage", "ls", &pattern]))?
            }
            Service::Amazon => {
                let pattern = format!("{url}/");
                // It ends with 1 when there is nothing.
                let command = self.command("list stored objects", &["s3", "ls", &pattern, "--recursive"]);
                self.find(&command.accept([0, 1]))?
            }
        };
        let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
        let start = if self.prefix.is_empty() { String::new() } else { format!("{}/", self.prefix) };
        let bucket = format!("gs://{}/", self.bucket);
        let mut found: Vec<String> = text
            .lines()
            .filter_map(|line| match self.service {
                Service::Google => line.trim().strip_prefix(&bucket),
                // date, time, size, key
                Service::Amazon => line.split_whitespace().nth(3),
            })
            .filter_map(|key| key.strip_prefix(&start))
            .map(str::to_owned)
            .collect();
        found.sort();
        Ok(found)
    }
}

fn says(error: &process::Error, words: &[&str]) -> bool {
    let text = error.stderr_tail().to_lowercase();
    words.iter().any(|word| text.contains(word))
}
