//! A thread of its own that sees rooms which block theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use actix::System;

use super::Supervision;

/// How often it looks. A hang is found within the room's deadline and this.
const PERIOD: Duration = Duration::from_millis(10);

/// Looks until it is dropped.
pub struct Watchdog {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// `system` is the actix system on which replacement threads are made.
    pub fn start(supervision: Arc<Supervision>, system: System) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            System::set_current(system);
            while !asked.load(Ordering::SeqCst) {
                std::thread::sleep(PERIOD);
                let mut given_up = Vec::new();
                for (place, ward) in supervision.blocked() {
                    if !given_up.contains(&place) {
                        given_up.push(place);
                        supervision.rehome(place, &*ward);
                    }
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
