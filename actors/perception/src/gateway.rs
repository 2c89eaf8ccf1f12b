//! The gateway: the only door through which outside text becomes a percept.
//!
//! A dumb pipe with a memory for what it let in. Biology: the thalamus, which relays and doesn't interpret.
//! Law: one constructor fixes every control field; a provider's id is the same message however often it comes, and that of
//! a signed command is known for good, however many others come after it; another request under a client's key is refused;
//! a try that a client counts is the request that it repeats; at most
//! `credit` turns are in flight, the rest waits here, on disk; that a turn has ended is heard before what wants to begin,
//! but not while a room is far `behind`: credit comes back when all have followed.
//! Remembers: provider ids (the newest 10 000, and all of signed commands), the newest 1024 requests whose tries are counted,
//! turns in flight, the waiting queue. Forgets: a turn that never ended, after a while.
//! Down: channels can't acknowledge, so their senders try again; a stop works all the same, by the latch.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::bounds::{CHANNEL, PROVIDER_ID, digest};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::acting::OpportunitySensed;
use maxim_bus::signals::goal::GoalPursued;
use maxim_bus::signals::percept::stopped_key;
use maxim_bus::signals::percept::{Inbound, InboundAccepted, Percept, Retry};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use maxim_config::{ByteCount, Shape, section};
use serde::{Deserialize, Serialize};

use super::inbound::InboundText;
use maxim_language::stop_phrase::StopGrammar;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Number of provider ids remembered: enough for days of retries of the busiest provider.
const PROVIDER_IDS: usize = 10_000;
/// Requests whose tries are counted, that are remembered.
const TRIES: usize = 1024;
/// How long after its last try such a request is known: longer than a turn may take.
const TRIED: SignedDuration = SignedDuration::from_mins(30);
/// How long after a later try its first one may arrive, when both were under way at once.
const OVERTAKEN: SignedDuration = SignedDuration::from_secs(30);
/// A turn that has not ended after this gives its credit back. Longer than any tool's deadline.
const TURN_LIMIT: SignedDuration = SignedDuration::from_mins(10);

section! {
    /// How much of the outside is let in at once.
    GatewayKeys = "gateway" {
        /// Turns in flight; further percepts wait, durable, until one ends.
        credit: u32 = "256", "turns", Shape::Integer { low: 1, high: 65536 };
        /// Messages that may wait for one room of the brain; while more do, no further turns begin.
        behind: u32 = "4096", "messages", Shape::Integer { low: 16, high: 1048576 };
        /// The longest text of one percept; what is longer is refused.
        text_max: ByteCount = "64 KiB", "bytes", Shape::Size { low: "1 KiB", high: "16 MiB" };
    }
}

/// The gateway's settings.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Turns in flight at once.
    pub credit: usize,
    /// Maximum backlog of one room, in messages; while it is exceeded, ended turns keep their credit.
    pub behind: usize,
    /// Longest content of a percept, in bytes; the rest of a longer text is cut off.
    pub text_max: usize,
    /// The list of stop phrases, with the agent's names.
    pub stop: StopGrammar,
}

impl GatewaySettings {
    pub fn new(keys: &GatewayKeys, stop: StopGrammar) -> Self {
        let GatewayKeys { credit, behind, text_max } = keys;
        Self { credit: *credit as usize, behind: *behind as usize, text_max: text_max.as_usize(), stop }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Gateway {
    /// `channel/provider id` → percept.
    provider_ids: BTreeMap<String, MessageId>,
    provider_order: VecDeque<String>,
    /// Of those that are clients' keys: the digest of the request.
    #[serde(default)]
    key_digests: BTreeMap<String, String>,
    /// Requests whose tries are counted, by their digest; the one whose last try is the oldest stands first in the order.
    #[serde(default)]
    tries: BTreeMap<String, Try>,
    #[serde(default)]
    try_order: VecDeque<String>,
    in_flight: BTreeMap<MessageId, Timestamp>,
    /// Sequence numbers of the waiting queue: next out, next in.
    waiting: (u64, u64),
}

/// A request whose tries are counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Try {
    percept: MessageId,
    /// When its last try came.
    at: Timestamp,
    /// Its first try has come: the next first try is another request.
    has_first: bool,
}

/// A percept that waits for credit.
#[derive(Serialize, Deserialize)]
struct Waiting {
    id: MessageId,
    percept: Percept,
    trust: Trust,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GatewayEvent {
    Seen {
        key: String,
        percept: MessageId,
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    Tried {
        digest: String,
        percept: MessageId,
        at: Timestamp,
        is_first: bool,
    },
    Begun {
        turn: MessageId,
        at: Timestamp,
    },
    Queued,
    Released,
    Ended {
        turn: MessageId,
    },
}

wiring!(Gateway {
    hears: [Inbound],
    back: [TurnEnded, GoalPursued, OpportunitySensed],
    first: [TurnEnded],
    emits: [Percept, InboundAccepted]
});

impl Region for Gateway {
    const NAME: RegionName = rooms::GATEWAY;
    const STAGE: Stage = Stage::Perception;
    type Event = GatewayEvent;
    type Settings = GatewaySettings;

    fn apply(&mut self, event: GatewayEvent) {
        match event {
            GatewayEvent::Seen { key, percept, digest } => {
                self.provider_order.push_back(key.clone());
                if let Some(digest) = digest {
                    self.key_digests.insert(key.clone(), digest);
                }
                self.provider_ids.insert(key, percept);
                if self.provider_order.len() > PROVIDER_IDS
                    && let Some(oldest) = self.provider_order.pop_front()
                {
                    self.forget(&oldest);
                }
            }
            GatewayEvent::Tried { digest, percept, at, is_first } => {
                let before = self.tries.get(&digest).is_some_and(|known| known.percept == percept && known.has_first);
                self.tries.insert(digest.clone(), Try { percept, at, has_first: is_first || before });
                self.try_order.retain(|known| *known != digest);
                self.try_order.push_back(digest);
                if self.try_order.len() > TRIES
                    && let Some(oldest) = self.try_order.pop_front()
                {
                    self.tries.remove(&oldest);
                }
            }
            GatewayEvent::Begun { turn, at } => {
                self.in_flight.insert(turn, at);
            }
            GatewayEvent::Queued => self.waiting.1 += 1,
            GatewayEvent::Released => self.waiting.0 += 1,
            GatewayEvent::Ended { turn } => {
                self.in_flight.remove(&turn);
            }
        }
    }

    /// Removes ids that are longer than the present bound, then the oldest. After that, a repeated message may be
    /// accepted twice.
    fn shed(&mut self, most: usize) -> usize {
        let before = self.provider_order.len();
        let is_long = |key: &String| key.len() > CHANNEL.limit + 1 + PROVIDER_ID.limit;
        self.provider_order.retain(|key| !is_long(key));
        self.provider_ids.retain(|key, _| !is_long(key));
        self.key_digests.retain(|key, _| !is_long(key));
        // An id stands in both, with its percept.
        let bytes = |digests: &BTreeMap<String, String>, key: &String| {
            2 * key.len() + 64 + digests.get(key).map_or(0, |digest| key.len() + digest.len() + 8)
        };
        // A try stands in two as well.
        let tries: usize = self.try_order.iter().map(|digest| 2 * digest.len() + 128).sum();
        let mut all: usize = tries + self.provider_order.iter().map(|key| bytes(&self.key_digests, key)).sum::<usize>();
        while all > most
            && let Some(oldest) = self.provider_order.pop_front()
        {
            all -= bytes(&self.key_digests, &oldest);
            self.forget(&oldest);
        }
        before - self.provider_order.len()
    }

    fn next_deadline(&self, _settings: &GatewaySettings) -> Option<Timestamp> {
        self.in_flight.values().min().map(|at| at.later(TURN_LIMIT))
    }

    fn follows_within(settings: &GatewaySettings) -> Option<usize> {
        Some(settings.behind)
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let lost: Vec<MessageId> =
            self.in_flight.iter().filter(|(_, at)| at.later(TURN_LIMIT) <= now).map(|(turn, _)| *turn).collect();
        let free = lost.len();
        for turn in lost {
            tracing::warn!(%turn, "a turn has not ended in {} minutes; its credit is returned", TURN_LIMIT.as_mins());
            pulse.keep(GatewayEvent::Ended { turn });
        }
        self.release(free, pulse);
    }
}

impl Gateway {
    /// Percepts that wait for credit.
    pub fn waiting(&self) -> u64 {
        self.waiting.1 - self.waiting.0
    }

    fn forget(&mut self, key: &str) {
        self.provider_ids.remove(key);
        self.key_digests.remove(key);
    }

    /// The request that this try repeats. A first try is a new request, unless a later one has overtaken it.
    fn tried(&self, digest: &str, count: u32, now: Timestamp) -> Option<MessageId> {
        let known = self.tries.get(digest)?;
        let age = now.duration_since(known.at);
        let is_same = if count > 0 { age <= TRIED } else { !known.has_first && age <= OVERTAKEN };
        is_same.then_some(known.percept)
    }

    /// Begins the turn, or has it wait for credit. A stop never waits.
    fn let_in(&self, entering: Waiting, pulse: &mut Pulse<'_, Self>) {
        let has_credit = self.in_flight.len() < pulse.settings().credit && self.waiting() == 0;
        if has_credit || entering.percept.hard_override.is_some() {
            let Waiting { id, percept, trust } = entering;
            pulse.keep(GatewayEvent::Begun { turn: id, at: pulse.now() });
            pulse.begin_turn(id, percept, trust);
        } else {
            pulse.put(waiting_key(self.waiting.1), &entering);
            pulse.keep(GatewayEvent::Queued);
        }
    }

    fn release(&self, free: usize, pulse: &mut Pulse<'_, Self>) {
        let (out, into) = self.waiting;
        for seq in out..into.min(out + free as u64) {
            let key = waiting_key(seq);
            if let Some(waiting) = pulse.record::<Waiting>(&key) {
                pulse.keep(GatewayEvent::Begun { turn: waiting.id, at: pulse.now() });
                pulse.begin_turn(waiting.id, waiting.percept, waiting.trust);
            }
            pulse.remove(key);
            pulse.keep(GatewayEvent::Released);
        }
    }
}

/// The key that stores which percept a signed command became. These records are kept for good: some providers sign no
/// time, so a signature stays valid for ever. The key is a digest, so that all keys have the same length and contain
/// nothing of the message.
fn signed_key(key: &str) -> Vec<u8> {
    format!("signed/{}", digest(key)).into_bytes()
}

fn waiting_key(seq: u64) -> Vec<u8> {
    format!("waiting/{seq:016x}").into_bytes()
}

impl Hears<Inbound> for Gateway {
    fn hear(&self, inbound: &Inbound, pulse: &mut Pulse<'_, Self>) {
        let key = inbound.provider_id.as_ref().map(|id| format!("{}/{id}", inbound.channel));
        let channel = inbound.channel.clone();
        // The door has checked this already. Input that came in another way must not be stored either.
        if let Err(why) = inbound.check() {
            tracing::error!(channel, %why, "a message is too long and is ignored");
            return;
        }
        let signed = |key: &str| inbound.is_signed.then(|| pulse.record(&signed_key(key))).flatten();
        let known = |key: &String| self.provider_ids.get(key).copied().or_else(|| signed(key));
        let (counted, digest) = match &inbound.retry {
            Some(Retry::Count { digest, count }) => (Some((digest, *count)), None),
            Some(Retry::Key { digest }) => (None, Some(digest)),
            None => (None, None),
        };
        let now = pulse.now();
        let tried = |(digest, count): (&String, u32), percept| GatewayEvent::Tried {
            digest: digest.clone(),
            percept,
            at: now,
            is_first: count == 0,
        };
        let before = match counted {
            Some((digest, count)) => self.tried(digest, count, now),
            None => key.as_ref().and_then(known),
        };
        if let Some(percept) = before {
            if let Some(counted) = counted {
                pulse.keep(tried(counted, percept));
            }
            let was = key.as_ref().and_then(|key| self.key_digests.get(key));
            let differs = digest.zip(was).is_some_and(|(digest, was)| digest != was);
            pulse.emit(InboundAccepted { inbound: inbound.id, percept, channel, repeated: true, differs });
            return;
        }
        let GatewaySettings { text_max, stop, .. } = pulse.settings();
        let text =
            InboundText::within(*text_max, &inbound.channel, &inbound.sender, &inbound.body, stop, inbound.moving);
        let stop = text.hard_override().is_some();
        let content = text.content().to_owned();
        let mut percept = Percept::from_outside(text.channel(), text.sender(), content, stop, inbound.trust);
        percept.metadata.provider_id.clone_from(&inbound.provider_id);
        if let Some(sure) = inbound.heard {
            percept = percept.heard(sure);
        }
        let id = pulse.fresh_id();
        if let Some(key) = key {
            // A message that an attacker can replay for ever must be remembered for ever. Messages from strangers
            // command nothing, so a replay does no harm.
            if inbound.is_signed && inbound.trust >= Trust::Listed {
                pulse.put(signed_key(&key), &id);
            }
            if inbound.is_signed && stop {
                pulse.put(stopped_key(&key), &id);
            }
            pulse.keep(GatewayEvent::Seen { key, percept: id, digest: digest.cloned() });
        }
        if let Some(counted) = counted {
            pulse.keep(tried(counted, id));
        }
        self.let_in(Waiting { id, percept, trust: inbound.trust }, pulse);
        pulse.emit(InboundAccepted { inbound: inbound.id, percept: id, channel, repeated: false, differs: false });
    }
}

impl Hears<GoalPursued> for Gateway {
    fn hear(&self, pursued: &GoalPursued, pulse: &mut Pulse<'_, Self>) {
        let GoalPursued { turn, title, channel, sender, trust, .. } = pursued.clone();
        let percept = Percept::of_goal(&channel, &sender, title, trust);
        self.let_in(Waiting { id: turn, percept, trust }, pulse);
    }
}

impl Hears<OpportunitySensed> for Gateway {
    fn hear(&self, sensed: &OpportunitySensed, pulse: &mut Pulse<'_, Self>) {
        let OpportunitySensed { turn, things } = sensed.clone();
        self.let_in(Waiting { id: turn, percept: Percept::of_senses(things), trust: Trust::Own }, pulse);
    }
}

impl Hears<TurnEnded> for Gateway {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        if self.in_flight.contains_key(&ended.turn) {
            pulse.keep(GatewayEvent::Ended { turn: ended.turn });
            self.release(1, pulse);
        }
    }
}
