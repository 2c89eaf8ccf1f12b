//! The index of concepts by name, category, property, word, relation and age. It is built from the concepts' records
//! when the room wakes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::hash::StableHash;
use serde::{Deserialize, Serialize};

use super::meanings::{Meaning, Meanings};
use super::model::SemanticMemory;
use maxim_bus::relations::IS_A;
use maxim_language::naming;
use maxim_language::{Encoder, Stems};

/// Weight of a word by its place, 0 to 1.
const IN_NAME: f32 = 1.0;
const IN_CATEGORY: f32 = 0.8;
const IN_TEXT: f32 = 0.7;
const IN_PASSAGE: f32 = 0.6;
/// Steps of IS_A that are followed, at most. A deeper chain is a mistake in what was taught.
const DEEPEST: usize = 32;
/// Concepts that words open for one text. Beyond this, a common word only adds to concepts that rarer ones found.
const OPENED: usize = 1_024;
/// With fewer concepts than this, word counts say little about rarity. Then this number is used for the count of
/// concepts.
const FEW: usize = 50;

/// An edge of a concept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Link {
    pub kind: String,
    pub other: u32,
    pub weight: f64,
    pub phase: Option<f64>,
    pub coupling: Option<f64>,
}

/// The data of a concept that is in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Card {
    pub name: String,
    pub key: String,
    pub category: String,
    pub reinforcements: u32,
    pub last_accessed: Timestamp,
    pub pinned: bool,
    pub compressed: bool,
    pub links: Vec<Link>,
    /// Stems of the name.
    pub stems: BTreeSet<String>,
    properties: Vec<(String, String)>,
    terms: Vec<(String, f32)>,
    /// Documents of its passages, each by a hash of its name.
    documents: BTreeSet<u64>,
}

impl Card {
    fn of(memory: &SemanticMemory, stems: &Stems) -> Self {
        let mut terms: BTreeMap<String, f32> = BTreeMap::new();
        let mut add = |text: &str, weight: f32| {
            for stem in stems.of_text(&text.replace('_', " ")) {
                let known = terms.entry(stem).or_insert(0.0);
                *known = known.max(weight);
            }
        };
        add(&memory.name, IN_NAME);
        add(&memory.category, IN_CATEGORY);
        add(&memory.definition, IN_TEXT);
        memory.properties.iter().for_each(|(key, value)| add(&format!("{key} {value}"), IN_TEXT));
        memory.passages.iter().for_each(|passage| add(&passage.text, IN_PASSAGE));
        let link = |relation: &super::model::Relation| Link {
            kind: relation.kind.clone(),
            other: relation.to,
            weight: relation.weight,
            phase: relation.phase,
            coupling: relation.coupling,
        };
        Self {
            name: memory.name.clone(),
            key: naming::key(&memory.name),
            category: naming::key(&memory.category),
            reinforcements: memory.reinforcements,
            last_accessed: memory.last_accessed,
            pinned: memory.long_term,
            compressed: memory.compressed,
            links: memory.relations.iter().map(link).collect(),
            stems: stems.of_text(&memory.name.replace('_', " ")).into_iter().collect(),
            properties: memory.properties.iter().map(|(key, value)| property(key, value)).collect(),
            terms: terms.into_iter().collect(),
            documents: memory.passages.iter().map(|passage| document_hash(&passage.document)).collect(),
        }
    }
}

fn document_hash(document: &str) -> u64 {
    StableHash::default().add_long(document.as_bytes()).get()
}

/// All data derived from a concept, so that a start needn't derive it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    card: Card,
    pub(super) meaning: Option<Meaning>,
}

/// Case and `_` are ignored in properties.
pub(super) fn property(key: &str, value: &str) -> (String, String) {
    (naming::key(key), value.trim().to_lowercase())
}

/// All concepts, by all keys of questions.
#[derive(Default)]
pub(super) struct ConceptIndex {
    meanings: Meanings,
    stems: Stems,
    cards: BTreeMap<u32, Card>,
    names: BTreeMap<String, BTreeSet<u32>>,
    categories: BTreeMap<String, BTreeSet<u32>>,
    properties: BTreeMap<(String, String), BTreeSet<u32>>,
    terms: BTreeMap<String, BTreeMap<u32, f32>>,
    incoming: BTreeMap<u32, BTreeMap<(u32, String), f64>>,
    documents: BTreeMap<u64, BTreeSet<u32>>,
    /// By the time of the last access, to find due concepts.
    ages: BTreeSet<(Timestamp, u32)>,
}

fn leave<K: Ord + Clone>(map: &mut BTreeMap<K, BTreeSet<u32>>, key: &K, number: u32) {
    if let Some(set) = map.get_mut(key) {
        set.remove(&number);
        if set.is_empty() {
            map.remove(key);
        }
    }
}

impl ConceptIndex {
    pub fn with_encoder(encoder: Arc<dyn Encoder>) -> Self {
        Self { meanings: Meanings::new(Some(encoder)), ..Self::default() }
    }

    /// An empty index that compares meanings like this one.
    pub fn empty(&self) -> Self {
        Self { meanings: Meanings::new(self.meanings.encoder()), ..Self::default() }
    }

    pub fn put(&mut self, number: u32, memory: &SemanticMemory) {
        self.put_made(number, self.made_of(memory, None));
    }

    /// The data derived from a concept. `meaning` is the earlier meaning of its text, if known.
    pub fn made_of(&self, memory: &SemanticMemory, meaning: Option<Meaning>) -> Made {
        let meaning = meaning.or_else(|| self.meanings.of_text(&memory.embedding_text()));
        Made { card: Card::of(memory, &self.stems), meaning }
    }

    pub fn put_made(&mut self, number: u32, made: Made) {
        self.take(number);
        let Made { card, meaning } = made;
        self.meanings.put(number, meaning);
        self.names.entry(card.key.clone()).or_default().insert(number);
        if !card.category.is_empty() {
            self.categories.entry(card.category.clone()).or_default().insert(number);
        }
        for pair in &card.properties {
            self.properties.entry(pair.clone()).or_default().insert(number);
        }
        for (term, weight) in &card.terms {
            self.terms.entry(term.clone()).or_default().insert(number, *weight);
        }
        for link in &card.links {
            self.incoming.entry(link.other).or_default().insert((number, link.kind.clone()), link.weight);
        }
        for document in &card.documents {
            self.documents.entry(*document).or_default().insert(number);
        }
        self.ages.insert((card.last_accessed, number));
        self.cards.insert(number, card);
    }

    /// Removes a concept. The caller removes the links of others to it.
    pub fn take(&mut self, number: u32) {
        let Some(card) = self.cards.remove(&number) else { return };
        self.meanings.take(number);
        leave(&mut self.names, &card.key, number);
        leave(&mut self.categories, &card.category, number);
        card.properties.iter().for_each(|pair| leave(&mut self.properties, pair, number));
        card.documents.iter().for_each(|document| leave(&mut self.documents, document, number));
        for (term, _) in &card.terms {
            if let Some(postings) = self.terms.get_mut(term) {
                postings.remove(&number);
                if postings.is_empty() {
                    self.terms.remove(term);
                }
            }
        }
        for link in &card.links {
            if let Some(from) = self.incoming.get_mut(&link.other) {
                from.remove(&(number, link.kind.clone()));
                if from.is_empty() {
                    self.incoming.remove(&link.other);
                }
            }
        }
        self.ages.remove(&(card.last_accessed, number));
    }

    pub fn len(&self) -> usize {
        self.cards.len()
    }

    pub fn card(&self, number: u32) -> Option<&Card> {
        self.cards.get(&number)
    }

    pub fn numbers_after(&self, after: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        let from = after.map_or(0, |after| after.saturating_add(1));
        self.cards.range(from..).map(|(number, _)| *number)
    }

    /// Concepts whose name has this key.
    pub fn named(&self, key: &str) -> impl Iterator<Item = u32> + '_ {
        self.names.get(key).into_iter().flatten().copied()
    }

    pub fn in_category(&self, key: &str) -> impl Iterator<Item = u32> + '_ {
        self.categories.get(key).into_iter().flatten().copied()
    }

    /// Concepts with a property of this key, and of this value if one is given.
    pub fn with_property(&self, key: &str, value: Option<&str>) -> BTreeSet<u32> {
        let (key, wanted) = property(key, value.unwrap_or_default());
        match value {
            Some(_) => self.properties.get(&(key, wanted)).cloned().unwrap_or_default(),
            None => {
                let from = self.properties.range((key.clone(), String::new())..);
                from.take_while(|((found, _), _)| *found == key).flat_map(|(_, set)| set.iter().copied()).collect()
            }
        }
    }

    /// Concepts with passages of a document. It compares hashes of names, so other documents' concepts may be among
    /// them.
    pub fn of_document(&self, document: &str) -> impl Iterator<Item = u32> + '_ {
        self.documents.get(&document_hash(document)).into_iter().flatten().copied()
    }

    /// Links from other concepts: source, kind and strength.
    pub fn incoming(&self, number: u32) -> impl Iterator<Item = (u32, &str, f64)> + '_ {
        let links = self.incoming.get(&number).into_iter().flatten();
        links.map(|((from, kind), weight)| (*from, kind.as_str(), *weight))
    }

    /// The kinds of `number`, over any number of steps, with the number of steps; nearest first, without itself.
    pub fn kinds_of(&self, number: u32) -> Vec<(u32, usize)> {
        self.closure(number, |at| {
            self.incoming(at).filter(|(_, kind, _)| *kind == IS_A).map(|(from, ..)| from).collect()
        })
    }

    /// The concepts that `number` is a kind of, over any number of steps; nearest first.
    pub fn ancestors(&self, number: u32) -> Vec<(u32, usize)> {
        self.closure(number, |at| {
            let links = self.cards.get(&at).map(|card| card.links.as_slice()).unwrap_or_default();
            links.iter().filter(|link| link.kind == IS_A).map(|link| link.other).collect()
        })
    }

    fn closure(&self, from: u32, step: impl Fn(u32) -> Vec<u32>) -> Vec<(u32, usize)> {
        let mut seen = BTreeSet::from([from]);
        let (mut found, mut frontier) = (Vec::new(), vec![from]);
        for steps in 1..=DEEPEST {
            let next: BTreeSet<u32> =
                frontier.iter().flat_map(|at| step(*at)).filter(|at| !seen.contains(at)).collect();
            if next.is_empty() {
                break;
            }
            seen.extend(next.iter().copied());
            found.extend(next.iter().map(|at| (*at, steps)));
            frontier = next.into_iter().collect();
        }
        found
    }

    pub fn stems_of(&self, text: &str) -> BTreeSet<String> {
        self.stems.of_text(&text.replace('_', " ")).into_iter().collect()
    }

    /// Concepts that share a word with these, with the share of the words' weight that each contains, 0 to 1. Words
    /// that no concept has weigh as much as the rarest.
    pub fn covering(&self, stems: &BTreeSet<String>) -> BTreeMap<u32, f64> {
        let count = self.cards.len().max(FEW) as f64;
        let rarity = |holders: f64| {
            let holders = holders.max(1.0);
            (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln()
        };
        let mut words: Vec<Option<&BTreeMap<u32, f32>>> = stems.iter().map(|stem| self.terms.get(stem)).collect();
        words.sort_by_key(|postings| postings.map_or(0, BTreeMap::len));
        let mut found: BTreeMap<u32, f64> = BTreeMap::new();
        let mut total = 0.0;
        for postings in words {
            let weight = rarity(postings.map_or(0.0, |postings| postings.len() as f64));
            total += weight;
            let Some(postings) = postings else { continue };
            let hit = |hit: &f32| weight * f64::from(*hit);
            if postings.len() <= OPENED.saturating_sub(found.len()) || found.is_empty() {
                // If even the rarest word has too many, the newest are used.
                for (number, in_it) in postings.iter().rev().take(OPENED) {
                    *found.entry(*number).or_insert(0.0) += hit(in_it);
                }
            } else {
                for (number, covered) in &mut found {
                    *covered += postings.get(number).map_or(0.0, hit);
                }
            }
        }
        found.values_mut().for_each(|covered| *covered /= total.max(f64::MIN_POSITIVE));
        found
    }

    /// Concepts that a name could mean: it contains one of their words, or they are near in meaning.
    pub fn candidates(&self, name: &str, most: usize) -> Vec<u32> {
        let stems = self.stems_of(name);
        let postings = stems.iter().filter_map(|stem| self.terms.get(stem));
        // The first of all are among the first of each list, so a word of many names costs no more than others.
        let first = |(number, _): (&u32, _)| *number;
        let of_stem =
            postings.map(|postings| postings.iter().filter(|(_, hit)| **hit >= IN_NAME).map(first).take(most));
        let mut found: BTreeSet<u32> = of_stem.flatten().collect::<BTreeSet<u32>>().into_iter().take(most).collect();
        found.extend(self.nearest(name, 8).into_iter().map(|(number, _)| number));
        found.into_iter().collect()
    }

    /// The stored meaning of a concept's text.
    pub fn meaning_of(&self, number: u32) -> Option<Meaning> {
        self.meanings.of(number)
    }

    /// How similar two words are in meaning, 0 to 1.
    pub fn meaning(&self, a: &str, b: &str) -> f64 {
        self.meanings.alike(a, b)
    }

    /// The nearest in meaning with their similarity, 0 to 1, the nearest first.
    pub fn nearest(&self, text: &str, most: usize) -> Vec<(u32, f64)> {
        self.meanings.nearest(text, most)
    }

    /// Concepts by last access, oldest first, after this place.
    pub fn oldest(&self, after: Option<(Timestamp, u32)>) -> impl Iterator<Item = (Timestamp, u32)> + '_ {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.ages.range((from, Bound::Unbounded)).copied()
    }
}
