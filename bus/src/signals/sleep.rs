//! Sessions, and the work of the brain in its sleep.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::{queries, signal};

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnding {
    /// A person asked for it, or the process was shut down normally.
    Asked,
    /// Nothing was perceived for some time.
    Idle,
    /// The process died during it; found at the next start.
    Killed,
}

/// The first percept after a pause, or after a start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The id of its first percept.
    pub session: MessageId,
    pub at: Timestamp,
}

/// A session of experience is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    pub session: MessageId,
    pub began: Timestamp,
    /// The time of its last percept.
    pub last: Timestamp,
    pub why: SessionEnding,
    pub percepts: u64,
}

/// Ends the current session, if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndSession {
    pub by: String,
}

/// The cause of the sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepReason {
    SessionEnd,
    Schedule,
    Asked,
}

/// Asks the brain to sleep now. The asker gets [`SleepEnded`] with the request's id in `askers`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestSleep {
    pub by: String,
}

/// The phases of a sleep, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepPhase {
    /// Each episode is scored. Episodes that are due are marked.
    Scoring,
    /// Repeated patterns become knowledge, while all their sources still exist.
    Promoting,
    /// Marked episodes are compressed or removed.
    Compressing,
    /// The layers of knowledge do their upkeep.
    Layers,
}

/// A phase of sleep begins. Rooms with upkeep of their own do it in their phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepEntered {
    pub sleep: MessageId,
    pub phase: SleepPhase,
}

/// What sleep has done with episodes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodeTally {
    pub scored: u64,
    /// Left unchanged.
    pub kept: u64,
    pub compressed: u64,
    /// Removed because no reason to keep them was found.
    pub pruned: u64,
    /// Removed because the disk budget was reached.
    pub evicted: u64,
    /// Bytes of the episodes' records.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Asks the hippocampus for one step of scoring its episodes. The next request continues from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoreEpisodes {
    pub sleep: MessageId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodesScored {
    pub sleep: MessageId,
    /// For the whole sleep.
    pub tally: EpisodeTally,
    pub done: bool,
}

/// Asks the hippocampus for one step of compressing or removing marked episodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressEpisodes {
    pub sleep: MessageId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodesCompressed {
    pub sleep: MessageId,
    /// For the whole sleep.
    pub tally: EpisodeTally,
    pub done: bool,
}

/// What sleep has done with the layers of knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeTally {
    /// Records that were due.
    pub looked_at: u64,
    pub compressed: u64,
    pub pruned: u64,
    /// Bytes of the records examined.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// The report of a sleep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SleepReport {
    pub sleep: MessageId,
    pub why: SleepReason,
    pub began: Timestamp,
    pub ended: Timestamp,
    /// Sessions since the previous sleep.
    pub sessions: u64,
    #[serde(flatten)]
    pub episodes: EpisodeTally,
    pub knowledge: KnowledgeTally,
    /// Concepts made and reinforced.
    pub promoted: u64,
    pub reinforced: u64,
    /// Percepts that interrupted it.
    pub interruptions: u64,
    /// Parts that could not be done, and why.
    pub missing: Vec<String>,
}

/// The brain has slept. Every change in the report was committed before this signal.
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

queries! {
    RequestSleep => SleepEnded, of CONSOLIDATION;
    ScoreEpisodes => EpisodesScored, of HIPPOCAMPUS;
    CompressEpisodes => EpisodesCompressed, of HIPPOCAMPUS;
}
