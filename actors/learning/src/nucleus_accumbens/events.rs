//! The stored decisions of the nucleus accumbens.

use jiff::Timestamp;
use maxim_bus::Provenance;
use maxim_bus::mode::Mode;
use serde::{Deserialize, Serialize};

use super::cues::{Around, Present};
use super::event::{EventKind, OutcomeKind};
use super::model::{LinkTable, Observation, Update};
use super::remembering::Restored;

/// Untagged: the name of its field tells which event it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NacEvent {
    Pursuing(Pursuing),
    Confined(Confined),
    Around(Around),
    Lessons(Lessons),
    Written(Written),
    Forgotten(Forgotten),
    Restored(Box<Restored>),
}

/// A lesson, from here or elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lessons {
    pub(super) lessons: Vec<Observed>,
}

/// Kinds whose records contain everything learned.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub(super) written: Vec<String>,
}

/// Kinds that are removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forgotten {
    pub(super) forgotten: Vec<String>,
}

/// The pursued goal has changed, or there is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pursuing {
    pub(super) pursued: Option<String>,
}

/// The mode in force has changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confined {
    pub(super) confined: Option<Mode>,
}

/// A complete lesson: applying it again gives the same links.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    pub(super) kind: EventKind,
    pub(super) outcome: OutcomeKind,
    /// Field and value; the mode is one of them.
    pub(super) circumstances: Vec<(String, String)>,
    /// Things that were present and took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) around: Vec<Present>,
    /// Seconds, if known.
    pub(super) delay_s: Option<f64>,
    pub(super) episode: String,
    pub(super) at: Timestamp,
    pub(super) alpha: f64,
    /// How good it was, −1 to 1, if reported; else the kind of outcome decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reward: Option<f64>,
}

impl Observed {
    pub(super) fn teach(&self, links: &mut LinkTable) -> Update {
        let context: Vec<(&str, &str)> =
            self.circumstances.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
        links.learn_at(self.alpha);
        links.observe(&Observation {
            event: &self.kind,
            context: &context,
            outcome: &self.outcome,
            cues: &[],
            around: &self.around,
            delay: self.delay_s,
            episode: Some(&self.episode),
            provenance: Provenance::OwnExperience,
            at: self.at,
            reward: self.reward,
        })
    }
}
