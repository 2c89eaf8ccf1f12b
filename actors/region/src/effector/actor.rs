//! One incarnation of an effector, and the pump that begins and ends its operations.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use actix::fut::ActorFuture;
use actix::{Actor, ActorContext, ArbiterHandle, AsyncContext, Context, Supervised, Supervisor};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use maxim_bus::{Epoch, Stage};
use tokio::time::Sleep;

use super::post::{Ended, late};
use super::{Effector, EffectorPost};
use crate::actor::panic_text;
use crate::heart::{LOADING, Order};
use crate::supervision::Ward;
use crate::{Heart, WardState};

/// Operations that may end in one turn before timers and neighbours run.
const OPERATIONS_A_TURN: usize = 64;

/// One incarnation of an effector.
pub struct EffectorActor<E: Effector> {
    post: Arc<EffectorPost<E>>,
    epoch: Epoch,
    /// None until it is made, and after a panic.
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

    /// The value is replaced; operations beside the one that panicked go on.
    fn recover(&mut self, why: &str) {
        self.effector = None;
        self.post.supervision.failed(&self.post.heart, E::STAGE, why);
    }

    fn make(&mut self) {
        let post = Arc::clone(&self.post);
        let stamp = post.heart.begin_loading();
        let made = catch_unwind(AssertUnwindSafe(|| {
            post.heart.trip(LOADING);
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
            // An effector that is down comes back by itself, and a held one stays held.
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
    /// Set while the effector must not be made yet.
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
    /// Begins and finishes a bounded number of operations. True when nothing more can be done now.
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

    /// Sleeps until an operation progresses, mail or an order comes, or the pause before a restart is over.
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
        // Without its address the former incarnation's supervisor has no reason to revive it.
        *self.address.lock() = None;
        let post = Arc::clone(self);
        arbiter.spawn_fn(move || {
            let mut address = post.address.lock();
            // The thread may have hung before this point, and the effector has a newer incarnation elsewhere.
            if post.heart.epoch() != epoch {
                return;
            }
            let inner = Arc::clone(&post);
            *address = Some(Supervisor::start(move |_| EffectorActor { post: inner, epoch, effector: None }));
        });
    }
}
