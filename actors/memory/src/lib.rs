//! What it reminds of.

#![deny(clippy::disallowed_methods)]

pub mod angular_gyrus;
pub mod anterior_temporal_lobe;
pub mod cross_layer_graph;
pub mod enrichment;
pub mod entorhinal_cortex;
pub mod hippocampus;
pub mod memory_hub;
pub mod packing;
pub mod suprachiasmatic_nucleus;
