//! The hippocampus in sleep: scores its episodes and marks them, later compresses or removes the marked ones. It does
//! one step per request. Each step is one commit, and after a crash it continues where it was.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::MessageId;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::similarity::{self, SituationsStored};
use maxim_bus::signals::sleep::{CompressEpisodes, EpisodeTally, EpisodesCompressed, EpisodesScored, ScoreEpisodes};
use serde::{Deserialize, Serialize};

use super::compressed::{TYPICAL_BYTES, compressed};
use super::edges::{BLOCK, documents_of};
use super::events::HippocampusEvent;
use super::held::held_key;
use super::linking::{block_key, edge_key};
use super::model::EpisodicMemory;
use super::records::{episode_key, id_key, repeats_key, vector_key};
use super::region::Hippocampus;
use super::retention::{Connections, Verdict, retention, verdict};
use maxim_region::{Hears, Pulse, source_hash};

/// Episodes scored, or checked for removal, in one step.
const SCORED: u32 = 128;
/// Times counted in one step.
const COUNTED: usize = 8192;
/// Old marks removed in one step.
const CLEARED: usize = 256;
/// Hours of a week: the time bins in which an episode can be the only one.
const HOURS_OF_WEEK: usize = 168;
/// Grades of the score, each 1/16 wide; the last is open.
const GRADES: usize = 72;
const GRADES_PER_POINT: f64 = 16.0;
/// Maximum number of episodes whose uses are remembered between two sleeps.
const MOST_ACCESSES: usize = 1024;
/// Maximum number of noted forgotten turns.
const MOST_FORGOTTEN: usize = 256;

/// Uses of an episode since the last sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    times: u32,
    last: Timestamp,
}

impl Access {
    /// The higher of both values: the same uses reported twice count once.
    pub(super) fn or_more(self, other: Self) -> Self {
        Self { times: self.times.max(other.times), last: self.last.max(other.last) }
    }
}

/// Counts a use of each of these.
pub(super) fn remember(accesses: &mut BTreeMap<u32, Access>, documents: &[u32], at: Timestamp) {
    for document in documents {
        let access = accesses.entry(*document).or_insert(Access { times: 0, last: at });
        access.times = access.times.saturating_add(1);
        access.last = access.last.max(at);
    }
    while accesses.len() > MOST_ACCESSES {
        accesses.pop_first();
    }
}

/// The progress of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Work {
    /// Removes marks of a sleep that never ended.
    Clearing,
    /// Counts the episodes in each hour of the week.
    Counting {
        from: usize,
    },
    Scoring {
        from: u32,
    },
    Scored,
    Compressing,
    /// The disk budget is exceeded: compressed episodes up to a grade are removed.
    Evicting {
        from: u32,
        grade: usize,
    },
    Tidying,
    Done,
}

/// One sleep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    sleep: MessageId,
    /// When it began; ages count from here.
    at: Timestamp,
    work: Work,
    tally: EpisodeTally,
    /// Episodes in each hour of the week, Monday first.
    hours: Vec<u32>,
    /// Bytes of small episodes by grade.
    grades: Vec<u64>,
}

impl Round {
    fn new(sleep: MessageId, at: Timestamp) -> Self {
        let (hours, grades) = (vec![0; HOURS_OF_WEEK], vec![0; GRADES]);
        Self { sleep, at, work: Work::Clearing, tally: EpisodeTally::default(), hours, grades }
    }
}

/// The marks of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Marks {
    compress: Vec<u32>,
    prune: Vec<u32>,
}

const MARKS: &[u8] = b"mark/";

fn mark_key(from: u32) -> Vec<u8> {
    format!("mark/{from:08x}").into_bytes()
}

fn hour_of_week(at: Timestamp, zone: &TimeZone) -> usize {
    let local = at.to_zoned(zone.clone());
    local.weekday().to_monday_zero_offset() as usize * 24 + local.hour() as usize
}

fn grade_of(score: f64) -> usize {
    ((score.max(0.0) * GRADES_PER_POINT) as usize).min(GRADES - 1)
}

/// An episode that a step examines.
struct Seen {
    document: u32,
    bytes: u64,
    episode: EpisodicMemory,
    score: f64,
}

impl Hippocampus {
    /// The episodes in a range of numbers with their scores, including uses since the last sleep.
    fn look_at(&self, from: u32, round: &Round, pulse: &Pulse<'_, Self>) -> Vec<Seen> {
        let records = pulse.records().between(&episode_key(from), &episode_key(from.saturating_add(SCORED)));
        let zone = &pulse.settings().zone;
        let seen = records.into_iter().filter_map(|(key, record)| {
            let number = std::str::from_utf8(key.get(key.len().checked_sub(8)?..)?).ok()?;
            let document = u32::from_str_radix(number, 16).ok()?;
            let mut episode: EpisodicMemory = serde_json::from_slice(&record)
                .inspect_err(|error| tracing::error!(document, %error, "an episode has another shape"))
                .ok()?;
            if let Some(access) = self.accesses.get(&document) {
                episode.access_count = episode.access_count.saturating_add(access.times);
                episode.last_accessed = episode.last_accessed.max(access.last);
            }
            let connections = Connections {
                degree: self.edges.degree(document),
                weight: self.edges.weight(document),
                sole_representative: round.hours.get(hour_of_week(episode.created, zone)) == Some(&1),
            };
            let score = retention(&episode, &connections, round.at, &pulse.settings().retention);
            Some(Seen { document, bytes: record.len() as u64, episode, score })
        });
        seen.collect()
    }

    fn clear_marks(&self, round: &mut Round, pulse: &mut Pulse<'_, Self>) {
        let old = pulse.records().prefixed(MARKS, CLEARED);
        if old.len() < CLEARED {
            round.work = Work::Counting { from: 0 };
        }
        old.into_iter().for_each(|(key, _)| pulse.remove(key));
    }

    fn count_hours(&self, from: usize, round: &mut Round, pulse: &Pulse<'_, Self>) {
        let Some(indexes) = &self.indexes else { return };
        let (times, next) = indexes.keys.times_from(from, COUNTED);
        for time in times {
            let at = Timestamp::from_microsecond(time).unwrap_or(Timestamp::UNIX_EPOCH);
            if let Some(count) = round.hours.get_mut(hour_of_week(at, &pulse.settings().zone)) {
                *count += 1;
            }
        }
        round.work = next.map_or(Work::Scoring { from: 0 }, |from| Work::Counting { from });
    }

    fn score_some(&self, from: u32, round: &mut Round, pulse: &mut Pulse<'_, Self>) {
        let mut marks = Marks::default();
        let mut remembered = Vec::new();
        for seen in self.look_at(from, round, pulse) {
            let Seen { document, mut bytes, episode, score } = seen;
            round.tally.scored += 1;
            round.tally.bytes_before += bytes;
            if self.accesses.contains_key(&document) {
                let record = serde_json::to_vec(&episode).unwrap_or_default();
                bytes = record.len() as u64;
                pulse.put_bytes(episode_key(document), record);
                remembered.push(document);
            }
            round.tally.bytes_after += bytes;
            let small = match verdict(&episode, score, round.at, &pulse.settings().retention) {
                Verdict::Keep => {
                    round.tally.kept += 1;
                    episode.is_compressed().then_some(bytes)
                }
                Verdict::Compress => {
                    marks.compress.push(document);
                    Some(TYPICAL_BYTES)
                }
                Verdict::Prune => {
                    marks.prune.push(document);
                    None
                }
            };
            if !episode.long_term {
                round.grades[grade_of(score)] += small.unwrap_or(0);
            }
        }
        if !(marks.compress.is_empty() && marks.prune.is_empty()) {
            pulse.put(mark_key(from), &marks);
        }
        if !remembered.is_empty() {
            pulse.keep(HippocampusEvent::Remembered { documents: remembered });
        }
        let next = from.saturating_add(SCORED);
        round.work = if next < self.next { Work::Scoring { from: next } } else { Work::Scored };
    }

    fn compress_some(&self, round: &mut Round, pulse: &mut Pulse<'_, Self>) {
        if self.keep_sealed(pulse) {
            return;
        }
        let Some((key, record)) = pulse.records().prefixed(MARKS, 1).pop() else {
            return self.after_compressing(round, pulse);
        };
        let marks: Marks = serde_json::from_slice(&record).unwrap_or_default();
        let unsealed = self.indexes.as_ref().map_or(0, |indexes| indexes.text.unsealed());
        if unsealed > self.held_open() && marks.compress.iter().any(|document| *document >= self.sealed.before) {
            // Before episodes are compressed, their words must be in segments, which don't need the records.
            return pulse.keep(HippocampusEvent::SealAllDue);
        }
        for document in marks.compress {
            self.compress(document, round, pulse);
        }
        // Episodes pinned since they were marked stay too.
        let known = |document: u32| {
            let episode =
                pulse.record::<EpisodicMemory>(&episode_key(document)).filter(|episode| !episode.long_term)?;
            Some((document, episode.id))
        };
        let pruned: Vec<(u32, String)> = marks
            .prune
            .into_iter()
            // Episodes used since they were marked stay.
            .filter(|document| !self.accesses.contains_key(document))
            .filter_map(known)
            .collect();
        round.tally.pruned += pruned.len() as u64;
        round.tally.bytes_after -= self.remove_episodes(&pruned, false, pulse).min(round.tally.bytes_after);
        pulse.remove(key);
    }

    /// The newest documents, which no sleep seals: from the oldest one whose turn isn't over.
    pub(super) fn held_open(&self) -> usize {
        let first = self.open.values().min();
        first.map_or(0, |first| self.next.saturating_sub(*first) as usize)
    }

    fn compress(&self, document: u32, round: &mut Round, pulse: &mut Pulse<'_, Self>) {
        let key = episode_key(document);
        let Some(before) = pulse.records().bytes(&key) else { return };
        let Ok(episode) = serde_json::from_slice::<EpisodicMemory>(&before) else { return };
        let small = compressed(&episode, self.edges.degree(document) as u32);
        let after = serde_json::to_vec(&small).unwrap_or_default();
        let used = self.accesses.contains_key(&document);
        if used || document >= self.sealed.before || episode.is_compressed() || after.len() >= before.len() {
            round.tally.kept += 1;
            return;
        }
        round.tally.compressed += 1;
        let saved = (before.len() - after.len()) as u64;
        round.tally.bytes_after -= saved.min(round.tally.bytes_after);
        pulse.put_bytes(key, after);
    }

    /// Removes the least valued small episodes while the records take more than allowed.
    fn after_compressing(&self, round: &mut Round, pulse: &Pulse<'_, Self>) {
        let over = pulse.settings().budget_bytes.map_or(0, |budget| round.tally.bytes_after.saturating_sub(budget));
        let mut held = 0;
        let enough = round.grades.iter().position(|bytes| {
            held += bytes;
            held >= over
        });
        round.work = match over {
            0 => Work::Tidying,
            _ => Work::Evicting { from: 0, grade: enough.unwrap_or(GRADES - 1) },
        };
    }

    fn evict_some(&self, from: u32, grade: usize, round: &mut Round, pulse: &mut Pulse<'_, Self>) {
        let budget = pulse.settings().budget_bytes.unwrap_or(u64::MAX);
        let mut over = round.tally.bytes_after.saturating_sub(budget);
        let mut evicted = Vec::new();
        for seen in self.look_at(from, round, pulse) {
            let small = seen.episode.is_compressed() && !seen.episode.long_term;
            if over > 0 && small && grade_of(seen.score) <= grade {
                over = over.saturating_sub(seen.bytes);
                evicted.push((seen.document, seen.episode.id));
            }
        }
        round.tally.evicted += evicted.len() as u64;
        round.tally.bytes_after -= self.remove_episodes(&evicted, false, pulse).min(round.tally.bytes_after);
        let next = from.saturating_add(SCORED);
        round.work = match (over, next < self.next) {
            (0, _) => Work::Tidying,
            (_, true) => Work::Evicting { from: next, grade },
            // Some of the expected ones could not be compressed, so the next ones are removed too.
            (_, false) if grade + 1 < GRADES => Work::Evicting { from: 0, grade: grade + 1 },
            (_, false) => Work::Tidying,
        };
    }

    /// Rewrites changed blocks of edges, one per step.
    fn tidy_some(&self, round: &mut Round, pulse: &mut Pulse<'_, Self>) {
        let Some(block) = self.linking.untidy.first().copied() else {
            round.work = Work::Done;
            pulse.replaced_much();
            return;
        };
        pulse.put_bytes(block_key(block), self.edges.pack(block));
        let documents = documents_of(block);
        let over = pulse.records().between(&edge_key(documents.start), &edge_key(documents.end));
        over.into_iter().for_each(|(key, _)| pulse.remove(key));
        pulse.keep(HippocampusEvent::Tidied { block });
    }

    /// Removes episodes with everything that leads to them, in one commit. `forgotten`: a person wants it. Returns the
    /// bytes of their records.
    pub(super) fn remove_episodes(
        &self,
        episodes: &[(u32, String)],
        forgotten: bool,
        pulse: &mut Pulse<'_, Self>,
    ) -> u64 {
        if episodes.is_empty() {
            return 0;
        }
        let documents: Vec<u32> = episodes.iter().map(|(document, _)| *document).collect();
        let (mut bytes, mut blocks, mut ids) = (0, Vec::new(), Vec::new());
        for (document, id) in episodes {
            bytes += pulse.records().bytes(&episode_key(*document)).map_or(0, |record| record.len() as u64);
            let repeats = pulse.record::<Vec<String>>(&repeats_key(*document)).unwrap_or_default();
            ids.extend([id.clone()].into_iter().chain(repeats));
            let keys = [episode_key, vector_key, edge_key, repeats_key, held_key];
            keys.into_iter().for_each(|key_of| pulse.remove(key_of(*document)));
            let keepers = self.edges.kept_by(*document).into_iter().chain([*document]);
            blocks.extend(keepers.map(|keeper| keeper / BLOCK).filter(|block| *block < self.linking.blocks));
        }
        ids.iter().for_each(|id| pulse.remove(id_key(id)));
        blocks.sort_unstable();
        blocks.dedup();
        self.put_gone(&documents, pulse);
        let turns = if forgotten { ids.iter().map(|id| source_hash(id)).collect() } else { Vec::new() };
        pulse.keep_gone(HippocampusEvent::Removed { documents, blocks, turns }, forgotten);
        let situations = ids.iter().map(|id| (similarity::EPISODES.to_owned(), id.clone())).collect();
        pulse.emit(SituationsStored { stored: Vec::new(), forgotten: situations });
        pulse.emit(RecordsRemoved { layer: Layer::Hippocampus, ids, forgotten, again: false });
        bytes
    }

    pub(super) fn forget(&mut self, documents: &[u32], blocks: &[u32]) {
        self.gone += documents.len() as u32;
        self.linking.untidy.extend(blocks);
        for document in documents {
            self.edges.remove(*document);
            self.accesses.remove(document);
            if let Some(indexes) = &mut self.indexes {
                indexes.text.remove(*document);
                indexes.keys.remove(*document);
            }
        }
        self.recent.retain(|recent| !documents.contains(&recent.document));
        self.open.retain(|_, document| !documents.contains(document));
    }

    /// Drops held data of turns that a person had forgotten, and notes these turns for a while.
    pub(super) fn forget_turns(&mut self, turns: Vec<u64>) {
        if turns.is_empty() {
            return;
        }
        let is_gone = |turn: &MessageId| turns.contains(&source_hash(&turn.to_string()));
        self.results.retain(|turn, _| !is_gone(turn));
        self.asked.retain(|ended| !is_gone(&ended.turn));
        self.forgotten.extend(turns);
        let over = self.forgotten.len().saturating_sub(MOST_FORGOTTEN);
        self.forgotten.drain(..over);
    }

    /// Handles later results of a forgotten turn: the person had it forgotten before it ended, or before the answer to
    /// its question. Rooms that learn from it are told again, after it. True for such a turn.
    pub(super) fn forget_again(&self, turn: MessageId, pulse: &mut Pulse<'_, Self>) -> bool {
        let id = turn.to_string();
        if self.forgotten.is_empty() || !self.forgotten.contains(&source_hash(&id)) {
            return false;
        }
        pulse.emit(RecordsRemoved { layer: Layer::Hippocampus, ids: vec![id], forgotten: true, again: true });
        true
    }

    /// The round of this sleep; a new one is begun.
    fn round_of(&self, sleep: MessageId, now: Timestamp) -> Round {
        let known = self.round.as_deref().filter(|round| round.sleep == sleep);
        known.cloned().unwrap_or_else(|| Round::new(sleep, now))
    }
}

impl Hears<ScoreEpisodes> for Hippocampus {
    fn hear(&self, asked: &ScoreEpisodes, pulse: &mut Pulse<'_, Self>) {
        let mut round = self.round_of(asked.sleep, pulse.now());
        match round.work {
            // Episodes that aren't linked yet would count as worthless.
            Work::Clearing if self.linking.waiting(self.next) > 0 && self.indexes.is_some() => self.link_some(pulse),
            Work::Clearing => self.clear_marks(&mut round, pulse),
            Work::Counting { from } => self.count_hours(from, &mut round, pulse),
            Work::Scoring { from } => self.score_some(from, &mut round, pulse),
            _ => {}
        }
        let done = !matches!(round.work, Work::Clearing | Work::Counting { .. } | Work::Scoring { .. });
        pulse.reply(EpisodesScored { sleep: asked.sleep, tally: round.tally, done });
        if self.round.as_deref() != Some(&round) {
            pulse.keep(HippocampusEvent::Slept(Box::new(round)));
        }
    }
}

impl Hears<CompressEpisodes> for Hippocampus {
    fn hear(&self, asked: &CompressEpisodes, pulse: &mut Pulse<'_, Self>) {
        let mut round = self.round_of(asked.sleep, pulse.now());
        match round.work {
            Work::Scored => round.work = Work::Compressing,
            Work::Compressing => self.compress_some(&mut round, pulse),
            Work::Evicting { from, grade } => self.evict_some(from, grade, &mut round, pulse),
            Work::Tidying => self.tidy_some(&mut round, pulse),
            // What was never scored isn't touched.
            Work::Clearing | Work::Counting { .. } | Work::Scoring { .. } => round.work = Work::Done,
            Work::Done => {}
        }
        let done = round.work == Work::Done;
        pulse.reply(EpisodesCompressed { sleep: asked.sleep, tally: round.tally, done });
        if self.round.as_deref() != Some(&round) {
            pulse.keep(HippocampusEvent::Slept(Box::new(round)));
        }
    }
}
