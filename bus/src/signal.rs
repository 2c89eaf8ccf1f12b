//! What travels: signals, their envelopes, and how each kind is delivered.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, MessageId};
use crate::{RegionName, head, scratch};

/// The stations of a turn, in the order in which a percept passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Outside,
    Perception,
    Memory,
    Deliberation,
    Gate,
    Action,
    Learning,
    Sleep,
    /// Control and lifecycle: may go anywhere.
    Anywhere,
}

/// Control mail is taken before any data mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    Control,
    Data,
}

/// How a kind of signal waits in an inbox and what becomes of it in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Every one, in order; in the journal until each subscriber has passed it.
    Lossless,
    /// Every one, in order, while the process lives; whoever asked keeps the need for it in its own state.
    Transient,
    /// The newest of each key.
    Latest,
}

/// Whose word it is. Fixed where it enters; what is derived from it is never trusted more. Journals hold a variant's number:
/// a new one goes last, or the heads of envelopes get another mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Somebody outside who may not command.
    Outside,
    /// A sensor or recogniser.
    Sensor,
    /// On a channel's allow-list.
    Listed,
    /// The brain's own.
    Own,
    /// The owner's console, loopback or token.
    Owner,
}

/// A message type. Its name is what the journal and the recorder know it by; a field that is new has a default, and what
/// means something else now gets another name.
pub trait Signal: Serialize + Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const STAGE: Stage;
    const POLICY: Policy;
    const LANE: Lane = Lane::Data;

    /// Reads what the journal holds. A type that must not come back from there refuses.
    fn decode(bytes: &[u8]) -> Result<Self, NotRead>;

    /// The key under which [`Policy::Latest`] keeps the newest.
    fn key(&self) -> String {
        String::new()
    }
}

/// A signal that asks; `Answer` is the signal that replies to the asker alone.
pub trait Query: Signal {
    type Answer: Signal;
}

/// A query that one room alone answers, so that nobody who asks it names the room.
pub trait Addressed: Query {
    const OF: RegionName;
}

/// A stored body that can't become a signal again.
#[derive(Debug, thiserror::Error)]
#[error("a stored {name} can't be read: {why}")]
pub struct NotRead {
    pub name: String,
    pub why: String,
}

/// For the `decode` of signals that are plain data.
pub fn decode_json<S: Signal + DeserializeOwned>(bytes: &[u8]) -> Result<S, NotRead> {
    serde_json::from_slice(bytes).map_err(|error| NotRead { name: S::NAME.into(), why: error.to_string() })
}

/// Declares signals: `signal! { Percept: Perception, Lossless; Hold: Anywhere, Lossless, Control }`.
#[macro_export]
macro_rules! signal {
    ($($name:ident : $stage:ident, $policy:expr $(, $lane:ident)?);+ $(;)?) => {$(
        impl $crate::signal::Signal for $name {
            const NAME: &'static str = stringify!($name);
            const STAGE: $crate::signal::Stage = $crate::signal::Stage::$stage;
            const POLICY: $crate::signal::Policy = {
                #[allow(unused_imports)]
                use $crate::signal::Policy::*;
                $policy
            };
            $(const LANE: $crate::signal::Lane = $crate::signal::Lane::$lane;)?
            fn decode(bytes: &[u8]) -> Result<Self, $crate::signal::NotRead> {
                $crate::signal::decode_json(bytes)
            }
        }
    )+};
}

/// A signal without its type, for inboxes and the corridor.
pub trait Body: Any + fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn stage(&self) -> Stage;
    fn policy(&self) -> Policy;
    fn lane(&self) -> Lane;
    fn key(&self) -> String;
    /// Writes it behind what is in `out`, as JSON.
    fn encode_into(&self, out: &mut Vec<u8>);
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out
    }
    fn as_any(&self) -> &dyn Any;
}

impl<S: Signal> Body for S {
    fn name(&self) -> &'static str {
        S::NAME
    }
    fn stage(&self) -> Stage {
        S::STAGE
    }
    fn policy(&self) -> Policy {
        S::POLICY
    }
    fn lane(&self) -> Lane {
        S::LANE
    }
    fn key(&self) -> String {
        Signal::key(self)
    }
    fn encode_into(&self, out: &mut Vec<u8>) {
        // Signals are trees of plain data with text keys: there is nothing in them that JSON refuses.
        let _ = serde_json::to_writer(out, self);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The name of a signal or of a room on an envelope: borrowed from the program where it was written here, owned where it
/// was read from a journal. Thousands of envelopes a second carry two of them.
pub type Name = Cow<'static, str>;

/// Everything about a message but its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub id: MessageId,
    pub agent: AgentId,
    /// The signal's name.
    pub name: Name,
    /// What led to it; none for what came from outside.
    pub cause: Option<MessageId>,
    /// The first percept of the turn.
    pub correlation: MessageId,
    pub at: Timestamp,
    pub sender: Name,
    pub trust: Trust,
    /// Addressed to one inbox alone: the answer to a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Name>,
}

/// A message on the bus.
pub struct Envelope {
    pub meta: Meta,
    body: Arc<dyn Body>,
    encoded: OnceLock<Arc<[u8]>>,
    recorded: AtomicU64,
}

impl Envelope {
    pub fn new(meta: Meta, body: Arc<dyn Body>) -> Self {
        Self { meta, body, encoded: OnceLock::new(), recorded: AtomicU64::new(0) }
    }

    /// Notes that it stands in a recording's file of this number, which grow; false where it stood there, or in a newer one.
    /// A recorder comes by each message many times, and looks here at what it has in hand.
    pub fn record_in(&self, file: u64) -> bool {
        self.recorded.fetch_max(file, Ordering::Relaxed) < file
    }

    pub fn body(&self) -> &dyn Body {
        &*self.body
    }

    /// The signal, if it is one of this type.
    pub fn get<S: Signal>(&self) -> Option<&S> {
        self.body.as_any().downcast_ref()
    }

    /// Length of the head (u32, little endian), the head, the body as JSON. Made once.
    pub fn encoded(&self) -> Arc<[u8]> {
        let join = |out: &mut Vec<u8>| Self::join(&self.meta, |bytes| self.body.encode_into(bytes), out);
        Arc::clone(self.encoded.get_or_init(|| scratch::shared(join)))
    }

    /// What [`Envelope::encoded`] gives, of a body that is written by `body`, put behind what is in `out`.
    pub fn join(meta: &Meta, body: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let start = out.len() + 4;
        out.extend_from_slice(&[0; 4]);
        head::write(meta, out);
        let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        out[start - 4..start].copy_from_slice(&length.to_le_bytes());
        body(out);
    }

    /// The body's part of an encoded envelope, unread.
    pub fn body_of(encoded: &[u8]) -> &[u8] {
        let length = encoded.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        encoded.get(4 + length..).unwrap_or_default()
    }

    /// The two parts of an encoded envelope.
    pub fn split(bytes: &[u8]) -> Result<(Meta, &[u8]), NotRead> {
        let bad = |why: String| NotRead { name: "envelope".into(), why };
        let length = bytes.first_chunk::<4>().ok_or_else(|| bad("it is cut off".into()))?;
        let length = u32::from_le_bytes(*length) as usize;
        let meta = bytes.get(4..4 + length).ok_or_else(|| bad("it is cut off".into()))?;
        Ok((head::read(meta).map_err(bad)?, &bytes[4 + length..]))
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} from {}", self.meta.name, self.meta.id, self.meta.sender)
    }
}
