//! What the gate has learned to fear, and a person's decision about it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{queries, signal};

/// What a person wants done with a fear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FearWish {
    /// Always ask about the tool from now on, whatever experience says.
    Pin,
    /// Try it again; the next bad outcome brings the fear back.
    Forgive,
}

/// Asks the gate what it fears. If a change is given, the gate makes it first; only the owner can change a fear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyFears {
    /// The tool, and the change.
    pub change: Option<(String, FearWish)>,
    pub by: String,
}

/// A tool that hurt, or that a person wants to be asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FearShown {
    pub tool: String,
    /// When it hurt last; none when it is only pinned.
    pub hurt: Option<Timestamp>,
    /// The share of confidence in the fear that is left after this time, 0 to 1.
    pub unforgiven: f64,
    pub pinned: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FearsSurveyed {
    /// Sorted by name. A tool in this list isn't always asked about: experience decides first.
    pub fears: Vec<FearShown>,
    /// A fear leads to a question at a confidence above this …
    pub veto_confidence: f64,
    /// … and a value below this.
    pub veto_value: f64,
    /// Why the change was not made.
    pub refused: Option<String>,
}

/// Asks the gate what hurt and what was refused, for thinking. Changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallFears {
    /// The subject of the thought. Tools that it names come first.
    pub text: String,
    /// The maximum for each kind.
    pub limit: usize,
}

/// Actions of one tool that the gate refused under one rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastRefusal {
    pub tool: String,
    pub rule: String,
    /// The reason for the last refusal, in words.
    pub reason: String,
    pub times: u32,
    pub last: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FearsRecalled {
    /// Tools that hurt or are pinned: those that the text names first, then the latest.
    pub hurts: Vec<FearShown>,
    /// In the same order.
    pub refusals: Vec<PastRefusal>,
    /// Tools in this answer that the text names.
    pub named: Vec<String>,
}

impl FearsRecalled {
    pub fn is_empty(&self) -> bool {
        self.hurts.is_empty() && self.refusals.is_empty()
    }

    /// A line for each, in words.
    pub fn lines(&self) -> Vec<String> {
        let hurt = |fear: &FearShown| match fear.hurt {
            Some(at) => format!("- {} hurt, last {at:.0}; {:.2} of that fear is left", fear.tool, fear.unforgiven),
            None => format!("- {}: a person wants to be asked about it", fear.tool),
        };
        let refused = |past: &PastRefusal| {
            let PastRefusal { tool, rule, reason, times, last } = past;
            let often = if *times == 1 { String::new() } else { format!(" {times} times") };
            format!("- {tool} was refused{often}, last {last:.0}: {reason:?} ({rule})")
        };
        self.hurts.iter().map(hurt).chain(self.refusals.iter().map(refused)).collect()
    }

    /// Only the part about tools that the text names.
    pub fn of_named(mut self) -> Self {
        self.hurts.retain(|fear| self.named.contains(&fear.tool));
        self.refusals.retain(|refusal| self.named.contains(&refusal.tool));
        self
    }
}

signal! {
    SurveyFears: Anywhere, Transient;
    FearsSurveyed: Anywhere, Transient;
    RecallFears: Anywhere, Transient;
    FearsRecalled: Anywhere, Transient;
}

queries! {
    SurveyFears => FearsSurveyed, of FEAR_AGENT;
    RecallFears => FearsRecalled, of FEAR_AGENT;
}
