//! The shapes a setting's value can have: how it is typed, checked and shown.

use serde_yaml::Value;

use super::stage::{Ratio, Stage};

/// What a setting's value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Any text.
    Text,
    /// A path; relative ones are relative to the folder the command runs in.
    Path,
    /// A whole number of at least this.
    Whole(u64),
    /// A number above 0.
    Positive,
    /// A number of at least 0.
    Number,
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Words, separated by commas or blanks on the command line.
    Words,
    /// A ladder: `96x1w,4x3` on the command line, a list of `{rate, duration, warm_up}` in a file.
    Stages,
    /// An exact ratio: `2/8`.
    Ratio,
    /// Text that is never printed and only the environment may give.
    Secret,
}

impl Shape {
    /// The shape in words, for documentation and errors.
    pub fn words(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Path => "path".to_owned(),
            Self::Whole(0) => "whole number".to_owned(),
            Self::Whole(least) => format!("whole number of at least {least}"),
            Self::Positive => "number above 0".to_owned(),
            Self::Number => "number of at least 0".to_owned(),
            Self::Boolean => "true or false".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Words => "list of words".to_owned(),
            Self::Stages => "stages, as 96x1w,4x3 (rate x seconds, w for a warm-up)".to_owned(),
            Self::Ratio => "exact ratio above 0, as 2/8".to_owned(),
            Self::Secret => "secret".to_owned(),
        }
    }

    /// Turns what was typed into a value; the error says what was expected.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let value = match self {
            Self::Text | Self::Path | Self::Choice(_) | Self::Ratio | Self::Secret => Value::from(text),
            Self::Whole(_) => Value::from(text.parse::<u64>().map_err(|_| self.expected(text))?),
            Self::Positive | Self::Number => number(text).ok_or_else(|| self.expected(text))?,
            Self::Boolean => Value::from(boolean(text).ok_or_else(|| self.expected(text))?),
            Self::Words => words(text).map(Value::from).collect::<Vec<_>>().into(),
            Self::Stages => words(text).map(Value::from).collect::<Vec<_>>().into(),
        };
        // The complaint quotes what was typed, not what was made of it.
        self.check(value).map_err(|reason| match self {
            Self::Stages | Self::Ratio => reason,
            _ => self.expected(text),
        })
    }

    /// Checks a value and brings it into the one form that the typed settings are read from.
    pub fn check(self, value: Value) -> Result<Value, String> {
        let refused = |value: &Value| Err(self.expected(&show(value)));
        match (self, value) {
            (Self::Text | Self::Path | Self::Secret, Value::String(text)) if !text.is_empty() => Ok(text.into()),
            // `version: 1.5` is text to its author, whatever YAML makes of it.
            (Self::Text, Value::Number(number)) => Ok(number.to_string().into()),
            (Self::Ratio, value @ (Value::Number(_) | Value::String(_))) => {
                Ok(show(&value).parse::<Ratio>()?.to_string().into())
            }
            (Self::Whole(least), Value::Number(number)) if number.as_u64().is_some_and(|n| n >= least) => {
                Ok(Value::Number(number))
            }
            (Self::Positive, Value::Number(number)) if finite(&number).is_some_and(|n| n > 0.0) => {
                Ok(Value::Number(number))
            }
            (Self::Number, Value::Number(number)) if finite(&number).is_some_and(|n| n >= 0.0) => {
                Ok(Value::Number(number))
            }
            (Self::Boolean, Value::Bool(boolean)) => Ok(boolean.into()),
            (Self::Choice(known), Value::String(text)) if known.contains(&text.as_str()) => Ok(text.into()),
            (Self::Words, Value::Sequence(items)) if items.iter().all(Value::is_string) => Ok(items.into()),
            (Self::Words, Value::String(text)) => Ok(words(&text).map(Value::from).collect::<Vec<_>>().into()),
            (Self::Stages, Value::Sequence(items)) => stages(items),
            (_, value) => refused(&value),
        }
    }

    fn expected(self, got: &str) -> String {
        format!("`{got}` is not usable: expected {}", self.words())
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty())
}

fn finite(number: &serde_yaml::Number) -> Option<f64> {
    number.as_f64().filter(|number| number.is_finite())
}

fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A ladder of at least one stage, each with a rate and a duration above 0.
fn stages(items: Vec<Value>) -> Result<Value, String> {
    if items.is_empty() {
        return Err("a workload needs at least one stage".to_owned());
    }
    let mut checked = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let stage: Stage = match &item {
            Value::String(text) => text.parse()?,
            other => serde_yaml::from_value(other.clone()).map_err(|error| format!("stage {index}: {error}"))?,
        };
        for (name, value) in [("rate", stage.rate), ("duration", stage.duration)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("stage {index}: the {name} is {value}, but must be above 0"));
            }
        }
        if stage.duration.fract() != 0.0 {
            return Err(format!("stage {index}: the duration is {}, but must be whole seconds", stage.duration));
        }
        if stage.planned() == 0 {
            return Err(format!("stage {index}: {stage} plans no request (rate x duration is below 1)"));
        }
        checked.push(serde_yaml::to_value(stage).map_err(|error| error.to_string())?);
    }
    if checked.iter().all(|stage| stage.get("warm_up") == Some(&Value::Bool(true))) {
        return Err("every stage is a warm-up: nothing would be measured".to_owned());
    }
    Ok(checked.into())
}

/// A value on one line, as it could be typed after `--set KEY=`.
pub fn show(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(boolean) => boolean.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Sequence(items) => items.iter().map(show).collect::<Vec<_>>().join(","),
        Value::Mapping(_) => match serde_yaml::from_value::<Stage>(value.clone()) {
            Ok(stage) => stage.to_string(),
            Err(_) => serde_json::to_string(value).unwrap_or_else(|_| "{…}".to_owned()),
        },
        Value::Tagged(tagged) => show(&tagged.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_is_shown_as_it_may_be_typed() {
        let value = Shape::Stages.parse("96x1w,4x3").unwrap();
        assert_eq!(show(&value), "96x1w,4x3");
        assert_eq!(Shape::Stages.parse(&show(&value)).unwrap(), value);
    }

    #[test]
    fn a_ladder_that_measures_nothing_is_refused() {
        for (text, reason) in [
            ("", "at least one stage"),
            ("0x10", "the rate is 0"),
            ("4x-3", "the duration is -3"),
            ("0.1x2", "plans no request"),
            ("4x1.5", "whole seconds"),
            ("96x1w", "nothing would be measured"),
            ("infx2", "the rate is inf"),
        ] {
            let error = Shape::Stages.parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_of_the_wrong_size_are_refused() {
        assert!(Shape::Whole(1).parse("0").is_err());
        assert!(Shape::Whole(1).parse("1.5").is_err());
        assert!(Shape::Positive.parse("0").is_err());
        assert!(Shape::Positive.parse("nan").is_err());
        assert!(Shape::Number.parse("-1").is_err());
        assert_eq!(Shape::Positive.parse("0.5").unwrap(), Value::from(0.5));
    }

    #[test]
    fn the_words_of_shells_and_ci_systems_mean_true_and_false() {
        for text in ["true", "yes", "ON", "1"] {
            assert_eq!(Shape::Boolean.parse(text).unwrap(), Value::Bool(true));
        }
        assert!(Shape::Boolean.parse("maybe").is_err());
    }
}
