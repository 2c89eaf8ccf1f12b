//! Edges in an export and back: a record with all its outgoing edges is one line. Ends are named by layer and id,
//! because numbers differ between brains.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::signals::concepts::{Layer, MemoryRef};
use maxim_bus::signals::numbers::is_innate;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::graph::{EdgeKind, Node, ToldEdge};
use super::region::CrossLayerGraph;
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

/// An edge with its end by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedEdge {
    kind: EdgeKind,
    layer: Layer,
    to: String,
    /// 0 to 1.
    weight: f32,
}

impl Remembers for CrossLayerGraph {
    fn parts() -> Vec<&'static str> {
        vec!["edges"]
    }

    /// By layer and id. Only one page is in memory at once, however large the graph is.
    fn recall(&self, _part: &str, after: Option<&str>, limit: usize, _records: &RecordView<'_>) -> Vec<(String, Json)> {
        let after = after.and_then(|after| after.split_once('/'));
        let mut page: BTreeMap<(&str, &str), &Node> = BTreeMap::new();
        for node in self.graph().nodes().filter(|node| !node.edges.is_empty()) {
            let place = (node.layer.as_str(), &*node.id);
            let full = page.len() >= limit;
            if after.is_some_and(|after| place <= after)
                || full && page.last_key_value().is_some_and(|(last, _)| place > *last)
            {
                continue;
            }
            page.insert(place, node);
            if full {
                page.pop_last();
            }
        }
        let line = |((layer, id), node): ((&str, &str), &Node)| {
            Some((format!("{layer}/{id}"), serde_json::to_value(self.named(node)).ok()?))
        };
        page.into_iter().filter_map(line).collect()
    }

    /// Ends get their local names. Edges to a record that doesn't exist here, or whose id is another's here, are left
    /// out and reported.
    fn take_in(&self, entries: &[Entry], names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let (mut told, mut took) = (Vec::new(), Vec::new());
        for entry in entries {
            took.push(read(entry).and_then(|(from, edges)| self.take_edges(&from, edges, names, &mut told)));
        }
        self.change(|draft| told.iter().for_each(|edge| draft.link(edge)), pulse);
        took
    }
}

/// True if a record has the same name in every brain.
fn is_everywhere(record: &MemoryRef) -> bool {
    match record.layer {
        // The id of a kind of event is its name.
        Layer::Nac => true,
        Layer::AngularGyrus => is_innate(&record.id),
        Layer::Hippocampus | Layer::Atl => false,
    }
}

/// The local name of a record of a file; `None` if it isn't known yet, `Some(None)` if the record isn't here.
fn here(record: &MemoryRef, names: &Names) -> Option<Option<MemoryRef>> {
    if is_everywhere(record) {
        return Some(Some(record.clone()));
    }
    names.here(record).map(|here| here.map(|id| MemoryRef::new(record.layer, id)))
}

impl CrossLayerGraph {
    fn take_edges(
        &self,
        theirs: &MemoryRef,
        edges: Vec<NamedEdge>,
        names: &Names,
        told: &mut Vec<ToldEdge>,
    ) -> Result<Took, String> {
        let end = |edge: &NamedEdge| MemoryRef::new(edge.layer, edge.to.clone());
        let all: BTreeSet<MemoryRef> = edges.iter().map(end).chain([theirs.clone()]).collect();
        if all.iter().any(|record| here(record, names).is_none()) {
            let wanted = all.into_iter().filter(|record| !is_everywhere(record));
            return Ok(Took::Wanting(wanted.collect()));
        }
        let told_of = |record: &MemoryRef| format!("{} {:?} of this file isn't here", record.layer, record.id);
        let Some(from) = here(theirs, names).flatten() else { return Err(told_of(theirs)) };
        let known = self.graph().number(&from).and_then(|number| self.graph().node(number));
        let known = known.map(|node| self.named(node)).unwrap_or_default();
        let (mut is_news, mut left_out) = (false, Vec::new());
        for edge in &edges {
            let Some(to) = here(&end(edge), names).flatten() else {
                left_out.push(told_of(&end(edge)));
                continue;
            };
            let same = |old: &&NamedEdge| old.kind == edge.kind && old.layer == to.layer && old.to == to.id;
            if to == from || known.iter().find(same).is_some_and(|old| old.weight >= edge.weight) {
                continue;
            }
            is_news = true;
            let kind = edge.kind.clone();
            told.push(ToldEdge { kind, from: from.clone(), to, weight: edge.weight, back: 0.0 });
        }
        match (left_out.first(), is_news) {
            (None, true) => Ok(Took::Kept),
            (None, false) => Ok(Took::Merged),
            (Some(first), _) => {
                let of = format!("{} of its {} edges are left out", left_out.len(), edges.len());
                Err(format!("{of}: {first}"))
            }
        }
    }
}

impl CrossLayerGraph {
    /// The edges out of a node, the strongest first and equals by name.
    fn named(&self, node: &Node) -> Vec<NamedEdge> {
        let mut edges: Vec<NamedEdge> = node
            .edges
            .iter()
            .filter_map(|edge| {
                let far = self.graph().node(edge.to)?;
                Some(NamedEdge {
                    kind: edge.kind.clone(),
                    layer: far.layer,
                    to: far.id.to_string(),
                    weight: edge.weight,
                })
            })
            .collect();
        edges.sort_by(|a, b| {
            let names = || (a.layer.as_str(), &a.to, &a.kind).cmp(&(b.layer.as_str(), &b.to, &b.kind));
            b.weight.total_cmp(&a.weight).then_with(names)
        });
        edges
    }
}

fn read(entry: &Entry) -> Result<(MemoryRef, Vec<NamedEdge>), String> {
    let from = entry.key.split_once('/').and_then(|(layer, id)| Some(MemoryRef::new(Layer::from_name(layer)?, id)));
    let from = from.ok_or_else(|| format!("{:?} isn't a layer and id, like atl/concept-12", entry.key))?;
    let edges: Vec<NamedEdge> =
        serde_json::from_value(entry.record.clone()).map_err(|error| format!("these aren't edges: {error}"))?;
    match edges.iter().find(|edge| !(0.0..=1.0).contains(&edge.weight)) {
        Some(odd) => Err(format!("the weight of an edge is 0 to 1, not {}", odd.weight)),
        None => Ok((from, edges)),
    }
}
