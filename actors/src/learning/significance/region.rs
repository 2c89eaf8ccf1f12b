//! The significance learner: which moments are worth keeping?
//!
//! Biology: neuromodulation of hippocampal plasticity by dopamine and noradrenaline (synaptic tagging and capture).
//! Law: `law.rs`. Each kept moment waits a day of experience with what stood out in it; then how useful it turned out
//! teaches the weights: recalled among the first three, weighed by its score against the best; joined with other episodes
//! by cause or association; a source of a concept. Its associations are asked for when its day is over.
//! Remembers: weights, and at most 512 moments that wait; of more, a random choice. Forgets: what was judged.
//! Without an answer of the hippocampus within a minute, what was told until then is judged.
//! Down: salience goes on with the weights that it was told.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::bridges::{
    EnergyChanged, EpisodeLived, Moment, SignificanceLearned, SignificanceWeights, Startled,
};
use maxim_bus::signals::concepts::{Layer, LayerLinked, MemoryRef, RecordsLinked};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{EnrichedPercept, PredictionErrorSensed, ReportStats, StatsReported};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::{ETA, SignificanceLaw, distance, learn, usefulness};
use crate::region::{Card, Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};
use crate::wiring;

/// Moments that wait.
const WAITING: usize = 512;
/// Open turns whose surprises are remembered.
const OPEN: usize = 64;
/// Recalled episodes that count as used.
const USED: usize = 3;
/// What it is worth to be a source of a concept, in recalls.
const PROMOTED: f64 = 1.0;
/// What the associations of an episode are worth at most, in recalls.
const ASSOCIATED: f64 = 1.0;
/// Weight of associations that is worth half of [`ASSOCIATED`].
const HALF_ASSOCIATED: f64 = 1.0;
/// How long the hippocampus may take to answer.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);
/// The room that knows what episodes are associated with.
const EPISODES: RegionName = "hippocampus";
/// Tool that only speaks.
const RESPOND: &str = "respond";
/// A smaller change of the weights isn't told.
const WORTH_TELLING: f64 = 0.05;

/// A kept moment that waits for its judgement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    moment: Moment,
    at: Timestamp,
    /// Recalls, weighed.
    uses: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SignificanceLearner {
    weights: SignificanceWeights,
    told: SignificanceWeights,
    judged: u64,
    waiting: BTreeMap<String, Waiting>,
    /// Greatest |RPE| and the valence's extremity, of turns that aren't over.
    open: BTreeMap<MessageId, (f64, f64)>,
    /// Level of energy at the newest moment, and now.
    energy: Option<(f64, f64)>,
    /// Moments up to a time are about to be judged; when the answer is given up.
    #[serde(default)]
    asked: Option<(Timestamp, Timestamp)>,
    /// Of which moments it was asked, in the order of the answer.
    #[serde(default)]
    asked_of: Vec<String>,
    /// When the earliest moment that waits was lived, so that they aren't looked through before it is due. A state of
    /// before has none.
    #[serde(default)]
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
    /// What moments up to this time are associated with was asked for.
    Asked {
        until: Timestamp,
        due: Timestamp,
        #[serde(default)]
        ids: Vec<String>,
    },
    /// The oldest moments up to this time were judged.
    Judged {
        until: Timestamp,
        #[serde(default = "usual_rate")]
        eta: f64,
    },
    Told,
    Energy {
        level: f64,
    },
    Imported(StatePuts),
}

fn usual_rate() -> f64 {
    ETA
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
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [FollowAssociations, SignificanceLearned, Startled, StatsReported, RecordsExported, RecordsImported],
});

impl Region for SignificanceLearner {
    const NAME: RegionName = "significance";
    const STAGE: Stage = Stage::Learning;
    type Event = SignificanceEvent;
    type Settings = SignificanceLaw;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: SignificanceEvent) {
        match event {
            // The moment may be kept already: which of the two comes first must not matter.
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
                // The same observation again belongs to the moment that is kept already.
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

    /// Moments that were lived no later than `until`, in the order of their time.
    fn due(&self, until: Timestamp) -> Vec<(&String, &Waiting)> {
        if self.earliest.is_some_and(|earliest| earliest > until) {
            return Vec::new();
        }
        let mut due: Vec<(&String, &Waiting)> =
            self.waiting.iter().filter(|(_, waiting)| waiting.at <= until).collect();
        due.sort_by_key(|(id, waiting)| (waiting.at, *id));
        due
    }

    /// What was useful, as far as it waits.
    fn use_of(&self, episodes: impl Iterator<Item = (String, f64)>, pulse: &mut Pulse<'_, Self>) {
        let episodes: Vec<_> = episodes.filter(|(id, share)| *share > 0.0 && self.waiting.contains_key(id)).collect();
        if !episodes.is_empty() {
            pulse.keep(SignificanceEvent::Used { episodes });
        }
    }

    /// The moments up to `until` teach; `used`: what came to be known of their use at last.
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
    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        if lived.retold {
            return;
        }
        let until = pulse.now() - pulse.settings().judged_after;
        match self.asked {
            Some((asked, due)) if due <= pulse.now() => self.teach(asked, Vec::new(), pulse),
            Some(_) => {}
            None => {
                let ids: Vec<String> = self.due(until).into_iter().map(|(id, _)| id.clone()).collect();
                if !ids.is_empty() {
                    pulse.ask(EPISODES, FollowAssociations { ids: ids.clone() });
                    pulse.keep(SignificanceEvent::Asked { until, due: pulse.now() + PATIENCE, ids });
                }
            }
        }
        // Of more than there is room for, each has the same chance to wait.
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
    /// An episode that led to another, or came of one.
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
        // A source is joined both ways: concept → episode, and episode → concept.
        let mut sources: Vec<String> =
            ends(Layer::Atl).flat_map(|edge| [&edge.from, &edge.to]).filter(is_episode).map(|r| r.id.clone()).collect();
        sources.sort();
        sources.dedup();
        self.use_of(sources.into_iter().map(|id| (id, PROMOTED)), pulse);
    }
}

impl Hears<AssociationsFollowed> for SignificanceLearner {
    /// The last that is to be known of the moments that are due.
    fn hear(&self, followed: &AssociationsFollowed, pulse: &mut Pulse<'_, Self>) {
        let Some((until, _)) = self.asked else { return };
        // Some of them may have left since.
        let waits = |id: &String| self.waiting.contains_key(id);
        let associated = self.asked_of.iter().zip(&followed.next).filter(|(id, next)| waits(id) && !next.is_empty());
        let used = associated.map(|(id, next)| {
            let weight: f64 = next.iter().map(|(_, weight)| weight).sum();
            (id.clone(), ASSOCIATED * weight / (weight + HALF_ASSOCIATED))
        });
        self.teach(until, used.collect(), pulse);
    }
}

impl Hears<PredictionErrorSensed> for SignificanceLearner {
    fn hear(&self, sensed: &PredictionErrorSensed, pulse: &mut Pulse<'_, Self>) {
        if sensed.event.starts_with(RESPOND) {
            return; // how an answer went says nothing of the moment
        }
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
        // Weights to two digits: what is shown must not differ by the last bit of a sum.
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
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::learning::bridges::fixtures::lived;
    use crate::region::rig::{Rig, ear};
    use maxim_bus::Trust;
    use maxim_bus::signals::concepts::{CrossEdge, CrossKind, LayerEdge};
    use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
    use maxim_bus::signals::recall::{RecalledEpisode, Via};
    use maxim_bus::units::{Novelty, Salience};

    fn recall(id: &str, score: f64) -> RecalledEpisode {
        RecalledEpisode {
            id: id.into(),
            score,
            via: Via::Text,
            timestamp: Timestamp::UNIX_EPOCH,
            goal: None,
            tool: None,
            success: None,
            text: String::new(),
            people: vec![],
            result: None,
            trust: Trust::Owner,
            said: true,
            speaker: None,
        }
    }

    fn enriched(recalled: Vec<RecalledEpisode>) -> EnrichedPercept {
        let percept = Percept::from_outside("http", "anna", "where is it".into(), false, Trust::Owner);
        let salient = SalientPercept {
            percept,
            disposition: Disposition::Proceed,
            salience: Salience::clamped(0.9),
            novelty: Novelty::clamped(0.5),
        };
        EnrichedPercept { recalled, ..EnrichedPercept::bare(salient) }
    }

    #[test]
    fn a_day_later_the_weights_follow_from_what_was_recalled() {
        let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |bus, probe| {
            ear::<SignificanceLearned>(bus, probe);
            ear::<FollowAssociations>(bus, probe);
        });
        let mut novel = lived("a hedgehog at the door", &[]);
        novel.novelty = Novelty::clamped(1.0);
        rig.send(novel.clone());
        rig.send(enriched(vec![recall("other", 2.0), recall(&novel.episode, 1.0)]));
        rig.crash();
        rig.pass(Duration::from_secs(86_399));
        rig.send(lived("the day isn't over", &[]));
        assert!(rig.heard_all().is_empty(), "nothing is judged, nor asked for, before the day is over");
        rig.pass(Duration::from_secs(1));
        rig.send(lived("now it is", &[]));
        assert_eq!(rig.heard::<FollowAssociations>()[0].ids, [novel.episode.as_str()]);
        assert_eq!(rig.region().judged, 0, "it is asked what the moment is associated with");
        rig.send(AssociationsFollowed { next: vec![Vec::new()], missing: Vec::new() });
        // σ(−2 + 1 + 1) = ½ was expected, 1 − e^−½ = 0.393 came: the step is 0.2 · (0.393 − 0.5) = −0.0213.
        let weights = rig.region().weights;
        assert!((weights.bias + 2.021_306_131_942_5).abs() < 1e-9, "{weights:?}");
        assert!((weights.features[2] - 0.978_693_868_057_5).abs() < 1e-9);
        assert_eq!(rig.region().judged, 1);
        assert!(rig.heard::<SignificanceLearned>().is_empty(), "too small a change to be told");
    }

    #[test]
    fn what_is_connected_or_became_a_concept_was_useful_too() {
        let judged = |link: &dyn Fn(&mut Rig<SignificanceLearner>, String), next: Vec<(String, f64)>| {
            let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
            let moment = lived("a hedgehog at the door", &[]);
            rig.send(moment.clone());
            link(&mut rig, moment.episode.clone());
            rig.crash();
            rig.pass(Duration::from_secs(86_400));
            rig.send(EpisodeLived { episode: "later".into(), ..moment });
            rig.send(AssociationsFollowed { next: vec![next], missing: Vec::new() });
            assert_eq!(rig.region().judged, 1);
            rig.region().weights.bias
        };
        let useless = judged(&|_, _| (), Vec::new());
        let caused = judged(
            &|rig, to| {
                let edge = LayerEdge { kind: "CAUSES".into(), from: "other".into(), to, weight: 0.8, back: 0.4 };
                rig.send(LayerLinked { layer: Layer::Hippocampus, edges: vec![edge] });
            },
            Vec::new(),
        );
        let promoted = judged(
            &|rig, episode| {
                let (concept, episode) =
                    (MemoryRef::new(Layer::Atl, "cup"), MemoryRef::new(Layer::Hippocampus, episode));
                let edge = |kind, from: &MemoryRef, to: &MemoryRef| CrossEdge {
                    kind,
                    from: from.clone(),
                    to: to.clone(),
                    weight: 1.0,
                };
                let edges = vec![
                    edge(CrossKind::DerivedFrom, &concept, &episode),
                    edge(CrossKind::InstanceOf, &episode, &concept),
                ];
                rig.send(RecordsLinked { edges });
            },
            Vec::new(),
        );
        let associated = judged(&|_, _| (), vec![("other".into(), 1.0)]);
        assert!(useless < associated && associated < caused && caused < promoted, "{associated} {caused} {promoted}");
    }

    #[test]
    fn an_answer_is_for_the_moments_that_were_asked_of_though_one_has_left() {
        let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
        let novel = |id: &str, novelty: f64| EpisodeLived {
            episode: id.into(),
            novelty: Novelty::clamped(novelty),
            ..lived("x y", &[])
        };
        let id = |n: usize| format!("e{n:03}");
        // The last of them alone is novel, and associated with something.
        let useful = WAITING - 1;
        for n in 0..WAITING {
            rig.send(novel(&id(n), if n == useful { 1.0 } else { 0.0 }));
        }
        rig.pass(Duration::from_secs(86_400));
        rig.send(novel("later", 0.0));
        let left: Vec<usize> = (0..WAITING).filter(|n| !rig.region().waiting.contains_key(&id(*n))).collect();
        assert!(left.len() == 1 && left[0] < useful, "one left while they were asked of: {left:?}");
        let (until, _) = rig.region().asked.expect("asked");
        let expected = rig.region().taught(until, &[(id(useful), 0.5)], ETA);
        rig.crash();
        let next = (0..WAITING).map(|n| if n == useful { vec![("other".into(), 1.0)] } else { Vec::new() }).collect();
        rig.send(AssociationsFollowed { next, missing: Vec::new() });
        assert_eq!((rig.region().weights, rig.region().judged), expected);
        assert_eq!((rig.region().judged, rig.region().waiting.len()), (511, 1));
        assert_eq!(rig.region().earliest, rig.region().waiting.values().map(|waiting| waiting.at).min());
    }

    #[test]
    fn without_an_answer_it_judges_by_what_was_told() {
        let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
        rig.send(lived("a hedgehog at the door", &[]));
        rig.pass(Duration::from_secs(86_400));
        for (n, judged) in [(1, 0), (2, 1)] {
            rig.send(EpisodeLived { episode: format!("e{n}"), ..lived("x y", &[]) });
            assert_eq!(rig.region().judged, judged);
            rig.pass(Duration::from_secs(60));
        }
    }

    #[test]
    fn more_moments_than_there_is_room_for_take_the_place_of_others() {
        let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
        for n in 0..WAITING + 40 {
            rig.send(EpisodeLived { episode: format!("e{n}"), ..lived("x y", &[]) });
        }
        assert_eq!(rig.region().waiting.len(), WAITING);
        assert!(rig.region().waiting.contains_key(&format!("e{}", WAITING + 39)));
    }
}
