//! Rooms without threads: a simulation steps them one after another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::{Envelope, Epoch, Lsn, RegionName};
use tokio::runtime::Runtime;

use super::actor::panic_text;
use super::{Effector, EffectorPost, Post, Record, Recorded, Region, Seat, Step};
use maxim_store::StoreError;

/// A room that only runs when it is told to, on the caller's thread.
pub trait Stepper: Send {
    fn name(&self) -> RegionName;

    /// The runtime of an effector; without it, the effector does nothing. Many agents may share one.
    fn perform_on(&mut self, _runtime: &Arc<Runtime>) {}

    /// A new incarnation.
    ///
    /// # Errors
    /// Its state can't be read.
    fn start(&mut self) -> Result<(), StoreError>;

    /// Handles the next message or deadline. False when there is none.
    fn step(&mut self) -> bool;

    fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// `None` for a room without state.
    fn state_hash(&self) -> Option<u64> {
        None
    }

    /// For replays: handles a recorded input at the time `now`; no message means a tick, LSN 0 a message that isn't in
    /// this journal. The frame's tap gets the result, if there is one.
    ///
    /// # Errors
    /// The room failed on it (with the room's error); its result differs from `recorded`, so nothing was committed; or
    /// the room doesn't decide.
    fn feed(
        &mut self,
        _message: Option<(Lsn, Arc<Envelope>)>,
        _now: Timestamp,
        _recorded: Option<Recorded>,
    ) -> Result<(), String> {
        Err(format!("{} has no decisions to replay", self.name()))
    }

    /// For replays: adds the room's own records that the next recorded input used, if nothing has written them here.
    ///
    /// # Errors
    /// They are refused.
    fn lay_out(&mut self, _records: &[Record]) -> Result<(), String> {
        Ok(())
    }
}

/// Steps a region, with the same panic handling, retries and dead letters as its actor.
pub struct RegionStepper<R: Region> {
    post: Arc<Post<R>>,
    epoch: Epoch,
    seat: Option<Seat<R>>,
}

impl<R: Region> RegionStepper<R> {
    pub fn new(post: Arc<Post<R>>) -> Self {
        Self { post, epoch: Epoch(0), seat: None }
    }

    fn fail(&mut self, why: &str) {
        let post = &self.post;
        post.heart.count_restart();
        if let Some((lane, delivery)) = post.inbox.failed(self.epoch) {
            let buried = delivery.attempts >= 2 && Seat::bury(post, self.epoch, lane, &delivery, why) == Step::Done;
            if !buried {
                post.inbox.give_back(self.epoch, false);
            }
        }
        self.reload();
    }

    /// The value is unusable: it may contain what the store doesn't.
    fn reload(&mut self) {
        let post = &self.post;
        let loaded = catch_unwind(AssertUnwindSafe(|| Seat::load(Arc::clone(post), self.epoch)));
        let loaded =
            loaded.map_err(|panic| panic_text(&*panic)).and_then(|seat| seat.map_err(|error| error.to_string()));
        match loaded {
            Ok(seat) => self.seat = Some(seat),
            Err(why) => {
                tracing::error!(region = R::NAME, why, "a room can't be rebuilt; the agent goes on without it");
                self.seat = None;
                post.heart.set_state(super::WardState::Held);
            }
        }
    }
}

impl<R: Region> Stepper for RegionStepper<R> {
    fn name(&self) -> RegionName {
        R::NAME
    }

    fn start(&mut self) -> Result<(), StoreError> {
        let post = &self.post;
        self.epoch = post.frame.store.raise_epoch(R::NAME);
        post.heart.set_epoch(self.epoch);
        post.inbox.seize(self.epoch);
        self.seat = Some(Seat::load(Arc::clone(post), self.epoch)?);
        post.heart.set_state(super::WardState::Running);
        Ok(())
    }

    fn step(&mut self) -> bool {
        let Some(seat) = &mut self.seat else { return false };
        let stepped = catch_unwind(AssertUnwindSafe(|| match seat.tick() {
            Step::Idle => seat.step(),
            other => other,
        }));
        match stepped {
            Ok(Step::Done) => true,
            Ok(Step::Idle | Step::Fenced) => false,
            Ok(Step::Full) => {
                self.reload();
                false
            }
            Ok(Step::Refused(why)) => {
                self.fail(&why);
                true
            }
            Err(panic) => {
                self.fail(&panic_text(&*panic));
                true
            }
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.seat.as_ref().and_then(Seat::next_deadline)
    }

    fn state_hash(&self) -> Option<u64> {
        self.seat.as_ref().map(Seat::state_hash)
    }

    fn feed(
        &mut self,
        message: Option<(Lsn, Arc<Envelope>)>,
        now: Timestamp,
        recorded: Option<Recorded>,
    ) -> Result<(), String> {
        let Some(seat) = &mut self.seat else { return Err("the room is not running".into()) };
        match catch_unwind(AssertUnwindSafe(|| seat.feed(message, now, recorded))) {
            Ok(Step::Done) => Ok(()),
            Ok(Step::Refused(why)) => Err(why),
            Ok(step) => Err(format!("its commit was not accepted: {step:?}")),
            Err(panic) => Err(format!("it panicked: {}", panic_text(&*panic))),
        }
    }

    fn lay_out(&mut self, records: &[Record]) -> Result<(), String> {
        let Some(seat) = &self.seat else { return Err("the room is not running".into()) };
        match seat.lay_out(records) {
            Step::Done => Ok(()),
            step => Err(format!("its records were not accepted: {step:?}")),
        }
    }
}

/// Steps an effector: each operation runs to its end before the next.
pub struct EffectorStepper<E: Effector> {
    post: Arc<EffectorPost<E>>,
    epoch: Epoch,
    effector: Option<Arc<E>>,
    runtime: Option<Arc<Runtime>>,
}

impl<E: Effector> EffectorStepper<E> {
    pub fn new(post: Arc<EffectorPost<E>>) -> Self {
        Self { post, epoch: Epoch(0), effector: None, runtime: None }
    }
}

impl<E: Effector> Stepper for EffectorStepper<E> {
    fn name(&self) -> RegionName {
        E::NAME
    }

    fn perform_on(&mut self, runtime: &Arc<Runtime>) {
        self.runtime = Some(Arc::clone(runtime));
    }

    fn start(&mut self) -> Result<(), StoreError> {
        self.epoch = self.post.seize();
        self.effector = Some(self.post.make());
        self.post.heart.set_state(super::WardState::Running);
        Ok(())
    }

    fn step(&mut self) -> bool {
        let (Some(effector), Some(runtime)) = (&self.effector, &self.runtime) else { return false };
        self.post.step(effector, self.epoch, runtime)
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::bridges::EnergyChanged;
    use maxim_bus::{RegionName, Stage};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::rig::Rig;
    use crate::wiring;
    use crate::{Hears, Pulse, RecordView, WardState};

    /// Takes one message, and can't be woken any more.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    struct Brittle(u32);

    wiring!(Brittle { hears: [EnergyChanged], back: [], emits: [] });

    impl Region for Brittle {
        const NAME: RegionName = "brittle";
        const STAGE: Stage = Stage::Memory;
        type Event = ();
        type Settings = ();

        fn apply(&mut self, (): ()) {
            self.0 += 1;
        }

        fn wake(&mut self, _: &RecordView<'_>, (): &()) {
            assert_eq!(self.0, 0, "it can't be woken");
        }
    }

    impl Hears<EnergyChanged> for Brittle {
        fn hear(&self, _: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
            assert_eq!(self.0, 0, "it takes no more");
            pulse.keep(());
        }
    }

    #[test]
    fn a_room_that_can_not_be_rebuilt_is_held_and_its_mail_stays() {
        let mut rig: Rig<Brittle> = Rig::new((), |_, _| ());
        rig.send(EnergyChanged { level: 1.0, scarcest: String::new() });
        let mut stepper = RegionStepper::new(Arc::clone(rig.post()));
        // Only the state from which it woke was complete.
        assert!(catch_unwind(AssertUnwindSafe(|| stepper.start())).is_err());
        stepper.fail("a test");
        assert!(!stepper.step() && stepper.next_deadline().is_none());
        assert_eq!(rig.post().heart.state(), WardState::Held);
    }
}
