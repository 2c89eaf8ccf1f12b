//! A turn: whose it is, what is wanted, what was done, and what is to be said.

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

/// Characters of an action's result that its turn's summary carries.
const SUMMARY: usize = 300;
/// Characters of why a step was taken that its turn keeps.
pub(super) const DECIDED: usize = 200;

/// One turn, as a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    pub id: MessageId,
    pub trust: Trust,
    pub channel: String,
    pub sender: String,
    /// What the person said, for the goal of the intents.
    pub text: String,
    pub mind: Mind,
    pub confidence: Confidence,
    /// The person's own words asked for exactly these steps.
    pub commanded: bool,
    pub steps: VecDeque<StepWanted>,
    /// The step that is out.
    pub current: Option<StepWanted>,
    /// What is to be said of what came of the steps.
    pub said: Vec<String>,
    pub actions: Vec<ActionSummary>,
    pub recalled: Vec<RecalledEpisode>,
    #[serde(default)]
    pub knowledge: Vec<KnowledgeEntry>,
    /// Episodes that what is said and done rests on.
    #[serde(default)]
    pub rests_on: Vec<String>,
    /// Of these, what the answer to a question was worded from.
    #[serde(default)]
    pub grounds: Vec<Ground>,
    /// Set while the reply is out to be spoken.
    pub reply: Option<String>,
    /// The bridge that it waits for.
    #[serde(default)]
    pub waiting: Option<Waiting>,
    /// The template of the plan that is being done.
    #[serde(default)]
    pub tried: Option<u64>,
    /// Confirmations in a word.
    #[serde(default)]
    pub brief: bool,
    /// What deliberation was told, when it has the turn.
    #[serde(default)]
    pub wish: Option<Box<Deliberate>>,
    /// What came of the model's actions, in words: said when it doesn't answer itself.
    #[serde(default)]
    pub outcomes: Vec<String>,
    /// Deliberation was told, and has not answered yet.
    #[serde(default)]
    pub thinking: bool,
    /// Its goal was laid aside for another: no further step is begun.
    #[serde(default)]
    pub aside: bool,
    /// What was wanted was not understood.
    #[serde(default)]
    pub lost: bool,
    /// Why the last step was taken.
    #[serde(default)]
    pub decided: Option<String>,
    /// What could have been done instead: until the next intent has told it.
    #[serde(default)]
    pub instead: Vec<Alternative>,
    /// Nobody wanted it, and nobody is told.
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

    /// What is said and done rests on these too.
    pub fn rest_on(&mut self, episodes: impl IntoIterator<Item = String>) {
        for episode in episodes {
            if !episode.is_empty() && !self.rests_on.contains(&episode) {
                self.rests_on.push(episode);
            }
        }
    }

    /// A turn that nobody wanted.
    pub fn unasked(id: MessageId) -> Self {
        Self { unasked: true, ..Self::new(id, Trust::Own, "", "") }
    }
}

/// What a turn waits for, at a bridge or at the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Waiting {
    /// How such a goal was reached before.
    Plans,
    /// Where such a thing usually is; with what is said if nobody knows. Without, the question is answered as any other.
    UsualPlace { fallback: Option<String> },
    /// What the gate makes of an answer: whether it named no approval, or by letters that can be a word as well.
    Gate { is_bare: bool, is_a_word: bool },
    /// What comes of what was allowed.
    Outcome { intent: MessageId, tool: String },
}

/// Names a conversation partner: `channel/person`.
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
