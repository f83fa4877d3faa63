//! One call: its verb, its arguments, its flags, held against what the real program accepts.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::answer::Answer;

/// Something a program can be told to do.
#[derive(Debug)]
pub struct Verb {
    /// The words: `container clusters list`.
    pub words: &'static str,
    /// Flags, separated by blanks; one that takes a value ends in `=`, and `o/output=` has two names.
    pub flags: &'static str,
    /// What it does to the state.
    pub run: fn(&mut Value, &Call) -> Answer,
}

/// A call that was understood.
#[derive(Debug)]
pub struct Call {
    /// What is to be done.
    pub verb: &'static Verb,
    /// The arguments after the verb.
    pub arguments: Vec<String>,
    /// Flags by their long names; a switch has the value `true`.
    flags: BTreeMap<String, Vec<String>>,
    /// Standard input.
    pub stdin: Vec<u8>,
}

/// A flag's long name and whether it takes a value.
fn flag(flags: &str, name: &str) -> Option<(String, bool)> {
    flags.split_whitespace().find_map(|known| {
        let value = known.ends_with('=');
        let names: Vec<&str> = known.trim_end_matches('=').split('/').collect();
        names.contains(&name).then(|| (names[names.len() - 1].to_owned(), value))
    })
}

impl Call {
    /// Understands the words, or says what the real program would not understand.
    pub fn parse(words: &[String], verbs: &'static [Verb], stdin: Vec<u8>) -> Result<Self, String> {
        let given: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let plain: Vec<&str> = given.iter().filter(|word| !word.starts_with('-')).copied().collect();
        let verb = verbs
            .iter()
            .filter(|verb| {
                let wanted: Vec<&str> = verb.words.split(' ').collect();
                plain.len() >= wanted.len() && plain[..wanted.len()] == wanted[..]
            })
            .max_by_key(|verb| verb.words.len())
            .ok_or_else(|| format!("unknown verb in `{}`", words.join(" ")))?;
        let mut call = Self { verb, arguments: Vec::new(), flags: BTreeMap::new(), stdin };
        let mut rest = given.into_iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                call.arguments.extend(rest.by_ref().map(str::to_owned));
                break;
            }
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
                call.arguments.push(word.to_owned());
                continue;
            };
            let name = name.strip_prefix('-').unwrap_or(name);
            let (name, joined) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            let (name, takes) =
                flag(verb.flags, name).ok_or_else(|| format!("unknown flag {word} of `{}`", verb.words))?;
            let value = match (takes, joined) {
                (_, Some(value)) => value.to_owned(),
                (true, None) => rest.next().ok_or_else(|| format!("flag {word} without a value"))?.to_owned(),
                (false, None) => "true".to_owned(),
            };
            call.flags.entry(name).or_default().push(value);
        }
        call.arguments.drain(..verb.words.split(' ').count());
        Ok(call)
    }

    /// A flag's last value.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags.get(name).and_then(|values| values.last()).map(String::as_str)
    }

    /// Whether a switch was given.
    pub fn has(&self, name: &str) -> bool {
        self.flag(name).is_some_and(|value| value != "false")
    }

    /// The first argument.
    pub fn first(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }
}
