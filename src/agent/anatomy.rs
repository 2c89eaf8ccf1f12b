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
use maxim_actors::deliberation::habit::Habit;
use maxim_actors::deliberation::prefrontal_cortex::{PrefrontalCortex, PrefrontalSettings};
use maxim_actors::deliberation::working_memory::WorkingMemory;
use maxim_actors::effectors::battery::{BatterySense, SUPPLIES};
use maxim_actors::effectors::body::{BodyKeeper, DriverPlan};
use maxim_actors::effectors::channels::outside::OutsideActor;
use maxim_actors::effectors::channels::{
    Channel, ChannelActor, Console, Discord, Email, Http, Mqtt, Slack, Telegram, Twilio, WebSocket,
};
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
use maxim_actors::region::{Region, WardKind};
use maxim_actors::sleep::Consolidation;
use maxim_actors::sleep::semantic_promoter::{PromoterSettings, SemanticPromoter};
use maxim_bus::RegionName;
use std::sync::Arc;

use super::{AgentSettings, Kit};

/// Puts all rooms into the kit.
pub fn furnish(kit: &mut Kit, settings: &AgentSettings) {
    // What is happening
    kit.region::<Gateway>(Pool, settings.gateway.clone());
    kit.region::<PreemptionCircuit>(Own, ());
    kit.region::<SalienceRoom>(Pool, SalienceSettings::default());
    kit.region::<Scene>(Pool, ());
    kit.region::<PainDetector>(Pool, ());
    kit.region::<Energy>(Pool, settings.energy.clone());
    kit.effector::<BatterySense>(Pool, |_| Box::new(|| BatterySense::new(SUPPLIES)));
    kit.effector::<VitalSigns>(Pool, |_| Box::new(|| VitalSigns));

    // What it reminds of
    kit.region::<Hippocampus>(Own, settings.hippocampus.clone());
    kit.region::<SuprachiasmaticNucleus>(Pool, settings.suprachiasmatic_nucleus.clone());
    kit.region::<EntorhinalCortex>(Pool, settings.entorhinal_cortex.clone());
    let encoder = settings.text_encoder.clone();
    // A folder's model is read and used on its own thread.
    let placement = if encoder.is_some() { Own } else { Pool };
    kit.effector::<TextEncoder>(placement, |_| Box::new(move || TextEncoder::new(encoder.clone())));
    kit.region::<AnteriorTemporalLobe>(Pool, settings.anterior_temporal_lobe.clone());
    kit.region::<AngularGyrus>(Pool, settings.angular_gyrus.clone());
    let spreading = settings.hippocampus.links.spreading;
    kit.region::<CrossLayerGraph>(Pool, GraphSettings { spreading, ..GraphSettings::default() });
    kit.region::<MemoryHub>(Pool, settings.memory_hub.clone());
    let (thin, mut knowledge_rooms) = (Vec::new(), hearing(kit, "RecallKnowledge"));
    // It stands among those who learn, further down.
    knowledge_rooms.push(NucleusAccumbens::NAME);
    let enrichment =
        EnrichmentSettings { thin, knowledge_rooms: knowledge_rooms.clone(), ..settings.enrichment.clone() };
    kit.region::<Enrichment>(Pool, enrichment);

    // What to do
    kit.region::<Goals>(Pool, ());
    kit.region::<WorkingMemory>(Pool, ());
    kit.region::<Habit>(Pool, settings.habit.clone());
    kit.region::<PrefrontalCortex>(Pool, PrefrontalSettings { knowledge_rooms, ..settings.prefrontal.clone() });
    let model = settings.model.clone();
    kit.effector::<LlmWorker>(Own, |_| Box::new(move || LlmWorker::new(model.clone())));

    // Whether to
    kit.region::<Autonomy>(Pool, settings.autonomy.clone());
    kit.region::<FearAgent>(Own, settings.fear.clone());
    let programs = ProgramFiles::new(&settings.hands);
    kit.effector::<ProgramReader>(Pool, |_| Box::new(move || ProgramReader { programs: programs.clone() }));

    // Doing it
    kit.region::<ExecutionTracker>(Own, settings.tracker.clone());
    let (registry, hands) = (Arc::clone(&settings.registry), settings.hands.clone());
    kit.effector::<Executor>(Own, |_| {
        Box::new(move || Executor { registry: Arc::clone(&registry), hands: hands.clone() })
    });
    let body = settings.body.clone();
    // Who renews the lease of a body must not wait for anybody.
    let placement = if body.plan().driver == DriverPlan::None { Pool } else { Own };
    kit.effector::<BodyKeeper>(placement, |_| Box::new(move || BodyKeeper::new(body.clone())));
    kit.region::<Outbox>(Pool, settings.outbox.clone());
    kit.region::<CauseLedger>(Pool, settings.ledger.clone());
    kit.region::<ToolIndexRoom>(Pool, settings.tool_index.clone());

    // What it taught
    kit.region::<NucleusAccumbens>(Pool, settings.nucleus_accumbens.clone());
    kit.region::<Cerebellum>(Pool, settings.laws.skills);
    kit.region::<Statistician>(
        Pool,
        StatisticianSettings { law: settings.laws.patterns, ..StatisticianSettings::default() },
    );
    kit.region::<IntraparietalSulcus>(Pool, settings.laws.quick);
    kit.region::<SignificanceLearner>(Pool, settings.laws.significance);
    kit.region::<PlanningBridge>(Pool, ());
    kit.region::<SalienceBridge>(Pool, ());
    kit.region::<SpatialBridge>(Pool, ());
    kit.region::<FearBridge>(Pool, settings.laws.contexts);
    let zone = settings.suprachiasmatic_nucleus.zone.clone();
    kit.region::<EscalationBridge>(Pool, EscalationSettings { zone, law: settings.laws.asking });
    kit.region::<CommunicationBridge>(Pool, settings.suprachiasmatic_nucleus.zone.clone());

    // What to keep
    kit.region::<Consolidation>(Pool, settings.consolidation.clone());
    let (sources, judge) = (hearing(kit, "OfferCandidates"), hearing(kit, "JudgeSeries").first().copied());
    kit.region::<SemanticPromoter>(Pool, PromoterSettings { sources, judge, ..settings.semantic_promoter.clone() });

    // Hands and mouths
    kit.effector::<DoorKeeper>(Pool, |outside| {
        let door = Arc::clone(&outside.door);
        Box::new(move || DoorKeeper { door: Arc::clone(&door) })
    });
    kit.effector::<ChannelActor<Console>>(Pool, |outside| {
        let desk = Arc::clone(&outside.console);
        Box::new(move || ChannelActor::new(Arc::clone(&desk)))
    });
    kit.effector::<ChannelActor<Http>>(Pool, |outside| {
        let desk = Arc::clone(&outside.http);
        Box::new(move || ChannelActor::new(Arc::clone(&desk)))
    });
    kit.effector::<ChannelActor<WebSocket>>(Pool, |outside| {
        let desk = Arc::clone(&outside.websocket);
        Box::new(move || ChannelActor::new(Arc::clone(&desk)))
    });
    outside::<Mqtt>(kit, settings);
    outside::<Telegram>(kit, settings);
    outside::<Slack>(kit, settings);
    outside::<Twilio>(kit, settings);
    outside::<Discord>(kit, settings);
    outside::<Email>(kit, settings);

    // Rooms that the anatomy doesn't know
    settings.own_rooms.iter().for_each(|room| room(kit));

    // Looking inward: asks every room above that reports stats.
    let mut rooms = hearing(kit, "ReportStats");
    // A brain that only remembers runs none of these.
    let of_acting = [PreemptionCircuit::NAME, FearAgent::NAME, PainDetector::NAME];
    rooms.retain(|room| settings.acts || !of_acting.contains(room));
    debug_assert!(kit.parts.iter().all(|part| part.kind != WardKind::Thin || rooms.contains(&part.name)));
    kit.region::<Introspector>(Pool, IntrospectorSettings { rooms, ..settings.introspector.clone() });
}

/// A channel that reaches outside.
fn outside<C: Channel>(kit: &mut Kit, settings: &AgentSettings) {
    let channels = Arc::clone(&settings.channels);
    kit.effector::<OutsideActor<C>>(Pool, move |outside| {
        let (desk, line) = (outside.desk(C::CHANNEL), channels.line(C::CHANNEL).cloned());
        Box::new(move || match (&desk, &line) {
            (Some(desk), Some(line)) => OutsideActor::new(Arc::clone(desk), Arc::clone(line)),
            _ => unreachable!("every channel that reaches outside has a desk and a line"),
        })
    });
}

/// Rooms so far that hear this signal.
fn hearing(kit: &Kit, signal: &str) -> Vec<RegionName> {
    let hears = |part: &&super::Part| part.hears.iter().any(|wire| wire.signal == signal);
    kit.parts.iter().filter(hears).map(|part| part.name).collect()
}
