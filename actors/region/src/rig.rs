//! The synchronous test rig: one room, its store in memory, a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use maxim_bus::latch::StopLatch;
use maxim_bus::{
    AgentId, BusBuilder, Clock, Delivery, Envelope, Inbox, Lsn, MessageId, Meta, Signal, Stage, Trust, VirtualClock,
};

use super::seat::read_by;
use super::{Frame, Heart, Listed, Post, RecordView, Region, Seat, Step, Supervision, SupervisionSettings, WardKind};
use maxim_store::{AgentStore, StateStore};

/// A room on a bench. Its emitted signals arrive in a probe.
pub struct Rig<R: Region> {
    pub clock: VirtualClock,
    post: Arc<Post<R>>,
    seat: Seat<R>,
    probe: Arc<Inbox>,
    sent: u64,
    /// Kept open: a store ends with its last owner.
    _store: StateStore,
}

/// 2026-01-05T09:00:00Z, a Monday.
pub fn monday_morning() -> Timestamp {
    Timestamp::from_second(1_767_603_600).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl<R: Region> Rig<R> {
    /// Only the room; `probe` enters the signals to listen to into the bus.
    pub fn new(settings: R::Settings, probe: impl FnOnce(&mut BusBuilder, &Arc<Inbox>)) -> Self {
        let mut wires = BusBuilder::default();
        let card = R::card();
        let inbox = card.enter(&mut wires);
        let ear = wires.inbox("probe");
        wires.overhears(&ear);
        probe(&mut wires, &ear);
        let clock = VirtualClock::at(monday_morning());
        let latch = StopLatch::in_memory();
        let agent = AgentId::new("rig").unwrap_or_else(|_| unreachable!("a good name"));
        let store = StateStore::in_memory();
        let frame = Frame {
            agent: agent.clone(),
            bus: Arc::new(wires.build_unchecked()),
            store: store.agent(&agent),
            clock: Arc::new(clock.clone()),
            latch: latch.clone(),
            seed: 7,
            tap: None,
        };
        let heart = Arc::new(Heart::new(R::NAME, WardKind::Region, Duration::from_secs(3600)));
        let supervision = Supervision::new(SupervisionSettings::default(), latch);
        let post = Post::new(frame, inbox, card, settings, heart, supervision);
        let seat = Self::seat(&post);
        Self { clock, post, seat, probe: ear, sent: 0, _store: store }
    }

    fn seat(post: &Arc<Post<R>>) -> Seat<R> {
        let epoch = post.frame.store.raise_epoch(R::NAME);
        post.heart.set_epoch(epoch);
        post.inbox.seize(epoch);
        match Seat::load(Arc::clone(post), epoch) {
            Ok(seat) => seat,
            Err(error) => unreachable!("a store in memory is readable: {error}"),
        }
    }

    /// Sends a signal from the owner in a new turn; returns the turn.
    pub fn send<S: Signal>(&mut self, signal: S) -> MessageId {
        let id = MessageId::from_parts(
            u64::try_from(self.clock.now().as_millisecond()).unwrap_or(0),
            u128::from(self.sent) + 1,
        );
        self.send_in(id, Trust::Owner, signal);
        id
    }

    pub fn send_in<S: Signal>(&mut self, turn: MessageId, trust: Trust, signal: S) {
        self.put(turn, trust, None, signal);
    }

    /// Answers a question that the room asked in a turn.
    pub fn answer<S: Signal>(&mut self, turn: MessageId, question: MessageId, signal: S) {
        self.put(turn, Trust::Own, Some(question), signal);
    }

    /// Sends a signal with this place in the journal.
    pub fn send_at<S: Signal>(&mut self, lsn: Lsn, signal: S) {
        let turn = MessageId::from_parts(0, u128::from(lsn.0));
        self.deliver(lsn, turn, Trust::Owner, None, signal);
    }

    fn put<S: Signal>(&mut self, turn: MessageId, trust: Trust, cause: Option<MessageId>, signal: S) {
        self.deliver(Lsn(0), turn, trust, cause, signal);
    }

    fn deliver<S: Signal>(&mut self, lsn: Lsn, turn: MessageId, trust: Trust, cause: Option<MessageId>, signal: S) {
        self.sent += 1;
        let meta = Meta {
            id: MessageId::from_parts(0, u128::from(self.sent)),
            agent: self.post.frame.agent.clone(),
            name: S::NAME.into(),
            cause,
            correlation: turn,
            at: self.clock.now(),
            sender: "probe".into(),
            trust,
            to: None,
        };
        let envelope = Arc::new(Envelope::new(meta, Arc::new(signal)));
        self.post.inbox.push(Delivery { lsn, envelope, attempts: 0 });
        self.run();
    }

    /// Steps until nothing is left to do at this time.
    pub fn run(&mut self) {
        while matches!(self.seat.tick(), Step::Done) || matches!(self.seat.step(), Step::Done) {}
    }

    /// Lets time pass, then runs.
    pub fn pass(&mut self, time: Duration) {
        self.clock.advance(time);
        self.run();
    }

    /// Lets it act by itself once, if it is due.
    pub fn tick(&mut self) -> bool {
        matches!(self.seat.tick(), Step::Done)
    }

    /// When its next tick is due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.seat.next_deadline()
    }

    /// Drops the value and rebuilds it from the store, like a crash.
    pub fn crash(&mut self) {
        self.seat = Self::seat(&self.post);
    }

    /// Starts the room again on the same store, like another run of the process with these settings.
    pub fn restart(&mut self, settings: R::Settings) {
        let Post { frame, inbox, heart, supervision, .. } = &*self.post;
        let (frame, inbox) = (frame.clone(), Arc::clone(inbox));
        self.post = Post::new(frame, inbox, R::card(), settings, Arc::clone(heart), Arc::clone(supervision));
        self.crash();
    }

    #[cfg(test)]
    pub(super) fn post(&self) -> &Arc<Post<R>> {
        &self.post
    }

    pub fn store(&self) -> &AgentStore {
        &self.post.frame.store
    }

    /// Its records, for inspection.
    pub fn records(&self) -> RecordView<'_> {
        RecordView::new(&self.post.frame.store, R::NAME)
    }

    /// The records that it reads on waking: by actual waking, and by its own list.
    pub fn woken_by(&self) -> [Vec<Listed>; 2] {
        let Frame { store, agent, .. } = &self.post.frame;
        let (frozen, settings) = (store.freeze(R::NAME), &*self.post.settings);
        let wakes = read_by::<R>(&frozen, agent, |region, view| region.wake(view, settings));
        let lists = read_by::<R>(&frozen, agent, |region, view| region.read_to_wake(view, settings));
        [wakes, lists].map(|read| read.unwrap_or_else(|why| unreachable!("a store in memory is readable: {why}")))
    }

    pub fn region(&self) -> &R {
        self.seat.region()
    }

    pub fn state_hash(&self) -> u64 {
        self.seat.state_hash()
    }

    /// The emitted signals of this kind since the last call; other kinds are dropped.
    pub fn heard<S: Signal>(&mut self) -> Vec<S> {
        self.heard_with().into_iter().map(|(_, signal)| signal).collect()
    }

    /// The same, with their ids.
    pub fn heard_with<S: Signal>(&mut self) -> Vec<(MessageId, S)> {
        let of_kind = |envelope: Arc<Envelope>| Some((envelope.meta.id, envelope.get::<S>()?.clone()));
        self.heard_all().into_iter().filter_map(of_kind).collect()
    }

    /// All emitted signals since the last call.
    pub fn heard_all(&mut self) -> Vec<Arc<Envelope>> {
        let mut heard = Vec::new();
        while let Some((_, delivery)) = self.probe.take(maxim_bus::Epoch(0)) {
            self.probe.done(maxim_bus::Epoch(0));
            heard.push(delivery.envelope);
        }
        heard
    }
}

/// Enters a kind of signal for the probe.
pub fn ear<S: Signal>(bus: &mut BusBuilder, probe: &Arc<Inbox>) {
    bus.hears::<S>(probe, Stage::Anywhere, false);
}
