//! Metrics: recent measurements, and the conclusions about them.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::Trust;
use maxim_bus::signals::concepts::RecordsRemoved;
use maxim_bus::signals::numbers::SeriesFeature;
use serde::{Deserialize, Serialize};

use maxim_region::Sources;

/// Number of newest values that are judged.
pub const WINDOW: usize = 64;
/// Number of values kept when a pattern stops holding: those since the previous judgement. Learning starts again from
/// them.
pub const FRESH: usize = 4;
/// New values between two judgements.
pub const JUDGE_EVERY: u32 = 4;
/// Number of values before the first judgement.
pub const LEAST_VALUES: usize = 8;
/// Maximum number of metrics; the one silent for longest is removed, metrics without a pattern first.
pub const MOST_METRICS: usize = 128;
/// Number of time buckets for which a metric keeps its mean.
pub const MOST_BUCKETS: usize = 64;
/// Maximum number of contributing turns remembered.
pub const MOST_EPISODES: usize = 8;
/// A verdict that didn't come within this time is requested again.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// The statistician's state for a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MetricState {
    #[default]
    Observing,
    /// The quick sense has found the same pattern this many times in a row.
    PatternForming {
        seen: u32,
    },
    /// The exact sense was asked.
    EscalatedToAg,
    ConfirmedPattern,
    ConfirmedRandom,
}

impl MetricState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observing => "OBSERVING",
            Self::PatternForming { .. } => "PATTERN_FORMING",
            Self::EscalatedToAg => "ESCALATED_TO_AG",
            Self::ConfirmedPattern => "CONFIRMED_PATTERN",
            Self::ConfirmedRandom => "CONFIRMED_RANDOM",
        }
    }
}

/// A pattern as it was when found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldPattern {
    pub feature: SeriesFeature,
    /// The median at that time.
    pub level: f64,
    /// Judgements in a row that did not find it again.
    pub missed: u32,
}

/// One metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub values: VecDeque<f64>,
    pub observations: u64,
    pub state: MetricState,
    pub pattern: Option<HeldPattern>,
    pub last: Option<Timestamp>,
    /// Values since the last judgement.
    pub unjudged: u32,
    /// When the outstanding verdict was requested.
    pub asked: Option<Timestamp>,
    /// The trust of the least trusted value.
    pub trust: Option<Trust>,
    /// The turns in which it was measured.
    #[serde(flatten)]
    pub sources: Sources,
    /// Sum and count of the values in each time bucket, by its number.
    pub buckets: BTreeMap<i64, (f64, u32)>,
    /// Its record in the angular gyrus.
    pub record: Option<String>,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub metric: String,
    pub value: f64,
    pub at: Timestamp,
    /// Number of the time bucket.
    pub bucket: i64,
    pub episode: Option<String>,
    pub trust: Trust,
}

fn bounded<T>(queue: &mut VecDeque<T>, most: usize) {
    while queue.len() > most {
        queue.pop_front();
    }
}

impl Metric {
    pub fn measure(&mut self, measured: &Measured) {
        self.values.push_back(measured.value);
        bounded(&mut self.values, WINDOW);
        self.observations += 1;
        self.unjudged += 1;
        self.last = Some(measured.at);
        self.trust = Some(self.trust.map_or(measured.trust, |trust| trust.min(measured.trust)));
        self.sources.note(measured.episode.as_deref().unwrap_or_default(), MOST_EPISODES);
        let bucket = self.buckets.entry(measured.bucket).or_insert((0.0, 0));
        *bucket = (bucket.0 + measured.value, bucket.1 + 1);
        while self.buckets.len() > MOST_BUCKETS {
            self.buckets.pop_first();
        }
    }

    /// Whether a verdict is needed now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let waiting = self.asked.is_some_and(|asked| now.duration_since(asked) < PATIENCE);
        self.values.len() >= LEAST_VALUES && self.unjudged >= JUDGE_EVERY && !waiting
    }

    /// A confirmed trend, up or down.
    pub fn is_trending(&self) -> bool {
        let trend = |held: &HeldPattern| matches!(held.feature, SeriesFeature::Trend { .. });
        self.state == MetricState::ConfirmedPattern && self.pattern.as_ref().is_some_and(trend)
    }

    pub fn window(&self) -> Vec<f64> {
        self.values.iter().copied().collect()
    }

    pub fn trust(&self) -> Trust {
        self.trust.unwrap_or(Trust::Own)
    }

    /// Only two values occur: success and failure.
    pub fn is_share(&self) -> bool {
        self.values.iter().all(|value| *value == 0.0 || *value == 1.0)
    }

    /// Mean of each time bucket.
    pub fn means(&self) -> BTreeMap<i64, f64> {
        self.buckets.iter().map(|(bucket, (sum, count))| (*bucket, sum / f64::from(*count))).collect()
    }
}

/// All metrics, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics(BTreeMap<String, Metric>);

impl Metrics {
    pub fn get(&self, name: &str) -> Option<&Metric> {
        self.0.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Metric> {
        self.0.get_mut(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Metric)> {
        self.0.iter().map(|(name, metric)| (name.as_str(), metric))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn measure(&mut self, measured: &Measured) {
        if !self.0.contains_key(&measured.metric)
            && self.0.len() >= MOST_METRICS
            && let Some(silent) = self.silent()
        {
            self.0.remove(&silent);
        }
        self.0.entry(measured.metric.clone()).or_default().measure(measured);
    }

    /// Removes a metric with nothing but forgotten content, because its name may contain a person's words.
    pub fn let_go(&mut self, removed: &RecordsRemoved) {
        self.0.retain(|_, metric| !metric.sources.let_go(removed));
    }

    /// The metric to remove next.
    pub fn silent(&self) -> Option<String> {
        let rank = |metric: &Metric| (metric.state == MetricState::ConfirmedPattern, metric.last);
        self.0.iter().min_by_key(|(_, metric)| rank(metric)).map(|(name, _)| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(metric: &str, value: f64, second: i64) -> Measured {
        let at = Timestamp::from_second(second).expect("a time");
        let episode = Some(format!("turn {second}"));
        Measured { metric: metric.into(), value, at, bucket: second / 600, episode, trust: Trust::Own }
    }

    #[test]
    fn a_metric_keeps_its_newest_values_and_the_means_of_its_stretches() {
        let mut metric = Metric::default();
        for second in 0..100 {
            metric.measure(&measured("m", second as f64, second * 60));
            assert_eq!(metric.is_due(Timestamp::UNIX_EPOCH), second >= 7);
        }
        assert_eq!((metric.values.len(), metric.observations, metric.values[0]), (WINDOW, 100, 36.0));
        assert_eq!(metric.means()[&0], 4.5);
        assert_eq!(metric.sources.episodes.len(), MOST_EPISODES);
        metric.trust = None;
        metric.measure(&Measured { trust: Trust::Outside, ..measured("m", 1.0, 7000) });
        metric.measure(&measured("m", 1.0, 7001));
        assert_eq!(metric.trust(), Trust::Outside, "the least trusted value counts");
    }

    #[test]
    fn a_verdict_that_is_lost_is_asked_for_again() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let mut metric = Metric { asked: Some(at(100)), ..Metric::default() };
        (0..9).for_each(|second| metric.measure(&measured("m", 1.0, second)));
        assert!(!metric.is_due(at(159)));
        assert!(metric.is_due(at(160)));
    }

    #[test]
    fn the_metric_that_was_silent_longest_leaves_and_patterns_stay() {
        let mut metrics = Metrics::default();
        for number in 0..MOST_METRICS as i64 {
            metrics.measure(&measured(&format!("m{number}"), 1.0, number));
        }
        metrics.get_mut("m0").expect("it is there").state = MetricState::ConfirmedPattern;
        metrics.measure(&measured("new", 1.0, 1_000));
        assert_eq!(metrics.len(), MOST_METRICS);
        assert!(metrics.get("m0").is_some() && metrics.get("m1").is_none());
    }
}
