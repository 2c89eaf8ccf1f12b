//! Words on their way to a channel that reaches outside, and what became of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// The channels that reach outside. Who writes there isn't the owner, and what is written there passes the outbox.
pub const OUTSIDE_CHANNELS: [&str; 6] = ["mqtt", "telegram", "slack", "twilio", "discord", "email"];

/// Whether a channel reaches outside.
pub fn is_outside(channel: &str) -> bool {
    OUTSIDE_CHANNELS.contains(&channel)
}

/// How a message goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    #[default]
    Text,
    /// Read aloud over the telephone.
    Call,
}

impl Medium {
    pub fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// The outbox asks a channel to send this, once. The channel waits until the asking is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendMessage {
    /// The outbox's entry: the same over all attempts.
    pub entry: MessageId,
    /// From 1.
    pub attempt: u32,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    pub medium: Medium,
    /// The provider's id of the message that this answers, where it answers one.
    pub in_reply_to: Option<String>,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempted {
    /// The provider acknowledged it.
    Delivered { provider_id: Option<String> },
    /// It was certainly not taken; it may be later.
    NotNow { why: String, retry_after_s: Option<u64> },
    /// It was not taken and never will be.
    Refused { why: String },
    /// It may have been taken.
    Unknown { why: String },
    /// The latch was raised; nothing was sent.
    Stopped { why: String },
}

/// A channel tells what became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendAttempted {
    pub entry: MessageId,
    pub attempt: u32,
    pub channel: String,
    pub outcome: Attempted,
}

/// Where an entry of the outbox stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// Waits for its turn or for a later attempt.
    Queued,
    /// An attempt is under way.
    Sending,
    /// A stop came before it was sent; it waits for a person's word.
    Held,
    /// The provider acknowledged it.
    Delivered,
    /// The provider refused it for good, or it could not be sent for too long.
    Failed,
    /// It may have arrived; it isn't repeated by itself.
    Unknown,
    /// A person took it out.
    Dropped,
}

impl OutboxState {
    /// Nothing more happens by itself and nobody has to decide.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed | Self::Dropped)
    }

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Held => "held",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Dropped => "dropped",
        }
    }
}

/// An entry as it lies in the outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboxEntry {
    pub id: MessageId,
    pub turn: MessageId,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    pub medium: Medium,
    pub in_reply_to: Option<String>,
    pub state: OutboxState,
    /// Attempts so far.
    pub attempts: u32,
    pub created: Timestamp,
    pub changed: Timestamp,
    /// When it is tried next; nothing where it isn't.
    pub due: Option<Timestamp>,
    /// What was said last of why it isn't delivered.
    pub why: Option<String>,
    pub provider_id: Option<String>,
    /// The tool that wanted it; none for words without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// What became of a message for good, or that nobody knows. It belongs to the turn that wanted it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryEnded {
    pub entry: MessageId,
    pub turn: MessageId,
    /// The tool that wanted it; none for words without one.
    pub tool: Option<String>,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    /// `delivered`, `failed` or `unknown`.
    pub state: OutboxState,
    pub attempts: u32,
    /// What was said last of why it wasn't delivered.
    pub why: Option<String>,
}

/// What a person wants of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxWish {
    /// Try it again, knowing that it may arrive twice where its outcome is unknown.
    Retry,
    /// Never send it.
    Drop,
}

/// A person decides about an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeOutbox {
    pub entry: MessageId,
    pub wish: OutboxWish,
    pub by: String,
}

/// What became of the wish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboxChanged {
    pub entry: MessageId,
    pub done: bool,
    /// Its state now; nothing where there is no such entry.
    pub state: Option<OutboxState>,
    /// Why it wasn't done.
    pub reason: Option<String>,
}

signal! {
    SendMessage: Action, Transient;
    SendAttempted: Anywhere, Lossless;
    DeliveryEnded: Action, Lossless;
    ChangeOutbox: Anywhere, Transient;
    OutboxChanged: Anywhere, Transient;
}

impl Query for ChangeOutbox {
    type Answer = OutboxChanged;
}
impl Addressed for ChangeOutbox {
    const OF: RegionName = rooms::OUTBOX;
}
