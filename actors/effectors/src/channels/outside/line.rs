//! The state of one channel: who may write on it, how it is reached, and what was sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::outbox::Attempted;
use maxim_bus::{AllowList, MessageId};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use super::{HookRefused, HookRequest, Hooked, Transport};

/// Who may write, and how much.
#[derive(Clone, Debug)]
pub struct SenderPolicy {
    /// Who may command. Anyone may stop.
    pub senders: AllowList,
    /// Messages of one sender per minute; all unlisted senders count as one.
    pub per_sender: usize,
    /// Messages on the channel per minute.
    pub per_channel: usize,
}

/// A channel and its connection. It outlives its actor.
pub struct Line {
    name: &'static str,
    pub(super) policy: SenderPolicy,
    transport: Option<Arc<dyn Transport>>,
    standing: Mutex<Standing>,
    rates: Mutex<Rates>,
    /// Strangers already shown to the owner, the newest last.
    strangers: Mutex<VecDeque<String>>,
    /// The newest attempts that have left, or must not leave any more.
    attempts: Mutex<VecDeque<(MessageId, u32, Left)>>,
    /// Stops since the line was made: messages that were left for later before a stop are not accepted after it.
    stops: watch::Sender<u64>,
}

/// Whether an attempt was sent to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Yes,
    /// It was given up before it left: a late holder must not send it.
    Never,
}

/// Number of remembered attempts; only one runs at a time.
const ATTEMPTS: usize = 64;

/// Number of strangers remembered as shown.
const STRANGERS: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Not connected: not configured, or this process runs no agent.
    #[default]
    Off,
    Connecting,
    Up,
    Down,
}

#[derive(Debug, Default)]
struct Standing {
    state: State,
    /// The last error, and its fix.
    why: Option<String>,
    counts: BTreeMap<&'static str, u64>,
}

/// The times of messages in the last minute, by sender.
#[derive(Default)]
struct Rates {
    all: VecDeque<Timestamp>,
    each: BTreeMap<String, VecDeque<Timestamp>>,
}

const WINDOW: SignedDuration = SignedDuration::from_mins(1);
/// Senders with a separate rate; further senders share one.
const SENDERS: usize = 10_000;

impl Line {
    pub fn new(name: &'static str, policy: SenderPolicy, transport: Option<Arc<dyn Transport>>) -> Arc<Self> {
        let (standing, rates) = (Mutex::default(), Mutex::default());
        let (strangers, attempts) = (Mutex::default(), Mutex::default());
        let stops = watch::Sender::new(0);
        Arc::new(Self { name, policy, transport, standing, rates, strangers, attempts, stops })
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn transport(&self) -> Option<&Arc<dyn Transport>> {
        self.transport.as_ref()
    }

    pub fn is_configured(&self) -> bool {
        self.transport.is_some()
    }

    pub(super) fn unconfigured(&self) -> String {
        format!("the channel {} is not configured; set it up in [channels.{}]", self.name, self.name)
    }

    pub(super) fn connecting(&self) {
        self.standing.lock().state = State::Connecting;
    }

    pub(super) fn up(&self) {
        let mut standing = self.standing.lock();
        (standing.state, standing.why) = (State::Up, None);
    }

    pub(super) fn down(&self, why: impl Into<String>) {
        let (why, mut standing) = (why.into(), self.standing.lock());
        if standing.why.as_ref() != Some(&why) {
            tracing::warn!(channel = self.name, why, "a channel is down; it is retried automatically");
        }
        (standing.state, standing.why) = (State::Down, Some(why));
    }

    /// Counts something for the status.
    pub fn count(&self, what: &'static str) {
        *self.standing.lock().counts.entry(what).or_default() += 1;
    }

    /// A stop was raised.
    pub(super) fn stopped(&self) {
        self.stops.send_modify(|stops| *stops += 1);
    }

    /// Reports each stop from now on.
    pub(super) fn stops(&self) -> watch::Receiver<u64> {
        self.stops.subscribe()
    }

    /// An attempt leaves now; false if it was given up before and must not leave.
    pub(super) fn leaves(&self, entry: MessageId, attempt: u32) -> bool {
        self.decide(entry, attempt, Left::Yes) == Left::Yes
    }

    /// Gives an attempt up. True if it has left already; otherwise it never will.
    pub(super) fn has_left(&self, entry: MessageId, attempt: u32) -> bool {
        self.decide(entry, attempt, Left::Never) == Left::Yes
    }

    /// The first decision about an attempt stays.
    fn decide(&self, entry: MessageId, attempt: u32, wanted: Left) -> Left {
        let mut attempts = self.attempts.lock();
        if let Some((.., decided)) = attempts.iter().find(|(known, number, _)| (*known, *number) == (entry, attempt)) {
            return *decided;
        }
        attempts.push_back((entry, attempt, wanted));
        if attempts.len() > ATTEMPTS {
            attempts.pop_front();
        }
        wanted
    }

    /// The result of sending. The last error is reported until a message arrives.
    pub(super) fn attempted(&self, outcome: &Attempted) {
        let (what, why) = match outcome {
            Attempted::Delivered { .. } => ("sent", None),
            Attempted::NotNow { why, .. } => ("delayed", Some(why)),
            Attempted::Refused { why } => ("refused", Some(why)),
            Attempted::Unknown { why } => ("unknown", Some(why)),
            Attempted::Stopped { .. } => ("stopped", None),
        };
        self.count(what);
        let mut standing = self.standing.lock();
        if standing.state == State::Up {
            standing.why = why.cloned();
        }
    }

    /// Counts a message; an error is the seconds to wait if it is one too many.
    pub(super) fn admit(&self, sender: &str, now: Timestamp) -> Result<(), u64> {
        let mut rates = self.rates.lock();
        let free = |recent: &mut VecDeque<Timestamp>, most: usize| {
            while recent.front().is_some_and(|old| old.later(WINDOW) <= now) {
                recent.pop_front();
            }
            match recent.front() {
                Some(oldest) if recent.len() >= most => {
                    Err(u64::try_from((oldest.later(WINDOW)).duration_since(now).as_secs()).unwrap_or(0) + 1)
                }
                _ => Ok(()),
            }
        };
        free(&mut rates.all, self.policy.per_channel)?;
        if rates.each.len() >= SENDERS {
            rates.each.retain(|_, recent| recent.back().is_some_and(|last| last.later(WINDOW) > now));
        }
        let key = if rates.each.len() >= SENDERS { "" } else { sender };
        let each = rates.each.entry(key.to_owned()).or_default();
        free(each, self.policy.per_sender)?;
        each.push_back(now);
        rates.all.push_back(now);
        Ok(())
    }

    /// True at a stranger's first message, as far as remembered.
    pub(super) fn is_new(&self, stranger: &str) -> bool {
        let mut shown = self.strangers.lock();
        if shown.iter().any(|known| known == stranger) {
            return false;
        }
        shown.push_back(stranger.to_owned());
        if shown.len() > STRANGERS {
            shown.pop_front();
        }
        true
    }

    /// Reads a provider's post.
    ///
    /// # Errors
    /// As [`Transport::hook`].
    pub fn hook(&self, request: &HookRequest<'_>, now: Timestamp) -> Result<Hooked, HookRefused> {
        let read = self.transport.as_ref().map_or(Err(HookRefused::NotHere), |transport| transport.hook(request, now));
        match &read {
            Err(HookRefused::Forged(why)) => {
                self.count("forged");
                tracing::warn!(channel = self.name, why, "a webhook was not its provider's");
            }
            Err(HookRefused::Stale(_)) => self.count("stale"),
            Err(HookRefused::Malformed(_)) => self.count("malformed"),
            _ => {}
        }
        read
    }

    /// One object for the status.
    pub fn report(&self) -> Json {
        let standing = self.standing.lock();
        let state = match (self.transport.is_some(), standing.state) {
            (false, _) => "unconfigured",
            (true, State::Off) => "off",
            (true, State::Connecting) => "connecting",
            (true, State::Up) => "up",
            (true, State::Down) => "down",
        };
        let why = if self.transport.is_some() { standing.why.clone() } else { Some(self.unconfigured()) };
        json!({
            "name": self.name,
            "available": self.transport.is_some(),
            "state": state,
            "why": why,
            "reached_by": self.transport.as_ref().map(|transport| transport.reached_by()),
            "counts": standing.counts,
        })
    }
}
