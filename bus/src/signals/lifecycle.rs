//! Stops, holds, redirections: control mail that overtakes everything.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::latch::StopDetail;
use crate::signal;

/// What a person asks of the PreemptionCircuit by a command, HTTP or a channel. The latch itself has acted already.
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
    /// Without a time: until released by `resume`.
    Hold {
        until: Option<Timestamp>,
        by: String,
    },
    /// Another goal comes first; what is pursued is laid aside.
    Redirect {
        goal: String,
        by: String,
        /// Where `by` hears what comes of it.
        #[serde(default)]
        channel: String,
        /// The turn that pursues it, where that has begun already.
        turn: Option<MessageId>,
        /// It hurts, or threatens: what was laid aside for it is asked about before it goes on.
        #[serde(default)]
        is_threat: bool,
    },
}

/// What the PreemptionCircuit made of it. What it means for goals, these tell themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreemptionChanged {
    pub request: PreemptionRequested,
    pub cancelled_turns: Vec<MessageId>,
}

/// A room is up, or was given up for a while: what supervision knows of it. A restart that takes milliseconds isn't told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionChanged {
    pub region: String,
    /// It failed too often, and takes no mail until it is tried again.
    pub is_held: bool,
    /// What it failed of last; empty when it is up.
    pub why: String,
}

signal! {
    PreemptionRequested: Anywhere, Transient, Control;
    PreemptionChanged: Anywhere, Lossless, Control;
    RegionChanged: Anywhere, Transient, Control;
}
