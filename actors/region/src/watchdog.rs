//! A thread that finds rooms which block their threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use actix::System;
use maxim_bus::RegionName;
use maxim_bus::clock::Stopwatch;

use super::Supervision;
use super::heart::Busy;

/// How often it looks. A hang is found within the room's deadline plus this time.
const PERIOD: Duration = Duration::from_millis(10);
/// A look that is this late shows that the whole process was not running.
const LATE: Duration = Duration::from_millis(50);

/// Checks until it is dropped.
pub struct Watchdog {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// `system` is the actix system on which replacement threads are created.
    pub fn start(supervision: Arc<Supervision>, system: System) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            System::set_current(system);
            let mut patience = Patience::default();
            while !asked.load(Ordering::SeqCst) {
                let slept = Stopwatch::start();
                std::thread::sleep(PERIOD);
                patience.count_pause(slept.elapsed());
                let busy = supervision.busy();
                patience.forget_but(&busy.iter().map(|(_, ward, busy)| (ward.heart().name(), busy.stamp)).collect());
                let mut given_up = Vec::new();
                for (place, ward, busy) in busy {
                    if !given_up.contains(&place) && patience.is_over(ward.heart().name(), &busy, kept_waiting) {
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

/// Distinguishes a hung room from one that gets no processor, on a machine that is overloaded or was suspended. Giving
/// up the thread of the latter would not help, and its successor would be no better off.
#[derive(Default)]
struct Patience {
    /// How long the process was not running, as the watchdog itself saw it.
    paused: Duration,
    /// The part of it between the last look and the one before.
    just_paused: Duration,
    /// By room: the stamp of its work, and the counts when this work was first seen.
    seen: BTreeMap<RegionName, (u64, Counted)>,
}

/// How long a thread had to wait for a processor, and how long the process was not running.
#[derive(Clone, Copy, Default)]
struct Counted {
    waited: Duration,
    paused: Duration,
}

impl Patience {
    fn count_pause(&mut self, slept: Duration) {
        self.just_paused = if slept > PERIOD + LATE { slept - PERIOD } else { Duration::ZERO };
        self.paused += self.just_paused;
    }

    fn forget_but(&mut self, busy: &BTreeMap<RegionName, u64>) {
        self.seen.retain(|room, (stamp, _)| busy.get(room) == Some(stamp));
    }

    /// True when the room has had its time. `waited` tells how long a thread has waited for a processor since it began.
    fn is_over(&mut self, room: RegionName, busy: &Busy, waited: impl Fn(u32) -> Duration) -> bool {
        // Most work ends within a look or two, and work within its time needs no check.
        if busy.lasted < (busy.allowed / 2).min(PERIOD) {
            return false;
        }
        let now = Counted { waited: waited(busy.thread), paused: self.paused };
        // Work that is seen for the first time began since the last look, or just before it: any pause since then
        // affected it.
        let began = Counted { paused: now.paused.saturating_sub(self.just_paused), ..now };
        let (_, then) = self.seen.entry(room).or_insert((busy.stamp, began));
        let waited = now.waited.saturating_sub(then.waited);
        let kept_from_it = waited.max(now.paused.saturating_sub(then.paused));
        busy.lasted.saturating_sub(kept_from_it) > busy.allowed
    }
}

/// How long a thread of this process has waited for a processor; zero if the kernel doesn't tell.
fn kept_waiting(thread: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap_or_default();
    let nanos = text.split_whitespace().nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::heart::thread_number;

    const ALLOWED: Duration = Duration::from_millis(200);

    fn at_work(lasted: u64) -> Busy {
        Busy { stamp: 7, thread: 1, lasted: Duration::from_millis(lasted), allowed: ALLOWED }
    }

    fn millis(waited: u64) -> impl Fn(u32) -> Duration {
        move |_| Duration::from_millis(waited)
    }

    #[test]
    fn who_has_a_processor_has_its_time_and_no_more() {
        let mut patience = Patience::default();
        assert!(!patience.is_over("salience", &at_work(12), millis(1_000)), "it was kept waiting before this");
        assert!(!patience.is_over("salience", &at_work(200), millis(1_000)));
        assert!(patience.is_over("salience", &at_work(201), millis(1_000)));
    }

    #[test]
    fn who_is_given_no_processor_is_no_hang() {
        let mut patience = Patience::default();
        assert!(!patience.is_over("salience", &at_work(12), millis(1_000)));
        assert!(!patience.is_over("salience", &at_work(900), millis(1_700)), "200 of 900 ms were its own");
        assert!(patience.is_over("salience", &at_work(1_000), millis(1_700)), "but it hangs in the end");
        patience.forget_but(&BTreeMap::from([("salience", 8)]));
        assert!(!patience.is_over("salience", &at_work(12), millis(1_700)), "what it does next has its own time");
        assert!(patience.is_over("salience", &at_work(201), millis(1_700)));
    }

    #[test]
    fn a_process_that_was_stopped_gives_up_nobody() {
        let mut patience = Patience::default();
        assert!(!patience.is_over("salience", &at_work(12), millis(0)));
        patience.count_pause(Duration::from_secs(3));
        assert!(!patience.is_over("salience", &at_work(3_050), millis(0)));
        patience.count_pause(PERIOD + LATE);
        assert!(
            patience.is_over("salience", &at_work(3_250), millis(0)),
            "a look that is a little late excuses nobody"
        );
    }

    #[test]
    fn what_began_just_before_the_process_was_stopped_is_no_hang() {
        let mut patience = Patience::default();
        patience.count_pause(Duration::from_secs(3));
        assert!(!patience.is_over("salience", &at_work(3_005), millis(0)), "it was never seen before");
        patience.count_pause(PERIOD);
        assert!(!patience.is_over("hippocampus", &at_work(200), millis(0)));
        assert!(patience.is_over("hippocampus", &at_work(201), millis(0)), "the pause was before its time");
        assert!(patience.is_over("salience", &at_work(3_200), millis(0)), "it goes on, and hangs in the end");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_kernel_tells_how_long_a_thread_was_kept_waiting() {
        let own = thread_number();
        let before = kept_waiting(own);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..cores * 2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            while kept_waiting(own) == before {}
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(kept_waiting(0), Duration::ZERO, "of no thread nothing is known");
    }
}
