//! Rooms of memory that run but aren't built out.

use crate::thin_room;

thin_room! {
    /// What it means: concepts and their relations.
    AnteriorTemporalLobe, "anterior_temporal_lobe", Memory
}
thin_room! {
    /// Edges between the layers of memory.
    CrossLayerGraph, "cross_layer_graph", Memory
}
