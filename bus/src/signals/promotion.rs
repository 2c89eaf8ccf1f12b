//! From experience to general knowledge: candidates for concepts, and the decisions on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::concepts::{MemoryRef, RelationLesson};
use crate::{queries, signal};

use crate::units::Confidence;

/// Asks every source of promotion for what repeats. A source answers with [`CandidatesOffered`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferCandidates {
    /// Default 0.6.
    pub min_confidence: f64,
    /// Default 3.
    pub min_observations: u64,
}

/// A pattern that repeats and may become a concept.
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
    /// Evidence other than episodes.
    pub sources: Vec<MemoryRef>,
    /// Outcomes in order of time, the newest last: 1 for the claimed outcome, 0 for another. Empty when the claim
    /// isn't about a series.
    pub series: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidatesOffered {
    /// The room that offers it.
    pub source: String,
    pub candidates: Vec<PromotionCandidate>,
    /// Restatements of candidates promoted earlier, because the prediction is now the opposite. Ignored if they
    /// weren't promoted.
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
    /// Its outcomes look like coin tosses.
    Noise,
    /// Too few trusted episodes support it.
    Uncorroborated,
    /// No new observations since its last promotion.
    NothingNew,
    /// Below the minimum confidence or number of observations.
    TooWeak,
    /// A room that had to be asked did not answer; it stays a candidate.
    Unjudged,
    /// A person had it forgotten; the brain doesn't learn it again by itself.
    Forgotten,
}

/// The result of a promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromotionEnded {
    pub offered: u64,
    pub verdicts: Vec<(String, PromotionVerdict)>,
    /// Rooms that offered candidates.
    pub sources: Vec<String>,
    /// Concepts made and reinforced.
    pub created: u64,
    pub reinforced: u64,
    /// Rooms that did not answer in time. Their candidates are missing; the next promotion makes up for it.
    #[serde(default)]
    pub unheard: Vec<String>,
    /// Set when another promotion was under way, no room could be asked, or a room did not answer.
    pub reason: Option<String>,
}

signal! {
    OfferCandidates: Anywhere, Transient;
    CandidatesOffered: Anywhere, Transient;
    Promote: Anywhere, Transient;
    PromotionEnded: Anywhere, Transient;
}

queries! {
    OfferCandidates => CandidatesOffered;
    Promote => PromotionEnded, of SEMANTIC_PROMOTER;
}
