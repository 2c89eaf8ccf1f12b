//! From experience to general knowledge: what is offered to become a concept, and what became of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::concepts::{MemoryRef, RelationLesson};
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::units::Confidence;
use crate::{RegionName, rooms};

/// Asks every source of promotion for what repeats. A source answers with [`CandidatesOffered`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferCandidates {
    /// Default 0.6.
    pub min_confidence: f64,
    /// Default 3.
    pub min_observations: u64,
}

/// Something that repeats and may become a concept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromotionCandidate {
    pub name: String,
    pub category: String,
    /// What it says, in a sentence.
    pub definition: String,
    pub confidence: Confidence,
    pub observations: u64,
    pub episodes: Vec<String>,
    pub properties: BTreeMap<String, String>,
    pub relations: Vec<RelationLesson>,
    /// Records other than episodes that it rests on.
    pub sources: Vec<MemoryRef>,
    /// Outcomes in order of time, 1 for the claimed one and 0 for another, the newest last; empty where the claim isn't
    /// about a series.
    pub series: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidatesOffered {
    /// The room that offers.
    pub source: String,
    pub candidates: Vec<PromotionCandidate>,
    /// What is told anew where it was promoted before, since what is predicted now says the opposite; of no use where it
    /// wasn't.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicted: Vec<PromotionCandidate>,
}

/// Starts a promotion now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promote {
    pub by: String,
}

/// Why a candidate was not promoted, or that it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromotionVerdict {
    Promoted,
    /// Its outcomes are those of a coin.
    Noise,
    /// Too few trusted episodes stand behind it.
    Uncorroborated,
    /// Nothing was observed since it was promoted last.
    NothingNew,
    /// Below the least confidence or number of observations.
    TooWeak,
    /// Who had to be asked about it did not answer; it stays a candidate.
    Unjudged,
    /// A person had it forgotten; it isn't learned again by itself.
    Forgotten,
}

/// What became of a promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromotionEnded {
    pub offered: u64,
    pub verdicts: Vec<(String, PromotionVerdict)>,
    /// Rooms that offered.
    pub sources: Vec<String>,
    /// Concepts made and reinforced.
    pub created: u64,
    pub reinforced: u64,
    /// Rooms that did not answer in time: what they would have said is missing, and the next promotion makes up for it.
    #[serde(default)]
    pub unheard: Vec<String>,
    /// Set when another one was under way, nobody could be asked or somebody did not answer.
    pub reason: Option<String>,
}

signal! {
    OfferCandidates: Anywhere, Transient;
    CandidatesOffered: Anywhere, Transient;
    Promote: Anywhere, Transient;
    PromotionEnded: Anywhere, Transient;
}

impl Query for OfferCandidates {
    type Answer = CandidatesOffered;
}
impl Query for Promote {
    type Answer = PromotionEnded;
}
impl Addressed for Promote {
    const OF: RegionName = rooms::SEMANTIC_PROMOTER;
}
