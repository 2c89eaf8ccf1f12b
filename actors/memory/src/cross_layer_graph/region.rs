//! The cross-layer graph as a room: mirrors each layer's edges, stores those between layers, and spreads activation
//! through both.
//!
//! Biology: the association fibres between the regions of memory.
//! Law: spreading activation, decay 0.5 a hop (`graph.rs`). A removed record takes its edges with it, everywhere, in
//! one commit. If another room reports something of it afterwards, because it hadn't heard yet, this makes no edge.
//! Remembers: each record that has edges, with these; for some minutes, removed records. Forgets: with the records.
//! Down: new edges wait in its inbox; nothing is associated meanwhile.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::rooms;
use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::concepts::{
    AssociatedRecalled, ConceptsFound, EpisodesFetched, FetchEpisodes, FindConcepts, KnowledgeRecalled, Layer,
    LayerLinked, LayerUnlinked, MemoryRef, RecallAssociated, RecallKnowledge, RecordsLinked, RecordsRemoved,
    SourcesRemoved,
};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{EpisodesRecalled, RecallEpisodes, ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::association::Open;
use super::doubted::Doubted;
use super::gone::Gone;
use super::graph::{Draft, EdgeKind, Graph, Node, ToldEdge};
use crate::hippocampus::spreading::Spreading;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, RecordView, Region};

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct GraphSettings {
    /// How long to wait for another room. Default 1 s.
    pub deadline: SignedDuration,
    /// How activation spreads, the same as in the hippocampus.
    pub spreading: Spreading,
}

impl Default for GraphSettings {
    fn default() -> Self {
        Self { deadline: SignedDuration::from_secs(1), spreading: Spreading::default() }
    }
}

#[derive(Default, Serialize, Deserialize)]
pub struct CrossLayerGraph {
    /// Number of the next node.
    next: u32,
    pub(super) open: BTreeMap<MessageId, Box<Open>>,
    pub(super) gone: Gone,
    /// Edges that are added when the hippocampus has confirmed their episodes, by the question to it.
    pub(super) doubted: BTreeMap<MessageId, Doubted>,
    #[serde(skip)]
    graph: Graph,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GraphEvent {
    /// Nodes in their present state; `None` for removed ones.
    Changed {
        nodes: Vec<(u32, Option<Node>)>,
        next: u32,
    },
    Asked {
        id: MessageId,
        open: Box<Open>,
    },
    Answered {
        id: MessageId,
    },
    /// Edges wait for an answer, in place of a question that wasn't answered.
    Doubted {
        before: Option<MessageId>,
        question: MessageId,
        doubted: Doubted,
    },
    Settled {
        question: MessageId,
    },
    /// Records were removed from their layers.
    LetGo {
        records: Vec<MemoryRef>,
        at: Timestamp,
        /// A person had them forgotten.
        forgotten: bool,
    },
}

wiring!(CrossLayerGraph {
    hears: [
        LayerLinked,
        LayerUnlinked,
        RecordsLinked,
        RecordsRemoved,
        RecallAssociated,
        EpisodesRecalled,
        ConceptsFound,
        KnowledgeRecalled,
        EpisodesFetched,
        AssociationsFollowed,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [
        RecallEpisodes,
        FindConcepts,
        RecallKnowledge,
        FetchEpisodes,
        FollowAssociations,
        SourcesRemoved,
        AssociatedRecalled,
        StatsReported,
        RecordsExported,
        RecordsImported,
    ],
});

impl Region for CrossLayerGraph {
    const NAME: RegionName = rooms::CROSS_LAYER_GRAPH;
    const STAGE: Stage = Stage::Memory;
    type Event = GraphEvent;
    type Settings = GraphSettings;

    fn apply(&mut self, event: GraphEvent) {
        match event {
            GraphEvent::Changed { nodes, next } => {
                self.next = next;
                nodes.into_iter().for_each(|(number, node)| self.graph.set(number, node));
            }
            GraphEvent::Asked { id, open } => {
                self.open.insert(id, open);
            }
            GraphEvent::Answered { id } => {
                self.open.remove(&id);
            }
            GraphEvent::Doubted { before, question, doubted } => {
                before.map(|before| self.doubted.remove(&before));
                self.doubted.insert(question, doubted);
            }
            GraphEvent::Settled { question } => drop(self.doubted.remove(&question)),
            GraphEvent::LetGo { records, at, forgotten } => self.gone.note(records, at, forgotten),
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, _settings: &GraphSettings) {
        self.graph = Graph::default();
        for (key, bytes) in records.prefixed(NODES.as_bytes(), usize::MAX) {
            match (number_of(&key), serde_json::from_slice::<Node>(&bytes)) {
                (Some(number), Ok(node)) => self.graph.set(number, Some(node)),
                (_, Err(error)) => {
                    tracing::error!(key = %String::from_utf8_lossy(&key), %error, "a node's record has another shape");
                }
                (None, Ok(_)) => {}
            }
        }
    }

    fn next_deadline(&self, _settings: &GraphSettings) -> Option<Timestamp> {
        let doubted = self.doubted.values().map(|doubted| doubted.due);
        self.open.values().map(|open| open.gather.due).chain(doubted).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for (id, open) in self.open.iter().filter(|(_, open)| open.gather.due <= now) {
            self.give_up(*id, open.as_ref().clone(), pulse);
        }
        self.ask_again(pulse);
    }
}

/// Prefix of the nodes' records.
const NODES: &str = "node/";

fn node_key(number: u32) -> Vec<u8> {
    format!("{NODES}{number:08x}").into_bytes()
}

fn number_of(key: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(key).ok()?.strip_prefix(NODES)?, 16).ok()
}

impl CrossLayerGraph {
    pub(super) fn change(&self, think: impl FnOnce(&mut Draft<'_>), pulse: &mut Pulse<'_, Self>) {
        let mut draft = Draft::new(&self.graph, self.next);
        think(&mut draft);
        if draft.changed.is_empty() {
            return;
        }
        for (number, node) in &draft.changed {
            match node {
                Some(node) => pulse.put(node_key(*number), node),
                None => pulse.remove(node_key(*number)),
            }
        }
        let next = draft.next;
        pulse.keep(GraphEvent::Changed { nodes: draft.changed.into_iter().collect(), next });
    }

    /// Everything that one hop over this room's edges reaches, its starting points included.
    pub(super) fn hop(&self, from: &[(MemoryRef, f64)], spreading: &Spreading) -> Vec<(MemoryRef, f64)> {
        let known: Vec<(u32, f64)> =
            from.iter().filter_map(|(record, activation)| Some((self.graph.number(record)?, *activation))).collect();
        let reached = self.graph.spread(&known, &Spreading { hops: 1, ..*spreading }).into_iter();
        let named = |(number, activation): (u32, f64)| {
            let node = self.graph.node(number)?;
            Some((MemoryRef::new(node.layer, &*node.id), activation))
        };
        reached.filter_map(named).collect()
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Hears<LayerLinked> for CrossLayerGraph {
    fn hear(&self, linked: &LayerLinked, pulse: &mut Pulse<'_, Self>) {
        let told = linked.edges.iter().map(|edge| ToldEdge {
            kind: EdgeKind::Own(edge.kind.clone()),
            from: MemoryRef::new(linked.layer, edge.from.clone()),
            to: MemoryRef::new(linked.layer, edge.to.clone()),
            weight: edge.weight as f32,
            back: edge.back as f32,
        });
        let told: Vec<ToldEdge> = told.collect();
        self.change(|draft| told.iter().for_each(|edge| draft.link(edge)), pulse);
    }
}

impl Hears<LayerUnlinked> for CrossLayerGraph {
    fn hear(&self, gone: &LayerUnlinked, pulse: &mut Pulse<'_, Self>) {
        let record = |id: &String| MemoryRef::new(gone.layer, id.clone());
        let edges = gone.edges.iter().map(|(from, to, kind)| (record(from), record(to), EdgeKind::Own(kind.clone())));
        let edges: Vec<_> = edges.collect();
        self.change(|draft| edges.iter().for_each(|(from, to, kind)| draft.weaken(from, to, kind)), pulse);
    }
}

impl Hears<RecordsLinked> for CrossLayerGraph {
    fn hear(&self, linked: &RecordsLinked, pulse: &mut Pulse<'_, Self>) {
        self.take_told(&linked.edges, pulse);
    }
}

impl Hears<RecordsRemoved> for CrossLayerGraph {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let gone: Vec<MemoryRef> = removed.ids.iter().map(|id| MemoryRef::new(removed.layer, id.clone())).collect();
        self.let_go(&gone, removed.forgotten, pulse);
    }
}

impl CrossLayerGraph {
    /// Removes records with all their edges, and tells concepts which sources they lost.
    fn let_go(&self, records: &[MemoryRef], forgotten: bool, pulse: &mut Pulse<'_, Self>) {
        self.change(|draft| records.iter().for_each(|record| draft.unlink(record)), pulse);
        pulse.keep(GraphEvent::LetGo { records: records.to_vec(), at: pulse.now(), forgotten });
        let sources = records.iter().filter(|record| record.layer != Layer::Atl);
        let rested = |source: &MemoryRef| {
            let concepts = self.graph.concepts_of(source).into_iter();
            concepts.map(|concept| (concept.to_string(), source.clone())).collect::<Vec<_>>()
        };
        let gone: Vec<(String, MemoryRef)> = sources.flat_map(rested).collect();
        if !gone.is_empty() {
            pulse.emit(SourcesRemoved { gone, forgotten });
        }
    }
}

impl Hears<ReportStats> for CrossLayerGraph {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let (nodes, edges) = self.graph.size();
        let counts = serde_json::json!({ "records": nodes, "edges": edges });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
