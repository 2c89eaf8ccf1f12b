//! Deliberation as it goes: what was found worth a thought, and each cycle of thinking.

use serde::{Deserialize, Serialize};

use super::concepts::KnowledgeEntry;
use super::introspection::VerdictForeseen;
use super::recall::{OutcomesPredicted, RecalledEpisode};
use crate::ids::MessageId;
use crate::signal;
use crate::units::{Confidence, Salience};

/// Which part of the ThoughtGate said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtBar {
    /// Too soon after the last one.
    Refractory,
    /// Too few tokens, or too little charge, are left.
    Energy,
    /// What is on the mind is worth no attention.
    Salience,
    /// It is worth attention, yet such thinking didn't pay.
    Threshold,
}

/// The ThoughtGate decided whether a turn is worth a thought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThoughtGated {
    pub turn: MessageId,
    /// None where it passed.
    pub refused: Option<ThoughtBar>,
    /// In words.
    pub reason: String,
    /// What the head of working memory is worth, 0 to 1; none where it wasn't known or asked.
    pub worth: Option<f64>,
    /// The threshold at that time, 0 to 1.
    pub threshold: f64,
}

/// Speech to others where private reasoning was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutwardSpeech {
    /// A question to a person.
    Question,
    /// A person is addressed.
    Address,
    /// It tells of itself as a narrator does.
    Narrator,
}

/// How a cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CycleEnding {
    /// It is ready to act.
    Ready,
    /// It goes on thinking: memory is asked with this thought.
    Continued,
    /// It thinks the same as before, so there is nothing to wait for.
    Converged,
    /// It was the last cycle.
    Last,
    /// It had been told to act.
    Pressed,
}

/// How much of its thinking is shown to who looks on. What is recorded is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    #[default]
    Full,
    /// A line for each cycle.
    Brief,
    Off,
}

/// From now on so much of its thinking is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisplaySet {
    pub mode: Display,
}

/// One cycle of deliberation is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleThought {
    pub turn: MessageId,
    /// From 1; one more than `cycles` where it was told to act.
    pub cycle: u32,
    /// Of how many at most.
    pub cycles: u32,
    /// Seconds between the call and its reply.
    pub seconds: f64,
    /// Rooms that had something to say to what it thought about.
    pub enriched: Vec<String>,
    /// Rooms that were asked and said nothing in time.
    pub missing: Vec<String>,
    /// What memory had found for the thought before; empty in the first cycle, whose percept was enriched.
    pub recalled: Vec<RecalledEpisode>,
    /// What is generally known of that thought, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<KnowledgeEntry>,
    /// What was expected of the tool that it leant towards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<OutcomesPredicted>,
    /// What the gate would have made of that tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreseen: Option<VerdictForeseen>,
    pub salience: Salience,
    /// Private, in the first person.
    pub text: String,
    /// The tool that it named.
    pub tool: Option<String>,
    /// How sure it says it is.
    pub confidence: Option<Confidence>,
    pub ending: CycleEnding,
    /// Where its reasoning speaks to others.
    pub outward: Vec<OutwardSpeech>,
    /// How much of it is shown.
    #[serde(default)]
    pub display: Display,
}

signal! {
    ThoughtGated: Deliberation, Lossless;
    CycleThought: Deliberation, Lossless;
    DisplaySet: Anywhere, Lossless;
}
