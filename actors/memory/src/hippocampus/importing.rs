//! Import: lines of other programs, and whole records of an export.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use maxim_bus::signals::recall::{EndedAct, EpisodesCaptured, EpisodesImported, ImportEpisodes, UnjoinedLine};
use maxim_bus::signals::similarity::{Situation, SituationsStored};

use super::capturing::{put_repeat, situation_of};
use super::edges::{Edge, MOST_DEGREE, merge_edges, row_record};
use super::events::HippocampusEvent;
use super::held::{Held, Indexed, held_key};
use super::import::{ImportDefaults, ImportLine, Links, NamedEdge, WholeLine};
use super::law::{
    Surroundings, capture_reasons, is_same_moment, is_same_observation, is_told_again, merge_observation, sitting_after,
};
use super::linking::edge_key;
use super::model::EpisodicMemory;
use super::records::{episode_key, id_key, repeats_key};
use super::region::{Hippocampus, RECENT, day_of};
use maxim_region::{Hears, Pulse};

/// The other ends of an episode's edges that aren't here. Refused ones don't count, because they will never come.
fn lacking(id: &str, links: &Links, refused: &BTreeSet<String>, pulse: &Pulse<'_, Hippocampus>) -> Vec<String> {
    let edges = links.edges.iter().take(MOST_DEGREE).map(|edge| &edge.to);
    let other = edges.filter(|to| *to != id && !refused.contains(*to));
    let ends: BTreeSet<&String> = other.filter(|to| pulse.record::<u32>(&id_key(to)).is_none()).collect();
    ends.into_iter().cloned().collect()
}

/// Links an imported episode as in its export. Ends that aren't here, or belong to another episode of that id, are left
/// out.
fn join(document: u32, links: &Links, refused: &BTreeSet<String>, pulse: &mut Pulse<'_, Hippocampus>) {
    let here = |edge: &NamedEdge| {
        let to = Some(&edge.to).filter(|to| !refused.contains(*to))?;
        let to = pulse.record::<u32>(&id_key(to)).filter(|to| *to < document)?;
        Some(edge.to_edge(to))
    };
    let edges: Vec<Edge> = links.edges.iter().take(MOST_DEGREE).filter_map(here).collect();
    let row = merge_edges(&[], &edges);
    if !row.is_empty() {
        pulse.put_bytes(edge_key(document), row_record(document, &row));
    }
    // An id that already leads elsewhere here keeps doing so.
    let is_new = |repeat: &&String| pulse.record::<u32>(&id_key(repeat)).is_none();
    let repeats: Vec<&String> = links.repeats.iter().filter(is_new).collect();
    for repeat in &repeats {
        pulse.put(id_key(repeat), &document);
    }
    if !repeats.is_empty() {
        pulse.put(repeats_key(document), &repeats);
    }
    pulse.keep(HippocampusEvent::LinksRecalled { document, row });
}

/// An import in progress: what the room will know at its end.
struct Intake<'a> {
    room: &'a Hippocampus,
    all: bool,
    next: u32,
    newest: Option<(u32, Timestamp, u32)>,
    goal: Option<String>,
    batch: VecDeque<(u32, EpisodicMemory)>,
    /// The same, as situations.
    stored: Vec<Situation>,
    /// Acts in lines of other programs, with their times. Acts of whole records are in the export of the room that
    /// knows the times.
    done: Vec<(String, Timestamp)>,
    /// The same with the outcomes.
    ended: Vec<EndedAct>,
    /// Episodes of the file whose ids belong to others here.
    refused: BTreeSet<String>,
    waits: bool,
    /// Lines of this batch that wait for others, and for which.
    waiting: Vec<(u64, WholeLine, Vec<String>)>,
    answer: EpisodesImported,
}

/// The content of a line beside its episode.
struct Came {
    record: Vec<u8>,
    links: Option<Links>,
    held: Option<Held>,
}

/// What an episode teaches about actions: what was done, and how it ended.
fn ended_act(episode: &EpisodicMemory) -> Option<EndedAct> {
    let (action, success) = (episode.action.as_ref()?, episode.success()?);
    Some(EndedAct {
        episode: episode.id.clone(),
        at: episode.created,
        tool: action.tool.clone(),
        params: action.params.clone(),
        goal: episode.context.goal.clone(),
        mode: episode.context.mode.clone(),
        success,
    })
}

impl Intake<'_> {
    /// Takes a whole record of an export, or lets it wait for its linked episodes: an edge leads to an earlier episode.
    fn take_or_wait(&mut self, line: u64, whole: WholeLine, pulse: &mut Pulse<'_, Hippocampus>) -> Result<(), String> {
        let id = &whole.episode.id;
        if self.waits && Hippocampus::by_id(id, pulse).is_none() {
            let ends = whole.links.as_ref().map_or_else(Vec::new, |links| lacking(id, links, &self.refused, pulse));
            if !ends.is_empty() {
                self.waiting.push((line, whole, ends));
                return Ok(());
            }
        }
        self.take_whole(whole, pulse)
    }

    /// Takes lines that waited for lines of this batch; the rest is returned.
    fn end_waiting(&mut self, pulse: &mut Pulse<'_, Hippocampus>) {
        loop {
            let before = self.waiting.len();
            for (line, whole, _) in std::mem::take(&mut self.waiting) {
                if let Err(reason) = self.take_or_wait(line, whole, pulse) {
                    self.answer.bad.push((line, reason));
                }
            }
            if self.waiting.len() == before {
                break;
            }
        }
        let given_back = std::mem::take(&mut self.waiting).into_iter();
        let unjoined = given_back.map(|(line, whole, to)| UnjoinedLine { line, episode: whole.episode.id, to });
        self.answer.wanting = unjoined.collect();
    }

    /// Takes a whole record of an export, which stays as it was written.
    fn take_whole(&mut self, whole: WholeLine, pulse: &mut Pulse<'_, Hippocampus>) -> Result<(), String> {
        let WholeLine { episode, record, links, held } = whole;
        self.answer.came.push(episode.id.clone());
        if let Some((_, kept)) = Hippocampus::by_id(&episode.id, pulse) {
            if kept.id == episode.id && !is_same_moment(&kept, &episode) {
                self.refused.insert(episode.id.clone());
                self.answer.refused.push(episode.id.clone());
                return Err(other_content(&episode.id));
            }
            self.answer.known += 1;
            return Ok(());
        }
        if let Some(links) = &links {
            self.answer.edges_left_out += lacking(&episode.id, links, &self.refused, pulse).len() as u64;
        }
        self.goal.clone_from(&episode.context.goal);
        let came = Came { record: record.into_bytes(), links, held };
        self.keep(episode, came, pulse);
        Ok(())
    }

    /// Takes a line of another program.
    fn take(&mut self, line: ImportLine, pulse: &mut Pulse<'_, Hippocampus>) -> Result<(), String> {
        let (fresh, run) = (pulse.fresh_id().to_string(), pulse.settings().run.clone());
        let (is_named, is_timed) = (line.is_named(), line.timestamp.is_some());
        let mut episode = line.into_episode(&ImportDefaults { id: &fresh, now: pulse.now(), run: &run });
        let goal_before = std::mem::replace(&mut self.goal, episode.context.goal.clone());
        if is_named && let Some((_, kept)) = Hippocampus::by_id(&episode.id, pulse) {
            if !is_told_again(&kept, &episode, is_timed) {
                return Err(other_content(&episode.id));
            }
            self.answer.known += 1;
            return Ok(());
        }
        let around = Surroundings { goal_before: goal_before.as_deref(), last_kept: self.newest.map(|(_, at, _)| at) };
        episode.reasons = capture_reasons(&episode, &around, &pulse.settings().capture);
        if !self.all {
            if episode.reasons.is_empty() {
                self.answer.unremarkable += 1;
                return Ok(());
            }
            if let Some((document, mut old)) = self.repeated(&episode, pulse) {
                merge_observation(&mut old, &episode);
                pulse.put(episode_key(document), &old);
                if is_named {
                    put_repeat(document, &episode.id, pulse);
                }
                pulse.keep(HippocampusEvent::Merged { document, turn: None, episode: Box::new(old) });
                self.answer.merged += 1;
                return Ok(());
            }
        }
        self.done.extend(episode.action.as_ref().map(|action| (action.tool.clone(), episode.created)));
        self.ended.extend(ended_act(&episode));
        episode.sitting =
            sitting_after(self.newest.map(|(sitting, at, _)| (sitting, at)), episode.created, &pulse.settings().links);
        // Plain data: serialising it to JSON can't fail.
        let record = serde_json::to_vec(&episode).unwrap_or_default();
        self.keep(episode, Came { record, links: None, held: None }, pulse);
        Ok(())
    }

    /// The episode that this one repeats, from this import or from earlier.
    fn repeated(&self, episode: &EpisodicMemory, pulse: &Pulse<'_, Hippocampus>) -> Option<(u32, EpisodicMemory)> {
        let law = &pulse.settings().capture;
        let mut here = self.batch.iter().rev().take(RECENT);
        let here = here.find(|(_, old)| is_same_observation(old, episode, law));
        // Another line of this import may have been merged into it already.
        let here = here.and_then(|(document, _)| Some((*document, pulse.record(&episode_key(*document))?)));
        here.or_else(|| self.room.repeated(episode, pulse))
    }

    fn keep(
        &mut self,
        episode: EpisodicMemory,
        Came { record, links, held }: Came,
        pulse: &mut Pulse<'_, Hippocampus>,
    ) {
        let document = self.next;
        let indexed = Indexed::of(&episode, held.as_ref());
        self.newest = Some((episode.sitting, episode.created, document));
        pulse.put_bytes(episode_key(document), record);
        pulse.put(id_key(&episode.id), &document);
        self.room.put_vector(document, &indexed, pulse);
        if let Some(held) = &held {
            pulse.put(held_key(document), held);
        }
        self.stored.push(situation_of(&indexed));
        self.batch.push_back((document, episode.clone()));
        let day = day_of(episode.created, &pulse.settings().zone);
        let (episode, held) = (Box::new(episode), held.map(Box::new));
        pulse.keep(HippocampusEvent::Captured { document, turn: None, day, episode, held });
        if let Some(links) = &links {
            join(document, links, &self.refused, pulse);
        }
        self.next += 1;
        self.answer.kept += 1;
    }
}

fn other_content(id: &str) -> String {
    format!(
        "the id {id:?} is stored already with other content; give this line another \"id\", \
         or remove the stored one first with `maxim memory forget {id}`"
    )
}

impl Hears<ImportEpisodes> for Hippocampus {
    fn hear(&self, import: &ImportEpisodes, pulse: &mut Pulse<'_, Self>) {
        let mut intake = Intake {
            room: self,
            all: import.all,
            next: self.next,
            newest: self.newest,
            goal: self.kept_goal.clone(),
            batch: VecDeque::new(),
            stored: Vec::new(),
            done: Vec::new(),
            ended: Vec::new(),
            refused: import.refused.iter().cloned().collect(),
            waits: import.waits,
            waiting: Vec::new(),
            answer: EpisodesImported::default(),
        };
        for (number, line) in &import.lines {
            let taken = match WholeLine::parse(line) {
                Some(whole) => whole
                    .map_err(|error| error.to_string())
                    .and_then(|whole| intake.take_or_wait(*number, whole, pulse)),
                None => {
                    ImportLine::parse(line).map_err(|error| error.to_string()).and_then(|line| intake.take(line, pulse))
                }
            };
            if let Err(reason) = taken {
                intake.answer.bad.push((*number, reason));
            }
        }
        intake.end_waiting(pulse);
        let Intake { batch, stored, answer, done, ended, .. } = intake;
        self.keep_sealed(pulse);
        if !stored.is_empty() {
            pulse.emit(SituationsStored { stored, ..SituationsStored::default() });
        }
        let captured = batch.into_iter().map(|(_, episode)| (episode.id, episode.created)).collect::<Vec<_>>();
        if !captured.is_empty() {
            pulse.emit(EpisodesCaptured { episodes: captured, done, ended });
        }
        pulse.reply(answer);
    }
}
