//! The whole agent, through its public doors, with its store on disk, its recorder and its rooms. Nothing is switched
//! off.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::effectors::channels::{Desk, Submission};
use maxim_actors::effectors::tool_servers::ListFolder;
use maxim_actors::region::{Frame, Tap};
use maxim_actors::store::{StateStore, StoreOptions};
use maxim_bus::clock::{Stopwatch, SystemClock};
use maxim_bus::latch::{EffectKind, StopDetail, StopLatch};
use maxim_bus::{AgentId, SharedClock, Trust};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::agent::{Agent, AgentSettings, AgentWorld};
use crate::config::Settings;
use crate::recorder::{Header, Limits, Recorder};
use crate::working_set::let_go_of_start;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Episodes that are remembered before the measurement.
    pub episodes: usize,
    /// Percepts one after another.
    pub alone: usize,
    /// Percepts with `IN_FLIGHT` turns in flight.
    pub sustained: usize,
    /// Percepts sent at once.
    pub burst: usize,
    /// Stops while idle and stops behind percepts; each is on disk before the next.
    pub stops: usize,
    pub seed: u64,
}

/// Turns in flight for the sustained figure.
const IN_FLIGHT: usize = 64;
/// Lines of an import that go in one message.
const IMPORT: usize = 64;
/// Percepts that wait while stops are measured, at most.
const BEHIND: usize = 100_000;

/// A bench that can't run.
pub type Broken = Box<dyn std::error::Error + Send + Sync>;

/// Runs in a separate folder. Must be called where an actix `System` is current.
///
/// # Errors
/// The folder can't be used, or the agent doesn't start or answer.
pub async fn run(folder: &Path, load: Workload) -> Result<Value, Broken> {
    let started = Stopwatch::start();
    let (agent, store, recorder) = start(folder, load.seed)?;
    let ready_ms = until_up(&agent, &started).await;
    recorder.rooms_are_up();
    let filled = fill(&agent, load).await?;
    let reopened_ms = match load.episodes {
        0 => ready_ms,
        _ => {
            end(agent, store, recorder)?;
            let again = Stopwatch::start();
            let (agent_again, store_again, recorder_again) = start(folder, load.seed)?;
            let took = until_up(&agent_again, &again).await;
            recorder_again.rooms_are_up();
            return measure(folder, load, (agent_again, store_again, recorder_again), took, filled).await;
        }
    };
    measure(folder, load, (agent, store, recorder), reopened_ms, filled).await
}

type Running = (Agent, StateStore, Arc<Recorder>);

async fn measure(
    folder: &Path,
    load: Workload,
    running: Running,
    ready_ms: f64,
    filled: Value,
) -> Result<Value, Broken> {
    let (agent, store, recorder) = running;
    let desk = Arc::clone(&agent.outside.http);
    // As the daemon does when it is ready.
    let_go_of_start();
    let idle_rss = rss_mb();
    let mut alone = Vec::with_capacity(load.alone);
    for n in 0..load.alone {
        alone.push(turn(&desk, format!("remember that item {n} of run {} lies in box {}", load.seed, n % 97)).await?);
    }
    let (sustained_s, sustained) = many(&desk, load.sustained, IN_FLIGHT).await?;
    let (burst_s, burst) = many(&desk, load.burst, load.burst).await?;
    let stop = stops(&agent.frame, load.stops);
    let stop_behind = stops_behind(&agent, load.burst.min(BEHIND), load.stops).await?;
    let health = store.health();
    let figures = json!({
        "episodes": load.episodes,
        "seed": load.seed,
        "switched_off": [],
        "start_to_ready_ms": ready_ms,
        "import": filled,
        "percept_to_reply_us": quantiles(alone),
        "sustained": { "in_flight": IN_FLIGHT, "percepts": load.sustained, "per_s": load.sustained as f64 / sustained_s, "us": quantiles(sustained) },
        "burst": { "percepts": load.burst, "ended": burst.len(), "lost": load.burst - burst.len(), "per_s": load.burst as f64 / burst_s },
        "stop_to_refused_us": stop,
        "stop_to_refused_under_load_us": stop_behind,
        "rss_idle_mb": idle_rss,
        "rss_end_mb": rss_mb(),
        "disk_mb": folder_bytes(folder) as f64 / 1e6,
        "store_mb": folder_bytes(&folder.join("store")) as f64 / 1e6,
        "commit_us": { "p50": health.latency.p50_us, "p99": health.latency.p99_us },
        "binary_mb": std::env::current_exe().and_then(std::fs::metadata).map_or(0.0, |file| file.len() as f64 / 1e6),
    });
    end(agent, store, recorder)?;
    Ok(figures)
}

fn start(folder: &Path, seed: u64) -> Result<Running, Broken> {
    let settings = Settings::default();
    let workdir = folder.join("work");
    std::fs::create_dir_all(&workdir)?;
    let (store, report) = StateStore::open(&folder.join("store"), StoreOptions::default())?;
    let latch = StopLatch::open(&folder.join("latch.json"), !report.fresh)?;
    let saved = folder.join("saved");
    let rooms = AgentSettings::new(&settings, report.boot, &workdir, &saved, ListFolder::default())?;
    let id = AgentId::new("bench")?;
    let clock: SharedClock = Arc::new(SystemClock);
    let header = Header::new(id.clone(), seed, report.boot, &settings, &workdir, &saved);
    let limits = Limits::from(&settings.recorder);
    let recordings = folder.join("recordings");
    let recorder = Recorder::start(recordings, limits, store.agent(&id), Arc::clone(&clock), header, &rooms)?;
    let tap = Some(Arc::clone(&recorder) as Arc<dyn Tap>);
    let world = AgentWorld { store: store.agent(&id), id, clock, latch, seed, tap };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    Ok((Agent::live(world, &rooms, threads)?, store, recorder))
}

fn end(agent: Agent, store: StateStore, recorder: Arc<Recorder>) -> Result<(), Broken> {
    agent.stop();
    drop(agent);
    recorder.close();
    store.close()?;
    Ok(())
}

async fn until_up(agent: &Agent, watch: &Stopwatch) -> f64 {
    while !agent.supervision.is_up() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    watch.elapsed().as_secs_f64() * 1e3
}

/// Imports generated episodes, durably.
async fn fill(agent: &Agent, load: Workload) -> Result<Value, Broken> {
    const THINGS: [&str; 12] =
        ["cup", "lamp", "book", "key", "box", "plant", "towel", "spoon", "phone", "chair", "knife", "shelf"];
    const PLACES: [&str; 8] = ["kitchen", "office", "hallway", "garage", "lab", "bedroom", "balcony", "workshop"];
    let watch = Stopwatch::start();
    let mut kept = 0;
    let mut word = load.seed | 1;
    for first in (0..load.episodes).step_by(IMPORT) {
        let line = |n: usize, word: &mut u64| {
            *word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (thing, place) = (THINGS[(*word >> 33) as usize % 12], PLACES[(*word >> 41) as usize % 8]);
            let at = jiff::Timestamp::from_second(1_700_000_000 + n as i64 * 61).unwrap_or_default();
            json!({
                "id": format!("ep{n:07}"), "timestamp": at, "people": ["Anna"],
                "text": format!("person {} saw the {thing} number {} in the {place}", *word >> 57, *word % 997),
                "tool": "move", "params": { "target": thing }, "success": !word.is_multiple_of(4), "goal": format!("find the {thing}"),
            })
            .to_string()
        };
        let last = (first + IMPORT).min(load.episodes);
        let lines = (first..last).map(|n| (n as u64, line(n, &mut word))).collect();
        kept += agent.outside.door.import(lines, true).await?.kept;
    }
    let took = watch.elapsed().as_secs_f64();
    Ok(json!({ "kept": kept, "per_s": if kept > 0 { kept as f64 / took } else { 0.0 } }))
}

/// One percept to the end of its turn; returns microseconds.
async fn turn(desk: &Desk, body: String) -> Result<u64, Broken> {
    let watch = Stopwatch::start();
    let (channel, sender) = ("http".to_owned(), "bench".to_owned());
    let accepted = desk.submit(Submission { channel, sender, body, provider_id: None, trust: Trust::Owner }).await??;
    tokio::time::timeout(Duration::from_secs(300), desk.turn(accepted.percept)).await???;
    Ok(u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX))
}

/// `count` percepts with at most `in_flight` at once. Returns seconds for all, and microseconds for each.
async fn many(desk: &Arc<Desk>, count: usize, in_flight: usize) -> Result<(f64, Vec<u64>), Broken> {
    let watch = Stopwatch::start();
    let (mut running, mut took) = (JoinSet::<Result<u64, Broken>>::new(), Vec::with_capacity(count));
    for n in 0..count {
        if running.len() >= in_flight
            && let Some(ended) = running.join_next().await
        {
            took.extend(ended?.ok());
        }
        let desk = Arc::clone(desk);
        running.spawn(
            async move { turn(&desk, format!("remember that number {n} is painted in colour {}", n % 89)).await },
        );
    }
    while let Some(ended) = running.join_next().await {
        took.extend(ended?.ok());
    }
    Ok((watch.elapsed().as_secs_f64(), took))
}

/// The same while percepts wait and turns run. The effect of the stops on those turns isn't checked.
async fn stops_behind(agent: &Agent, percepts: usize, count: usize) -> Result<Value, Broken> {
    let desk = Arc::clone(&agent.outside.http);
    let behind = tokio::spawn(async move { many(&desk, percepts, percepts).await.map(drop) });
    let frame = agent.frame.clone();
    let took = tokio::task::spawn_blocking(move || stops(&frame, count)).await?;
    behind.abort();
    Ok(took)
}

/// The time from a stop call until an effect is refused, many times.
fn stops(frame: &Frame, count: usize) -> Value {
    let latch = &frame.latch;
    let mut took = Vec::with_capacity(count);
    for _ in 0..count {
        let watch = Stopwatch::start();
        let detail = StopDetail { reason: "bench".into(), by: "bench".into(), at: Some(frame.clock.now()) };
        latch.raise(detail);
        let refused = latch.permit(EffectKind::Other).is_err();
        took.push(if refused { watch.elapsed().as_nanos() as f64 / 1e3 } else { f64::INFINITY });
        // Each stop is on disk before the next. If the disk refuses, the agent stays stopped, and the next figure
        // counts all the same.
        let _ = latch.reset().and_then(|_| latch.resume());
    }
    took.sort_by(f64::total_cmp);
    let at = |per_mille: usize| took.get((count * per_mille / 1000).min(count.saturating_sub(1)));
    json!({ "stops": count, "p50": at(500), "p99": at(990), "p999": at(999), "most": at(1000) })
}

pub(super) fn quantiles(mut took: Vec<u64>) -> Value {
    took.sort_unstable();
    let at = |share: f64| took.get(((took.len() as f64 * share) as usize).min(took.len().saturating_sub(1))).copied();
    json!({ "p50": at(0.5), "p99": at(0.99), "p999": at(0.999) })
}

pub(super) fn rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).map_or(0.0, |kib| kib * 1024.0 / 1e6)
}

pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => folder_bytes(&entry.path()),
            // Blocks, not length: the pack file has holes.
            Ok(_) => entry.metadata().map_or(0, |file| std::os::unix::fs::MetadataExt::blocks(&file) * 512),
            Err(_) => 0,
        })
        .sum()
}
