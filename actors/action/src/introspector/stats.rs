//! The brain's figures at a glance, from its rooms' reports.

use std::collections::BTreeMap;

use maxim_bus::RegionName;
use maxim_bus::rooms;
use maxim_bus::signals::introspection::{RoomVitals, VitalsSensed};
use serde_json::{Value as Json, json};

/// The room that watches the health of the rooms.
pub(super) const VITALS: RegionName = rooms::VITAL_SIGNS;

/// What is counted, with the room that counts it and the room's word for it.
const COUNTED: [(&str, &str, &str); 5] = [
    ("episodes", "hippocampus", "episodes"),
    ("links", "nucleus_accumbens", "links"),
    ("signatures", "entorhinal_cortex", "signatures"),
    ("concepts", "anterior_temporal_lobe", "concepts"),
    ("pain_signals", "pain_detector", "pains"),
];

/// How many rooms run, and which don't or were rebuilt.
pub(super) fn health(sensed: &VitalsSensed) -> Json {
    if let Some(reason) = &sensed.reason {
        return json!({ "available": false, "reason": reason });
    }
    let is_well = |one: &&RoomVitals| one.state == "running";
    let worth_telling: Vec<&RoomVitals> = sensed.rooms.iter().filter(|one| !is_well(one) || one.restarts > 0).collect();
    json!({
        "rooms": sensed.rooms.len(),
        "running": sensed.rooms.iter().filter(is_well).count(),
        "restarts": sensed.rooms.iter().map(|one| one.restarts).sum::<u64>(),
        "not_as_usual": worth_telling,
    })
}

/// `counts`, `energy`, `significance` (its weights) and `health`; besides these each room's report, and the rooms that
/// didn't answer.
pub(super) fn summed(mut reports: BTreeMap<String, Json>, missing: Vec<String>) -> Json {
    let silent = || json!({ "available": false, "reason": format!("{VITALS} did not answer in time") });
    let health = reports.remove(VITALS).unwrap_or_else(silent);
    let of = |room: &str, name: &str| reports.get(room).map_or(Json::Null, |report| report[name].clone());
    let counts: BTreeMap<&str, Json> = COUNTED.iter().map(|(shown, room, name)| (*shown, of(room, name))).collect();
    json!({
        "counts": counts,
        "energy": reports.get("energy"),
        "significance": of("significance", "weights"),
        "health": health,
        "regions": reports,
        "missing": missing,
    })
}
