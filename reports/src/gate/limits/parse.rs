//! Reads a limits file; collects all that is wrong with it.

use std::fmt;
use std::path::Path;

use indexmap::IndexMap;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::grammar::{self, Reason};
use super::{Error, Gate, Limits, Noise, OnInconclusive, Origin, Problem, Rule, VERSION, Validity, Waiver};
use crate::files;

/// Reads a limits file.
///
/// # Errors
///
/// The file cannot be read, or says something that cannot be meant; the message points at every such place.
pub fn read(path: &Path) -> Result<Limits, Error> {
    parse(path, &files::read_text(path, files::DOCUMENT_LIMIT)?)
}

/// As [`read`], for text that came from `path`.
///
/// # Errors
///
/// As [`read`].
pub fn parse(path: &Path, text: &str) -> Result<Limits, Error> {
    let problems = match serde_saphyr::from_str::<Document>(text) {
        Ok(document) => match Reader::default().limits(document) {
            Ok(limits) => return Ok(limits),
            Err(problems) => problems,
        },
        Err(error) => {
            let location = error.location();
            vec![Problem {
                line: location.map_or(0, |location| location.line()),
                column: location.map_or(0, |location| location.column()),
                message: plain(&error),
            }]
        }
    };
    Err(Error::Problems { path: path.into(), text: text.into(), problems })
}

/// The parser's message without the place and the excerpt, which are shown in our own way.
fn plain(error: &serde_saphyr::Error) -> String {
    let message = error.without_snippet().to_string();
    let first = message.lines().next().unwrap_or_default();
    first.split(" at line ").next().unwrap_or(first).trim_end_matches(" at").to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
    version: Spanned<u32>,
    #[serde(default)]
    noise: RawNoise,
    #[serde(default)]
    gate: RawGate,
    #[serde(default)]
    validity: RawValidity,
    thresholds: Thresholds,
    #[serde(default)]
    waivers: Vec<RawWaiver>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawNoise {
    tau: Option<Spanned<String>>,
    tau_floor: Option<Spanned<String>>,
    normalise_by: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawGate {
    alpha: Option<Spanned<String>>,
    max_mde: Option<Spanned<String>>,
    max_stage_mde: Option<Spanned<String>>,
    on_inconclusive: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawValidity {
    output_tokens: Option<Spanned<String>>,
    schedule_delay: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWaiver {
    r#match: Spanned<String>,
    until: Spanned<String>,
    reason: Spanned<String>,
    #[serde(default)]
    issue: Option<u64>,
}

/// The `thresholds` mapping with the places of its keys, which a plain map would lose.
struct Thresholds(Vec<(Spanned<String>, Vec<Spanned<String>>)>);

impl<'de> Deserialize<'de> for Thresholds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Thresholds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from metrics to lists of threshold lines")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Thresholds, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Thresholds(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Collects problems while it reads.
#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn limits(mut self, document: Document) -> Result<Limits, Vec<Problem>> {
        if document.version.value != VERSION {
            let found = document.version.value;
            self.add(&document.version, 0, format!("version {found} is not understood; {VERSION} is"));
        }
        let noise = self.noise(&document.noise);
        let gate = self.gate(&document.gate);
        let validity = self.validity(&document.validity);
        let rules = self.rules(&document.thresholds.0);
        let waivers = document.waivers.iter().filter_map(|waiver| self.waiver(waiver)).collect();
        if rules.is_empty() && self.problems.is_empty() {
            self.problems.push(Problem {
                line: 0,
                column: 0,
                message: "`thresholds` has no line: nothing would be gated".into(),
            });
        }
        if self.problems.is_empty() { Ok(Limits { noise, gate, validity, rules, waivers }) } else { Err(self.problems) }
    }

    fn noise(&mut self, raw: &RawNoise) -> Noise {
        let default = Noise::default();
        let tau = raw.tau.as_ref().filter(|tau| tau.value != "auto");
        Noise {
            tau: tau.map(|_| self.value(tau, 0.0, grammar::percent)),
            tau_floor: self.value(raw.tau_floor.as_ref(), default.tau_floor, grammar::percent),
            normalise_by: raw.normalise_by.as_ref().map(|name| name.value.clone()).filter(|name| name != "none"),
        }
    }

    fn gate(&mut self, raw: &RawGate) -> Gate {
        let default = Gate::default();
        let on_inconclusive = match raw.on_inconclusive.as_ref().map(|choice| choice.value.as_str()) {
            None => default.on_inconclusive,
            Some("warn") => OnInconclusive::Warn,
            Some("fail") => OnInconclusive::Fail,
            Some(other) => {
                let message = format!("`{other}` is neither `warn` nor `fail`");
                if let Some(place) = &raw.on_inconclusive {
                    self.add(place, 0, message);
                }
                default.on_inconclusive
            }
        };
        let gate = Gate {
            alpha: self.value(raw.alpha.as_ref(), default.alpha, grammar::percent),
            max_mde: self.value(raw.max_mde.as_ref(), default.max_mde, grammar::percent),
            max_stage_mde: self.value(raw.max_stage_mde.as_ref(), default.max_stage_mde, grammar::percent),
            on_inconclusive,
        };
        if let Some(place) = raw.alpha.as_ref().filter(|_| !(gate.alpha > 0.0 && gate.alpha < 0.5)) {
            self.add(place, 0, "the chance of a false alarm must lie between 0% and 50%".into());
        }
        gate
    }

    fn validity(&mut self, raw: &RawValidity) -> Validity {
        let default = Validity::default();
        Validity {
            output_tokens: self.value(raw.output_tokens.as_ref(), default.output_tokens, grammar::percent),
            schedule_delay: self.value(raw.schedule_delay.as_ref(), default.schedule_delay, grammar::seconds),
        }
    }

    fn rules(&mut self, thresholds: &[(Spanned<String>, Vec<Spanned<String>>)]) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        let mut seen: IndexMap<&str, ()> = IndexMap::new();
        for (key, lines) in thresholds {
            if seen.insert(&key.value, ()).is_some() {
                self.add(key, 0, format!("`{}` is given twice", key.value));
            }
            let (metric, selector) = match grammar::selector(&key.value) {
                Ok((metric, selector, "")) => (metric, selector),
                Ok((_, _, rest)) => {
                    self.add(key, 0, format!("`{rest}` after the selector is not understood"));
                    continue;
                }
                Err(reason) => {
                    self.fault(key, reason);
                    continue;
                }
            };
            if lines.is_empty() {
                self.add(key, 0, format!("`{}` has no line", key.value));
            }
            for line in lines {
                match grammar::line(metric, &line.value) {
                    Err(reason) => self.fault(line, reason),
                    Ok((statistic, bound)) => {
                        let rule = Rule { metric, statistic, selector: selector.clone(), bound, origin: origin(line) };
                        rules.push(rule);
                    }
                }
            }
        }
        rules
    }

    fn waiver(&mut self, raw: &RawWaiver) -> Option<Waiver> {
        let (metric, selector, rest) = match grammar::selector(&raw.r#match.value) {
            Ok(parts) => parts,
            Err(reason) => {
                self.fault(&raw.r#match, reason);
                return None;
            }
        };
        let statistic = match rest.trim() {
            "" => None,
            name => match grammar::statistic(metric, name) {
                Ok(statistic) => Some(statistic),
                Err(message) => {
                    self.add(&raw.r#match, 0, message);
                    return None;
                }
            },
        };
        if raw.reason.value.trim().is_empty() {
            self.add(&raw.reason, 0, "a waiver needs a reason".into());
        }
        let Ok(until) = raw.until.value.parse() else {
            self.add(&raw.until, 0, format!("`{}` is not a day such as 2027-01-31", raw.until.value));
            return None;
        };
        let reason = raw.reason.value.clone();
        Some(Waiver { metric, statistic, selector, until, reason, issue: raw.issue, origin: origin(&raw.r#match) })
    }

    fn value(
        &mut self,
        raw: Option<&Spanned<String>>,
        default: f64,
        read: impl Fn(&str) -> Result<f64, String>,
    ) -> f64 {
        let Some(raw) = raw else { return default };
        read(&raw.value).unwrap_or_else(|message| {
            self.add(raw, 0, message);
            default
        })
    }

    fn fault<T>(&mut self, place: &Spanned<T>, reason: Reason) {
        self.add(place, reason.offset, reason.message);
    }

    fn add<T>(&mut self, place: &Spanned<T>, offset: usize, message: String) {
        let origin = origin_of(place);
        self.problems.push(Problem { line: origin.0, column: origin.1 + offset as u64, message });
    }
}

fn origin(text: &Spanned<String>) -> Origin {
    let (line, column) = origin_of(text);
    Origin { line, column, text: text.value.clone() }
}

fn origin_of<T>(place: &Spanned<T>) -> (u64, u64) {
    (place.defined.line(), place.defined.column())
}
