//! What a body felt: a movement that was not as it should be, or what a sense tells to hurt.

use serde::{Deserialize, Serialize};

use super::percept::PainKind;
use crate::ids::MessageId;
use crate::signal;
use crate::units::Intensity;

/// A movement went too fast, back and forth, against a load, or didn't happen; or something from outside hurts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyStrained {
    /// The execution that moved; none for what moved by itself.
    pub action: Option<MessageId>,
    pub kind: PainKind,
    /// How much, where a sense tells; else it is known from how often.
    pub intensity: Option<Intensity>,
    /// The joint, e.g. `head.yaw`.
    pub place: String,
    /// Names the measured value and the bound.
    pub reason: String,
}

signal! {
    BodyStrained: Anywhere, Transient;
}
