//! The course of deliberation: what was worth a thought, and each cycle of thinking.

use serde::{Deserialize, Serialize};

use super::concepts::KnowledgeEntry;
use super::introspection::VerdictForeseen;
use super::recall::{OutcomesPredicted, RecalledEpisode};
use crate::ids::MessageId;
use crate::signal;
use crate::units::{Confidence, Salience};

/// The part of the ThoughtGate that refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtBar {
    /// Too soon after the previous thought.
    Refractory,
    /// Too few tokens, or too little charge, are left.
    Energy,
    /// Nothing in working memory deserves attention.
    Salience,
    /// It deserves attention, but thinking about such things didn't pay off.
    Threshold,
}

/// The ThoughtGate decided whether a turn is worth a thought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThoughtGated {
    pub turn: MessageId,
    /// None when the gate let it pass.
    pub refused: Option<ThoughtBar>,
    /// In words.
    pub reason: String,
    /// The worth of the head of working memory, 0 to 1; none when it wasn't known or asked for.
    pub worth: Option<f64>,
    /// The threshold at that time, 0 to 1.
    pub threshold: f64,
}

/// Speech to others, where private reasoning was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutwardSpeech {
    /// A question to a person.
    Question,
    /// It addresses a person.
    Address,
    /// It talks about itself like a narrator.
    Narrator,
}

/// How a cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CycleEnding {
    /// It is ready to act.
    Ready,
    /// It goes on thinking: memory is searched with this thought.
    Continued,
    /// It repeats the previous thought, so thinking on brings nothing.
    Converged,
    /// It was the last cycle.
    Last,
    /// It had been told to act.
    Pressed,
}

/// How much of its thinking a person sees. The record is the same at each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    #[default]
    Full,
    /// A line for each cycle.
    Brief,
    Off,
}

/// Sets how much of the thinking is shown from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisplaySet {
    pub mode: Display,
}

/// One cycle of deliberation has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleThought {
    pub turn: MessageId,
    /// From 1; `cycles` + 1 when it was told to act.
    pub cycle: u32,
    /// The maximum number of cycles.
    pub cycles: u32,
    /// Seconds between the call and its reply.
    pub seconds: f64,
    /// Rooms that had something to add to the thought.
    pub enriched: Vec<String>,
    /// Rooms that were asked but did not answer in time.
    pub missing: Vec<String>,
    /// What memory found for the previous thought. Empty in the first cycle, because its percept was already
    /// enriched.
    pub recalled: Vec<RecalledEpisode>,
    /// General knowledge about that thought, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<KnowledgeEntry>,
    /// What was expected of the tool that it leaned towards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<OutcomesPredicted>,
    /// The verdict that the gate would have given on that tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreseen: Option<VerdictForeseen>,
    pub salience: Salience,
    /// Private, in the first person.
    pub text: String,
    /// The tool that it named.
    pub tool: Option<String>,
    /// Its own statement of confidence.
    pub confidence: Option<Confidence>,
    pub ending: CycleEnding,
    /// Places where its reasoning speaks to others.
    pub outward: Vec<OutwardSpeech>,
    /// How much of it is shown to a person.
    #[serde(default)]
    pub display: Display,
}

signal! {
    ThoughtGated: Deliberation, Lossless;
    CycleThought: Deliberation, Lossless;
    DisplaySet: Anywhere, Lossless;
}
