//! Stops, holds, redirections: control mail that is read before all other mail.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::latch::StopDetail;
use crate::signal;

/// A person's request to the PreemptionCircuit by a command, HTTP or a channel. The latch has already acted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptionRequested {
    Stop(StopDetail),
    Reset {
        by: String,
    },
    Resume {
        by: String,
    },
    /// Without a time: until `resume`.
    Hold {
        until: Option<Timestamp>,
        by: String,
    },
    /// Another goal comes first; the current one is suspended.
    Redirect {
        goal: String,
        by: String,
        /// The channel on which `by` is told the result.
        #[serde(default)]
        channel: String,
        /// The turn that pursues the goal, if it has already begun.
        turn: Option<MessageId>,
        /// Pain or a threat is the cause. The suspended goal needs a person's word before it continues.
        #[serde(default)]
        is_threat: bool,
    },
}

/// The PreemptionCircuit's result. The goals themselves report what it means for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreemptionChanged {
    pub request: PreemptionRequested,
    pub cancelled_turns: Vec<MessageId>,
}

/// Supervision reports that a room runs, or that it is held for a while. A restart that takes milliseconds isn't
/// reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionChanged {
    pub region: String,
    /// It failed too often and reads no mail until it is tried again.
    pub is_held: bool,
    /// Its last failure; empty when it runs.
    pub why: String,
}

signal! {
    PreemptionRequested: Anywhere, Transient, Control;
    PreemptionChanged: Anywhere, Lossless, Control;
    RegionChanged: Anywhere, Transient, Control;
}
