//! What situations are like: what is to be compared, and questions for the most alike.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::recall::Via;
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// The layer of memory whose records are episodes.
pub const EPISODES: &str = "hippocampus";

/// A record of a layer of memory, by what it can be compared with others. Empty fields aren't compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Situation {
    /// The room that remembers it.
    pub layer: String,
    pub id: String,
    pub at: Timestamp,
    /// The words whose meaning is compared.
    pub text: String,
    pub goal: Option<String>,
    pub mode: Option<String>,
    pub tool: Option<String>,
    pub success: Option<bool>,
    pub objects: Vec<String>,
    pub people: Vec<String>,
}

/// Records came, changed (the same layer and id again), or went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SituationsStored {
    pub stored: Vec<Situation>,
    /// Layer and id.
    #[serde(default)]
    pub forgotten: Vec<(String, String)>,
}

/// Asks the entorhinal cortex what is most like a cue. A partial cue is completed: what it doesn't say isn't compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FindSimilar {
    /// Like this record; it isn't among the answers.
    pub memory_id: Option<String>,
    /// The circumstances, in words.
    pub context: Option<String>,
    #[serde(alias = "tool")]
    pub tool_name: Option<String>,
    pub goal: Option<String>,
    pub object: Option<String>,
    pub person: Option<String>,
    /// Only what was in this mode.
    pub mode: Option<String>,
    /// Only what succeeded, or failed.
    pub success: Option<bool>,
    /// Only records of this layer of memory.
    pub layer: Option<String>,
    /// Only what is of this time or later.
    pub time_after: Option<Timestamp>,
    /// Only what is of this time or earlier.
    pub time_before: Option<Timestamp>,
    /// 0 means the default of 5.
    pub limit: usize,
}

/// How alike two situations are part by part, each in [0, 1]; nothing where the cue says nothing.
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

/// A record that is like the cue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similar {
    pub id: String,
    pub layer: String,
    /// As in lines of a recall.
    #[serde(default = "by_likeness")]
    pub via: Via,
    /// Below 0.1 for what is unrelated, 1 for a duplicate.
    pub score: f64,
    pub parts: LikenessParts,
    pub timestamp: Timestamp,
    pub goal: Option<String>,
    pub tool: Option<String>,
    pub success: Option<bool>,
    pub text: String,
}

/// The most alike first.
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

impl Query for FindSimilar {
    type Answer = SimilarFound;
}
impl Addressed for FindSimilar {
    const OF: RegionName = rooms::ENTORHINAL_CORTEX;
}
