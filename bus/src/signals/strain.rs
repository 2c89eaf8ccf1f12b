//! What a body felt of a movement that was not as it should be.

use serde::{Deserialize, Serialize};

use super::percept::PainKind;
use crate::ids::MessageId;
use crate::signal;

/// A movement went too fast, back and forth, against a load, or didn't happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyStrained {
    /// The execution that moved; none for what moved by itself.
    pub action: Option<MessageId>,
    pub kind: PainKind,
    /// The joint, e.g. `head.yaw`.
    pub place: String,
    /// Names the measured value and the bound.
    pub reason: String,
}

signal! {
    BodyStrained: Anywhere, Transient;
}
