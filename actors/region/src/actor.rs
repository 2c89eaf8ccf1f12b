//! The actix actor of a region: pumps the inbox, catches panics, and is rebuilt from the store by its supervisor.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::fut::ActorFuture;
use actix::{Actor, ActorContext, ArbiterHandle, AsyncContext, Context, Supervised, Supervisor};
use maxim_bus::{Delivery, Epoch, Lane};
use tokio::time::Sleep;

use super::heart::Order;
use super::seat::{Seat, Step};
use super::supervision::{Ward, fenced};
use super::{Heart, Post, Region, WardState};

/// Messages that a pump takes before it lets timers and neighbours run.
const MESSAGES_A_TURN: usize = 64;
/// How long a room that waits for others waits before it looks again.
const CATCH_UP: Duration = Duration::from_millis(5);
/// How long a region waits before it tries a full store again.
const FULL_RETRY: Duration = Duration::from_millis(50);

/// One incarnation of a region.
pub struct RegionActor<R: Region> {
    post: Arc<Post<R>>,
    epoch: Epoch,
    /// Empty until its state is loaded, and after a failure.
    seat: Option<Seat<R>>,
    /// The store was full when it was last asked.
    starved: bool,
}

impl<R: Region> Actor for RegionActor<R> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.spawn(Pump { timer: None });
    }
}

impl<R: Region> Supervised for RegionActor<R> {
    fn restarting(&mut self, _ctx: &mut Self::Context) {
        self.seat = None;
    }
}

impl<R: Region> RegionActor<R> {
    fn is_current(&self) -> bool {
        self.post.heart.epoch() == self.epoch
    }

    /// True when the region has its seat. Called in the pump rather than in `started()`, so that an order can end a
    /// pause before a restart.
    fn load(&mut self, ctx: &mut Context<Self>) -> bool {
        let post = Arc::clone(&self.post);
        let stamp = post.heart.begin_loading();
        let loaded = catch_unwind(AssertUnwindSafe(|| Seat::load(Arc::clone(&post), self.epoch)));
        post.heart.rest(stamp);
        if !self.is_current() {
            self.retire(ctx);
            return false;
        }
        match loaded {
            Ok(Ok(seat)) => {
                self.seat = Some(seat);
                post.supervision.came_up(&post.heart);
            }
            Ok(Err(error)) => self.fail(ctx, &error.to_string()),
            Err(panic) => self.fail(ctx, &panic_text(&*panic)),
        }
        self.seat.is_some()
    }

    /// The region failed outside a message, or after its message was returned.
    fn fail(&mut self, ctx: &mut Context<Self>, why: &str) {
        self.seat = None;
        self.post.supervision.failed(&self.post.heart, R::STAGE, why);
        ctx.stop();
    }

    /// The leased message caused a panic: it is retried once, then buried as a dead letter.
    fn fail_on_message(&mut self, ctx: &mut Context<Self>, why: &str) {
        if let Some((lane, delivery)) = self.post.inbox.failed(self.epoch) {
            self.post.retry_or_bury(self.epoch, lane, &delivery, why);
        }
        self.fail(ctx, why);
    }

    /// A newer incarnation has the room, because this one's thread was given up. So this one ends.
    fn retire(&mut self, ctx: &mut Context<Self>) {
        self.seat = None;
        ctx.terminate();
    }

    /// True when the incarnation is over.
    fn obey(&mut self, ctx: &mut Context<Self>, order: Order) -> bool {
        match order {
            Order::Panic => {
                // Counted as one restart, like a handler's panic.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| chaos_panic(R::NAME))) {
                    self.fail(ctx, &panic_text(&*panic));
                }
                true
            }
            Order::Hang(how_long) => {
                let stamp = self.post.heart.begin();
                std::thread::sleep(how_long);
                self.post.heart.rest(stamp);
                if !self.is_current() {
                    self.retire(ctx);
                    return true;
                }
                false
            }
            Order::Kill => {
                self.fail(ctx, "killed by order");
                true
            }
            // A room that is down comes back by itself, and a held one stays held.
            Order::Rebuild if self.seat.is_none() => false,
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
        }
    }
}

#[allow(clippy::panic)] // only for chaos tests
fn chaos_panic(region: &str) {
    panic!("chaos: {region} was told to panic");
}

/// The result of a bounded number of messages.
enum Turn {
    GoesOn,
    HasNoMail,
    WaitsForOthers,
    /// A newer incarnation has the room.
    IsFenced,
    /// The store is full at present.
    IsFull,
    /// The leased message caused a panic, or its result was refused.
    Failed(String),
}

/// Handles each message with panics caught, as many as one turn allows. It isn't generic, so that all rooms run the
/// same code.
fn take_turn(heart: &Heart, epoch: Epoch, waits: &dyn Fn() -> bool, step: &mut dyn FnMut(bool) -> Step) -> Turn {
    for _ in 0..MESSAGES_A_TURN {
        let waits = waits();
        let stamp = heart.begin();
        let step = catch_unwind(AssertUnwindSafe(|| step(waits)));
        match step {
            Ok(Step::Idle) => {
                heart.rest(stamp);
            }
            _ => heart.end(stamp),
        }
        if heart.epoch() != epoch {
            return Turn::IsFenced;
        }
        match step {
            Ok(Step::Done) => {}
            Ok(Step::Idle) if waits => return Turn::WaitsForOthers,
            Ok(Step::Idle) => return Turn::HasNoMail,
            Ok(Step::Fenced) => return Turn::IsFenced,
            Ok(Step::Full) => return Turn::IsFull,
            Ok(Step::Refused(why)) => return Turn::Failed(why),
            Err(panic) => return Turn::Failed(panic_text(&*panic)),
        }
    }
    Turn::GoesOn
}

/// Takes a bounded number of messages at each poll.
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
        if !actor.is_current() {
            actor.retire(ctx);
            return Poll::Ready(());
        }
        while let Some(order) = post.heart.next_order() {
            if actor.obey(ctx, order) {
                return Poll::Ready(());
            }
        }
        if actor.seat.is_none() {
            if let Some(pause) = post.heart.pause_left() {
                return self.park(actor, Some(pause), task);
            }
            // Loading is expensive, and new decisions could not be stored.
            if actor.starved && post.frame.store.is_full() {
                post.heart.pause_for(FULL_RETRY);
                return self.park(actor, Some(FULL_RETRY), task);
            }
            actor.starved = false;
            if !actor.load(ctx) {
                return Poll::Ready(());
            }
        }
        let turn = match &mut actor.seat {
            Some(seat) => {
                let mut step = |waits| match seat.tick() {
                    Step::Idle if waits => seat.step_data(),
                    Step::Idle => seat.step(),
                    other => other,
                };
                take_turn(&post.heart, actor.epoch, &|| post.waits_for_others(), &mut step)
            }
            None => Turn::GoesOn,
        };
        match turn {
            Turn::GoesOn => {}
            Turn::HasNoMail => return self.wait_for_mail(actor, task),
            Turn::WaitsForOthers => return self.sleep(CATCH_UP, task),
            Turn::IsFenced => {
                actor.retire(ctx);
                return Poll::Ready(());
            }
            Turn::IsFull => {
                // The decision is in the value but not in the store: it is loaded again once there is room.
                post.inbox.give_back(actor.epoch, false);
                actor.seat = None;
                actor.starved = true;
                post.heart.pause_for(FULL_RETRY);
            }
            Turn::Failed(why) => {
                actor.fail_on_message(ctx, &why);
                return Poll::Ready(());
            }
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Pump {
    fn wait_for_mail<R: Region>(&mut self, actor: &RegionActor<R>, task: &mut TaskContext<'_>) -> Poll<()> {
        let due = actor.seat.as_ref().and_then(Seat::next_deadline);
        let wait = due.map(|due| due.duration_since(actor.post.frame.clock.now()));
        self.park(actor, wait.map(|wait| Duration::try_from(wait).unwrap_or(Duration::ZERO)), task)
    }

    /// Sleeps, even if mail comes.
    fn sleep(&mut self, wait: Duration, task: &mut TaskContext<'_>) -> Poll<()> {
        let mut timer = Box::pin(tokio::time::sleep(wait));
        if timer.as_mut().poll(task).is_ready() {
            task.waker().wake_by_ref();
        }
        self.timer = Some(timer);
        Poll::Pending
    }

    /// Sleeps until `wait` has passed, or mail or an order comes.
    fn park<R: Region>(
        &mut self,
        actor: &RegionActor<R>,
        wait: Option<Duration>,
        task: &mut TaskContext<'_>,
    ) -> Poll<()> {
        let post = &actor.post;
        self.timer = wait.map(|wait| Box::pin(tokio::time::sleep(wait)));
        let time_is_up = self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(task).is_ready());
        let orders_wait = !post.heart.park(task.waker());
        let mail_waits = actor.seat.is_some() && !post.inbox.park(actor.epoch, task.waker());
        if time_is_up || orders_wait || mail_waits {
            self.timer = None;
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
        if let Some((lane, delivery)) = self.inbox.take_over(epoch) {
            self.retry_or_bury(epoch, lane, &delivery, "it blocked the room beyond its deadline twice");
        }
        // Without its address the former incarnation's supervisor has no reason to revive it.
        *self.address.lock() = None;
        let post = Arc::clone(self);
        arbiter.spawn_fn(move || {
            let mut address = post.address.lock();
            // The thread may have hung before this point, and the room has a newer incarnation elsewhere.
            if post.heart.epoch() != epoch {
                return;
            }
            let inner = Arc::clone(&post);
            *address = Some(Supervisor::start(move |_| RegionActor { post: inner, epoch, seat: None, starved: false }));
        });
    }
}

impl<R: Region> Post<R> {
    /// True while another room is too far behind for what this one hears first.
    fn waits_for_others(&self) -> bool {
        let Some(most) = R::follows_within(&self.settings) else { return false };
        let behind = self.frame.bus.furthest_behind(R::NAME).filter(|(_, waiting)| *waiting > most);
        if self.heart.set_waits_for(behind.map(|(room, _)| room))
            && let Some((room, waiting)) = behind
        {
            fenced(|| {
                tracing::warn!(
                    room,
                    waiting,
                    "a room has a long backlog; until it has caught up, no turn's credit is returned"
                );
            });
        }
        behind.is_some()
    }

    /// Decides what to do with the leased message on which the region failed.
    fn retry_or_bury(&self, epoch: Epoch, lane: Lane, delivery: &Delivery, why: &str) {
        let meta = &delivery.envelope.meta;
        if delivery.attempts >= 2 && Seat::<R>::bury(self, epoch, lane, delivery, why) == Step::Done {
            fenced(|| {
                tracing::error!(region = R::NAME, message = %meta.id, signal = &*meta.name, why,
                    "a message failed twice and is now a dead letter; see `maxim status` or /v1/dead-letters");
            });
        } else {
            self.inbox.give_back(epoch, false);
        }
    }
}

/// The message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}
