//! Messages on their way to a channel that reaches outside, and their results.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::{queries, signal};

/// The channels that reach outside. Their writers aren't the owner, and every message to them passes the outbox.
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

/// The outbox asks a channel to send this, once. The channel waits until the request is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendMessage {
    /// The id of the outbox's entry: the same for all attempts.
    pub entry: MessageId,
    /// From 1.
    pub attempt: u32,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    pub medium: Medium,
    /// The provider's id of the message that this one answers, if any.
    pub in_reply_to: Option<String>,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempted {
    /// The provider acknowledged it.
    Delivered { provider_id: Option<String> },
    /// Certainly not accepted this time; a later attempt may succeed.
    NotNow { why: String, retry_after_s: Option<u64> },
    /// Not accepted, and it never will be.
    Refused { why: String },
    /// It may have been accepted.
    Unknown { why: String },
    /// The latch was raised; nothing was sent.
    Stopped { why: String },
}

/// A channel reports the result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendAttempted {
    pub entry: MessageId,
    pub attempt: u32,
    pub channel: String,
    pub outcome: Attempted,
}

/// The state of an entry in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// Waits to be sent, or for a later attempt.
    Queued,
    /// An attempt is under way.
    Sending,
    /// A stop came before it was sent; it waits for a person's decision.
    Held,
    /// The provider acknowledged it.
    Delivered,
    /// The provider refused it for good, or sending failed for too long.
    Failed,
    /// It may have arrived; the outbox doesn't repeat it by itself.
    Unknown,
    /// A person removed it.
    Dropped,
}

impl OutboxState {
    /// A final state: nothing more happens by itself, and no decision is needed.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed | Self::Dropped)
    }

    /// The state's name in text.
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

/// An entry as the outbox stores it.
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
    /// When it is tried next; none when it isn't.
    pub due: Option<Timestamp>,
    /// The last known reason why it isn't delivered.
    pub why: Option<String>,
    pub provider_id: Option<String>,
    /// The tool that sent it; none for words without a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// The final result of a message, or that its result is unknown. It belongs to the turn that sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryEnded {
    pub entry: MessageId,
    pub turn: MessageId,
    /// The tool that sent it; none for words without a tool.
    pub tool: Option<String>,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    /// `delivered`, `failed` or `unknown`.
    pub state: OutboxState,
    pub attempts: u32,
    /// The last known reason why it wasn't delivered.
    pub why: Option<String>,
}

/// What a person wants done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxWish {
    /// Try it again. If its outcome is unknown, it may arrive twice.
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

/// The result of the decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboxChanged {
    pub entry: MessageId,
    pub done: bool,
    /// Its current state; none when the entry doesn't exist.
    pub state: Option<OutboxState>,
    /// Why the decision wasn't carried out.
    pub reason: Option<String>,
}

signal! {
    SendMessage: Action, Transient;
    SendAttempted: Anywhere, Lossless;
    DeliveryEnded: Action, Lossless;
    ChangeOutbox: Anywhere, Transient;
    OutboxChanged: Anywhere, Transient;
}

queries! {
    ChangeOutbox => OutboxChanged, of OUTBOX;
}
