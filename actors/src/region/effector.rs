//! The shell of an effector: an actix actor that awaits the outside and never decides.
//!
//! An effector remembers nothing. Whoever asked keeps the need in its own state, with a deadline; an operation that
//! panicked, hung or took too long is reported to it as abandoned, in words.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::fut::ActorFuture;
use actix::{Actor, ActorContext, ArbiterHandle, AsyncContext, Context, Supervised, Supervisor};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use jiff::Timestamp;
use maxim_bus::hash::StableHash;
use maxim_bus::{
    AgentId, BusBuilder, Envelope, Epoch, Inbox, Lsn, MessageId, Meta, Policy, RegionName, Signal, Stage, Trust,
};
use parking_lot::Mutex;
use tokio::time::Sleep;

use super::actor::panic_text;
use super::card::wire;
use super::heart::Order;
use super::supervision::{Ward, fenced};
use super::{Frame, Heart, Supervision, WardState, Wire};
use crate::store::{AcceptError, Commit, NotDurable};

/// Operations that end in one turn before timers and neighbours run.
const OPERATIONS_A_TURN: usize = 64;
/// Where the numbers begin of what is said of an operation that was abandoned: it may have said something itself.
const ABANDONED: u64 = 1 << 32;

/// A hand or a mouth.
pub trait Effector: Send + Sync + Sized + 'static {
    const NAME: RegionName;
    const STAGE: Stage;
    /// Operations at once.
    const CONCURRENT: usize = 1;

    fn card() -> EffectorCard<Self>;
    /// How long one operation may take; then it is abandoned.
    fn deadline(&self) -> Duration;
}

/// The effector does what `S` asks.
pub trait Performs<S: Signal>: Effector {
    fn perform(self: Arc<Self>, signal: S, operation: Operation<Self>) -> impl Future<Output = ()> + 'static;

    /// It was not done, or nobody knows whether it was.
    fn abandoned(signal: &S, why: &str, operation: &Operation<Self>);
}

type Begin<E> = fn(Arc<E>, &Envelope, Operation<E>) -> Option<LocalBoxFuture<'static, ()>>;
type Abandon<E> = fn(&Envelope, &str, &Operation<E>);
type HearingWire = fn(&mut BusBuilder, &Arc<Inbox>, Stage, bool);
type SpeakingWire = fn(&mut BusBuilder, RegionName, Stage);

/// What an effector hears and says.
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
        self.hearing.push((wire::<S>(false), |bus, inbox, stage, back| bus.hears::<S>(inbox, stage, back)));
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

/// What an effector works with: the agent's frame, fenced by its incarnation.
pub struct Hands {
    pub frame: Frame,
    name: RegionName,
    epoch: Epoch,
    heart: Arc<Heart>,
    supervision: Arc<Supervision>,
    said: AtomicU64,
}

impl Hands {
    /// Those of all rooms that are supervised, in the order of the anatomy.
    pub fn hearts(&self) -> Vec<Arc<Heart>> {
        self.supervision.hearts()
    }

    pub fn agent(&self) -> &AgentId {
        &self.frame.agent
    }

    pub fn now(&self) -> Timestamp {
        self.frame.clock.now()
    }

    /// False once a newer incarnation has taken over: then no effect may begin.
    pub fn is_current(&self) -> bool {
        self.heart.epoch() == self.epoch
    }

    /// Says something in a turn. Accepted at once, durable later: the number is what to wait for.
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

/// One thing to do.
pub struct Operation<E> {
    pub hands: Arc<Hands>,
    pub cause: Meta,
    /// What must be durable before anything of it shows outside (output commit).
    pub lsn: Lsn,
    /// The value that performs it; for what was abandoned a fresh one, which reaches the same desks.
    pub effector: Arc<E>,
}

impl<E: Effector> Operation<E> {
    /// Says something in the turn of what asked. An incarnation that was fenced off says nothing more.
    pub fn say<S: Signal>(&self, signal: S) -> Option<Lsn> {
        self.hands
            .say(&self.cause, self.cause.trust, signal)
            .inspect_err(|error| tracing::warn!(effector = E::NAME, %error, signal = S::NAME, "what an effector said was refused"))
            .ok()
    }
}

/// An operation that runs, by number.
type InFlight = Mutex<BTreeMap<u64, (Arc<Envelope>, Lsn)>>;

/// Everything about an effector that outlives its incarnations.
pub struct EffectorPost<E: Effector> {
    pub frame: Frame,
    pub inbox: Arc<Inbox>,
    pub heart: Arc<Heart>,
    pub supervision: Arc<Supervision>,
    card: EffectorCard<E>,
    make: Box<dyn Fn() -> E + Send + Sync>,
    in_flight: InFlight,
    numbers: AtomicU64,
    address: Mutex<Option<actix::Addr<EffectorActor<E>>>>,
}

impl<E: Effector> EffectorPost<E> {
    pub fn new(
        frame: Frame,
        inbox: Arc<Inbox>,
        card: EffectorCard<E>,
        heart: Arc<Heart>,
        supervision: Arc<Supervision>,
        make: impl Fn() -> E + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            frame,
            inbox,
            heart,
            supervision,
            card,
            make: Box::new(make),
            in_flight: InFlight::default(),
            numbers: AtomicU64::new(0),
            address: Mutex::new(None),
        })
    }

    /// `said` is the number of the first thing that is said with them.
    fn hands(&self, epoch: Epoch, said: u64) -> Arc<Hands> {
        Arc::new(Hands {
            frame: self.frame.clone(),
            name: E::NAME,
            epoch,
            heart: Arc::clone(&self.heart),
            supervision: Arc::clone(&self.supervision),
            said: AtomicU64::new(said),
        })
    }

    /// A new incarnation for a driver that steps its rooms by itself.
    pub fn seize(&self) -> Epoch {
        let epoch = self.frame.store.raise_epoch(E::NAME);
        self.heart.set_epoch(epoch);
        self.heart.calm();
        self.inbox.seize(epoch);
        epoch
    }

    /// Takes the next message and gives its operation, fenced. None when there is no mail.
    fn begin(&self, effector: &Arc<E>, epoch: Epoch) -> Option<(u64, LocalBoxFuture<'static, Ended>)> {
        let (_, delivery) = self.inbox.take(epoch)?;
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        let envelope = Arc::clone(&delivery.envelope);
        let mut in_flight = self.in_flight.lock();
        in_flight.insert(number, (Arc::clone(&envelope), delivery.lsn));
        self.heart.set_under_way(in_flight.len());
        drop(in_flight);
        // It is under way before it is out of the inbox, so that an effector never looks idle between the two.
        self.inbox.done(epoch);
        let operation = Operation {
            hands: self.hands(epoch, 0),
            cause: envelope.meta.clone(),
            lsn: delivery.lsn,
            effector: Arc::clone(effector),
        };
        let begin = self.card.performs.get(envelope.body().name()).map(|(begin, _)| *begin);
        let (heart, effector, deadline) = (Arc::clone(&self.heart), Arc::clone(effector), effector.deadline());
        let fenced = async move {
            heart.trip(envelope.body().name());
            if let Some(future) = begin.and_then(|begin| begin(effector, &envelope, operation)) {
                future.await;
            }
        };
        let ended =
            AssertUnwindSafe(tokio::time::timeout(deadline, fenced)).catch_unwind().map(move |ended| match ended {
                Ok(Ok(())) => Ended::Done,
                Ok(Err(_)) => Ended::Late(deadline),
                Err(panic) => Ended::Panicked(panic_text(&*panic)),
            });
        Some((number, ended.boxed_local()))
    }

    fn end(&self, number: u64) {
        drop(self.out_of_flight(number));
    }

    fn out_of_flight(&self, number: u64) -> Option<(Arc<Envelope>, Lsn)> {
        let mut in_flight = self.in_flight.lock();
        let out = in_flight.remove(&number);
        self.heart.set_under_way(in_flight.len());
        out
    }

    fn abandon(&self, number: u64, why: &str, epoch: Epoch) {
        let Some((envelope, lsn)) = self.out_of_flight(number) else { return };
        fenced(|| {
            tracing::warn!(effector = E::NAME, signal = &*envelope.meta.name, why, "an operation was abandoned");
        });
        let Some((_, abandon)) = self.card.performs.get(envelope.body().name()) else { return };
        let told = catch_unwind(AssertUnwindSafe(|| {
            let operation = Operation {
                hands: self.hands(epoch, ABANDONED),
                cause: envelope.meta.clone(),
                lsn,
                effector: self.make(),
            };
            abandon(&envelope, why, &operation);
        }));
        if let Err(panic) = told {
            let panic = panic_text(&*panic);
            fenced(|| {
                tracing::error!(
                    effector = E::NAME,
                    signal = &*envelope.meta.name,
                    panic,
                    "whoever asked could not be told"
                );
            });
        }
    }

    /// What a former incarnation left unfinished.
    fn abandon_all(&self, why: &str, epoch: Epoch) {
        let left: Vec<u64> = self.in_flight.lock().keys().copied().collect();
        for number in left {
            self.abandon(number, why, epoch);
        }
    }

    /// Performs the next message to its end. For simulations, which have one thread for all of an agent.
    pub fn step(&self, effector: &Arc<E>, epoch: Epoch, runtime: &tokio::runtime::Runtime) -> bool {
        // Deadlines are made where the operation is.
        let _inside = runtime.enter();
        let Some((number, operation)) = self.begin(effector, epoch) else { return false };
        match runtime.block_on(operation) {
            Ended::Done => self.end(number),
            Ended::Late(limit) => self.abandon(number, &late(limit), epoch),
            Ended::Panicked(why) => self.abandon(number, &why, epoch),
        }
        true
    }

    /// A fresh value of the effector.
    pub fn make(&self) -> Arc<E> {
        Arc::new((self.make)())
    }
}

enum Ended {
    Done,
    Late(Duration),
    Panicked(String),
}

fn late(limit: Duration) -> String {
    format!("it took longer than its deadline of {} s", limit.as_secs_f64())
}

/// One incarnation of an effector.
pub struct EffectorActor<E: Effector> {
    post: Arc<EffectorPost<E>>,
    epoch: Epoch,
    /// Empty until it is made, and after a panic.
    effector: Option<Arc<E>>,
}

impl<E: Effector> Actor for EffectorActor<E> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if self.is_current() {
            self.post.abandon_all("its effector was restarted while it ran", self.epoch);
        }
        ctx.spawn(EffectorPump { running: FuturesUnordered::new(), timer: None });
    }
}

impl<E: Effector> Supervised for EffectorActor<E> {
    fn restarting(&mut self, _ctx: &mut Self::Context) {
        self.effector = None;
    }
}

impl<E: Effector> EffectorActor<E> {
    fn is_current(&self) -> bool {
        self.post.heart.epoch() == self.epoch
    }

    /// The value is replaced; operations that run beside the one that panicked go on.
    fn recover(&mut self, why: &str) {
        self.effector = None;
        self.post.supervision.failed(&self.post.heart, E::STAGE, why);
    }

    fn make(&mut self) {
        let post = Arc::clone(&self.post);
        let stamp = post.heart.begin_loading();
        let made = catch_unwind(AssertUnwindSafe(|| {
            post.heart.trip(super::heart::LOADING);
            post.make()
        }));
        post.heart.rest(stamp);
        match made {
            _ if !self.is_current() => {}
            Ok(effector) => {
                self.effector = Some(effector);
                post.supervision.came_up(&post.heart);
            }
            Err(panic) => self.recover(&panic_text(&*panic)),
        }
    }

    /// True when the incarnation is over.
    fn obey(&mut self, ctx: &mut Context<Self>, order: Order) -> bool {
        match order {
            Order::Kill => {
                self.recover("killed by order");
                ctx.stop();
                true
            }
            Order::Panic => {
                self.recover("chaos: it was told to panic");
                false
            }
            // One that is down already comes back by itself, and a held one stays held.
            Order::Rebuild if self.effector.is_none() => false,
            Order::Rebuild => {
                self.post.heart.count_restart();
                self.post.heart.set_state(WardState::Restarting);
                ctx.stop();
                true
            }
            Order::Release => {
                self.post.heart.end_pause();
                false
            }
            Order::Hang(how_long) => {
                let stamp = self.post.heart.begin();
                std::thread::sleep(how_long);
                self.post.heart.rest(stamp);
                let over = !self.is_current();
                if over {
                    ctx.terminate();
                }
                over
            }
        }
    }
}

struct EffectorPump {
    running: FuturesUnordered<LocalBoxFuture<'static, (u64, Ended)>>,
    /// Set while the effector is not to be made yet.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<E: Effector> ActorFuture<EffectorActor<E>> for EffectorPump {
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut EffectorActor<E>,
        ctx: &mut Context<EffectorActor<E>>,
        task: &mut TaskContext<'_>,
    ) -> Poll<()> {
        let post = Arc::clone(&actor.post);
        if !actor.is_current() {
            ctx.terminate();
            return Poll::Ready(());
        }
        while let Some(order) = post.heart.next_order() {
            if actor.obey(ctx, order) {
                return Poll::Ready(());
            }
        }
        if actor.effector.is_none() && post.heart.pause_left().is_none() {
            actor.make();
        }
        let idle = self.perform(actor, task);
        if !actor.is_current() {
            ctx.terminate();
            return Poll::Ready(());
        }
        self.park(actor, idle, task);
        Poll::Pending
    }
}

impl EffectorPump {
    /// Begins and ends a bounded number of operations. True when nothing is left to do at present.
    fn perform<E: Effector>(&mut self, actor: &mut EffectorActor<E>, task: &mut TaskContext<'_>) -> bool {
        let post = Arc::clone(&actor.post);
        for _ in 0..OPERATIONS_A_TURN {
            while self.running.len() < E::CONCURRENT {
                let Some(effector) = actor.effector.clone() else { break };
                let Some((number, operation)) = post.begin(&effector, actor.epoch) else { break };
                self.running.push(operation.map(move |ended| (number, ended)).boxed_local());
            }
            let stamp = post.heart.begin();
            let polled = self.running.poll_next_unpin(task);
            let Poll::Ready(Some((number, ended))) = polled else {
                post.heart.rest(stamp);
                return true;
            };
            if !actor.is_current() {
                return true;
            }
            match ended {
                Ended::Done => post.end(number),
                Ended::Late(limit) => post.abandon(number, &late(limit), actor.epoch),
                Ended::Panicked(why) => {
                    post.abandon(number, &why, actor.epoch);
                    actor.recover(&why);
                }
            }
            post.heart.end(stamp);
        }
        false
    }

    /// Sleeps until an operation moves, mail or an order comes, or the pause before a restart is over.
    fn park<E: Effector>(&mut self, actor: &EffectorActor<E>, idle: bool, task: &mut TaskContext<'_>) {
        let post = &actor.post;
        let pause = if actor.effector.is_some() { None } else { Some(post.heart.pause_left().unwrap_or_default()) };
        self.timer = pause.map(|pause| Box::pin(tokio::time::sleep(pause)));
        let time_is_up = self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(task).is_ready());
        let orders_wait = !post.heart.park(task.waker());
        let room = actor.effector.is_some() && self.running.len() < E::CONCURRENT;
        let mail_waits = room && !post.inbox.park(actor.epoch, task.waker());
        if !idle || time_is_up || orders_wait || mail_waits {
            task.waker().wake_by_ref();
        }
    }
}

impl<E: Effector> Ward for Arc<EffectorPost<E>> {
    fn heart(&self) -> &Arc<Heart> {
        &self.heart
    }

    fn stage(&self) -> Stage {
        E::STAGE
    }

    fn start_on(&self, arbiter: &ArbiterHandle) {
        let epoch = self.seize();
        // With its address goes the last reason for the former incarnation's supervisor to revive it.
        *self.address.lock() = None;
        let post = Arc::clone(self);
        arbiter.spawn_fn(move || {
            let mut address = post.address.lock();
            // The thread may have hung before it came to this, and the effector has a newer incarnation elsewhere.
            if post.heart.epoch() != epoch {
                return;
            }
            let inner = Arc::clone(&post);
            *address = Some(Supervisor::start(move |_| EffectorActor { post: inner, epoch, effector: None }));
        });
    }
}
