//! What the statistician offers as general knowledge: the confirmed patterns of metrics.

use std::collections::BTreeMap;

use maxim_bus::Trust;
use maxim_bus::signals::concepts::{Layer, MemoryRef, SUBJECT};
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates, PromotionCandidate};
use maxim_bus::units::Confidence;

use super::model::{Metric, MetricState};
use super::region::Statistician;
use super::wording::word;
use maxim_region::{Hears, Pulse, Region};

/// Maximum number of candidates in one answer.
const MOST: usize = 256;

fn candidate(name: &str, metric: &Metric) -> Option<PromotionCandidate> {
    // An outsider's name and actions are no knowledge, however regular they are.
    if metric.trust() == Trust::Outside {
        return None;
    }
    let held = metric.pattern.as_ref().filter(|_| metric.state == MetricState::ConfirmedPattern)?;
    let worded = word(name, metric, &held.feature);
    let sources = metric.record.iter().map(|record| MemoryRef::new(Layer::AngularGyrus, record.clone()));
    Some(PromotionCandidate {
        name: name.replace(':', " "),
        category: "statistical pattern".into(),
        definition: worded.verbal,
        confidence: Confidence::of_observations(metric.values.len() as u64),
        observations: metric.observations,
        episodes: metric.sources.episodes.iter().cloned().collect(),
        properties: BTreeMap::from([("metric".to_owned(), name.to_owned()), (SUBJECT.to_owned(), worded.subject)]),
        relations: Vec::new(),
        sources: sources.collect(),
        series: Vec::new(),
    })
}

impl Hears<OfferCandidates> for Statistician {
    fn hear(&self, asked: &OfferCandidates, pulse: &mut Pulse<'_, Self>) {
        let least = asked.min_confidence.min(pulse.settings().law.promoted_from);
        let found = self.metrics().iter().filter_map(|(name, metric)| candidate(name, metric));
        let strong = found.filter(|one| one.confidence.get() >= least && one.observations >= asked.min_observations);
        let candidates = strong.take(MOST).collect();
        pulse.reply(CandidatesOffered { source: Self::NAME.into(), candidates, contradicted: Vec::new() });
    }
}
