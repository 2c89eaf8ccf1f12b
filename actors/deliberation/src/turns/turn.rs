//! A turn: its person, the request, the acts, and the reply.

use std::collections::VecDeque;

use maxim_bus::signals::concepts::KnowledgeEntry;
use maxim_bus::signals::intent::Alternative;
use maxim_bus::signals::outcome::{FailureKind, ToolResult};
use maxim_bus::signals::recall::RecalledEpisode;
use maxim_bus::signals::thought::{ActionSummary, Deliberate, Mind};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, Trust};
use serde::{Deserialize, Serialize};

use crate::recollection::StepWanted;
use crate::recollection::grounds::Ground;

/// Characters of a result in the turn's summary.
const SUMMARY: usize = 300;
/// Characters of a reason that the turn keeps.
pub(super) const DECIDED: usize = 200;

/// One turn, as a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    pub id: MessageId,
    pub trust: Trust,
    pub channel: String,
    pub sender: String,
    /// The person's words. They are the goal of the intents.
    pub text: String,
    pub mind: Mind,
    pub confidence: Confidence,
    /// The person's own words named exactly these steps.
    pub commanded: bool,
    pub steps: VecDeque<StepWanted>,
    /// The running step.
    pub current: Option<StepWanted>,
    /// The reply so far.
    pub said: Vec<String>,
    pub actions: Vec<ActionSummary>,
    pub recalled: Vec<RecalledEpisode>,
    #[serde(default)]
    pub knowledge: Vec<KnowledgeEntry>,
    /// Episodes that words and acts rest on.
    #[serde(default)]
    pub rests_on: Vec<String>,
    /// Those of them that the answer to a question rests on.
    #[serde(default)]
    pub grounds: Vec<Ground>,
    /// The reply, while it is on its way to be spoken.
    pub reply: Option<String>,
    /// The bridge, or answer of the gate, that the turn waits for.
    #[serde(default)]
    pub waiting: Option<Waiting>,
    /// The template of the running plan.
    #[serde(default)]
    pub tried: Option<u64>,
    /// Confirmations are one word.
    #[serde(default)]
    pub brief: bool,
    /// The request to the model, while the model leads the turn.
    #[serde(default)]
    pub wish: Option<Box<Deliberate>>,
    /// Results of the model's acts in words. They are told if the model doesn't answer itself.
    #[serde(default)]
    pub outcomes: Vec<String>,
    /// The model has been asked and hasn't answered yet.
    #[serde(default)]
    pub thinking: bool,
    /// Its goal is suspended: no further step is begun.
    #[serde(default)]
    pub aside: bool,
    /// The request was not understood.
    #[serde(default)]
    pub lost: bool,
    /// The reason for the last step.
    #[serde(default)]
    pub decided: Option<String>,
    /// Alternatives to the next step, until its intent has told them.
    #[serde(default)]
    pub instead: Vec<Alternative>,
    /// An unasked act: no person is told.
    #[serde(default)]
    pub unasked: bool,
}

impl Turn {
    /// A turn in which nothing has happened yet.
    pub fn new(id: MessageId, trust: Trust, channel: &str, sender: &str) -> Self {
        Self {
            id,
            trust,
            channel: channel.to_owned(),
            sender: sender.to_owned(),
            text: String::new(),
            mind: Mind::Habit,
            confidence: Confidence::clamped(1.0),
            commanded: false,
            steps: VecDeque::new(),
            current: None,
            said: Vec::new(),
            actions: Vec::new(),
            recalled: Vec::new(),
            knowledge: Vec::new(),
            rests_on: Vec::new(),
            grounds: Vec::new(),
            reply: None,
            waiting: None,
            tried: None,
            brief: false,
            wish: None,
            outcomes: Vec::new(),
            thinking: false,
            aside: false,
            lost: false,
            decided: None,
            instead: Vec::new(),
            unasked: false,
        }
    }

    /// Adds episodes that words and acts rest on.
    pub fn rest_on(&mut self, episodes: impl IntoIterator<Item = String>) {
        for episode in episodes {
            if !episode.is_empty() && !self.rests_on.contains(&episode) {
                self.rests_on.push(episode);
            }
        }
    }

    /// A turn of an unasked act.
    pub fn unasked(id: MessageId) -> Self {
        Self { unasked: true, ..Self::new(id, Trust::Own, "", "") }
    }
}

/// An answer of a bridge or of the gate that a turn waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Waiting {
    /// Plans that worked for such a goal.
    Plans,
    /// The usual place of a thing. `fallback`: words in case no place is known. `None`: the question is answered as any other.
    UsualPlace { fallback: Option<String> },
    /// The gate's decision about an answer. `is_bare`: it named no approval. `is_a_word`: its letters may also be a word.
    Gate { is_bare: bool, is_a_word: bool },
    /// The outcome of an allowed act.
    Outcome {
        intent: MessageId,
        tool: String,
        #[serde(default)]
        params: serde_json::Value,
    },
}

/// The name of a conversation partner: `channel/person`.
pub(super) fn who(channel: &str, person: &str) -> String {
    format!("{channel}/{person}")
}

pub(super) fn summary(result: &ToolResult) -> ActionSummary {
    let status = match result.success {
        Some(true) => "done",
        Some(false) if result.failure == Some(FailureKind::Unavailable) => "unavailable",
        Some(false) => "failed",
        None => "unknown",
    };
    let reason = result.error.as_ref().map(|error| error.chars().take(SUMMARY).collect());
    let (id, tool, params) = (result.action, result.tool.clone(), result.params.clone());
    ActionSummary { id, tool, params, status: status.into(), reason }
}
