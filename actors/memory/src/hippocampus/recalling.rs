//! Recall: by words, by keys, and by association with what was found.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::encoding::{FindMeant, MeantFound};
use maxim_bus::signals::recall::{
    EpisodeFilter, EpisodesCounted, EpisodesRecalled, RecallEpisodes, RecalledEpisode, Via,
};
use maxim_bus::signals::similarity;
use maxim_bus::{MessageId, Trust as BusTrust};

use super::events::HippocampusEvent;
use super::model::{EpisodicMemory, Provenance, Trust};
use super::records::{episode_key, id_key};
use super::region::Hippocampus;
use super::spreading::Spreading;
use super::text_index::{By, Meant, Query};
use maxim_language::{clipped, words};
use maxim_region::{Hears, Pulse, Waiting};

/// Characters of an episode's text in a recalled line.
pub(super) const CLIP: usize = 600;

/// More episodes are examined than wanted, because the same question may have been asked this often.
const SPARE: usize = 100;

/// Number of records requested that are near in meaning. If a store has no more, the similarity of every neighbour is
/// known.
const MEANT: usize = 1_000;
/// How long a question waits for them; less than the asker waits.
const PATIENCE: SignedDuration = SignedDuration::from_millis(900);

impl Hippocampus {
    /// The episodes that match a question, with their numbers.
    fn recall(
        &self,
        question: &RecallEpisodes,
        meant: Option<&Meant>,
        pulse: &Pulse<'_, Self>,
    ) -> Vec<(u32, RecalledEpisode)> {
        let RecallEpisodes { filter, except, thought, .. } = question;
        let Some(indexes) = &self.indexes else { return Vec::new() };
        let limit = if filter.limit == 0 { 5 } else { filter.limit };
        let own = except.and_then(|turn| self.open.get(&turn)).copied();
        let mut read: BTreeMap<u32, EpisodicMemory> = BTreeMap::new();
        let query = filter.query.as_deref().filter(|query| !query.trim().is_empty());
        let mut found: Vec<(u32, f64, Via)> = match query {
            Some(text) => {
                let query = meant.map_or_else(|| Query::new(text), |meant| Query::meaning(text, meant));
                let query = query.weighing(&pulse.settings().weights).asked_in(own).thought(*thought);
                let hits = if filter.is_open() {
                    indexes.text.search(&query, limit + SPARE)
                } else {
                    indexes.text.search_within(&query, &indexes.keys.matching(filter), limit + SPARE)
                };
                let via = |by| match by {
                    By::Words => Via::Text,
                    By::Neighbours => Via::Association,
                    By::Meaning => Via::Similarity,
                };
                hits.into_iter().map(|hit| (hit.document, f64::from(hit.score), via(hit.by))).collect()
            }
            None => {
                let found = match filter.oldest {
                    true => indexes.keys.find_oldest(filter, limit + 1),
                    false => indexes.keys.find(filter, limit + 1),
                };
                found.into_iter().map(|document| (document, 1.0, Via::Index)).collect()
            }
        };
        found.retain(|(document, ..)| Some(*document) != own);
        if query.is_some() {
            bound(&mut found, limit, |document| {
                let episode: EpisodicMemory = pulse.record(&episode_key(document))?;
                let bounded = Bounded::of(&episode);
                read.insert(document, episode);
                bounded
            });
        }
        found.truncate(limit);
        if filter.expand {
            self.expand(&mut found, own, limit, &pulse.settings().links.spreading);
        }
        found
            .into_iter()
            .filter_map(|(document, score, via)| {
                let episode = read.remove(&document).or_else(|| pulse.record(&episode_key(document)))?;
                Some((document, recalled(episode, score, via)))
            })
            .collect()
    }

    /// Adds associated episodes. They take the free places, and at least one of five.
    fn expand(&self, found: &mut Vec<(u32, f64, Via)>, own: Option<u32>, limit: usize, spreading: &Spreading) {
        let seeds: Vec<u32> = found.iter().map(|(document, ..)| *document).collect();
        let mut reached = self.associated(&seeds, limit + 1, spreading);
        reached.retain(|(document, _)| Some(*document) != own);
        let reserved = (limit / 5).max(usize::from(limit > 1)).min(reached.len());
        found.truncate(limit - reserved);
        let kept: Vec<u32> = found.iter().map(|(document, ..)| *document).collect();
        // A seed that lost its place was found by itself, so it doesn't return as an association.
        reached.truncate(limit - kept.len());
        found.extend(reached.into_iter().map(|(document, activation)| (document, activation, Via::Association)));
    }
}

/// A person's question in words, if the episode contains nothing else.
fn bare_question(episode: &EpisodicMemory) -> Option<String> {
    let text = episode.perception.text.as_str();
    let mut sentences = text.split_inclusive(['.', '!', '?', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let asks = sentences.clone().next().is_some() && sentences.all(|sentence| sentence.ends_with('?'));
    let only = asks && episode.provenance == Provenance::Person && episode.tool().is_none();
    only.then(|| words(text).into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "))
}

/// Kinds of results that get at most half of the places, plus free ones.
enum Bounded {
    /// A question without an answer, by its words: it shows what was asked, not what is true.
    Question(String),
    /// Words of an unknown speaker. However often a loudspeaker repeats them, what known people said is found too.
    Hearsay,
}

impl Bounded {
    fn of(episode: &EpisodicMemory) -> Option<Self> {
        bare_question(episode).map(Self::Question).or_else(|| episode.is_hearsay().then_some(Self::Hearsay))
    }
}

/// Of a question asked repeatedly, only the best is kept. Questions and hearsay are limited.
fn bound(found: &mut Vec<(u32, f64, Via)>, limit: usize, mut bounded: impl FnMut(u32) -> Option<Bounded>) {
    let (mut known, mut kept, mut spare) = (BTreeSet::new(), Vec::new(), Vec::new());
    let (mut questions, mut hearsay) = (0, 0);
    for hit in found.drain(..) {
        if kept.len() >= limit {
            break;
        }
        let count = match bounded(hit.0) {
            Some(Bounded::Question(words)) => known.insert(words).then_some(&mut questions),
            Some(Bounded::Hearsay) => Some(&mut hearsay),
            None => {
                kept.push(hit);
                continue;
            }
        };
        match count {
            Some(count) if *count < limit.div_ceil(2) => {
                *count += 1;
                kept.push(hit);
            }
            Some(_) => spare.push(hit),
            // The same question was found already.
            None => {}
        }
    }
    let free = limit.saturating_sub(kept.len());
    kept.extend(spare.into_iter().take(free));
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    *found = kept;
}

pub(super) fn bus_trust(trust: Trust) -> BusTrust {
    match trust {
        Trust::Owner => BusTrust::Owner,
        Trust::Own => BusTrust::Own,
        Trust::Trusted => BusTrust::Listed,
        Trust::Sensor => BusTrust::Sensor,
        Trust::Outside => BusTrust::Outside,
    }
}

pub(super) fn recalled(episode: EpisodicMemory, score: f64, via: Via) -> RecalledEpisode {
    let (goal, tool, success) =
        (episode.goal().map(str::to_owned), episode.tool().map(str::to_owned), episode.success());
    let said = episode.provenance == Provenance::Person;
    let speaker = episode.speaker().map(str::to_owned);
    RecalledEpisode {
        id: episode.id,
        score,
        via,
        timestamp: episode.created,
        goal,
        tool,
        success,
        text: clipped(&episode.perception.text, CLIP),
        people: episode.perception.people,
        result: episode.outcome.map(|outcome| outcome.result).filter(|result| !result.is_empty()),
        trust: bus_trust(episode.trust),
        said,
        speaker,
    }
}

impl Hippocampus {
    /// Waits for what an external encoder finds near; false without one, or without time for it.
    fn ponder(&self, question: &RecallEpisodes, pulse: &mut Pulse<'_, Self>) -> bool {
        let text = question.filter.query.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let wants = question.waits && pulse.settings().asks_meaning;
        let waiting = Waiting::heard(pulse, pulse.now().later(PATIENCE), question.clone());
        let (Some(text), Some(pondered)) = (text.filter(|_| wants), waiting) else { return false };
        let find = FindMeant { text: text.into(), layer: similarity::EPISODES.into(), limit: MEANT };
        let asked = pulse.ask(find);
        pulse.keep(HippocampusEvent::Pondered { asked, pondered: Box::new(pondered) });
        true
    }

    /// Answers a waiting question with the result.
    fn end_pondering(&self, asked: MessageId, meant: Option<&MeantFound>, pulse: &mut Pulse<'_, Self>) {
        let Some(pondered) = self.pondered.get(asked) else { return };
        let number = |id: &String| pulse.record::<u32>(&id_key(id));
        let meant = meant.and_then(|meant| Some((meant.near.as_ref()?, meant.floor))).map(|(near, floor)| {
            let mut near: Vec<(u32, f32)> = near.iter().filter_map(|(id, like)| Some((number(id)?, *like))).collect();
            near.sort_by_key(|(document, _)| *document);
            Meant { near, floor }
        });
        let episodes = self.recalled(&pondered.question, meant.as_ref(), pulse);
        pulse.keep(HippocampusEvent::PonderingEnded { asked });
        pondered.answer(pulse, episodes);
    }

    pub(super) fn give_up_pondering(&self, pulse: &mut Pulse<'_, Self>) {
        self.pondered.overdue(pulse.now()).into_iter().for_each(|asked| self.end_pondering(asked, None, pulse));
    }

    /// How many episodes match a filter's keys and time. With words, there is no count, because it would only count
    /// ranked ones.
    fn counted(&self, filter: &EpisodeFilter) -> Option<EpisodesCounted> {
        let keys = &self.indexes.as_ref().filter(|_| filter.query.is_none())?.keys;
        let of = |success| keys.count(&EpisodeFilter { success: Some(success), ..filter.clone() });
        let wanted = |success: bool| if filter.success == Some(!success) { 0 } else { of(success) };
        Some(EpisodesCounted { total: keys.count(filter), succeeded: wanted(true), failed: wanted(false) })
    }

    fn recalled(
        &self,
        question: &RecallEpisodes,
        meant: Option<&Meant>,
        pulse: &mut Pulse<'_, Self>,
    ) -> EpisodesRecalled {
        let found = self.recall(question, meant, pulse);
        // Episodes that the agent thinks of count as used; those looked up from outside don't.
        if question.except.is_some() && !found.is_empty() {
            let documents = found.iter().map(|(document, _)| *document).collect();
            pulse.keep(HippocampusEvent::Accessed { documents, at: pulse.now() });
        }
        let counted = question.filter.count.then(|| self.counted(&question.filter)).flatten();
        EpisodesRecalled { episodes: found.into_iter().map(|(_, episode)| episode).collect(), counted }
    }
}

impl Hears<RecallEpisodes> for Hippocampus {
    fn hear(&self, question: &RecallEpisodes, pulse: &mut Pulse<'_, Self>) {
        // A room with a backlog would otherwise answer everyone too late and fall further behind with each turn.
        if question.until.is_some_and(|until| until < pulse.now()) {
            return;
        }
        if !self.ponder(question, pulse) {
            let episodes = self.recalled(question, None, pulse);
            pulse.reply(episodes);
        }
    }
}

impl Hears<MeantFound> for Hippocampus {
    fn hear(&self, found: &MeantFound, pulse: &mut Pulse<'_, Self>) {
        if let Some(asked) = pulse.cause().and_then(|cause| cause.cause) {
            self.end_pondering(asked, Some(found), pulse);
        }
    }
}
