//! What is done unasked: an opportunity that the senses noticed, and what was weighed before it was taken.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::ids::MessageId;
use crate::signal;

/// Something that is around was found worth acting on. The gateway makes a percept of it, with which the turn begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpportunitySensed {
    pub turn: MessageId,
    /// What is around, by name.
    pub things: Vec<String>,
}

/// One act that could be done, and what speaks for and against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActOption {
    pub tool: String,
    pub params: Json,
    /// What experience expects of it here, −1 (bad) to 1 (good), as far as it is sure; 0 where nothing is known.
    pub value: f64,
    /// How often it was chosen lately: older choices count less.
    pub tries: f64,
    /// What its newness is worth.
    pub novelty: f64,
    /// How much of it is feared, 0 to 1.
    pub fear: f64,
    /// The need that it serves, 0 to 1; 0 where it serves none.
    pub need: f64,
    /// All of it together. Doing nothing is worth 0.
    pub score: f64,
    /// With which chance it was chosen, 0 to 1.
    pub chance: f64,
    /// Why it could not be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<String>,
}

/// An act was chosen, unasked; in the turn in which it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActChosen {
    pub options: Vec<ActOption>,
    /// The place of the one that was chosen among them.
    pub chosen: usize,
    /// The chance with which nothing would have been done, 0 to 1.
    pub nothing: f64,
}

signal! {
    OpportunitySensed: Deliberation, Lossless;
    ActChosen: Deliberation, Lossless;
}
