//! Questions to memory and its answers, and the percept enriched with them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::concepts::KnowledgeEntry;
use super::fear::FearsRecalled;
use super::percept::SalientPercept;
use super::skill::ProgramRecalled;
use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query, Trust};
use crate::units::{Confidence, Rpe, Salience, Valence, Value};
use crate::{RegionName, rooms};

/// Which episodes. Empty fields don't filter; `query` ranks.
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
    /// Follow associations from what was found.
    pub expand: bool,
    /// Without a query: the oldest first instead of the newest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub oldest: bool,
    /// Without a query: all that pass are counted too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
    /// 1 to 20 for tools; batch doors may ask for more. 0 means the default of 5.
    pub limit: usize,
}

impl EpisodeFilter {
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
    /// The filters alone.
    Index,
    /// Words of the question, or their like.
    Text,
    /// Only what stands beside it, or is linked to it, has words of the question.
    Association,
    /// Only its meaning.
    Similarity,
}

/// An episode as an answer: the line of `maxim memory recall`.
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
    /// Whether the text is somebody's words, rather than what the agent perceived.
    #[serde(default)]
    pub said: bool,
    /// Who said it, where that is known and can be believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
}

impl RecalledEpisode {
    /// A sense heard it, and nobody knows whose words they are.
    pub fn is_heard(&self) -> bool {
        self.said && self.trust == Trust::Sensor
    }

    /// Who said it, else who was there; none where nobody is known.
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
    /// The turn that asks: its own open episode is no memory of anything.
    pub except: Option<MessageId>,
    /// The agent itself thinks this in that turn: "I" isn't whoever spoke.
    #[serde(default)]
    pub thought: bool,
    /// The asker has time until an encoder outside of the program has read the question.
    #[serde(default)]
    pub waits: bool,
    /// The asker goes on without an answer then: a later one would be for nobody, and only make the next ones late.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodesRecalled {
    pub episodes: Vec<RecalledEpisode>,
    /// Where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<EpisodesCounted>,
}

/// How many episodes pass a filter; of all others than those that went well or failed nobody knows how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodesCounted {
    pub total: u64,
    pub succeeded: u64,
    pub failed: u64,
}

impl EpisodesRecalled {
    /// The first `most` that fit by themselves, and behind them what is associated with these, which takes no place.
    pub fn with_associations(&self, most: usize) -> Vec<RecalledEpisode> {
        let is_association = |episode: &RecalledEpisode| episode.via == Via::Association;
        let (associated, found): (Vec<_>, Vec<_>) = self.episodes.iter().cloned().partition(is_association);
        found.into_iter().take(most).chain(associated).collect()
    }
}

/// Asks the nucleus accumbens what an action would lead to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictOutcomes {
    pub tool_name: String,
    pub params: Json,
    pub context: Json,
    pub include_all_outcomes: bool,
}

/// What is expected of an action. `known` is false when nothing like it was ever experienced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomesPredicted {
    pub tool_name: String,
    pub known: bool,
    pub value: Value,
    pub valence: Valence,
    pub confidence: Confidence,
    pub observations: u64,
    /// Expected delay in seconds: median and the interval that holds 80 % of the past ones.
    pub delay_s: Option<[f64; 3]>,
    /// (outcome, probability), most probable first.
    pub outcomes: Vec<(String, f64)>,
    pub links: Vec<String>,
    pub episodes: Vec<String>,
}

/// Bins of time. In one scale any of them, over the scales all; an empty scale wants nothing.
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

/// Asks the suprachiasmatic nucleus what time it is like, or for what happened at such times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribeTime {
    /// Without any, all where a time is given, and else this hour of the day on this day of the week.
    pub bins: TimeBins,
    /// The episodes at the times most like now instead of those in the bins.
    pub like_now: bool,
    /// Of the episodes in the bins, those that alone stand for one of their bins.
    pub sole: bool,
    /// Only what was at this time or later, of what is counted and named.
    pub time_after: Option<Timestamp>,
    /// Only what was at this time or earlier.
    pub time_before: Option<Timestamp>,
    /// Episodes that are named; with 0, what is typical isn't told either.
    pub limit: usize,
}

/// Where a moment stands on the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarBins {
    pub hour: u8,
    /// 0 = Monday.
    pub day: u8,
    /// Of the month, 0 to 3.
    pub week: u8,
    pub month: u8,
}

/// Bins of time and how much happened in them before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeDescribed {
    pub now: CalendarBins,
    /// Those that were asked for.
    pub bins: TimeBins,
    /// Episodes in these bins.
    #[serde(alias = "like_now")]
    pub matching: u64,
    /// Older ones that weren't looked at for lack of time, where a stretch of time was asked for.
    pub unseen: u64,
    pub total: u64,
    pub episodes: Vec<String>,
    /// What was done in these bins and how often, the most frequent first.
    pub typical: Vec<(String, u64)>,
    /// Nothing where the oscillators are switched off.
    pub clocks: Option<ClocksDescribed>,
}

impl TimeDescribed {
    /// What such times brought, as it is told to who thinks; nothing where they brought nothing.
    pub fn usual(&self) -> Option<String> {
        let kinds: Vec<String> = self.typical.iter().map(|(kind, times)| format!("{kind} ({times})")).collect();
        let mostly = if kinds.is_empty() { String::new() } else { format!(", mostly {}", kinds.join(", ")) };
        let (matching, total) = (self.matching, self.total);
        (matching > 0)
            .then(|| format!("Such an hour of the week brought {matching} of {total} experiences so far{mostly}."))
    }
}

/// How the oscillators of day, week, month and year stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClocksDescribed {
    /// r, 0 (spread out) to 1 (in step).
    pub coherence: f64,
    /// Mean circular distance of the predicted phases and the real ones, 0 to 1 (opposite).
    pub anomaly: f64,
    /// Predicted phases, radians.
    pub predicted: Vec<f64>,
    /// Of the learned couplings, the largest first.
    pub eigenvalues: Vec<f64>,
    /// Events that have a rhythm, the next first.
    pub expected: Vec<ExpectedEvent>,
}

/// When a kind of event comes next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedEvent {
    pub kind: String,
    pub at: Timestamp,
    /// Period of the clock that it goes by.
    pub period_hours: f64,
    /// How closely it keeps its time, 0 to 1.
    pub strength: f64,
    /// How unusual it would be now: 0 at its time, 1 at the opposite phase.
    pub anomaly: f64,
}

/// Asks a room how much it holds, or a thin room whether it can help.
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

/// The percept with all that memory had to say before the deadline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnrichedPercept {
    pub salient: SalientPercept,
    pub recalled: Vec<RecalledEpisode>,
    pub time: Option<TimeDescribed>,
    /// What is generally known that bears on it, the best first.
    #[serde(default)]
    pub knowledge: Vec<KnowledgeEntry>,
    /// What is practised, the best fitting first.
    #[serde(default)]
    pub programs: Vec<ProgramRecalled>,
    /// What hurt and what was refused.
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
    /// The episode that it repeats: nothing new is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
}

/// A result went otherwise than expected.
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

/// What an outcome was worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    pub action: MessageId,
    pub tool: String,
    /// λ of Rescorla and Wagner: 1 good, 0 bad, 0.5 neutral.
    pub lambda: Value,
}

/// A read-only question about the brain itself. It has a door of its own: who answers it holds no permit for any effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// One of the introspection tools.
    pub tool: String,
    pub params: Json,
    /// The turn that asks; none for the outside.
    pub turn: Option<MessageId>,
    /// A model wrote the parameters: they are checked against the tool's schema.
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
    /// Keep all: neither selective capture nor the 30-second merge.
    pub all: bool,
    /// Episodes of the file that were refused before: what names them means others than those that have their ids here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// More lines may come: those of an export that are joined with what isn't here yet are given back
    /// ([`EpisodesImported::wanting`]) instead of being taken without these edges.
    #[serde(default)]
    pub waits: bool,
}

/// A line of an export whose episode is joined with some that aren't here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnjoinedLine {
    pub line: u64,
    pub episode: String,
    /// The other ends of its edges that aren't here.
    pub to: Vec<String>,
}

/// What became of the lines; those that are bad with the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodesImported {
    pub kept: u64,
    /// The same observation again, shortly after: the earlier episode counts it.
    pub merged: u64,
    /// Kept already, under the same id.
    pub known: u64,
    /// Let pass by selective capture: nothing about them was worth keeping.
    pub unremarkable: u64,
    pub bad: Vec<(u64, String)>,
    /// Whole episodes whose ids are other episodes' here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Lines that weren't taken, and are to come again when what they are joined with is here, or nothing comes any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanting: Vec<UnjoinedLine>,
    /// Whole episodes that aren't waited for any more: taken, known or refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub came: Vec<String>,
    /// Edges of taken episodes that were left out, as their other end isn't here.
    #[serde(default)]
    pub edges_left_out: u64,
}

/// Episodes that came by import, with their times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodesCaptured {
    pub episodes: Vec<(String, Timestamp)>,
    /// What was done in them, or by what they were perceived where nothing was, and when.
    #[serde(default)]
    pub done: Vec<(String, Timestamp)>,
    /// What was done in them where it is known how it ended.
    #[serde(default)]
    pub ended: Vec<EndedAct>,
}

/// What was done in an episode that came from elsewhere, and how it ended.
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

/// A kind of event keeps to a clock, or doesn't any more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseLocked {
    /// The tool that was used, or by what it was perceived.
    pub kind: String,
    /// `day`, `week`, `month` or `year`.
    pub clock: String,
    /// By how much the event comes after the turn of the clock, radians in [0, 2π).
    pub phase: f64,
    /// Resultant of its phases, 0 (any time) to 1 (always the same).
    pub coupling: f64,
    /// False when an earlier rhythm is gone.
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

impl Query for RecallEpisodes {
    type Answer = EpisodesRecalled;
}
impl Addressed for RecallEpisodes {
    const OF: RegionName = rooms::HIPPOCAMPUS;
}
impl Query for PredictOutcomes {
    type Answer = OutcomesPredicted;
}
impl Addressed for PredictOutcomes {
    const OF: RegionName = rooms::NUCLEUS_ACCUMBENS;
}
impl Query for DescribeTime {
    type Answer = TimeDescribed;
}
impl Addressed for DescribeTime {
    const OF: RegionName = rooms::SUPRACHIASMATIC_NUCLEUS;
}
impl Query for ReportStats {
    type Answer = StatsReported;
}
impl Query for ImportEpisodes {
    type Answer = EpisodesImported;
}
impl Addressed for ImportEpisodes {
    const OF: RegionName = rooms::HIPPOCAMPUS;
}
impl Query for Inquiry {
    type Answer = InquiryAnswered;
}
impl Addressed for Inquiry {
    const OF: RegionName = rooms::INTROSPECTOR;
}
