//! Events of the bus for observers: a bounded ring, and server-sent events from it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use maxim_actors::gate::ClearedIntent;
use maxim_actors::gate::fear_agent::layer_of;
use maxim_actors::region::{InputRecord, Tap};
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::encoding::TextsEncoded;
use maxim_bus::signals::intent::{IntentRefused, Refusal};
use maxim_bus::signals::thought::ModelReply;
use maxim_bus::{Envelope, Lsn, MessageId};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::fields::{Field, Kind, nearest, query_fields};
use super::{Problem, Served};

/// Events that are kept for readers that come back.
const KEPT: usize = 10_000;
/// Bytes of the kept events; the oldest are dropped first.
const KEPT_BYTES: usize = 64 << 20;
/// Turns whose tokens are known.
const TURNS: usize = 1_024;
/// Events that one reader takes at once.
const BATCH: usize = 256;

/// One envelope, as observers see it.
#[derive(Clone, Debug)]
pub struct Noted {
    /// Running number within this process, from 1.
    pub number: u64,
    pub lsn: Lsn,
    pub envelope: Arc<Envelope>,
}

/// Sums over everything that was emitted since the start.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub signals: BTreeMap<&'static str, u64>,
    /// By verdict, and by the layer of the gate that gave it.
    pub verdicts: BTreeMap<(&'static str, &'static str), u64>,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Tokens that went to the encoder's server.
    pub embed_tokens: u64,
    /// The price of all these tokens, as configured.
    pub money: f64,
    /// How far joints turned.
    pub degrees: f64,
    /// Model tokens of the newest turns.
    turns: BTreeMap<MessageId, (u64, u64)>,
}

/// The newest envelopes of one agent. This is the agent's tap.
pub struct EventLog {
    /// Names this process in event ids, so that numbers of an earlier one aren't taken for its own.
    boot: u64,
    state: Mutex<Ring>,
    newest: watch::Sender<u64>,
    closed: watch::Sender<bool>,
    /// Gets every envelope too, e.g. the flight recorder.
    next: Option<Arc<dyn Tap>>,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<Noted>,
    bytes: usize,
    number: u64,
    sums: Sums,
}

impl EventLog {
    /// `boot` differs from start to start; `next` gets every envelope too.
    pub fn new(boot: u64, next: Option<Arc<dyn Tap>>) -> Arc<Self> {
        let (newest, _) = watch::channel(0);
        let (closed, _) = watch::channel(false);
        Arc::new(Self { boot, state: Mutex::default(), newest, closed, next })
    }

    /// Events after `number`, oldest first, at most `limit`.
    pub fn after(&self, number: u64, limit: usize) -> Vec<Noted> {
        let state = self.state.lock();
        let first = state.events.front().map_or(state.number + 1, |noted| noted.number);
        let skipped = usize::try_from((number + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        state.events.iter().skip(skipped).take(limit).cloned().collect()
    }

    /// The number of the newest event; 0 before the first.
    pub fn newest(&self) -> u64 {
        self.state.lock().number
    }

    pub fn sums(&self) -> Sums {
        self.state.lock().sums.clone()
    }

    /// Tokens of a turn's prompts and replies, as its model counted them. Known for the newest turns only.
    pub fn tokens_of(&self, turn: MessageId) -> (u64, u64) {
        self.state.lock().sums.turns.get(&turn).copied().unwrap_or_default()
    }

    /// Ends all event streams.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Completes when event streams end.
    pub async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        // An error means that the log itself is gone.
        let _ = closed.wait_for(|closed| *closed).await;
    }

    fn event_id(&self, number: u64) -> String {
        format!("{:x}-{number}", self.boot)
    }

    /// The number in an event id; `None` for an id of another process.
    fn number_of(&self, id: &str) -> Option<u64> {
        let (boot, number) = id.split_once('-')?;
        (u64::from_str_radix(boot, 16) == Ok(self.boot)).then(|| number.parse().ok()).flatten()
    }
}

impl Tap for EventLog {
    fn input(&self, input: InputRecord) {
        if let Some(next) = &self.next {
            next.input(input);
        }
    }

    /// Runs in the agent's critical section, so it only notes and wakes.
    fn emitted(&self, lsn: Lsn, envelope: &Arc<Envelope>) {
        let number = {
            let mut state = self.state.lock();
            state.number += 1;
            let number = state.number;
            state.sums.add(envelope);
            state.bytes += envelope.encoded().len();
            state.events.push_back(Noted { number, lsn, envelope: Arc::clone(envelope) });
            while state.events.len() > KEPT || state.bytes > KEPT_BYTES {
                let Some(oldest) = state.events.pop_front() else { break };
                state.bytes -= oldest.envelope.encoded().len();
            }
            number
        };
        self.newest.send_replace(number);
        if let Some(next) = &self.next {
            next.emitted(lsn, envelope);
        }
    }
}

impl Sums {
    fn add(&mut self, envelope: &Envelope) {
        *self.signals.entry(envelope.body().name()).or_default() += 1;
        let refused = envelope.get::<IntentRefused>().map(|refused| {
            let verdict = match refused.refusal {
                Refusal::Asked => "ask",
                Refusal::Blocked => "block",
                Refusal::Stopped => "stopped",
                Refusal::Denied => "denied",
            };
            (verdict, layer_of(&refused.rule))
        });
        let ended =
            refused.or_else(|| envelope.get::<ClearedIntent>().map(|cleared| ("allow", layer_of(cleared.rule()))));
        if let Some(ended) = ended {
            *self.verdicts.entry(ended).or_default() += 1;
        }
        if let Some(reply) = envelope.get::<ModelReply>() {
            self.prompt_tokens += u64::from(reply.prompt_tokens);
            self.completion_tokens += u64::from(reply.completion_tokens);
            self.money += reply.money;
            let of_turn = self.turns.entry(reply.turn).or_default();
            of_turn.0 += u64::from(reply.prompt_tokens);
            of_turn.1 += u64::from(reply.completion_tokens);
            // Ids of turns grow with time.
            if self.turns.len() > TURNS {
                self.turns.pop_first();
            }
        }
        if let Some(encoded) = envelope.get::<TextsEncoded>() {
            self.embed_tokens += encoded.tokens;
            self.money += encoded.money;
        }
        self.degrees += envelope.get::<MovementSensed>().map_or(0.0, MovementSensed::degrees);
    }
}

impl Noted {
    pub fn document(&self) -> Value {
        document(self.lsn, &self.envelope)
    }
}

/// A message as observers see it.
pub fn document(lsn: Lsn, envelope: &Envelope) -> Value {
    let meta = &envelope.meta;
    let body = serde_json::from_slice(Envelope::body_of(&envelope.encoded())).unwrap_or(Value::Null);
    json!({
        "type": meta.name, "id": meta.id, "turn": meta.correlation, "cause": meta.cause, "at": meta.at,
        "by": meta.sender, "to": meta.to, "trust": meta.trust, "lsn": lsn, "body": body,
    })
}

/// Parameters of `GET /v1/events`.
pub const EVENTS: &[Field] =
    &[Field::optional("type", Kind::Text, "signal types, separated by commas, such as Percept,ToolResult")];

/// `GET /v1/events`.
pub async fn events(State(served): State<Arc<Served>>, request: Request) -> Result<Response, Problem> {
    let given = query_fields(&request, EVENTS)?;
    let wanted = match given.text("type") {
        Some(names) => Some(wanted(&served, names)?),
        None => None,
    };
    let (from, is_gap) = start(&served.events, request.headers());
    let first = is_gap.then(|| Event::default().event("lost").data(json!({"lost": true}).to_string()));
    let look = Looking { log: Arc::clone(&served.events), wanted, seen: from, queue: first.into_iter().collect() };
    let stream = stream::unfold(look, |mut look| async move {
        let event = look.next().await?;
        Some((Ok::<_, Infallible>(event), look))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}

fn wanted(served: &Served, names: &str) -> Result<Vec<String>, Problem> {
    let wires = served.agent.parts.iter().flat_map(|part| part.hears.iter().chain(&part.says));
    let known: BTreeSet<&str> = wires.map(|wire| wire.signal).collect();
    let mut wanted = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if !known.contains(name) {
            let near = nearest(name, known.iter().copied());
            let all = || format!("give of {}", known.iter().copied().collect::<Vec<_>>().join(", "));
            let fix = near.map_or_else(all, |near| format!("did you mean {near}?"));
            return Err(Problem::bad(format!("no signal has the type {name:?}"), fix));
        }
        wanted.push(name.to_owned());
    }
    Ok(wanted)
}

/// The number after which a reader goes on, and whether events in between are lost.
fn start(log: &EventLog, headers: &HeaderMap) -> (u64, bool) {
    let Some(id) = headers.get("last-event-id").and_then(|value| value.to_str().ok()) else {
        return (log.newest(), false);
    };
    let oldest = log.after(0, 1).first().map_or(1, |noted| noted.number);
    match log.number_of(id) {
        Some(number) if number <= log.newest() => (number, number + 1 < oldest),
        _ => (0, true),
    }
}

/// An observer.
struct Looking {
    log: Arc<EventLog>,
    wanted: Option<Vec<String>>,
    seen: u64,
    queue: VecDeque<Event>,
}

impl Looking {
    async fn next(&mut self) -> Option<Event> {
        let log = Arc::clone(&self.log);
        let mut newest = log.newest.subscribe();
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            newest.borrow_and_update();
            self.fill();
            if self.queue.is_empty() && self.seen >= log.newest() {
                tokio::select! {
                    changed = newest.changed() => changed.ok()?,
                    () = log.closed() => return None,
                }
            }
        }
    }

    fn fill(&mut self) {
        for noted in self.log.after(self.seen, BATCH) {
            if noted.number > self.seen + 1 {
                // The reader was too slow: the ring has moved on.
                self.queue.push_back(Event::default().event("lost").data(json!({"lost": true}).to_string()));
            }
            self.seen = noted.number;
            let name = &noted.envelope.meta.name;
            if self.wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted == name)) {
                let data = noted.document().to_string();
                self.queue.push_back(Event::default().id(self.log.event_id(noted.number)).event(name).data(data));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_bus::signals::recall::ReportStats;
    use maxim_bus::{AgentId, MessageId, Meta, Signal, Trust};

    fn envelope(number: u64) -> Arc<Envelope> {
        let id = MessageId::from_parts(number, 1);
        let meta = Meta {
            id,
            agent: AgentId::new("maxim").expect("a name"),
            name: ReportStats::NAME.into(),
            cause: None,
            correlation: id,
            at: jiff::Timestamp::UNIX_EPOCH,
            sender: "test".into(),
            trust: Trust::Own,
            to: None,
        };
        Arc::new(Envelope::new(meta, Arc::new(ReportStats {})))
    }

    #[test]
    fn the_ring_keeps_the_newest_and_says_what_is_lost() {
        let log = EventLog::new(7, None);
        let total = KEPT as u64 + 5;
        for number in 1..=total {
            log.emitted(Lsn(number), &envelope(number));
        }
        let kept = log.after(0, usize::MAX);
        assert_eq!((kept.len(), kept[0].number), (KEPT, 6));
        assert_eq!(log.after(total - 1, 10).iter().map(|noted| noted.number).collect::<Vec<_>>(), [total]);
        assert_eq!(log.after(total, 10).len(), 0);
        let back = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("last-event-id", id.parse().expect("a header"));
            start(&log, &headers)
        };
        assert_eq!(back("7-9"), (9, false));
        assert_eq!(back("7-5"), (5, false), "the next one is still there");
        assert_eq!(back("7-4"), (4, true));
        assert_eq!(back("6-9"), (0, true), "another process");
        assert_eq!(back("nonsense"), (0, true));
        assert_eq!(start(&log, &HeaderMap::new()), (total, false));
    }
}
