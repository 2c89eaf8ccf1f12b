//! The shell of an effector: an actix actor that awaits the outside and never decides.
//!
//! An effector remembers nothing. The room that asked keeps the need in its own state, with a deadline. An operation
//! that panicked, hung or took too long is reported to it as abandoned, in words.

mod actor;
mod post;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use maxim_bus::hash::StableHash;
use maxim_bus::{
    AgentId, BusBuilder, Envelope, Epoch, Inbox, Lsn, MessageId, Meta, Policy, RegionName, Signal, Stage, Trust,
};

use super::card::wire;
use super::{Frame, Heart, Supervision, Wire};
use maxim_store::{AcceptError, Commit, NotDurable};

pub use actor::EffectorActor;
pub use post::EffectorPost;

/// A room that acts on the outside.
pub trait Effector: Send + Sync + Sized + 'static {
    const NAME: RegionName;
    const STAGE: Stage;
    /// How many operations run at the same time.
    const CONCURRENT: usize = 1;

    fn card() -> EffectorCard<Self>;
    /// Time limit of one operation; then it is abandoned.
    fn deadline(&self) -> Duration;
}

/// The effector does what `S` asks.
pub trait Performs<S: Signal>: Effector {
    /// Whether this signal is a task for it, by its content only; other signals aren't delivered.
    fn heeds(_signal: &S) -> bool {
        true
    }

    fn perform(self: Arc<Self>, signal: S, operation: Operation<Self>) -> impl Future<Output = ()> + 'static;

    /// It was not done, or it is unknown whether it was done.
    fn abandoned(signal: &S, why: &str, operation: &Operation<Self>);
}

type Begin<E> = fn(Arc<E>, &Envelope, Operation<E>) -> Option<LocalBoxFuture<'static, ()>>;
type Abandon<E> = fn(&Envelope, &str, &Operation<E>);
type HearingWire = fn(&mut BusBuilder, &Arc<Inbox>, Stage, bool);
type SpeakingWire = fn(&mut BusBuilder, RegionName, Stage);

/// The signals that an effector hears and says.
pub struct EffectorCard<E> {
    performs: BTreeMap<&'static str, (Begin<E>, Abandon<E>)>,
    hearing: Vec<(Wire, HearingWire)>,
    saying: Vec<(Wire, SpeakingWire)>,
}

impl<E: Effector> Default for EffectorCard<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Effector> EffectorCard<E> {
    pub fn new() -> Self {
        Self { performs: BTreeMap::new(), hearing: Vec::new(), saying: Vec::new() }
    }

    pub fn performs<S: Signal>(mut self) -> Self
    where
        E: Performs<S>,
    {
        let begin: Begin<E> = |effector, envelope, operation| {
            let signal = envelope.get::<S>()?.clone();
            Some(effector.perform(signal, operation).boxed_local())
        };
        let abandon: Abandon<E> = |envelope, why, operation| {
            if let Some(signal) = envelope.get::<S>() {
                E::abandoned(signal, why, operation);
            }
        };
        self.performs.insert(S::NAME, (begin, abandon));
        self.hearing.push((wire::<S>(false), |bus, inbox, stage, back| bus.heeds::<S>(inbox, stage, back, E::heeds)));
        self
    }

    pub fn says<S: Signal>(mut self) -> Self {
        self.saying.push((wire::<S>(false), |bus, emitter, stage| bus.emits::<S>(emitter, stage)));
        self
    }

    pub fn enter(&self, bus: &mut BusBuilder) -> Arc<Inbox> {
        let inbox = bus.inbox(E::NAME);
        for (_, hear) in &self.hearing {
            hear(bus, &inbox, E::STAGE, false);
        }
        for (_, say) in &self.saying {
            say(bus, E::NAME, E::STAGE);
        }
        inbox
    }

    pub fn heard(&self) -> impl Iterator<Item = Wire> + '_ {
        self.hearing.iter().map(|(wire, _)| *wire)
    }

    pub fn said(&self) -> impl Iterator<Item = Wire> + '_ {
        self.saying.iter().map(|(wire, _)| *wire)
    }
}

/// The tools of an effector: the agent's frame, fenced by its incarnation.
pub struct Hands {
    pub frame: Frame,
    name: RegionName,
    epoch: Epoch,
    heart: Arc<Heart>,
    supervision: Arc<Supervision>,
    said: AtomicU64,
}

impl Hands {
    /// The hearts of all supervised rooms, in the order of the anatomy.
    pub fn hearts(&self) -> Vec<Arc<Heart>> {
        self.supervision.hearts()
    }

    pub fn agent(&self) -> &AgentId {
        &self.frame.agent
    }

    pub fn now(&self) -> Timestamp {
        self.frame.clock.now()
    }

    /// False once a newer incarnation has taken over. Then no effect may begin.
    pub fn is_current(&self) -> bool {
        self.heart.epoch() == self.epoch
    }

    /// Says something in a turn. It is accepted at once and durable later: wait for the returned number.
    pub fn say<S: Signal>(&self, cause: &Meta, trust: Trust, signal: S) -> Result<Lsn, AcceptError> {
        let id = self.fresh_id(cause.id);
        let meta = Meta {
            id,
            agent: self.frame.agent.clone(),
            name: S::NAME.into(),
            cause: Some(cause.id),
            correlation: cause.correlation,
            at: self.frame.clock.now(),
            sender: self.name.into(),
            trust,
            to: None,
        };
        let envelope = Arc::new(Envelope::new(meta, Arc::new(signal)));
        let journalled = S::POLICY == Policy::Lossless;
        let commit = Commit {
            region: self.name,
            epoch: self.epoch,
            consumed: None,
            events: Vec::new(),
            emissions: if journalled { vec![envelope.encoded()] } else { Vec::new() },
            records: Vec::new(),
            root: None,
            state_hash: 0,
        };
        let mut newest = Lsn(0);
        self.frame.store.accept(commit, |accepted| {
            newest = self.frame.publish(accepted, std::slice::from_ref(&envelope));
        })?;
        Ok(newest)
    }

    /// Waits until everything up to `lsn` is on disk.
    pub async fn durable(&self, lsn: Lsn) -> Result<(), NotDurable> {
        self.frame.store.wait_durable(lsn).await
    }

    fn fresh_id(&self, cause: MessageId) -> MessageId {
        let count = self.said.fetch_add(1, Ordering::Relaxed);
        let seed = StableHash::resume(self.frame.seed).add(self.name.as_bytes()).add(cause.0.as_bytes());
        let seed = seed.add(&count.to_le_bytes());
        let random = (u128::from(seed.get()) << 64) | u128::from(seed.add(b"low").get());
        let now = u64::try_from(self.frame.clock.now().as_millisecond()).unwrap_or(0);
        MessageId::from_parts(now, random)
    }
}

/// One task.
pub struct Operation<E> {
    pub hands: Arc<Hands>,
    pub cause: Meta,
    /// This must be durable before any effect shows outside (output commit).
    pub lsn: Lsn,
    /// The value that performs it. For abandoned operations it is a fresh one, which reaches the same desks.
    pub effector: Arc<E>,
}

impl<E: Effector> Operation<E> {
    /// Says something in the turn of the request. A fenced incarnation says nothing more.
    pub fn say<S: Signal>(&self, signal: S) -> Option<Lsn> {
        self.hands
            .say(&self.cause, self.cause.trust, signal)
            .inspect_err(|error| tracing::warn!(effector = E::NAME, %error, signal = S::NAME, "a signal from an effector was refused"))
            .ok()
    }
}
