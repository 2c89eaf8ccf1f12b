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
mod section;
pub mod suprachiasmatic_nucleus;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;
use maxim_bus::mode::Mode;
use maxim_bus::signals::concepts::RecallKnowledge;
use maxim_language::Encoder;
use maxim_region::Placement::{Own, Pool};
use maxim_region::{Room, hearers};

use angular_gyrus::{AngularGyrus, GyrusSettings, NumberLaw};
use anterior_temporal_lobe::model::ConceptLaw;
use anterior_temporal_lobe::{AnteriorTemporalLobe, AtlSettings};
use cross_layer_graph::{CrossLayerGraph, GraphSettings};
use enrichment::{Enrichment, EnrichmentSettings};
use entorhinal_cortex::law::LikenessWeights;
use entorhinal_cortex::{EntorhinalCortex, EntorhinalSettings};
use hippocampus::law::{CaptureLaw, LinkKeys, LinkLaw};
use hippocampus::retention::RetentionLaw;
use hippocampus::text_index::{RecallKeys, Weights};
use hippocampus::{Hippocampus, HippocampusSettings};
use memory_hub::{HubSettings, MemoryHub};
pub use section::Memory;
use suprachiasmatic_nucleus::keys::ClockKeys;
use suprachiasmatic_nucleus::oscillators::HebbLaw;
use suprachiasmatic_nucleus::rhythm::RhythmLaw;
use suprachiasmatic_nucleus::{ScnSettings, SuprachiasmaticNucleus};

maxim_config::sections! {
    /// The stage's part of the configuration.
    Sections {
        memory: Memory,
        hippocampus: LinkKeys,
        recall: RecallKeys,
        sleep: RetentionLaw,
        suprachiasmatic_nucleus: ClockKeys,
        entorhinal_cortex: LikenessWeights,
        anterior_temporal_lobe: ConceptLaw,
        angular_gyrus: NumberLaw,
    }
}

/// The settings of the stage.
#[derive(Clone)]
pub struct Settings {
    pub sections: Sections,
    /// Identifies this run of the process.
    pub run: String,
    /// The mode of memories, unless a lower one is in force.
    pub mode: Mode,
    /// The time zone of days.
    pub zone: TimeZone,
    /// Makes the vectors of texts.
    pub encoder: Arc<dyn Encoder>,
    /// The name of the external encoder, if there is one.
    pub outer: Option<String>,
    /// Tools whose results are other people's words.
    pub hearsay: BTreeSet<String>,
    /// Number of episodes added to a percept, `habit.evidence_max`.
    pub evidence: usize,
    /// True if a mind thinks; then it is also told associations.
    pub thinks: bool,
}

/// The rooms of the stage, in the order of a percept.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    let Settings { sections, run, mode, zone, encoder, outer, hearsay, evidence, thinks } = settings.clone();
    let asks_meaning = outer.is_some();
    let links = LinkLaw::from(&sections.hippocampus);
    let hippocampus = HippocampusSettings {
        zone: zone.clone(),
        mode,
        run: run.clone(),
        encoder: Arc::clone(&encoder),
        asks_meaning,
        budget_bytes: Some(sections.memory.episodes_max.get()),
        capture: CaptureLaw::from(&sections.memory),
        links,
        retention: sections.sleep,
        weights: Weights::from(&sections.recall),
        hearsay,
    };
    let times = ScnSettings {
        zone: zone.clone(),
        oscillators: sections.memory.oscillators,
        hebb: HebbLaw::from(&sections.suprachiasmatic_nucleus),
        rhythm: RhythmLaw::from(&sections.suprachiasmatic_nucleus),
    };
    let situations =
        EntorhinalSettings { encoder: Arc::clone(&encoder), outer, zone, weights: sections.entorhinal_cortex };
    let concepts = AtlSettings { run: run.clone(), encoder, asks_meaning, law: sections.anterior_temporal_lobe };
    let numbers = GyrusSettings { run: run.clone(), law: sections.angular_gyrus };
    let graph = GraphSettings { spreading: links.spreading, ..GraphSettings::default() };
    let hub = HubSettings { run, idle: sections.memory.session_idle.signed() };
    let enrichment = move |knowledge_rooms| EnrichmentSettings {
        deadline: sections.memory.enrichment_deadline.signed(),
        episodes: evidence,
        spreads: thinks,
        knowledge_rooms,
        knowledge: sections.memory.knowledge_max as usize,
    };
    vec![
        Hippocampus::room(Own, hippocampus),
        SuprachiasmaticNucleus::room(Pool, times),
        EntorhinalCortex::room(Pool, situations),
        AnteriorTemporalLobe::room(Pool, concepts),
        AngularGyrus::room(Pool, numbers),
        CrossLayerGraph::room(Pool, graph),
        MemoryHub::room(Pool, hub),
        Room::among::<Enrichment>(Pool, move |parts| enrichment(hearers::<RecallKnowledge>(parts))),
    ]
}
