//! Reachy Mini, through its maker's daemon (1.12): targets and stops by HTTP, its state by WebSocket.
//!
//! Only small targets are sent (`/api/move/set_target`), never a long movement that would go on without the brain. An
//! answer says nothing about motion, so only the state is believed. The daemon checks no ranges, so they are checked
//! here.

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

/// A daemon that is silent for this long is lost: it reports its state 20 times a second.
const SILENT: Duration = Duration::from_millis(600);

/// Its 20 ms loop computes a target in one turn and moves in the next.
const LAG: Duration = Duration::from_millis(40);

/// The robot, through its daemon.
pub(super) struct ReachyMini {
    link: Arc<Link>,
    /// When the motor last read it.
    looked: Option<Stopwatch>,
    /// Set after the motor was away: what came meanwhile must be read first.
    back: Option<Stopwatch>,
}

impl ReachyMini {
    /// Begins to connect to the daemon at `url`, e.g. `http://127.0.0.1:8000`.
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

    fn lag(&self) -> Duration {
        LAG
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
        known.target = Some((*pose, Stopwatch::start()));
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;

    use maxim_bus::latch::EffectKind;
    use serde_json::Value as Json;

    use super::*;
    use crate::body::joint::Joint;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// The yaw of a received target, and the connection that waits for its answer.
    type Came = (f64, TcpStream);

    /// A robot's daemon that hangs: it accepts targets and never answers by itself.
    fn hanging() -> (String, mpsc::Receiver<Came>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let (came, targets) = mpsc::channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let came = came.clone();
                std::thread::spawn(move || {
                    let (mut read, mut part) = (Vec::new(), [0; 4096]);
                    while let Ok(length @ 1..) = stream.read(&mut part) {
                        read.extend_from_slice(&part[..length]);
                        let text = String::from_utf8_lossy(&read);
                        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                        let Ok(body) = serde_json::from_str::<Json>(body) else { continue };
                        if head.contains("/api/move/set_target") {
                            let yaw = body["target_head_pose"]["yaw"].as_f64().expect("a yaw");
                            return came.send((yaw, stream)).expect("the test waits");
                        }
                    }
                });
            }
        });
        (url, targets)
    }

    #[test]
    fn a_target_that_could_not_be_handed_over_at_once_is_never_sent_later() {
        let (url, targets) = hanging();
        let latch = StopLatch::in_memory();
        let mut robot = ReachyMini::new(url, latch.clone());
        let mut send = |yaw: f64| {
            let permit = latch.permit(EffectKind::Motion).expect("nothing is stopped");
            robot.target(&Pose::from_fn(|joint| if joint == Joint::Yaw { yaw } else { 0.0 }), Duration::ZERO, &permit)
        };
        send(0.1).expect("taken");
        let (yaw, _silent) = targets.recv_timeout(PATIENCE).expect("it is sent");
        assert!((yaw - 0.1).abs() < 1e-9, "{yaw}");
        // The connection times out by itself; only then is another one accepted.
        let begun = Stopwatch::start();
        let (yaw, mut answered) = loop {
            let _ = send(0.2);
            if let Ok(came) = targets.recv_timeout(Duration::from_millis(5)) {
                break came;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing more is sent");
        };
        assert!((yaw - 0.2).abs() < 1e-9, "what was lost came again: {yaw}");
        let _ = answered.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}");
    }
}
