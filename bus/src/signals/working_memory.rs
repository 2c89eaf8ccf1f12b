//! What is on the mind at present, and how it is asked for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query, Trust};
use crate::units::{Confidence, Novelty, Salience};
use crate::{RegionName, rooms};

/// What an entry of working memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// What the senses reported.
    Percept,
    /// What an action led to.
    Outcome,
    /// How a person takes what the brain does.
    Reaction,
    Pain,
    /// What came to mind by association.
    Activation,
    /// A thought of the model.
    Thought,
    /// What memory found.
    Recall,
    /// What a person said, and what the brain answered.
    Conversation,
}

/// One thing on the mind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkingEntry {
    pub kind: EntryKind,
    pub at: Timestamp,
    pub turn: MessageId,
    pub salience: Salience,
    /// Of what was perceived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub novelty: Option<Novelty>,
    /// How sure the recogniser was of it, where it was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
    pub trust: Trust,
    /// Whom or what it is about: `channel/person` of a conversation, the tool of an outcome, the episode of a recall.
    pub of: String,
    /// The brain's own words.
    #[serde(default)]
    pub own: bool,
    /// Episodes that the brain's own words rest on; of what was perceived, those that it reminded of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
    pub text: String,
}

/// In which order entries are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurveyOrder {
    /// The newest of them, the oldest of these first.
    #[default]
    Recent,
    /// The most salient first, of equals the newer.
    Salient,
}

/// Asks working memory what is on the mind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SurveyWorkingMemory {
    /// Of these kinds alone; empty for all.
    pub kinds: Vec<EntryKind>,
    /// At or after this time.
    pub since: Option<Timestamp>,
    pub order: SurveyOrder,
    /// At most so many; 0 for all.
    pub limit: usize,
    /// The turn that asks: what it brought itself is left out, and the head is its own.
    pub turn: Option<MessageId>,
}

/// What is on the mind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkingMemorySurveyed {
    pub entries: Vec<WorkingEntry>,
    /// The most salient of what the turn that asks brought; the newest of all where no turn asks.
    pub head: Option<WorkingEntry>,
}

signal! {
    SurveyWorkingMemory: Anywhere, Transient;
    WorkingMemorySurveyed: Anywhere, Transient;
}

impl Query for SurveyWorkingMemory {
    type Answer = WorkingMemorySurveyed;
}
impl Addressed for SurveyWorkingMemory {
    const OF: RegionName = rooms::WORKING_MEMORY;
}
