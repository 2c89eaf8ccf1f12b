//! The salience bridge: how much attention did this object earn before?
//!
//! Biology: the intraparietal priority map, shaped by reward history.
//! Law: h ← h + β(e − h) from ½, β = 0.2: what a person who may command speaks of earns e = 1; what was observed earns 1
//! when something was done about it in that turn, else 0, so that it fades. What moved by 0.05 since it was told last is
//! told again.
//! Remembers: the value of the 1024 objects and words that were met last. Forgets: the one met longest ago.
//! Down: salience goes on with what it was told.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::signals::bridges::{AttentionLearned, EpisodeLived};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::percept::is_of_a_person;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::gist::{gist, key, teaches};
use crate::region::{Card, Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, keep_most, part};
use crate::wiring;

/// Learning rate β.
const BETA: f64 = 0.2;
/// Value of what nothing is known about.
const NEUTRAL: f64 = 0.5;
/// A smaller change isn't told.
const WORTH_TELLING: f64 = 0.05;
/// Objects and words that are remembered.
const REMEMBERED: usize = 1024;
/// Words of one utterance that count.
const MOST_WORDS: usize = 24;
/// Tool that only speaks.
const RESPOND: &str = "respond";

/// The value after it earned `earned`.
pub fn attention(before: f64, earned: f64) -> f64 {
    before + BETA * (earned - before)
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Attention {
    value: f64,
    told: f64,
    met: Timestamp,
}

impl Attention {
    fn new(met: Timestamp) -> Self {
        Self { value: NEUTRAL, told: NEUTRAL, met }
    }

    fn earn(&mut self, earned: f64, at: Timestamp) -> bool {
        self.value = attention(self.value, earned);
        self.met = at;
        let tell = (self.value - self.told).abs() >= WORTH_TELLING;
        if tell {
            self.told = self.value;
        }
        tell
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SalienceBridge {
    objects: BTreeMap<String, Attention>,
}

/// Untagged: a moment is written as it always was.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SalienceBridgeEvent {
    Earned(Earned),
    Imported(StatePuts),
}

/// What objects earned in a moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Earned {
    objects: Vec<String>,
    earned: f64,
    at: Timestamp,
}

wiring!(SalienceBridge {
    hears: [EpisodeLived, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [AttentionLearned, StatsReported, RecordsExported, RecordsImported],
});

impl Region for SalienceBridge {
    const NAME: RegionName = "salience_bridge";
    const STAGE: Stage = Stage::Learning;
    type Event = SalienceBridgeEvent;
    type Settings = ();

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: SalienceBridgeEvent) {
        let event = match event {
            SalienceBridgeEvent::Earned(event) => event,
            SalienceBridgeEvent::Imported(puts) => return puts.apply_to(self),
        };
        for object in event.objects {
            self.objects.entry(object).or_insert_with(|| Attention::new(event.at)).earn(event.earned, event.at);
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

/// What earned how much in a moment; none where it teaches nothing.
fn earned(lived: &EpisodeLived) -> Option<(Vec<String>, f64)> {
    let acted = lived
        .actions
        .iter()
        .any(|action| action.tool != RESPOND && matches!(action.status.as_str(), "done" | "failed"));
    let objects: BTreeSet<String> = lived.objects.iter().map(|object| key(object)).collect();
    if is_of_a_person(&lived.source) {
        let words: BTreeSet<String> = gist(&lived.text).into_iter().take(MOST_WORDS).chain(objects).collect();
        return teaches(lived.trust).then(|| (words.into_iter().collect(), 1.0));
    }
    Some((objects.into_iter().collect(), f64::from(u8::from(acted))))
}

impl Hears<EpisodeLived> for SalienceBridge {
    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        let Some((objects, earned)) = earned(lived) else { return };
        if objects.is_empty() || lived.retold {
            return;
        }
        let at = pulse.now();
        let moved = objects.iter().filter_map(|object| {
            let mut one = self.objects.get(object).copied().unwrap_or_else(|| Attention::new(at));
            one.earn(earned, at).then(|| (object.clone(), one.value))
        });
        let moved: Vec<(String, f64)> = moved.collect();
        if !moved.is_empty() {
            pulse.emit(AttentionLearned { objects: moved });
        }
        pulse.keep(SalienceBridgeEvent::Earned(Earned { objects, earned, at }));
    }
}

impl Hears<ReportStats> for SalienceBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "objects": self.objects.len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::lived;
    use super::*;
    use crate::region::rig::{Rig, ear};

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
