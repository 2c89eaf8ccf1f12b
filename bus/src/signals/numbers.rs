//! Numbers: what a series looks like, exact computation, the patterns of metrics, and how metrics go together.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::signal;
use crate::signal::{Addressed, Query, Trust};
use crate::units::Confidence;
use crate::{RegionName, rooms};

/// Asks the intraparietal sulcus, the quick sense of numbers, what a series looks like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeSeries {
    /// What the series is of; comes back in the answer.
    pub series: String,
    /// In the order of time. Values that are no finite numbers are left out.
    pub values: Vec<f64>,
    /// A magnitude that the series' level is compared with, if there is one.
    pub reference: Option<f64>,
}

/// Whether a series is more than chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesVerdict {
    /// Fewer than 8 values: nothing is said.
    TooShort,
    /// Looks like noise.
    Random,
    /// There is an order in it, or one value prevails.
    Structured,
}

/// How one magnitude looks beside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Magnitude {
    Smaller,
    /// Too near to tell apart.
    Same,
    Greater,
}

/// What was found in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SeriesFeature {
    /// All values are the same.
    Constant,
    /// Of two values, one prevails; the share of the greater, 0 to 1.
    Prevailing { share: f64 },
    /// Rises (slope > 0) or falls; the slope is per value of the series.
    Trend { slope: f64 },
    /// Comes back after so many values.
    Periodic { period: usize },
    /// Neighbours are alike (r > 0) or alternate (r < 0): the autocorrelation at lag 1, −1 to 1.
    Serial { r: f64 },
}

/// The quick sense of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesJudged {
    pub series: String,
    pub observations: usize,
    pub verdict: SeriesVerdict,
    /// Probability that chance alone looks as orderly, corrected for all that was looked at; 1 for too short a series.
    pub p: f64,
    pub features: Vec<SeriesFeature>,
    pub median: f64,
    /// Robust standard deviation: 1.4826 times the median absolute deviation; 0 where more than half are equal.
    pub spread: f64,
    /// Places of values that don't belong to the rest.
    pub anomalies: Vec<usize>,
    pub compared: Option<Magnitude>,
}

/// Asks the angular gyrus, the exact sense of numbers, whether a series holds a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalyseSeries {
    pub series: String,
    pub values: Vec<f64>,
}

/// The exact answer about a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesAnalysed {
    pub series: String,
    pub observations: usize,
    /// The strongest pattern; none where chance explains it.
    pub feature: Option<SeriesFeature>,
    /// Of that pattern, corrected for all patterns that were tried.
    pub p: f64,
    /// Share of the variance that a straight line explains, 0 to 1.
    pub r_squared: f64,
}

/// What kind of knowledge a record of the angular gyrus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MathCategory {
    Fact,
    Method,
    Pattern,
    Constant,
    Relationship,
}

/// What produced a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MathProvenance {
    #[default]
    OwnExperience,
    Person,
    Document,
    Inference,
    Simulation,
}

/// Whether a record is one that is known from the start, in every brain under the same id.
pub fn is_innate(id: &str) -> bool {
    id.starts_with("constant/") || id.starts_with("method/")
}

/// A piece of numerical knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MathRecord {
    pub id: String,
    /// Unique within its layer: storing another one of the same name replaces it.
    pub name: String,
    pub category: MathCategory,
    /// Which field it belongs to, e.g. `arithmetic`, `physics`, `metrics`.
    pub domain: String,
    /// In words, for the prompt and the person.
    pub verbal: String,
    /// As a formula.
    pub code: String,
    /// What it was computed from.
    #[serde(default)]
    pub inputs: Vec<f64>,
    pub outputs: BTreeMap<String, f64>,
    /// Names of the records that it relates; two for a relationship.
    #[serde(default)]
    pub relates: Vec<String>,
    pub confidence: Confidence,
    /// Episodes that it rests on, by id, the newest last.
    #[serde(default)]
    pub episodes: Vec<String>,
    /// It rests on others too: older ones, or some that sleep let go.
    #[serde(default)]
    pub others: bool,
    pub created: Timestamp,
    pub accessed: Timestamp,
    pub access_count: u32,
    pub long_term: bool,
    pub provenance: MathProvenance,
    pub trust: Trust,
    pub run: String,
}

/// Which records. Empty fields don't filter; `topic` ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MathFilter {
    /// Words; a record has to hold at least one of them.
    pub topic: Option<String>,
    pub category: Option<MathCategory>,
    pub domain: Option<String>,
    /// 0 to 1.
    pub confidence_min: f64,
    /// Follow relationships from what was found.
    pub expand: bool,
    /// 0 means the default of 5.
    pub limit: usize,
}

/// Asks the angular gyrus to compute. `request` is what the `math` tool is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calculate {
    pub request: Json,
}

/// What a computation came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calculated {
    pub output: Json,
    pub error: Option<String>,
}

/// A metric of the running brain has settled into a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternConfirmed {
    /// E.g. `tool:bash:success`.
    pub metric: String,
    /// What it says of whom: the tool, goal or person.
    pub subject: String,
    pub feature: SeriesFeature,
    pub verbal: String,
    pub code: String,
    /// The window that it was seen in.
    pub values: Vec<f64>,
    pub outputs: BTreeMap<String, f64>,
    /// All observations of the metric so far.
    pub observations: u64,
    pub confidence: Confidence,
    /// Turns that contributed, the newest last.
    pub episodes: Vec<String>,
    /// The least trusted of what was measured.
    pub trust: Trust,
}

/// A confirmed pattern doesn't hold any more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternDropped {
    pub metric: String,
    pub reason: String,
}

/// Two metrics go together, with false discoveries controlled over all pairs that were tried; or don't any more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricsCorrelated {
    /// The two metrics, in alphabetical order: a CORRELATES_WITH is symmetric.
    pub metrics: [String; 2],
    /// Spearman's rank correlation, −1 to 1.
    pub rho: f64,
    /// Probability of as strong a one by chance.
    pub p: f64,
    /// Smallest false-discovery rate at which it counts (Benjamini & Hochberg 1995).
    pub q: f64,
    /// Buckets of time that both were seen in.
    pub observations: usize,
    pub confidence: Confidence,
    /// False when an earlier correlation is gone.
    pub holds: bool,
    /// Each of the two rises or falls all the time by itself, as far as is confirmed: then they go together as trends do.
    #[serde(default)]
    pub trends: bool,
    pub trust: Trust,
}

/// The angular gyrus has a record, new or renewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MathRecordStored {
    pub id: String,
    pub name: String,
    pub category: MathCategory,
}

/// The angular gyrus has given up a record of this name; its layer says `RecordsRemoved` besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MathRecordRemoved {
    pub id: String,
    pub name: String,
}

signal! {
    JudgeSeries: Anywhere, Transient;
    SeriesJudged: Anywhere, Transient;
    AnalyseSeries: Anywhere, Transient;
    SeriesAnalysed: Anywhere, Transient;
    Calculate: Anywhere, Transient;
    Calculated: Anywhere, Transient;
    PatternConfirmed: Learning, Lossless;
    PatternDropped: Learning, Lossless;
    MetricsCorrelated: Learning, Lossless;
    MathRecordStored: Memory, Lossless;
    MathRecordRemoved: Memory, Lossless;
}

impl Query for JudgeSeries {
    type Answer = SeriesJudged;
}
impl Addressed for JudgeSeries {
    const OF: RegionName = rooms::INTRAPARIETAL_SULCUS;
}
impl Query for AnalyseSeries {
    type Answer = SeriesAnalysed;
}
impl Addressed for AnalyseSeries {
    const OF: RegionName = rooms::ANGULAR_GYRUS;
}
impl Query for Calculate {
    type Answer = Calculated;
}
impl Addressed for Calculate {
    const OF: RegionName = rooms::ANGULAR_GYRUS;
}
