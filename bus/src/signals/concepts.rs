//! Concepts, the edges between records of all memory layers, and how repetition becomes a concept.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::recall::{EpisodeFilter, RecalledEpisode};
use crate::signal::Trust;
use crate::units::Confidence;
use crate::{queries, signal};

/// A layer of memory whose records can be linked with those of other layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Hippocampus,
    Atl,
    AngularGyrus,
    /// Causal links. Not one of the three layers, but concepts are promoted from them.
    Nac,
}

impl Layer {
    pub const ALL: [Self; 4] = [Self::Hippocampus, Self::Atl, Self::AngularGyrus, Self::Nac];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hippocampus => "hippocampus",
            Self::Atl => "atl",
            Self::AngularGyrus => "angular_gyrus",
            Self::Nac => "nac",
        }
    }

    /// The layer with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A record of a layer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemoryRef {
    pub layer: Layer,
    pub id: String,
}

impl MemoryRef {
    pub fn new(layer: Layer, id: impl Into<String>) -> Self {
        Self { layer, id: id.into() }
    }
}

/// Property of a measured concept: the name of the tool, goal or person that the measurement is about.
pub const SUBJECT: &str = "subject";

/// What an edge between layers means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CrossKind {
    /// Concept → the episode that it was made from.
    DerivedFrom,
    /// Episode → the concept that it is an instance of.
    InstanceOf,
    /// Pattern → the concept that it supports.
    StatisticallyConfirms,
    /// Math record → the concept that it measures.
    Quantifies,
    /// Both ways.
    TemporallyCorrelates,
    /// Math record → its data.
    ComputedFrom,
    /// Any record → any record.
    Informs,
}

/// An edge between records of any layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossEdge {
    pub kind: CrossKind,
    pub from: MemoryRef,
    pub to: MemoryRef,
    /// How much activation it passes on before the hop's decay, 0 to 1.
    pub weight: f64,
}

/// An edge within one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerEdge {
    pub kind: String,
    pub from: String,
    pub to: String,
    /// How much activation passes from `from` to `to`, 0 to 1.
    pub weight: f64,
    /// How much passes from `to` to `from`; 0 for none.
    pub back: f64,
}

/// A layer has new or stronger edges of its own. The cross-layer graph mirrors them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerLinked {
    pub layer: Layer,
    pub edges: Vec<LayerEdge>,
}

/// A layer's own edges that no longer hold: from, to and kind. Both directions are removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerUnlinked {
    pub layer: Layer,
    pub edges: Vec<(String, String, String)>,
}

/// New edges between layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordsLinked {
    pub edges: Vec<CrossEdge>,
}

/// Records are removed from their layer; their edges are removed everywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordsRemoved {
    pub layer: Layer,
    pub ids: Vec<String>,
    /// True: a person had them forgotten, so knowledge learned from nothing else is removed too. False: the layer
    /// removed them by itself, and what they taught stays.
    #[serde(default)]
    pub forgotten: bool,
    /// A repeated notice, because a forgotten turn had a late result. It removes nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// Records that supported concepts are gone from their layer: each concept's id, with the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourcesRemoved {
    pub gone: Vec<(String, MemoryRef)>,
    /// True: a person had them forgotten, so they are no longer evidence. False: what they taught stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
}

/// The origin of a concept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConceptProvenance {
    #[default]
    EpisodicConsolidation,
    AgentInference,
    DirectIngestion,
    /// More than one of the other origins.
    Hybrid,
}

/// A passage in a document that supports knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePassage {
    pub document: String,
    /// Heading and number of the passage, as a person would look it up.
    pub place: String,
    pub text: String,
}

/// A relation to learn, from a concept to another concept given by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationLesson {
    pub kind: String,
    pub to: String,
    /// The category for `to` if it has to be created.
    pub category: String,
    /// 0 to 1.
    pub weight: f64,
    /// Phase difference in radians, for PHASE_LOCKED_TO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<f64>,
    /// Coupling strength, for PHASE_LOCKED_TO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
}

/// A lesson: it creates a concept, or reinforces the concept that it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConceptLesson {
    pub name: String,
    pub category: String,
    pub definition: Option<String>,
    pub properties: BTreeMap<String, String>,
    pub provenance: ConceptProvenance,
    /// Never more than the trust of the least trusted source that it needs.
    pub trust: Trust,
    /// Its evidence. A source that the concept already has doesn't reinforce it again.
    pub sources: Vec<MemoryRef>,
    pub passage: Option<SourcePassage>,
    pub relations: Vec<RelationLesson>,
}

/// Gives the anterior temporal lobe lessons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnConcepts {
    pub lessons: Vec<ConceptLesson>,
}

/// A concept that a lesson taught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedConcept {
    pub id: String,
    pub name: String,
    pub created: bool,
    /// False when every source was known already, so nothing was learned.
    pub reinforced: bool,
    /// The document said something else of it at that place before.
    #[serde(default)]
    pub changed: bool,
}

/// The results of the lessons, in their order, and the refused ones with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConceptsLearned {
    pub learned: Vec<LearnedConcept>,
    pub refused: Vec<(String, String)>,
}

/// A concept was created or reinforced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConceptFormed {
    pub id: String,
    pub name: String,
    pub category: String,
    pub created: bool,
    pub at: Timestamp,
    pub confidence: Confidence,
    pub trust: Trust,
    pub provenance: ConceptProvenance,
}

/// A concept was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConceptRemoved {
    pub id: String,
    pub name: String,
    /// [`ConceptRemoved::FORGOTTEN`] on request, `pruned` in sleep, [`ConceptRemoved::UNFOUNDED`], or another reason
    /// in words.
    pub reason: String,
}

impl ConceptRemoved {
    /// A person asked for it.
    pub const FORGOTTEN: &str = "forgotten";
    /// A person has forgotten all of its evidence. It may be learned again from other evidence.
    pub const UNFOUNDED: &str = "all that it rested on was forgotten";
}

/// Selects concepts. Empty fields don't filter; `query` ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FindConcepts {
    pub query: Option<String>,
    pub name: Option<String>,
    /// Also matches what is of this kind by IS_A, over any number of steps.
    pub category: Option<String>,
    pub concept_id: Option<String>,
    /// Only concepts with such a relation. With `name` or `concept_id`: only concepts with this relation to it.
    pub relationship_type: Option<String>,
    /// Key of a property.
    pub property: Option<String>,
    /// Value of that property.
    pub value: Option<String>,
    /// 0 means the default of 5.
    pub limit: usize,
}

/// A relation as an answer shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationShown {
    #[serde(rename = "type")]
    pub kind: String,
    /// True when it points from the other concept to this one.
    pub incoming: bool,
    pub concept_id: String,
    pub name: String,
    pub weight: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
}

/// A concept in an answer: the line of `maxim memory concepts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConceptShown {
    pub id: String,
    pub score: f64,
    pub name: String,
    pub category: String,
    pub definition: String,
    pub confidence: Confidence,
    pub reinforcements: u32,
    pub provenance: ConceptProvenance,
    pub trust: Trust,
    pub created: Timestamp,
    pub pinned: bool,
    pub compressed: bool,
    pub properties: BTreeMap<String, String>,
    pub relations: Vec<RelationShown>,
    pub source_episodes: Vec<String>,
    pub passages: Vec<SourcePassage>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConceptsFound {
    pub concepts: Vec<ConceptShown>,
    /// Why the question can't be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Asks a layer for knowledge that is relevant to a text, for the prompt. Every layer of knowledge answers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecallKnowledge {
    pub text: String,
    pub limit: usize,
}

/// One piece of general knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeEntry {
    pub layer: Layer,
    pub id: String,
    pub name: String,
    pub category: String,
    /// The knowledge in words.
    pub text: String,
    /// How well it fits the question, 0 to 1; comparable between layers.
    pub score: f64,
    pub confidence: Confidence,
    pub trust: Trust,
    /// In words, such as `mug IS_A container`.
    pub relations: Vec<String>,
    /// It came from a document.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeRecalled {
    pub layer: Layer,
    pub entries: Vec<KnowledgeEntry>,
}

/// A new kind of relation, proposed at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposeRelationType {
    /// Upper-case words joined by `_`.
    pub name: String,
    pub symmetric: bool,
    /// The inverse type; it is registered too.
    pub inverse: Option<String>,
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationTypeProposed {
    pub name: String,
    pub accepted: bool,
    pub reason: Option<String>,
}

/// The text of a document to learn, or a part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IngestDocument {
    /// Its name, as it will be cited.
    pub document: String,
    pub markdown: bool,
    pub text: String,
    /// Passages before this part in the same document, so that passage numbers continue.
    pub passages_before: u32,
    /// Lessons of this part that were learned already. If an answer leaves some, the next request continues there.
    pub lessons_before: u32,
    /// More parts follow. After the last part, older knowledge from this document that it no longer contains is
    /// removed.
    #[serde(default)]
    pub more: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DocumentIngested {
    pub passages: u32,
    pub created: u32,
    pub reinforced: u32,
    /// Lessons that taught nothing new.
    pub known: u32,
    /// Lessons from a place where the document said something else before.
    #[serde(default)]
    pub changed: u32,
    /// Passages that concepts lost because the document no longer mentions them there.
    #[serde(default)]
    pub dropped: u32,
    pub concepts: Vec<String>,
    /// (name, reason).
    pub refused: Vec<(String, String)>,
    /// Lessons of this part that are still to be learned.
    pub lessons_left: u32,
}

/// Protects a record from pruning and compression, or ends that protection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinRecord {
    pub id: String,
    pub pinned: bool,
}

/// Removes a record from its layer for good, with its edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetRecord {
    pub id: String,
}

/// A record was pinned, unpinned or forgotten; or no record has this id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordChanged {
    pub layer: Layer,
    pub id: String,
    pub found: bool,
    /// Its name or the beginning of its text.
    pub what: String,
}

/// Asks a layer for one step of upkeep: compressing, decaying and pruning what is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsolidateLayer {
    /// Records to check in this step, at most.
    pub step: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerConsolidated {
    pub layer: Layer,
    pub looked_at: u64,
    pub compressed: u64,
    pub pruned: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// True when this round has nothing left to check.
    pub done: bool,
}

/// Records of one layer with their activation, the strongest first, without the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerActivation {
    pub layer: Layer,
    pub records: Vec<(String, f64)>,
}

/// Asks what is associated with given records or with the results of a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallAssociated {
    pub query: Option<String>,
    pub memory_id: Option<String>,
    pub concept_id: Option<String>,
    pub depth: Option<usize>,
    /// Only episodes with this goal. The filters limit the answer, not the path of activation.
    pub goal: Option<String>,
    #[serde(alias = "tool")]
    pub tool_name: Option<String>,
    pub success: Option<bool>,
    pub object: Option<String>,
    pub person: Option<String>,
    pub mode: Option<String>,
    /// Only episodes of this time or later. It doesn't limit where activation starts or spreads.
    pub time_after: Option<Timestamp>,
    /// Only episodes of this time or earlier.
    pub time_before: Option<Timestamp>,
    /// 0 means the default of 5.
    pub limit: usize,
}

/// Associated records by layer; episodes as lines of `maxim memory recall`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssociatedRecalled {
    pub episodes: Vec<RecalledEpisode>,
    pub concepts: Vec<ConceptShown>,
    /// Associated records of other layers, which have no lines of their own here.
    pub others: Vec<LayerActivation>,
    /// What could not be asked.
    pub missing: Vec<String>,
    /// Why there is no starting point: no record has this id.
    pub problem: Option<String>,
}

/// Asks the hippocampus for episodes by their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FetchEpisodes {
    pub ids: Vec<String>,
    /// Return only those that match. Its words and limit are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<EpisodeFilter>,
}

/// An episode as evidence: its trust, and what recurs in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FetchedEpisode {
    /// The id in the request. A turn that repeated an observation shares that observation's episode.
    pub asked: String,
    pub episode: RecalledEpisode,
    /// Seen, done or heard; false for inferred, simulated or read.
    pub experienced: bool,
    /// The session of experience that it belongs to.
    pub sitting: u32,
    pub objects: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodesFetched {
    pub episodes: Vec<FetchedEpisode>,
    pub missing: Vec<String>,
}

signal! {
    LayerLinked: Memory, Lossless;
    LayerUnlinked: Memory, Lossless;
    RecordsLinked: Anywhere, Lossless;
    RecordsRemoved: Memory, Lossless;
    SourcesRemoved: Memory, Lossless;
    ConceptFormed: Memory, Lossless;
    ConceptRemoved: Memory, Lossless;
    LearnConcepts: Anywhere, Lossless;
    ConceptsLearned: Anywhere, Transient;
    FindConcepts: Anywhere, Transient;
    ConceptsFound: Anywhere, Transient;
    RecallKnowledge: Anywhere, Transient;
    KnowledgeRecalled: Anywhere, Transient;
    ProposeRelationType: Anywhere, Transient;
    RelationTypeProposed: Anywhere, Transient;
    IngestDocument: Anywhere, Transient;
    DocumentIngested: Anywhere, Transient;
    PinRecord: Anywhere, Transient;
    ForgetRecord: Anywhere, Transient;
    RecordChanged: Anywhere, Transient;
    ConsolidateLayer: Anywhere, Transient;
    LayerConsolidated: Anywhere, Transient;
    RecallAssociated: Anywhere, Transient;
    AssociatedRecalled: Anywhere, Transient;
    FetchEpisodes: Anywhere, Transient;
    EpisodesFetched: Anywhere, Transient;
}

queries! {
    LearnConcepts => ConceptsLearned, of ANTERIOR_TEMPORAL_LOBE;
    FindConcepts => ConceptsFound, of ANTERIOR_TEMPORAL_LOBE;
    RecallKnowledge => KnowledgeRecalled;
    ProposeRelationType => RelationTypeProposed, of ANTERIOR_TEMPORAL_LOBE;
    IngestDocument => DocumentIngested, of ANTERIOR_TEMPORAL_LOBE;
    PinRecord => RecordChanged;
    ForgetRecord => RecordChanged;
    ConsolidateLayer => LayerConsolidated;
    RecallAssociated => AssociatedRecalled, of CROSS_LAYER_GRAPH;
    FetchEpisodes => EpisodesFetched, of HIPPOCAMPUS;
}
