//! Recall: by words, by keys, and by what is associated with what was found.

use maxim_bus::signals::recall::{EpisodeFilter, EpisodesRecalled, RecallEpisodes, RecalledEpisode, Via};
use maxim_bus::{MessageId, Trust as BusTrust};

use super::key_index::Filter;
use super::model::{EpisodicMemory, Trust};
use super::region::{Hippocampus, HippocampusEvent, episode_key};
use super::text_index::Query;
use crate::region::{Hears, Pulse};

/// Characters of an episode's text that a recalled line carries.
pub(super) const CLIP: usize = 600;

impl Hippocampus {
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

pub(super) fn bus_trust(trust: Trust) -> BusTrust {
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
