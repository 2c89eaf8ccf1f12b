//! Adjacency of all layers in memory, and the activation that spreads in it.
//!
//! Spreading activation (Collins & Loftus 1975): child = parent · decay · weight, the maximum over paths, up to a
//! number of hops, above a cut-off. It is the law of the hippocampus (`hippocampus/spreading.rs`) over all layers at
//! once. Edges are sorted by weight, so weak edges of a node are not looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use maxim_bus::signals::concepts::{CrossKind, Layer, MemoryRef};
use serde::{Deserialize, Serialize};

use crate::hippocampus::spreading::Spreading;

/// Maximum number of outgoing edges per record; the weakest are left out.
pub const MOST_EDGES: usize = 512;

/// The kind of an edge: between layers, or a layer's own word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EdgeKind {
    Cross(CrossKind),
    Own(String),
}

/// An outgoing edge of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    #[serde(rename = "k")]
    pub kind: EdgeKind,
    #[serde(rename = "t")]
    pub to: u32,
    #[serde(rename = "w")]
    pub weight: f32,
}

/// A record of some layer and its edges, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub layer: Layer,
    pub id: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
}

/// An edge as it is reported: its records needn't be known yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToldEdge {
    pub kind: EdgeKind,
    pub from: MemoryRef,
    pub to: MemoryRef,
    pub weight: f32,
    /// The weight of the way back, 0 for none.
    pub back: f32,
}

type Activations = hashbrown::HashMap<u32, f32>;

/// The mirror of all layers' edges, and the edges between layers. Nodes are numbered in the order of their first edge.
#[derive(Default)]
pub struct Graph {
    nodes: Vec<Option<Node>>,
    numbers: [HashMap<Arc<str>, u32>; Layer::ALL.len()],
    /// The nodes that point at a node.
    incoming: Vec<Vec<u32>>,
    /// Targets and weights for spreading, beside the nodes: the strongest first.
    passing: Vec<Vec<(u32, f32)>>,
    edges: usize,
}

impl Graph {
    pub fn number(&self, record: &MemoryRef) -> Option<u32> {
        self.numbers[record.layer as usize].get(record.id.as_str()).copied()
    }

    pub fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)?.as_ref()
    }

    /// Existing nodes, by number.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    /// The numbers of existing nodes and of their edges.
    pub fn size(&self) -> (usize, usize) {
        (self.numbers.iter().map(HashMap::len).sum(), self.edges)
    }

    /// Sets a node in place of the previous one; `None` removes it.
    pub fn set(&mut self, number: u32, node: Option<Node>) {
        self.grow(number);
        let at = number as usize;
        let edges = node.as_ref().map(|node| node.edges.clone()).unwrap_or_default();
        self.set_edges(number, edges);
        if let Some(old) = self.nodes[at].take() {
            self.numbers[old.layer as usize].remove(&old.id);
        }
        if let Some(node) = node {
            self.numbers[node.layer as usize].insert(Arc::clone(&node.id), number);
            self.nodes[at] = Some(node);
        }
    }

    fn grow(&mut self, number: u32) {
        let wanted = number as usize + 1;
        if self.nodes.len() < wanted {
            self.nodes.resize_with(wanted, || None);
            self.incoming.resize_with(wanted, Vec::new);
            self.passing.resize_with(wanted, Vec::new);
        }
    }

    /// Sets what a node passes on, and which nodes point at which.
    fn set_edges(&mut self, number: u32, edges: Vec<Edge>) {
        let at = number as usize;
        let before = std::mem::take(&mut self.passing[at]);
        self.edges = self.edges + edges.len() - before.len();
        for (to, _) in before {
            if let Ok(place) = self.incoming[to as usize].binary_search(&number) {
                self.incoming[to as usize].remove(place);
            }
        }
        for edge in &edges {
            self.grow(edge.to);
            let from = &mut self.incoming[edge.to as usize];
            if let Err(place) = from.binary_search(&number) {
                from.insert(place, number);
            }
        }
        self.passing[at] = edges.iter().map(|edge| (edge.to, edge.weight)).collect();
    }

    /// Activation of all nodes that the seeds reach, seeds included; ascending by number.
    pub fn spread(&self, seeds: &[(u32, f64)], how: &Spreading) -> Vec<(u32, f64)> {
        let mut activation = Activations::default();
        let mut frontier: Vec<u32> = Vec::new();
        let (decay, cut_off) = (how.decay as f32, how.cut_off as f32);
        for (node, start) in seeds {
            if raise(&mut activation, *node, *start as f32) {
                frontier.push(*node);
            }
        }
        for _ in 0..how.hops {
            frontier.sort_unstable();
            frontier.dedup();
            // A node's activation when the hop began. It may rise within the hop, but only for the next hop.
            let parents: Vec<(u32, f32)> = frontier.iter().map(|node| (*node, activation[node])).collect();
            frontier.clear();
            for (node, parent) in parents {
                let Some(passing) = self.passing.get(node as usize) else { continue };
                let share = parent * decay;
                for (neighbour, weight) in passing {
                    let child = share * weight;
                    if child < cut_off {
                        break; // edges are sorted by weight
                    }
                    if raise(&mut activation, *neighbour, child) {
                        frontier.push(*neighbour);
                    }
                }
            }
            if frontier.is_empty() {
                break;
            }
        }
        let mut reached: Vec<(u32, f64)> = activation.into_iter().map(|(node, a)| (node, f64::from(a))).collect();
        reached.sort_unstable_by_key(|(node, _)| *node);
        reached
    }
}

impl Graph {
    /// Ids of the concepts that an edge, in either direction, joins with a record.
    pub fn concepts_of(&self, record: &MemoryRef) -> BTreeSet<Arc<str>> {
        let Some((number, node)) = self.number(record).and_then(|number| Some((number, self.node(number)?))) else {
            return BTreeSet::new();
        };
        let pointing = self.incoming.get(number as usize).into_iter().flatten().copied();
        let others = pointing.chain(node.edges.iter().map(|edge| edge.to)).filter_map(|other| self.node(other));
        others.filter(|other| other.layer == Layer::Atl).map(|concept| concept.id.clone()).collect()
    }
}

/// True if the node's activation rose.
fn raise(activation: &mut Activations, node: u32, to: f32) -> bool {
    let known = activation.entry(node).or_insert(f32::NEG_INFINITY);
    let rises = to > *known;
    if rises {
        *known = to;
    }
    rises
}

/// Planned changes to a graph; the graph itself stays as it is.
pub struct Draft<'a> {
    graph: &'a Graph,
    /// Number of the next new node.
    pub next: u32,
    /// Nodes in their new state; `None` for removed ones.
    pub changed: BTreeMap<u32, Option<Node>>,
    fresh: BTreeMap<MemoryRef, u32>,
}

impl<'a> Draft<'a> {
    pub fn new(graph: &'a Graph, next: u32) -> Self {
        Self { graph, next, changed: BTreeMap::new(), fresh: BTreeMap::new() }
    }

    fn number(&self, record: &MemoryRef) -> Option<u32> {
        let known = self.graph.number(record).filter(|number| self.changed.get(number) != Some(&None));
        known.or_else(|| self.fresh.get(record).copied())
    }

    fn number_or_new(&mut self, record: &MemoryRef) -> u32 {
        if let Some(number) = self.number(record) {
            return number;
        }
        let number = self.next;
        self.next += 1;
        self.fresh.insert(record.clone(), number);
        let node = Node { layer: record.layer, id: record.id.as_str().into(), edges: Vec::new() };
        self.changed.insert(number, Some(node));
        number
    }

    fn node(&self, number: u32) -> Option<&Node> {
        match self.changed.get(&number) {
            Some(changed) => changed.as_ref(),
            None => self.graph.node(number),
        }
    }

    /// Adds an edge; of a known edge the stronger weight stays.
    pub fn link(&mut self, told: &ToldEdge) {
        if told.from == told.to {
            return;
        }
        let (from, to) = (self.number_or_new(&told.from), self.number_or_new(&told.to));
        for (from, to, weight) in [(from, to, told.weight), (to, from, told.back)] {
            if weight > 0.0 {
                self.strengthen(from, to, &told.kind, weight.min(1.0));
            }
        }
    }

    fn strengthen(&mut self, from: u32, to: u32, kind: &EdgeKind, weight: f32) {
        let Some(node) = self.node(from) else { return };
        let mut node = node.clone();
        match node.edges.iter_mut().find(|edge| edge.to == to && edge.kind == *kind) {
            Some(edge) if edge.weight >= weight => return,
            Some(edge) => edge.weight = weight,
            None => node.edges.push(Edge { kind: kind.clone(), to, weight }),
        }
        node.edges.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| (a.to, &a.kind).cmp(&(b.to, &b.kind))));
        node.edges.truncate(MOST_EDGES);
        self.changed.insert(from, Some(node));
    }

    /// Removes an edge, both ways.
    pub fn weaken(&mut self, a: &MemoryRef, b: &MemoryRef, kind: &EdgeKind) {
        let (Some(a), Some(b)) = (self.number(a), self.number(b)) else { return };
        for (from, to) in [(a, b), (b, a)] {
            let holds = |edge: &Edge| edge.to == to && edge.kind == *kind;
            let Some(node) = self.node(from).filter(|node| node.edges.iter().any(holds)) else { continue };
            let mut node = node.clone();
            node.edges.retain(|edge| !holds(edge));
            self.changed.insert(from, Some(node));
        }
    }

    /// Removes a record with every edge to and from it.
    pub fn unlink(&mut self, record: &MemoryRef) {
        let Some(number) = self.number(record) else { return };
        let fresh = self.changed.keys().copied().collect::<Vec<u32>>();
        let pointing = self.graph.incoming.get(number as usize).into_iter().flatten().copied();
        for other in pointing.chain(fresh).collect::<BTreeSet<u32>>() {
            let Some(node) = self.node(other).filter(|node| node.edges.iter().any(|edge| edge.to == number)) else {
                continue;
            };
            let mut node = node.clone();
            node.edges.retain(|edge| edge.to != number);
            self.changed.insert(other, Some(node));
        }
        self.fresh.remove(record);
        self.changed.insert(number, None);
    }
}
