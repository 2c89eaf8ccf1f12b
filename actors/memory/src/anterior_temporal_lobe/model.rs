//! One concept. Every field except the identities has a default, so that records of an older shape still load.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::Trust;
use maxim_bus::hash::StableHash;
use maxim_bus::signals::concepts::{ConceptProvenance, Layer, MemoryRef, SourcePassage};
use maxim_bus::units::Confidence;
use maxim_config::{SHARE, Shape, Span, section};
use serde::{Deserialize, Serialize};

/// Sources of a concept, by id; more of them add nothing.
pub const MOST_SOURCES: usize = 256;
/// Maximum number of passages per concept, the first ones.
pub const MOST_PASSAGES: usize = 8;
/// Maximum number of outgoing relations per concept.
pub const MOST_RELATIONS: usize = 128;
/// Maximum number of properties per concept.
pub const MOST_PROPERTIES: usize = 64;
/// Maximum characters of a name.
pub const LONGEST_NAME: usize = 120;
/// Maximum characters of a definition, a property's value or a passage.
pub const LONGEST_TEXT: usize = 1_200;

section! {
    /// What is one concept, and how long it stays whole.
    #[derive(Copy)]
    ConceptLaw = "anterior_temporal_lobe" {
        /// The likeness from which two names mean the same.
        same_name: f64 = "0.8", "share", Shape::Real { low: 0.1, high: 1.0 };
        /// A concept that nobody asked for over this time is consolidated in sleep.
        consolidated_after: Span = "30days", "time", Shape::Span { low: "1h", high: "36500days" };
        /// Confidence in what was taught once.
        confidence_first: f64 = "0.5", "share", SHARE;
        /// What the square root of the number of reinforcements adds to it.
        confidence_growth: f64 = "0.1", "share", SHARE;
        /// Confidence never goes higher.
        confidence_max: f64 = "0.99", "share", SHARE;
    }
    ordered { confidence_first <= confidence_max }
}

impl ConceptLaw {
    /// min(0.99, 0.5 + 0.1 √reinforcements).
    pub fn confidence(&self, reinforcements: u32) -> Confidence {
        let grown = self.confidence_first + self.confidence_growth * f64::from(reinforcements).sqrt();
        Confidence::clamped(grown.min(self.confidence_max))
    }
}
/// Characters of a definition kept after compression.
pub const COMPRESSED_TEXT: usize = 100;
/// Sources kept after compression.
pub const COMPRESSED_SOURCES: usize = 4;
/// An outgoing relation of a concept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    pub kind: String,
    /// Number of the other concept.
    pub to: u32,
    /// 0 to 1.
    pub weight: f64,
    /// How often it was taught.
    pub evidence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
}

fn own() -> Trust {
    Trust::Own
}

/// A remembered concept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SemanticMemory {
    pub id: String,
    pub created: Timestamp,
    #[serde(default)]
    pub last_accessed: Timestamp,
    #[serde(default)]
    pub access_count: u32,
    /// Pinned: neither compressed nor pruned.
    #[serde(default)]
    pub long_term: bool,
    #[serde(default)]
    pub provenance: ConceptProvenance,
    #[serde(default = "own")]
    pub trust: Trust,
    /// The run in which it was made.
    #[serde(default)]
    pub run: String,
    pub name: String,
    #[serde(default)]
    pub category: String,
    #[serde(default)]
    pub definition: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Episodes and other records that it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<MemoryRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<SourcePassage>,
    /// Independent pieces of evidence.
    #[serde(default)]
    pub reinforcements: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub compressed: bool,
    /// Evidence that was counted and is no longer named since compression, one `mark` each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub counted: String,
}

/// Length of a mark, in letters.
const MARK: usize = 6;
/// Marks that a concept keeps, the newest. By then its confidence has long reached its maximum.
const MOST_MARKS: usize = 256;

/// The key of a piece of evidence: 24 bits of a hash.
fn mark(of: &[&str]) -> String {
    let hash = of.iter().fold(StableHash::default(), |hash, part| hash.add_long(part.as_bytes()));
    format!("{:06x}", hash.get() >> 40)
}

fn mark_of_source(source: &MemoryRef) -> String {
    mark(&[&format!("{:?}", source.layer), &source.id])
}

/// Marks a passage by its place, and by its words where they are known. A changed document may say the same at another
/// place, and a copy under another name is no second witness.
fn marks_of_passage(passage: &SourcePassage) -> impl Iterator<Item = String> {
    let said = clipped(&passage.text, LONGEST_TEXT);
    let said = (!said.is_empty()).then(|| mark(&["said", &said]));
    said.into_iter().chain([mark(&["place", &passage.document, &passage.place])])
}

/// The mark of a passage's words in programs before 2026-11.
fn older_mark_of_words(document: &str, said: &str) -> String {
    mark(&["said", document, said])
}

/// How a passage relates to a concept's evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassageKnown {
    New,
    /// It says what is known already.
    Same,
    /// The document said something else at this place.
    Otherwise,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_false(value: &bool) -> bool {
    !value
}

/// The rest of a concept that was not asked for in a long time. All indexes still find it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompressedSemantic {
    pub definition: String,
    pub properties: BTreeMap<String, String>,
    pub sources: Vec<MemoryRef>,
    pub passages: Vec<SourcePassage>,
}

impl SemanticMemory {
    pub fn new(number: u32, name: &str, category: &str, at: Timestamp) -> Self {
        Self {
            id: concept_id(number),
            created: at,
            last_accessed: at,
            access_count: 0,
            long_term: false,
            provenance: ConceptProvenance::default(),
            trust: Trust::Own,
            run: String::new(),
            name: clipped(name.trim(), LONGEST_NAME),
            category: clipped(category.trim(), LONGEST_NAME),
            definition: String::new(),
            properties: BTreeMap::new(),
            sources: Vec::new(),
            passages: Vec::new(),
            reinforcements: 0,
            relations: Vec::new(),
            compressed: false,
            counted: String::new(),
        }
    }

    /// The text that represents it where meanings are compared.
    pub fn embedding_text(&self) -> String {
        let mut text = self.name.clone();
        for part in [&self.category, &self.definition] {
            if !part.is_empty() {
                text.push_str(": ");
                text.push_str(part);
            }
        }
        text
    }

    /// True if it is due and may lose detail.
    pub fn is_due(&self, now: Timestamp, after: SignedDuration) -> bool {
        !self.long_term && now.duration_since(self.last_accessed) >= after
    }

    /// Its compressed form.
    pub fn compress(&self) -> CompressedSemantic {
        let place = |passage: &SourcePassage| SourcePassage { text: String::new(), ..passage.clone() };
        CompressedSemantic {
            definition: clipped(&self.definition, COMPRESSED_TEXT),
            properties: self.properties.iter().take(4).map(|(k, v)| (k.clone(), clipped(v, 40))).collect(),
            sources: self.sources.iter().take(COMPRESSED_SOURCES).cloned().collect(),
            passages: self.passages.iter().take(1).map(place).collect(),
        }
    }

    fn has_counted(&self, mark: &str) -> bool {
        self.counted.as_bytes().chunks(MARK).any(|known| known == mark.as_bytes())
    }

    /// Also counts the evidence of another account of it, one `mark` each.
    pub fn count_as(&mut self, other: &str) {
        let marks = other.as_bytes().chunks(MARK).filter_map(|mark| std::str::from_utf8(mark).ok());
        for mark in marks {
            if !self.has_counted(mark) {
                self.counted.push_str(mark);
            }
        }
        self.counted.drain(..self.counted.len().saturating_sub(MOST_MARKS * MARK));
    }

    /// True if this source is counted already: one piece of evidence counts once.
    pub fn rests_on(&self, source: &MemoryRef) -> bool {
        self.sources.contains(source) || self.has_counted(&mark_of_source(source))
    }

    /// Removes evidence that a person has forgotten. True if it was some.
    pub fn forget(&mut self, source: &MemoryRef) -> bool {
        let (sources, counted) = (self.sources.len(), self.counted.len());
        self.sources.retain(|known| known != source);
        let gone = mark_of_source(source);
        let marks = self.counted.as_bytes().chunks(MARK).filter_map(|mark| std::str::from_utf8(mark).ok());
        self.counted = marks.filter(|mark| *mark != gone).collect();
        let was_some = self.sources.len() < sources || self.counted.len() < counted;
        if was_some && source.layer == Layer::Hippocampus {
            self.reinforcements = self.reinforcements.saturating_sub(1);
        }
        was_some
    }

    /// True if no experience or document supports it any more, and nobody wants it kept.
    pub fn is_unfounded(&self) -> bool {
        self.provenance == ConceptProvenance::EpisodicConsolidation
            && self.reinforcements == 0
            && self.passages.is_empty()
            && !self.long_term
            && self.sources.iter().all(|source| source.layer != Layer::Hippocampus)
    }

    /// How a passage of a document is known. A passage that says the same counts once.
    pub fn knows(&self, passage: &SourcePassage) -> PassageKnown {
        let said = clipped(&passage.text, LONGEST_TEXT);
        let is_there = |known: &&SourcePassage| known.document == passage.document && known.place == passage.place;
        let is_same = |known: &SourcePassage| !said.is_empty() && known.text == said;
        let is_told = self.passages.iter().any(is_same) || self.has_counted_words(&passage.document, &said);
        let is_placed = self.passages.iter().find(is_there).is_some()
            || self.has_counted(&mark(&["place", &passage.document, &passage.place]));
        match (is_told, is_placed) {
            (true, _) => PassageKnown::Same,
            (false, true) if said.is_empty() => PassageKnown::Same,
            (false, true) => PassageKnown::Otherwise,
            (false, false) => PassageKnown::New,
        }
    }

    /// True if one of its passages says this. A compressed concept only keeps the places of passages; then true if
    /// these words were counted.
    pub fn says_as_before(&self, known: &SourcePassage, text: &str) -> bool {
        let said = clipped(text, LONGEST_TEXT);
        known.text == said || (known.text.is_empty() && self.has_counted_words(&known.document, &said))
    }

    fn has_counted_words(&self, document: &str, said: &str) -> bool {
        let marks = [mark(&["said", said]), older_mark_of_words(document, said)];
        !said.is_empty() && marks.iter().any(|mark| self.has_counted(mark))
    }

    /// True if nothing is known of it, and nobody wants it kept.
    pub fn is_bare(&self) -> bool {
        self.definition.is_empty()
            && self.properties.is_empty()
            && self.sources.is_empty()
            && self.passages.is_empty()
            && self.relations.is_empty()
            && self.reinforcements == 0
            && !self.long_term
    }

    /// Loses detail; identity, counts and relations stay.
    pub fn shrink_to(&mut self, small: CompressedSemantic) {
        let CompressedSemantic { definition, properties, sources, passages } = small;
        let let_go = self.sources.iter().filter(|source| !sources.contains(source)).map(mark_of_source);
        let marks: Vec<String> = let_go.chain(self.passages.iter().flat_map(marks_of_passage)).collect();
        self.count_as(&marks.concat());
        (self.definition, self.properties, self.sources, self.passages) = (definition, properties, sources, passages);
        self.compressed = true;
    }
}

/// A concept's number as people and other rooms see it.
pub fn concept_id(number: u32) -> String {
    format!("concept-{number}")
}

/// The number in a concept's id.
pub fn concept_number(id: &str) -> Option<u32> {
    id.strip_prefix("concept-")?.parse().ok()
}

/// The text, cut to a number of characters.
pub fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_grows_with_the_root_of_reinforcements() {
        let expected = [(0, 0.5), (1, 0.6), (4, 0.7), (9, 0.8), (16, 0.9), (25, 0.99), (10_000, 0.99)];
        for (n, value) in expected {
            assert!((ConceptLaw::default().confidence(n).get() - value).abs() < 1e-9, "{n}");
        }
    }

    #[test]
    fn a_record_with_nothing_but_its_identity_loads() {
        let text =
            r#"{"id": "concept-3", "created": "2026-01-05T09:00:00Z", "name": "cup", "field_of_a_later_version": 1}"#;
        let memory: SemanticMemory = serde_json::from_str(text).expect("defaults fill the rest");
        let expected = SemanticMemory::new(3, "cup", "", memory.created);
        assert_eq!(SemanticMemory { last_accessed: memory.created, ..memory }, expected);
    }

    #[test]
    fn a_compressed_concept_is_small_and_keeps_name_counts_and_relations() {
        let at = Timestamp::UNIX_EPOCH;
        let mut memory = SemanticMemory::new(1, "coffee mug", "container", at);
        memory.definition = "long ".repeat(200);
        let episode = |n: u32| MemoryRef::new(Layer::Hippocampus, format!("01941f29-7c00-7000-8000-0000000000{n:02}"));
        memory.sources = (0..50).map(episode).collect();
        memory.relations =
            vec![Relation { kind: "IS_A".into(), to: 2, weight: 1.0, evidence: 1, phase: None, coupling: None }];
        memory.reinforcements = 9;
        let age = ConceptLaw::default().consolidated_after.signed();
        assert!(!memory.is_due(at + SignedDuration::from_hours(29 * 24), age));
        assert!(memory.is_due(at + age, age));
        let before = serde_json::to_vec(&memory).expect("plain data").len();
        memory.shrink_to(memory.compress());
        let after = serde_json::to_vec(&memory).expect("plain data").len();
        assert!(after * 4 < before, "{after} of {before} bytes");
        assert_eq!((memory.name.as_str(), memory.reinforcements, memory.relations.len()), ("coffee mug", 9, 1));
        assert!((0..50).all(|n| memory.rests_on(&episode(n))) && !memory.rests_on(&episode(50)));
        assert!(memory.forget(&episode(0)) && memory.forget(&episode(49)) && !memory.forget(&episode(50)));
        assert!(!memory.rests_on(&episode(0)) && !memory.rests_on(&episode(49)) && memory.rests_on(&episode(48)));
        assert_eq!(memory.reinforcements, 7, "named or only counted");
        memory.long_term = true;
        assert!(!memory.is_due(at + age, age));
    }

    #[test]
    fn ids_carry_their_number() {
        assert_eq!(concept_number(&concept_id(12)), Some(12));
        assert_eq!(concept_number("episode-1"), None);
    }
}
