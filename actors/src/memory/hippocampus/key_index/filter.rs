//! The keys of episodes, and those that a filter asks for.

use maxim_bus::signals::recall::EpisodeFilter;

/// The keys that an episode must have; its words, times and limit are none.
pub(super) fn asked_keys(filter: &EpisodeFilter) -> Vec<String> {
    let fields = [
        (Field::Goal, &filter.goal),
        (Field::Tool, &filter.tool_name),
        (Field::Object, &filter.object),
        (Field::Person, &filter.person),
        (Field::Mode, &filter.mode),
    ];
    let named = fields.into_iter().filter_map(|(field, value)| Some(field.key(value.as_deref()?)));
    named.chain(filter.success.map(|success| success_key(Some(success)))).collect()
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
