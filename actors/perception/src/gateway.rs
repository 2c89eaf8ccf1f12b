//! The gateway: the only door through which outside text becomes a percept.
//!
//! It interprets nothing, but remembers what it let in. Biology: the thalamus, which relays and doesn't interpret.
//! Law: one constructor fixes every control field. A repeated provider id means the same message. The id of a signed
//! command is remembered for good, however many others follow. At most `credit` turns are in flight; other percepts
//! wait here, on disk. The end of a turn is read before new percepts, but not while a room's backlog exceeds
//! `behind`: credit is returned only when all rooms have caught up.
//! Remembers: provider ids (the newest 10 000, and all of signed commands), turns in flight, the waiting queue.
//! Forgets: a turn that never ended, after some time.
//! Down: channels can't acknowledge, so their senders retry. A stop still works, by the latch.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::bounds::{CHANNEL, PROVIDER_ID, digest};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::acting::OpportunitySensed;
use maxim_bus::signals::goal::GoalPursued;
use maxim_bus::signals::percept::stopped_key;
use maxim_bus::signals::percept::{Inbound, InboundAccepted, Percept};
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
/// A turn that has not ended after this returns its credit. Longer than any tool's deadline.
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
    in_flight: BTreeMap<MessageId, Timestamp>,
    /// Sequence numbers of the waiting queue: next out, next in.
    waiting: (u64, u64),
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
    Seen { key: String, percept: MessageId },
    Begun { turn: MessageId, at: Timestamp },
    Queued,
    Released,
    Ended { turn: MessageId },
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
            GatewayEvent::Seen { key, percept } => {
                self.provider_order.push_back(key.clone());
                self.provider_ids.insert(key, percept);
                if self.provider_order.len() > PROVIDER_IDS
                    && let Some(oldest) = self.provider_order.pop_front()
                {
                    self.provider_ids.remove(&oldest);
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
        // An id is stored in both maps, with its percept.
        let bytes = |key: &String| 2 * key.len() + 64;
        let mut all: usize = self.provider_order.iter().map(bytes).sum();
        while all > most
            && let Some(oldest) = self.provider_order.pop_front()
        {
            all -= bytes(&oldest);
            self.provider_ids.remove(&oldest);
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

    /// Begins the turn, or makes it wait for credit. A stop never waits.
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
        if let Some(percept) = key.as_ref().and_then(known) {
            pulse.emit(InboundAccepted { inbound: inbound.id, percept, channel, repeated: true });
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
            pulse.keep(GatewayEvent::Seen { key, percept: id });
        }
        self.let_in(Waiting { id, percept, trust: inbound.trust }, pulse);
        pulse.emit(InboundAccepted { inbound: inbound.id, percept: id, channel, repeated: false });
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

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_region::rig::{Rig, ear};
    use maxim_store::Commit;

    fn settings(credit: usize) -> GatewaySettings {
        GatewaySettings { credit, behind: 4096, text_max: 64 << 10, stop: StopGrammar::new::<_, &str>(&["maxim"], &[]) }
    }

    fn inbound(body: &str, provider_id: Option<&str>) -> Inbound {
        Inbound {
            id: MessageId::from_parts(1, body.len() as u128),
            channel: "http".into(),
            sender: "anna".into(),
            body: body.into(),
            provider_id: provider_id.map(Into::into),
            trust: Trust::Owner,
            heard: None,
            is_signed: false,
            moving: false,
        }
    }

    fn rig(credit: usize) -> Rig<Gateway> {
        Rig::new(settings(credit), |bus, probe| {
            ear::<Percept>(bus, probe);
            ear::<InboundAccepted>(bus, probe);
        })
    }

    #[test]
    fn a_repeated_provider_id_is_the_first_message_even_after_a_crash() {
        let mut rig = rig(8);
        rig.send(inbound("hello", Some("SM1")));
        rig.crash();
        rig.send(inbound("hello again", Some("SM1")));
        let accepted = rig.heard::<InboundAccepted>();
        assert_eq!(accepted.len(), 2);
        assert_eq!(accepted[0].percept, accepted[1].percept);
        assert!(accepted[1].repeated);
    }

    #[test]
    fn a_signed_command_is_known_after_ten_thousand_others_and_a_crash() {
        let mut rig = rig(8);
        let signed = |id: &str, trust| Inbound { is_signed: true, trust, ..inbound("open the door", Some(id)) };
        rig.send(signed("first", Trust::Listed));
        let first = rig.heard::<InboundAccepted>()[0].percept;
        for n in 0..PROVIDER_IDS + 10 {
            rig.send(signed(&format!("other {n}"), Trust::Outside));
        }
        rig.heard::<InboundAccepted>();
        rig.crash();
        rig.send(signed("first", Trust::Listed));
        let again = rig.heard::<InboundAccepted>().remove(0);
        assert!(again.repeated && again.percept == first);
        assert!(!rig.region().provider_ids.contains_key("http/first"), "so it was pushed out there");
    }

    #[test]
    fn a_stop_that_is_played_again_is_known_after_ten_thousand_others() {
        let mut rig = rig(8);
        rig.send(Inbound { is_signed: true, trust: Trust::Outside, ..inbound("STOP", Some("first")) });
        for n in 0..PROVIDER_IDS + 10 {
            rig.send(inbound("hello", Some(&format!("other {n}"))));
        }
        assert!(rig.records().get::<MessageId>(&stopped_key("http/first")).is_some());
    }

    #[test]
    fn nothing_beyond_a_bound_is_kept() {
        let mut rig = rig(8);
        let long = "x".repeat(1_000_000);
        for n in 0..30 {
            rig.send(inbound("hello", Some(&format!("{long}{n}"))));
            rig.send(Inbound { sender: format!("{long}{n}"), ..inbound("hello", None) });
            rig.send(Inbound { channel: format!("{long}{n}"), ..inbound("hello", None) });
        }
        assert!(rig.heard::<Percept>().is_empty() && rig.region().provider_ids.is_empty());
        rig.send(inbound("hello", None));
        assert_eq!(rig.heard::<Percept>().len(), 1);
    }

    #[test]
    fn a_present_store_whose_root_would_be_too_large_starts_sheds_and_goes_on() {
        let mut rig = rig(8);
        // As a build without bounds left it: in the journal, because no root was written.
        for n in 0..22 {
            let key = format!("http/{n}{}", "x".repeat(900_000));
            let event = serde_json::to_vec(&GatewayEvent::Seen { key, percept: MessageId::from_parts(1, n) });
            let epoch = rig.store().epoch(Gateway::NAME);
            let commit = Commit { events: vec![event.expect("plain data")], ..Commit::of(Gateway::NAME, epoch) };
            rig.store().accept(commit, |_| ()).expect("accepted");
        }
        rig.crash();
        assert_eq!(rig.region().provider_ids.len(), 22);
        for n in 0..5 {
            rig.send(inbound("hello", Some(&format!("new {n}"))));
        }
        assert_eq!(rig.heard::<Percept>().len(), 5, "none was refused");
        rig.crash();
        assert_eq!(rig.region().provider_ids.len(), 5, "they are gone for good, and what is new is kept");
    }

    #[test]
    fn ids_that_were_too_long_go_first_where_the_root_is_too_large() {
        let mut gateway = Gateway::default();
        for n in 0..22 {
            let key = format!("http/{n}{}", "x".repeat(900_000));
            gateway.apply(GatewayEvent::Seen { key, percept: MessageId::from_parts(1, n) });
        }
        gateway.apply(GatewayEvent::Seen { key: "http/short".into(), percept: MessageId::from_parts(1, 99) });
        assert!(gateway.shed(1 << 20) > 0);
        assert_eq!((gateway.provider_ids.len(), gateway.provider_order.len()), (1, 1));
        assert!(gateway.provider_ids.contains_key("http/short"));
    }

    #[test]
    fn what_has_no_credit_waits_on_disk_and_comes_in_order() {
        let mut rig = rig(1);
        for n in 0..5 {
            rig.send(inbound(&format!("message {n}"), None));
        }
        assert_eq!(rig.region().waiting(), 4);
        rig.crash();
        assert_eq!(rig.region().waiting(), 4, "the queue survives");
        let mut order = Vec::new();
        for _ in 0..5 {
            let turn = *rig.region().in_flight.keys().next().expect("a turn is in flight");
            order.extend(rig.heard::<Percept>().into_iter().map(|percept| percept.content));
            rig.send(TurnEnded {
                turn,
                channel: "http".into(),
                reply: None,
                spoken: true,
                actions: vec![],
                lost: false,
                decided: None,
                rests_on: Vec::new(),
            });
        }
        assert_eq!(order, ["message 0", "message 1", "message 2", "message 3", "message 4"]);
        assert_eq!(rig.region().waiting(), 0);
    }

    #[test]
    fn a_text_is_cut_at_the_limit_of_the_settings() {
        for (text_max, kept) in [(64 << 10, 2000), (1 << 10, 1024)] {
            let mut rig: Rig<Gateway> = Rig::new(GatewaySettings { text_max, ..settings(8) }, ear::<Percept>);
            rig.send(inbound(&"a".repeat(2000), None));
            assert_eq!(rig.heard::<Percept>()[0].content.len(), kept);
        }
    }

    #[test]
    fn a_stop_does_not_wait_for_credit() {
        let mut rig = rig(1);
        rig.send(inbound("hello", None));
        rig.send(inbound("STOP!!!", None));
        let percepts = rig.heard::<Percept>();
        assert_eq!(percepts.len(), 2);
        assert!(percepts[1].hard_override.is_some());
    }

    #[test]
    fn a_turn_that_never_ends_gives_its_credit_back() {
        let mut rig = rig(1);
        rig.send(inbound("one", None));
        rig.send(inbound("two", None));
        rig.pass(std::time::Duration::from_secs(601));
        assert_eq!(rig.heard::<Percept>().len(), 2);
    }
}
