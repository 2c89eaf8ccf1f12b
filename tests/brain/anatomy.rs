//! The parts list is complete, and rooms that aren't built say so.

use std::path::Path;

use maxim::agent::wiring;

use crate::common::Bench;

#[test]
fn each_region_that_the_design_names_has_its_room() {
    let bench = Bench::new();
    let names: Vec<&str> = bench.agent.parts.iter().map(|part| part.name).collect();
    for wanted in [
        "gateway",
        "preemption_circuit",
        "salience",
        "scene",
        "pain_detector",
        "energy",
        "battery_sense",
        "vital_signs",
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
        "program_reader",
        "execution_tracker",
        "executor",
        "body",
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
    let stats = bench.inquire("system_stats", serde_json::json!({}));
    let regions = stats["regions"].as_object().expect("rooms by name");
    assert!(regions.len() > 15, "{regions:?}");
    for (room, report) in regions {
        assert!(report["available"] != false && report["reason"].is_null(), "{room}: {report}");
    }
    assert_eq!(stats["regions"]["hippocampus"]["episodes"], 0);
}

#[test]
fn a_persons_word_to_the_gate_comes_by_the_door_or_by_what_somebody_said() {
    let bench = Bench::new();
    let say = |signal: &str| -> Vec<&str> {
        let parts = bench.agent.parts.iter().filter(|part| part.says.iter().any(|wire| wire.signal == signal));
        parts.map(|part| part.name).collect()
    };
    assert_eq!(say("ApprovalDecided"), ["door"]);
    // It can only be made from a percept that was said, and only the gateway makes percepts.
    assert_eq!(say("AnswerApproval"), ["habit"]);
    assert_eq!(say("Percept"), ["gateway"]);
}

#[test]
fn the_page_of_the_wiring_is_what_the_cards_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("actors/WIRING.md");
    let page = wiring::page(&Bench::new().agent.parts);
    if std::env::var_os("UPDATE_WIRING").is_some() {
        std::fs::write(&path, &page).expect("actors/WIRING.md is written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(page.lines()).enumerate().find(|(_, (kept, made))| kept != made);
    assert!(
        kept == page,
        "actors/WIRING.md isn't what the cards say{}; run it with UPDATE_WIRING=1",
        differs.map_or_else(String::new, |(at, (kept, made))| format!(", line {}: {kept:?} for {made:?}", at + 1))
    );
}

#[test]
fn every_signal_is_drawn_with_both_of_its_ends() {
    for line in wiring::signals(&Bench::new().agent.parts) {
        assert!(!line.said_by.is_empty() && !line.heard_by.is_empty(), "{line:?}");
    }
}

#[test]
fn every_room_has_its_line_in_the_rooms_readme() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("actors/README.md");
    let text = std::fs::read_to_string(path).expect("actors/README.md is read");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    for part in Bench::new().agent.parts.iter() {
        let named = format!("`{}`", part.name);
        assert!(lines.iter().any(|line| line.contains(&named)), "actors/README.md has no line for {named}");
    }
}
