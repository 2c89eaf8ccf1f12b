//! An import in progress, over all its parts: which room gets which lines next, and the local names of other records.
//!
//! Each brain gives ids in sequence, so one id means different records in two brains. Each room reports the local names
//! of the records in its lines. A line that names a record without a known local name is held until it is known, or
//! until the file ends. So the order of lines doesn't matter, and nothing is joined with a record that merely has the
//! same id. Pure: the driver asks the rooms and passes their answers on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;

use maxim_bus::RegionName;
use maxim_bus::signals::concepts::{Layer, MemoryRef};
use maxim_bus::signals::layers::{ImportRecords, Named, RecordsImported};
use maxim_bus::signals::recall::{EpisodesImported, UnjoinedLine};

use super::layer_of;

/// Lines with their numbers in the file.
pub type Lines = Vec<(u64, String)>;

/// Lines per request to a room.
const BATCH: usize = 64;
/// Bytes of lines that a room gets at once, so that it answers in time and a percept gets a turn; a longer line goes
/// alone.
pub const BATCH_BYTES: usize = 32 * 1024;
/// Episodes in one question, as many as the hippocampus answers.
const ASKED: usize = 256;
/// Bytes of lines that may wait for others. In an export named records come first, so few lines wait.
const MOST_HELD: usize = 64 << 20;

/// The next question.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// The hippocampus should take these; answer with [`Carrying::took_episodes`].
    Episodes { lines: Lines, refused: Vec<String>, waits: bool },
    /// This room should take these; answer with [`Carrying::took_records`].
    Records { room: RegionName, wish: ImportRecords },
    /// Which of these episodes are missing in the hippocampus; answer with [`Carrying::are_missing`].
    Whether { episodes: Vec<String> },
}

/// The result of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    pub kept: u64,
    pub merged: u64,
    /// Known here already.
    pub known: u64,
    /// Not kept by selective capture.
    pub unremarkable: u64,
    /// Edges between episodes of which one end never came.
    pub edges_left_out: u64,
    /// Refused lines by number, with the reason.
    pub bad: Vec<(u64, String)>,
}

#[derive(Clone, Debug)]
struct Batch {
    /// `None`: episodes.
    room: Option<RegionName>,
    lines: Lines,
    names: Vec<Named>,
    /// They come with all names that will be known; episodes with all possible edges.
    again: bool,
}

/// The line of an episode that waits for linked episodes.
#[derive(Clone, Debug)]
struct HeldEpisode {
    line: String,
    episode: String,
    /// The missing ones.
    to: BTreeSet<String>,
}

/// A line that waits for the names of other records.
#[derive(Clone, Debug)]
struct Held {
    room: RegionName,
    number: u64,
    line: String,
    wants: Vec<MemoryRef>,
    /// Some of its episodes were missing at the last look; they may still come.
    lacks_episodes: bool,
}

impl Held {
    fn episodes(&self) -> impl Iterator<Item = &String> {
        self.wants.iter().filter(|record| record.layer == Layer::Hippocampus).map(|record| &record.id)
    }
}

/// An import in progress.
#[derive(Clone, Debug, Default)]
pub struct Carrying {
    names: BTreeMap<MemoryRef, Option<String>>,
    /// Episodes of the file whose ids belong to others here.
    refused: BTreeSet<String>,
    todo: VecDeque<Batch>,
    /// The batch of a room that hasn't answered yet.
    out: Option<Batch>,
    held: Vec<Held>,
    /// Held episodes, by line number.
    held_episodes: BTreeMap<u64, HeldEpisode>,
    /// Their numbers, by what they wait for.
    waiting: BTreeMap<String, Vec<u64>>,
    held_bytes: usize,
    /// Whether episodes named by held lines exist, as far as the hippocampus was asked since the last new lines.
    episodes: BTreeMap<String, bool>,
    asked: Vec<String>,
    carried: Carried,
}

/// Splits lines into batches for a room.
fn batches(lines: &[(u64, String)]) -> Vec<&[(u64, String)]> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, (_, line)) in lines.iter().enumerate() {
        if at > start && (at - start >= BATCH || bytes + line.len() > BATCH_BYTES) {
            batches.push(&lines[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += line.len();
    }
    batches.push(&lines[start..]);
    batches
}

impl Carrying {
    /// Adds the next lines of the file; `rooms` are the rooms of this brain that own memory.
    pub fn push(&mut self, lines: &[(u64, String)], rooms: &[RegionName]) {
        let of: Vec<Option<String>> = lines.iter().map(|(_, line)| layer_of(line)).collect();
        let mut rest = lines;
        for same in of.chunk_by(|a, b| a == b) {
            let (run, after) = rest.split_at(same.len());
            rest = after;
            let room = match same.first().and_then(Option::as_deref) {
                None => None,
                Some(layer) => match rooms.iter().find(|known| **known == layer) {
                    Some(room) => Some(*room),
                    None => {
                        let reason = format!("there is no layer {layer:?}; there are {}", rooms.join(", "));
                        self.carried.bad.extend(run.iter().map(|(number, _)| (*number, reason.clone())));
                        continue;
                    }
                },
            };
            let batch =
                |lines: &[(u64, String)]| Batch { room, lines: lines.to_vec(), names: Vec::new(), again: false };
            self.todo.extend(batches(run).into_iter().map(batch));
        }
        self.episodes.clear();
    }

    /// The next question; `None` when all lines so far are done, or held until others come. With the last part of a
    /// file no others come.
    pub fn next(&mut self, is_last: bool) -> Option<NextStep> {
        if self.todo.is_empty() && is_last {
            self.end_waiting();
        }
        if self.todo.is_empty()
            && let Some(episodes) = self.look_at_held(is_last)
        {
            return Some(NextStep::Whether { episodes });
        }
        let batch = self.todo.pop_front()?;
        let (lines, mut names) = (batch.lines.clone(), batch.names.clone());
        let step = match batch.room {
            None => {
                let refused = self.refused.iter().cloned().collect();
                NextStep::Episodes { lines, refused, waits: !batch.again }
            }
            Some(room) => {
                let refused = self.refused.iter().map(|id| MemoryRef::new(Layer::Hippocampus, id.clone()));
                names.extend(refused.map(|record| Named { record, here: None }));
                NextStep::Records { room, wish: ImportRecords { lines, names } }
            }
        };
        self.out = Some(batch);
        Some(step)
    }

    /// The number of the first line that a room got and hasn't answered.
    pub fn at_line(&self) -> Option<u64> {
        self.out.as_ref().and_then(|batch| batch.lines.first()).map(|(number, _)| *number)
    }

    pub fn took_episodes(&mut self, done: EpisodesImported) {
        let mut lines: BTreeMap<u64, String> =
            self.out.take().into_iter().flat_map(|batch: Batch| batch.lines).collect();
        self.carried.edges_left_out += done.edges_left_out;
        let mut over = Lines::new();
        for UnjoinedLine { line: number, episode, to } in done.wanting {
            let Some(line) = lines.remove(&number) else { continue };
            if self.held_bytes + line.len() > MOST_HELD {
                over.push((number, line));
                continue;
            }
            self.held_bytes += line.len();
            to.iter().for_each(|id| self.waiting.entry(id.clone()).or_default().push(number));
            self.held_episodes.insert(number, HeldEpisode { line, episode, to: to.into_iter().collect() });
        }
        self.put_again(over, true);
        let mut ready = Lines::new();
        for id in done.came {
            for number in self.waiting.remove(&id).unwrap_or_default() {
                if let Some(held) = self.held_episodes.get_mut(&number)
                    && held.to.remove(&id)
                    && held.to.is_empty()
                {
                    ready.extend(self.let_come(number));
                }
            }
        }
        ready.sort();
        self.put_again(ready, false);
        self.carried.kept += done.kept;
        self.carried.merged += done.merged;
        self.carried.known += done.known;
        self.carried.unremarkable += done.unremarkable;
        self.carried.bad.extend(done.bad);
        self.refused.extend(done.refused);
    }

    /// Releases a held episode.
    fn let_come(&mut self, number: u64) -> Option<(u64, String)> {
        let held = self.held_episodes.remove(&number)?;
        self.held_bytes -= held.line.len();
        for id in &held.to {
            if let Some(numbers) = self.waiting.get_mut(id) {
                numbers.retain(|waiting| *waiting != number);
            }
        }
        Some((number, held.line))
    }

    /// Puts episodes again before the remaining work, in which other lines may name them.
    fn put_again(&mut self, lines: Lines, again: bool) {
        if lines.is_empty() {
            return;
        }
        for part in batches(&lines).into_iter().rev() {
            self.todo.push_front(Batch { room: None, lines: part.to_vec(), names: Vec::new(), again });
        }
    }

    /// No more lines come: episodes come without edges to missing ones. An episode that waits for a held one comes
    /// after it; if they wait for each other, all come.
    fn end_waiting(&mut self) {
        let held: BTreeSet<&String> = self.held_episodes.values().map(|held| &held.episode).collect();
        let is_first = |held_here: &HeldEpisode| held_here.to.iter().all(|id| !held.contains(id));
        let first = self.held_episodes.iter().filter(|(_, held)| is_first(held)).map(|(number, _)| *number);
        let mut next: Vec<u64> = first.collect();
        if next.is_empty() {
            next = self.held_episodes.keys().copied().collect();
        }
        let lines = next.into_iter().filter_map(|number| self.let_come(number)).collect();
        self.put_again(lines, true);
    }

    pub fn took_records(&mut self, done: RecordsImported) {
        let Some(batch) = self.out.take() else { return };
        self.carried.kept += done.kept;
        self.carried.known += done.merged;
        self.carried.bad.extend(done.bad);
        self.names.extend(done.names.into_iter().map(|named| (named.record, named.here)));
        let Some(room) = batch.room else { return };
        let mut lines: BTreeMap<u64, String> = batch.lines.into_iter().collect();
        for wanting in done.wanting {
            let Some(line) = lines.remove(&wanting.line) else { continue };
            let reason = match (batch.again, self.held_bytes + line.len() > MOST_HELD) {
                (true, _) => "it names records that it didn't name before",
                (_, true) => "too many lines wait for later lines; put the records that they name before them",
                (false, false) => {
                    self.held_bytes += line.len();
                    let (number, wants) = (wanting.line, wanting.records);
                    self.held.push(Held { room, number, line, wants, lacks_episodes: false });
                    continue;
                }
            };
            self.carried.bad.push((wanting.line, reason.to_owned()));
        }
    }

    /// The missing ones of the episodes that were last asked for.
    pub fn are_missing(&mut self, missing: &[String]) {
        for id in mem::take(&mut self.asked) {
            let is_here = !missing.contains(&id);
            self.episodes.insert(id, is_here);
        }
    }

    /// Releases lines that can be taken now. Returns episodes whose existence must be known first.
    fn look_at_held(&mut self, is_last: bool) -> Option<Vec<String>> {
        let is_named = |record: &MemoryRef| record.layer == Layer::Hippocampus || self.names.contains_key(record);
        let is_ready = |held: &Held| is_last || (!held.lacks_episodes && held.wants.iter().all(is_named));
        let ready: Vec<bool> = self.held.iter().map(is_ready).collect();
        let open: BTreeSet<&String> = (self.held.iter().zip(&ready).filter(|(_, ready)| **ready))
            .flat_map(|(held, _)| held.episodes())
            .filter(|id| !self.refused.contains(*id) && !self.episodes.contains_key(*id))
            .collect();
        if !open.is_empty() {
            self.asked = open.into_iter().take(ASKED).cloned().collect();
            return Some(self.asked.clone());
        }
        let (mut held, mut again): (Vec<Held>, BTreeMap<RegionName, Vec<Held>>) = (Vec::new(), BTreeMap::new());
        for (mut line, ready) in mem::take(&mut self.held).into_iter().zip(ready) {
            let lacks = |id: &String| !self.refused.contains(id) && self.episodes.get(id) == Some(&false);
            line.lacks_episodes = line.lacks_episodes || (ready && line.episodes().any(lacks));
            if ready && (is_last || !line.lacks_episodes) {
                self.held_bytes -= line.line.len();
                again.entry(line.room).or_default().push(line);
            } else {
                held.push(line);
            }
        }
        self.held = held;
        for (room, lines) in again {
            for part in lines.chunks(BATCH) {
                let wanted: BTreeSet<&MemoryRef> = part.iter().flat_map(|held| &held.wants).collect();
                let names = wanted.into_iter().map(|record| self.named(record)).collect();
                let lines = part.iter().map(|held| (held.number, held.line.clone())).collect();
                self.todo.push_back(Batch { room: Some(room), lines, names, again: true });
            }
        }
        None
    }

    fn named(&self, record: &MemoryRef) -> Named {
        let here = match record.layer {
            Layer::Hippocampus => {
                let is_here = !self.refused.contains(&record.id) && self.episodes.get(&record.id) == Some(&true);
                is_here.then(|| record.id.clone())
            }
            _ => self.names.get(record).cloned().flatten(),
        };
        Named { record: record.clone(), here }
    }

    /// The result of lines since the last call; held lines aren't counted yet.
    pub fn carried(&mut self) -> Carried {
        let mut carried = mem::take(&mut self.carried);
        carried.bad.sort();
        carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_bus::signals::layers::Wanting;

    const ATL: RegionName = "anterior_temporal_lobe";
    const GRAPH: RegionName = "cross_layer_graph";

    fn line(layer: &str, key: &str) -> String {
        format!(r#"{{"layer":"{layer}","part":"p","key":"{key}","record":1}}"#)
    }

    fn numbered(lines: &[String]) -> Lines {
        (1..).zip(lines.iter().cloned()).collect()
    }

    fn concept(n: u32) -> MemoryRef {
        MemoryRef::new(Layer::Atl, format!("concept-{n}"))
    }

    fn wants(line: u64, records: &[MemoryRef]) -> RecordsImported {
        let wanting = vec![Wanting { line, records: records.to_vec() }];
        RecordsImported { wanting, ..RecordsImported::default() }
    }

    #[test]
    fn a_room_gets_few_lines_and_few_bytes_at_once() {
        let lines = |lengths: &[usize]| -> Lines { (1..).zip(lengths.iter().map(|n| "x".repeat(*n))).collect() };
        let sizes = |lengths: &[usize]| batches(&lines(lengths)).iter().map(|batch| batch.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&[9; 150]), [64, 64, 22]);
        assert_eq!(sizes(&[8 * 1024; 9]), [4, 4, 1]);
        assert_eq!(sizes(&[10, BATCH_BYTES * 3, 10, 10]), [1, 1, 2]);
    }

    #[test]
    fn a_line_waits_for_what_it_names_over_the_parts_of_a_file() {
        let mut carrying = Carrying::default();
        let episode = MemoryRef::new(Layer::Hippocampus, "e1");
        carrying.push(&numbered(&[line(GRAPH, "atl/concept-0")]), &[ATL, GRAPH]);
        assert!(matches!(carrying.next(false), Some(NextStep::Records { room: GRAPH, .. })));
        carrying.took_records(wants(1, &[concept(0), episode.clone()]));
        assert_eq!(carrying.next(false), None, "the concept may come yet");
        assert_eq!(carrying.carried(), Carried::default());

        carrying.push(&[(2, line(ATL, "concept-0"))], &[ATL, GRAPH]);
        assert!(matches!(carrying.next(false), Some(NextStep::Records { room: ATL, .. })));
        let names = vec![Named { record: concept(0), here: Some("concept-9".into()) }];
        carrying.took_records(RecordsImported { kept: 1, names, ..RecordsImported::default() });
        assert_eq!(carrying.next(false), Some(NextStep::Whether { episodes: vec!["e1".into()] }));
        carrying.are_missing(&["e1".into()]);
        assert_eq!(carrying.next(false), None, "the episode may come yet");

        carrying.push(&[(3, r#"{"text": "hello"}"#.into())], &[ATL, GRAPH]);
        assert!(matches!(carrying.next(true), Some(NextStep::Episodes { .. })));
        carrying.took_episodes(EpisodesImported { kept: 1, ..EpisodesImported::default() });
        assert_eq!(carrying.next(true), Some(NextStep::Whether { episodes: vec!["e1".into()] }));
        carrying.are_missing(&[]);
        let Some(NextStep::Records { room: GRAPH, wish }) = carrying.next(true) else { panic!("it comes again") };
        assert_eq!(wish.lines[0].0, 1);
        let here = |named: &Named| named.here.clone().expect("here");
        assert_eq!(wish.names.iter().map(here).collect::<Vec<_>>(), ["e1", "concept-9"]);
        carrying.took_records(RecordsImported { kept: 1, ..RecordsImported::default() });
        assert_eq!(carrying.next(true), None);
        assert_eq!(carrying.carried(), Carried { kept: 3, ..Carried::default() });
    }

    #[test]
    fn an_episode_waits_for_those_that_it_is_joined_with_and_comes_without_what_never_does() {
        let text = |id: &str| format!(r#"{{"text":"{id}"}}"#);
        let unjoined = |line: u64, episode: &str, to: &str| UnjoinedLine {
            line,
            episode: episode.to_owned(),
            to: vec![to.to_owned()],
        };
        let mut carrying = Carrying::default();
        let given = |carrying: &mut Carrying, is_last: bool| match carrying.next(is_last) {
            Some(NextStep::Episodes { lines, waits, .. }) => {
                Some((lines.into_iter().map(|(number, _)| number).collect::<Vec<_>>(), waits))
            }
            other => {
                assert_eq!(other, None);
                None
            }
        };
        // c is joined with b, b with a; d with a missing one, and e with d.
        carrying.push(&numbered(&[text("c"), text("b"), text("e"), text("d")]), &[]);
        assert_eq!(given(&mut carrying, false), Some((vec![1, 2, 3, 4], true)));
        let wanting =
            vec![unjoined(1, "c", "b"), unjoined(2, "b", "a"), unjoined(3, "e", "d"), unjoined(4, "d", "never")];
        carrying.took_episodes(EpisodesImported { wanting, ..EpisodesImported::default() });
        assert_eq!(given(&mut carrying, false), None, "the others may come yet");
        carrying.push(&[(5, text("a"))], &[]);
        let came = |ids: &[&str]| EpisodesImported {
            kept: ids.len() as u64,
            came: ids.iter().map(|id| (*id).to_owned()).collect(),
            ..EpisodesImported::default()
        };
        for (number, id) in [(5, "a"), (2, "b"), (1, "c")] {
            assert_eq!(given(&mut carrying, true), Some((vec![number], true)));
            carrying.took_episodes(came(&[id]));
        }
        assert_eq!(given(&mut carrying, true), Some((vec![4], false)), "nothing comes that it could wait for");
        carrying.took_episodes(EpisodesImported { edges_left_out: 1, came: vec!["d".into()], ..came(&["d"]) });
        assert_eq!(given(&mut carrying, true), Some((vec![3], true)));
        carrying.took_episodes(came(&["e"]));
        assert_eq!(given(&mut carrying, true), None);
        assert_eq!(carrying.carried(), Carried { kept: 5, edges_left_out: 1, ..Carried::default() });
    }

    #[test]
    fn what_never_comes_and_what_was_refused_has_no_name_here() {
        let mut carrying = Carrying::default();
        let episode = MemoryRef::new(Layer::Hippocampus, "e1");
        carrying.push(&numbered(&[r#"{"text": "x"}"#.into(), line(GRAPH, "hippocampus/e1")]), &[ATL, GRAPH]);
        assert!(matches!(carrying.next(true), Some(NextStep::Episodes { .. })));
        carrying.took_episodes(EpisodesImported { refused: vec!["e1".into()], ..EpisodesImported::default() });
        let Some(NextStep::Records { wish, .. }) = carrying.next(true) else { panic!("the graph is asked") };
        assert_eq!(wish.names, [Named { record: episode.clone(), here: None }]);
        carrying.took_records(wants(2, &[episode, concept(4)]));
        let Some(NextStep::Records { wish, .. }) = carrying.next(true) else { panic!("it comes again") };
        assert!(wish.names.iter().all(|named| named.here.is_none()) && wish.names.len() >= 2, "{:?}", wish.names);
        carrying.took_records(RecordsImported { bad: vec![(2, "gone".into())], ..RecordsImported::default() });
        assert_eq!(carrying.next(true), None);
        assert_eq!(carrying.carried().bad, [(2, "gone".to_owned())]);
        carrying.push(&[(9, line("nowhere", "x"))], &[ATL, GRAPH]);
        assert!(carrying.next(true).is_none() && carrying.carried().bad[0].1.contains("nowhere"));
    }
}
