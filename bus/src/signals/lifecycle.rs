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
    Redirect {
        goal: String,
        by: String,
    },
}

/// What the PreemptionCircuit made of it; what was cancelled or suspended is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreemptionChanged {
    pub request: PreemptionRequested,
    pub goal: Option<String>,
    pub suspended: Vec<String>,
    pub cancelled_turns: Vec<MessageId>,
}

signal! {
    PreemptionRequested: Anywhere, Transient, Control;
    PreemptionChanged: Anywhere, Lossless, Control;
}
