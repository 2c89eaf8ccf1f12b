//! What the outbox remembers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::outbox::OutboxState;
use serde::{Deserialize, Serialize};

use maxim_tools::messaging::OutboxRules;

/// Key prefix of its entries among the records.
pub const ENTRIES: &str = "entry/";
/// Open entries, at most. A further one is refused.
pub(super) const OPEN: usize = 1000;
/// Finished entries that are kept, at most.
pub(super) const KEPT: usize = 1000;
/// Turns from outside that may still be answered, at most.
pub(super) const TURNS: usize = 1024;

/// The outbox's settings.
#[derive(Clone, Debug)]
pub struct OutboxSettings {
    /// Identifies this run of the process. Nobody can report the end of an attempt that an earlier run began.
    pub boot: u64,
    pub rules: Arc<OutboxRules>,
    /// How long a channel may take to report an attempt's outcome. Default 2 minutes.
    pub limit: SignedDuration,
    /// A message that isn't delivered after this has failed. Default one day.
    pub give_up: SignedDuration,
    /// Whether it sends at all. A brain that only remembers doesn't. Default true.
    pub sends: bool,
}

impl OutboxSettings {
    pub fn new(boot: u64, rules: Arc<OutboxRules>) -> Self {
        Self { boot, rules, limit: SignedDuration::from_mins(2), give_up: SignedDuration::from_hours(24), sends: true }
    }
}

/// An open entry without its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Slot {
    /// Its position in the queue.
    pub number: u64,
    pub channel: String,
    pub recipient: String,
    pub state: OutboxState,
    pub attempts: u32,
    pub created: Timestamp,
    /// Queued: when it is tried. Sending: when the attempt began.
    pub at: Timestamp,
    /// The process that began the attempt.
    pub boot: u64,
}

/// Who began a turn from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Correspondent {
    pub channel: String,
    pub sender: String,
    pub message: Option<String>,
    /// Whether the sender may command, and so is answered.
    pub listed: bool,
}

/// What changes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum OutboxEvent {
    Corresponded {
        turn: MessageId,
        channel: String,
        sender: String,
        message: Option<String>,
        listed: bool,
    },
    Queued {
        id: MessageId,
        channel: String,
        recipient: String,
        at: Timestamp,
        held: bool,
    },
    Began {
        id: MessageId,
        at: Timestamp,
        boot: u64,
    },
    /// Its present state, and when it is tried next.
    Stands {
        id: MessageId,
        state: OutboxState,
        at: Timestamp,
    },
    /// A person asked to try a finished entry again.
    Reopened {
        id: MessageId,
        channel: String,
        recipient: String,
        attempts: u32,
        created: Timestamp,
        at: Timestamp,
    },
    /// An answer that nobody may get, or that came during a stop.
    Unsaid,
    Overflowed,
    Latched(bool),
}

/// Counts since the store was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    pub queued: u64,
    pub over: BTreeMap<String, u64>,
    pub unsaid: u64,
    pub overflowed: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sent {
    /// Attempts in the last minute.
    pub recent: VecDeque<Timestamp>,
}

impl Sent {
    /// From when on another attempt is within the limit.
    pub fn free_at(&self, per_minute: usize) -> Option<Timestamp> {
        let nth = self.recent.len().checked_sub(per_minute.max(1))?;
        self.recent.get(nth).map(|at| at.later(SignedDuration::from_mins(1)))
    }

    pub fn note(&mut self, at: Timestamp) {
        while self.recent.front().is_some_and(|old| old.later(SignedDuration::from_mins(1)) <= at) {
            self.recent.pop_front();
        }
        self.recent.push_back(at);
    }
}
