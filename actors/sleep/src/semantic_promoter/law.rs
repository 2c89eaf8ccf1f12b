//! What may become a concept, and what it becomes.
//!
//! A memory that an outsider poisoned must not become knowledge. If untrusted episodes support a candidate, at least
//! two independent trusted ones must say the same. Inferred, simulated or read content is no experience, so the brain
//! can't be fed its own words.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::Trust;
use maxim_bus::signals::concepts::{
    ConceptLesson, ConceptProvenance, FetchedEpisode, Layer, MemoryRef, RelationLesson,
};
use maxim_bus::signals::promotion::{PromotionCandidate, PromotionVerdict};

use maxim_bus::relations::RELATED_TO;
use maxim_language::naming;
use maxim_language::{is_stop_word, words};

/// Minimum number of episodes for a recurring element; the next is the minimum share.
const RECURS: usize = 2;
const RECURS_SHARE: f64 = 0.5;
/// Maximum number of recurring elements of one kind.
const MOST_ELEMENTS: usize = 6;
/// Minimum length of a word worth noting, in letters.
const LONG_WORD: usize = 4;

/// Episodes fetched at once: as many as the hippocampus answers.
pub const FETCHED: usize = 512;

/// How many of the next candidates are checked together, at most `most`, so that all their episodes can be fetched at
/// once.
pub fn fits<'a>(next: impl IntoIterator<Item = &'a PromotionCandidate>, most: usize) -> usize {
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    let fit = next.into_iter().take(most).take_while(|candidate| {
        ids.extend(candidate.episodes.iter().map(String::as_str));
        ids.len() <= FETCHED
    });
    // A candidate with more episodes is checked alone.
    fit.count().max(1)
}

/// The episodes that may support a candidate, and their trust.
#[derive(Clone, Debug, PartialEq)]
pub struct Corroborated<'a> {
    pub episodes: Vec<&'a FetchedEpisode>,
    pub trust: Trust,
}

/// Whether further evidence can't change that the candidate holds.
pub fn is_decided(evidence: &BTreeMap<String, FetchedEpisode>, witnesses: usize) -> bool {
    let trusted: Vec<&FetchedEpisode> = evidence.values().filter(|one| is_trusted(one)).collect();
    independent(&trusted) >= witnesses
}

/// Reduces undecided evidence to what matters when more comes: the trusted episodes, as many as are fetched at once,
/// and the fact that there is an untrusted one.
pub fn keep_telling(evidence: &mut BTreeMap<String, FetchedEpisode>) {
    let (mut trusted, mut others) = (0, 0);
    evidence.retain(|_, one| {
        let (count, most) = if is_trusted(one) { (&mut trusted, FETCHED) } else { (&mut others, 1) };
        *count += 1;
        *count <= most
    });
}

/// Whether an episode counts as trusted experience.
pub fn is_trusted(episode: &FetchedEpisode) -> bool {
    episode.experienced && episode.episode.trust >= Trust::Listed
}

/// The trusted episodes that support a candidate, each once; none if they aren't enough. `witnesses`: independent
/// trusted episodes that outweigh an untrusted one.
pub fn corroborate<'a>(
    candidate: &PromotionCandidate,
    evidence: &'a BTreeMap<String, FetchedEpisode>,
    witnesses: usize,
) -> Option<Corroborated<'a>> {
    if candidate.episodes.is_empty() {
        // It is supported by a room's own counts, not by episodes.
        return Some(Corroborated { episodes: Vec::new(), trust: Trust::Own });
    }
    let found = candidate.episodes.iter().filter_map(|id| evidence.get(id));
    // Turns that repeated an observation share one episode.
    let found: BTreeMap<&str, &FetchedEpisode> = found.map(|one| (one.episode.id.as_str(), one)).collect();
    let (trusted, others): (Vec<_>, Vec<_>) = found.into_values().partition(|episode| is_trusted(episode));
    let needed = if others.is_empty() { 1 } else { witnesses };
    let trust = trusted.iter().map(|episode| episode.episode.trust).min()?.min(Trust::Own);
    (independent(&trusted) >= needed).then_some(Corroborated { episodes: trusted, trust })
}

/// How many of these don't merely repeat another: the same words in the same session are one witness.
fn independent(episodes: &[&FetchedEpisode]) -> usize {
    let witness = |one: &&FetchedEpisode| (one.sitting, naming::normal_words(&one.episode.text));
    episodes.iter().map(witness).collect::<BTreeSet<_>>().len()
}

/// Whether its outcomes must be judged before it may become a concept. A shorter series says nothing about chance.
pub fn needs_judgement(source: &str, candidate: &PromotionCandidate, judged_from: usize) -> bool {
    source == "nucleus_accumbens" && candidate.series.len() >= judged_from
}

/// The lesson from a candidate.
pub fn lesson(source: &str, candidate: &PromotionCandidate, corroborated: &Corroborated<'_>) -> ConceptLesson {
    let episodes = &corroborated.episodes;
    let provenance = match episodes.is_empty() {
        true => ConceptProvenance::AgentInference,
        false => ConceptProvenance::EpisodicConsolidation,
    };
    let mut sources: Vec<MemoryRef> =
        episodes.iter().map(|one| MemoryRef::new(Layer::Hippocampus, one.episode.id.clone())).collect();
    sources.extend(candidate.sources.iter().cloned());
    let mut properties = candidate.properties.clone();
    properties.insert("promoted_from".into(), source.to_owned());
    let mut relations = candidate.relations.clone();
    let objects = recurring(episodes, |one| one.objects.clone());
    let people = recurring(episodes, |one| one.episode.people.clone());
    for (elements, category) in [(&objects, "object"), (&people, "person")] {
        relations.extend(elements.iter().map(|(name, share)| RelationLesson {
            kind: RELATED_TO.into(),
            to: name.clone(),
            category: category.into(),
            weight: *share,
            phase: None,
            coupling: None,
        }));
    }
    let own = candidate.name.to_lowercase();
    let noted = recurring(episodes, |one| content(&one.episode.text));
    let noted: Vec<String> = noted.into_iter().map(|(word, _)| word).filter(|word| !own.contains(word)).collect();
    if !noted.is_empty() {
        properties.insert("recurring".into(), noted.join(", "));
    }
    ConceptLesson {
        name: candidate.name.clone(),
        category: candidate.category.clone(),
        definition: Some(candidate.definition.clone()),
        properties,
        provenance,
        trust: corroborated.trust,
        sources,
        passage: None,
        relations,
    }
}

/// Elements in at least two and at least half of the episodes, with their share; the most frequent first.
fn recurring(episodes: &[&FetchedEpisode], of: impl Fn(&FetchedEpisode) -> Vec<String>) -> Vec<(String, f64)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for episode in episodes {
        let elements: BTreeSet<String> = of(episode).iter().map(|name| naming::normal_words(name).join(" ")).collect();
        for element in elements.into_iter().filter(|element| !element.is_empty()) {
            *counts.entry(element).or_default() += 1;
        }
    }
    let all = episodes.len().max(1) as f64;
    let mut found: Vec<(String, f64)> = counts
        .into_iter()
        .filter(|(_, count)| *count >= RECURS && *count as f64 / all >= RECURS_SHARE)
        .map(|(name, count)| (name, count as f64 / all))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MOST_ELEMENTS);
    found
}

fn content(text: &str) -> Vec<String> {
    let words = words(text).into_iter().map(|word| word.text);
    words.filter(|word| !is_stop_word(word) && word.chars().count() >= LONG_WORD).collect()
}

/// The verdict on a candidate before any room is asked about it.
pub fn first_verdict(
    candidate: &PromotionCandidate,
    min_confidence: f64,
    min_observations: u64,
    seen_before: Option<u64>,
) -> Option<PromotionVerdict> {
    if candidate.confidence.get() < min_confidence || candidate.observations < min_observations {
        return Some(PromotionVerdict::TooWeak);
    }
    seen_before.filter(|before| candidate.observations <= *before).map(|_| PromotionVerdict::NothingNew)
}
