//! Pain of a body: a movement that went wrong, or pain that a sense reports.

use serde::{Deserialize, Serialize};

use super::percept::PainKind;
use crate::ids::MessageId;
use crate::signal;
use crate::units::Intensity;

/// A movement was too fast, went back and forth, moved against a load, or didn't happen; or something outside hurts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyStrained {
    /// The execution that moved it; none for a movement without one.
    pub action: Option<MessageId>,
    pub kind: PainKind,
    /// The intensity that a sense reports; otherwise it follows from how often this happens.
    pub intensity: Option<Intensity>,
    /// The joint, e.g. `head.yaw`.
    pub place: String,
    /// Names the measured value and the bound.
    pub reason: String,
}

signal! {
    BodyStrained: Anywhere, Transient;
}
