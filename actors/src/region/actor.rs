//! The actix actor of a region: pumps the inbox, fences panics, and is rebuilt from the store by its supervisor.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::fut::ActorFuture;
use actix::{Actor, ActorContext, Arbiter, ArbiterHandle, AsyncContext, Context, Supervised, Supervisor};
use maxim_bus::{Epoch, Lane};
use tokio::time::Sleep;

use super::heart::Order;
use super::seat::{Seat, Step, state_without_seat};
use super::supervision::{Restart, Ward};
use super::{Heart, Post, Region, WardState};

/// Messages a pump takes before it lets timers and neighbours run.
const MESSAGES_A_TURN: usize = 64;
/// How long a region waits before it tries a store again that takes nothing more.
const FULL_RETRY: Duration = Duration::from_millis(50);

/// One incarnation of a region.
pub struct RegionActor<R: Region> {
    post: Arc<Post<R>>,
    epoch: Epoch,
    seat: Option<Seat<R>>,
    /// Set by a failure: what the supervisor said.
    next: Option<Restart>,
}

impl<R: Region> Actor for RegionActor<R> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if self.post.heart.epoch() != self.epoch {
            ctx.terminate();
            return;
        }
        if !matches!(self.next, Some(Restart::Hold { .. })) {
            self.load(ctx);
        }
        ctx.spawn(Pump { timer: None });
    }
}

impl<R: Region> Supervised for RegionActor<R> {
    fn restarting(&mut self, ctx: &mut Self::Context) {
        self.seat = None;
        if let Some(Restart::After(delay)) = self.next
            && !delay.is_zero()
        {
            ctx.wait(actix::fut::wrap_future(tokio::time::sleep(delay)));
        }
    }
}

impl<R: Region> RegionActor<R> {
    fn load(&mut self, ctx: &mut Context<Self>) {
        let post = Arc::clone(&self.post);
        post.heart.begin_loading();
        let loaded = catch_unwind(AssertUnwindSafe(|| Seat::load(Arc::clone(&post), self.epoch)));
        post.heart.end();
        match loaded {
            Ok(Ok(seat)) => {
                self.seat = Some(seat);
                post.heart.set_state(WardState::Running);
            }
            Ok(Err(error)) => self.fail(ctx, &error.to_string()),
            Err(panic) => self.fail(ctx, &panic_text(&*panic)),
        }
    }

    /// The region failed outside a message, or after its message was put back.
    fn fail(&mut self, ctx: &mut Context<Self>, why: &str) {
        self.seat = None;
        let post = &self.post;
        post.heart.count_restart();
        let verdict = post.supervision.failed(&post.heart, R::STAGE, why);
        post.heart.set_state(state_without_seat(matches!(verdict, Restart::Hold { .. })));
        self.next = Some(verdict);
        ctx.stop();
    }

    /// The leased message made it panic: retried once, then buried.
    fn fail_on_message(&mut self, ctx: &mut Context<Self>, why: &str) {
        let post = Arc::clone(&self.post);
        post.inbox.give_back(self.epoch, true);
        if let Some((lane, delivery)) = post.inbox.take(self.epoch) {
            if delivery.attempts >= 2 {
                self.bury(lane, &delivery, why);
            } else {
                post.inbox.give_back(self.epoch, false);
            }
        }
        self.fail(ctx, why);
    }

    fn bury(&self, lane: Lane, delivery: &maxim_bus::Delivery, why: &str) {
        match Seat::<R>::bury(&self.post, self.epoch, lane, delivery, why) {
            Step::Done => self.post.inbox.done(self.epoch),
            _ => self.post.inbox.give_back(self.epoch, false),
        }
        tracing::error!(region = R::NAME, message = %delivery.envelope.meta.id, signal = delivery.envelope.meta.name, why,
            "a message failed twice and is a dead letter now; see `maxim status` or /v1/dead-letters");
    }

    /// A newer incarnation has the room: this one's thread was given up, so it ends.
    fn retire(&mut self, ctx: &mut Context<Self>, hung: bool) {
        self.seat = None;
        ctx.terminate();
        if hung {
            self.post.supervision.zombie_gone(&Arbiter::current());
        }
    }

    fn obey(&mut self, ctx: &mut Context<Self>, order: Order) -> bool {
        match order {
            Order::Panic => {
                // The guard that counts this as one restart is the same as for a handler's panic.
                let caught = catch_unwind(AssertUnwindSafe(|| chaos_panic(R::NAME)));
                if let Err(panic) = caught {
                    self.fail(ctx, &panic_text(&*panic));
                }
                true
            }
            Order::Hang(how_long) => {
                self.post.heart.begin();
                std::thread::sleep(how_long);
                if self.post.heart.epoch() != self.epoch {
                    self.retire(ctx, true);
                    return true;
                }
                self.post.heart.end();
                false
            }
            Order::Kill => {
                self.fail(ctx, "killed by order");
                true
            }
            Order::Rebuild => {
                self.post.heart.count_restart();
                self.next = Some(Restart::After(Duration::ZERO));
                ctx.stop();
                true
            }
            Order::Release => {
                if self.seat.is_none() {
                    self.next = Some(Restart::After(Duration::ZERO));
                    ctx.stop();
                    return true;
                }
                false
            }
        }
    }
}

#[allow(clippy::panic)] // chaos is what this is for
fn chaos_panic(region: &str) {
    panic!("chaos: {region} was told to panic");
}

/// Takes a bounded number of messages each time it is polled.
struct Pump {
    timer: Option<Pin<Box<Sleep>>>,
}

impl<R: Region> ActorFuture<RegionActor<R>> for Pump {
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut RegionActor<R>,
        ctx: &mut Context<RegionActor<R>>,
        task: &mut TaskContext<'_>,
    ) -> Poll<()> {
        let post = Arc::clone(&actor.post);
        if post.heart.epoch() != actor.epoch {
            actor.retire(ctx, false);
            return Poll::Ready(());
        }
        while let Some(order) = post.heart.next_order() {
            if actor.obey(ctx, order) {
                return Poll::Ready(());
            }
        }
        for _ in 0..MESSAGES_A_TURN {
            let Some(seat) = &mut actor.seat else { break };
            post.heart.begin();
            let step = catch_unwind(AssertUnwindSafe(|| match seat.tick() {
                Step::Idle => seat.step(),
                other => other,
            }));
            if post.heart.epoch() != actor.epoch {
                actor.retire(ctx, true);
                return Poll::Ready(());
            }
            post.heart.end();
            match step {
                Ok(Step::Done) => {}
                Ok(Step::Idle) => return self.park(actor, task),
                Ok(Step::Fenced) => {
                    actor.retire(ctx, true);
                    return Poll::Ready(());
                }
                Ok(Step::Full) => {
                    // What was decided is in the value but not in the store: load again once there is room.
                    post.inbox.give_back(actor.epoch, false);
                    actor.seat = None;
                    actor.next = Some(Restart::After(FULL_RETRY));
                    ctx.stop();
                    return Poll::Ready(());
                }
                Ok(Step::Refused(why)) => {
                    actor.fail_on_message(ctx, &why);
                    return Poll::Ready(());
                }
                Err(panic) => {
                    actor.fail_on_message(ctx, &panic_text(&*panic));
                    return Poll::Ready(());
                }
            }
        }
        if actor.seat.is_none() {
            return self.park(actor, task);
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Pump {
    fn park<R: Region>(&mut self, actor: &mut RegionActor<R>, task: &mut TaskContext<'_>) -> Poll<()> {
        let post = &actor.post;
        let now = post.frame.clock.now();
        let due = match (&actor.seat, &actor.next) {
            (Some(seat), _) => seat.next_deadline().map(|due| due.duration_since(now)),
            (None, Some(Restart::Hold { retry })) => {
                if self.timer.is_none() {
                    self.timer = Some(Box::pin(tokio::time::sleep(*retry)));
                }
                None
            }
            (None, _) => None,
        };
        if let Some(due) = due {
            let wait = Duration::try_from(due).unwrap_or(Duration::ZERO);
            self.timer = Some(Box::pin(tokio::time::sleep(wait)));
        }
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(task).is_ready()
        {
            self.timer = None;
            if actor.seat.is_none() {
                post.heart.order(Order::Release);
            }
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let orders_wait = !post.heart.park(task.waker());
        let mail_waits = actor.seat.is_some() && !post.inbox.park(actor.epoch, task.waker());
        if orders_wait || mail_waits {
            task.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<R: Region> Ward for Arc<Post<R>> {
    fn heart(&self) -> &Arc<Heart> {
        &self.heart
    }

    fn stage(&self) -> maxim_bus::Stage {
        R::STAGE
    }

    fn start_on(&self, arbiter: &ArbiterHandle) {
        let epoch = self.frame.store.raise_epoch(R::NAME);
        self.heart.set_epoch(epoch);
        self.heart.calm();
        self.inbox.seize(epoch);
        self.bury_what_hung(epoch);
        let post = Arc::clone(self);
        arbiter.spawn_fn(move || {
            let inner = Arc::clone(&post);
            let address = Supervisor::start(move |_| RegionActor { post: inner, epoch, seat: None, next: None });
            // The former incarnation's address goes here, and with it the last reason for its supervisor to revive it.
            *post.address.lock() = Some(address);
        });
    }
}

impl<R: Region> Post<R> {
    /// A message that two incarnations hung on is buried like one that panicked twice.
    fn bury_what_hung(&self, epoch: Epoch) {
        if let Some((lane, delivery)) = self.inbox.take(epoch) {
            if delivery.attempts >= 2 {
                if Seat::<R>::bury(self, epoch, lane, &delivery, "it blocked the room beyond its deadline twice")
                    == Step::Done
                {
                    self.inbox.done(epoch);
                    return;
                }
            }
            self.inbox.give_back(epoch, false);
        }
    }
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}
