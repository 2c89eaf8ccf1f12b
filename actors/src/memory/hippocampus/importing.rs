//! Import: lines of other programs, and whole records of an export.

use std::collections::VecDeque;

use maxim_bus::signals::recall::{EpisodesCaptured, EpisodesImported, ImportEpisodes};
use maxim_bus::signals::similarity::{Situation, SituationsStored};

use super::capturing::situation;
use super::edges::{Edge, MOST_DEGREE, merge_edges, row_record};
use super::import::{ImportDefaults, ImportLine, Links, NamedEdge, WholeLine};
use super::key_index::Filter;
use super::law::{Surroundings, capture_reasons, is_same_observation, merge_observation, sitting_after};
use super::linking::edge_key;
use super::model::EpisodicMemory;
use super::region::{Hippocampus, HippocampusEvent, RECENT, day_of, episode_key, id_key, repeats_key};
use crate::region::{Hears, Pulse};

impl Hippocampus {
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
}

/// Joins an imported episode with those that it was joined with; an end that isn't here is left out.
fn join(document: u32, links: &Links, pulse: &mut Pulse<'_, Hippocampus>) {
    let here = |edge: &NamedEdge| {
        let to = pulse.record::<u32>(&id_key(&edge.to)).filter(|to| *to < document)?;
        Some(edge.to_edge(to))
    };
    let edges: Vec<Edge> = links.edges.iter().take(MOST_DEGREE).filter_map(here).collect();
    let row = merge_edges(&[], &edges);
    if !row.is_empty() {
        pulse.put_bytes(edge_key(document), row_record(document, &row));
    }
    for repeat in &links.repeats {
        pulse.put(id_key(repeat), &document);
    }
    if !links.repeats.is_empty() {
        pulse.put(repeats_key(document), &links.repeats);
    }
    pulse.keep(HippocampusEvent::LinksRecalled { document, row });
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
                Some(Ok(WholeLine { episode, record, links })) => {
                    if batch.iter().any(|(_, kept)| kept.id == episode.id) || self.knows(&episode, pulse) {
                        answer.merged += 1;
                        continue;
                    }
                    newest = Some((episode.sitting, episode.created, next));
                    goal.clone_from(&episode.context.goal);
                    pulse.put_bytes(episode_key(next), record.into_bytes());
                    pulse.put(id_key(&episode.id), &next);
                    self.put_vector(next, &episode, pulse);
                    batch.push_back((next, episode.clone()));
                    let day = day_of(episode.created, &pulse.settings().zone);
                    let episode = Box::new(episode);
                    pulse.keep(HippocampusEvent::Captured { document: next, turn: None, day, episode });
                    if let Some(links) = links {
                        join(next, &links, pulse);
                    }
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
