//! The salience bridge: how much attention did this object earn before?
//!
//! Biology: the intraparietal priority map, shaped by reward history.
//! Law: h ← h + β(e − h) from ½, β = 0.2. Words of a person who may command earn e = 1. An observed thing earns 1
//! when something was done about it in that turn, else 0, so that it fades. A value that changed by 0.05 since it was
//! last reported is reported again.
//! Remembers: the values of the 1024 objects and words met most recently, and where. Forgets: the one met longest
//! ago, and those met only in episodes that a person has forgotten; these are reported as neutral.
//! Down: salience keeps what it was told.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::rooms::{self, RESPOND};
use maxim_bus::signals::bridges::{AttentionLearned, EpisodeLived};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::percept::is_of_a_person;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::gist::{gist, key, teaches};
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, Sources, StatePart, StatePuts, keep_most, part};

/// Learning rate β.
const BETA: f64 = 0.2;
/// The value when nothing is known.
const NEUTRAL: f64 = 0.5;
/// A smaller change isn't reported.
const WORTH_TELLING: f64 = 0.05;
/// Maximum number of remembered objects and words.
const REMEMBERED: usize = 1024;
/// Maximum number of episodes named for each.
const MET: usize = 4;
/// Words of an utterance that count.
const MOST_WORDS: usize = 24;

/// The value after earning `earned`.
pub fn attention(before: f64, earned: f64) -> f64 {
    before + BETA * (earned - before)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Attention {
    value: f64,
    told: f64,
    met: Timestamp,
    /// The episodes in which it was met.
    #[serde(flatten)]
    sources: Sources,
}

impl Attention {
    fn new(met: Timestamp) -> Self {
        Self { value: NEUTRAL, told: NEUTRAL, met, sources: Sources::default() }
    }

    /// The value after earning `earned`, and whether that must be reported.
    fn after(&self, earned: f64) -> (f64, bool) {
        let value = attention(self.value, earned);
        (value, (value - self.told).abs() >= WORTH_TELLING)
    }

    fn earn(&mut self, earned: f64, at: Timestamp) {
        let (value, is_told) = self.after(earned);
        (self.value, self.met) = (value, at);
        if is_told {
            self.told = value;
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SalienceBridge {
    objects: BTreeMap<String, Attention>,
}

/// Untagged, so that moments keep their old format.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SalienceBridgeEvent {
    Earned(Earned),
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

/// What objects earned in a moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Earned {
    objects: Vec<String>,
    earned: f64,
    at: Timestamp,
    episode: String,
}

wiring!(SalienceBridge {
    hears: [EpisodeLived, RecordsRemoved, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [AttentionLearned, StatsReported, RecordsExported, RecordsImported],
});

impl Region for SalienceBridge {
    const NAME: RegionName = rooms::SALIENCE_BRIDGE;
    const STAGE: Stage = Stage::Learning;
    type Event = SalienceBridgeEvent;
    type Settings = ();

    fn apply(&mut self, event: SalienceBridgeEvent) {
        let event = match event {
            SalienceBridgeEvent::Earned(event) => event,
            SalienceBridgeEvent::LetGo(removed) => {
                return self.objects.retain(|_, attention| !attention.sources.let_go(&removed));
            }
            SalienceBridgeEvent::Imported(puts) => return puts.apply_to(self),
        };
        for object in event.objects {
            let attention = self.objects.entry(object).or_insert_with(|| Attention::new(event.at));
            attention.earn(event.earned, event.at);
            attention.sources.note(&event.episode, MET);
        }
        keep_most(&mut self.objects, REMEMBERED, |a, b| a.met.cmp(&b.met));
    }
}

impl RemembersInState for SalienceBridge {
    const PARTS: &'static [StatePart] = &[part("objects", Law::Each { most: REMEMBERED, evidence: &[] })];

    fn imported(puts: StatePuts) -> SalienceBridgeEvent {
        SalienceBridgeEvent::Imported(puts)
    }

    fn tell(&self, after: &Self, pulse: &mut Pulse<'_, Self>) {
        let told = |of: &Self, object: &String| of.objects.get(object).map_or(NEUTRAL, |one| one.told);
        let moved = after.objects.iter().filter(|(object, one)| one.told != told(self, object));
        let objects: Vec<(String, f64)> = moved.map(|(object, one)| (object.clone(), one.told)).collect();
        if !objects.is_empty() {
            pulse.emit(AttentionLearned { objects });
        }
    }
}

/// What earned how much in a moment; none if it teaches nothing.
fn earned(lived: &EpisodeLived) -> Option<(Vec<String>, f64)> {
    let acted = lived.actions.iter().any(|action| action.tool != RESPOND && action.status.success().is_some());
    let objects: BTreeSet<String> = lived.objects.iter().map(|object| key(object)).collect();
    if is_of_a_person(&lived.source) {
        let words: BTreeSet<String> = gist(&lived.text).into_iter().take(MOST_WORDS).chain(objects).collect();
        return teaches(lived.trust).then(|| (words.into_iter().collect(), 1.0));
    }
    Some((objects.into_iter().collect(), f64::from(u8::from(acted))))
}

impl Hears<EpisodeLived> for SalienceBridge {
    fn heeds(lived: &EpisodeLived) -> bool {
        !lived.retold
    }

    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        let Some((objects, earned)) = earned(lived) else { return };
        if objects.is_empty() {
            return;
        }
        let at = pulse.now();
        let unknown = Attention::new(at);
        let moved = objects.iter().filter_map(|object| {
            let (value, is_told) = self.objects.get(object).unwrap_or(&unknown).after(earned);
            is_told.then(|| (object.clone(), value))
        });
        let moved: Vec<(String, f64)> = moved.collect();
        if !moved.is_empty() {
            pulse.emit(AttentionLearned { objects: moved });
        }
        let episode = lived.episode.clone();
        pulse.keep(SalienceBridgeEvent::Earned(Earned { objects, earned, at, episode }));
    }
}

impl Hears<RecordsRemoved> for SalienceBridge {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let met = self.objects.iter().filter(|(_, attention)| attention.sources.holds(removed));
        let met: Vec<(&String, &Attention)> = met.collect();
        if removed.layer != Layer::Hippocampus || (met.is_empty() && !removed.forgotten) {
            return;
        }
        let gone = met.into_iter().filter(|(_, attention)| attention.sources.clone().let_go(removed));
        let objects: Vec<(String, f64)> = gone.map(|(object, _)| (object.clone(), NEUTRAL)).collect();
        if !objects.is_empty() {
            pulse.emit(AttentionLearned { objects });
        }
        pulse.keep_gone(SalienceBridgeEvent::LetGo(removed.clone()), removed.forgotten);
    }
}

impl Hears<ReportStats> for SalienceBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "objects": self.objects.len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::lived;
    use super::*;
    use maxim_region::rig::{Rig, ear};

    #[test]
    fn attention_follows_what_was_earned() {
        assert!((attention(0.5, 1.0) - 0.6).abs() < 1e-12);
        assert!((attention(0.6, 1.0) - 0.68).abs() < 1e-12);
        assert!((attention(0.68, 0.0) - 0.544).abs() < 1e-12);
    }

    #[test]
    fn what_a_person_speaks_of_earns_attention_until_it_is_full_and_an_outsider_earns_none() {
        let mut rig: Rig<SalienceBridge> = Rig::new((), ear::<AttentionLearned>);
        let mut told = Vec::new();
        for _ in 0..20 {
            rig.send(lived("where is my red cup", &[]));
            rig.crash();
            told.extend(rig.heard::<AttentionLearned>());
        }
        assert_eq!(told[0].objects, [("cup".to_owned(), 0.6), ("red".to_owned(), 0.6)]);
        assert!(told.len() < 10, "small changes aren't told: {}", told.len());
        assert!(told.last().expect("told").objects[0].1 > 0.9);
        let mut outside = lived("the gun is loaded", &[]);
        outside.trust = maxim_bus::Trust::Outside;
        rig.send(outside);
        assert!(rig.heard::<AttentionLearned>().is_empty());
    }

    #[test]
    fn what_was_met_only_where_it_is_forgotten_is_told_as_nothing_in_particular() {
        let mut rig: Rig<SalienceBridge> = Rig::new((), ear::<AttentionLearned>);
        rig.send(lived("the red cup", &[]));
        rig.send(lived("the secret cup", &[]));
        rig.heard::<AttentionLearned>();
        let removed = |forgotten| RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec!["episode of the secret cup".into()],
            forgotten,
            again: false,
        };
        let mut slept = rig.region().clone();
        slept.apply(SalienceBridgeEvent::LetGo(removed(false)));
        assert_eq!(slept.objects.len(), 3, "what sleep let go stays learned");
        rig.send(removed(true));
        rig.crash();
        assert_eq!(rig.heard::<AttentionLearned>()[0].objects, [("secret".to_owned(), 0.5)]);
        assert_eq!(rig.region().objects.keys().collect::<Vec<_>>(), ["cup", "red"]);
    }

    #[test]
    fn what_is_seen_and_never_acted_on_fades() {
        let mut rig: Rig<SalienceBridge> = Rig::new((), ear::<AttentionLearned>);
        let mut seen = lived("a Red Cup and a lamp", &[]);
        seen.source = "body".into();
        seen.objects = vec!["Red Cup".into()];
        rig.send(seen.clone());
        assert_eq!(rig.heard::<AttentionLearned>()[0].objects, [("red cup".to_owned(), 0.4)]);
        let acted = lived("", &[("move", "done")]);
        rig.send(EpisodeLived { actions: acted.actions, ..seen });
        assert_eq!(rig.heard::<AttentionLearned>()[0].objects, [("red cup".to_owned(), 0.52)]);
    }
}
