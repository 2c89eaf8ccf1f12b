//! The outbox as a room: every message to a channel that reaches outside, until it has arrived.
//!
//! Biology: none; the writing desk of a careful person.
//! Law: a message is on disk before its first attempt, and each attempt before it begins. On a channel one attempt runs
//! at a time, in order for each recipient. A message that the provider certainly didn't accept is tried again with
//! growing pauses, for a day. A message that the provider refused has failed, with the provider's words. An attempt
//! with an unknown outcome makes the message `unknown`; it is repeated automatically only if the channel is configured
//! so. A stop holds unsent messages. They stay held after the reset until a person decides, because they may be
//! outdated.
//! The turn that wanted a message hears its outcome. A failure hurts like that of any action.
//! A sender who may command is answered. It writes to others only if they are on the channel's list of recipients.
//! Remembers: open messages, the newest 1000 finished ones, and who began which turn outside.
//! Down: nothing is sent; messages wait in the journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outbox::{
    Attempted, ChangeOutbox, DeliveryEnded, Medium, OutboxChanged, OutboxEntry, OutboxState, OutboxWish, SendAttempted,
    SendMessage, is_outside,
};
use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::Percept;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::law::pause;
use super::model::{Correspondent, Counts, ENTRIES, KEPT, OPEN, OutboxEvent, OutboxSettings, Sent, Slot, TURNS};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};
use maxim_tools::messaging::MaySend;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outbox {
    open: BTreeMap<MessageId, Slot>,
    over: VecDeque<MessageId>,
    turns: VecDeque<(MessageId, Correspondent)>,
    sent: BTreeMap<String, Sent>,
    next: u64,
    stopped: bool,
    counts: Counts,
}

wiring!(Outbox {
    hears: [Percept, TurnEnded, Outbound, SendAttempted, PreemptionChanged, ChangeOutbox, ReportStats],
    back: [],
    emits: [SendMessage, DeliveryEnded, OutboxChanged, StatsReported],
});

impl Region for Outbox {
    const NAME: RegionName = rooms::OUTBOX;
    const STAGE: Stage = Stage::Action;
    type Event = OutboxEvent;
    type Settings = OutboxSettings;

    fn apply(&mut self, event: OutboxEvent) {
        match event {
            OutboxEvent::Corresponded { turn, channel, sender, message, listed } => {
                self.turns.push_back((turn, Correspondent { channel, sender, message, listed }));
                if self.turns.len() > TURNS {
                    self.turns.pop_front();
                }
            }
            OutboxEvent::Queued { id, channel, recipient, at, held } => {
                let state = if held { OutboxState::Held } else { OutboxState::Queued };
                self.counts.queued += 1;
                self.enter(id, Slot { number: 0, channel, recipient, state, attempts: 0, created: at, at, boot: 0 });
            }
            OutboxEvent::Reopened { id, channel, recipient, attempts, created, at } => {
                self.over.retain(|over| *over != id);
                let state = OutboxState::Queued;
                self.enter(id, Slot { number: 0, channel, recipient, state, attempts, created, at, boot: 0 });
            }
            OutboxEvent::Began { id, at, boot } => {
                if let Some(slot) = self.open.get_mut(&id) {
                    (slot.state, slot.at, slot.boot) = (OutboxState::Sending, at, boot);
                    slot.attempts += 1;
                    self.sent.entry(slot.channel.clone()).or_default().note(at);
                }
            }
            OutboxEvent::Stands { id, state, at } => self.stands(id, state, at),
            OutboxEvent::Unsaid => self.counts.unsaid += 1,
            OutboxEvent::Overflowed => self.counts.overflowed += 1,
            OutboxEvent::Latched(stopped) => self.stopped = stopped,
        }
    }

    fn next_deadline(&self, settings: &OutboxSettings) -> Option<Timestamp> {
        if !settings.sends {
            return None;
        }
        let overdue = self.sending().map(|(_, slot)| overdue_at(slot, settings));
        let due = self.candidates().map(|(_, slot)| self.may_begin_at(slot, settings));
        overdue.chain(due).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let (now, settings) = (pulse.now(), pulse.settings());
        for (id, slot) in self.sending().filter(|(_, slot)| overdue_at(slot, settings) <= now) {
            let why =
                "the outcome of the attempt is not known: the process or the channel broke while it ran".to_owned();
            self.concluded(*id, slot, Attempted::Unknown { why }, pulse);
        }
        let mut begun = BTreeSet::new();
        for (id, slot) in self.candidates() {
            if self.may_begin_at(slot, settings) <= now && begun.insert(&slot.channel) {
                self.begin(*id, pulse);
            }
        }
    }
}

/// After this nobody will report the attempt's end.
fn overdue_at(slot: &Slot, settings: &OutboxSettings) -> Timestamp {
    if slot.boot == settings.boot { slot.at.later(settings.limit) } else { slot.at }
}

fn key(id: MessageId) -> Vec<u8> {
    format!("{ENTRIES}{id}").into_bytes()
}

/// Why a message is held.
const HELD: &str = "it was stopped before this was sent; `maxim outbox retry` has it sent after all";

/// A message to be queued.
struct New<'a> {
    turn: MessageId,
    channel: &'a str,
    recipient: &'a str,
    text: &'a str,
    medium: Medium,
    tool: Option<String>,
    in_reply_to: Option<String>,
    /// Why it must not be sent.
    refused: Option<String>,
}

impl Outbox {
    fn enter(&mut self, id: MessageId, slot: Slot) {
        self.open.insert(id, Slot { number: self.next, ..slot });
        self.next += 1;
    }

    fn stands(&mut self, id: MessageId, state: OutboxState, at: Timestamp) {
        if state.is_over() {
            self.open.remove(&id);
            self.over.retain(|over| *over != id);
            self.over.push_back(id);
            if self.over.len() > KEPT {
                self.over.pop_front();
            }
            *self.counts.over.entry(state.word().into()).or_default() += 1;
        } else if let Some(slot) = self.open.get_mut(&id) {
            (slot.state, slot.at) = (state, at);
        }
    }

    fn sending(&self) -> impl Iterator<Item = (&MessageId, &Slot)> {
        self.open.iter().filter(|(_, slot)| slot.state == OutboxState::Sending)
    }

    /// The oldest message of each recipient on each channel that isn't sending.
    fn candidates(&self) -> impl Iterator<Item = (&MessageId, &Slot)> {
        let busy: BTreeSet<&str> = self.sending().map(|(_, slot)| slot.channel.as_str()).collect();
        let mut first: BTreeMap<(&str, &str), (&MessageId, &Slot)> = BTreeMap::new();
        let queued = self.open.iter().filter(|(_, slot)| slot.state == OutboxState::Queued && !self.stopped);
        for (id, slot) in queued.filter(|(_, slot)| !busy.contains(slot.channel.as_str())) {
            let entry = first.entry((&slot.channel, &slot.recipient)).or_insert((id, slot));
            if slot.number < entry.1.number {
                *entry = (id, slot);
            }
        }
        let mut found: Vec<_> = first.into_values().collect();
        found.sort_by_key(|(_, slot)| (slot.at, slot.number));
        found.into_iter()
    }

    fn may_begin_at(&self, slot: &Slot, settings: &OutboxSettings) -> Timestamp {
        let per_minute = settings.rules.channels.get(&slot.channel).map_or(usize::MAX, |rules| rules.per_minute);
        let free = self.sent.get(&slot.channel).and_then(|sent| sent.free_at(per_minute));
        free.map_or(slot.at, |free| free.max(slot.at))
    }

    fn begin(&self, id: MessageId, pulse: &mut Pulse<'_, Self>) {
        let Some(mut entry) = pulse.record::<OutboxEntry>(&key(id)) else {
            tracing::warn!(%id, "an entry of the outbox has lost its words; it is dropped");
            pulse.keep(OutboxEvent::Stands { id, state: OutboxState::Dropped, at: pulse.now() });
            return;
        };
        let (now, boot) = (pulse.now(), pulse.settings().boot);
        entry.attempts += 1;
        (entry.state, entry.changed, entry.due) = (OutboxState::Sending, now, None);
        pulse.put(key(id), &entry);
        pulse.keep(OutboxEvent::Began { id, at: now, boot });
        let OutboxEntry { turn, channel, recipient, text, medium, in_reply_to, attempts: attempt, .. } = entry;
        let wish = SendMessage { entry: id, attempt, channel, recipient, text, medium, in_reply_to };
        pulse.emit_trusted(turn, Trust::Own, wish);
    }

    /// An entry changes its state.
    fn stand(
        &self,
        id: MessageId,
        state: OutboxState,
        why: Option<String>,
        at: Timestamp,
        pulse: &mut Pulse<'_, Self>,
    ) {
        if let Some(mut entry) = pulse.record::<OutboxEntry>(&key(id)) {
            (entry.state, entry.changed) = (state, pulse.now());
            entry.due = (state == OutboxState::Queued).then_some(at);
            entry.why = why.or(entry.why);
            pulse.put(key(id), &entry);
            self.tell_end(&entry, pulse);
        }
        self.make_room(state, pulse);
        pulse.keep(OutboxEvent::Stands { id, state, at });
    }

    /// Tells the turn that wanted a message its outcome.
    fn tell_end(&self, entry: &OutboxEntry, pulse: &mut Pulse<'_, Self>) {
        if !matches!(entry.state, OutboxState::Delivered | OutboxState::Failed | OutboxState::Unknown) {
            return;
        }
        let OutboxEntry { id, turn, tool, channel, recipient, text, state, attempts, why, .. } = entry.clone();
        let ended = DeliveryEnded { entry: id, turn, tool, channel, recipient, text, state, attempts, why };
        pulse.emit_in(turn, ended);
    }

    /// Drops the oldest finished entry if one more finishes.
    fn make_room(&self, state: OutboxState, pulse: &mut Pulse<'_, Self>) {
        if state.is_over()
            && self.over.len() >= KEPT
            && let Some(oldest) = self.over.front()
        {
            pulse.remove(key(*oldest));
        }
    }

    fn concluded(&self, id: MessageId, slot: &Slot, outcome: Attempted, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let is_late = now.duration_since(slot.created) >= pulse.settings().give_up;
        let repeats = pulse.settings().rules.channels.get(&slot.channel).is_some_and(|rules| rules.repeats_unknown);
        let (state, why, asked) = match outcome {
            Attempted::Delivered { provider_id } => {
                if let Some(mut entry) = pulse.record::<OutboxEntry>(&key(id)) {
                    (entry.provider_id, entry.why) = (provider_id, None);
                    pulse.put(key(id), &entry);
                }
                (OutboxState::Delivered, None, None)
            }
            Attempted::Refused { why } => (OutboxState::Failed, Some(why), None),
            Attempted::Stopped { why } => (OutboxState::Held, Some(why), None),
            Attempted::Unknown { why } if !repeats => (OutboxState::Unknown, Some(why), None),
            Attempted::NotNow { why, .. } | Attempted::Unknown { why } if is_late => {
                (OutboxState::Failed, Some(format!("given up after {} attempts: {why}", slot.attempts)), None)
            }
            Attempted::NotNow { why, retry_after_s } => (OutboxState::Queued, Some(why), retry_after_s),
            Attempted::Unknown { why } => (OutboxState::Queued, Some(why), None),
        };
        if matches!(state, OutboxState::Failed | OutboxState::Unknown) {
            let why = why.as_deref().unwrap_or_default();
            tracing::warn!(entry = %id, channel = slot.channel, state = state.word(), why, "a message did not arrive for sure; see `maxim outbox`");
        }
        let state = if self.stopped && state == OutboxState::Queued { OutboxState::Held } else { state };
        let at =
            if state == OutboxState::Queued { now.later(pause(slot.attempts, pulse.chance(), asked)) } else { now };
        self.stand(id, state, why, at, pulse);
    }

    fn correspondent(&self, turn: MessageId) -> Option<&Correspondent> {
        self.turns.iter().rev().find(|(known, _)| *known == turn).map(|(_, correspondent)| correspondent)
    }

    fn is_known(&self, id: MessageId, pulse: &Pulse<'_, Self>) -> bool {
        self.open.contains_key(&id) || pulse.record::<OutboxEntry>(&key(id)).is_some()
    }

    fn queue(&self, id: MessageId, message: New<'_>, pulse: &mut Pulse<'_, Self>) {
        if self.is_known(id, pulse) {
            return;
        }
        let now = pulse.now();
        let New { turn, channel, recipient, text, medium, tool, in_reply_to, refused } = message;
        let is_full = self.open.len() >= OPEN;
        let full = || format!("the outbox is full: {OPEN} messages wait; drop some");
        let (state, why) = match (refused.or_else(|| is_full.then(full)), self.stopped) {
            (Some(why), _) => (OutboxState::Failed, Some(why)),
            (None, true) => (OutboxState::Held, Some(HELD.to_owned())),
            (None, false) => (OutboxState::Queued, None),
        };
        let entry = OutboxEntry {
            id,
            turn,
            channel: channel.to_owned(),
            recipient: recipient.to_owned(),
            text: text.to_owned(),
            medium,
            in_reply_to,
            state,
            attempts: 0,
            created: now,
            changed: now,
            due: (state == OutboxState::Queued).then_some(now),
            why,
            provider_id: None,
            tool,
        };
        if state == OutboxState::Failed {
            tracing::warn!(channel, why = entry.why, "a message isn't sent; see `maxim outbox`");
        }
        pulse.put(key(id), &entry);
        self.tell_end(&entry, pulse);
        if is_full {
            pulse.keep(OutboxEvent::Overflowed);
        }
        if state.is_over() {
            self.make_room(state, pulse);
            pulse.keep(OutboxEvent::Stands { id, state, at: now });
        } else {
            let (channel, recipient) = (entry.channel, entry.recipient);
            pulse.keep(OutboxEvent::Queued { id, channel, recipient, at: now, held: state == OutboxState::Held });
        }
    }
}

impl Hears<Percept> for Outbox {
    /// The author of a goal is answered like a sender, also if the goal is pursued later.
    fn heeds(percept: &Percept) -> bool {
        is_outside(&percept.metadata.channel) && percept.is_request()
    }

    fn hear(&self, percept: &Percept, pulse: &mut Pulse<'_, Self>) {
        let origin = &percept.metadata;
        let turn = pulse.turn();
        pulse.keep(OutboxEvent::Corresponded {
            turn,
            channel: origin.channel.clone(),
            sender: origin.sender.clone(),
            message: origin.provider_id.clone(),
            listed: percept.trust >= Trust::Listed,
        });
    }
}

impl Hears<Outbound> for Outbox {
    fn heeds(outbound: &Outbound) -> bool {
        is_outside(&outbound.channel)
    }

    fn hear(&self, outbound: &Outbound, pulse: &mut Pulse<'_, Self>) {
        let Outbound { turn, channel, recipient, text, action, tool, medium } = outbound;
        let Some(id) = action.or(pulse.cause().map(|meta| meta.id)) else { return };
        let asker = self.correspondent(*turn).filter(|asker| asker.channel == *channel && asker.sender == *recipient);
        let refused = match asker {
            Some(asker) if asker.listed => None,
            _ => match pulse.settings().rules.may_send(channel, recipient, *medium) {
                MaySend::Yes => None,
                MaySend::No(why) | MaySend::Unavailable(why) => Some(why),
            },
        };
        let in_reply_to = asker.and_then(|asker| asker.message.clone());
        let (turn, medium, tool) = (*turn, *medium, tool.clone());
        self.queue(id, New { turn, channel, recipient, text, medium, tool, in_reply_to, refused }, pulse);
    }
}

impl Hears<TurnEnded> for Outbox {
    /// Answers without a tool: that it was stopped or held, or that a person must allow it first.
    fn heeds(ended: &TurnEnded) -> bool {
        !ended.spoken
    }

    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        let Some(text) = &ended.reply else { return };
        let Some(asker) = self.correspondent(ended.turn).cloned() else { return };
        if !asker.listed || self.stopped {
            // After the reset nobody needs to read that it was stopped.
            pulse.keep(OutboxEvent::Unsaid);
            return;
        }
        let Some(id) = pulse.cause().map(|meta| meta.id) else { return };
        let Correspondent { channel, sender, message, .. } = &asker;
        let (turn, in_reply_to, refused) = (ended.turn, message.clone(), None);
        let (medium, tool) = (Medium::Text, None);
        self.queue(id, New { turn, channel, recipient: sender, text, medium, tool, in_reply_to, refused }, pulse);
    }
}

impl Hears<SendAttempted> for Outbox {
    fn hear(&self, told: &SendAttempted, pulse: &mut Pulse<'_, Self>) {
        let Some(slot) = self.open.get(&told.entry) else { return };
        let is_awaited = matches!(slot.state, OutboxState::Sending | OutboxState::Unknown);
        if !is_awaited || slot.attempts != told.attempt {
            tracing::debug!(entry = %told.entry, attempt = told.attempt, "an attempt was told of that nobody waits for");
            return;
        }
        self.concluded(told.entry, slot, told.outcome.clone(), pulse);
    }
}

impl Hears<PreemptionChanged> for Outbox {
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        match changed.request {
            PreemptionRequested::Stop(_) => {
                pulse.keep(OutboxEvent::Latched(true));
                for (id, _) in self.open.iter().filter(|(_, slot)| slot.state == OutboxState::Queued) {
                    self.stand(*id, OutboxState::Held, Some(HELD.into()), pulse.now(), pulse);
                }
            }
            PreemptionRequested::Reset { .. } => pulse.keep(OutboxEvent::Latched(false)),
            _ => {}
        }
    }
}

impl Hears<ChangeOutbox> for Outbox {
    fn hear(&self, change: &ChangeOutbox, pulse: &mut Pulse<'_, Self>) {
        let id = change.entry;
        let entry = pulse.record::<OutboxEntry>(&key(id));
        let refused = match (&entry, change.wish) {
            _ if pulse.trust() < Trust::Owner => Some("only the owner changes the outbox".to_owned()),
            (None, _) => Some(format!("there is no entry {id} in the outbox")),
            (Some(entry), _) if matches!(entry.state, OutboxState::Sending | OutboxState::Delivered) => {
                Some(format!("it is {}", entry.state.word()))
            }
            (Some(entry), OutboxWish::Drop) if entry.state == OutboxState::Dropped => Some("it is dropped".to_owned()),
            (Some(_), OutboxWish::Retry) if self.stopped => {
                Some("it is stopped; reset it first with `maxim reset`".into())
            }
            (Some(_), OutboxWish::Retry) if !self.open.contains_key(&id) && self.open.len() >= OPEN => {
                Some(format!("the outbox is full: {OPEN} messages wait"))
            }
            _ => None,
        };
        let state = match (entry, &refused, change.wish) {
            (Some(entry), None, wish) => Some(self.follow(entry, wish, pulse)),
            (entry, ..) => entry.map(|entry| entry.state),
        };
        pulse.reply(OutboxChanged { entry: id, done: refused.is_none(), state, reason: refused });
    }
}

impl Outbox {
    /// Carries out a person's wish for an entry.
    fn follow(&self, entry: OutboxEntry, wish: OutboxWish, pulse: &mut Pulse<'_, Self>) -> OutboxState {
        let (id, now) = (entry.id, pulse.now());
        match wish {
            OutboxWish::Drop => {
                self.stand(id, OutboxState::Dropped, None, now, pulse);
                OutboxState::Dropped
            }
            OutboxWish::Retry if self.open.contains_key(&id) => {
                self.stand(id, OutboxState::Queued, None, now, pulse);
                OutboxState::Queued
            }
            OutboxWish::Retry => {
                // Its time limit starts again, or it would fail at once.
                let again = OutboxEntry { state: OutboxState::Queued, changed: now, due: Some(now), ..entry };
                pulse.put(key(id), &again);
                let OutboxEntry { channel, recipient, attempts, .. } = again;
                pulse.keep(OutboxEvent::Reopened { id, channel, recipient, attempts, created: now, at: now });
                OutboxState::Queued
            }
        }
    }
}

impl Hears<ReportStats> for Outbox {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let count = |state: OutboxState| self.open.values().filter(|slot| slot.state == state).count();
        let counts = serde_json::json!({
            "queued": count(OutboxState::Queued),
            "sending": count(OutboxState::Sending),
            "held": count(OutboxState::Held),
            "unknown": count(OutboxState::Unknown),
            "over": self.counts.over,
            "ever": self.counts.queued,
            "unsaid": self.counts.unsaid,
            "overflowed": self.counts.overflowed,
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
