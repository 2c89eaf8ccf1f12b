//! The suprachiasmatic nucleus as a room: knows what kind of time it is, and what happened at such times.
//!
//! Biology: the circadian clock of the hypothalamus.
//! Law: calendar bins of local time (`law.rs`), kept as compressed lists (`index.rs`); coupled clocks of day, week,
//! month and year, and the phases at which events come (`oscillators.rs`, `clocks.rs`).
//! Remembers: the bins of each episode; what was done in the latest ones; the state of the clocks. Forgets: with the
//! episodes; what was done longer ago.
//! Down: time is a missing section.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::introspection::{DiscoverRhythms, RhythmsDiscovered};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{
    DescribeTime, EpisodeStored, EpisodesCaptured, PhaseLocked, ReportStats, StatsReported, TimeDescribed,
};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::clocks::{Beats, Clocks};
use super::index::BinIndex;
use super::law::TimeSignature;
use super::oscillators::HebbLaw;
use super::rhythm::RhythmLaw;
use maxim_region::RecordView;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct ScnSettings {
    /// Local time zone of the body.
    pub zone: TimeZone,
    /// Whether the oscillators run. Default true.
    pub oscillators: bool,
    pub hebb: HebbLaw,
    pub rhythm: RhythmLaw,
}

#[derive(Default, Serialize, Deserialize)]
pub struct SuprachiasmaticNucleus {
    next: u32,
    /// Moments whose acts are known.
    pub(super) done: u32,
    pub(super) clocks: Clocks,
    /// Sealed segments on disk, and the numbers that they contain.
    sealed: (u32, u32),
    #[serde(skip)]
    index: Option<BinIndex>,
    #[serde(skip)]
    segments: Vec<Arc<[u8]>>,
    #[serde(skip)]
    zone: Option<TimeZone>,
}

/// An episode and its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moment {
    pub(super) id: String,
    pub(super) at: Timestamp,
}

/// The actions in a moment, for rhythms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Doing {
    pub(super) at: Timestamp,
    /// Tools that were used; or the source of the percept, if nothing was done.
    pub(super) kinds: Vec<String>,
    /// The moment's episode, if known; otherwise the one of this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<String>,
}

impl Doing {
    /// Older files don't name the episode.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.at, &self.kinds) == (other.at, &other.kinds)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ScnEvent {
    Binned {
        number: u32,
        at: Timestamp,
    },
    Did,
    /// A person had some of the acts forgotten: how many are left, and the beats of these kinds.
    Undid {
        left: u32,
        kinds: Vec<(String, Option<Beats>)>,
    },
    /// A moment at these phases of day, week, month and year, in radians.
    Observed {
        at: Timestamp,
        phases: [f64; 4],
        #[serde(default, skip_serializing_if = "HebbLaw::is_usual")]
        law: HebbLaw,
    },
    /// These kinds of events came then.
    Came {
        kinds: Vec<String>,
        at: Timestamp,
        phases: [f64; 4],
    },
    /// Clocks from an export that know more.
    ClocksTaken(Box<Clocks>),
    SealDue,
    SealWritten {
        segments: u32,
        numbers: u32,
    },
    /// The episodes of these moments are removed.
    Removed {
        numbers: Vec<u32>,
    },
}

wiring!(SuprachiasmaticNucleus {
    hears: [
        EpisodeStored,
        EpisodesCaptured,
        EpisodeLived,
        RecordsRemoved,
        DescribeTime,
        DiscoverRhythms,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [PhaseLocked, TimeDescribed, RhythmsDiscovered, StatsReported, RecordsExported, RecordsImported],
});

/// Documents in memory before a segment is sealed.
const SEAL_AT: usize = 4096;
/// The numbers of removed moments are kept in records of this range.
const GONE_BLOCK: u32 = 4096;
/// The latest moments, in which rhythms are searched.
pub(super) const DOINGS: usize = 2_000;

impl Region for SuprachiasmaticNucleus {
    const NAME: RegionName = rooms::SUPRACHIASMATIC_NUCLEUS;
    const STAGE: Stage = Stage::Memory;
    type Event = ScnEvent;
    type Settings = ScnSettings;

    fn apply(&mut self, event: ScnEvent) {
        match event {
            ScnEvent::Binned { number, at } => {
                self.next = self.next.max(number + 1);
                if let (Some(index), Some(zone)) = (&mut self.index, &self.zone) {
                    index.add(number, &TimeSignature::of(at, zone));
                }
            }
            ScnEvent::Did => self.done = self.done.wrapping_add(1),
            ScnEvent::Undid { left, kinds } => {
                self.done = left;
                kinds.into_iter().for_each(|(kind, beats)| self.clocks.set(kind, beats));
            }
            ScnEvent::Observed { at, phases, law } => self.clocks.observe(at, &phases, &law),
            ScnEvent::Came { kinds, at, phases } => self.clocks.came(kinds, at, &phases),
            ScnEvent::ClocksTaken(clocks) => self.clocks = *clocks,
            ScnEvent::SealDue => {
                let sealed = self.index.as_mut().and_then(BinIndex::seal);
                self.segments.extend(sealed);
            }
            ScnEvent::SealWritten { segments, numbers } => self.sealed = (segments, numbers),
            ScnEvent::Removed { numbers } => {
                if let Some(index) = &mut self.index {
                    numbers.iter().for_each(|number| index.remove(*number));
                }
            }
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &ScnSettings) {
        let read = |number| records.bytes(&segment_key(number)).map(Arc::<[u8]>::from);
        let segments: Option<Vec<Arc<[u8]>>> = (0..self.sealed.0).map(read).collect();
        let whole = segments.and_then(|parts| {
            let index = BinIndex::from_segments(parts.iter().map(|part| &**part)).ok()?;
            Some((index, parts))
        });
        let (mut index, from) = match whole {
            Some((index, parts)) => {
                self.segments = parts;
                (index, self.sealed.1)
            }
            None => {
                tracing::warn!("an index segment of the suprachiasmatic nucleus is damaged; it is rebuilt");
                (BinIndex::new(), 0)
            }
        };
        for number in from..self.next {
            if let Some(moment) = records.get::<Moment>(&moment_key(number)) {
                index.add(number, &TimeSignature::of(moment.at, &settings.zone));
            }
        }
        for (_, gone) in records.prefixed(b"gone/", usize::MAX) {
            let numbers: Vec<u32> = serde_json::from_slice(&gone).unwrap_or_default();
            numbers.into_iter().for_each(|number| index.remove(number));
        }
        self.index = Some(index);
        self.zone = Some(settings.zone.clone());
    }
}

pub(super) fn moment_key(number: u32) -> Vec<u8> {
    format!("moment/{number:08x}").into_bytes()
}

/// The key of a moment's number by its episode's id.
fn id_key(id: &str) -> Vec<u8> {
    format!("id/{id}").into_bytes()
}

fn gone_key(block: u32) -> Vec<u8> {
    format!("gone/{block:06x}").into_bytes()
}

/// A ring: the newest replaces the oldest.
pub(super) fn doing_key(number: u32) -> Vec<u8> {
    format!("doing/{:04}", number as usize % DOINGS).into_bytes()
}

fn segment_key(number: u32) -> Vec<u8> {
    format!("segment/{number:06x}").into_bytes()
}

impl SuprachiasmaticNucleus {
    pub(super) fn index(&self) -> Option<&BinIndex> {
        self.index.as_ref()
    }

    fn bin(&self, number: u32, id: &str, at: Timestamp, pulse: &mut Pulse<'_, Self>) {
        pulse.put(moment_key(number), &Moment { id: id.to_owned(), at });
        pulse.put(id_key(id), &number);
        pulse.keep(ScnEvent::Binned { number, at });
    }

    fn keep_sealed(&self, pulse: &mut Pulse<'_, Self>) {
        let Some(index) = &self.index else { return };
        let (segments, numbers) = (self.segments.len() as u32, index.sealed_before());
        if segments != self.sealed.0 {
            for number in self.sealed.0..segments {
                pulse.put_bytes(segment_key(number), self.segments[number as usize].to_vec());
            }
            pulse.keep(ScnEvent::SealWritten { segments, numbers });
        } else if index.unsealed() >= SEAL_AT {
            pulse.keep(ScnEvent::SealDue);
        }
    }
}

impl Hears<EpisodeStored> for SuprachiasmaticNucleus {
    /// A repetition of an episode is not a separate one, and nothing names it.
    fn heeds(stored: &EpisodeStored) -> bool {
        !stored.complete && stored.repeats.is_none()
    }

    fn hear(&self, stored: &EpisodeStored, pulse: &mut Pulse<'_, Self>) {
        self.bin(self.next, &stored.episode, stored.at, pulse);
        self.keep_sealed(pulse);
    }
}

impl Hears<EpisodesCaptured> for SuprachiasmaticNucleus {
    fn hear(&self, captured: &EpisodesCaptured, pulse: &mut Pulse<'_, Self>) {
        for (offset, (id, at)) in captured.episodes.iter().enumerate() {
            self.bin(self.next + offset as u32, id, *at, pulse);
        }
        self.keep_sealed(pulse);
        self.did_before(&captured.done, pulse);
    }
}

impl Hears<RecordsRemoved> for SuprachiasmaticNucleus {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.layer != Layer::Hippocampus {
            return;
        }
        if removed.forgotten {
            self.undo(&removed.ids, pulse);
        }
        let mut gone: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for id in &removed.ids {
            let Some(number) = pulse.record::<u32>(&id_key(id)) else { continue };
            pulse.remove(id_key(id));
            pulse.remove(moment_key(number));
            gone.entry(number / GONE_BLOCK).or_default().insert(number);
        }
        if gone.is_empty() {
            return;
        }
        for (block, numbers) in &gone {
            let before: Vec<u32> = pulse.record(&gone_key(*block)).unwrap_or_default();
            let all: BTreeSet<u32> = before.into_iter().chain(numbers.iter().copied()).collect();
            pulse.put(gone_key(*block), &all);
        }
        pulse.keep(ScnEvent::Removed { numbers: gone.into_values().flatten().collect() });
    }
}

impl SuprachiasmaticNucleus {
    /// Stores what was done, and what the clocks learn from its time.
    pub(super) fn did(&self, number: u32, doing: &Doing, pulse: &mut Pulse<'_, Self>) {
        pulse.put(doing_key(number), doing);
        pulse.keep(ScnEvent::Did);
        let ScnSettings { zone, oscillators, .. } = pulse.settings();
        if *oscillators {
            let phases = TimeSignature::of(doing.at, zone).phases.to_radians();
            for change in self.clocks.locking(&doing.kinds, doing.at, &phases) {
                pulse.emit(change);
            }
            pulse.keep(ScnEvent::Came { kinds: doing.kinds.clone(), at: doing.at, phases });
        }
    }
}

impl SuprachiasmaticNucleus {
    /// Removes the acts of moments that a person had forgotten; the clocks then know these kinds by what is left. Older
    /// acts, which left the ring, are only known to the clocks; then only a kind without any act left is removed.
    fn undo(&self, episodes: &[String], pulse: &mut Pulse<'_, Self>) {
        let moment = |id: &String| {
            let number = pulse.record::<u32>(&id_key(id))?;
            pulse.record::<Moment>(&moment_key(number)).map(|moment| moment.at)
        };
        let times: BTreeSet<Timestamp> = episodes.iter().filter_map(moment).collect();
        let is_gone = |doing: &Doing| match &doing.of {
            Some(episode) => episodes.contains(episode),
            None => times.contains(&doing.at),
        };
        let (gone, left): (Vec<Doing>, Vec<Doing>) = self.doings(pulse.records()).into_iter().partition(is_gone);
        if gone.is_empty() {
            return;
        }
        let is_all = self.done as usize <= DOINGS;
        for number in 0..(self.done as usize).min(DOINGS) {
            match left.get(number) {
                Some(doing) => pulse.put(doing_key(number as u32), doing),
                None => pulse.remove(doing_key(number as u32)),
            }
        }
        let zone = pulse.settings().zone.clone();
        let phases = |doing: &&Doing| (doing.at, TimeSignature::of(doing.at, &zone).phases.to_radians());
        let kinds: BTreeSet<String> = gone.into_iter().flat_map(|doing| doing.kinds).collect();
        let mut relearned = Vec::new();
        for kind in kinds {
            let times: Vec<_> =
                left.iter().filter(|doing| doing.kinds.contains(&kind)).map(|doing| phases(&doing)).collect();
            if is_all || times.is_empty() {
                let (beats, changes) = self.clocks.relearned(&kind, &times);
                for change in changes {
                    pulse.emit(change);
                }
                relearned.push((kind, beats));
            }
        }
        pulse.keep_gone(ScnEvent::Undid { left: left.len() as u32, kinds: relearned }, true);
    }

    /// Takes in acts of earlier moments, except those that are known already.
    fn did_before(&self, done: &[(String, Timestamp)], pulse: &mut Pulse<'_, Self>) {
        if done.is_empty() {
            return;
        }
        let known: BTreeSet<Timestamp> = self.doings(pulse.records()).into_iter().map(|doing| doing.at).collect();
        let new = done.iter().filter(|(_, at)| !known.contains(at));
        for (number, (kind, at)) in (self.done..).zip(new) {
            self.did(number, &Doing { at: *at, kinds: vec![kind.clone()], of: None }, pulse);
        }
    }
}

impl Hears<EpisodeLived> for SuprachiasmaticNucleus {
    fn heeds(lived: &EpisodeLived) -> bool {
        !lived.retold
    }

    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        let mut kinds: Vec<String> = lived.actions.iter().map(|action| action.tool.clone()).collect();
        kinds.retain(|tool| tool != maxim_bus::rooms::RESPOND);
        if kinds.is_empty() {
            kinds.push(lived.source.clone());
        }
        kinds.sort_unstable();
        kinds.dedup();
        let ScnSettings { zone, oscillators, .. } = pulse.settings();
        if *oscillators {
            let phases = TimeSignature::of(lived.at, zone).phases.to_radians();
            pulse.keep(ScnEvent::Observed { at: lived.at, phases, law: pulse.settings().hebb });
        }
        self.did(self.done, &Doing { at: lived.at, kinds, of: Some(lived.episode.clone()) }, pulse);
    }
}

impl Hears<ReportStats> for SuprachiasmaticNucleus {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let (moments, bytes) = self.index.as_ref().map_or((0, 0), |index| (index.living(), index.size()));
        let counts = serde_json::json!({ "moments": moments, "index_bytes": bytes });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use maxim_bus::signals::recall::TimeBins;
    use maxim_bus::signals::thought::ActionSummary;
    use maxim_bus::units::{Novelty, Salience};
    use maxim_bus::{MessageId, Trust};

    use super::*;
    use maxim_region::rig::{Rig, ear, monday_morning};

    fn settings() -> ScnSettings {
        let (hebb, rhythm) = (HebbLaw::default(), RhythmLaw::default());
        ScnSettings { zone: TimeZone::UTC, oscillators: true, hebb, rhythm }
    }

    fn captured(id: &str) -> EpisodesCaptured {
        EpisodesCaptured { episodes: vec![(id.into(), monday_morning())], ..EpisodesCaptured::default() }
    }

    #[test]
    fn moments_go_with_their_episodes_sealed_or_not_and_over_a_crash() {
        let mut rig = Rig::<SuprachiasmaticNucleus>::new(settings(), ear::<TimeDescribed>);
        let count = SEAL_AT + 20;
        let episodes = (0..count).map(|n| (format!("e{n}"), monday_morning() + SignedDuration::from_hours(n as i64)));
        rig.send(EpisodesCaptured { episodes: episodes.collect(), ..EpisodesCaptured::default() });
        // Sealing takes one message to begin and one to write.
        rig.send(captured("late"));
        rig.send(captured("later"));
        let total = |rig: &mut Rig<SuprachiasmaticNucleus>| {
            let bins = TimeBins { hours: vec![9], days: vec![0], ..TimeBins::default() };
            rig.send(DescribeTime { bins, limit: 10_000, ..DescribeTime::default() });
            let told = rig.heard::<TimeDescribed>().pop().expect("an answer");
            assert_eq!(told.matching, told.episodes.len() as u64, "what is counted can be named");
            (told.total as usize, told.episodes.iter().any(|id| id == "e0" || id == "later"))
        };
        assert_eq!(total(&mut rig), (count + 2, true));
        let removed = |layer| RecordsRemoved {
            layer,
            ids: vec!["e0".into(), "later".into(), "unknown".into()],
            forgotten: true,
            again: false,
        };
        rig.send(removed(Layer::Atl));
        assert_eq!(total(&mut rig), (count + 2, true), "a concept is no episode");
        rig.send(removed(Layer::Hippocampus));
        for _ in 0..2 {
            assert_eq!(total(&mut rig), (count, false));
            rig.crash();
        }
        rig.send(captured("new"));
        let again = EpisodeStored {
            episode: "again".into(),
            at: monday_morning(),
            complete: false,
            reasons: Vec::new(),
            salience: Salience::clamped(0.5),
            repeats: Some("new".into()),
        };
        rig.send(again);
        rig.crash();
        assert_eq!(total(&mut rig).0, count + 1, "numbers go on behind those that are gone");
    }

    fn lived(at: Timestamp, tool: &str) -> EpisodeLived {
        let id = MessageId::from_parts(1, 1);
        let params = serde_json::Value::Null;
        let action = ActionSummary { id, tool: tool.into(), params, status: "done".into(), reason: None };
        EpisodeLived {
            episode: "e".into(),
            turn: id,
            at,
            text: String::new(),
            source: "comms:http".into(),
            objects: Vec::new(),
            people: Vec::new(),
            goal: None,
            goal_changed: false,
            actions: vec![action],
            salience: Salience::clamped(0.5),
            novelty: Novelty::clamped(0.5),
            person_involved: true,
            trust: Trust::Owner,
            retold: false,
        }
    }

    #[test]
    fn what_is_done_each_morning_is_a_rhythm_and_a_crash_changes_nothing() {
        let mut rig: Rig<SuprachiasmaticNucleus> = Rig::new(settings(), |bus, probe| {
            ear::<RhythmsDiscovered>(bus, probe);
            ear::<TimeDescribed>(bus, probe);
        });
        let ask = |rig: &mut Rig<SuprachiasmaticNucleus>| {
            rig.send(DiscoverRhythms { limit: 0 });
            rig.heard::<RhythmsDiscovered>().remove(0)
        };
        assert_eq!(ask(&mut rig), RhythmsDiscovered { rhythms: Vec::new(), events: 0, since: None });
        let midnight: Timestamp = "2026-01-05T00:00:00Z".parse().expect("a time");
        for day in 0..28 {
            rig.send(lived(midnight + jiff::SignedDuration::from_hours(24 * day + 7), "water_plants"));
            rig.send(lived(midnight + jiff::SignedDuration::from_hours(24 * day + (day * 5) % 24), "bash"));
        }
        rig.crash();
        let found = ask(&mut rig);
        assert_eq!((found.events, found.since), (56, Some(midnight)));
        assert_eq!(found.rhythms[0]["kind"], "water_plants");
        assert_eq!(found.rhythms[0]["bins"], serde_json::json!([{"hour": 7}]));
        rig.send(DescribeTime::default());
        let told = rig.heard::<TimeDescribed>().remove(0).clocks.expect("clocks");
        let kinds: Vec<&str> = told.expected.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds, ["water_plants"], "what comes at any time isn't expected: {told:?}");
    }

    #[test]
    fn what_was_done_before_is_told_once() {
        let mut rig: Rig<SuprachiasmaticNucleus> = Rig::new(settings(), ear::<RhythmsDiscovered>);
        let done = |days: std::ops::Range<i64>| {
            let at = |day| monday_morning() + SignedDuration::from_hours(24 * day);
            let done = days.map(|day| ("water_plants".to_owned(), at(day))).collect();
            EpisodesCaptured { done, ..EpisodesCaptured::default() }
        };
        rig.send(done(0..10));
        rig.crash();
        rig.send(done(5..20));
        rig.send(DiscoverRhythms { limit: 0 });
        let found = rig.heard::<RhythmsDiscovered>().remove(0);
        assert_eq!((found.events, &found.rhythms[0]["kind"]), (20, &serde_json::json!("water_plants")));
    }

    #[test]
    fn what_was_done_in_a_forgotten_moment_was_done_at_no_time() {
        let mut rig: Rig<SuprachiasmaticNucleus> = Rig::new(settings(), |bus, probe| {
            ear::<RhythmsDiscovered>(bus, probe);
            ear::<PhaseLocked>(bus, probe);
        });
        let events = |rig: &mut Rig<SuprachiasmaticNucleus>| {
            rig.send(DiscoverRhythms { limit: 0 });
            rig.heard::<RhythmsDiscovered>().remove(0).events
        };
        let at = |day: i64| monday_morning() + SignedDuration::from_hours(24 * day);
        for day in 0..28 {
            rig.send(EpisodeLived { episode: format!("w{day}"), ..lived(at(day), "water_plants") });
        }
        assert!(rig.heard::<PhaseLocked>().iter().any(|change| change.holds), "each day at nine");
        // An act of an imported life: known by its time.
        let brought = ("zap".to_owned(), at(40));
        rig.send(EpisodesCaptured {
            episodes: vec![("z".into(), at(40))],
            done: vec![brought],
            ..EpisodesCaptured::default()
        });
        assert_eq!(events(&mut rig), 29);
        let removed =
            |ids: Vec<String>, forgotten| RecordsRemoved { layer: Layer::Hippocampus, ids, forgotten, again: false };
        rig.send(removed(vec!["w0".into()], false));
        assert_eq!(events(&mut rig), 29, "what a sleep lets go was done all the same");
        rig.send(removed(vec!["z".into(), "w3".into()], true));
        assert_eq!(events(&mut rig), 27);
        let knows = |rig: &Rig<SuprachiasmaticNucleus>, kind: &str| {
            serde_json::to_string(&rig.region().clocks).expect("plain data").contains(kind)
        };
        assert!(!knows(&rig, "zap") && knows(&rig, "water_plants"));
        rig.send(removed((0..28).map(|day| format!("w{day}")).collect(), true));
        assert!(rig.heard::<PhaseLocked>().iter().any(|change| !change.holds), "others are told");
        for _ in 0..2 {
            assert_eq!((events(&mut rig), knows(&rig, "water_plants")), (0, false));
            rig.crash();
        }
        rig.send(lived(at(50), "bash"));
        assert_eq!(events(&mut rig), 1);
    }
}
