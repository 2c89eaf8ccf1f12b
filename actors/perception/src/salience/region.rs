//! The salience room: gives each percept its novelty and salience.
//!
//! Biology: the salience network of the anterior insula.
//! Law: `law.rs`. A person's words are always worth at least 0.9. The salience bridge tells it what objects earned,
//! the significance learner what moments are worth and what startled; it asks nobody.
//! Remembers: the gist of the latest percepts, the goal, what it was told. Forgets: all but the newest, and what a
//! person has forgotten.
//! Down: percepts wait.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::{AttentionLearned, Moment, SignificanceLearned, SignificanceWeights, Startled};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::percept::{AdmittedPercept, SalientPercept};
use maxim_bus::units::{Confidence, Novelty};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::{Appraisal, NEUTRAL_HISTORY, RecentPercepts, SourceKind, significance, startle_left};
use maxim_language::{Gist, Stems};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region, keep_most};

/// Characters of a percept that form its gist; the rest adds little.
const GIST: usize = 2_000;
/// Maximum number of objects with a history; the bridge reports no more.
const HISTORIES: usize = 1024;

/// The room's settings.
#[derive(Default)]
pub struct SalienceSettings {
    pub stems: Stems,
}

#[derive(Default, Serialize, Deserialize)]
pub struct SalienceRoom {
    recent: RecentPercepts,
    /// The turns of the newest gists, in the same order.
    turns: VecDeque<MessageId>,
    goal: Option<String>,
    /// The goal changed, and nothing was perceived since.
    goal_changed: bool,
    /// What objects and words earned, by their stems.
    histories: BTreeMap<String, f64>,
    weights: SignificanceWeights,
    startled: Option<Startled>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum SalienceEvent {
    PerceivedIn { turn: MessageId, gist: Gist },
    LetGo(RecordsRemoved),
    GoalChanged(Option<String>),
    Attention(Vec<(String, f64)>),
    Weights(SignificanceWeights),
    Startled(Startled),
}

wiring!(SalienceRoom {
    hears: [AdmittedPercept, GoalChanged],
    back: [AttentionLearned, SignificanceLearned, Startled, RecordsRemoved],
    emits: [SalientPercept],
});

impl Region for SalienceRoom {
    const NAME: RegionName = rooms::SALIENCE;
    const STAGE: Stage = Stage::Perception;
    type Event = SalienceEvent;
    type Settings = SalienceSettings;

    fn apply(&mut self, event: SalienceEvent) {
        match event {
            SalienceEvent::PerceivedIn { turn, gist } => {
                self.recent.remember(gist);
                self.goal_changed = false;
                self.turns.push_back(turn);
                self.turns.drain(..self.turns.len().saturating_sub(self.recent.len()));
            }
            SalienceEvent::LetGo(removed) => {
                for at in (0..self.turns.len()).rev() {
                    if removed.ids.contains(&self.turns[at].to_string()) {
                        self.recent.forget(at);
                        self.turns.remove(at);
                    }
                }
            }
            SalienceEvent::GoalChanged(goal) => {
                self.goal = goal;
                self.goal_changed = true;
            }
            SalienceEvent::Attention(objects) => {
                for (object, value) in objects {
                    // A neutral value isn't stored: the bridge reports it when a person has forgotten the object.
                    if value == NEUTRAL_HISTORY {
                        self.histories.remove(&object);
                    } else {
                        self.histories.insert(object, value);
                    }
                }
                // Values closest to neutral matter least.
                let said = |value: &f64| (value - NEUTRAL_HISTORY).abs();
                keep_most(&mut self.histories, HISTORIES, |a, b| said(a).total_cmp(&said(b)));
            }
            SalienceEvent::Weights(weights) => self.weights = weights,
            SalienceEvent::Startled(startled) => self.startled = Some(startled),
        }
    }
}

impl SalienceRoom {
    /// The history of the object that earned most; for an unknown name, that of its best known word.
    fn history(&self, objects: &[String], stems: &Stems) -> f64 {
        let of = |object: &String| {
            let words = stems.of_text(object);
            let whole = self.histories.get(&words.join(" ")).copied();
            let known = words.iter().filter_map(|word| self.histories.get(word)).copied();
            whole.or_else(|| known.reduce(f64::max))
        };
        objects.iter().filter_map(of).reduce(f64::max).unwrap_or(NEUTRAL_HISTORY)
    }

    fn moment(&self, said: bool, novelty: Novelty, now: Timestamp) -> Moment {
        let mut moment = Moment {
            person: f64::from(u8::from(said)),
            novelty: novelty.get(),
            goal_boundary: f64::from(u8::from(self.goal_changed)),
            ..Moment::default()
        };
        if let Some(startled) = &self.startled {
            let left = |strength| startle_left(strength, now.duration_since(startled.at).as_secs_f64());
            moment.surprise = left(startled.surprise);
            moment.valence_extremity = left(startled.valence_extremity);
            moment.energy_change = left(startled.energy_change);
        }
        moment
    }
}

impl Hears<AdmittedPercept> for SalienceRoom {
    fn hear(&self, admitted: &AdmittedPercept, pulse: &mut Pulse<'_, Self>) {
        let percept = &admitted.percept;
        let stems = &pulse.settings().stems;
        let start: String = percept.content.chars().take(GIST).collect();
        let gist = Gist::of(stems, &start, percept.objects.iter().map(String::as_str));
        let novelty = self.recent.novelty(&gist);
        let goal = self.goal.as_deref().map(|goal| Gist::of(stems, goal, []));
        let said = percept.is_request();
        let appraisal = Appraisal {
            source: if said { SourceKind::Person } else { SourceKind::Observation },
            novelty,
            goal_relevance: goal.map_or(0.0, |goal| goal.covers(&gist)),
            history: self.history(&percept.objects, stems),
            confidence: percept.heard.map_or(1.0, Confidence::get),
            significance: significance(&self.weights, &self.moment(said, novelty, pulse.now())),
        };
        let turn = pulse.turn();
        pulse.keep(SalienceEvent::PerceivedIn { turn, gist });
        pulse.emit(SalientPercept {
            percept: percept.clone(),
            disposition: admitted.disposition.clone(),
            salience: appraisal.salience(),
            novelty,
        });
    }
}

impl Hears<GoalChanged> for SalienceRoom {
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        if changed.active != self.goal {
            pulse.keep(SalienceEvent::GoalChanged(changed.active.clone()));
        }
    }
}

impl Hears<AttentionLearned> for SalienceRoom {
    fn hear(&self, learned: &AttentionLearned, pulse: &mut Pulse<'_, Self>) {
        // The bridge reports a neutral value only for what a person has forgotten.
        let forgotten = learned.objects.iter().any(|(_, value)| *value == NEUTRAL_HISTORY);
        pulse.keep_gone(SalienceEvent::Attention(learned.objects.clone()), forgotten);
    }
}

impl Hears<RecordsRemoved> for SalienceRoom {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.forgotten && removed.layer == Layer::Hippocampus {
            pulse.keep_gone(SalienceEvent::LetGo(removed.clone()), true);
        }
    }
}

impl Hears<SignificanceLearned> for SalienceRoom {
    fn hear(&self, learned: &SignificanceLearned, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(SalienceEvent::Weights(learned.weights));
    }
}

impl Hears<Startled> for SalienceRoom {
    fn hear(&self, startled: &Startled, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(SalienceEvent::Startled(*startled));
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;
    use maxim_bus::signals::percept::{Disposition, Percept};

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn seen(object: &str) -> AdmittedPercept {
        let mut percept = Percept::from_outside("body", "camera", format!("a {object}"), false, Trust::Sensor);
        percept.source = "body".into();
        percept.objects = vec![object.into()];
        AdmittedPercept { percept, disposition: Disposition::Proceed }
    }

    fn salience(rig: &mut Rig<SalienceRoom>, object: &str) -> f64 {
        rig.send(seen(object));
        rig.heard::<SalientPercept>()[0].salience.get()
    }

    #[test]
    fn what_it_is_told_moves_salience_and_survives_a_crash() {
        let mut rig: Rig<SalienceRoom> = Rig::new(SalienceSettings::default(), ear::<SalientPercept>);
        let before = salience(&mut rig, "red cup");
        let known = salience(&mut rig, "red cup");
        assert!(known < before, "it is no longer new");
        rig.send(AttentionLearned { objects: vec![("cup".into(), 0.9), ("red".into(), 0.7)] });
        rig.crash();
        let earned = salience(&mut rig, "red cup");
        assert!(earned > known + 0.2, "{earned} after {known}");
        let weights = SignificanceWeights { bias: 2.0, ..SignificanceWeights::default() };
        rig.send(SignificanceLearned { weights, moments: 9 });
        assert!(salience(&mut rig, "red cup") > earned + 0.2);
    }

    #[test]
    fn what_a_person_has_forgotten_is_new_again_and_worth_nothing_in_particular() {
        let mut rig: Rig<SalienceRoom> = Rig::new(SalienceSettings::default(), ear::<SalientPercept>);
        let turn = |number| MessageId::from_parts(number, 0);
        let see = |rig: &mut Rig<SalienceRoom>, number, object| {
            rig.send_in(turn(number), Trust::Sensor, seen(object));
            rig.heard::<SalientPercept>()[0].novelty.get()
        };
        assert_eq!((see(&mut rig, 1, "quokka"), see(&mut rig, 2, "lamp")), (1.0, 1.0));
        rig.send(AttentionLearned { objects: vec![("quokka".into(), 0.9), ("lamp".into(), 0.9)] });
        let gone = |forgotten| RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec![turn(1).to_string()],
            forgotten,
            again: false,
        };
        rig.send(gone(false));
        assert_eq!(see(&mut rig, 3, "quokka"), 0.0, "what sleep let go was seen");
        rig.send(RecordsRemoved { ids: vec![turn(3).to_string()], ..gone(true) });
        rig.send(gone(true));
        rig.send(AttentionLearned { objects: vec![("quokka".into(), NEUTRAL_HISTORY)] });
        let kept = rig.store().recover(SalienceRoom::NAME).expect("read");
        let texts = kept.root.iter().chain(&kept.events).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let texts: Vec<String> = texts.filter(|text| text.contains("quokka")).collect();
        assert_eq!(texts, [""; 0], "neither its root nor the events since name it");
        rig.crash();
        let left = serde_json::to_string(rig.region()).expect("a state");
        assert!(!left.contains("quokka") && left.contains("lamp"), "{left}");
        assert_eq!((see(&mut rig, 4, "quokka"), see(&mut rig, 5, "lamp")), (1.0, 0.0));
    }
}
