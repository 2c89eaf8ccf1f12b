//! Similarity of situations: the records to compare, and queries for the most similar ones.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::recall::Via;
use crate::{queries, signal};

/// The layer of memory whose records are episodes.
pub const EPISODES: &str = "hippocampus";

/// A record of a layer of memory, with the fields that are compared. Empty fields aren't compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Situation {
    /// The room that remembers it.
    pub layer: String,
    pub id: String,
    pub at: Timestamp,
    /// The text whose meaning is compared.
    pub text: String,
    pub goal: Option<String>,
    pub mode: Option<String>,
    pub tool: Option<String>,
    pub success: Option<bool>,
    pub objects: Vec<String>,
    pub people: Vec<String>,
}

/// Records were added, changed (same layer and id) or removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SituationsStored {
    pub stored: Vec<Situation>,
    /// Layer and id.
    #[serde(default)]
    pub forgotten: Vec<(String, String)>,
}

/// Asks the entorhinal cortex which records are most similar to a cue. A cue may be partial: its empty fields aren't
/// compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FindSimilar {
    /// Find records similar to this one, which isn't among the answers.
    pub memory_id: Option<String>,
    /// The circumstances, in words.
    pub context: Option<String>,
    #[serde(alias = "tool")]
    pub tool_name: Option<String>,
    pub goal: Option<String>,
    pub object: Option<String>,
    pub person: Option<String>,
    /// Only records made in this mode.
    pub mode: Option<String>,
    /// Only successes, or only failures.
    pub success: Option<bool>,
    /// Only records of this layer of memory.
    pub layer: Option<String>,
    /// Only records of this time or later.
    pub time_after: Option<Timestamp>,
    /// Only records of this time or earlier.
    pub time_before: Option<Timestamp>,
    /// 0 means the default of 5.
    pub limit: usize,
}

/// The similarity of two situations by part, each in [0, 1]; none where the cue is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LikenessParts {
    /// What was said or perceived.
    pub semantic: Option<f64>,
    /// Tool, outcome, objects, people.
    pub structural: Option<f64>,
    pub temporal: Option<f64>,
    /// Goal and mode.
    pub context: Option<f64>,
}

fn by_likeness() -> Via {
    Via::Similarity
}

/// A record that is similar to the cue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similar {
    pub id: String,
    pub layer: String,
    /// As in the lines of a recall.
    #[serde(default = "by_likeness")]
    pub via: Via,
    /// Below 0.1 for unrelated records, 1 for a duplicate.
    pub score: f64,
    pub parts: LikenessParts,
    pub timestamp: Timestamp,
    pub goal: Option<String>,
    pub tool: Option<String>,
    pub success: Option<bool>,
    pub text: String,
}

/// The most similar first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimilarFound {
    pub results: Vec<Similar>,
    /// Why nothing could be compared: an unknown `memory_id`, or an empty cue.
    pub problem: Option<String>,
}

signal! {
    SituationsStored: Memory, Lossless;
    FindSimilar: Anywhere, Transient;
    SimilarFound: Anywhere, Transient;
}

queries! {
    FindSimilar => SimilarFound, of ENTORHINAL_CORTEX;
}
