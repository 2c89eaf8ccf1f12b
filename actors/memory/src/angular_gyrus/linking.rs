//! The layer's edges, as reported to the cross-layer graph: those of its own graph, and those from correlated metrics
//! to the data they were computed from.

use maxim_bus::signals::concepts::{CrossEdge, CrossKind, Layer, LayerEdge, LayerLinked, MemoryRef, RecordsLinked};
use maxim_bus::signals::numbers::{MathCategory, MathRecord};

use super::model::{MathStore, strength};
use super::region::{AngularGyrus, METRICS};
use maxim_region::Pulse;

/// A relationship is linked with the records that it names, in both directions.
const RELATES: &str = "RELATES";

fn is_pair(record: &MathRecord) -> bool {
    record.category == MathCategory::Relationship && record.domain == METRICS
}

/// Pairs of a relationship and a record that it names, if `record` is one of the two; it doesn't matter which came
/// first.
fn joined<'a>(record: &'a MathRecord, store: &'a MathStore) -> Vec<(&'a MathRecord, &'a MathRecord)> {
    let named = record.relates.iter().filter_map(|name| store.named(name)).map(|named| (record, named));
    let relating = store.relating(&record.name);
    let relating = relating.into_iter().filter_map(|id| store.get(&id)).filter(|relating| relating.id != record.id);
    named.chain(relating.map(|relating| (relating, record))).collect()
}

fn own_edge((relationship, named): (&MathRecord, &MathRecord)) -> LayerEdge {
    let weight = strength(relationship);
    LayerEdge { kind: RELATES.into(), from: relationship.id.clone(), to: named.id.clone(), weight, back: weight }
}

fn cross_edges((pair, metric): (&MathRecord, &MathRecord)) -> [CrossEdge; 2] {
    let id = |record: &MathRecord| MemoryRef::new(Layer::AngularGyrus, record.id.clone());
    let weight = strength(pair);
    [CrossKind::TemporallyCorrelates, CrossKind::ComputedFrom].map(|kind| CrossEdge {
        kind,
        from: id(pair),
        to: id(metric),
        weight,
    })
}

/// Reports how a new or renewed record is linked with the stored ones. The edges go with the records.
pub(super) fn tell_edges(record: &MathRecord, store: &MathStore, pulse: &mut Pulse<'_, AngularGyrus>) {
    let joined = joined(record, store);
    let edges: Vec<LayerEdge> = joined.iter().map(|ends| own_edge(*ends)).collect();
    if !edges.is_empty() {
        pulse.emit(LayerLinked { layer: Layer::AngularGyrus, edges });
    }
    let pairs = joined.iter().filter(|(relationship, _)| is_pair(relationship));
    let edges: Vec<CrossEdge> = pairs.flat_map(|ends| cross_edges(*ends)).collect();
    if !edges.is_empty() {
        pulse.emit(RecordsLinked { edges });
    }
}
