//! Recall: by words, by keys, and by what is associated with what was found.
//!
//! Law: indexes choose the candidates. A filter that they don't know, such as who told it, is checked on at most
//! [`EpisodeFilter::READ`] records in the order of the answer; where there are more, the words of [`EpisodeFilter::about`] find
//! as many of the others.

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
use maxim_speech::answer;

/// Characters of an episode's text in a recalled line.
pub(super) const CLIP: usize = 600;

/// More than wanted are looked at: the same question may have been asked this often.
const SPARE: usize = 100;

/// Records near in meaning that are asked for. If a store has no more, the likeness of every neighbour is known.
const MEANT: usize = 1_000;
/// How long a question waits for them: less than the asker does.
const PATIENCE: SignedDuration = SignedDuration::from_millis(900);

impl Hippocampus {
    /// The alternative that counts, and its number.
    fn chosen<'a>(&self, filter: &'a EpisodeFilter) -> (&'a EpisodeFilter, Option<usize>) {
        let is_known = |one: &EpisodeFilter| match (&one.tool_name, &self.indexes) {
            (Some(tool), Some(indexes)) => {
                let uses = EpisodeFilter { tool_name: Some(tool.clone()), ..EpisodeFilter::default() };
                !indexes.keys.find(&uses, 1).is_empty()
            }
            (tool, _) => tool.is_none(),
        };
        match filter.alternatives.iter().enumerate().find(|(_, one)| is_known(one)) {
            Some((number, one)) => (one, Some(number)),
            None => (filter, None),
        }
    }

    /// Episodes that a filter finds, with their numbers. `read` of the answer is set, its other fields aren't.
    fn recall(
        &self,
        question: &RecallEpisodes,
        filter: &EpisodeFilter,
        meant: Option<&Meant>,
        pulse: &Pulse<'_, Self>,
    ) -> (Vec<u32>, EpisodesRecalled) {
        let Some(indexes) = &self.indexes else { return Default::default() };
        let limit = if filter.limit == 0 { 5 } else { filter.limit };
        let most = if filter.is_read() { limit.max(EpisodeFilter::READ) } else { limit };
        let own = question.except.and_then(|turn| self.open.get(&turn)).copied();
        let mut read: BTreeMap<u32, EpisodicMemory> = BTreeMap::new();
        let query = query_of(filter);
        let by_words = |text: &str, within: &EpisodeFilter, most: usize| {
            let query = meant.map_or_else(|| Query::new(text), |meant| Query::meaning(text, meant));
            let query = query.weighing(&pulse.settings().weights).asked_in(own).thought(question.thought);
            match within.is_open() {
                true => indexes.text.search(&query, most),
                false => indexes.text.search_within(&query, &indexes.keys.matching(within), most),
            }
        };
        let mut found: Vec<(u32, f64, Via)> = match query {
            Some(text) => {
                let via = |by| match by {
                    By::Words => Via::Text,
                    By::Neighbours => Via::Association,
                    By::Meaning => Via::Similarity,
                };
                let hits = by_words(text, filter, most + SPARE);
                hits.into_iter().map(|hit| (hit.document, f64::from(hit.score), via(hit.by))).collect()
            }
            None => {
                let found = match (filter.ids.is_empty(), filter.oldest) {
                    (false, _) => filter.ids.iter().filter_map(|id| pulse.record(&id_key(id))).collect(),
                    (true, true) => indexes.keys.find_oldest(filter, most + 1),
                    (true, false) => indexes.keys.find(filter, most + 1),
                };
                found.into_iter().map(|document| (document, 1.0, Via::Index)).collect()
            }
        };
        found.retain(|(document, ..)| Some(*document) != own);
        if query.is_some() {
            bound(&mut found, most, |document| {
                let episode: EpisodicMemory = pulse.record(&episode_key(document))?;
                let bounded = Bounded::of(&episode);
                read.insert(document, episode);
                bounded
            });
        }
        let mut is_more = found.len() > most && filter.is_read();
        found.truncate(most);
        if let Some(about) = filter.about.as_deref().filter(|_| is_more) {
            let known: BTreeSet<u32> = found.iter().map(|(document, ..)| *document).collect();
            let hits = by_words(about, filter, most);
            // The best fit comes first. If the last one doesn't fit, no others do.
            let fits = |document| {
                let episode = pulse.record::<EpisodicMemory>(&episode_key(document));
                episode.is_some_and(|episode| answer::bears_on(about, &clipped(&episode.perception.text, CLIP)))
            };
            is_more = hits.last().is_none_or(|last| hits.len() >= most && fits(last.document));
            let others = hits.into_iter().map(|hit| hit.document);
            let others = others.filter(|document| !known.contains(document) && Some(*document) != own);
            let mut others: Vec<u32> = others.collect();
            indexes.keys.put_in_order(&mut others, filter.oldest);
            found.extend(others.into_iter().map(|document| (document, 1.0, Via::Index)));
        }
        if filter.expand {
            self.expand(&mut found, own, limit, &pulse.settings().links.spreading);
        }
        let episodes = found.into_iter().filter_map(|(document, score, via)| {
            let episode = read.remove(&document).or_else(|| pulse.record(&episode_key(document)))?;
            Some((document, recalled(episode, score, via)))
        });
        let (documents, episodes): (Vec<u32>, Vec<RecalledEpisode>) =
            episodes.filter(|(_, episode)| passes(filter, episode)).take(limit).unzip();
        let read = (is_more && episodes.len() < limit).then_some(most);
        (documents, EpisodesRecalled { episodes, read, ..EpisodesRecalled::default() })
    }

    /// Adds associations of what was found. They take the free places, and at least one of five results.
    fn expand(&self, found: &mut Vec<(u32, f64, Via)>, own: Option<u32>, limit: usize, spreading: &Spreading) {
        let seeds: Vec<u32> = found.iter().map(|(document, ..)| *document).collect();
        let mut reached = self.associated(&seeds, limit + 1, spreading);
        reached.retain(|(document, _)| Some(*document) != own);
        let reserved = (limit / 5).max(usize::from(limit > 1)).min(reached.len());
        found.truncate(limit - reserved);
        let kept: Vec<u32> = found.iter().map(|(document, ..)| *document).collect();
        // A seed that gave up its place was a direct hit: it doesn't come back as an association.
        reached.truncate(limit - kept.len());
        found.extend(reached.into_iter().map(|(document, activation)| (document, activation, Via::Association)));
    }
}

fn query_of(filter: &EpisodeFilter) -> Option<&str> {
    filter.query.as_deref().filter(|query| !query.trim().is_empty())
}

/// The part of a filter that the indexes don't answer.
fn passes(filter: &EpisodeFilter, episode: &RecalledEpisode) -> bool {
    let is_theirs = |person: &String| {
        let is_told = episode.said && episode.tool.is_none() && !episode.is_heard();
        is_told && episode.speaker.as_ref().is_none_or(|speaker| speaker.eq_ignore_ascii_case(person))
    };
    filter.told_by.as_ref().is_none_or(is_theirs)
        && (!filter.done || episode.tool.is_some())
        && filter.about.as_ref().is_none_or(|about| answer::bears_on(about, &episode.text))
}

/// What a person asked, as words, where the episode holds nothing else.
fn bare_question(episode: &EpisodicMemory) -> Option<String> {
    let text = episode.perception.text.as_str();
    let mut sentences = text.split_inclusive(['.', '!', '?', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let asks = sentences.clone().next().is_some() && sentences.all(|sentence| sentence.ends_with('?'));
    let only = asks && episode.provenance == Provenance::Person && episode.tool().is_none();
    only.then(|| words(text).into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "))
}

/// Hits that get at most half of the places, and those left free.
enum Bounded {
    /// A bare question, by its words: it shows what was asked, not what is true.
    Question(String),
    /// Words of an unknown author. However often a loudspeaker repeats them, statements of known people are found too.
    Hearsay,
}

impl Bounded {
    fn of(episode: &EpisodicMemory) -> Option<Self> {
        bare_question(episode).map(Self::Question).or_else(|| episode.is_hearsay().then_some(Self::Hearsay))
    }
}

/// Of a question that was asked repeatedly, only the best hit counts. Questions and hearsay only get a part of the
/// places.
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
    /// Waits for what an external encoder finds near; false if there is none, or no time for it.
    fn ponder(&self, question: &RecallEpisodes, pulse: &mut Pulse<'_, Self>) -> bool {
        let text = query_of(self.chosen(&question.filter).0).map(str::trim);
        let wants = question.waits && pulse.settings().asks_meaning;
        let waiting = Waiting::heard(pulse, pulse.now().later(PATIENCE), question.clone());
        let (Some(text), Some(pondered)) = (text.filter(|_| wants), waiting) else { return false };
        let find = FindMeant { text: text.into(), layer: similarity::EPISODES.into(), limit: MEANT };
        let asked = pulse.ask(find);
        pulse.keep(HippocampusEvent::Pondered { asked, pondered: Box::new(pondered) });
        true
    }

    /// Answers a waiting question with what came.
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

    /// How many episodes have the keys and the time of a filter. With words, it would only count the ranked ones.
    fn counted(&self, filter: &EpisodeFilter) -> Option<EpisodesCounted> {
        let is_of_keys = filter.count && filter.query.is_none() && !filter.is_read();
        let keys = &self.indexes.as_ref().filter(|_| is_of_keys)?.keys;
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
        let (filter, alternative) = self.chosen(&question.filter);
        let (documents, found) = self.recall(question, filter, meant, pulse);
        // What is thought of counts as used; what somebody looks up from outside doesn't.
        if question.except.is_some() && !documents.is_empty() {
            pulse.keep(HippocampusEvent::Accessed { documents, at: pulse.now() });
        }
        EpisodesRecalled { counted: self.counted(filter), alternative, ..found }
    }
}

impl Hears<RecallEpisodes> for Hippocampus {
    fn hear(&self, question: &RecallEpisodes, pulse: &mut Pulse<'_, Self>) {
        // Otherwise a room that is behind would answer nobody in time, and fall further behind with each turn.
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
