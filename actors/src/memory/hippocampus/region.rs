//! The hippocampus as a room: captures what happened, one percept one episode, and recalls it by words and keys.
//!
//! Biology: the hippocampal formation, which binds a moment into an episode and completes it from a part.
//! Law: `law.rs` decides what is kept, `text_index` and `key_index` find it. An episode is opened by its percept, and
//! completed in place when its turn ends.
//! Remembers: every kept episode, as a record; its indexes in sealed segments beside the records, and a tail of the
//! newest. Forgets: nothing by itself.
//! Down: percepts wait, and recall is a missing section.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::concepts::RecordsRemoved;
use maxim_bus::signals::lifecycle::PreemptionChanged;
use maxim_bus::signals::percept::{Disposition, SalientPercept};
use maxim_bus::signals::recall::{
    EpisodeFilter, EpisodeStored, EpisodesCaptured, EpisodesImported, EpisodesRecalled, ImportEpisodes,
    PredictionErrorSensed, RecallEpisodes, RecalledEpisode, ReportStats, StatsReported, Via,
};
use maxim_bus::signals::similarity::{self, Situation, SituationsStored};
use maxim_bus::signals::sleep::{CompressEpisodes, EpisodesCompressed, EpisodesScored, ScoreEpisodes, SessionEnded};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage, Trust as BusTrust};
use serde::{Deserialize, Serialize};

use super::edges::{Edge, Edges};
use super::import::{ImportDefaults, ImportLine, WholeLine};
use super::key_index::{Filter, KeyIndex};
use super::law::{CaptureLaw, Surroundings, capture_reasons, is_same_observation, merge_observation, sitting_after};
use super::linking::{Linking, load_edges};
use super::model::{Action, EpisodicMemory, Outcome, Provenance, Trust};
use super::sleeping::{Access, Round, remember};
use super::text_index::{Fields, HELD_OPEN, Query, TextIndex, day_number};
use super::upkeep::{Merge, Sealed, load_gone};
use crate::language::Encoder;
use crate::language::packed::PackedVector;
use crate::region::RecordView;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Documents among which a repeated observation is looked for.
const RECENT: usize = 32;
/// Turns that have ended whose episodes are still known by them: an outcome may be judged after its turn.
const ENDED_KNOWN: usize = 64;
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
    /// Makes the vectors of what is said.
    pub encoder: Arc<dyn Encoder>,
    /// Bytes that the records of episodes may take after a sleep; nothing: no limit.
    pub budget_bytes: Option<u64>,
    /// What is kept and what is joined.
    pub capture: CaptureLaw,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Hippocampus {
    /// Number of the next document.
    pub(super) next: u32,
    /// Open episodes by their turn.
    pub(super) open: BTreeMap<MessageId, u32>,
    /// Sitting, time and number of the newest episode.
    newest: Option<(u32, Timestamp, u32)>,
    pub(super) recent: VecDeque<(u32, Timestamp)>,
    /// Episodes of the turns that ended last.
    #[serde(default)]
    ended: VecDeque<(MessageId, u32)>,
    /// What the agent is about at present.
    goal: Option<String>,
    /// The goal of the moment that was kept last.
    #[serde(default)]
    kept_goal: Option<String>,
    /// Segments of each index that are on disk, and the documents that they hold.
    pub(super) sealed: Sealed,
    #[serde(default)]
    pub(super) linking: Linking,
    /// Episodes that are gone: their numbers stay empty.
    #[serde(default)]
    pub(super) gone: u32,
    /// Uses since the last sleep, by episode.
    #[serde(default)]
    pub(super) accesses: BTreeMap<u32, Access>,
    /// The sleep under way, or the last one.
    #[serde(default)]
    pub(super) round: Option<Box<Round>>,
    /// When segments are merged on.
    #[serde(default)]
    pub(super) merge_at: Option<Timestamp>,
    #[serde(skip)]
    pub(super) indexes: Option<Indexes>,
    #[serde(skip)]
    pub(super) edges: Edges,
}

#[derive(Default)]
pub struct Indexes {
    pub(super) text: TextIndex,
    pub(super) keys: KeyIndex,
    /// Which segments become one, and how far that is.
    pub(super) merging: Option<(Range<usize>, Merge)>,
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
    SealDue,
    /// Everything is sealed but the newest.
    SealAllDue,
    SealWritten(Sealed),
    MergeStepped {
        at: Timestamp,
    },
    SegmentsMerged {
        sealed: Sealed,
        at: Timestamp,
    },
    /// Edges of episodes up to a number were made; each row is whole.
    Linked {
        upto: u32,
        rows: Vec<(u32, Vec<Edge>)>,
        due: Option<Timestamp>,
    },
    Caused {
        rows: Vec<(u32, Vec<Edge>)>,
    },
    EdgesSealed {
        blocks: u32,
    },
    /// A block of edges was written again.
    Tidied {
        block: u32,
    },
    GoalSet {
        goal: Option<String>,
    },
    /// Episodes were of use in a turn.
    Accessed {
        documents: Vec<u32>,
        at: Timestamp,
    },
    /// Uses up to here are in the records.
    Remembered {
        documents: Vec<u32>,
    },
    /// Episodes are gone, and blocks of edges that knew them.
    Removed {
        documents: Vec<u32>,
        blocks: Vec<u32>,
    },
    Slept(Box<Round>),
}

wiring!(Hippocampus {
    hears: [
        SalientPercept,
        RecallEpisodes,
        ReportStats,
        ImportEpisodes,
        PreemptionChanged,
        SessionEnded,
        ScoreEpisodes,
        CompressEpisodes,
    ],
    back: [TurnEnded, PredictionErrorSensed],
    emits: [
        EpisodeStored,
        EpisodesCaptured,
        SituationsStored,
        EpisodesRecalled,
        StatsReported,
        EpisodesImported,
        EpisodesScored,
        EpisodesCompressed,
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
            HippocampusEvent::Merged { document, turn, .. } => {
                self.share(document, turn);
                self.linking.expect_again(document);
            }
            HippocampusEvent::Completed { document, turn, episode } => {
                self.open.remove(&turn);
                self.ended.push_back((turn, document));
                if self.ended.len() > ENDED_KNOWN {
                    self.ended.pop_front();
                }
                if let Some(indexes) = &mut self.indexes {
                    // A sealed episode keeps the words that it had: it is older than thousands of others by now.
                    let _ = indexes.text.amend(document, &episode.further_words());
                    let _ = indexes.keys.amend(document, &episode);
                }
            }
            HippocampusEvent::SealDue => {
                if let Some(indexes) = &mut self.indexes {
                    indexes.text.seal();
                    indexes.keys.seal();
                }
            }
            HippocampusEvent::SealAllDue => {
                if let Some(indexes) = &mut self.indexes {
                    indexes.text.seal_but(HELD_OPEN);
                    indexes.keys.seal_but(HELD_OPEN);
                }
            }
            HippocampusEvent::SealWritten(sealed) => self.sealed = sealed,
            HippocampusEvent::MergeStepped { at } => {
                self.merge_at = Some(at);
                if let Some(indexes) = &mut self.indexes {
                    indexes.step_merge();
                }
            }
            HippocampusEvent::SegmentsMerged { sealed, at } => {
                self.merge_at = Some(at);
                self.sealed = sealed;
                if let Some(indexes) = &mut self.indexes {
                    indexes.end_merge();
                }
            }
            HippocampusEvent::Linked { upto, rows, due } => {
                rows.iter().for_each(|(document, row)| self.edges.set(*document, row));
                self.linking.linked(upto, &rows, due);
            }
            HippocampusEvent::Caused { rows } => {
                rows.iter().for_each(|(document, row)| self.edges.set(*document, row));
                self.linking.touched(rows.iter().map(|(document, _)| *document));
            }
            HippocampusEvent::EdgesSealed { blocks } => self.linking.blocks = blocks,
            HippocampusEvent::Tidied { block } => {
                self.linking.untidy.remove(&block);
            }
            HippocampusEvent::GoalSet { goal } => self.goal = goal,
            HippocampusEvent::Accessed { documents, at } => remember(&mut self.accesses, &documents, at),
            HippocampusEvent::Remembered { documents } => {
                documents.iter().for_each(|document| {
                    self.accesses.remove(document);
                });
            }
            HippocampusEvent::Removed { documents, blocks } => self.forget(&documents, &blocks),
            HippocampusEvent::Slept(round) => self.round = Some(round),
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &HippocampusSettings) {
        let gone = load_gone(records);
        self.edges = load_edges(&mut self.linking, &gone, records);
        self.indexes = Some(self.load_indexes(&gone, records, settings));
    }

    fn next_deadline(&self, _settings: &HippocampusSettings) -> Option<Timestamp> {
        self.linking.due.into_iter().chain(self.merge_due()).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        if self.linking.due.is_some_and(|due| due <= pulse.now()) {
            self.link_some(pulse);
        } else if self.merge_due().is_some_and(|due| due <= pulse.now()) {
            self.merge_some(pulse);
        }
    }
}

impl Hippocampus {
    fn capture(&mut self, document: u32, turn: Option<MessageId>, day: i32, episode: &EpisodicMemory) {
        self.next = self.next.max(document + 1);
        if let Some(turn) = turn {
            self.open.insert(turn, document);
            self.kept_goal.clone_from(&episode.context.goal);
        }
        self.newest = Some((episode.sitting, episode.created, document));
        self.recent.push_back((document, episode.created));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        if let Some(indexes) = &mut self.indexes {
            index(indexes, document, day, episode, None);
        }
        self.linking.expect();
    }

    /// The episode of a turn, while it is open or ended not long ago.
    pub(super) fn document_of(&self, turn: MessageId) -> Option<u32> {
        let ended = || self.ended.iter().rev().find(|(of, _)| *of == turn).map(|(_, document)| *document);
        self.open.get(&turn).copied().or_else(ended)
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

    /// Episodes that are remembered.
    pub fn len(&self) -> u32 {
        self.next - self.gone
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        let id = serde_json::json!(episode.id);
        // Whole, and compressed.
        let heads = [format!("{{\"id\":{id},"), format!("[{id},")];
        found.any(|known| {
            let kept = pulse.records().bytes(&episode_key(known));
            kept.is_some_and(|kept| heads.iter().any(|head| kept.starts_with(head.as_bytes())))
        })
    }

    /// Episodes that a question finds, with their numbers.
    fn recall(
        &self,
        filter: &EpisodeFilter,
        except: Option<MessageId>,
        pulse: &Pulse<'_, Self>,
    ) -> Vec<(u32, RecalledEpisode)> {
        let Some(indexes) = &self.indexes else { return Vec::new() };
        let limit = if filter.limit == 0 { 5 } else { filter.limit };
        let own = except.and_then(|turn| self.open.get(&turn)).copied();
        let keys = keys_of(filter);
        let query = filter.query.as_deref().filter(|query| !query.trim().is_empty());
        let mut found: Vec<(u32, f64, Via)> = match query {
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
        found.retain(|(document, ..)| Some(*document) != own);
        found.truncate(limit);
        if filter.expand {
            self.expand(&mut found, own, limit);
        }
        found
            .into_iter()
            .filter_map(|(document, score, via)| {
                Some((document, recalled(pulse.record(&episode_key(document))?, score, via)))
            })
            .collect()
    }

    /// Adds what is associated with what was found. It takes the places that are free, and of five results one at least.
    fn expand(&self, found: &mut Vec<(u32, f64, Via)>, own: Option<u32>, limit: usize) {
        let seeds: Vec<u32> = found.iter().map(|(document, ..)| *document).collect();
        let mut reached = self.associated(&seeds, limit + 1);
        reached.retain(|(document, _)| Some(*document) != own);
        let reserved = (limit / 5).max(usize::from(limit > 1)).min(reached.len());
        found.truncate(limit - reserved);
        let kept: Vec<u32> = found.iter().map(|(document, ..)| *document).collect();
        // A seed that gave up its place was found by itself: it doesn't come back as an association.
        reached.truncate(limit - kept.len());
        found.extend(reached.into_iter().map(|(document, activation)| (document, activation, Via::Association)));
    }
}

pub(super) fn index(
    indexes: &mut Indexes,
    document: u32,
    day: i32,
    episode: &EpisodicMemory,
    vector: Option<&PackedVector>,
) {
    // Both refuse only numbers out of order; numbers come from one counter.
    let more = episode.further_words();
    let _ = indexes.text.add(document, &Fields { vector, ..episode.fields(&more, day) });
    let _ = indexes.keys.add(document, episode);
}

pub(super) fn episode_key(document: u32) -> Vec<u8> {
    format!("{EPISODES}{document:08x}").into_bytes()
}

/// Records of episodes have this prefix; their order is that of experience.
pub const EPISODES: &str = "episode/";

/// Vectors of episodes that aren't sealed yet.
pub(super) fn vector_key(document: u32) -> Vec<u8> {
    format!("vector/{document:08x}").into_bytes()
}

pub(super) fn vector_of(episode: &EpisodicMemory, encoder: &dyn Encoder) -> PackedVector {
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

pub(super) fn day_of(at: Timestamp, zone: &TimeZone) -> i32 {
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

fn recalled(episode: EpisodicMemory, score: f64, via: Via) -> RecalledEpisode {
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
        let around =
            Surroundings { goal_before: self.kept_goal.as_deref(), last_kept: self.newest.map(|(_, at, _)| at) };
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
            pulse.keep(HippocampusEvent::Merged { document, turn: Some(turn), episode: Box::new(old) });
        } else {
            episode.sitting = sitting_after(self.newest.map(|(sitting, at, _)| (sitting, at)), now);
            let day = day_of(now, &pulse.settings().zone);
            pulse.put(episode_key(self.next), &episode);
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
        pulse.keep(HippocampusEvent::Completed { document, turn: ended.turn, episode: Box::new(episode) });
        pulse.emit(stored);
    }
}

impl Hears<RecallEpisodes> for Hippocampus {
    fn hear(&self, query: &RecallEpisodes, pulse: &mut Pulse<'_, Self>) {
        let found = self.recall(&query.filter, query.except, pulse);
        // What is thought of counts as used; what somebody looks up from outside doesn't.
        if query.except.is_some() && !found.is_empty() {
            let documents = found.iter().map(|(document, _)| *document).collect();
            pulse.keep(HippocampusEvent::Accessed { documents, at: pulse.now() });
        }
        pulse.reply(EpisodesRecalled { episodes: found.into_iter().map(|(_, episode)| episode).collect() });
    }
}

impl Hears<PreemptionChanged> for Hippocampus {
    /// A person gave another goal: the next moment belongs to it.
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        if changed.goal != self.goal {
            pulse.keep(HippocampusEvent::GoalSet { goal: changed.goal.clone() });
        }
    }
}

impl Hears<ReportStats> for Hippocampus {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let (text, keys) = self.sealed.counts();
        let counts = serde_json::json!({
            "episodes": self.len(),
            "open": self.open.len(),
            "sealed": self.sealed.before,
            "segments": text + keys,
            "edges": self.edges.len(),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}

impl Hears<ImportEpisodes> for Hippocampus {
    fn hear(&self, import: &ImportEpisodes, pulse: &mut Pulse<'_, Self>) {
        let mut answer = EpisodesImported::default();
        let (mut next, mut newest, mut goal) = (self.next, self.newest, self.kept_goal.clone());
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
                    self.put_vector(next, &episode, pulse);
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
