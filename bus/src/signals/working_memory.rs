//! The contents of working memory, and queries for them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal::Trust;
use crate::units::{Confidence, Novelty, Salience};
use crate::{queries, signal};

/// The kind of an entry in working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// What the senses reported.
    Percept,
    /// The result of an action.
    Outcome,
    /// A person's reaction to what the brain does.
    Reaction,
    Pain,
    /// A memory activated by association.
    Activation,
    /// A thought of the model.
    Thought,
    /// What memory found.
    Recall,
    /// What a person said, and the brain's answer.
    Conversation,
}

/// One entry of working memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkingEntry {
    pub kind: EntryKind,
    pub at: Timestamp,
    pub turn: MessageId,
    pub salience: Salience,
    /// The salience of a percept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub novelty: Option<Novelty>,
    /// The recogniser's confidence, if it was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Confidence>,
    pub trust: Trust,
    /// Its subject: `channel/person` of a conversation, the tool of an outcome, the episode of a recall.
    pub of: String,
    /// The brain's own words.
    #[serde(default)]
    pub own: bool,
    /// Episodes that support the brain's own words; for a percept, the episodes that it called to mind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
    pub text: String,
}

/// The requested order of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurveyOrder {
    /// The newest entries, oldest first.
    #[default]
    Recent,
    /// The most salient first; among equals, the newer.
    Salient,
}

/// Asks for the contents of working memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SurveyWorkingMemory {
    /// Only these kinds; empty for all.
    pub kinds: Vec<EntryKind>,
    /// At or after this time.
    pub since: Option<Timestamp>,
    pub order: SurveyOrder,
    /// The maximum number; 0 for all.
    pub limit: usize,
    /// The turn that asks. Its own entries are left out of the list, and the head is chosen from them.
    pub turn: Option<MessageId>,
}

/// The contents of working memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkingMemorySurveyed {
    pub entries: Vec<WorkingEntry>,
    /// The most salient entry of the turn that asks; without such a turn, the newest of all.
    pub head: Option<WorkingEntry>,
}

signal! {
    SurveyWorkingMemory: Anywhere, Transient;
    WorkingMemorySurveyed: Anywhere, Transient;
}

queries! {
    SurveyWorkingMemory => WorkingMemorySurveyed, of WORKING_MEMORY;
}
