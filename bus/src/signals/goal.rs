//! The goals of the agent, their states, and what people want of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal::Trust;
use crate::{queries, signal};

/// The state of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalState {
    /// Waits for its turn.
    Proposed,
    /// The goal being pursued.
    Active,
    /// Another goal came first; this one is on the stack.
    Suspended,
    Done,
    Failed,
    /// Given up: by a person, by a stop, or because there were too many goals.
    Dropped,
}

impl GoalState {
    /// A final state.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Dropped)
    }
}

/// Who gave the goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalOrigin {
    Person,
    Drive { name: String },
    Agent,
}

/// One goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub id: MessageId,
    /// What is to be reached, in the words of the person or room that gave it.
    pub title: String,
    pub origin: GoalOrigin,
    /// The channel and person that are told about it.
    pub channel: String,
    pub sender: String,
    pub trust: Trust,
    pub state: GoalState,
    pub proposed_at: Timestamp,
    /// When it entered this state.
    pub since: Timestamp,
    /// Why it is in this state, in words.
    pub reason: String,
    /// The turn that pursues it, while it runs.
    pub turn: Option<MessageId>,
    /// The question to a person that decides how it ends.
    pub waits_for: Option<MessageId>,
    /// Something changed while it was suspended. A person is asked before it continues.
    #[serde(default)]
    pub is_stale: bool,
    /// The person has been asked whether to go on.
    #[serde(default)]
    pub is_asked: bool,
    /// Who was told how it ended: `channel/person`.
    pub told: Option<String>,
}

impl Goal {
    /// A new goal. `whom`: the channel and person that are told about it.
    pub fn new(
        id: MessageId,
        title: &str,
        origin: GoalOrigin,
        whom: (&str, &str),
        trust: Trust,
        at: Timestamp,
    ) -> Self {
        let (channel, sender) = whom;
        Self {
            id,
            title: title.into(),
            reason: match &origin {
                GoalOrigin::Person => format!("{sender} gave it"),
                GoalOrigin::Drive { name } => format!("{name} gave it"),
                GoalOrigin::Agent => "the agent gave it itself".into(),
            },
            origin,
            channel: channel.into(),
            sender: sender.into(),
            trust,
            state: GoalState::Proposed,
            proposed_at: at,
            since: at,
            turn: None,
            waits_for: None,
            is_stale: false,
            is_asked: false,
            told: None,
        }
    }

    /// Its person is being asked whether to continue it.
    pub fn is_in_question(&self) -> bool {
        self.state == GoalState::Suspended && self.is_asked
    }
}

/// A goal changed its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalChanged {
    pub goal: Goal,
    /// The goal now being pursued.
    pub active: Option<String>,
    /// The suspended goals, the newest last.
    pub suspended: Vec<String>,
}

/// This turn starts the pursuit of a goal. The gateway makes its percept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalPursued {
    pub goal: MessageId,
    pub turn: MessageId,
    pub title: String,
    pub channel: String,
    pub sender: String,
    pub trust: Trust,
}

/// A change to goals that a person or the agent wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalWish {
    /// Pursue it once there is nothing else to do.
    Propose {
        title: String,
        channel: String,
        sender: String,
    },
    /// The agent's own goal: as `Propose`, but one at a time. Its trust is at most that of the person whose request
    /// led to it.
    Adopt {
        title: String,
        channel: String,
        sender: String,
    },
    Drop {
        goal: MessageId,
    },
    /// The suspended goal may continue.
    GoOn {
        goal: MessageId,
    },
}

/// A person in a conversation, or the agent itself, wants a change to goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalWished {
    pub wish: GoalWish,
    /// Who wants it; used in the reason.
    pub by: String,
}

/// Asks for the goals, after making the change if one is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyGoals {
    pub wish: Option<GoalWish>,
    pub by: String,
}

/// All known goals: the active one; the suspended ones, the next to continue first; the proposed ones in their order;
/// and those that ended recently, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalsSurveyed {
    pub goals: Vec<Goal>,
    /// Why the change was refused.
    pub refused: Option<String>,
}

signal! {
    GoalChanged: Anywhere, Lossless;
    GoalPursued: Deliberation, Lossless;
    GoalWished: Anywhere, Lossless;
    SurveyGoals: Anywhere, Transient;
    GoalsSurveyed: Anywhere, Transient;
}

queries! {
    SurveyGoals => GoalsSurveyed, of GOALS;
}
