//! Questions of the introspection tools to the rooms, and the answers.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::percept::PainKind;
use crate::{queries, signal};

use crate::units::{Confidence, Intensity, Valence, Value};

/// Asks the nucleus accumbens which events it learned to lead to which outcomes. Empty fields don't filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListLinks {
    /// Part of the event's name: a tool, or words of its shape.
    pub event: Option<String>,
    /// Part of the outcome's name.
    pub outcome: Option<String>,
    /// An episode that taught the link.
    pub memory_id: Option<String>,
    pub valence: Option<Valence>,
    /// Only links last observed at this time or later.
    pub time_after: Option<Timestamp>,
    /// Only links last observed at this time or earlier.
    pub time_before: Option<Timestamp>,
    /// 1 to 20; 0 means the default of 5.
    pub limit: usize,
}

/// A link from a kind of event to a kind of outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkShown {
    pub event: String,
    pub outcome: String,
    pub observations: u32,
    /// How regularly this outcome followed recently, 0 to 1.
    pub strength: f64,
    /// The value of the event over all outcomes.
    pub value: Value,
    pub valence: Valence,
    pub confidence: Confidence,
    /// Median seconds to the outcome, where known.
    pub delay_s: Option<f64>,
    pub last: Timestamp,
    /// The newest first, at most five.
    pub episodes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinksListed {
    /// The link with the most observations first.
    pub links: Vec<LinkShown>,
    /// How many match in all.
    pub found: usize,
}

/// Asks the pain detector what hurt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportPain {
    /// Only pains about this tool or body part.
    pub about: Option<String>,
    pub limit: usize,
}

/// A pain that was felt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PainFelt {
    pub kind: PainKind,
    pub about: String,
    pub intensity: Intensity,
    pub at: Timestamp,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PainReported {
    /// Failures by kind since the beginning, whether felt or not.
    pub counts: BTreeMap<PainKind, u64>,
    /// The newest first.
    pub recent: Vec<PainFelt>,
    /// What is sore now.
    pub sore: Vec<String>,
}

/// Asks the gate for its verdict without doing anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeseeVerdict {
    pub tool: String,
    pub params: Json,
}

/// The gate's verdict on a call, in the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Allow,
    Ask,
    Block,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictForeseen {
    /// By the deterministic rules.
    pub verdict: Verdict,
    pub rule: String,
    pub category: String,
    pub reason: String,
    /// A person allowed exactly this call for good.
    pub allowed_always: bool,
    /// It ended badly before, so experience is asked too. The gate asks a person if the confidence is above, and the
    /// value below, these limits. The fear bridge may move both limits by what it knows of the context.
    pub hurt_before: bool,
    pub veto_confidence: f64,
    pub veto_value: f64,
    /// The share of confidence in the fear that is left after this time, 0 to 1.
    pub unforgiven: f64,
}

/// Asks the suprachiasmatic nucleus which events come at certain times more often than by chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscoverRhythms {
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RhythmsDiscovered {
    /// The most certain first: `kind`, `bins`, `events`, `expected`, `p`.
    pub rhythms: Vec<Json>,
    /// The number of events examined.
    pub events: usize,
    /// The earliest of them. Anything earlier is no longer known.
    pub since: Option<Timestamp>,
}

/// Asks the sense of the brain's own health to check its rooms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SenseVitals {}

/// The state of a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomVitals {
    pub room: String,
    /// `running`, `restarting`, `held` or `off`.
    pub state: String,
    /// Restarts since the process started.
    pub restarts: u64,
}

/// The states of all rooms, in the order of the anatomy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VitalsSensed {
    pub rooms: Vec<RoomVitals>,
    /// Why nothing is known, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

signal! {
    SenseVitals: Anywhere, Transient;
    VitalsSensed: Anywhere, Transient;
    ListLinks: Anywhere, Transient;
    LinksListed: Anywhere, Transient;
    ReportPain: Anywhere, Transient;
    PainReported: Anywhere, Transient;
    ForeseeVerdict: Anywhere, Transient;
    VerdictForeseen: Anywhere, Transient;
    DiscoverRhythms: Anywhere, Transient;
    RhythmsDiscovered: Anywhere, Transient;
}

queries! {
    ListLinks => LinksListed, of NUCLEUS_ACCUMBENS;
    SenseVitals => VitalsSensed, of VITAL_SIGNS;
    ReportPain => PainReported, of PAIN_DETECTOR;
    ForeseeVerdict => VerdictForeseen, of FEAR_AGENT;
    DiscoverRhythms => RhythmsDiscovered, of SUPRACHIASMATIC_NUCLEUS;
}
