//! The parts list: every room of the brain, in the order in which a percept passes them.
//!
//! What a room hears and says stands on its own wiring card; the bus refuses cards that don't fit together. Own threads
//! for what may be slow or is on the safety path, shared ones for the rest.

use maxim_actors::action::cause_ledger::CauseLedger;
use maxim_actors::action::execution_tracker::ExecutionTracker;
use maxim_actors::action::executor::Executor;
use maxim_actors::action::introspector::{Introspector, IntrospectorSettings};
use maxim_actors::action::outbox::Outbox;
use maxim_actors::action::tool_index::ToolIndexRoom;
use maxim_actors::action::tools::program_files::ProgramFiles;
use maxim_actors::deliberation::goals::Goals;
use maxim_actors::deliberation::prefrontal_cortex::{PrefrontalCortex, PrefrontalSettings};
use maxim_actors::deliberation::turns::Turns;
use maxim_actors::deliberation::working_memory::WorkingMemory;
use maxim_actors::effectors::battery::BatterySense;
use maxim_actors::effectors::body::BodyKeeper;
use maxim_actors::effectors::channels;
use maxim_actors::effectors::door::DoorKeeper;
use maxim_actors::effectors::llm_worker::LlmWorker;
use maxim_actors::effectors::program_reader::ProgramReader;
use maxim_actors::effectors::text_encoder::TextEncoder;
use maxim_actors::effectors::vital_signs::VitalSigns;
use maxim_actors::gate::autonomy::Autonomy;
use maxim_actors::gate::fear_agent::FearAgent;
use maxim_actors::learning::bridges::{
    CommunicationBridge, EscalationBridge, EscalationSettings, FearBridge, PlanningBridge, SalienceBridge,
    SpatialBridge,
};
use maxim_actors::learning::cerebellum::Cerebellum;
use maxim_actors::learning::intraparietal_sulcus::IntraparietalSulcus;
use maxim_actors::learning::nucleus_accumbens::NucleusAccumbens;
use maxim_actors::learning::significance::SignificanceLearner;
use maxim_actors::learning::statistician::{Statistician, StatisticianSettings};
use maxim_actors::memory::angular_gyrus::AngularGyrus;
use maxim_actors::memory::anterior_temporal_lobe::AnteriorTemporalLobe;
use maxim_actors::memory::cross_layer_graph::{CrossLayerGraph, GraphSettings};
use maxim_actors::memory::enrichment::{Enrichment, EnrichmentSettings};
use maxim_actors::memory::entorhinal_cortex::EntorhinalCortex;
use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::memory::memory_hub::MemoryHub;
use maxim_actors::memory::suprachiasmatic_nucleus::SuprachiasmaticNucleus;
use maxim_actors::perception::energy::Energy;
use maxim_actors::perception::gateway::Gateway;
use maxim_actors::perception::pain_detector::PainDetector;
use maxim_actors::perception::preemption_circuit::PreemptionCircuit;
use maxim_actors::perception::salience::{SalienceRoom, SalienceSettings};
use maxim_actors::perception::scene::Scene;
use maxim_actors::region::Placement::{Own, Pool};
use maxim_actors::region::Region;
use maxim_actors::sleep::Consolidation;
use maxim_actors::sleep::semantic_promoter::{PromoterSettings, SemanticPromoter};
use maxim_bus::RegionName;
use std::sync::Arc;

use super::{AgentSettings, Kit};

/// Puts all rooms into the kit.
pub fn furnish(kit: &mut Kit, settings: &AgentSettings) {
    // What is happening
    kit.add(Gateway::room(Pool, settings.gateway.clone()));
    kit.add(PreemptionCircuit::room(Own, ()));
    kit.add(SalienceRoom::room(Pool, SalienceSettings::default()));
    kit.add(Scene::room(Pool, ()));
    kit.add(PainDetector::room(Pool, ()));
    kit.add(Energy::room(Pool, settings.energy.clone()));
    kit.add(BatterySense::room());
    kit.add(VitalSigns::room());

    // What it reminds of
    kit.add(Hippocampus::room(Own, settings.hippocampus.clone()));
    kit.add(SuprachiasmaticNucleus::room(Pool, settings.suprachiasmatic_nucleus.clone()));
    kit.add(EntorhinalCortex::room(Pool, settings.entorhinal_cortex.clone()));
    kit.add(TextEncoder::room(settings.text_encoder.clone()));
    kit.add(AnteriorTemporalLobe::room(Pool, settings.anterior_temporal_lobe.clone()));
    kit.add(AngularGyrus::room(Pool, settings.angular_gyrus.clone()));
    let spreading = settings.hippocampus.links.spreading;
    kit.add(CrossLayerGraph::room(Pool, GraphSettings { spreading, ..GraphSettings::default() }));
    kit.add(MemoryHub::room(Pool, settings.memory_hub.clone()));
    let mut knowledge_rooms = hearing(kit, "RecallKnowledge");
    // It stands among those who learn, further down.
    knowledge_rooms.push(NucleusAccumbens::NAME);
    let enrichment = EnrichmentSettings { knowledge_rooms: knowledge_rooms.clone(), ..settings.enrichment.clone() };
    kit.add(Enrichment::room(Pool, enrichment));

    // What to do
    kit.add(Goals::room(Pool, ()));
    kit.add(WorkingMemory::room(Pool, ()));
    kit.add(Turns::room(Pool, settings.habit.clone()));
    kit.add(PrefrontalCortex::room(Pool, PrefrontalSettings { knowledge_rooms, ..settings.prefrontal.clone() }));
    kit.add(LlmWorker::room(settings.model.clone()));

    // Whether to
    kit.add(Autonomy::room(Pool, settings.autonomy.clone()));
    kit.add(FearAgent::room(Own, settings.fear.clone()));
    kit.add(ProgramReader::room(ProgramFiles::new(&settings.hands)));

    // Doing it
    kit.add(ExecutionTracker::room(Own, settings.tracker.clone()));
    kit.add(Executor::room(Arc::clone(&settings.registry), settings.hands.clone()));
    kit.add(BodyKeeper::room(settings.body.clone()));
    kit.add(Outbox::room(Pool, settings.outbox.clone()));
    kit.add(CauseLedger::room(Pool, settings.ledger.clone()));
    kit.add(ToolIndexRoom::room(Pool, settings.tool_index.clone()));

    // What it taught
    kit.add(NucleusAccumbens::room(Pool, settings.nucleus_accumbens.clone()));
    kit.add(Cerebellum::room(Pool, settings.laws.skills));
    kit.add(Statistician::room(
        Pool,
        StatisticianSettings { law: settings.laws.patterns, ..StatisticianSettings::default() },
    ));
    kit.add(IntraparietalSulcus::room(Pool, settings.laws.quick));
    kit.add(SignificanceLearner::room(Pool, settings.laws.significance));
    kit.add(PlanningBridge::room(Pool, ()));
    kit.add(SalienceBridge::room(Pool, ()));
    kit.add(SpatialBridge::room(Pool, ()));
    kit.add(FearBridge::room(Pool, settings.laws.contexts));
    let zone = settings.suprachiasmatic_nucleus.zone.clone();
    kit.add(EscalationBridge::room(Pool, EscalationSettings { zone, law: settings.laws.asking }));
    kit.add(CommunicationBridge::room(Pool, settings.suprachiasmatic_nucleus.zone.clone()));

    // What to keep
    kit.add(Consolidation::room(Pool, settings.consolidation.clone()));
    let (sources, judge) = (hearing(kit, "OfferCandidates"), hearing(kit, "JudgeSeries").first().copied());
    kit.add(SemanticPromoter::room(Pool, PromoterSettings { sources, judge, ..settings.semantic_promoter.clone() }));

    // Hands and mouths
    kit.add(DoorKeeper::room(&kit.outside));
    for channel in channels::rooms(&kit.outside, &settings.channels) {
        kit.add(channel);
    }

    // Rooms that the anatomy doesn't know
    settings.own_rooms.iter().for_each(|room| kit.add(room()));

    // Looking inward: asks every room above that reports stats.
    let mut rooms = hearing(kit, "ReportStats");
    // A brain that only remembers runs none of these.
    let of_acting = [PreemptionCircuit::NAME, FearAgent::NAME, PainDetector::NAME];
    rooms.retain(|room| settings.acts || !of_acting.contains(room));
    kit.add(Introspector::room(Pool, IntrospectorSettings { rooms, ..settings.introspector.clone() }));
}

/// Rooms so far that hear this signal.
fn hearing(kit: &Kit, signal: &str) -> Vec<RegionName> {
    let hears = |part: &&super::Part| part.hears.iter().any(|wire| wire.signal == signal);
    kit.parts.iter().filter(hears).map(|part| part.name).collect()
}
