//! The journal of the store's batches: a stream that only accepts an entry after the one that its writer believes to be
//! the last.
//!
//! So a paused writer and its successor can't both append: the successor's first entry makes the stream refuse
//! everything from the old writer, whatever clocks say.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::consumer::{DeliverPolicy, ReplayPolicy};
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, RetentionPolicy, StorageType};
use futures_util::StreamExt;
use maxim_actors::store::{Position, Replica, ReplicaError};
use maxim_bus::lease::Lease;
use parking_lot::Mutex;
use uuid::Uuid;

use super::connection::{Nats, in_full};

/// The key of the history's id in the stream's description.
const HISTORY: &str = "maxim-history";
/// How long the server remembers a message's id; older ones are looked up.
const DUPLICATES: Duration = Duration::from_secs(120);
/// How long the next entry of a journal may take to come.
const READ_PATIENCE: Duration = Duration::from_secs(15);

/// The extent of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub history: Uuid,
    /// The oldest existing entry; greater than `last` if there is none.
    pub first: u64,
    pub last: u64,
    pub bytes: u64,
}

/// The present stream; `None` before the first owner made it.
///
/// # Errors
/// The server doesn't answer, or the stream isn't such a journal.
pub fn extent(nats: &Nats) -> Result<Option<Extent>, String> {
    let name = nats.names.journal();
    let stream = match nats.wait_briefly(nats.jetstream.get_stream(name.as_str()))? {
        Ok(stream) => stream,
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(inner) if inner.code() == 404 => return Ok(None),
            _ => return Err(in_full(&error)),
        },
    };
    let info = stream.cached_info();
    let history = info.config.metadata.get(HISTORY).and_then(|id| Uuid::parse_str(id).ok());
    let history = history.ok_or_else(|| format!("the stream {name} isn't the journal of an agent: remove it"))?;
    let state = &info.state;
    Ok(Some(Extent { history, first: state.first_sequence, last: state.last_sequence, bytes: state.bytes }))
}

/// Makes the stream of a new history.
///
/// # Errors
/// The server doesn't make it.
pub fn make(nats: &Nats) -> Result<Extent, String> {
    let config = stream::Config {
        name: nats.names.journal(),
        description: Some("batches of an agent's store, in order".into()),
        subjects: vec![nats.names.subject("journal")],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        num_replicas: nats.replicas,
        duplicate_window: DUPLICATES,
        deny_delete: true,
        metadata: HashMap::from([(HISTORY.to_owned(), Uuid::now_v7().to_string())]),
        ..stream::Config::default()
    };
    let made = nats.wait_briefly(nats.jetstream.create_stream(config))?;
    made.map_err(|error| format!("{}: see that the server has JetStream on and room for it", in_full(&error)))?;
    extent(nats)?.ok_or_else(|| "the journal was created and isn't there".to_owned())
}

/// Passes on the entries from `from` to `to`, both included, in order. Errors: an entry is missing, the server doesn't
/// answer, or `visit` refuses an entry.
pub fn read(
    nats: &Nats,
    from: u64,
    to: u64,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), String>,
) -> Result<(), String> {
    if from > to {
        return Ok(());
    }
    nats.wait(async {
        let stream = nats.jetstream.get_stream(nats.names.journal()).await.map_err(|error| in_full(&error))?;
        let config = OrderedConfig {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from },
            replay_policy: ReplayPolicy::Instant,
            ..OrderedConfig::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(|error| in_full(&error))?;
        let mut messages = consumer.messages().await.map_err(|error| in_full(&error))?;
        let mut next = from;
        while next <= to {
            let message = tokio::time::timeout(READ_PATIENCE, messages.next()).await;
            let message = message.map_err(|_| format!("entry {next} of the journal didn't arrive"))?;
            let message = message.ok_or("the journal's end was cut off")?.map_err(|error| in_full(&error))?;
            let sequence = message.info().map_err(|error| error.to_string())?.stream_sequence;
            if sequence != next {
                return Err(format!("entry {next} of the journal isn't there any more"));
            }
            visit(sequence, &message.payload)?;
            next += 1;
        }
        Ok(())
    })
}

/// Drops the entries before this one.
///
/// # Errors
/// The server refuses.
pub fn drop_before(nats: &Nats, sequence: u64) -> Result<(), String> {
    nats.wait(async {
        let stream = nats.jetstream.get_stream(nats.names.journal()).await.map_err(|error| in_full(&error))?;
        stream.purge().sequence(sequence).await.map(|_| ()).map_err(|error| in_full(&error))
    })
}

/// The journal, for the holder of the lease.
pub struct Journal {
    nats: Arc<Nats>,
    lease: Lease,
    history: Uuid,
    state: Mutex<Written>,
}

struct Written {
    last: u64,
    /// How many of the parts that are being appended have arrived: an attempt may fail in the middle.
    arrived: usize,
}

/// Why an entry was refused.
pub enum NotTaken {
    /// Another machine has written.
    Overtaken,
    Unanswered(String),
}

impl Journal {
    pub fn new(nats: Arc<Nats>, lease: Lease, extent: Extent) -> Self {
        let state = Mutex::new(Written { last: extent.last, arrived: 0 });
        Self { nats, lease, history: extent.history, state }
    }

    /// Appends after the last entry that this writer knows.
    ///
    /// # Errors
    /// See [`NotTaken`].
    pub fn try_append(&self, parts: &[Vec<u8>]) -> Result<(), NotTaken> {
        let mut state = self.state.lock();
        while state.arrived < parts.len() {
            let left = &parts[state.arrived..];
            let (arrived, error) = self.nats.wait(self.send(state.last, left));
            state.last += arrived as u64;
            state.arrived += arrived;
            match error {
                None => {}
                Some(NotTaken::Overtaken) if self.is_own(state.last + 1) => {
                    // It had arrived; only the answer was lost.
                    state.last += 1;
                    state.arrived += 1;
                }
                Some(error) => return Err(error),
            }
        }
        state.arrived = 0;
        Ok(())
    }

    /// How many of the parts arrived, in order, and what failed.
    async fn send(&self, last: u64, parts: &[Vec<u8>]) -> (usize, Option<NotTaken>) {
        let subject = self.nats.names.subject("journal");
        let mut waiting = Vec::with_capacity(parts.len());
        for (expected, part) in (last..).zip(parts) {
            let message = PublishMessage::build()
                .payload(part.clone().into())
                .message_id(self.id_of(expected + 1))
                .expected_stream(self.nats.names.journal())
                .expected_last_sequence(expected);
            match self.nats.jetstream.send_publish(subject.clone(), message).await {
                Ok(acknowledgement) => waiting.push((expected + 1, acknowledgement)),
                Err(error) => return (0, Some(NotTaken::Unanswered(in_full(&error)))),
            }
        }
        let mut arrived = 0;
        for (sequence, acknowledgement) in waiting {
            match acknowledgement.await {
                Ok(taken) if taken.sequence == sequence => arrived += 1,
                Ok(_) => return (arrived, Some(NotTaken::Overtaken)),
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                    return (arrived, Some(NotTaken::Overtaken));
                }
                Err(error) => return (arrived, Some(NotTaken::Unanswered(in_full(&error)))),
            }
        }
        (arrived, None)
    }

    fn id_of(&self, sequence: u64) -> String {
        format!("{}-{sequence}", self.lease.token())
    }

    /// True if this writer sent the entry.
    fn is_own(&self, sequence: u64) -> bool {
        let found = self.nats.wait_briefly(async {
            let stream = self.nats.jetstream.get_stream(self.nats.names.journal()).await.ok()?;
            let message = stream.get_raw_message(sequence).await.ok()?;
            message.headers.get(async_nats::header::NATS_MESSAGE_ID).map(|id| id.as_str().to_owned())
        });
        found.ok().flatten() == Some(self.id_of(sequence))
    }
}

impl Replica for Journal {
    fn position(&self) -> Position {
        Position { history: self.history, sequence: self.state.lock().last }
    }

    fn append(&self, parts: &[Vec<u8>]) -> Result<(), ReplicaError> {
        let fenced = |error: maxim_bus::lease::LeaseLost| ReplicaError::Fenced(error.0.to_string());
        self.lease.check().map_err(fenced)?;
        match self.try_append(parts) {
            Ok(()) => Ok(()),
            Err(NotTaken::Overtaken) => {
                self.lease.lose("another machine writes its journal");
                self.lease.check().map_err(fenced)
            }
            Err(NotTaken::Unanswered(why)) => Err(ReplicaError::Unreachable(why)),
        }
    }
}
