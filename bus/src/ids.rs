//! Names and numbers that identify things. Each has its own type, so an agent's name can't be used as a message's id.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

/// The name of one brain: 1 to 64 of `a-z 0-9 _ -`. It selects the store namespace, journal, clock and seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentId(Arc<str>);

/// An agent name that can't be used, with the rule that it breaks.
#[derive(Debug, thiserror::Error)]
#[error("agent name {0:?} is not usable: give 1 to 64 characters out of a-z, 0-9, '_' and '-'")]
pub struct BadAgentId(String);

impl AgentId {
    pub fn new(name: impl Into<String>) -> Result<Self, BadAgentId> {
        let name = name.into();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
            return Err(BadAgentId(name));
        }
        Ok(Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentId {
    type Error = BadAgentId;
    fn try_from(name: String) -> Result<Self, BadAgentId> {
        Self::new(name)
    }
}

impl Serialize for AgentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message's id: UUID version 7, made from the agent's clock and random source, so a replay makes the same ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub Uuid);

impl MessageId {
    /// `unix_ms` is cut to 48 bits; 74 of the 128 random bits are used.
    pub fn from_parts(unix_ms: u64, random: u128) -> Self {
        let bytes = random.to_be_bytes();
        let mut tail = [0u8; 10];
        tail.copy_from_slice(&bytes[6..16]);
        Self(uuid::Builder::from_unix_timestamp_millis(unix_ms, &tail).into_uuid())
    }

    /// Appends the id to `out` as text in quotes. A serializer would check each id for characters to escape, and a
    /// percept leads to two hundred ids.
    pub fn put_quoted(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        self.put(out);
        out.push(b'"');
    }

    /// As [`MessageId::put_quoted`], without quotes.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut text = Uuid::encode_buffer();
        out.extend_from_slice(self.0.hyphenated().encode_lower(&mut text).as_bytes());
    }
}

/// Appends a time the way [`MessageId::put_quoted`] appends an id.
pub fn put_time_quoted(at: Timestamp, out: &mut Vec<u8>) {
    out.push(b'"');
    let printed = DateTimePrinter::new().print_timestamp(&at, &mut *out);
    debug_assert!(printed.is_ok(), "memory takes whatever is printed");
    out.push(b'"');
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for MessageId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        Uuid::parse_str(text).map(Self)
    }
}

/// Log sequence number: the position of a commit or an emission in its agent's single order. 0 is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lsn {}", self.0)
    }
}

/// The incarnation of a region or effector. Messages and commits of an older incarnation are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// A room's name in logs, keys and on the command line, e.g. `hippocampus`.
pub type RegionName = &'static str;
