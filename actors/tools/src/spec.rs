//! A tool's own description, as data. Everything else about a tool is derived from it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::hands::Mode;
use super::speech::SpeechPattern;

/// What an action leaves behind. It decides what is done after a crash or an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing.
    ReadOnly,
    /// Its change can be undone by its [`super::Reversal`].
    Reversible,
    /// Can't be undone.
    Irreversible,
}

impl EffectClass {
    /// As they are written in a configuration.
    pub const WORDS: &[&str] = &["read_only", "reversible", "irreversible"];
}

impl std::fmt::Display for EffectClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read_only",
            Self::Reversible => "reversible",
            Self::Irreversible => "irreversible",
        })
    }
}

/// What the loop does with the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// Nothing.
    None,
    /// Continues to think with it.
    Process,
    /// Tells the person.
    Respond,
    /// Keeps the conversation open, because the person is expected to answer.
    Engage,
}

/// Which way a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// Through the fear gate.
    Gated,
    /// Read-only introspection, which the gate doesn't see.
    Introspection,
}

/// The server that offers a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedBy {
    pub server: String,
    /// Digest of the server's description. A grant holds only for this digest.
    pub digest: String,
}

/// A tool's own description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Lower-case words joined by `_`; unique in a registry.
    pub name: String,
    /// One or two sentences for the model and the person.
    pub description: String,
    /// JSON schema of the parameters: an object with `properties`, optionally `required`, and `default`s in the
    /// properties.
    pub parameters: Value,
    /// Valid parameters of a typical call, checked at registration. Null if there are none.
    pub example: Value,
    pub effect: EffectClass,
    /// Doing it twice has the same effect as once, so it may be retried after a crash.
    pub idempotent: bool,
    /// The lowest mode in which it may be called.
    pub required_mode: Mode,
    pub follow_up: FollowUp,
    pub door: Door,
    /// Other names of a parameter, as (alias, parameter).
    pub parameter_aliases: Vec<(String, String)>,
    /// How people ask for it. The habit grammar is generated from this.
    pub speech: Vec<SpeechPattern>,
    /// A foreign program, from a manifest or a server.
    #[serde(default)]
    pub is_foreign: bool,
    /// Its result is text from outside. The agent thinks about it but doesn't store it as its own memory.
    #[serde(default)]
    pub brings_outside_text: bool,
    /// The server that offers it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_by: Option<OfferedBy>,
    /// Why it can't be used here. A call then answers `{"available": false, "reason": …}`, and the model doesn't see
    /// the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// Things, people or sounds of the scene. It can be called while one of them is around. Empty: always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scene: Vec<String>,
    /// It may be called without a person's request while one of its things is around; habit chooses by experience. For
    /// a foreign program this also means that no person is asked about it.
    #[serde(default)]
    pub unasked: bool,
    /// The need that it serves: `energy`, or the name of a reading that a sense reports with the pose; 0 (none) to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serves: Option<String>,
}

/// The parameter that names the thing on which a tool works.
pub const THING: &str = "thing";

impl ToolSpec {
    /// A read-only, idempotent, gated tool for any mode without parameters. The `with` calls and fields set the rest.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
            example: json!({}),
            effect: EffectClass::ReadOnly,
            idempotent: true,
            required_mode: Mode::Passive,
            follow_up: FollowUp::Process,
            door: Door::Gated,
            parameter_aliases: Vec::new(),
            speech: Vec::new(),
            is_foreign: false,
            brings_outside_text: false,
            offered_by: None,
            unavailable: None,
            scene: Vec::new(),
            unasked: false,
            serves: None,
        }
    }

    /// It only reads, so it is repeated after a crash without asking.
    pub fn is_repeatable(&self) -> bool {
        self.idempotent && self.effect == EffectClass::ReadOnly
    }

    /// Sets the schema from its properties and the names of the required ones.
    pub fn with_parameters(mut self, properties: Value, required: &[&str]) -> Self {
        self.parameters = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        self
    }

    pub fn with_example(mut self, example: Value) -> Self {
        self.example = example;
        self
    }

    pub fn with_aliases(mut self, aliases: &[(&str, &str)]) -> Self {
        self.parameter_aliases = aliases.iter().map(|(from, to)| ((*from).into(), (*to).into())).collect();
        self
    }

    /// Adds patterns that share their verbs.
    pub fn with_speech(mut self, verbs: &[&str], patterns: &[&str]) -> Self {
        self.speech.extend(patterns.iter().map(|pattern| SpeechPattern::new(verbs, pattern)));
        self
    }

    /// Adds a pattern that also sets parameters which nobody says.
    pub fn with_phrase(mut self, verbs: &[&str], pattern: &str, fixed: &[(&str, Value)]) -> Self {
        let mut speech = SpeechPattern::new(verbs, pattern);
        speech.fixed = fixed.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        self.speech.push(speech);
        self
    }

    /// The parameters' names, in the schema's order.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters["properties"]
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
    }

    /// The schema of one parameter.
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters["properties"].get(name)
    }

    /// Parameters of a call with this thing without an utterance: each required parameter has a default or is a text
    /// called `thing`. `None` if it requires anything else.
    pub fn call_with(&self, thing: &str) -> Option<Value> {
        let mut params = serde_json::Map::new();
        for name in self.parameter_names().filter(|name| self.requires(name)) {
            let schema = self.parameter(name)?;
            match (&schema["default"], name) {
                (Value::Null, THING) if schema["type"] == "string" => drop(params.insert(THING.into(), thing.into())),
                (Value::Null, _) => return None,
                (default, _) => drop(params.insert(name.into(), default.clone())),
            }
        }
        Some(Value::Object(params))
    }

    /// True when a call without this parameter is invalid.
    pub fn requires(&self, name: &str) -> bool {
        self.parameters["required"].as_array().is_some_and(|required| required.iter().any(|entry| entry == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_nobody_words_takes_defaults_and_the_thing() {
        let of = |properties: Value, required: &[&str]| {
            ToolSpec::new("act", "Acts.").with_parameters(properties, required).call_with("cup")
        };
        let thing = json!({"type": "string"});
        assert_eq!(of(json!({}), &[]), Some(json!({})));
        assert_eq!(
            of(json!({"thing": thing, "often": {"default": 2}}), &["thing", "often"]),
            Some(json!({"thing": "cup", "often": 2}))
        );
        assert_eq!(of(json!({"thing": thing, "how": {"type": "string"}}), &["thing"]), Some(json!({"thing": "cup"})));
        assert_eq!(of(json!({"how": {"type": "string"}}), &["how"]), None);
    }
}
