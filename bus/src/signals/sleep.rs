//! Sessions, and what the brain does in its sleep.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnding {
    /// Somebody asked for it, or the process was stopped in order.
    Asked,
    /// Nothing was perceived for a while.
    Idle,
    /// The process went away in the middle of it; found at the next start.
    Killed,
}

/// The first percept after a pause, or after a start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// Named by its first percept.
    pub session: MessageId,
    pub at: Timestamp,
}

/// A stretch of experience is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    pub session: MessageId,
    pub began: Timestamp,
    /// The last thing that was perceived in it.
    pub last: Timestamp,
    pub why: SessionEnding,
    pub percepts: u64,
}

/// Ends the session now, if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndSession {
    pub by: String,
}

/// What made the brain sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepReason {
    SessionEnd,
    Schedule,
    Asked,
}

/// Asks the brain to sleep now. Who asks gets [`SleepEnded`] with the request's id among the askers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestSleep {
    pub by: String,
}

/// The parts of a sleep, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepPhase {
    /// Each episode is scored and, where its time has come, marked.
    Scoring,
    /// What repeats becomes knowledge, while all its sources exist.
    Promoting,
    /// What was marked is compressed or removed.
    Compressing,
    /// The layers of knowledge look after themselves.
    Layers,
}

/// A part of a sleep begins. Rooms that have upkeep of their own do it when their part comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepEntered {
    pub sleep: MessageId,
    pub phase: SleepPhase,
}

/// What sleep has done to episodes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodeTally {
    pub scored: u64,
    /// Left as they were.
    pub kept: u64,
    pub compressed: u64,
    /// Removed because nothing spoke for them.
    pub pruned: u64,
    /// Removed because the disk budget was reached.
    pub evicted: u64,
    /// Bytes of the episodes' records.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Asks the hippocampus to score its episodes, a step of it. Asked again, it goes on where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoreEpisodes {
    pub sleep: MessageId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodesScored {
    pub sleep: MessageId,
    /// Of the whole sleep.
    pub tally: EpisodeTally,
    pub done: bool,
}

/// Asks the hippocampus to compress or remove what it marked, a step of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressEpisodes {
    pub sleep: MessageId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodesCompressed {
    pub sleep: MessageId,
    /// Of the whole sleep.
    pub tally: EpisodeTally,
    pub done: bool,
}

/// What sleep has done to the layers of knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeTally {
    /// Records whose time had come.
    pub looked_at: u64,
    pub compressed: u64,
    pub pruned: u64,
    /// Bytes of the records that were looked at.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// What a sleep did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepReport {
    pub sleep: MessageId,
    pub why: SleepReason,
    pub began: Timestamp,
    pub ended: Timestamp,
    /// Sessions since the sleep before.
    pub sessions: u64,
    #[serde(flatten)]
    pub episodes: EpisodeTally,
    pub knowledge: KnowledgeTally,
    /// Concepts made and reinforced.
    pub promoted: u64,
    pub reinforced: u64,
    /// Percepts that interrupted it.
    pub interruptions: u64,
    /// What could not be done, and why.
    pub missing: Vec<String>,
}

/// The brain has slept; everything that the report says is in the same order of commits before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepEnded {
    pub report: SleepReport,
    /// Requests that this sleep answers.
    pub askers: Vec<MessageId>,
}

signal! {
    SessionStarted: Anywhere, Lossless;
    SessionEnded: Anywhere, Lossless;
    EndSession: Anywhere, Transient;
    RequestSleep: Anywhere, Transient;
    SleepEntered: Anywhere, Lossless;
    ScoreEpisodes: Anywhere, Transient;
    EpisodesScored: Anywhere, Transient;
    CompressEpisodes: Anywhere, Transient;
    EpisodesCompressed: Anywhere, Transient;
    SleepEnded: Anywhere, Lossless;
}

impl Query for RequestSleep {
    type Answer = SleepEnded;
}
impl Addressed for RequestSleep {
    const OF: RegionName = rooms::CONSOLIDATION;
}
impl Query for ScoreEpisodes {
    type Answer = EpisodesScored;
}
impl Addressed for ScoreEpisodes {
    const OF: RegionName = rooms::HIPPOCAMPUS;
}
impl Query for CompressEpisodes {
    type Answer = EpisodesCompressed;
}
impl Addressed for CompressEpisodes {
    const OF: RegionName = rooms::HIPPOCAMPUS;
}
