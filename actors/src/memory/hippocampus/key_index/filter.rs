//! What memory_recall can ask for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Conditions on episodes; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// Words to rank by; no condition.
    #[serde(alias = "keyword")]
    pub query: Option<String>,
    pub goal: Option<String>,
    #[serde(alias = "tool")]
    pub tool_name: Option<String>,
    pub success: Option<bool>,
    pub object: Option<String>,
    pub person: Option<String>,
    pub mode: Option<String>,
    /// Earliest time, included.
    pub time_after: Option<Timestamp>,
    /// Latest time, included.
    pub time_before: Option<Timestamp>,
    /// Whether associated episodes are added.
    pub expand: Option<bool>,
    /// Episodes wanted, at most.
    pub limit: Option<usize>,
}

impl Filter {
    /// True when nothing but words is asked.
    pub fn is_open(&self) -> bool {
        self.keys().is_empty() && self.time_after.is_none() && self.time_before.is_none()
    }

    /// The keys that an episode must have.
    pub(super) fn keys(&self) -> Vec<String> {
        let fields = [
            (Field::Goal, &self.goal),
            (Field::Tool, &self.tool_name),
            (Field::Object, &self.object),
            (Field::Person, &self.person),
            (Field::Mode, &self.mode),
        ];
        let named = fields.into_iter().filter_map(|(field, value)| Some(field.key(value.as_deref()?)));
        named.chain(self.success.map(|success| success_key(Some(success)))).collect()
    }
}

/// A kind of key; its letter begins the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Goal,
    Tool,
    Object,
    Person,
    Mode,
}

impl Field {
    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Goal => "g",
            Self::Tool => "t",
            Self::Object => "o",
            Self::Person => "p",
            Self::Mode => "m",
        }
    }

    /// Case and runs of white space don't matter; `_` and `-` are spaces, so that "coffee_mug" is "coffee mug".
    pub(super) fn key(self, value: &str) -> String {
        let letter = self.letter();
        let lower = value.to_lowercase();
        let parts: Vec<&str> = lower.split(|c: char| c.is_whitespace() || c == '_' || c == '-').collect();
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{letter}{}", parts.join(" "))
    }
}

pub(super) fn success_key(success: Option<bool>) -> String {
    match success {
        Some(true) => "s1",
        Some(false) => "s0",
        None => "s?",
    }
    .to_string()
}
