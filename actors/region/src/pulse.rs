//! What a handler is given: the time, chance, its settings and records; and where it puts what it decides.

use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::hash::StableHash;
use maxim_bus::{Addressed, AgentId, Body, Envelope, MessageId, Meta, Name, Query, RegionName, Signal, Trust, scratch};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::records::{Record, RecordView};
use super::{Emits, Region};
use maxim_store::RecordChanges;

/// One input's worth of deciding.
pub struct Pulse<'a, R: Region> {
    common: Common<'a>,
    settings: &'a R::Settings,
    events: Vec<R::Event>,
}

/// What of a pulse is alike in all rooms, so that it is there once.
struct Common<'a> {
    agent: &'a AgentId,
    room: RegionName,
    heard: Option<&'a Envelope>,
    now: Timestamp,
    /// Most inputs draw nothing.
    rng: Option<Xoshiro256PlusPlus>,
    seed: u64,
    /// What the input is known by.
    input: [u8; 16],
    records: RecordView<'a>,
    output: Output,
}

/// What is decided on.
pub(super) enum Input<'a> {
    Heard(&'a Envelope),
    /// A deadline that has passed, with how many before it led to something at the very same time.
    Tick(u64),
}

/// What a handler decided; becomes true when the commit is accepted.
pub(super) struct Decided<E> {
    pub events: Vec<E>,
    pub output: Output,
}

/// What was decided beside the room's own events.
#[derive(Default)]
pub(super) struct Output {
    pub records: RecordChanges,
    pub emissions: Vec<(Meta, Arc<dyn Body>)>,
    /// The root is written with it.
    pub anew: bool,
    /// What its records replaced should leave the disk.
    pub replaced_much: bool,
    /// Records that it rests on, where somebody takes them down.
    pub found: Vec<Record>,
}

impl<E> Decided<E> {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.output.records.is_empty() && self.output.emissions.is_empty()
    }
}

impl<'a> Common<'a> {
    /// Chance comes from the agent's seed, the room and the input alone, so a retry and a replay draw the same.
    fn new(
        agent: &'a AgentId,
        seed: u64,
        room: RegionName,
        input: Input<'a>,
        now: Timestamp,
        records: RecordView<'a>,
    ) -> Self {
        let (heard, input) = match input {
            Input::Heard(envelope) => (Some(envelope), *envelope.meta.id.0.as_bytes()),
            Input::Tick(before) => {
                (None, ((i128::from(before) << 64) ^ i128::from(now.as_microsecond())).to_le_bytes())
            }
        };
        Self { agent, room, heard, now, rng: None, seed, input, records, output: Output::default() }
    }

    fn rng(&mut self) -> &mut Xoshiro256PlusPlus {
        self.rng.get_or_insert_with(|| {
            let seed = StableHash::resume(self.seed).add(self.room.as_bytes()).add(&self.input).get();
            Xoshiro256PlusPlus::seed_from_u64(seed)
        })
    }

    fn fresh_id(&mut self) -> MessageId {
        let rng = self.rng();
        let random = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
        MessageId::from_parts(u64::try_from(self.now.as_millisecond()).unwrap_or(0), random)
    }

    fn cause(&self) -> Option<&'a Meta> {
        self.heard.map(|envelope| &envelope.meta)
    }

    fn trust(&self) -> Trust {
        self.cause().map_or(Trust::Own, |meta| meta.trust)
    }

    fn turn(&mut self) -> MessageId {
        match self.cause() {
            Some(meta) => meta.correlation,
            None => self.fresh_id(),
        }
    }

    /// In the turn of what is being heard, or in one of its own, unless another is given.
    fn send(
        &mut self,
        turn: Option<MessageId>,
        trust: Trust,
        to: Option<Name>,
        body: Arc<dyn Body>,
        name: &'static str,
    ) -> MessageId {
        let id = self.fresh_id();
        let turn = turn.or(self.cause().map(|meta| meta.correlation)).unwrap_or(id);
        self.send_as(id, turn, trust, to, body, name)
    }

    fn send_as(
        &mut self,
        id: MessageId,
        turn: MessageId,
        trust: Trust,
        to: Option<Name>,
        body: Arc<dyn Body>,
        name: &'static str,
    ) -> MessageId {
        let meta = Meta {
            id,
            agent: self.agent.clone(),
            name: name.into(),
            cause: self.cause().map(|meta| meta.id),
            correlation: turn,
            at: self.now,
            sender: self.room.into(),
            trust,
            to,
        };
        self.output.emissions.push((meta, body));
        id
    }
}

impl<'a, R: Region> Pulse<'a, R> {
    pub(super) fn new(
        agent: &'a AgentId,
        seed: u64,
        input: Input<'a>,
        now: Timestamp,
        settings: &'a R::Settings,
        records: RecordView<'a>,
    ) -> Self {
        Self { common: Common::new(agent, seed, R::NAME, input, now, records), settings, events: Vec::new() }
    }

    pub(super) fn into_decided(self) -> Decided<R::Event> {
        let Common { records, output, .. } = self.common;
        Decided { events: self.events, output: Output { found: records.into_found(), ..output } }
    }

    /// When this input was taken.
    pub fn now(&self) -> Timestamp {
        self.common.now
    }

    pub fn settings(&self) -> &'a R::Settings {
        self.settings
    }

    /// The message that is being heard; none on a tick.
    pub fn cause(&self) -> Option<&'a Meta> {
        self.common.cause()
    }

    /// The same, whole; for who keeps it as it came.
    pub fn heard(&self) -> Option<&'a Envelope> {
        self.common.heard
    }

    /// The turn that this input belongs to; on a tick a turn of its own.
    pub fn turn(&mut self) -> MessageId {
        self.common.turn()
    }

    pub fn trust(&self) -> Trust {
        self.common.trust()
    }

    /// A number in [0, 1).
    pub fn chance(&mut self) -> f64 {
        (self.common.rng().next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn fresh_id(&mut self) -> MessageId {
        self.common.fresh_id()
    }

    /// Remembers. Applied to the state when the handler has returned.
    pub fn keep(&mut self, event: R::Event) {
        self.events.push(event);
    }

    /// Remembers that something is gone. What a person had forgotten must not stand in earlier events either, even
    /// where the state holds nothing of it any more. So the root is written in the same commit.
    pub fn keep_gone(&mut self, event: R::Event, forgotten: bool) {
        self.keep(event);
        self.common.output.anew |= forgotten;
    }

    /// Has what the room's records replaced up to here leave the disk, at the end of much work on them.
    pub fn replaced_much(&mut self) {
        self.common.output.replaced_much = true;
    }

    /// Emits in the turn of what is being heard.
    pub fn emit<S: Signal>(&mut self, signal: S) -> MessageId
    where
        R: Emits<S>,
    {
        let turn = self.turn();
        self.emit_in(turn, signal)
    }

    /// Emits in another turn, named by its first percept.
    pub fn emit_in<S: Signal>(&mut self, turn: MessageId, signal: S) -> MessageId
    where
        R: Emits<S>,
    {
        self.common.send(Some(turn), self.trust(), None, Arc::new(signal), S::NAME)
    }

    /// Emits in another turn with that turn's trust, for what was kept waiting.
    pub fn emit_trusted<S: Signal>(&mut self, turn: MessageId, trust: Trust, signal: S) -> MessageId
    where
        R: Emits<S>,
    {
        self.common.send(Some(turn), trust, None, Arc::new(signal), S::NAME)
    }

    /// Begins a turn: the message is its own correlation, and its trust is given.
    pub fn begin_turn<S: Signal>(&mut self, id: MessageId, signal: S, trust: Trust) -> MessageId
    where
        R: Emits<S>,
    {
        self.common.send_as(id, id, trust, None, Arc::new(signal), S::NAME)
    }

    /// Asks the room that answers such a question. The answer comes as a signal; the question's id is its cause.
    pub fn ask<Q: Addressed>(&mut self, question: Q) -> MessageId
    where
        R: Emits<Q>,
    {
        self.ask_room(Q::OF, question)
    }

    /// Asks one room of several that answer such a question.
    pub fn ask_room<Q: Query>(&mut self, room: RegionName, question: Q) -> MessageId
    where
        R: Emits<Q>,
    {
        self.common.send(None, self.trust(), Some(room.into()), Arc::new(question), Q::NAME)
    }

    /// Answers whoever asked what is being heard, and nobody else.
    pub fn reply<S: Signal>(&mut self, answer: S) -> MessageId
    where
        R: Emits<S>,
    {
        let to = self.cause().map(|meta| meta.sender.clone());
        self.common.send(None, Trust::Own, to, Arc::new(answer), S::NAME)
    }

    /// Sends to one room alone, in a turn: an answer that had to wait.
    pub fn emit_to<S: Signal>(&mut self, to: impl Into<Name>, turn: MessageId, signal: S) -> MessageId
    where
        R: Emits<S>,
    {
        self.common.send(Some(turn), Trust::Own, Some(to.into()), Arc::new(signal), S::NAME)
    }

    /// Answers a question that was heard earlier, when the answer took several steps: its cause is the question, by which
    /// the asker knows it.
    pub fn answer_to<S: Signal>(&mut self, to: Name, turn: MessageId, question: MessageId, answer: S) -> MessageId
    where
        R: Emits<S>,
    {
        let id = self.emit_to(to, turn, answer);
        if let Some((meta, _)) = self.common.output.emissions.last_mut() {
            meta.cause = Some(question);
        }
        id
    }

    /// Writes a record of this room, in the same commit as the events.
    pub fn put<T: Serialize>(&mut self, key: impl Into<Vec<u8>>, value: &T) {
        // Records are trees of plain data: JSON refuses nothing in them.
        let bytes = scratch::shared(|out| serde_json::to_writer(out, value).unwrap_or_default());
        self.put_bytes(key, bytes);
    }

    pub fn put_bytes(&mut self, key: impl Into<Vec<u8>>, bytes: impl Into<Arc<[u8]>>) {
        self.common.output.records.push((key.into(), Some(bytes.into())));
    }

    pub fn remove(&mut self, key: impl Into<Vec<u8>>) {
        self.common.output.records.push((key.into(), None));
    }

    /// A record as it was when this input was taken, or as put during it.
    pub fn record<T: DeserializeOwned>(&self, key: &[u8]) -> Option<T> {
        let put = self.common.output.records.iter().rev().find(|(at, _)| at == key);
        match put {
            Some((_, value)) => value.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok()),
            None => self.common.records.get(key),
        }
    }

    pub fn records(&self) -> &RecordView<'a> {
        &self.common.records
    }
}
