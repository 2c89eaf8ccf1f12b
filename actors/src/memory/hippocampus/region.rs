//! The hippocampus as a room: captures what happened, one percept one episode, and recalls it by words and keys.
//!
//! Biology: the hippocampal formation, which binds a moment into an episode and completes it from a part.
//! Law: `law.rs` decides what is kept, `text_index` and `key_index` find it. An episode is opened by its percept, and
//! completed in place when its turn ends.
//! Remembers: every kept episode, as a record; its indexes in sealed segments beside the records, and a tail of the
//! newest. Forgets: nothing by itself.
//! Down: percepts wait, and recall is a missing section.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::concepts::{
    EpisodesFetched, FetchEpisodes, ForgetRecord, PinRecord, RecordChanged, RecordsRemoved,
};
use maxim_bus::signals::percept::{Disposition, SalientPercept};
use maxim_bus::signals::recall::{
    EpisodeFilter, EpisodeStored, EpisodesCaptured, EpisodesImported, EpisodesRecalled, ImportEpisodes, RecallEpisodes,
    RecalledEpisode, ReportStats, StatsReported, Via,
};
use maxim_bus::signals::similarity::{self, Situation, SituationsStored};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage, Trust as BusTrust};
use serde::{Deserialize, Serialize};

use super::import::{ImportDefaults, ImportLine, WholeLine};
use super::key_index::{Filter, KeyIndex};
use super::law::{CaptureLaw, Surroundings, capture_reasons, is_same_observation, merge_observation, sitting_after};
use super::model::{Action, CaptureReason, EpisodicMemory, Outcome, Provenance, Trust};
use super::text_index::{Fields, Query, TextIndex, day_number};
use crate::language::Encoder;
use crate::language::packed::PackedVector;
use crate::region::RecordView;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Documents among which a repeated observation is looked for.
const RECENT: usize = 32;
/// Characters of an episode's text that a recalled line carries.
const CLIP: usize = 600;
/// Tool that only speaks: a turn in which nothing else was done has no action of its own.
const RESPOND: &str = "respond";

/// How the hippocampus is set up.
#[derive(Clone, Debug)]
pub struct HippocampusSettings {
    /// Calendar days are told apart in this zone.
    pub zone: TimeZone,
    /// The mode that episodes are marked with.
    pub mode: String,
    /// Names this run of the process.
    pub run: String,
    /// What is kept and what is joined.
    pub capture: CaptureLaw,
    /// Makes the vectors of what is said.
    pub encoder: Arc<dyn Encoder>,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Hippocampus {
    /// Number of the next document.
    next: u32,
    /// Open episodes by their turn.
    open: BTreeMap<MessageId, u32>,
    /// Sitting, time and number of the newest episode.
    newest: Option<(u32, Timestamp, u32)>,
    recent: VecDeque<(u32, Timestamp)>,
    goal: Option<String>,
    /// Segments of each index that are on disk, and the documents that they hold.
    sealed: Sealed,
    /// Episodes that a person had forgotten: their numbers stay empty.
    #[serde(default)]
    forgotten: u32,
    #[serde(skip)]
    indexes: Option<Indexes>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    text: u32,
    keys: u32,
    documents: u32,
}

#[derive(Default)]
struct Indexes {
    text: TextIndex,
    keys: KeyIndex,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HippocampusEvent {
    Captured {
        document: u32,
        turn: Option<MessageId>,
        day: i32,
        episode: Box<EpisodicMemory>,
    },
    /// The same observation again: the turn shares the earlier episode.
    Merged {
        document: u32,
        turn: Option<MessageId>,
        episode: Box<EpisodicMemory>,
    },
    Completed {
        document: u32,
        turn: MessageId,
        episode: Box<EpisodicMemory>,
    },
    Forgotten {
        document: u32,
    },
    SealDue,
    SealWritten(Sealed),
}

wiring!(Hippocampus {
    hears: [SalientPercept, RecallEpisodes, ReportStats, ImportEpisodes, FetchEpisodes, PinRecord, ForgetRecord,],
    back: [TurnEnded],
    emits: [
        EpisodeStored,
        EpisodeLived,
        EpisodesCaptured,
        SituationsStored,
        EpisodesRecalled,
        StatsReported,
        EpisodesImported,
        EpisodesFetched,
        RecordChanged,
        RecordsRemoved,
    ],
});

impl Region for Hippocampus {
    const NAME: RegionName = "hippocampus";
    const STAGE: Stage = Stage::Memory;
    type Event = HippocampusEvent;
    type Settings = HippocampusSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: HippocampusEvent) {
        match event {
            HippocampusEvent::Captured { document, turn, day, episode } => self.capture(document, turn, day, &episode),
            HippocampusEvent::Merged { document, turn, .. } => self.share(document, turn),
            HippocampusEvent::Completed { document, turn, episode } => {
                self.open.remove(&turn);
                if let Some(indexes) = &mut self.indexes {
                    // A sealed episode keeps the words that it had: it is older than thousands of others by now.
                    let _ = indexes.text.amend(document, &episode.further_words());
                    let _ = indexes.keys.amend(document, &episode);
                }
            }
            HippocampusEvent::Forgotten { document } => {
                self.forgotten += 1;
                self.open.retain(|_, open| *open != document);
            }
            HippocampusEvent::SealDue => {
                if let Some(indexes) = &mut self.indexes {
                    indexes.text.seal();
                    indexes.keys.seal();
                }
            }
            HippocampusEvent::SealWritten(sealed) => self.sealed = sealed,
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &HippocampusSettings) {
        self.indexes = Some(self.load(records, settings));
    }
}

impl Hippocampus {
    /// Sealed segments as they are, the newest documents from their records. A damaged segment is made anew.
    fn load(&self, records: &RecordView<'_>, settings: &HippocampusSettings) -> Indexes {
        let bytes = |kind: &str, number: u32| records.bytes(&segment_key(kind, number));
        let text = (0..self.sealed.text).try_fold(
            TextIndex::with_encoder(Arc::clone(&settings.encoder)),
            |mut index, number| {
                let vectors = bytes("vectors", number);
                index.load(bytes("text", number)?.into(), vectors.as_deref()).ok()?;
                Some(index)
            },
        );
        let keys: Option<Vec<Arc<[u8]>>> =
            (0..self.sealed.keys).map(|number| Some(bytes("keys", number)?.into())).collect();
        let keys = keys.and_then(|parts| KeyIndex::from_segments(parts).ok());
        let (mut indexes, from) = match (text, keys) {
            (Some(text), Some(keys)) => (Indexes { text, keys }, self.sealed.documents),
            _ => {
                tracing::warn!(
                    "an index segment of the hippocampus is damaged; the indexes are made anew from the episodes"
                );
                let text = TextIndex::with_encoder(Arc::clone(&settings.encoder));
                (Indexes { text, keys: KeyIndex::default() }, 0)
            }
        };
        // Of another encoder, or damaged: vectors of different encoders never meet, so they are made anew.
        for document in indexes.text.without_vector() {
            if let Some(episode) = records.get::<EpisodicMemory>(&episode_key(document)) {
                let vector = vector_of(&episode, &*settings.encoder);
                indexes.text.set_vector(document, &vector);
            }
        }
        for document in from..self.next {
            if let Some(episode) = records.get::<EpisodicMemory>(&episode_key(document)) {
                let kept = records.bytes(&vector_key(document));
                let vector = kept.and_then(|record| PackedVector::from_record(&record, settings.encoder.id()));
                index(&mut indexes, document, day_of(episode.created, &settings.zone), &episode, vector.as_ref());
            }
        }
        indexes
    }

    fn capture(&mut self, document: u32, turn: Option<MessageId>, day: i32, episode: &EpisodicMemory) {
        self.next = self.next.max(document + 1);
        if let Some(turn) = turn {
            self.open.insert(turn, document);
            self.goal.clone_from(&episode.context.goal);
        }
        self.newest = Some((episode.sitting, episode.created, document));
        self.recent.push_back((document, episode.created));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        if let Some(indexes) = &mut self.indexes {
            index(indexes, document, day, episode, None);
        }
    }

    fn share(&mut self, document: u32, turn: Option<MessageId>) {
        if let Some(turn) = turn {
            self.open.insert(turn, document);
        }
    }

    fn put_vector(&self, document: u32, episode: &EpisodicMemory, pulse: &mut Pulse<'_, Self>) {
        let encoder = &*pulse.settings().encoder;
        pulse.put_bytes(vector_key(document), vector_of(episode, encoder).to_record(encoder.id()));
    }

    pub fn len(&self) -> u32 {
        self.next - self.forgotten
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes segments that were sealed in memory; asks for sealing when the tail is long.
    fn keep_sealed(&self, pulse: &mut Pulse<'_, Self>) {
        let Some(indexes) = &self.indexes else { return };
        let text: Vec<_> = indexes.text.segments().collect();
        let keys: Vec<_> = indexes.keys.segments().collect();
        let now = Sealed {
            text: text.len() as u32,
            keys: keys.len() as u32,
            documents: (indexes.text.len() - indexes.text.unsealed()) as u32,
        };
        if now != self.sealed {
            for (number, part) in text.iter().enumerate().skip(self.sealed.text as usize) {
                pulse.put_bytes(segment_key("text", number as u32), part.to_vec());
                if let Some(vectors) = indexes.text.vectors_of_segment(number) {
                    pulse.put_bytes(segment_key("vectors", number as u32), vectors);
                    indexes
                        .text
                        .documents_of_segment(number)
                        .iter()
                        .for_each(|document| pulse.remove(vector_key(*document)));
                }
            }
            for (number, part) in keys.iter().enumerate().skip(self.sealed.keys as usize) {
                pulse.put_bytes(segment_key("keys", number as u32), part.to_vec());
            }
            pulse.keep(HippocampusEvent::SealWritten(now));
        } else if indexes.text.unsealed() >= SEAL_AT {
            pulse.keep(HippocampusEvent::SealDue);
        }
    }

    /// The recent episode that this one repeats.
    fn repeated(&self, episode: &EpisodicMemory, pulse: &Pulse<'_, Self>) -> Option<(u32, EpisodicMemory)> {
        let recent = self.recent.iter().rev();
        let law = &pulse.settings().capture;
        let near = recent.filter(|(_, at)| episode.created.duration_since(*at).abs() <= law.merge_within);
        near.filter_map(|(document, _)| Some((*document, pulse.record::<EpisodicMemory>(&episode_key(*document))?)))
            .find(|(_, old)| is_same_observation(old, episode, law))
    }

    /// Whether an episode with this identity is kept already: one of the same time whose record begins with its id.
    fn knows(&self, episode: &EpisodicMemory, pulse: &Pulse<'_, Self>) -> bool {
        let at = Some(episode.created);
        let then = Filter { time_after: at, time_before: at, ..Filter::default() };
        let mut found = self.indexes.iter().flat_map(|indexes| indexes.keys.find(&then, usize::MAX));
        let head = format!("{{\"id\":{},", serde_json::json!(episode.id));
        found.any(|known| {
            pulse.records().bytes(&episode_key(known)).is_some_and(|kept| kept.starts_with(head.as_bytes()))
        })
    }

    fn recall(
        &self,
        filter: &EpisodeFilter,
        except: Option<MessageId>,
        pulse: &Pulse<'_, Self>,
    ) -> Vec<RecalledEpisode> {
        let Some(indexes) = &self.indexes else { return Vec::new() };
        let limit = if filter.limit == 0 { 5 } else { filter.limit };
        let own = except.and_then(|turn| self.open.get(&turn)).copied();
        let keys = keys_of(filter);
        let query = filter.query.as_deref().filter(|query| !query.trim().is_empty());
        let found: Vec<(u32, f64, Via)> = match query {
            Some(text) => {
                let query = Query::new(text);
                let hits = if keys.is_open() {
                    indexes.text.search(&query, limit + 1)
                } else {
                    indexes.text.search_within(&query, &indexes.keys.matching(&keys), limit + 1)
                };
                hits.into_iter().map(|hit| (hit.document, f64::from(hit.score), Via::Text)).collect()
            }
            None => {
                indexes.keys.find(&keys, limit + 1).into_iter().map(|document| (document, 1.0, Via::Index)).collect()
            }
        };
        let others = found.into_iter().filter(|(document, ..)| Some(*document) != own).take(limit);
        others
            .filter_map(|(document, score, via)| Some(recalled(pulse.record(&episode_key(document))?, score, via)))
            .collect()
    }
}

/// Documents in the tail from which a segment is sealed: one segment and what is held open.
const SEAL_AT: usize = 4096 + 1024;

fn index(indexes: &mut Indexes, document: u32, day: i32, episode: &EpisodicMemory, vector: Option<&PackedVector>) {
    // Both refuse only numbers out of order; numbers come from one counter.
    let more = episode.further_words();
    let _ = indexes.text.add(document, &Fields { vector, ..episode.fields(&more, day) });
    let _ = indexes.keys.add(document, episode);
}

pub(super) fn episode_key(document: u32) -> Vec<u8> {
    format!("{EPISODES}{document:08x}").into_bytes()
}

/// Where the number of an episode stands by its id; a turn that repeated an observation has its own.
pub(super) fn id_key(id: &str) -> Vec<u8> {
    format!("id/{id}").into_bytes()
}

/// Records of episodes have this prefix; their order is that of experience.
pub const EPISODES: &str = "episode/";

/// Vectors of episodes that aren't sealed yet.
pub(super) fn vector_key(document: u32) -> Vec<u8> {
    format!("vector/{document:08x}").into_bytes()
}

fn vector_of(episode: &EpisodicMemory, encoder: &dyn Encoder) -> PackedVector {
    let more = episode.further_words();
    PackedVector::of(&encoder.embed(episode.fields(&more, 0).meant()))
}

/// The episode by what it can be compared with others.
fn situation(episode: &EpisodicMemory) -> Situation {
    let more = episode.further_words();
    Situation {
        layer: similarity::EPISODES.into(),
        id: episode.id.clone(),
        at: episode.created,
        text: episode.fields(&more, 0).meant().to_owned(),
        goal: episode.goal().map(str::to_owned),
        mode: episode.context.mode.clone(),
        tool: episode.tool().map(str::to_owned),
        success: episode.success(),
        objects: episode.perception.objects.clone(),
        people: episode.perception.people.clone(),
    }
}

fn segment_key(kind: &str, number: u32) -> Vec<u8> {
    format!("segment/{kind}/{number:06x}").into_bytes()
}

fn day_of(at: Timestamp, zone: &TimeZone) -> i32 {
    day_number(at.to_zoned(zone.clone()).date())
}

fn trust_of(trust: BusTrust) -> Trust {
    match trust {
        BusTrust::Owner => Trust::Owner,
        BusTrust::Own | BusTrust::Sensor => Trust::Own,
        BusTrust::Listed => Trust::Trusted,
        BusTrust::Outside => Trust::Outside,
    }
}

fn bus_trust(trust: Trust) -> BusTrust {
    match trust {
        Trust::Owner => BusTrust::Owner,
        Trust::Own => BusTrust::Own,
        Trust::Trusted => BusTrust::Listed,
        Trust::Outside => BusTrust::Outside,
    }
}

fn keys_of(filter: &EpisodeFilter) -> Filter {
    Filter {
        query: None,
        goal: filter.goal.clone(),
        tool_name: filter.tool_name.clone(),
        success: filter.success,
        object: filter.object.clone(),
        person: filter.person.clone(),
        mode: filter.mode.clone(),
        time_after: filter.time_after,
        time_before: filter.time_before,
        expand: None,
        limit: None,
    }
}

pub(super) fn recalled(episode: EpisodicMemory, score: f64, via: Via) -> RecalledEpisode {
    let (goal, tool, success) =
        (episode.goal().map(str::to_owned), episode.tool().map(str::to_owned), episode.success());
    RecalledEpisode {
        id: episode.id,
        score,
        via,
        timestamp: episode.created,
        goal,
        tool,
        success,
        text: episode.perception.text.chars().take(CLIP).collect(),
        people: episode.perception.people,
        result: episode.outcome.map(|outcome| outcome.result).filter(|result| !result.is_empty()),
        trust: bus_trust(episode.trust),
    }
}

/// The completed episode as the bridges learn from it.
fn lived(episode: &EpisodicMemory, ended: &TurnEnded, at: Timestamp) -> EpisodeLived {
    EpisodeLived {
        episode: episode.id.clone(),
        turn: ended.turn,
        at,
        text: episode.perception.text.chars().take(CLIP).collect(),
        source: episode.perception.source.clone(),
        objects: episode.perception.objects.clone(),
        people: episode.perception.people.clone(),
        goal: episode.context.goal.clone(),
        goal_changed: episode.reasons.contains(&CaptureReason::GoalChanged),
        actions: ended.actions.clone(),
        salience: episode.salience,
        novelty: episode.novelty,
        person_involved: episode.person_involved,
        trust: bus_trust(episode.trust),
    }
}

impl Hears<SalientPercept> for Hippocampus {
    fn hear(&self, salient: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let percept = &salient.percept;
        let now = pulse.now();
        let mut episode = EpisodicMemory::new(turn.to_string(), now);
        let said = percept.source.starts_with("comms:");
        episode.provenance = if said { Provenance::Person } else { Provenance::OwnExperience };
        episode.trust = trust_of(pulse.trust());
        episode.run.clone_from(&pulse.settings().run);
        episode.perception.text.clone_from(&percept.content);
        episode.perception.objects.clone_from(&percept.objects);
        episode.perception.people.clone_from(&percept.people);
        episode.perception.source.clone_from(&percept.source);
        episode.context.mode = Some(pulse.settings().mode.clone());
        episode.context.goal.clone_from(&self.goal);
        episode.salience = salient.salience;
        episode.novelty = salient.novelty;
        episode.person_involved = said || !percept.people.is_empty();
        if salient.disposition != Disposition::Proceed {
            episode.outcome = Some(Outcome { success: None, result: "not acted on".into() });
        }
        let around = Surroundings { goal_before: self.goal.as_deref(), last_kept: self.newest.map(|(_, at, _)| at) };
        episode.reasons = capture_reasons(&episode, &around, &pulse.settings().capture);
        if episode.reasons.is_empty() {
            return;
        }
        let reasons = episode.reasons.iter().map(|reason| format!("{reason:?}")).collect();
        let stored = EpisodeStored {
            episode: episode.id.clone(),
            at: now,
            complete: false,
            reasons,
            salience: episode.salience,
        };
        if let Some((document, mut old)) = self.repeated(&episode, pulse) {
            merge_observation(&mut old, &episode);
            pulse.put(episode_key(document), &old);
            pulse.put(id_key(&episode.id), &document);
            pulse.keep(HippocampusEvent::Merged { document, turn: Some(turn), episode: Box::new(old) });
        } else {
            episode.sitting = sitting_after(self.newest.map(|(sitting, at, _)| (sitting, at)), now);
            let day = day_of(now, &pulse.settings().zone);
            pulse.put(episode_key(self.next), &episode);
            pulse.put(id_key(&episode.id), &self.next);
            self.put_vector(self.next, &episode, pulse);
            pulse.emit(SituationsStored { stored: vec![situation(&episode)], ..SituationsStored::default() });
            pulse.keep(HippocampusEvent::Captured {
                document: self.next,
                turn: Some(turn),
                day,
                episode: Box::new(episode),
            });
        }
        self.keep_sealed(pulse);
        pulse.emit(stored);
    }
}

impl Hears<TurnEnded> for Hippocampus {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        let Some(document) = self.open.get(&ended.turn).copied() else { return };
        let Some(mut episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) else { return };
        let mut done = ended.actions.iter().rev().filter(|action| action.tool != RESPOND);
        if let Some(action) = done.next() {
            let params = action.params.as_object().cloned().unwrap_or_default();
            episode.action = Some(Action { tool: action.tool.clone(), params });
            let success = match action.status.as_str() {
                "done" => Some(true),
                "failed" => Some(false),
                _ => None,
            };
            let result = action.reason.clone().unwrap_or_else(|| action.status.clone());
            episode.outcome = Some(Outcome { success, result });
        } else if episode.outcome.is_none() {
            // What was answered may repeat what was recalled, so it stays out of what is found by words.
            let success = ended.actions.iter().any(|action| action.status == "done").then_some(true);
            episode.outcome = Some(Outcome { success, result: String::new() });
        }
        let stored = EpisodeStored {
            episode: episode.id.clone(),
            at: pulse.now(),
            complete: true,
            reasons: Vec::new(),
            salience: episode.salience,
        };
        pulse.put(episode_key(document), &episode);
        pulse.emit(SituationsStored { stored: vec![situation(&episode)], ..SituationsStored::default() });
        pulse.emit(lived(&episode, ended, pulse.now()));
        pulse.keep(HippocampusEvent::Completed { document, turn: ended.turn, episode: Box::new(episode) });
        pulse.emit(stored);
    }
}

impl Hears<RecallEpisodes> for Hippocampus {
    fn hear(&self, query: &RecallEpisodes, pulse: &mut Pulse<'_, Self>) {
        let episodes = self.recall(&query.filter, query.except, pulse);
        pulse.reply(EpisodesRecalled { episodes });
    }
}

impl Hears<ReportStats> for Hippocampus {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts =
            serde_json::json!({ "episodes": self.len(), "open": self.open.len(), "sealed": self.sealed.documents });
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}

impl Hears<ImportEpisodes> for Hippocampus {
    fn hear(&self, import: &ImportEpisodes, pulse: &mut Pulse<'_, Self>) {
        let mut answer = EpisodesImported::default();
        let (mut next, mut newest, mut goal) = (self.next, self.newest, self.goal.clone());
        let mut batch: VecDeque<(u32, EpisodicMemory)> = VecDeque::new();
        let law = pulse.settings().capture;
        for (number, line) in &import.lines {
            match WholeLine::parse(line) {
                None => {}
                Some(Err(error)) => {
                    answer.bad.push((*number, error.to_string()));
                    continue;
                }
                Some(Ok(WholeLine { episode, record })) => {
                    if batch.iter().any(|(_, kept)| kept.id == episode.id) || self.knows(&episode, pulse) {
                        answer.merged += 1;
                        continue;
                    }
                    newest = Some((episode.sitting, episode.created, next));
                    goal.clone_from(&episode.context.goal);
                    pulse.put_bytes(episode_key(next), record.into_bytes());
                    batch.push_back((next, episode.clone()));
                    let day = day_of(episode.created, &pulse.settings().zone);
                    let episode = Box::new(episode);
                    pulse.keep(HippocampusEvent::Captured { document: next, turn: None, day, episode });
                    next += 1;
                    answer.kept += 1;
                    continue;
                }
            }
            let parsed = match ImportLine::parse(line) {
                Ok(parsed) => parsed,
                Err(error) => {
                    answer.bad.push((*number, error.to_string()));
                    continue;
                }
            };
            let id = pulse.fresh_id().to_string();
            let run = pulse.settings().run.clone();
            let mut episode = parsed.into_episode(&ImportDefaults { id: &id, now: pulse.now(), run: &run });
            let around = Surroundings { goal_before: goal.as_deref(), last_kept: newest.map(|(_, at, _)| at) };
            episode.reasons = capture_reasons(&episode, &around, &pulse.settings().capture);
            goal.clone_from(&episode.context.goal);
            if !import.all {
                if episode.reasons.is_empty() {
                    answer.skipped += 1;
                    continue;
                }
                let earlier =
                    batch.iter().rev().take(RECENT).find(|(_, old)| is_same_observation(old, &episode, &law)).cloned();
                if let Some((document, mut old)) = earlier.or_else(|| self.repeated(&episode, pulse)) {
                    merge_observation(&mut old, &episode);
                    pulse.put(episode_key(document), &old);
                    pulse.keep(HippocampusEvent::Merged { document, turn: None, episode: Box::new(old) });
                    answer.merged += 1;
                    continue;
                }
            }
            episode.sitting = sitting_after(newest.map(|(sitting, at, _)| (sitting, at)), episode.created);
            newest = Some((episode.sitting, episode.created, next));
            pulse.put(episode_key(next), &episode);
            pulse.put(id_key(&episode.id), &next);
            self.put_vector(next, &episode, pulse);
            batch.push_back((next, episode.clone()));
            let day = day_of(episode.created, &pulse.settings().zone);
            pulse.keep(HippocampusEvent::Captured { document: next, turn: None, day, episode: Box::new(episode) });
            next += 1;
            answer.kept += 1;
        }
        self.keep_sealed(pulse);
        let stored: Vec<Situation> = batch.iter().map(|(_, episode)| situation(episode)).collect();
        if !stored.is_empty() {
            pulse.emit(SituationsStored { stored, ..SituationsStored::default() });
        }
        let captured = batch.into_iter().map(|(_, episode)| (episode.id, episode.created)).collect::<Vec<_>>();
        if !captured.is_empty() {
            pulse.emit(EpisodesCaptured { episodes: captured });
        }
        pulse.reply(answer);
    }
}
