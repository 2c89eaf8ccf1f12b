//! `GET /metrics`: figures for Prometheus, in base units, taken at the moment of the scrape.

use std::collections::BTreeMap;
use std::fmt::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use maxim_actors::store::{StoreHealth, StoreStatus};
use maxim_bus::latch::{LatchState, StopLatch};
use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::problem::Answer;
use super::status::{health, memory};
use super::{Problem, Served};
use crate::stopping::stop_by;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the door itself counts.
pub struct Figures {
    stops: Stops,
    /// Counts of the memory's layers as last known.
    pub memory: Mutex<BTreeMap<&'static str, u64>>,
    /// As last known.
    pub is_on_hold: AtomicBool,
}

type Labels = Vec<(&'static str, String)>;
/// Latencies by the way the stop came.
type Stops = Family<Labels, Histogram, fn() -> Histogram>;

impl Figures {
    /// Counts each raise of this latch from now on.
    pub fn of(latch: &StopLatch) -> Self {
        // 1 us to 1 s.
        let empty = || Histogram::new([1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2, 0.1, 1.0]);
        let stops = Stops::new_with_constructor(empty);
        let counted = stops.clone();
        latch.on_raised(move |detail, raised| {
            let seconds = Duration::from_micros(raised.latency_us).as_secs_f64();
            counted.get_or_create(&vec![("by", way(&detail.by).to_owned())]).observe(seconds);
        });
        Self { stops, memory: Mutex::default(), is_on_hold: AtomicBool::new(false) }
    }
}

/// The way by which a stop came. The sender of a stop phrase is no label: there are as many as there are people.
fn way(by: &str) -> &str {
    [stop_by::HTTP, stop_by::SOCKET, stop_by::SIGNAL, stop_by::FILE]
        .into_iter()
        .find(|way| *way == by)
        .unwrap_or("phrase")
}

/// `GET /metrics`.
pub async fn metrics(State(served): State<Arc<Served>>) -> Answer {
    let (health, _) = tokio::join!(health(&served), memory(&served));
    let mut registry = Registry::with_prefix("maxim");
    brain(&served, &mut registry);
    rooms(&served, &mut registry);
    traffic(&served, &mut registry);
    if let Some(health) = health {
        disk(&health, &mut registry);
    }
    let mut page = String::new();
    text::encode(&mut page, &registry).map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, format!("the figures can't be written: {error}"), "see the daemon's log")
    })?;
    Ok(([(header::CONTENT_TYPE, OPENMETRICS)], page).into_response())
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}

fn counter(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let counter: Counter = Counter::default();
    counter.inc_by(value);
    registry.register(name, help, counter);
}

fn brain(served: &Served, registry: &mut Registry) {
    let frame = &served.agent.frame;
    let version = env!("CARGO_PKG_VERSION");
    registry.register(
        "build",
        "What runs",
        Info::new(
            vec![("version", version), ("llm", served.llm.as_str())]
                .into_iter()
                .map(|(k, v)| (k, v.to_owned()))
                .collect::<Labels>(),
        ),
    );
    gauge(registry, "stop_latched", "1 while the stop is latched", u64::from(frame.latch.is_stopped()));
    let is_held = u64::from(frame.latch.state() != LatchState::Clear);
    gauge(registry, "motion_held", "1 while motion waits for a resume", is_held);
    let is_on_hold = u64::from(served.figures.is_on_hold.load(Ordering::SeqCst));
    gauge(registry, "on_hold", "1 while nothing new is proposed", is_on_hold);
    let help = "From the call of the latch until it is set and all are told, by way of the stop";
    registry.register_with_unit("hard_stop_latency", help, Unit::Seconds, served.figures.stops.clone());
    let uptime = u64::try_from(frame.clock.now().duration_since(served.started).as_secs()).unwrap_or(0);
    gauge(registry, "uptime_seconds", "Since the start of the process", uptime);
    let supervision = &served.agent.supervision;
    counter(registry, "escalations", "Rooms whose restart budget was spent", supervision.escalations());
    let groups = supervision.group_escalations();
    counter(registry, "group_escalations", "Groups of rooms whose budget of escalations was spent", groups);
    let hung = supervision.zombies() as u64;
    gauge(registry, "hung_threads", "Threads that were given up and have not ended", hung);
    let records = Family::<Labels, Gauge>::default();
    for (layer, count) in served.figures.memory.lock().iter() {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        records.get_or_create(&vec![("layer", (*layer).to_owned())]).set(count);
    }
    registry.register("memory_records", "What each layer of memory holds", records);
}

fn rooms(served: &Served, registry: &mut Registry) {
    let up = Family::<Labels, Gauge>::default();
    let depth = Family::<Labels, Gauge>::default();
    let restarts = Family::<Labels, Counter>::default();
    let handled = Family::<Labels, Counter>::default();
    let dead = Family::<Labels, Counter>::default();
    let most = Family::<Labels, Gauge>::default();
    let age = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    let conflated = Family::<Labels, Counter>::default();
    let now = served.agent.frame.clock.now();
    for heart in served.agent.supervision.hearts() {
        let labels = vec![("region", heart.name().to_owned())];
        let inbox = served.agent.frame.bus.inbox(heart.name()).map(|inbox| inbox.counters()).unwrap_or_default();
        let is_up = heart.state() == maxim_actors::region::WardState::Running;
        up.get_or_create(&labels).set(i64::from(is_up));
        depth.get_or_create(&labels).set(i64::try_from(inbox.depth).unwrap_or(i64::MAX));
        most.get_or_create(&labels).set(i64::try_from(inbox.high_water).unwrap_or(i64::MAX));
        let oldest = inbox.oldest.map_or(0.0, |sent| now.duration_since(sent).as_secs_f64());
        age.get_or_create(&labels).set(oldest.max(0.0));
        conflated.get_or_create(&labels).inc_by(inbox.conflated);
        restarts.get_or_create(&labels).inc_by(heart.restarts());
        handled.get_or_create(&labels).inc_by(heart.handled());
        dead.get_or_create(&labels).inc_by(heart.dead_letters());
    }
    registry.register("region_up", "1 while the room runs", up);
    registry.register("inbox_depth", "Messages that wait for the room", depth);
    registry.register("inbox_high_water", "Most messages that have waited for the room at once", most);
    registry.register_with_unit("inbox_oldest", "Since when the oldest of them waits", Unit::Seconds, age);
    registry.register("inbox_conflated", "Messages replaced by a newer one of the same key", conflated);
    registry.register("region_restarts", "Restarts since the start of the process", restarts);
    registry.register("region_handled", "Messages and deadlines handled", handled);
    registry.register("dead_letters", "Messages that the room failed on twice", dead);
}

fn traffic(served: &Served, registry: &mut Registry) {
    let sums = served.events.sums();
    let signals = Family::<Labels, Counter>::default();
    for (name, count) in &sums.signals {
        signals.get_or_create(&vec![("signal", (*name).to_owned())]).inc_by(*count);
    }
    registry.register("signals", "Signals that were emitted", signals);
    let verdicts = Family::<Labels, Counter>::default();
    for ((verdict, layer), count) in &sums.verdicts {
        let labels = [("verdict", *verdict), ("layer", *layer)].map(|(name, value)| (name, value.to_owned()));
        verdicts.get_or_create(&labels.into()).inc_by(*count);
    }
    registry.register("fear_verdicts", "Verdicts of the gate on intents", verdicts);
    let tokens = Family::<Labels, Counter>::default();
    let by_purpose =
        [("prompt", sums.prompt_tokens), ("completion", sums.completion_tokens), ("embed", sums.embed_tokens)];
    for (purpose, count) in by_purpose {
        tokens.get_or_create(&vec![("purpose", purpose.to_owned())]).inc_by(count);
    }
    registry.register("llm_tokens", "Tokens of the language model, and of the encoder's server", tokens);
    for (name, help, sum) in [
        ("money_spent", "What these cost, by the configured prices", sums.money),
        ("degrees_moved", "How far joints turned", sums.degrees),
    ] {
        let counter = Counter::<f64, AtomicU64>::default();
        counter.inc_by(sum.max(0.0));
        registry.register(name, help, counter);
    }
}

fn disk(health: &StoreHealth, registry: &mut Registry) {
    let help = "How long batches took to be on disk; the sum is computed from the buckets' upper bounds";
    registry.register_with_unit("commit", help, Unit::Seconds, Commits(health.latency.histogram.clone()));
    let is_degraded = u64::from(health.status != StoreStatus::Ok);
    gauge(registry, "store_degraded", "1 while accepted data doesn't reach the disk", is_degraded);
    gauge(registry, "store_disk_bytes", "Disk space of the store, holes not counted", health.bytes_on_disk);
    gauge(registry, "store_waiting_bytes", "Accepted data that is not on disk yet", health.waiting_bytes);
    counter(registry, "store_compactions", "Compactions, which give back dead space", health.compactions);
    counter(registry, "store_write_failures", "Writes that failed", health.failures);
}

/// The store's own histogram: upper bound in microseconds and count of each bucket.
#[derive(Debug)]
struct Commits(Vec<(u64, u64)>);

impl EncodeMetric for Commits {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), Error> {
        let seconds = |us: u64| us as f64 / 1e6;
        let mut buckets: Vec<(f64, u64)> = self.0.iter().map(|(bound, count)| (seconds(*bound), *count)).collect();
        buckets.push((f64::INFINITY, 0));
        let sum = self.0.iter().map(|(bound, count)| seconds(*bound) * *count as f64).sum();
        let count = self.0.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
