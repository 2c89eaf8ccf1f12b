//! Questions to memory and its answers, and the percept enriched with them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::concepts::KnowledgeEntry;
use super::fear::FearsRecalled;
use super::percept::SalientPercept;
use super::skill::ProgramRecalled;
use crate::ids::MessageId;
use crate::signal::Trust;
use crate::units::{Confidence, Rpe, Salience, Valence, Value};
use crate::{queries, signal};

/// Selects episodes. Empty fields don't filter; `query` ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeFilter {
    #[serde(alias = "keyword")]
    pub query: Option<String>,
    pub goal: Option<String>,
    #[serde(alias = "tool")]
    pub tool_name: Option<String>,
    pub success: Option<bool>,
    pub object: Option<String>,
    pub person: Option<String>,
    pub mode: Option<String>,
    /// Earliest time, included.
    pub time_after: Option<Timestamp>,
    /// Latest time, included.
    pub time_before: Option<Timestamp>,
    /// Follow associations from the episodes found.
    pub expand: bool,
    /// Without a query: the oldest first instead of the newest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub oldest: bool,
    /// Without a query: also count all matching episodes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
    /// Only episodes with these ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Only words of this person, or of a person who isn't known. Words with which the agent did something are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_by: Option<String>,
    /// Only acts of the agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
    /// Only episodes whose text bears on these words. Unlike `query`, it doesn't rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The first of these that names a known tool, or no tool, takes the place of this filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<EpisodeFilter>,
    /// 1 to 20 for tools; batch doors may ask for more. 0 means the default of 5.
    pub limit: usize,
}

impl EpisodeFilter {
    /// Episodes that are read one by one for a question that the indexes alone don't answer, at most.
    pub const READ: usize = 500;

    /// Whether the indexes alone don't answer it.
    pub fn is_read(&self) -> bool {
        self.told_by.is_some() || self.done || self.about.is_some()
    }

    /// True when nothing but words is asked.
    pub fn is_open(&self) -> bool {
        let named = [&self.goal, &self.tool_name, &self.object, &self.person, &self.mode];
        named.iter().all(|value| value.is_none())
            && self.success.is_none()
            && self.time_after.is_none()
            && self.time_before.is_none()
    }
}

/// How an episode was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// By the filters alone.
    Index,
    /// By words of the question or similar words.
    Text,
    /// Only its neighbours or linked episodes contain words of the question.
    Association,
    /// Only by its meaning.
    Similarity,
}

/// An episode in an answer: the line of `maxim memory recall`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecalledEpisode {
    pub id: String,
    pub score: f64,
    pub via: Via,
    pub timestamp: Timestamp,
    pub goal: Option<String>,
    pub tool: Option<String>,
    pub success: Option<bool>,
    pub text: String,
    pub people: Vec<String>,
    pub result: Option<String>,
    pub trust: Trust,
    /// Whether the text is a person's words, not what the agent perceived.
    #[serde(default)]
    pub said: bool,
    /// The speaker, if known and credible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
}

impl RecalledEpisode {
    /// A sense heard it, and the speaker is unknown.
    pub fn is_heard(&self) -> bool {
        self.said && self.trust == Trust::Sensor
    }

    /// The speaker, else the people present; none when nobody is known.
    pub fn who(&self) -> Option<String> {
        if self.is_heard() {
            return Some("heard, and nobody knows from whom".into());
        }
        let others = || (!self.people.is_empty()).then(|| self.people.join(", "));
        self.speaker.clone().or_else(others)
    }
}

/// Asks the hippocampus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecallEpisodes {
    pub filter: EpisodeFilter,
    /// The turn that asks. Its own open episode is excluded.
    pub except: Option<MessageId>,
    /// The agent itself asks this in that turn, so "I" doesn't mean the speaker.
    #[serde(default)]
    pub thought: bool,
    /// The asker has enough time to wait for an external encoder.
    #[serde(default)]
    pub waits: bool,
    /// The asker's deadline. A later answer would be useless and would only delay the next ones.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodesRecalled {
    #[serde(rename = "results", alias = "episodes")]
    pub episodes: Vec<RecalledEpisode>,
    /// Where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<EpisodesCounted>,
    /// The number of the alternative that was taken, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<usize>,
    /// The number of episodes that were read. `None`: all that may pass were read, or as many were found as asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<usize>,
}

/// How many episodes match a filter. Those counted neither as successes nor as failures have an unknown outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodesCounted {
    pub total: u64,
    pub succeeded: u64,
    pub failed: u64,
}

impl EpisodesRecalled {
    /// The first `most` direct matches, followed by their associated episodes, which don't count towards `most`.
    pub fn with_associations(&self, most: usize) -> Vec<RecalledEpisode> {
        let is_association = |episode: &RecalledEpisode| episode.via == Via::Association;
        let (associated, found): (Vec<_>, Vec<_>) = self.episodes.iter().cloned().partition(is_association);
        found.into_iter().take(most).chain(associated).collect()
    }
}

/// Asks the nucleus accumbens for the expected result of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictOutcomes {
    pub tool_name: String,
    pub params: Json,
    pub context: Json,
    pub include_all_outcomes: bool,
}

/// The expected result of an action. `known` is false when nothing like it was ever experienced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomesPredicted {
    pub tool_name: String,
    pub known: bool,
    pub value: Value,
    pub valence: Valence,
    pub confidence: Confidence,
    pub observations: u64,
    /// Expected delay in seconds: the median, and the interval that contains 80 % of past delays.
    pub delay_s: Option<[f64; 3]>,
    /// (outcome, probability), most probable first.
    pub outcomes: Vec<(String, f64)>,
    pub links: Vec<String>,
    pub episodes: Vec<String>,
}

/// Bins of time. Within one scale any bin matches; all scales must match; an empty scale doesn't filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeBins {
    /// 0 to 23.
    pub hours: Vec<u8>,
    /// Monday 0 to Sunday 6.
    pub days: Vec<u8>,
    /// Of the month, 0 to 3: days 1–7, 8–14, 15–21, and the rest.
    pub weeks: Vec<u8>,
    /// 1 to 12.
    pub months: Vec<u8>,
}

impl TimeBins {
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// Asks the suprachiasmatic nucleus about the present time, or about events at such times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribeTime {
    /// When empty: all bins if a time is given, else this hour on this day of the week.
    pub bins: TimeBins,
    /// Return the episodes at the times most similar to now, instead of those in the bins.
    pub like_now: bool,
    /// Of the episodes in the bins, only those that are the only one in one of their bins.
    pub sole: bool,
    /// Count and name only events at this time or later.
    pub time_after: Option<Timestamp>,
    /// Count and name only events at this time or earlier.
    pub time_before: Option<Timestamp>,
    /// Number of episodes to name; with 0, the typical events aren't returned either.
    pub limit: usize,
}

/// The position of a moment on the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarBins {
    pub hour: u8,
    /// 0 = Monday.
    pub day: u8,
    /// Of the month, 0 to 3.
    pub week: u8,
    pub month: u8,
}

/// Bins of time, and how much happened in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeDescribed {
    pub now: CalendarBins,
    /// The requested bins.
    pub bins: TimeBins,
    /// Episodes in these bins.
    #[serde(alias = "like_now")]
    pub matching: u64,
    /// Older episodes that were not examined for lack of time, when a range of time was given.
    pub unseen: u64,
    pub total: u64,
    pub episodes: Vec<String>,
    /// Activities in these bins with their counts, the most frequent first.
    pub typical: Vec<(String, u64)>,
    /// None when the oscillators are switched off.
    pub clocks: Option<ClocksDescribed>,
}

impl TimeDescribed {
    /// What such times brought, in words for the prompt; none when they brought nothing.
    pub fn usual(&self) -> Option<String> {
        let kinds: Vec<String> = self.typical.iter().map(|(kind, times)| format!("{kind} ({times})")).collect();
        let mostly = if kinds.is_empty() { String::new() } else { format!(", mostly {}", kinds.join(", ")) };
        let (matching, total) = (self.matching, self.total);
        (matching > 0)
            .then(|| format!("Such an hour of the week brought {matching} of {total} experiences so far{mostly}."))
    }
}

/// The state of the oscillators of day, week, month and year.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClocksDescribed {
    /// r, 0 (spread out) to 1 (in phase).
    pub coherence: f64,
    /// Mean circular distance between predicted and real phases, 0 to 1 (opposite).
    pub anomaly: f64,
    /// Predicted phases, radians.
    pub predicted: Vec<f64>,
    /// Eigenvalues of the learned couplings, the largest first.
    pub eigenvalues: Vec<f64>,
    /// Events that have a rhythm, the next first.
    pub expected: Vec<ExpectedEvent>,
}

/// When a kind of event is next expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedEvent {
    pub kind: String,
    pub at: Timestamp,
    /// Period of the clock that it follows.
    pub period_hours: f64,
    /// How regularly it follows the clock, 0 to 1.
    pub strength: f64,
    /// How unusual it would be now: 0 at its time, 1 at the opposite phase.
    pub anomaly: f64,
}

/// Asks a room how much it holds, or asks an optional room whether it can help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportStats {}

/// A room's counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatsReported {
    pub region: String,
    pub counts: Json,
}

/// A section of the context that is missing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingSection {
    pub region: String,
    pub reason: String,
}

/// The percept with everything that memory answered before the deadline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnrichedPercept {
    pub salient: SalientPercept,
    pub recalled: Vec<RecalledEpisode>,
    pub time: Option<TimeDescribed>,
    /// Relevant general knowledge, the best first.
    #[serde(default)]
    pub knowledge: Vec<KnowledgeEntry>,
    /// Practised programs, the best fitting first.
    #[serde(default)]
    pub programs: Vec<ProgramRecalled>,
    /// What hurt, and what was refused.
    #[serde(default)]
    pub fears: FearsRecalled,
    pub missing: Vec<MissingSection>,
}

impl EnrichedPercept {
    /// The percept alone.
    pub fn bare(salient: SalientPercept) -> Self {
        Self {
            salient,
            recalled: Vec::new(),
            time: None,
            knowledge: Vec::new(),
            programs: Vec::new(),
            fears: FearsRecalled::default(),
            missing: Vec::new(),
        }
    }
}

/// An episode was opened or completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeStored {
    pub episode: String,
    pub at: Timestamp,
    pub complete: bool,
    pub reasons: Vec<String>,
    pub salience: Salience,
    /// The earlier episode with the same observation: no new episode is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
}

/// A result differed from what was expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionErrorSensed {
    pub action: MessageId,
    pub event: String,
    pub outcome: String,
    pub expected: Value,
    pub rpe: Rpe,
    pub value: Value,
    pub confidence: Confidence,
    pub valence: Valence,
}

/// The value of an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    pub action: MessageId,
    pub tool: String,
    /// λ of Rescorla and Wagner: 1 good, 0 bad, 0.5 neutral.
    pub lambda: Value,
}

/// A read-only question about the brain itself. It has its own door, because those who answer it hold no permit for
/// any effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// One of the introspection tools.
    pub tool: String,
    pub params: Json,
    /// The turn that asks; none for a question from outside.
    pub turn: Option<MessageId>,
    /// A model wrote the parameters, so they are checked against the tool's schema.
    #[serde(default)]
    pub by_model: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InquiryAnswered {
    pub inquiry: MessageId,
    pub tool: String,
    pub params: Json,
    pub turn: Option<MessageId>,
    pub output: Json,
    pub error: Option<String>,
}

/// Lines of an import, with their numbers, as `maxim memory import` reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportEpisodes {
    pub lines: Vec<(u64, String)>,
    /// Keep all: skip selective capture and the 30-second merge.
    pub all: bool,
    /// Episodes of the file that were refused before. Their ids belong to other episodes here, so references to them
    /// mean nothing here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// More lines may follow. Lines that refer to episodes not here yet are returned ([`EpisodesImported::wanting`]),
    /// instead of being imported without those edges.
    #[serde(default)]
    pub waits: bool,
}

/// A line of an export whose episode has edges to episodes that aren't here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnjoinedLine {
    pub line: u64,
    pub episode: String,
    /// The other ends of these edges.
    pub to: Vec<String>,
}

/// The result for the lines; refused ones with the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodesImported {
    pub kept: u64,
    /// A repeated observation shortly after an earlier one: the earlier episode counts it.
    pub merged: u64,
    /// Stored already, under the same id.
    pub known: u64,
    /// Skipped by selective capture, because nothing in them was worth keeping.
    pub unremarkable: u64,
    pub bad: Vec<(u64, String)>,
    /// Valid episodes whose ids belong to other episodes here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Lines not imported yet. Send them again when the episodes they refer to are here, or when no more lines
    /// follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanting: Vec<UnjoinedLine>,
    /// Valid episodes that are settled: imported, known or refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub came: Vec<String>,
    /// Edges of imported episodes that were left out, because their other end isn't here.
    #[serde(default)]
    pub edges_left_out: u64,
}

/// Imported episodes, with their times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodesCaptured {
    pub episodes: Vec<(String, Timestamp)>,
    /// Actions in them and when; for an episode without actions, the sense that perceived it.
    #[serde(default)]
    pub done: Vec<(String, Timestamp)>,
    /// Actions in them with a known result.
    #[serde(default)]
    pub ended: Vec<EndedAct>,
}

/// An action in an imported episode, with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedAct {
    pub episode: String,
    pub at: Timestamp,
    pub tool: String,
    pub params: Map<String, Json>,
    pub goal: Option<String>,
    pub mode: Option<String>,
    pub success: bool,
}

/// A kind of event follows a clock, or no longer does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseLocked {
    /// The tool that was used, or the sense that perceived it.
    pub kind: String,
    /// `day`, `week`, `month` or `year`.
    pub clock: String,
    /// How long after the clock's turn the event comes, radians in [0, 2π).
    pub phase: f64,
    /// Resultant length of its phases, 0 (any time) to 1 (always the same).
    pub coupling: f64,
    /// False when an earlier rhythm no longer holds.
    pub holds: bool,
}

signal! {
    PhaseLocked: Memory, Lossless;
    EpisodesCaptured: Memory, Lossless;
    ImportEpisodes: Anywhere, Transient;
    EpisodesImported: Anywhere, Transient;
    RecallEpisodes: Anywhere, Transient;
    EpisodesRecalled: Anywhere, Transient;
    PredictOutcomes: Anywhere, Transient;
    OutcomesPredicted: Anywhere, Transient;
    DescribeTime: Anywhere, Transient;
    TimeDescribed: Anywhere, Transient;
    ReportStats: Anywhere, Transient;
    StatsReported: Anywhere, Transient;
    EnrichedPercept: Memory, Lossless;
    EpisodeStored: Memory, Lossless;
    PredictionErrorSensed: Learning, Lossless;
    Reward: Learning, Lossless;
    Inquiry: Anywhere, Transient;
    InquiryAnswered: Anywhere, Transient;
}

queries! {
    RecallEpisodes => EpisodesRecalled, of HIPPOCAMPUS;
    PredictOutcomes => OutcomesPredicted, of NUCLEUS_ACCUMBENS;
    DescribeTime => TimeDescribed, of SUPRACHIASMATIC_NUCLEUS;
    ReportStats => StatsReported;
    ImportEpisodes => EpisodesImported, of HIPPOCAMPUS;
    Inquiry => InquiryAnswered, of INTROSPECTOR;
}
