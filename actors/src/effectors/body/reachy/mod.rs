//! Reachy Mini, through its maker's own daemon (1.12): targets and stops by HTTP, its state by WebSocket.
//!
//! Only small targets are sent (`/api/move/set_target`), never a long movement that would go on without us. An answer says
//! nothing about motion, so the state is what is believed. The daemon checks no ranges; that is done before.

mod link;
mod words;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{Permit, StopLatch};

use super::driver::{Driver, Fault, Sensed};
use super::joint::{Limits, Pose};
use link::{Known, Link};

/// A daemon that says nothing for so long is lost: it tells its state 20 times a second.
const SILENT: Duration = Duration::from_millis(600);

/// The robot, as its daemon shows it.
pub(super) struct ReachyMini {
    link: Arc<Link>,
    /// When the motor looked last.
    looked: Option<Stopwatch>,
    /// Set when the motor was away: what came meanwhile has to be read first.
    back: Option<Stopwatch>,
}

impl ReachyMini {
    /// Begins to look for the daemon at `url`, e.g. `http://127.0.0.1:8000`.
    pub fn new(url: String, latch: StopLatch) -> Self {
        let link = Arc::new(Link::new(url, latch));
        let serving = Arc::clone(&link);
        let thread = std::thread::Builder::new().name("reachy-link".into()).spawn(move || link::serve(&serving));
        if let Err(error) = thread {
            link.trouble(format!("this machine gives no thread: {error}"));
        }
        Self { link, looked: None, back: None }
    }
}

impl Drop for ReachyMini {
    fn drop(&mut self) {
        self.link.end();
    }
}

impl Driver for ReachyMini {
    fn limits(&self) -> Limits {
        Limits::reachy_mini()
    }

    fn sense(&mut self, _now: Duration) -> Result<Sensed, Fault> {
        let was_away = self.looked.replace(Stopwatch::start()).is_some_and(|looked| looked.elapsed() > SILENT / 2);
        if was_away {
            self.back = Some(Stopwatch::start());
        }
        let is_just_back = self.back.is_some_and(|back| back.elapsed() < SILENT);
        let known = self.link.known.lock();
        let trouble = || known.trouble.clone().unwrap_or_else(|| format!("{} has not answered yet", self.link.url));
        let Some((sensed, seen)) = &known.state else { return Err(Fault::Connecting(trouble())) };
        if let Some(down) = &known.down {
            return Err(Fault::Lost(format!("its daemon is {down}")));
        }
        let age = seen.elapsed();
        if age > SILENT && !is_just_back {
            return Err(Fault::Lost(format!("no word from it for {:.1} s: {}", age.as_secs_f64(), trouble())));
        }
        match known.motors.as_str() {
            "enabled" => Ok(*sensed),
            other => Err(Fault::MotorsOff(other.to_owned())),
        }
    }

    fn target(&mut self, pose: &Pose, _now: Duration, _permit: &Permit<'_>) -> Result<(), Fault> {
        let mut known = self.link.known.lock();
        if let Some(refused) = known.refused.take() {
            return Err(refused);
        }
        known.target = Some(*pose);
        drop(known);
        self.link.wake.notify_one();
        Ok(())
    }

    fn freeze(&mut self, _now: Duration) {
        let mut known: parking_lot::MutexGuard<'_, Known> = self.link.known.lock();
        (known.target, known.refused) = (None, None);
        drop(known);
        self.link.freeze.store(true, Ordering::SeqCst);
        self.link.wake.notify_one();
    }
}
