//! Signals for other machines, one subject per kind. Lossless kinds go through a stream; of a sensor only the newest is
//! sent, directly.
//!
//! A room's signal is sent once it is durable, like everything that leaves the brain; sensor signals don't wait for
//! that. This is for observers: signals that a killed process had not sent are never sent. The complete record is the
//! store's journal.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, DiscardPolicy};
use maxim_actors::region::{InputRecord, Tap};
use maxim_actors::store::{AgentStore, StateStore};
use maxim_bus::signal::Policy;
use maxim_bus::{AgentId, Envelope, Lsn};
use parking_lot::{Condvar, Mutex};

use super::connection::{MESSAGE, Nats, in_full};
use crate::agent::AgentHandle;
use crate::cli::{CliError, Exit};
use crate::daemon::opening;
use crate::http::{document, nearest};

/// Signals that may wait for the server. The oldest are dropped first, and counted.
const WAITING: usize = 65_536;
/// Bytes that the server keeps for later readers; the oldest are dropped first.
const KEPT: i64 = 256 << 20;
/// How long a signal may take to reach the disk before it is checked again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause before a server that refused a signal is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// A tap that forwards to the next tap, and to other machines.
pub struct Forwarding {
    nats: Arc<Nats>,
    store: AgentStore,
    all: bool,
    names: Vec<String>,
    queue: Mutex<Queue>,
    changed: Condvar,
    next: Option<Arc<dyn Tap>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Lsn, Arc<Envelope>)>,
    left_out: u64,
}

/// # Errors
/// A name that no signal has.
pub fn check(names: &[String], agent: &AgentHandle) -> Result<(), CliError> {
    let wires = agent.parts.iter().flat_map(|part| part.hears.iter().chain(&part.says));
    let known: BTreeSet<&str> = wires.map(|wire| wire.signal).collect();
    match names.iter().find(|name| *name != "*" && !known.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let fix = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("give of *, {}", known.into_iter().collect::<Vec<_>>().join(", ")),
            };
            Err(CliError::new(Exit::BadConfig, format!("nats.signals: no signal has the name {name:?}"), fix))
        }
    }
}

impl Forwarding {
    /// Forwards signals with these names; `*` means all.
    pub fn new(nats: Arc<Nats>, names: &[String], store: &StateStore, next: Option<Arc<dyn Tap>>) -> Arc<Self> {
        let id = AgentId::new(opening::AGENT).unwrap_or_else(|error| unreachable!("the name of all agents: {error}"));
        let all = names.iter().any(|name| name == "*");
        let (queue, changed) = (Mutex::default(), Condvar::new());
        let forwarding =
            Arc::new(Self { nats, store: store.agent(&id), all, names: names.to_vec(), queue, changed, next });
        let sending = Arc::downgrade(&forwarding);
        let spawned = std::thread::Builder::new().name("nats-signals".into()).spawn(move || {
            while let Some(forwarding) = sending.upgrade() {
                forwarding.send_some();
            }
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "no signal is told to other machines");
        }
        forwarding
    }

    fn send_some(&self) {
        let next = {
            let mut queue = self.queue.lock();
            if queue.waiting.is_empty() {
                self.changed.wait_for(&mut queue, PATIENCE);
            }
            queue.waiting.pop_front()
        };
        let Some((lsn, envelope)) = next else { return };
        let is_lossless = matches!(envelope.body().policy(), Policy::Lossless | Policy::Transient);
        if is_lossless && self.store.wait_durable_blocking(lsn, PATIENCE).is_err() {
            // Not durable yet, or never: a signal that the store didn't accept before it closed is not sent.
            std::thread::sleep(PAUSE);
            return self.put_back(lsn, envelope);
        }
        let Ok(body) = serde_json::to_vec(&document(lsn, &envelope)) else { return };
        if body.len() > MESSAGE {
            let (name, bytes) = (&envelope.meta.name, body.len());
            return tracing::warn!(%name, bytes, "a signal is too long to be told to other machines and is left out");
        }
        // Separate subjects, because the stream takes everything on its own.
        let kind = if is_lossless { "signal" } else { "sensor" };
        let subject = self.nats.names.subject(&format!("{kind}.{}", envelope.meta.name));
        let sent = if is_lossless {
            self.nats.wait(self.publish(subject, envelope.meta.id.to_string(), body))
        } else {
            self.nats.wait(async { self.nats.client.publish(subject, body.into()).await.map_err(|e| in_full(&e)) })
        };
        if let Err(why) = sent {
            tracing::warn!(why, "a signal could not be told to other machines; the next try follows");
            std::thread::sleep(PAUSE);
            self.put_back(lsn, envelope);
        }
    }

    fn put_back(&self, lsn: Lsn, envelope: Arc<Envelope>) {
        self.queue.lock().waiting.push_front((lsn, envelope));
    }

    async fn publish(&self, subject: String, id: String, body: Vec<u8>) -> Result<(), String> {
        let message = || PublishMessage::build().payload(body.clone().into()).message_id(&id);
        let js = &self.nats.jetstream;
        let first = js.send_publish(subject.clone(), message()).await.map_err(|error| in_full(&error))?.await;
        if first.is_ok() {
            return Ok(());
        }
        let config = stream::Config {
            name: self.nats.names.signals(),
            description: Some("signals of an agent".into()),
            subjects: vec![self.nats.names.subject("signal.>")],
            max_bytes: KEPT,
            discard: DiscardPolicy::Old,
            num_replicas: self.nats.replicas,
            ..stream::Config::default()
        };
        js.get_or_create_stream(config).await.map_err(|error| in_full(&error))?;
        let again = js.send_publish(subject, message()).await.map_err(|error| in_full(&error))?;
        again.await.map(|_| ()).map_err(|error| in_full(&error))
    }
}

impl Tap for Forwarding {
    fn input(&self, input: InputRecord) {
        if let Some(next) = &self.next {
            next.input(input);
        }
    }

    fn emitted(&self, lsn: Lsn, envelope: &Arc<Envelope>) {
        if let Some(next) = &self.next {
            next.emitted(lsn, envelope);
        }
        if !self.all && !self.names.iter().any(|name| *name == envelope.meta.name) {
            return;
        }
        let mut queue = self.queue.lock();
        if queue.waiting.len() >= WAITING {
            queue.waiting.pop_front();
            queue.left_out += 1;
            if queue.left_out.is_power_of_two() {
                tracing::error!(
                    left_out = queue.left_out,
                    "signals for other machines are left out: the server is too slow"
                );
            }
        }
        queue.waiting.push_back((lsn, Arc::clone(envelope)));
        self.changed.notify_one();
    }
}
