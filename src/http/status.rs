//! The state of the daemon: `GET /v1/status`, `/healthz` and `/readyz`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::region::{WardKind, WardState};
use maxim_actors::store::{StoreHealth, StoreStatus};
use maxim_bus::latch::{LatchFile, LoadedLatch, StopDetail};
use serde_json::{Map, Value, json};

use super::fields::query_fields;
use super::problem::{Answer, json_answer, ok};
use super::{Served, safety};
use crate::agent::containment::Containment;
use crate::stopping::StopThread;

/// How long to wait for counts and the disk's figures: a status must also come while parts are down.
const PATIENCE: Duration = Duration::from_secs(1);

/// What each layer of memory counts, by the name of its room.
const LAYERS: [(&str, &str); 5] = [
    ("hippocampus", "episodes"),
    ("suprachiasmatic_nucleus", "moments"),
    ("nucleus_accumbens", "links"),
    ("anterior_temporal_lobe", "concepts"),
    ("cross_layer_graph", "edges"),
];

/// `GET /v1/status`.
pub async fn status(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let (disk, Counted { memory, encoder, energy, asleep, hold }, approvals) =
        tokio::join!(disk(&served), counted(&served), approvals(&served));
    let regions = regions(&served);
    let frame = &served.agent.frame;
    let detail = frame.latch.detail();
    let is_stopped = frame.latch.is_stopped();
    let dead_ways: Vec<&str> = dead_stop_threads(&served).into_iter().map(StopThread::word).collect();
    let is_whole = served.body.fault().is_none()
        && dead_ways.is_empty()
        && regions.iter().all(|region| region["state"] == "running")
        && disk["status"] == "ok";
    let state = match (is_stopped, is_whole) {
        (true, _) => "stopped",
        (false, false) => "degraded",
        (false, true) if asleep => "asleep",
        (false, true) => "awake",
    };
    let uptime = frame.clock.now().duration_since(served.started).as_secs();
    ok(&json!({
        "state": state,
        "stop": {
            "latched": is_stopped,
            "reason": detail.as_ref().map(|detail| &detail.reason),
            "at": detail.as_ref().and_then(|detail| detail.at),
            "by": detail.as_ref().map(|detail| &detail.by),
            "who": detail.as_ref().map(|detail| StopDetail::who(&detail.by)),
            "motion": frame.latch.state(),
            "motion_reason": served.agent.supervision.why_held(),
            "dead_ways": dead_ways,
        },
        "hold": hold,
        "approvals": approvals,
        "regions": regions,
        "body": served.body.report(),
        "disk": disk,
        "machines": served.machines.as_ref().map(|machines| machines.document()),
        "llm": served.llm,
        "tokens": served.tokens,
        "tool_servers": served.tool_servers.report(),
        "sandbox": served.containment.as_ref().map(Containment::document),
        "channels": served.channels.report(),
        "memory": memory,
        "encoder": encoder,
        "energy": energy,
        "asks_for": served.proof.kind(),
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "started": served.started,
        "uptime_s": uptime.max(0),
        "agent": frame.agent,
        "chaos": served.chaos,
        "draining": served.draining.load(Ordering::SeqCst),
        "escalations": served.agent.supervision.escalations(),
        "group_escalations": served.agent.supervision.group_escalations(),
        "hung_threads": served.agent.supervision.zombies(),
    }))
}

/// How many questions of the gate wait for a person; null if the store doesn't answer.
async fn approvals(served: &Served) -> Value {
    match tokio::time::timeout(PATIENCE, safety::asked(served)).await {
        Ok(Ok(asked)) => json!({"waiting": asked.len()}),
        _ => Value::Null,
    }
}

/// One object a room, in the order of the anatomy.
pub fn regions(served: &Served) -> Vec<Value> {
    let mut regions = Vec::new();
    for part in served.agent.parts.iter() {
        let heart = served.agent.supervision.heart(part.name);
        let inbox = served.agent.frame.bus.inbox(part.name).map(|inbox| inbox.counters()).unwrap_or_default();
        let mut region = json!({
            "name": part.name,
            "state": heart.as_ref().map_or(WardState::Off, |heart| heart.state()),
            "restarts": heart.as_ref().map_or(0, |heart| heart.restarts()),
            "inbox_depth": inbox.depth,
            "p99_us": heart.as_ref().map_or(0, |heart| heart.p99_us()),
            "kind": if part.kind == WardKind::Effector { "effector" } else { "region" },
            "stage": part.stage,
            "handled": heart.as_ref().map_or(0, |heart| heart.handled()),
            "dead_letters": heart.as_ref().map_or(0, |heart| heart.dead_letters()),
        });
        if let Some(room) = heart.as_ref().and_then(|heart| heart.waits_for()) {
            region["waits_for"] = room.into();
        }
        regions.push(region);
    }
    regions
}

/// The store's figures; a disk that hangs answers as degraded.
async fn disk(served: &Served) -> Value {
    match health(served).await {
        Some(health) => {
            let mut document = disk_document(&health);
            document["backups"] = served.backups.document();
            document
        }
        None => {
            json!({"status": "degraded", "reason": format!("the store has not answered for {} s", PATIENCE.as_secs())})
        }
    }
}

/// The store's health, if it answers in time.
pub async fn health(served: &Served) -> Option<StoreHealth> {
    let store = served.store.clone();
    let asked = tokio::task::spawn_blocking(move || store.health());
    tokio::time::timeout(PATIENCE, asked).await.ok().and_then(Result::ok)
}

fn disk_document(health: &StoreHealth) -> Value {
    let (status, reason) = match &health.status {
        StoreStatus::Ok => ("ok", None),
        StoreStatus::Degraded { reason } => ("degraded", Some(reason)),
    };
    json!({
        "status": status,
        "reason": reason,
        "engine": health.engine,
        "bytes_on_disk": health.bytes_on_disk,
        "live_bytes": health.live_bytes,
        "commits": health.commits,
        "failures": health.failures,
        "waiting_bytes": health.waiting_bytes,
        "damage_seen": health.damage_seen,
        "compactions": health.compactions,
        "compaction_failed": health.compaction_failed,
        "commit_p50_us": health.latency.p50_us,
        "commit_p99_us": health.latency.p99_us,
    })
}

/// How much each built layer holds: fresh if the rooms answer in time, else as last known.
pub async fn memory(served: &Arc<Served>) -> Value {
    counted(served).await.memory
}

/// Counts of the rooms; null for a room that doesn't answer in time.
struct Counted {
    memory: Value,
    /// The progress of the second encoder; null if none is configured.
    encoder: Value,
    /// What was spent, and what is left of the scarcest.
    energy: Value,
    /// A sleep is under way; words wake it.
    asleep: bool,
    /// `{until, by}` while it is on hold.
    hold: Value,
}

async fn counted(served: &Arc<Served>) -> Counted {
    let door = Arc::clone(&served.agent.outside.door);
    let asked = tokio::spawn(async move { door.inquire("system_stats", json!({})).await });
    let fresh = tokio::time::timeout(PATIENCE, asked).await.ok().and_then(Result::ok).and_then(Result::ok);
    let (mut encoder, mut energy, mut asleep, mut hold) = (Value::Null, Value::Null, false, Value::Null);
    if let Some(mut stats) = fresh {
        encoder = stats["regions"]["entorhinal_cortex"]["outer_encoder"].take();
        energy = stats["regions"]["energy"].take();
        hold = stats["regions"]["preemption_circuit"]["hold"].take();
        asleep = !stats["regions"]["memory_hub"]["sleeping"].is_null();
        let mut known = served.figures.memory.lock();
        for (layer, counted) in LAYERS {
            if let Some(count) = stats["regions"][layer][counted].as_u64() {
                known.insert(layer, count);
            }
        }
    }
    served.figures.is_on_hold.store(!hold.is_null(), Ordering::SeqCst);
    let known = served.figures.memory.lock();
    let counts = known.iter().map(|(layer, count)| ((*layer).to_owned(), Value::from(*count)));
    Counted { memory: Value::Object(counts.collect::<Map<_, _>>()), encoder, energy, asleep, hold }
}

/// `GET /healthz`: the process lives and answers.
pub async fn healthz() -> Answer {
    ok(&json!({"status": "alive"}))
}

/// `GET /readyz`: 200 when it can work, latched or not.
pub async fn readyz(State(served): State<Arc<Served>>) -> Answer {
    let missing = missing(&served);
    let status = if missing.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "ready": missing.is_empty(), "latched": served.agent.frame.latch.is_stopped(), "missing": missing,
    });
    Ok(json_answer(status, &body))
}

fn dead_stop_threads(served: &Served) -> Vec<StopThread> {
    served.stop_threads.as_ref().map(|signs| signs.silent()).unwrap_or_default()
}

fn missing(served: &Served) -> Vec<String> {
    let mut missing = Vec::new();
    if let Err(error) = served.agent.frame.store.recover("gateway") {
        missing.push(format!("the store: {error}"));
    }
    if let Some(path) = &served.latch_file
        && !matches!(LatchFile::new(path).load(true), LoadedLatch::Read(_))
    {
        missing.push(format!("the latch file {} can't be read", path.display()));
    }
    if !served.is_stop_path_tested.load(Ordering::SeqCst) {
        missing.push("the stop path is not tested yet".into());
    }
    let dead = dead_stop_threads(served).into_iter();
    missing.extend(dead.map(|thread| format!("stops by {} no longer arrive: its thread is dead", thread.word())));
    let hearts = served.agent.supervision.hearts();
    let down = hearts.iter().filter(|heart| heart.state() != WardState::Running);
    missing.extend(down.map(|heart| format!("{} is {}", heart.name(), heart.state().as_str())));
    if hearts.is_empty() {
        missing.push("no room runs".into());
    }
    missing
}
