//! The keys of episodes, and the keys that a filter asks for.

use jiff::Timestamp;
use maxim_bus::signals::recall::EpisodeFilter;

/// The wanted documents.
pub(super) struct Wanted {
    /// A document must have all of these.
    pub keys: Vec<String>,
    /// Beginning and end, both included, in microseconds since 1970.
    pub time: (i64, i64),
    /// Only ordinals below this one.
    pub below: u32,
}

impl Wanted {
    /// The filter's words and limit are ignored.
    pub(super) fn of(filter: &EpisodeFilter) -> Self {
        let fields = [
            (Field::Goal, &filter.goal),
            (Field::Tool, &filter.tool_name),
            (Field::Object, &filter.object),
            (Field::Person, &filter.person),
            (Field::Mode, &filter.mode),
        ];
        let named = fields.into_iter().filter_map(|(field, value)| Some(field.key(value.as_deref()?)));
        let keys = named.chain(filter.success.map(|success| success_key(Some(success)))).collect();
        let micros = |time: Option<Timestamp>, open: i64| time.map_or(open, Timestamp::as_microsecond);
        let time = (micros(filter.time_after, i64::MIN), micros(filter.time_before, i64::MAX));
        Self { keys, time, below: u32::MAX }
    }

    pub(super) fn with(keys: &[&str], below: u32) -> Self {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Self { keys, time: (i64::MIN, i64::MAX), below }
    }

    pub(super) fn is_of_time(&self, micros: i64) -> bool {
        (self.time.0..=self.time.1).contains(&micros)
    }
}

/// A kind of key; the key begins with its letter.
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

    /// Case and runs of white space are ignored; `_` and `-` count as spaces, so "coffee_mug" equals "coffee mug".
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
