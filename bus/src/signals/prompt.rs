//! What a model is shown: which tools fit, and what of the prompt found room.

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// Asks the tool index which tools fit a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTools {
    pub turn: MessageId,
    pub goal: String,
}

/// All tools for the goal, best first, and how many of them are worth their whole schemas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolsRanked {
    pub turn: MessageId,
    /// Name and score; scores compare within one ranking alone.
    pub tools: Vec<(String, f64)>,
    pub shown: u32,
    /// Successes that the ranking rests on.
    pub successes: u64,
}

/// How a section of a prompt is treated when room is scarce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Tier {
    /// Never left out.
    Mandatory,
    /// Never left out either.
    Critical,
    /// Left out when there is no room, the last of them first.
    Important,
    /// Left out before those.
    NiceToHave,
}

/// What became of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionFate {
    pub name: String,
    pub tier: Tier,
    pub tokens: u32,
    pub kept: bool,
}

/// A prompt was built, and a model is asked with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBuilt {
    pub turn: MessageId,
    pub call: MessageId,
    /// 1 for the first; 2 when the reply to the first could not be read.
    pub attempt: u32,
    /// Tokens of what is in it.
    pub tokens: u32,
    /// Tokens that it may have.
    pub budget: u32,
    /// In the order of the prompt, left out ones included.
    pub sections: Vec<SectionFate>,
    /// Tools shown with their whole schemas, best first.
    pub tools: Vec<String>,
}

signal! {
    RankTools: Anywhere, Transient;
    ToolsRanked: Anywhere, Transient;
    PromptBuilt: Deliberation, Lossless;
}

impl Query for RankTools {
    type Answer = ToolsRanked;
}
impl Addressed for RankTools {
    const OF: RegionName = rooms::TOOL_INDEX;
}
