//! The parts list is whole, and what isn't built says so.

use maxim_actors::region::WardKind;

use crate::common::Bench;

#[test]
fn each_region_that_the_design_names_has_its_room() {
    let bench = Bench::new();
    let names: Vec<&str> = bench.agent.parts.iter().map(|part| part.name).collect();
    for wanted in [
        "gateway",
        "preemption_circuit",
        "salience",
        "pain_detector",
        "energy",
        "battery_sense",
        "hippocampus",
        "suprachiasmatic_nucleus",
        "entorhinal_cortex",
        "anterior_temporal_lobe",
        "angular_gyrus",
        "cross_layer_graph",
        "memory_hub",
        "enrichment",
        "working_memory",
        "habit",
        "prefrontal_cortex",
        "autonomy",
        "fear_agent",
        "execution_tracker",
        "executor",
        "introspector",
        "cause_ledger",
        "tool_index",
        "nucleus_accumbens",
        "cerebellum",
        "statistician",
        "intraparietal_sulcus",
        "significance",
        "planning_bridge",
        "salience_bridge",
        "spatial_bridge",
        "fear_bridge",
        "escalation_bridge",
        "communication_bridge",
        "consolidation",
        "semantic_promoter",
        "llm_worker",
        "door",
        "console_channel",
        "http_channel",
        "websocket_channel",
    ] {
        assert!(names.contains(&wanted), "{wanted} has no room; there are {names:?}");
    }
}

#[test]
fn every_room_that_reports_says_that_its_work_is_built() {
    let mut bench = Bench::new();
    assert!(bench.agent.parts.iter().all(|part| part.kind != WardKind::Thin));
    let stats = bench.inquire("system_stats", serde_json::json!({}));
    let regions = stats["regions"].as_object().expect("rooms by name");
    assert!(regions.len() > 15, "{regions:?}");
    for (room, report) in regions {
        assert!(report["available"] != false && report["reason"].is_null(), "{room}: {report}");
    }
    assert_eq!(stats["regions"]["hippocampus"]["episodes"], 0);
}
