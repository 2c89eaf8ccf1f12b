//! What the agent is about: goals, what becomes of them, and what people want of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query, Trust};
use crate::{RegionName, rooms};

/// Where a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalState {
    /// Waits for its turn.
    Proposed,
    /// The one that is pursued.
    Active,
    /// Another came in between; it lies on the stack.
    Suspended,
    Done,
    Failed,
    /// Given up: by a person, by a stop, or because there were too many.
    Dropped,
}

impl GoalState {
    /// Nothing comes after it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Dropped)
    }
}

/// Whose goal it is.
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
    /// What is to be reached, in the words of whoever gave it.
    pub title: String,
    pub origin: GoalOrigin,
    /// Who hears of it, and where.
    pub channel: String,
    pub sender: String,
    pub trust: Trust,
    pub state: GoalState,
    pub proposed_at: Timestamp,
    /// When it came into this state.
    pub since: Timestamp,
    /// Why it is in this state, in words.
    pub reason: String,
    /// The turn that pursues it, while there is one.
    pub turn: Option<MessageId>,
    /// The question to a person on which its end depends.
    pub waits_for: Option<MessageId>,
    /// Something changed while it was laid aside: a person is asked before it goes on.
    #[serde(default)]
    pub is_stale: bool,
    /// The person has been asked whether to go on.
    #[serde(default)]
    pub is_asked: bool,
    /// Who heard how it ended: `channel/person`.
    pub told: Option<String>,
}

impl Goal {
    /// A new one. `whom`: channel and person that hear of it.
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

    /// Its person is asked whether to go on with it.
    pub fn is_in_question(&self) -> bool {
        self.state == GoalState::Suspended && self.is_asked
    }
}

/// A goal came into another state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalChanged {
    pub goal: Goal,
    /// What is pursued now.
    pub active: Option<String>,
    /// What was laid aside, the newest last.
    pub suspended: Vec<String>,
}

/// The pursuit of a goal begins with this turn; the gateway makes its percept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalPursued {
    pub goal: MessageId,
    pub turn: MessageId,
    pub title: String,
    pub channel: String,
    pub sender: String,
    pub trust: Trust,
}

/// What is wanted of goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalWish {
    /// To be pursued once there is nothing else to do.
    Propose {
        title: String,
        channel: String,
        sender: String,
    },
    /// The agent's own: the same, one at a time, and with no more trust than whoever it thought of it for.
    Adopt {
        title: String,
        channel: String,
        sender: String,
    },
    Drop {
        goal: MessageId,
    },
    /// What was laid aside may go on.
    GoOn {
        goal: MessageId,
    },
}

/// Somebody in a conversation, or the agent itself, wants something of goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalWished {
    pub wish: GoalWish,
    /// By whom, for the reason.
    pub by: String,
}

/// Asks for the goals, after a wish if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyGoals {
    pub wish: Option<GoalWish>,
    pub by: String,
}

/// All goals that are known: the active one, then the suspended ones (the next to go on first), the proposed ones in
/// their order, and those that ended lately, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalsSurveyed {
    pub goals: Vec<Goal>,
    /// Why the wish could not be done.
    pub refused: Option<String>,
}

signal! {
    GoalChanged: Anywhere, Lossless;
    GoalPursued: Deliberation, Lossless;
    GoalWished: Anywhere, Lossless;
    SurveyGoals: Anywhere, Transient;
    GoalsSurveyed: Anywhere, Transient;
}

impl Query for SurveyGoals {
    type Answer = GoalsSurveyed;
}
impl Addressed for SurveyGoals {
    const OF: RegionName = rooms::GOALS;
}
