//! Numbers: the look of a series, exact computation, patterns of metrics, and correlations between metrics.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::signal::Trust;
use crate::units::Confidence;
use crate::{queries, signal};

/// Asks the intraparietal sulcus, the quick sense of numbers, how a series looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeSeries {
    /// The subject of the series; returned in the answer.
    pub series: String,
    /// In order of time. Values that aren't finite numbers are ignored.
    pub values: Vec<f64>,
    /// A magnitude to compare the series' level with, if given.
    pub reference: Option<f64>,
}

/// Whether a series shows more than chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesVerdict {
    /// Fewer than 8 values: no statement.
    TooShort,
    /// Indistinguishable from noise.
    Random,
    /// It has an order, or one value dominates.
    Structured,
}

/// How one magnitude compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Magnitude {
    Smaller,
    /// Too close to tell apart.
    Same,
    Greater,
}

/// What was found in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SeriesFeature {
    /// All values are the same.
    Constant,
    /// One of two values dominates; the share of the more frequent one, 0 to 1.
    Prevailing { share: f64 },
    /// Rises (slope > 0) or falls; the slope is per value of the series.
    Trend { slope: f64 },
    /// Repeats after this many values.
    Periodic { period: usize },
    /// Neighbouring values are similar (r > 0) or alternate (r < 0): the autocorrelation at lag 1, −1 to 1.
    Serial { r: f64 },
}

/// The quick sense of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesJudged {
    pub series: String,
    pub observations: usize,
    pub verdict: SeriesVerdict,
    /// Probability that chance alone looks as orderly, corrected for all patterns tested; 1 if the series is too
    /// short.
    pub p: f64,
    pub features: Vec<SeriesFeature>,
    pub median: f64,
    /// Robust standard deviation: 1.4826 times the median absolute deviation; 0 where more than half are equal.
    pub spread: f64,
    /// Indices of outliers.
    pub anomalies: Vec<usize>,
    pub compared: Option<Magnitude>,
}

/// Asks the angular gyrus, the exact sense of numbers, whether a series has a pattern.
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
    /// The strongest pattern; none when chance explains it.
    pub feature: Option<SeriesFeature>,
    /// The p-value of that pattern, corrected for all patterns that were tried.
    pub p: f64,
    /// Share of the variance that a straight line explains, 0 to 1.
    pub r_squared: f64,
}

/// The kind of knowledge in a record of the angular gyrus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MathCategory {
    Fact,
    Method,
    Pattern,
    Constant,
    Relationship,
}

/// The origin of a record.
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

/// Whether a record is innate: known from the start, with the same id in every brain.
pub fn is_innate(id: &str) -> bool {
    id.starts_with("constant/") || id.starts_with("method/")
}

/// A piece of numerical knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MathRecord {
    pub id: String,
    /// Unique within its layer. Storing another record with this name replaces it.
    pub name: String,
    pub category: MathCategory,
    /// Its field, e.g. `arithmetic`, `physics`, `metrics`.
    pub domain: String,
    /// In words, for the prompt and for a person.
    pub verbal: String,
    /// As a formula.
    pub code: String,
    /// The data it was computed from.
    #[serde(default)]
    pub inputs: Vec<f64>,
    pub outputs: BTreeMap<String, f64>,
    /// Names of the records that it relates; two for a relationship.
    #[serde(default)]
    pub relates: Vec<String>,
    pub confidence: Confidence,
    /// Ids of the episodes that support it, the newest last.
    #[serde(default)]
    pub episodes: Vec<String>,
    /// Other episodes support it too: older ones, or ones that sleep removed.
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

/// Selects records. Empty fields don't filter; `topic` ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MathFilter {
    /// Words; a record must contain at least one of them.
    pub topic: Option<String>,
    pub category: Option<MathCategory>,
    pub domain: Option<String>,
    /// 0 to 1.
    pub confidence_min: f64,
    /// Follow relationships from the records found.
    pub expand: bool,
    /// 0 means the default of 5.
    pub limit: usize,
}

/// Asks the angular gyrus to compute. `request` holds the parameters of the `math` tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calculate {
    pub request: Json,
}

/// The result of a computation.
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
    /// What the metric is about: the tool, goal or person.
    pub subject: String,
    pub feature: SeriesFeature,
    pub verbal: String,
    pub code: String,
    /// The window in which it was seen.
    pub values: Vec<f64>,
    pub outputs: BTreeMap<String, f64>,
    /// All observations of the metric so far.
    pub observations: u64,
    pub confidence: Confidence,
    /// Turns that contributed, the newest last.
    pub episodes: Vec<String>,
    /// The trust of the least trusted measurement.
    pub trust: Trust,
}

/// A confirmed pattern no longer holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternDropped {
    pub metric: String,
    pub reason: String,
}

/// Two metrics correlate, with false discoveries controlled over all pairs tried; or they no longer do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricsCorrelated {
    /// The two metrics, in alphabetical order: a CORRELATES_WITH is symmetric.
    pub metrics: [String; 2],
    /// Spearman's rank correlation, −1 to 1.
    pub rho: f64,
    /// Probability that chance gives a correlation at least this strong.
    pub p: f64,
    /// The smallest false-discovery rate at which it is significant (Benjamini & Hochberg 1995).
    pub q: f64,
    /// Time buckets in which both were observed.
    pub observations: usize,
    pub confidence: Confidence,
    /// False when an earlier correlation is gone.
    pub holds: bool,
    /// Both metrics have a confirmed trend of their own, rising or falling. Then their correlation may come only from
    /// the trends.
    #[serde(default)]
    pub trends: bool,
    pub trust: Trust,
}

/// The angular gyrus has a new or renewed record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MathRecordStored {
    pub id: String,
    pub name: String,
    pub category: MathCategory,
}

/// The angular gyrus has removed a record of this name. Its layer also says `RecordsRemoved`.
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

queries! {
    JudgeSeries => SeriesJudged, of INTRAPARIETAL_SULCUS;
    AnalyseSeries => SeriesAnalysed, of ANGULAR_GYRUS;
    Calculate => Calculated, of ANGULAR_GYRUS;
}
