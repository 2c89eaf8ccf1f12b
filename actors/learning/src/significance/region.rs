//! The significance learner: which moments are worth keeping?
//!
//! Biology: neuromodulation of hippocampal plasticity by dopamine and noradrenaline (synaptic tagging and capture).
//! Law: `law.rs`. Each stored moment waits a day of experience with its features; then its usefulness teaches the
//! weights. Useful means: recalled among the first three, weighted by its score against the best; linked with other
//! episodes by cause or association; a source of a concept. Its associations are requested when its day is over.
//! Remembers: weights, and at most 512 waiting moments; of more, a random choice. Forgets: judged moments, and what a
//! person had forgotten. If the hippocampus doesn't answer within a minute, the moment is judged by what is known.
//! Down: salience keeps the weights that it was told.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms::{self, RESPOND};
use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::bridges::{
    EnergyChanged, EpisodeLived, Moment, SignificanceLearned, SignificanceWeights, Startled,
};
use maxim_bus::signals::concepts::{Layer, LayerLinked, MemoryRef, RecordsLinked, RecordsRemoved};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{EnrichedPercept, PredictionErrorSensed, ReportStats, StatsReported};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::{SignificanceLaw, distance, learn, usefulness};
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

/// Maximum number of waiting moments.
const WAITING: usize = 512;
/// Maximum number of open turns whose surprises are remembered.
const OPEN: usize = 64;
/// Rank up to which a recalled episode counts as used.
const USED: usize = 3;
/// The worth of being a source of a concept, in recalls.
const PROMOTED: f64 = 1.0;
/// The maximum worth of an episode's associations, in recalls.
const ASSOCIATED: f64 = 1.0;
/// Total weight of associations that is worth half of [`ASSOCIATED`].
const HALF_ASSOCIATED: f64 = 1.0;
/// How long the hippocampus may take to answer.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);
/// A smaller change of the weights isn't reported.
const WORTH_TELLING: f64 = 0.05;

/// A stored moment that waits for its judgement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    moment: Moment,
    at: Timestamp,
    /// Number of recalls, weighted.
    uses: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SignificanceLearner {
    weights: SignificanceWeights,
    told: SignificanceWeights,
    judged: u64,
    waiting: BTreeMap<String, Waiting>,
    /// Largest |RPE| and valence extremity of turns that aren't over.
    open: BTreeMap<MessageId, (f64, f64)>,
    /// Energy level at the newest moment, and now.
    energy: Option<(f64, f64)>,
    /// Moments up to a time are about to be judged; and when waiting for the answer ends.
    asked: Option<(Timestamp, Timestamp)>,
    /// The moments in the question, in the order of the answer.
    asked_of: Vec<String>,
    /// The time of the earliest waiting moment, so that moments aren't searched before one is due.
    earliest: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SignificanceEvent {
    Surprised {
        turn: MessageId,
        surprise: f64,
        extremity: f64,
    },
    Kept {
        episode: String,
        turn: MessageId,
        moment: Moment,
        at: Timestamp,
        instead_of: Option<String>,
    },
    Used {
        episodes: Vec<(String, f64)>,
    },
    /// The associations of moments up to this time were requested.
    Asked {
        until: Timestamp,
        due: Timestamp,
        ids: Vec<String>,
    },
    /// The oldest moments up to this time were judged.
    Judged {
        until: Timestamp,
        eta: f64,
    },
    Told,
    Energy {
        level: f64,
    },
    /// A person had these episodes forgotten.
    LetGo {
        episodes: Vec<String>,
    },
    Imported(StatePuts),
}

wiring!(SignificanceLearner {
    hears: [
        EpisodeLived,
        EnrichedPercept,
        PredictionErrorSensed,
        EnergyChanged,
        LayerLinked,
        RecordsLinked,
        AssociationsFollowed,
        RecordsRemoved,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [FollowAssociations, SignificanceLearned, Startled, StatsReported, RecordsExported, RecordsImported],
});

impl Region for SignificanceLearner {
    const NAME: RegionName = rooms::SIGNIFICANCE;
    const STAGE: Stage = Stage::Learning;
    type Event = SignificanceEvent;
    type Settings = SignificanceLaw;

    fn apply(&mut self, event: SignificanceEvent) {
        match event {
            // The moment may be stored already: the order of the two must not matter.
            SignificanceEvent::Surprised { turn, surprise, extremity } => {
                if let Some(kept) = self.waiting.get_mut(&turn.to_string()) {
                    kept.moment.surprise = kept.moment.surprise.max(surprise);
                    kept.moment.valence_extremity = kept.moment.valence_extremity.max(extremity);
                    return;
                }
                let most = self.open.entry(turn).or_default();
                *most = (most.0.max(surprise), most.1.max(extremity));
                if self.open.len() > OPEN {
                    self.open.pop_first();
                }
            }
            SignificanceEvent::Kept { episode, turn, moment, at, instead_of } => {
                self.open.remove(&turn);
                self.energy = self.energy.map(|(_, now)| (now, now));
                let left = instead_of.and_then(|old| self.waiting.remove(&old));
                // A repeated observation belongs to the moment that is stored already.
                self.waiting.entry(episode).or_insert(Waiting { moment, at, uses: 0.0 });
                match self.earliest.filter(|earliest| left.is_none_or(|left| left.at > *earliest)) {
                    Some(earliest) => self.earliest = Some(earliest.min(at)),
                    None => self.find_earliest(),
                }
            }
            SignificanceEvent::Used { episodes } => {
                for (episode, share) in episodes {
                    if let Some(waiting) = self.waiting.get_mut(&episode) {
                        waiting.uses += share;
                    }
                }
            }
            SignificanceEvent::Asked { until, due, ids } => {
                self.asked = Some((until, due));
                self.asked_of = ids;
            }
            SignificanceEvent::Judged { until, eta } => self.judge(until, eta),
            SignificanceEvent::Told => self.told = self.weights,
            SignificanceEvent::Energy { level } => {
                self.energy = Some((self.energy.map_or(level, |(before, _)| before), level));
            }
            SignificanceEvent::LetGo { episodes } => self.let_go(&episodes),
            SignificanceEvent::Imported(puts) => {
                puts.apply_to(self);
                self.find_earliest();
            }
        }
    }
}

impl RemembersInState for SignificanceLearner {
    const PARTS: &'static [StatePart] = &[
        part("weights", Law::Whole),
        part("told", Law::Whole),
        part("judged", Law::Count),
        part("waiting", Law::Each { most: WAITING, evidence: &[] }),
    ];

    fn imported(puts: StatePuts) -> SignificanceEvent {
        SignificanceEvent::Imported(puts)
    }

    fn tell(&self, after: &Self, pulse: &mut Pulse<'_, Self>) {
        if after.told != self.told {
            pulse.emit(SignificanceLearned { weights: after.told, moments: after.judged });
        }
    }
}

impl SignificanceLearner {
    fn find_earliest(&mut self) {
        self.earliest = self.waiting.values().map(|waiting| waiting.at).min();
    }

    /// They are neither judged nor named any more.
    fn let_go(&mut self, episodes: &[String]) {
        self.waiting.retain(|id, _| !episodes.contains(id));
        self.open.retain(|turn, _| !episodes.contains(&turn.to_string()));
        // The position stays, because the answer is read by position.
        self.asked_of.iter_mut().filter(|id| episodes.contains(id)).for_each(String::clear);
        self.find_earliest();
    }

    /// Moments up to `until`, in order of time.
    fn due(&self, until: Timestamp) -> Vec<(&String, &Waiting)> {
        if self.earliest.is_some_and(|earliest| earliest > until) {
            return Vec::new();
        }
        let mut due: Vec<(&String, &Waiting)> =
            self.waiting.iter().filter(|(_, waiting)| waiting.at <= until).collect();
        due.sort_by_key(|(id, waiting)| (waiting.at, *id));
        due
    }

    /// Notes what was useful, for moments that wait.
    fn use_of(&self, episodes: impl Iterator<Item = (String, f64)>, pulse: &mut Pulse<'_, Self>) {
        let episodes: Vec<_> = episodes.filter(|(id, share)| *share > 0.0 && self.waiting.contains_key(id)).collect();
        if !episodes.is_empty() {
            pulse.keep(SignificanceEvent::Used { episodes });
        }
    }

    /// The moments up to `until` teach; `used`: their uses that became known last.
    fn teach(&self, until: Timestamp, used: Vec<(String, f64)>, pulse: &mut Pulse<'_, Self>) {
        let eta = pulse.settings().eta;
        let (weights, moments) = self.taught(until, &used, eta);
        if !used.is_empty() {
            pulse.keep(SignificanceEvent::Used { episodes: used });
        }
        pulse.keep(SignificanceEvent::Judged { until, eta });
        if distance(&weights, &self.told) >= WORTH_TELLING {
            pulse.emit(SignificanceLearned { weights, moments });
            pulse.keep(SignificanceEvent::Told);
        }
    }

    /// Weights after the moments up to `until`, and how many were judged by then.
    fn taught(&self, until: Timestamp, used: &[(String, f64)], eta: f64) -> (SignificanceWeights, u64) {
        let mut taught = (self.weights, self.judged);
        for (id, waiting) in self.due(until) {
            let last: f64 = used.iter().filter(|(used, _)| used == id).map(|(_, share)| share).sum();
            taught = (learn(&taught.0, &waiting.moment, usefulness(waiting.uses + last), eta), taught.1 + 1);
        }
        taught
    }

    fn judge(&mut self, until: Timestamp, eta: f64) {
        (self.weights, self.judged) = self.taught(until, &[], eta);
        self.waiting.retain(|_, waiting| waiting.at > until);
        self.asked = None;
        self.asked_of.clear();
        self.find_earliest();
    }

    fn moment(&self, lived: &EpisodeLived) -> Moment {
        let (surprise, valence_extremity) = self.open.get(&lived.turn).copied().unwrap_or_default();
        Moment {
            surprise,
            person: f64::from(u8::from(lived.person_involved)),
            novelty: lived.novelty.get(),
            goal_boundary: f64::from(u8::from(lived.goal_changed)),
            energy_change: self.energy_change(),
            valence_extremity,
        }
    }

    fn energy_change(&self) -> f64 {
        self.energy.map_or(0.0, |(before, now)| (now - before).abs().min(1.0))
    }
}

impl Hears<EpisodeLived> for SignificanceLearner {
    fn heeds(lived: &EpisodeLived) -> bool {
        !lived.retold
    }

    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        let until = pulse.now().earlier(pulse.settings().judged_after.signed());
        match self.asked {
            Some((asked, due)) if due <= pulse.now() => self.teach(asked, Vec::new(), pulse),
            Some(_) => {}
            None => {
                let ids: Vec<String> = self.due(until).into_iter().map(|(id, _)| id.clone()).collect();
                if !ids.is_empty() {
                    pulse.ask(FollowAssociations { ids: ids.clone() });
                    pulse.keep(SignificanceEvent::Asked { until, due: pulse.now().later(PATIENCE), ids });
                }
            }
        }
        // If there are more than fit, each has the same chance to wait.
        let instead_of = if self.waiting.len() < WAITING {
            None
        } else {
            let place = (pulse.chance() * self.waiting.len() as f64) as usize;
            self.waiting.keys().nth(place).cloned()
        };
        let (episode, turn, moment) = (lived.episode.clone(), lived.turn, self.moment(lived));
        pulse.keep(SignificanceEvent::Kept { episode, turn, moment, at: pulse.now(), instead_of });
    }
}

impl Hears<EnrichedPercept> for SignificanceLearner {
    fn hear(&self, enriched: &EnrichedPercept, pulse: &mut Pulse<'_, Self>) {
        let best = enriched.recalled.first().map_or(0.0, |episode| episode.score);
        if best <= 0.0 {
            return;
        }
        let used = enriched.recalled.iter().take(USED);
        self.use_of(used.map(|episode| (episode.id.clone(), (episode.score / best).clamp(0.0, 1.0))), pulse);
    }
}

impl Hears<LayerLinked> for SignificanceLearner {
    /// An episode that caused another, or was caused by one.
    fn hear(&self, linked: &LayerLinked, pulse: &mut Pulse<'_, Self>) {
        let edges = linked.edges.iter().filter(|_| linked.layer == Layer::Hippocampus);
        let ends = edges.flat_map(|edge| [(edge.from.clone(), edge.weight), (edge.to.clone(), edge.weight)]);
        self.use_of(ends, pulse);
    }
}

impl Hears<RecordsLinked> for SignificanceLearner {
    /// An episode that a concept was made from.
    fn hear(&self, linked: &RecordsLinked, pulse: &mut Pulse<'_, Self>) {
        let is_episode = |record: &&MemoryRef| record.layer == Layer::Hippocampus;
        let ends =
            |kind: Layer| linked.edges.iter().filter(move |edge| edge.from.layer == kind || edge.to.layer == kind);
        // A source has edges in both directions: concept → episode, and episode → concept.
        let mut sources: Vec<String> =
            ends(Layer::Atl).flat_map(|edge| [&edge.from, &edge.to]).filter(is_episode).map(|r| r.id.clone()).collect();
        sources.sort();
        sources.dedup();
        self.use_of(sources.into_iter().map(|id| (id, PROMOTED)), pulse);
    }
}

impl Hears<AssociationsFollowed> for SignificanceLearner {
    /// The last information about the moments that are due.
    fn hear(&self, followed: &AssociationsFollowed, pulse: &mut Pulse<'_, Self>) {
        let Some((until, _)) = self.asked else { return };
        // Some of them may have been removed since.
        let waits = |id: &String| self.waiting.contains_key(id);
        let associated = self.asked_of.iter().zip(&followed.next).filter(|(id, next)| waits(id) && !next.is_empty());
        let used = associated.map(|(id, next)| {
            let weight: f64 = next.iter().map(|(_, weight)| weight).sum();
            (id.clone(), ASSOCIATED * weight / (weight + HALF_ASSOCIATED))
        });
        self.teach(until, used.collect(), pulse);
    }
}

impl Hears<RecordsRemoved> for SignificanceLearner {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.forgotten && removed.layer == Layer::Hippocampus {
            pulse.keep_gone(SignificanceEvent::LetGo { episodes: removed.ids.clone() }, true);
        }
    }
}

impl Hears<PredictionErrorSensed> for SignificanceLearner {
    /// The result of an answer says nothing about the moment.
    fn heeds(sensed: &PredictionErrorSensed) -> bool {
        !sensed.event.starts_with(RESPOND)
    }

    fn hear(&self, sensed: &PredictionErrorSensed, pulse: &mut Pulse<'_, Self>) {
        let surprise = sensed.rpe.get().abs().min(1.0);
        let extremity = (2.0 * sensed.value.get() - 1.0).abs();
        let turn = pulse.turn();
        pulse.keep(SignificanceEvent::Surprised { turn, surprise, extremity });
        if surprise > pulse.settings().surprise {
            let (energy_change, at) = (self.energy_change(), pulse.now());
            pulse.emit(Startled { surprise, valence_extremity: extremity, energy_change, at });
        }
    }
}

impl Hears<EnergyChanged> for SignificanceLearner {
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(SignificanceEvent::Energy { level: changed.level });
    }
}

impl Hears<ReportStats> for SignificanceLearner {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        // Weights to two digits, so that the display doesn't differ by the last bit of a sum.
        let round = |weight: f64| (weight * 100.0).round() / 100.0;
        let [surprise, person, novelty, goal_boundary, energy_change, valence_extremity] =
            self.weights.features.map(round);
        let counts = serde_json::json!({
            "judged": self.judged,
            "waiting": self.waiting.len(),
            "weights": {
                "surprise": surprise, "person": person, "novelty": novelty, "goal_boundary": goal_boundary,
                "energy_change": energy_change, "valence_extremity": valence_extremity,
                "every_moment": round(self.weights.bias),
            },
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests;
