//! What the gate has learned to fear, and a person's word on it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::signal;
use crate::signal::Query;

/// What a person wants of a fear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FearWish {
    /// Ask about the tool from now on, whatever experience says.
    Pin,
    /// Try it again; the next bad outcome brings a fear back.
    Forgive,
}

/// Asks the gate what it fears. With a change it does that first; only the owner can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyFears {
    /// The tool, and what is wanted of it.
    pub change: Option<(String, FearWish)>,
    pub by: String,
}

/// A tool that hurt, or that a person wants to be asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FearShown {
    pub tool: String,
    /// When it hurt last; none where it is only pinned.
    pub hurt: Option<Timestamp>,
    /// The share of confidence that time has left, 0 to 1.
    pub unforgiven: f64,
    pub pinned: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FearsSurveyed {
    /// By name. That a tool is here doesn't mean that it is asked about: experience is asked first.
    pub fears: Vec<FearShown>,
    /// It is asked about at a confidence above this …
    pub veto_confidence: f64,
    /// … and a value below this.
    pub veto_value: f64,
    /// Why the change was not made.
    pub refused: Option<String>,
}

signal! {
    SurveyFears: Anywhere, Transient;
    FearsSurveyed: Anywhere, Transient;
}

impl Query for SurveyFears {
    type Answer = FearsSurveyed;
}
