//! One remembered moment: perception → context → decision → action → outcome.
//!
//! All other fields than identities have a default, so that older records still load.

use jiff::Timestamp;
pub use maxim_bus::Provenance;
use maxim_bus::signals::scene::Pose;
use maxim_bus::units::{Confidence, Intensity, Novelty, Salience};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::text_index::Fields;

/// Whose word it is, the most trusted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Owner,
    /// The agent saw or did it itself.
    #[default]
    Own,
    Trusted,
    /// A sense heard or saw it; the author of the words is unknown.
    Sensor,
    Outside,
}

/// Why a moment was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureReason {
    PersonInvolved,
    Novel,
    Salient,
    GoalChanged,
    ActionFailed,
    Pain,
    /// A periodic checkpoint was due.
    Checkpoint,
    /// Selection was switched off, or a person pinned it.
    Requested,
}

/// What was perceived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Perception {
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    /// The speaker comes first, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// The body's pose, as a sense reported it: readings by joint or axis.
    #[serde(skip_serializing_if = "Pose::is_empty")]
    pub pose: Pose,
    /// It is unknown which of the people said it, if any.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unattributed: bool,
    /// Its source, e.g. `comms:console`, `body`, `speech`.
    pub source: String,
    /// The recogniser's confidence, if it was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
}

/// The agent's circumstances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// The action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Action {
    pub tool: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub result: String,
}

/// A remembered moment. Its record has named fields; a compressed one is a list, see `compressed.rs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct EpisodicMemory {
    pub id: String,
    pub created: Timestamp,
    #[serde(default)]
    pub last_accessed: Timestamp,
    #[serde(default)]
    pub access_count: u32,
    #[serde(default)]
    pub long_term: bool,
    #[serde(default)]
    pub provenance: Provenance,
    #[serde(default)]
    pub trust: Trust,
    /// The run in which it was made.
    #[serde(default)]
    pub run: String,
    #[serde(default)]
    pub perception: Perception,
    #[serde(default)]
    pub context: Context,
    /// The thought that led to the action, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// `None` while the cycle is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default = "no_salience")]
    pub salience: Salience,
    #[serde(default = "no_novelty")]
    pub novelty: Novelty,
    #[serde(default = "no_pain")]
    pub pain: Intensity,
    #[serde(default)]
    pub person_involved: bool,
    #[serde(default)]
    pub reasons: Vec<CaptureReason>,
    /// Its sitting: a stretch of experience without a gap of more than 30 minutes.
    #[serde(default)]
    pub sitting: u32,
    /// Its edges when sleep compressed it; `None` for a whole episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_edges: Option<u32>,
}

fn no_salience() -> Salience {
    Salience::clamped(0.0)
}

fn no_novelty() -> Novelty {
    Novelty::clamped(0.0)
}

fn no_pain() -> Intensity {
    Intensity::clamped(0.0)
}

/// The word by which failures are found, whatever their error says.
const FAILED: &str = "failed";
/// Characters of a parameter that are indexed.
const LONGEST_PARAM: usize = 120;

/// The words of a parameter.
fn told(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.chars().take(LONGEST_PARAM).collect()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Tools that only speak, each with the parameter that holds the words. Spoken words may repeat what was recalled. They
/// must not make it easier to find, because it would confirm itself.
const SPOKEN: [(&str, &str); 4] =
    [("say", "text"), ("speak", "text"), ("send_message", "body"), ("call_user", "message")];

/// Whether a tool only speaks.
pub fn is_speech(tool: &str) -> bool {
    SPOKEN.iter().any(|(speaks, _)| *speaks == tool)
}

fn is_spoken(tool: &str, param: &str) -> bool {
    SPOKEN.contains(&(tool, param))
}

impl EpisodicMemory {
    /// An empty open episode of the agent's own experience.
    pub fn new(id: impl Into<String>, created: Timestamp) -> Self {
        Self {
            id: id.into(),
            created,
            last_accessed: created,
            access_count: 0,
            long_term: false,
            provenance: Provenance::default(),
            trust: Trust::default(),
            run: String::new(),
            perception: Perception::default(),
            context: Context::default(),
            decision: None,
            action: None,
            outcome: None,
            salience: no_salience(),
            novelty: no_novelty(),
            pain: no_pain(),
            person_involved: false,
            reasons: Vec::new(),
            sitting: 0,
            live_edges: None,
        }
    }

    pub fn goal(&self) -> Option<&str> {
        self.context.goal.as_deref()
    }

    pub fn tool(&self) -> Option<&str> {
        self.action.as_ref().map(|action| action.tool.as_str()).filter(|tool| !tool.is_empty())
    }

    /// Words of an unknown author: a sense heard them, or they came from outside.
    pub fn is_hearsay(&self) -> bool {
        self.provenance == Provenance::Person && matches!(self.trust, Trust::Sensor | Trust::Outside)
    }

    /// The speaker, if known and credible.
    pub fn speaker(&self) -> Option<&str> {
        let is_known = self.provenance == Provenance::Person && !self.is_hearsay() && !self.perception.unattributed;
        self.perception.people.first().map(String::as_str).filter(|_| is_known)
    }

    pub fn success(&self) -> Option<bool> {
        self.outcome.as_ref().and_then(|outcome| outcome.success)
    }

    /// True once sleep has compressed it.
    pub fn is_compressed(&self) -> bool {
        self.live_edges.is_some()
    }

    /// True until the outcome comes.
    pub fn is_open(&self) -> bool {
        self.outcome.is_none()
    }

    /// Words besides the perceived text by which it is found.
    pub fn further_words(&self) -> String {
        let mut words: Vec<&str> = self.perception.objects.iter().map(String::as_str).collect();
        words.extend(self.goal());
        words.extend(self.tool());
        let params = self.action.iter().flat_map(|action| {
            let own = action.params.iter().filter(|(name, _)| !is_spoken(&action.tool, name));
            own.filter_map(|(_, value)| told(value))
        });
        let params: Vec<String> = params.collect();
        words.extend(params.iter().map(String::as_str));
        words.extend(self.outcome.as_ref().map(|outcome| outcome.result.as_str()).filter(|result| !result.is_empty()));
        words.extend((self.success() == Some(false)).then_some(FAILED));
        words.join(" ")
    }

    /// The input of the full-text index. `more` is [`EpisodicMemory::further_words`], `day` the local calendar day.
    pub fn fields<'a>(&'a self, more: &'a str, day: i32) -> Fields<'a> {
        Fields {
            text: &self.perception.text,
            more,
            people: &self.perception.people,
            sitting: self.sitting,
            day,
            stems: &[],
            vector: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_with_nothing_but_its_identity_loads() {
        let text = r#"{"id": "e1", "created": "2026-01-05T09:00:00Z", "field_of_a_later_version": 1}"#;
        let episode: EpisodicMemory = serde_json::from_str(text).expect("defaults fill the rest");
        let expected = EpisodicMemory::new("e1", episode.created);
        assert_eq!(EpisodicMemory { last_accessed: episode.created, ..episode }, expected);
    }

    #[test]
    fn it_is_not_found_by_what_it_only_said_itself() {
        let found_by = |tool: &str, params: serde_json::Value| {
            let mut episode = EpisodicMemory::new("e3", "2026-01-05T09:00:00Z".parse().expect("a time"));
            let params = params.as_object().cloned().expect("an object");
            episode.action = Some(Action { tool: tool.into(), params });
            episode.further_words()
        };
        let told = serde_json::json!({"recipient": "bob", "body": "the key hangs in the shed"});
        assert_eq!(found_by("send_message", told.clone()), "send_message bob");
        assert_eq!(found_by("say", serde_json::json!({"text": "the key hangs in the shed"})), "say");
        assert_eq!(found_by("note", told), "note the key hangs in the shed bob", "what is done is found by its words");
    }

    #[test]
    fn a_full_record_comes_back_as_it_was() {
        let mut episode = EpisodicMemory::new("e2", "2026-01-05T09:00:00Z".parse().expect("a time"));
        episode.perception.objects = vec!["cup".into()];
        episode.action = Some(Action { tool: "move".into(), params: Map::from_iter([("x".to_string(), 1.into())]) });
        episode.outcome = Some(Outcome { success: Some(false), result: "it fell".into() });
        episode.context.goal = Some("fetch cup".into());
        episode.reasons = vec![CaptureReason::ActionFailed];
        let text = serde_json::to_string(&episode).expect("plain data");
        assert_eq!(serde_json::from_str::<EpisodicMemory>(&text).expect("its own form"), episode);
        assert_eq!(episode.further_words(), "cup fetch cup move 1 it fell failed");
        assert!(!episode.is_open());
    }
}
