//! What a model is shown: the tools that fit, and the sections of the prompt that had room.

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::{queries, signal};

/// Asks the tool index which tools fit a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTools {
    pub turn: MessageId,
    pub goal: String,
}

/// All tools for the goal, best first, and how many of them deserve their full schemas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolsRanked {
    pub turn: MessageId,
    /// Name and score; scores are comparable only within one ranking.
    pub tools: Vec<(String, f64)>,
    pub shown: u32,
    /// Successes that the ranking is based on.
    pub successes: u64,
}

/// The priority of a prompt's section when room is scarce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Tier {
    /// Never left out.
    Mandatory,
    /// Never left out either.
    Critical,
    /// Left out when there is no room, starting with the last.
    Important,
    /// Left out before the important sections.
    NiceToHave,
}

/// What happened to a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionFate {
    pub name: String,
    pub tier: Tier,
    pub tokens: u32,
    pub kept: bool,
}

/// A prompt was built and sent to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBuilt {
    pub turn: MessageId,
    pub call: MessageId,
    /// 1 for the first; 2 when the first reply could not be parsed.
    pub attempt: u32,
    /// Tokens in the prompt.
    pub tokens: u32,
    /// The maximum number of tokens.
    pub budget: u32,
    /// In the order of the prompt, including those left out.
    pub sections: Vec<SectionFate>,
    /// Tools shown with their full schemas, best first.
    pub tools: Vec<String>,
}

signal! {
    RankTools: Anywhere, Transient;
    ToolsRanked: Anywhere, Transient;
    PromptBuilt: Deliberation, Lossless;
}

queries! {
    RankTools => ToolsRanked, of TOOL_INDEX;
}
