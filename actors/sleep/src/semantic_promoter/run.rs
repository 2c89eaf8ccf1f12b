//! One promotion in progress, step by step: offers, judgement, evidence, lessons.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use maxim_bus::signals::concepts::FetchedEpisode;
use maxim_bus::signals::promotion::{PromotionCandidate, PromotionEnded, PromotionVerdict};
use maxim_bus::{MessageId, Name};
use serde::{Deserialize, Serialize};

/// The phase of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Sources were asked for repeated patterns.
    Offering,
    /// The quick sense of numbers was asked which candidates look like noise.
    Judging,
    /// The hippocampus was asked for the episodes behind the first candidates.
    Checking,
    /// The anterior temporal lobe was given lessons.
    Teaching,
}

/// A candidate with the room that offered it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    pub source: String,
    pub candidate: PromotionCandidate,
    /// It is a restatement of an earlier promotion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contradicted: bool,
}

impl Offered {
    /// The key under which its promotion is remembered.
    pub fn key(&self) -> String {
        format!("{}: {}", self.source, self.candidate.name)
    }
}

/// A promotion in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Who gets the report, and in which turn; none for a promotion that the room began by itself.
    pub asker: Option<(Name, MessageId)>,
    pub turn: MessageId,
    pub phase: Phase,
    pub due: Timestamp,
    /// Number of answers it waits for.
    pub waiting: usize,
    pub candidates: VecDeque<Offered>,
    /// Requested episodes of the candidates being checked, in the order of their ids.
    pub fetched: usize,
    /// Evidence of the candidates that are being checked.
    pub evidence: BTreeMap<String, FetchedEpisode>,
    pub report: PromotionEnded,
}

impl Run {
    pub fn new(asker: Option<(Name, MessageId)>, turn: MessageId, due: Timestamp, waiting: usize) -> Self {
        Self {
            asker,
            turn,
            phase: Phase::Offering,
            due,
            waiting,
            candidates: VecDeque::new(),
            fetched: 0,
            evidence: BTreeMap::new(),
            report: PromotionEnded::default(),
        }
    }

    pub fn verdict(&mut self, name: &str, verdict: PromotionVerdict) {
        self.report.verdicts.push((name.to_owned(), verdict));
    }

    /// This room did not answer in time.
    pub fn unheard(&mut self, room: &str) {
        if !self.report.unheard.iter().any(|known| known == room) {
            self.report.unheard.push(room.to_owned());
        }
    }
}
