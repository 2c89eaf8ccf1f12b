//! The door: people and programs outside use it to put messages, commands and questions on the bus.
//!
//! A [`Door`] is a plain value for any thread; its actor brings the answers back. Text goes through the gateway. A stop
//! phrase in it raises the latch here, before any mailbox.

mod asking;

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use maxim_bus::hash::StableHash;
use maxim_bus::latch::{DurableAnswer, LatchError, LatchState, Raised, StopDetail};
use maxim_bus::rooms;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::grants::GrantReach;
use maxim_bus::signals::intent::{ApprovalDecided, DecisionTaken};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested, RegionChanged};
use maxim_bus::signals::outbox::Medium;
use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::Inbound;
use maxim_bus::signals::recall::{EpisodesImported, ImportEpisodes, Inquiry, InquiryAnswered};
use maxim_bus::signals::scene::Observed;
use maxim_bus::signals::sleep::{EndSession, RequestSleep, SleepEnded, SleepReport};
use maxim_bus::{Envelope, Lsn, MessageId, Meta, RegionName, Signal, Stage, Trust};
use parking_lot::Mutex;
use serde_json::Value as Json;

use crate::outside_doors::Doors;
use maxim_bus::signals::percept::stopped_key;
use maxim_language::stop_phrase::StopGrammar;
use maxim_region::{Effector, EffectorCard, Frame, Placement, Room};

pub use asking::Question;

/// Why a question to the brain got no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    #[error("the brain did not answer within {0} s; see `maxim status` for the rooms that are down")]
    Late(u64),
    #[error("{0}")]
    Refused(String),
    #[error("the answer could not be made durable: {0}")]
    NotDurable(String),
    #[error("the answer was lost on its way: {0}")]
    Lost(String),
}

/// How long the brain may take for immediate answers.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Tells at once, from any thread, whether a body moves now.
pub type Moves = Box<dyn Fn() -> bool + Send + Sync>;

/// Shared by everything outside that talks to one agent.
pub struct Door {
    frame: Frame,
    stop: StopGrammar,
    /// Whether a body moves now.
    moves: Moves,
    waiters: asking::Waiters,
    speaker: Mutex<Option<Speaker>>,
    numbering: Mutex<Numbering>,
}

/// Makes ids of outside messages unique.
#[derive(Clone, Copy)]
struct Numbering {
    /// The agent's position when the door was made: no earlier door of this agent had the same.
    since: Lsn,
    next: u64,
}

/// What a door knows and the store doesn't. The next door of an agent that only left memory gets it.
#[derive(Clone)]
pub struct DoorMemory {
    speaker: Option<Speaker>,
    numbering: Numbering,
}

/// The last speaker who may command, and the channel.
#[derive(Clone)]
struct Speaker {
    inbound: MessageId,
    /// The turn made from it, once the gateway has it.
    turn: Option<MessageId>,
    channel: String,
    name: String,
}

/// The door's name as a sender.
pub const DOOR: RegionName = "door";

impl Door {
    pub fn new(frame: Frame, stop: StopGrammar, moves: Moves) -> Arc<Self> {
        let numbering = Mutex::new(Numbering { since: frame.store.head(), next: 0 });
        Arc::new(Self { frame, stop, moves, waiters: asking::Waiters::default(), speaker: Mutex::default(), numbering })
    }

    pub fn memory(&self) -> DoorMemory {
        DoorMemory { speaker: self.speaker.lock().clone(), numbering: *self.numbering.lock() }
    }

    /// Continues the numbering of the previous door, so that ids are as if it still existed.
    pub fn go_on(&self, before: DoorMemory) {
        (*self.speaker.lock(), *self.numbering.lock()) = (before.speaker, before.numbering);
    }

    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// An id that no other message of this agent has.
    pub fn fresh_id(&self) -> MessageId {
        let Numbering { since, next } = {
            let mut numbering = self.numbering.lock();
            numbering.next += 1;
            Numbering { next: numbering.next - 1, ..*numbering }
        };
        let now = self.frame.clock.now();
        let seed = StableHash::resume(self.frame.seed).add(DOOR.as_bytes()).add(&next.to_le_bytes());
        let seed = seed.add(&since.0.to_le_bytes()).add(&now.as_microsecond().to_le_bytes());
        let random = (u128::from(seed.get()) << 64) | u128::from(seed.add(b"low").get());
        MessageId::from_parts(u64::try_from(now.as_millisecond()).unwrap_or(0), random)
    }

    /// Puts a message for the gateway onto the bus. When this returns, a stop phrase has already stopped everything.
    pub fn receive(&self, sender: RegionName, inbound: Inbound) {
        // The gateway and a replay use the same value.
        let inbound = Inbound { moving: (self.moves)(), ..inbound };
        if self.stop.matches(&inbound.body, inbound.moving) {
            let reason = format!("{:?} said on {}", inbound.body.trim(), inbound.channel);
            let _ = self.raise(reason, inbound.sender.clone());
        }
        let (id, trust) = (inbound.id, inbound.trust);
        if matches!(trust, Trust::Owner | Trust::Listed) {
            let (channel, name) = (inbound.channel.clone(), inbound.sender.clone());
            *self.speaker.lock() = Some(Speaker { inbound: id, turn: None, channel, name });
        }
        self.put(sender, id, trust, inbound);
    }

    /// The gateway has made a turn from a message.
    pub(super) fn accepted(&self, inbound: MessageId, turn: MessageId) {
        if let Some(speaker) = self.speaker.lock().as_mut().filter(|speaker| speaker.inbound == inbound) {
            speaker.turn = Some(turn);
        }
    }

    /// Tells the last speaker how the brain is, on their channel. It uses the bus only, because the rooms for thinking
    /// and speaking may be down. Nobody is told before anybody has spoken.
    pub fn tell_person(&self, text: &str) {
        let Some(Speaker { turn, channel, name, .. }) = self.speaker.lock().clone() else { return };
        let id = self.fresh_id();
        let (turn, recipient, text) = (turn.unwrap_or(id), name, text.to_owned());
        let said = Outbound { turn, channel, recipient, text, action: None, tool: None, medium: Medium::Text };
        self.put(DOOR, id, Trust::Own, said);
    }

    /// Stops everything: sets the latch first, then tells the rooms.
    pub fn stop(&self, reason: String, by: String) -> (Raised, DurableAnswer) {
        let detail = StopDetail { reason, by, at: Some(self.frame.clock.now()) }.bounded();
        let raised = self.raise(detail.reason.clone(), detail.by.clone());
        self.put(DOOR, self.fresh_id(), Trust::Owner, PreemptionRequested::Stop(detail));
        raised
    }

    /// What the latch now allows.
    pub fn latch_state(&self) -> LatchState {
        self.frame.latch.state()
    }

    /// Clears a stop for a person: changes the latch first, which decides, then tells the rooms.
    ///
    /// # Errors
    /// The latch can't be changed.
    pub fn reset(&self, by: String) -> Result<LatchState, LatchError> {
        let left = self.frame.latch.reset()?;
        self.put(DOOR, self.fresh_id(), Trust::Owner, PreemptionRequested::Reset { by });
        Ok(left)
    }

    /// The same for held motion.
    ///
    /// # Errors
    /// It is stopped, or the latch can't be changed.
    pub fn resume(&self, by: String) -> Result<LatchState, LatchError> {
        let left = self.frame.latch.resume()?;
        self.put(DOOR, self.fresh_id(), Trust::Owner, PreemptionRequested::Resume { by });
        Ok(left)
    }

    fn raise(&self, reason: String, by: String) -> (Raised, DurableAnswer) {
        self.frame.latch.raise(StopDetail { reason, by, at: Some(self.frame.clock.now()) })
    }

    /// Sends a request to the PreemptionCircuit, and waits for the result.
    ///
    /// # Errors
    /// As [`Door::ask`].
    pub async fn preempt(&self, request: PreemptionRequested) -> Result<PreemptionChanged, Unanswered> {
        self.answer_within(self.begin(None, request), AT_ONCE).await
    }

    /// A read-only question about the brain.
    ///
    /// # Errors
    /// As [`Door::ask`]; also when the introspector refuses the question.
    pub async fn inquire(&self, tool: &str, params: Json) -> Result<Json, Unanswered> {
        let inquiry = Inquiry { tool: tool.into(), params, turn: None, by_model: false };
        let answered: InquiryAnswered = self.answer_within(self.begin(None, inquiry), AT_ONCE).await?;
        answered.error.map_or(Ok(answered.output), |why| Err(Unanswered::Refused(why)))
    }

    /// Sends lines of an import to the hippocampus; the result is on disk when this returns.
    ///
    /// # Errors
    /// As [`Door::ask`].
    pub async fn import(&self, lines: Vec<(u64, String)>, all: bool) -> Result<EpisodesImported, Unanswered> {
        self.import_beside(lines, all, Vec::new(), false).await
    }

    /// The same for a file of which these episodes were refused. With `waits`, lines that refer to missing records are
    /// given back.
    ///
    /// # Errors
    /// As [`Door::ask`].
    pub async fn import_beside(
        &self,
        lines: Vec<(u64, String)>,
        all: bool,
        refused: Vec<String>,
        waits: bool,
    ) -> Result<EpisodesImported, Unanswered> {
        self.answered(self.begin(None, ImportEpisodes { lines, all, refused, waits })).await
    }

    /// Lets the brain sleep now, and waits at most `limit` for its report. After that the sleep goes on.
    ///
    /// # Errors
    /// As [`Door::ask`].
    pub async fn sleep(&self, by: &str, limit: Duration) -> Result<SleepReport, Unanswered> {
        let asked = self.begin(None, RequestSleep { by: by.into() });
        let ended: SleepEnded = self.answer_within(asked, limit).await?;
        Ok(ended.report)
    }

    /// Ends the session, if there is one. Sleep follows, now or at the next start.
    pub fn end_session(&self, by: &str) {
        self.put(DOOR, self.fresh_id(), Trust::Owner, EndSession { by: by.into() });
    }

    /// A person's answer to the gate's question, with a handle for the gate's reply.
    pub fn decide(&self, approval: MessageId, allow: bool, always: bool, by: String) -> Question<DecisionTaken> {
        self.decide_for(approval, allow, always.then(GrantReach::default), by)
    }

    /// The same, with the reach of an "always"; `None`: only this once.
    pub fn decide_for(
        &self,
        approval: MessageId,
        allow: bool,
        reach: Option<GrantReach>,
        by: String,
    ) -> Question<DecisionTaken> {
        let (at, always) = (self.frame.clock.now(), reach.is_some());
        let reach = reach.unwrap_or_default();
        self.begin(Some(rooms::FEAR_AGENT), ApprovalDecided { approval, allow, always, reach, by, at })
    }

    /// A body's report of a movement.
    pub fn sense(&self, sensed: MovementSensed) {
        self.put(DOOR, self.fresh_id(), Trust::Sensor, sensed);
    }

    /// Tells the rooms that supervision has noticed a change of a room.
    pub fn tell_change(&self, changed: RegionChanged) {
        self.put(DOOR, self.fresh_id(), Trust::Own, changed);
    }

    /// Puts any signal on the bus as its own turn. For imports and observations.
    pub fn put<S: Signal>(&self, sender: RegionName, id: MessageId, trust: Trust, signal: S) {
        self.send(sender, id, trust, None, signal);
    }

    fn send<S: Signal>(&self, sender: RegionName, id: MessageId, trust: Trust, to: Option<RegionName>, signal: S) {
        let meta = Meta {
            id,
            agent: self.frame.agent.clone(),
            name: S::NAME.into(),
            cause: None,
            correlation: id,
            at: self.frame.clock.now(),
            sender: sender.into(),
            trust,
            to: to.map(Into::into),
        };
        let envelope = Arc::new(Envelope::new(meta, Arc::new(signal)));
        if let Some(tap) = &self.frame.tap {
            tap.emitted(Lsn(0), &envelope);
        }
        self.frame.bus.publish(Lsn(0), &envelope);
    }

    /// True if a text stops, no matter who says it.
    pub fn is_stop(&self, text: &str) -> bool {
        self.stop.matches(text, (self.moves)())
    }

    /// True if the message with this provider's id has already stopped the agent. If this can't be read, false: one
    /// stop too many is better than one too few.
    pub fn has_stopped(&self, channel: &str, provider_id: &str) -> bool {
        let key = stopped_key(&format!("{channel}/{provider_id}"));
        let range = (Bound::Included(key.clone()), Bound::Included(key));
        self.frame.store.records(rooms::GATEWAY, range, 1).is_ok_and(|found| !found.is_empty())
    }

    pub fn now(&self) -> Timestamp {
        self.frame.clock.now()
    }
}

/// Brings answers back to the waiters at the door.
pub struct DoorKeeper {
    pub door: Arc<Door>,
}

impl DoorKeeper {
    /// The room as a value, for the parts list.
    pub fn room(doors: &Doors) -> Room {
        let door = doors.pick(|outside| Arc::clone(&outside.door));
        Room::acting(Placement::Pool, Box::new(move || Self { door: door() }))
    }
}

impl Effector for DoorKeeper {
    const NAME: RegionName = DOOR;
    const STAGE: Stage = Stage::Anywhere;
    const CONCURRENT: usize = 256;

    fn card() -> EffectorCard<Self> {
        asking::wires(EffectorCard::new())
            .says::<PreemptionRequested>()
            .says::<RegionChanged>()
            .says::<ApprovalDecided>()
            .says::<Inquiry>()
            .says::<ImportEpisodes>()
            .says::<RequestSleep>()
            .says::<EndSession>()
            .says::<MovementSensed>()
            .says::<Observed>()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }
}
