//! A document that is read again and says something else. What it said before at that place is removed, with everything
//! that depended on it alone. Nothing is changed here; the room commits the result.

use std::collections::BTreeSet;

use maxim_bus::signals::concepts::{ConceptLesson, Layer, LayerUnlinked, SourcePassage};

use super::document::{self, Passage, source_of};
use super::model::{COMPRESSED_TEXT, LONGEST_TEXT, Relation, SemanticMemory, clipped, concept_id};
use super::region::AnteriorTemporalLobe;
use maxim_language::naming;
use maxim_region::Pulse;

/// The reason for the end of a concept that only a document mentioned.
const UNSAID: &str = "the document that spoke of it doesn't any more";

/// The content of one lesson of a document, with names by their keys.
struct Told {
    place: String,
    subject: String,
    definition: Option<String>,
    /// (type, the other concept).
    relations: Vec<(String, String)>,
}

impl Told {
    fn of(lesson: &ConceptLesson) -> Self {
        let relations = lesson.relations.iter().map(|relation| (relation.kind.clone(), naming::key(&relation.to)));
        Self {
            place: lesson.passage.as_ref().map(|passage| passage.place.clone()).unwrap_or_default(),
            subject: naming::key(&lesson.name),
            definition: lesson.definition.as_deref().map(|text| clipped(text.trim(), LONGEST_TEXT)),
            relations: relations.collect(),
        }
    }

    fn mentions(&self, key: &str) -> bool {
        self.relations.iter().any(|(_, to)| to == key)
    }
}

/// A part of a document in its present state.
pub(super) struct Reading<'a> {
    document: &'a str,
    /// Number of passages in earlier parts.
    before: u32,
    /// True: what the document said beyond this part is no longer said.
    is_last: bool,
    now: Vec<SourcePassage>,
    told: Vec<Told>,
}

/// What a concept lost.
pub(super) struct Revised {
    /// Passages that nothing has replaced.
    pub dropped: u32,
    pub ended: Vec<Relation>,
}

impl<'a> Reading<'a> {
    pub fn new(document: &'a str, passages: &[Passage], lessons: &[ConceptLesson], before: u32, is_last: bool) -> Self {
        let now = passages.iter().map(|passage| source_of(document, passage)).map(whole);
        Self { document, before, is_last, now: now.collect(), told: lessons.iter().map(Told::of).collect() }
    }

    /// Whether this part says anything of the concept.
    fn names(&self, key: &str) -> bool {
        self.told.iter().any(|told| told.subject == key || told.mentions(key))
    }

    fn is_about(&self, key: &str, place: &str) -> bool {
        self.told.iter().any(|told| told.place == place && told.subject == key)
    }

    fn mentions(&self, key: &str, place: &str) -> bool {
        self.told.iter().any(|told| told.place == place && told.mentions(key))
    }

    /// Removes from a concept what the document no longer says. A passage at a place where a lesson will say something
    /// else stays until then, so that the lesson is recognised as a change. `key_of`: the name of another concept by
    /// its number.
    pub fn revise(
        &self,
        key: &str,
        concept: &mut SemanticMemory,
        key_of: impl Fn(u32) -> Option<String>,
    ) -> Option<Revised> {
        let before = concept.clone();
        let stale = self.stale(key, concept);
        let (mut gone, mut dropped) = (Vec::new(), 0);
        for at in stale.into_iter().rev() {
            let old = concept.passages[at].clone();
            let others: BTreeSet<&str> = concept
                .passages
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
                .map(|(_, passage)| passage.text.as_str())
                .collect();
            let fresh = || self.now.iter().filter(|now| !others.contains(now.text.as_str()));
            let will_be_told = fresh().any(|now| now.place == old.place && self.is_about(key, &now.place));
            // A lesson isn't about concepts that it only mentions, so it replaces none of their passages.
            let mentioned = fresh().filter(|now| self.mentions(key, &now.place));
            let instead = mentioned.min_by_key(|now| now.place != old.place).cloned();
            match instead.filter(|_| !will_be_told) {
                _ if will_be_told => {}
                Some(instead) => concept.passages[at] = instead,
                None => {
                    concept.passages.remove(at);
                    concept.reinforcements = concept.reinforcements.saturating_sub(1);
                    dropped += 1;
                }
            }
            gone.push(old);
        }
        let ended = if gone.is_empty() { Vec::new() } else { self.unlearn(key, concept, &gone, key_of) };
        (*concept != before).then_some(Revised { dropped, ended })
    }

    /// Places of passages that the document no longer contains. Passages that moved within it are updated.
    fn stale(&self, key: &str, concept: &mut SemanticMemory) -> Vec<usize> {
        let end = self.before.saturating_add(self.now.len() as u32);
        let mut stale = Vec::new();
        for at in 0..concept.passages.len() {
            let known = &concept.passages[at];
            let Some(number) = number_of(&known.place).filter(|_| known.document == self.document) else { continue };
            let says = |now: &&SourcePassage| concept.says_as_before(known, &now.text);
            if number <= self.before || self.now.iter().filter(says).any(|now| now.place == known.place) {
                continue;
            }
            let is_of_it = |now: &&SourcePassage| self.is_about(key, &now.place) || self.mentions(key, &now.place);
            match self.now.iter().filter(says).find(is_of_it).map(|now| now.place.clone()) {
                Some(place) => concept.passages[at].place = place,
                None if number <= end || self.is_last => stale.push(at),
                None => {}
            }
        }
        stale
    }

    /// Removes the definition and the relations that depended only on what is gone. Returns the relations that ended.
    fn unlearn(
        &self,
        key: &str,
        concept: &mut SemanticMemory,
        gone: &[SourcePassage],
        key_of: impl Fn(u32) -> Option<String>,
    ) -> Vec<Relation> {
        let of_passage = |passage: &SourcePassage| {
            // A compressed concept keeps the beginning of its definition, and only the places of its passages.
            let text = if passage.text.is_empty() { &concept.definition } else { &passage.text };
            told_in(&SourcePassage { text: text.clone(), ..passage.clone() })
        };
        let about = |told: &Told| told.subject == key;
        let was: Vec<Told> = gone.iter().flat_map(of_passage).filter(about).collect();
        let kept = concept.passages.iter().filter(|passage| !gone.contains(passage)).flat_map(told_in);
        let kept: Vec<Told> = kept.filter(about).collect();
        let is_instead = |told: &&Told| about(told) && gone.iter().any(|old| old.place == told.place);
        let now: Vec<&Told> = self.told.iter().filter(is_instead).chain(&kept).collect();
        let defines = |told: &Told| {
            let said = told.definition.as_deref().filter(|_| !concept.definition.is_empty());
            said.is_some_and(|said| said == concept.definition || clipped(said, COMPRESSED_TEXT) == concept.definition)
        };
        if was.iter().any(defines) && !now.iter().any(|told| defines(told)) {
            concept.definition = now.iter().find_map(|told| told.definition.clone()).unwrap_or_default();
        }
        let is_told = |told: &Told, kind: &str, to: &str| told.relations.iter().any(|(k, t)| k == kind && t == to);
        let has_ended = |relation: &Relation| {
            let Some(to) = key_of(relation.to).filter(|_| relation.evidence <= 1) else { return false };
            was.iter().any(|told| is_told(told, &relation.kind, &to))
                && !now.iter().any(|told| is_told(told, &relation.kind, &to))
        };
        let (ended, left) = std::mem::take(&mut concept.relations).into_iter().partition(has_ended);
        concept.relations = left;
        ended
    }
}

/// In the form in which a concept keeps it.
fn whole(passage: SourcePassage) -> SourcePassage {
    SourcePassage { text: clipped(&passage.text, LONGEST_TEXT), ..passage }
}

/// The number in "Heading, passage 3".
fn number_of(place: &str) -> Option<u32> {
    place.rsplit_once("passage ")?.1.parse().ok()
}

/// The content of a passage, as when it was read.
fn told_in(passage: &SourcePassage) -> Vec<Told> {
    let heading = passage.place.rsplit_once(", passage ").map_or("", |(heading, _)| heading);
    let number = number_of(&passage.place).unwrap_or_default();
    let read = Passage { heading: heading.to_owned(), number, text: passage.text.clone() };
    document::lessons(&passage.document, &[read]).iter().map(Told::of).collect()
}

impl AnteriorTemporalLobe {
    /// Removes everything that a document said. False if no document of this name is known.
    pub(super) fn forget_document(&self, document: &str, pulse: &mut Pulse<'_, Self>) -> bool {
        let is_known = self.index.of_document(document).next().is_some();
        let (mut left, _) = self.revise(&Reading::new(document, &[], &[], 0, true), pulse);
        // It is unknown which marks of a compressed concept come from this document, which may be read again.
        left.iter_mut().for_each(|(_, concept)| concept.counted.clear());
        self.store_all(left, pulse);
        is_known
    }

    /// Removes what a document no longer says. Returns the concepts that lost something but are still known, to be
    /// stored, and the number of removed passages. Concepts with nothing left are removed.
    pub(super) fn revise(
        &self,
        reading: &Reading<'_>,
        pulse: &mut Pulse<'_, Self>,
    ) -> (Vec<(u32, SemanticMemory)>, u32) {
        let (mut left, mut ended, mut dropped) = (Vec::new(), BTreeSet::new(), 0);
        for number in self.index.of_document(reading.document) {
            let Some((card, mut concept)) = self.index.card(number).zip(self.memory(number, pulse)) else { continue };
            let key_of = |other: u32| self.index.card(other).map(|card| card.key.clone());
            let Some(revised) = reading.revise(&card.key, &mut concept, key_of) else { continue };
            dropped += revised.dropped;
            ended.extend(revised.ended.into_iter().map(|relation| (number, relation.to, relation.kind)));
            left.push((number, concept));
        }
        let is_nothing = |(number, concept): &(u32, SemanticMemory)| {
            let has_ended = |(from, kind, _): (u32, &str, f64)| ended.contains(&(from, *number, kind.to_owned()));
            concept.is_bare()
                && !reading.names(&naming::key(&concept.name))
                && self.index.incoming(*number).all(has_ended)
        };
        let (gone, left): (Vec<_>, Vec<_>) = left.into_iter().partition(is_nothing);
        gone.iter().for_each(|(number, _)| drop(self.remove(*number, UNSAID, pulse)));
        if !ended.is_empty() {
            let edges = ended.into_iter().map(|(from, to, kind)| (concept_id(from), concept_id(to), kind));
            pulse.emit(LayerUnlinked { layer: Layer::Atl, edges: edges.collect() });
        }
        (left, dropped)
    }
}
