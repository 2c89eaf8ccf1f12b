//! Signals, their envelopes, and how each kind is delivered.

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

/// The stages of a turn, in the order in which a percept passes them.
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

/// How a kind of signal waits in an inbox, and what happens to it in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Every message, in order. The journal keeps it until each subscriber has passed it.
    Lossless,
    /// Every message, in order, while the process lives. The asker keeps the need for it in its own state.
    Transient,
    /// Only the newest message of each key.
    Latest,
}

/// How far the origin of a message is trusted. It is fixed where the message enters; derived messages are never
/// trusted more. Journals store a variant's number: add new variants last, or give the heads of envelopes another
/// mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// A person or program outside that may not command.
    Outside,
    /// A sensor or recogniser.
    Sensor,
    /// A sender on a channel's allow-list.
    Listed,
    /// The brain itself.
    Own,
    /// The owner's console, loopback or token.
    Owner,
}

/// A message type. The journal and the recorder know it by its name. A new field must have a default. A field that
/// changes its meaning must get another name.
pub trait Signal: Serialize + Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const STAGE: Stage;
    const POLICY: Policy;
    const LANE: Lane = Lane::Data;

    /// Decodes a body from the journal. A type that must not come back from the journal returns an error.
    fn decode(bytes: &[u8]) -> Result<Self, NotRead>;

    /// The key under which [`Policy::Latest`] keeps the newest.
    fn key(&self) -> String {
        String::new()
    }
}

/// A signal that asks. Only the asker receives its `Answer`.
pub trait Query: Signal {
    type Answer: Signal;
}

/// A query that only one room answers. Its type names the room, so the asker doesn't.
pub trait Addressed: Query {
    const OF: RegionName;
}

/// Names the answer of each question, and the room that gives it where only one does.
#[macro_export]
macro_rules! queries {
    ($($Question:ident => $Answer:ident $(, of $ROOM:ident)?;)+) => {$(
        impl $crate::signal::Query for $Question {
            type Answer = $Answer;
        }
        $(impl $crate::signal::Addressed for $Question {
            const OF: $crate::RegionName = $crate::rooms::$ROOM;
        })?
    )+};
}

/// A stored body that can't be decoded.
#[derive(Debug, thiserror::Error)]
#[error("a stored {name} can't be read: {why}")]
pub struct NotRead {
    pub name: String,
    pub why: String,
}

/// The `decode` of signals that are plain data.
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

/// A signal without its type, for inboxes and the bus.
pub trait Body: Any + fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn stage(&self) -> Stage;
    fn policy(&self) -> Policy;
    fn lane(&self) -> Lane;
    fn key(&self) -> String;
    /// Appends the body to `out`, as JSON.
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
        // Signals are trees of plain data with text keys, which JSON never refuses.
        let _ = serde_json::to_writer(out, self);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The name of a signal or room on an envelope. Borrowed from the program where it was written here, owned where it
/// came from a journal. Thousands of envelopes a second carry two names each.
pub type Name = Cow<'static, str>;

/// Everything about a message except its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub id: MessageId,
    pub agent: AgentId,
    /// The signal's name.
    pub name: Name,
    /// The message that led to it; none for input from outside.
    pub cause: Option<MessageId>,
    /// The first percept of the turn.
    pub correlation: MessageId,
    pub at: Timestamp,
    pub sender: Name,
    pub trust: Trust,
    /// Addressed to only one inbox: the answer to a query.
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

    /// Notes that the recording's file of this number holds it; file numbers grow. False if that file or a newer one
    /// held it already. A recorder meets each message many times and checks here, without another lookup.
    pub fn record_in(&self, file: u64) -> bool {
        self.recorded.fetch_max(file, Ordering::Relaxed) < file
    }

    pub fn body(&self) -> &dyn Body {
        &*self.body
    }

    /// The signal, if it has this type.
    pub fn get<S: Signal>(&self) -> Option<&S> {
        self.body.as_any().downcast_ref()
    }

    /// Length of the head (u32, little endian), the head, the body as JSON. Encoded once, then cached.
    pub fn encoded(&self) -> Arc<[u8]> {
        let join = |out: &mut Vec<u8>| Self::join(&self.meta, |bytes| self.body.encode_into(bytes), out);
        Arc::clone(self.encoded.get_or_init(|| scratch::shared(join)))
    }

    /// Appends to `out` the same encoding as [`Envelope::encoded`], for a body that `body` writes.
    pub fn join(meta: &Meta, body: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let start = out.len() + 4;
        out.extend_from_slice(&[0; 4]);
        head::write(meta, out);
        let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
        out[start - 4..start].copy_from_slice(&length.to_le_bytes());
        body(out);
    }

    /// The body of an encoded envelope, not decoded.
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
