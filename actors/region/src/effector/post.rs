//! The parts of an effector that outlive its incarnations: its mail, the running operations, and the requesters of
//! abandoned ones.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use maxim_bus::{Envelope, Epoch, Inbox, Lsn};
use parking_lot::Mutex;

use super::{Effector, EffectorActor, EffectorCard, Hands, Operation};
use crate::actor::panic_text;
use crate::supervision::fenced;
use crate::{Frame, Heart, Supervision};

/// Numbers of messages about an abandoned operation begin here, because the operation itself may have said something.
const ABANDONED: u64 = 1 << 32;

/// Running operations, by number.
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
    pub(super) address: Mutex<Option<actix::Addr<EffectorActor<E>>>>,
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

    /// `said` is the number of the first message that is said with them.
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

    /// A new incarnation, for a driver that steps its rooms itself.
    pub fn seize(&self) -> Epoch {
        let epoch = self.frame.store.raise_epoch(E::NAME);
        self.heart.set_epoch(epoch);
        self.heart.calm();
        self.inbox.seize(epoch);
        epoch
    }

    /// Takes the next message and returns its operation, with panics caught. `None` when there is no mail.
    pub(super) fn begin(&self, effector: &Arc<E>, epoch: Epoch) -> Option<(u64, LocalBoxFuture<'static, Ended>)> {
        let (_, delivery) = self.inbox.take(epoch)?;
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        let envelope = Arc::clone(&delivery.envelope);
        let mut in_flight = self.in_flight.lock();
        in_flight.insert(number, (Arc::clone(&envelope), delivery.lsn));
        self.heart.set_under_way(in_flight.len());
        drop(in_flight);
        // It is marked as running before it leaves the inbox, so that an effector never looks idle in between.
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

    pub(super) fn end(&self, number: u64) {
        drop(self.out_of_flight(number));
    }

    fn out_of_flight(&self, number: u64) -> Option<(Arc<Envelope>, Lsn)> {
        let mut in_flight = self.in_flight.lock();
        let out = in_flight.remove(&number);
        self.heart.set_under_way(in_flight.len());
        out
    }

    pub(super) fn abandon(&self, number: u64, why: &str, epoch: Epoch) {
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
                    "the requester could not be told"
                );
            });
        }
    }

    /// The unfinished operations of a former incarnation.
    pub(super) fn abandon_all(&self, why: &str, epoch: Epoch) {
        let left: Vec<u64> = self.in_flight.lock().keys().copied().collect();
        for number in left {
            self.abandon(number, why, epoch);
        }
    }

    /// Performs the next message to its end. For simulations, which have one thread per agent.
    pub fn step(&self, effector: &Arc<E>, epoch: Epoch, runtime: &tokio::runtime::Runtime) -> bool {
        // Deadlines are made in the operation's runtime.
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

pub(super) enum Ended {
    Done,
    Late(Duration),
    Panicked(String),
}

pub(super) fn late(limit: Duration) -> String {
    format!("it took longer than its deadline of {} s", limit.as_secs_f64())
}
