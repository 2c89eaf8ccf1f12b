//! Acts that nobody asked for: an opportunity that the senses noticed, and the options that were weighed.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::ids::MessageId;
use crate::signal;

/// Something nearby was found worth acting on. The gateway makes a percept of it, which starts the turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpportunitySensed {
    pub turn: MessageId,
    /// The things nearby, by name.
    pub things: Vec<String>,
}

/// One possible act, with the reasons for and against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActOption {
    pub tool: String,
    pub params: Json,
    /// The value that experience expects of it here, −1 (bad) to 1 (good), weighted by certainty; 0 where nothing is
    /// known.
    pub value: f64,
    /// How often it was chosen lately; older choices count less.
    pub tries: f64,
    /// The bonus for its novelty.
    pub novelty: f64,
    /// How much it is feared, 0 to 1.
    pub fear: f64,
    /// The need that it serves, 0 to 1; 0 where it serves no need.
    pub need: f64,
    /// The total. Doing nothing scores 0.
    pub score: f64,
    /// The probability with which it was chosen, 0 to 1.
    pub chance: f64,
    /// Why it could not be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<String>,
}

/// The agent chose an act that nobody asked for. Said in the turn in which it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActChosen {
    pub options: Vec<ActOption>,
    /// The index of the chosen act.
    pub chosen: usize,
    /// The probability that the agent would have done nothing, 0 to 1.
    pub nothing: f64,
}

signal! {
    OpportunitySensed: Deliberation, Lossless;
    ActChosen: Deliberation, Lossless;
}
