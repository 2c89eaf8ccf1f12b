//! Work on records beside computing and answering: pinning, forgetting, consolidation, and the effect of removed
//! episodes.

use maxim_bus::signals::concepts::{
    ConsolidateLayer, ForgetRecord, Layer, LayerConsolidated, PinRecord, RecordChanged, RecordsRemoved,
};
use maxim_bus::signals::numbers::{MathCategory, MathRecord, MathRecordRemoved, is_innate};

use super::model::{Consolidated, compressed};
use super::region::{AngularGyrus, GyrusEvent, SKILLS, record_key};
use maxim_region::{Hears, Pulse, Sources};

/// Tells every layer that records were removed.
fn tell_gone(gone: &[(String, String)], forgotten: bool, pulse: &mut Pulse<'_, AngularGyrus>) {
    let ids = gone.iter().map(|(id, _)| id.clone()).collect();
    pulse.emit(RecordsRemoved { layer: Layer::AngularGyrus, ids, forgotten, again: false });
    for (id, name) in gone {
        pulse.emit(MathRecordRemoved { id: id.clone(), name: name.clone() });
    }
}

/// True for a record that was computed in a turn, or seen to work in one. A pattern comes from many turns, whatever it
/// names.
fn goes_with_its_episodes(record: &MathRecord) -> bool {
    let is_skill = record.category == MathCategory::Relationship && record.domain == SKILLS;
    (record.category == MathCategory::Fact || is_skill) && !record.long_term
}

fn sources_of(record: &MathRecord) -> Sources {
    Sources::new(record.episodes.iter().cloned().collect(), record.others)
}

impl AngularGyrus {
    /// The sources of the record of this name so far. For a record that names none they are unknown.
    pub(super) fn rests_on(&self, name: &str) -> Sources {
        match self.memory().named(name) {
            Some(known) if known.episodes.is_empty() => Sources::unknown(),
            known => known.map(sources_of).unwrap_or_default(),
        }
    }

    pub(super) fn keep_up(&self, report: Consolidated, pulse: &mut Pulse<'_, Self>) {
        for record in report.compressed.iter().filter_map(|id| self.memory().get(id)) {
            pulse.put(record_key(&record.id), &compressed(record));
        }
        if !report.pruned.is_empty() {
            report.pruned.iter().for_each(|(id, _)| pulse.remove(record_key(id)));
            tell_gone(&report.pruned, false, pulse);
        }
        pulse.keep(GyrusEvent::Kept { report, at: pulse.now() });
    }

    /// `forgotten`: a person wants it gone.
    pub(super) fn remove(&self, id: &str, forgotten: bool, pulse: &mut Pulse<'_, Self>) {
        let Some(record) = self.memory().get(id) else { return };
        pulse.remove(record_key(id));
        tell_gone(&[(id.to_owned(), record.name.clone())], forgotten, pulse);
        pulse.keep_gone(GyrusEvent::Removed { id: id.into() }, forgotten);
    }

    /// The record, if it is learned and present. Built-in knowledge stays.
    fn learned(&self, id: &str) -> Option<&MathRecord> {
        self.memory().get(id).filter(|record| !is_innate(&record.id))
    }
}

fn changed(id: &str, found: Option<&MathRecord>) -> RecordChanged {
    let what = found.map(|record| record.verbal.clone()).unwrap_or_default();
    RecordChanged { layer: Layer::AngularGyrus, id: id.to_owned(), found: found.is_some(), what }
}

impl Hears<PinRecord> for AngularGyrus {
    fn hear(&self, wish: &PinRecord, pulse: &mut Pulse<'_, Self>) {
        let found = self.learned(&wish.id);
        if found.is_some() {
            let key = record_key(&wish.id);
            // The record as on disk: uses are counted beside it.
            if let Some(record) = pulse.record::<MathRecord>(&key) {
                pulse.put(key, &MathRecord { long_term: wish.pinned, ..record });
            }
            pulse.keep(GyrusEvent::Pinned { id: wish.id.clone(), pinned: wish.pinned });
        }
        pulse.reply(changed(&wish.id, found));
    }
}

impl Hears<ForgetRecord> for AngularGyrus {
    fn hear(&self, wish: &ForgetRecord, pulse: &mut Pulse<'_, Self>) {
        let found = self.learned(&wish.id);
        if found.is_some() {
            self.remove(&wish.id, true, pulse);
        }
        pulse.reply(changed(&wish.id, found));
    }
}

impl Hears<RecordsRemoved> for AngularGyrus {
    /// Removes the names of missing episodes from all records. A record that was computed or seen to work only in
    /// episodes that a person has forgotten is removed with them, unless it is pinned.
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.layer != Layer::Hippocampus {
            return;
        }
        let rests = |record: &&MathRecord| record.episodes.iter().any(|episode| removed.ids.contains(episode));
        let resting: Vec<&MathRecord> = self.memory().learned().filter(rests).collect();
        for known in resting {
            let mut sources = sources_of(known);
            if sources.let_go(removed) && goes_with_its_episodes(known) {
                self.remove(&known.id, true, pulse);
                continue;
            }
            let key = record_key(&known.id);
            let Some(record) = pulse.record::<MathRecord>(&key) else { continue };
            let (others, episodes) = (sources.has_others(), sources.episodes.into());
            let record = MathRecord { episodes, others, ..record };
            pulse.put(key, &record);
            pulse.keep_gone(GyrusEvent::Stored(Box::new(record)), removed.forgotten);
        }
    }
}

impl Hears<ConsolidateLayer> for AngularGyrus {
    /// All at once, because the layer has few records.
    fn hear(&self, _wish: &ConsolidateLayer, pulse: &mut Pulse<'_, Self>) {
        let report = self.memory().consolidate(pulse.now(), pulse.settings().law.consolidated_after.days());
        pulse.reply(LayerConsolidated {
            layer: Layer::AngularGyrus,
            looked_at: report.looked_at as u64,
            compressed: report.compressed.len() as u64,
            pruned: report.pruned.len() as u64,
            bytes_before: report.bytes_before as u64,
            bytes_after: report.bytes_after as u64,
            done: true,
        });
        if !(report.compressed.is_empty() && report.pruned.is_empty()) {
            self.keep_up(report, pulse);
        }
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::concepts::LayerLinked;
    use maxim_bus::signals::numbers::Calculate;
    use maxim_bus::signals::skill::ExecutesWithLearned;
    use maxim_bus::units::Confidence;
    use maxim_bus::{MessageId, Trust};
    use serde_json::json;

    use super::super::region::{GyrusSettings, NumberLaw};
    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn rig() -> Rig<AngularGyrus> {
        Rig::new(GyrusSettings { run: "r1".into(), law: NumberLaw::default() }, |bus, probe| {
            ear::<RecordChanged>(bus, probe);
            ear::<RecordsRemoved>(bus, probe);
            ear::<MathRecordRemoved>(bus, probe);
            ear::<LayerLinked>(bus, probe);
        })
    }

    fn turn(number: u64) -> MessageId {
        MessageId::from_parts(number, 0)
    }

    fn compute(rig: &mut Rig<AngularGyrus>, number: u64, expression: &str) {
        rig.send_in(turn(number), Trust::Owner, Calculate { request: json!({ "expression": expression }) });
    }

    fn episode(number: u64, forgotten: bool) -> RecordsRemoved {
        RecordsRemoved { layer: Layer::Hippocampus, ids: vec![turn(number).to_string()], forgotten, again: false }
    }

    fn facts(rig: &Rig<AngularGyrus>) -> Vec<String> {
        rig.region().memory().learned().map(|record| record.verbal.clone()).collect()
    }

    fn skill(episodes: &[u64]) -> ExecutesWithLearned {
        ExecutesWithLearned {
            tool: "read_url".into(),
            object: "secret.example".into(),
            successes: episodes.len() as u32,
            failures: 0,
            confidence: Confidence::clamped(0.7),
            episodes: episodes.iter().map(|number| turn(*number).to_string()).collect(),
        }
    }

    #[test]
    fn a_result_is_pinned_and_forgotten_by_its_id_and_what_is_known_from_the_start_is_not() {
        let mut rig = rig();
        compute(&mut rig, 1, "6 * 7");
        let id = rig.region().memory().learned().next().expect("a fact").id.clone();
        rig.send(PinRecord { id: id.clone(), pinned: true });
        let pinned = rig.heard::<RecordChanged>().remove(0);
        assert_eq!((pinned.layer, pinned.found, pinned.what.as_str()), (Layer::AngularGyrus, true, "6 * 7 = 42"));
        compute(&mut rig, 2, "6 * 7");
        rig.crash();
        let kept = rig.region().memory().get(&id).map(|record| record.long_term);
        assert_eq!(kept, Some(true), "computed again it is pinned still");
        rig.send(PinRecord { id: id.clone(), pinned: false });
        rig.crash();
        assert_eq!(rig.region().memory().get(&id).map(|record| record.long_term), Some(false));
        rig.heard_all();
        rig.send(ForgetRecord { id: id.clone() });
        rig.crash();
        assert!(facts(&rig).is_empty());
        let removed = rig.heard::<RecordsRemoved>().remove(0);
        assert_eq!((removed.layer, &removed.ids, removed.forgotten), (Layer::AngularGyrus, &vec![id.clone()], true));
        for unknown in [id.as_str(), "constant/pi", "nothing"] {
            rig.send(ForgetRecord { id: unknown.into() });
            rig.send(PinRecord { id: unknown.into(), pinned: true });
            assert!(rig.heard::<RecordChanged>().iter().all(|answer| !answer.found), "{unknown}");
        }
    }

    #[test]
    fn a_result_goes_with_the_last_episode_that_is_forgotten_unless_it_is_pinned() {
        let mut rig = rig();
        compute(&mut rig, 1, "31337 + 1");
        compute(&mut rig, 1, "2 + 2");
        compute(&mut rig, 2, "2 + 2");
        compute(&mut rig, 1, "3 + 3");
        let pinned = rig.region().memory().learned().find(|record| record.verbal == "3 + 3 = 6").expect("a fact");
        let pinned = pinned.id.clone();
        rig.send(PinRecord { id: pinned, pinned: true });
        rig.send(skill(&[1, 3]));
        rig.send(episode(1, true));
        rig.crash();
        let left = serde_json::to_string(&rig.region().memory().export()).expect("text");
        assert!(!left.contains("31337") && !left.contains(&turn(1).to_string()), "{left}");
        assert_eq!(rig.region().memory().learned().count(), 3, "{:?}", facts(&rig));
        rig.send(episode(2, false));
        rig.crash();
        assert_eq!(rig.region().memory().learned().count(), 3, "what sleep let go has taught");
        assert!(!serde_json::to_string(&rig.region().memory().export()).expect("text").contains(&turn(2).to_string()));
        compute(&mut rig, 4, "2 + 2");
        rig.send(episode(4, true));
        rig.send(episode(3, true));
        let left = facts(&rig);
        assert!(left.contains(&"2 + 2 = 4".to_owned()) && left.contains(&"3 + 3 = 6".to_owned()), "{left:?}");
        assert_eq!(left.len(), 2, "nothing is left of the skill: {left:?}");
    }

    #[test]
    fn what_works_with_what_is_joined_with_the_metric_of_its_tool() {
        use maxim_bus::signals::numbers::{PatternConfirmed, SeriesFeature};
        let mut rig = rig();
        rig.send(skill(&[1]));
        assert!(rig.heard::<LayerLinked>().is_empty(), "the metric isn't known yet");
        rig.send(PatternConfirmed {
            metric: "tool:read_url:success".into(),
            subject: "read_url".into(),
            feature: SeriesFeature::Prevailing { share: 0.9 },
            verbal: "read_url succeeds in 90 % of 40 uses".into(),
            code: "36/40".into(),
            values: vec![1.0; 8],
            outputs: [("rate".to_owned(), 0.9)].into(),
            observations: 40,
            confidence: Confidence::clamped(0.8),
            episodes: vec![],
            trust: Trust::Own,
        });
        let linked = rig.heard::<LayerLinked>().remove(0);
        let id = |name: &str| rig.region().memory().named(name).expect("a record").id.clone();
        let edge = &linked.edges[0];
        assert_eq!((linked.layer, linked.edges.len()), (Layer::AngularGyrus, 1));
        assert_eq!((&edge.from, edge.weight, edge.back), (&id("read_url EXECUTES_WITH secret.example"), 0.7, 0.7));
        assert_eq!(edge.to, id("tool:read_url:success"));
    }
}
