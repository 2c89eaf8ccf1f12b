//! Kinds of events: the tool or movement and the abstract shape of its parameters. The shape has classes of values
//! instead of values, so that reading one file teaches about reading another.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::law::Reinforcement;

/// Texts up to this many characters are short.
const SHORT_TEXT: usize = 40;

/// Class of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamClass {
    Nothing,
    Bool,
    Zero,
    /// By size: below 1, 10, 100, 1 000, and larger.
    Fraction,
    Ones,
    Tens,
    Hundreds,
    Large,
    NegativeFraction,
    NegativeOnes,
    NegativeTens,
    NegativeHundreds,
    NegativeLarge,
    Path,
    Url,
    ShortText,
    LongText,
    List,
    Object,
}

impl ParamClass {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) => Self::of_number(number.as_f64().unwrap_or(0.0)),
            Value::String(text) => Self::of_text(text),
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    fn of_number(number: f64) -> Self {
        let (positive, negative) = match number.abs() {
            0.0 => (Self::Zero, Self::Zero),
            size if size < 1.0 => (Self::Fraction, Self::NegativeFraction),
            size if size < 10.0 => (Self::Ones, Self::NegativeOnes),
            size if size < 100.0 => (Self::Tens, Self::NegativeTens),
            size if size < 1000.0 => (Self::Hundreds, Self::NegativeHundreds),
            _ => (Self::Large, Self::NegativeLarge),
        };
        if number < 0.0 { negative } else { positive }
    }

    fn of_text(text: &str) -> Self {
        let word = !text.is_empty() && !text.contains(char::is_whitespace);
        let scheme = text.split_once("://").is_some_and(|(s, _)| !s.is_empty() && s.chars().all(char::is_alphanumeric));
        let extension = text.rsplit_once('.').is_some_and(|(stem, end)| {
            !stem.is_empty() && (1..=5).contains(&end.len()) && end.starts_with(|c: char| c.is_ascii_alphabetic())
        });
        if word && scheme {
            Self::Url
        } else if word && (text.contains('/') || extension) {
            Self::Path
        } else if text.chars().nth(SHORT_TEXT).is_none() {
            Self::ShortText
        } else {
            Self::LongText
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Bool => "bool",
            Self::Zero => "0",
            Self::Fraction => "<1",
            Self::Ones => "<10",
            Self::Tens => "<100",
            Self::Hundreds => "<1000",
            Self::Large => "large",
            Self::NegativeFraction => "-<1",
            Self::NegativeOnes => "-<10",
            Self::NegativeTens => "-<100",
            Self::NegativeHundreds => "-<1000",
            Self::NegativeLarge => "-large",
            Self::Path => "path",
            Self::Url => "url",
            Self::ShortText => "short text",
            Self::LongText => "long text",
            Self::List => "list",
            Self::Object => "object",
        }
    }
}

/// A tool or movement with the shape of its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKind {
    pub tool: String,
    /// Name and class, sorted by name.
    pub shape: Vec<(String, ParamClass)>,
}

impl EventKind {
    pub fn of(tool: &str, params: &Map<String, Value>) -> Self {
        let mut shape: Vec<_> = params.iter().map(|(name, value)| (name.clone(), ParamClass::of(value))).collect();
        shape.sort_unstable();
        Self { tool: tool.to_string(), shape }
    }

    /// The key of the kind: the bare tool if there are no parameters, else "tool(name: class, …)".
    pub fn key(&self) -> String {
        self.to_string()
    }

    /// 0 for another tool; else from 0.5 (no parameter in common) to 1 (the same shape).
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.tool != other.tool {
            return 0.0;
        }
        let shared = self.shape.iter().filter(|param| other.shape.contains(param)).count();
        let all = self.shape.len() + other.shape.len() - shared;
        if all == 0 { 1.0 } else { 0.5 + 0.5 * shared as f64 / all as f64 }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        for (i, (name, class)) in self.shape.iter().enumerate() {
            f.write_str(if i == 0 { "(" } else { ", " })?;
            write!(f, "{name}: {}", class.name())?;
        }
        f.write_str(if self.shape.is_empty() { "" } else { ")" })
    }
}

/// The outcome of an event: a word for it, and what it teaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OutcomeKind {
    pub name: String,
    pub reinforcement: Reinforcement,
}

impl OutcomeKind {
    pub fn new(name: &str, reinforcement: Reinforcement) -> Self {
        Self { name: name.to_string(), reinforcement }
    }

    /// For an action: success, failure, or unknown.
    pub fn of_success(success: Option<bool>) -> Self {
        match success {
            Some(true) => Self::new("success", Reinforcement::Good),
            Some(false) => Self::new("failure", Reinforcement::Bad),
            None => Self::new("unknown", Reinforcement::Neutral),
        }
    }

    /// For an outcome of this value, −1 to 1. A value above a tenth counts as good, below minus a tenth as bad.
    pub fn of_reward(reward: f64) -> Self {
        match reward {
            good if good > 0.1 => Self::new("rewarded", Reinforcement::Good),
            bad if bad < -0.1 => Self::new("punished", Reinforcement::Bad),
            _ => Self::new("nothing", Reinforcement::Neutral),
        }
    }

    /// From the usual words, ignoring case; none for a word that means neither good nor bad nor neutral.
    pub fn from_word(word: &str) -> Option<Self> {
        let reinforcement = match word.to_ascii_lowercase().as_str() {
            "good" | "positive" | "success" | "succeeded" | "reward" | "true" | "ok" | "+" => Reinforcement::Good,
            "bad" | "negative" | "failure" | "failed" | "fail" | "error" | "timeout" | "pain" | "false" | "-" => {
                Reinforcement::Bad
            }
            "neutral" | "unknown" | "none" | "nothing" | "omitted" => Reinforcement::Neutral,
            _ => return None,
        };
        Some(Self::new(word, reinforcement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(tool: &str, params: Value) -> EventKind {
        EventKind::of(tool, params.as_object().expect("an object"))
    }

    #[test]
    fn values_fall_into_classes() {
        use ParamClass::*;
        let cases = [
            (json!(null), Nothing),
            (json!(true), Bool),
            (json!(0), Zero),
            (json!(-0.5), NegativeFraction),
            (json!(42), Tens),
            (json!(-3e9), NegativeLarge),
            (json!("/etc/hosts"), Path),
            (json!("notes.txt"), Path),
            (json!("src/main.rs"), Path),
            (json!("https://example.org/a"), Url),
            (json!("see a.b or c/d"), ShortText),
            (json!("3.14"), ShortText),
            (json!("x".repeat(41)), LongText),
            (json!([1]), List),
            (json!({}), Object),
        ];
        for (value, class) in cases {
            assert_eq!(ParamClass::of(&value), class, "{value}");
        }
    }

    #[test]
    fn two_calls_of_one_shape_are_one_kind() {
        let a = kind("read", json!({"path": "/tmp/a", "lines": 10}));
        let b = kind("read", json!({"lines": 99, "path": "b.txt"}));
        assert_eq!(a.key(), b.key());
        assert_eq!(a.key(), "read(lines: <100, path: path)");
        assert_eq!(kind("A", json!({})).key(), "A");
        assert_eq!(a.similarity(&kind("read", json!({"path": "c"}))), 0.5, "\"c\" is no path");
        assert!(a.similarity(&kind("read", json!({"path": "c.rs"}))) > 0.7);
        assert_eq!(a.similarity(&kind("write", json!({}))), 0.0);
    }

    #[test]
    fn outcome_words_teach_what_they_say() {
        let taught = |word| OutcomeKind::from_word(word).map(|o| o.reinforcement);
        assert_eq!(taught("Positive"), Some(Reinforcement::Good));
        assert_eq!(taught("negative"), Some(Reinforcement::Bad));
        assert_eq!(taught("neutral"), Some(Reinforcement::Neutral));
        assert_eq!(taught("purple"), None);
    }
}
