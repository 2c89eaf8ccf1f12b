//! Many threads stop, reset and ask at once. After a stop has returned, no effect is permitted.
//!
//! The test uses a count instead of time. The count names the state that the latch must be in (see [`Place`]), and it
//! only grows. An answer is checked only if the count was the same before and after it was asked.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::{EffectKind, LatchError, StopDetail, StopLatch};
use crate::clock::Stopwatch;

const THREADS: u64 = 8;
const PLACES: u64 = 5;

/// What is known of the latch from the calls that have returned, in the order of a cycle. Resets and resumes come one
/// at a time; stops come at any time from any thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A reset is under way: nothing is known.
    Resetting,
    /// The reset has returned, and no resume has begun: no motion.
    Held,
    Resuming,
    /// Only the next reset clears a stop from here on. That holds since the reset's return.
    Open,
    /// A stop that began after a reset had returned has returned, and no reset has begun since: nothing is permitted.
    Closed,
}

impl Place {
    fn of(count: u64) -> Self {
        [Self::Resetting, Self::Held, Self::Resuming, Self::Open, Self::Closed][(count % PLACES) as usize]
    }
}

/// The count at which a cycle's stop has returned.
fn closed(count: u64) -> u64 {
    count - count % PLACES + PLACES - 1
}

#[derive(Default)]
struct Tally {
    raised: AtomicU64,
    cycles: AtomicU64,
    /// Resets during which a stop came.
    overtaken: AtomicU64,
    /// Asked while the latch was open, and allowed; then the same while it was closed, and refused.
    allowed: AtomicU64,
    refused: AtomicU64,
    /// Permits whose child was registered after a stop had come.
    late: AtomicU64,
    /// Answers that the latch must not give.
    wrong: AtomicU64,
    /// Nanoseconds that each stop took.
    took: Mutex<Vec<u64>>,
}

struct Storm<'a, F> {
    latch: &'a StopLatch,
    raise: F,
    /// A disk slows resets down, so stops would overtake all of them. In three of four cycles no stop comes during a
    /// reset or resume.
    has_disk: bool,
    count: AtomicU64,
    resetter: Mutex<()>,
    tally: Tally,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl<F: Fn(&StopLatch, StopDetail) + Sync> Storm<'_, F> {
    fn at(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn moves(&self, from: u64, to: u64) -> bool {
        self.count.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn stop(&self, took: &mut Vec<u64>) {
        let before = self.at();
        let is_changing = matches!(Place::of(before), Place::Resetting | Place::Resuming);
        if self.has_disk && is_changing && !(before / PLACES).is_multiple_of(4) {
            return;
        }
        let detail = StopDetail { reason: "storm".into(), by: "test".into(), at: Some(Timestamp::UNIX_EPOCH) };
        let watch = Stopwatch::start();
        (self.raise)(self.latch, detail);
        took.push(u64::try_from(watch.elapsed().as_nanos()).unwrap_or(u64::MAX));
        add(&self.tally.raised);
        if !matches!(Place::of(before), Place::Resetting | Place::Closed) {
            // In the same cycle in which it began. A resume in the meantime must fail.
            let mut now = before;
            while now < closed(before) && !self.moves(now, closed(before)) {
                now = self.at();
            }
        }
    }

    fn ask(&self, kind: EffectKind, brings_child: bool) {
        let before = self.at();
        let permit = self.latch.permit(kind);
        let after = self.at();
        if before != after {
            return;
        }
        match (Place::of(after), &permit) {
            (Place::Closed, permit) => {
                add(&self.tally.refused);
                if permit.is_ok() {
                    add(&self.tally.wrong);
                }
            }
            (Place::Held, Ok(_)) if kind == EffectKind::Motion => add(&self.tally.wrong),
            (Place::Open, Ok(_)) => add(&self.tally.allowed),
            _ => {}
        }
        // No process has the largest number, so this kills nothing.
        let child = permit.ok().filter(|_| brings_child).and_then(|permit| permit.register(i32::MAX as u32));
        if let Some(child) = child
            && Place::of(after) == Place::Open
            && self.at() > after
        {
            add(&self.tally.late);
            if !child.was_stopped() {
                add(&self.tally.wrong);
            }
        }
    }

    fn reset(&self) {
        let Some(_alone) = self.resetter.try_lock() else { return };
        let before = self.at();
        // The places of the next cycle. Only this thread moves to them, except to the last.
        let (resetting, held, resuming, open) = (before + 1, before + 2, before + 3, before + 4);
        if Place::of(before) != Place::Closed || !self.moves(before, resetting) {
            return;
        }
        if let Err(error) = self.latch.reset() {
            assert!(matches!(error, LatchError::StoppedAgain), "{error}");
            add(&self.tally.overtaken);
            if !self.latch.is_stopped() {
                add(&self.tally.wrong);
            }
            self.moves(resetting, closed(resetting));
            return;
        }
        if !self.moves(resetting, held) || !self.moves(held, resuming) {
            return;
        }
        let resumed = self.latch.resume().is_ok();
        if self.moves(resuming, open) {
            self.tally.cycles.fetch_add(u64::from(resumed), Ordering::SeqCst);
        }
    }

    fn blow(&self, thread: u64, cycles: u64) {
        let mut chance = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread + 1);
        let mut took = Vec::new();
        while self.tally.cycles.load(Ordering::Relaxed) < cycles {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            let kind = if chance & 1 << 40 == 0 { EffectKind::Motion } else { EffectKind::Other };
            match chance >> 32 & 31 {
                0 | 1 => {
                    self.stop(&mut took);
                    self.ask(kind, false);
                }
                2..8 => self.reset(),
                8 => self.latch.hold_motion(),
                9 => std::thread::yield_now(),
                other => self.ask(kind, other < 14),
            }
        }
        self.tally.took.lock().append(&mut took);
    }
}

fn storm(latch: &StopLatch, has_disk: bool, cycles: u64, raise: impl Fn(&StopLatch, StopDetail) + Sync) -> Tally {
    // Start at the place where a stop has returned.
    let (count, resetter, tally) = (AtomicU64::new(PLACES - 1), Mutex::new(()), Tally::default());
    raise(latch, StopDetail { reason: "storm".into(), by: "test".into(), at: None });
    let storm = Storm { latch, raise, has_disk, count, resetter, tally };
    std::thread::scope(|scope| {
        let storm = &storm;
        (0..THREADS).for_each(|thread| drop(scope.spawn(move || storm.blow(thread, cycles))));
    });
    storm.tally
}

fn told(tally: Tally, what: &str) -> u64 {
    let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    let mut took = tally.took.into_inner();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() as f64 * share) as usize).min(took.len() - 1)] as f64 / 1e3;
    println!(
        "{what}: {} stops by {THREADS} threads, {} times reset and resumed, {} resets overtaken; asked {} times after a \
         stop had returned, {} allowed before, {} children late; {} wrong; a stop took p50 {:.1} µs, p99 {:.1}, \
         p99.9 {:.1}, at most {:.1}",
        read(&tally.raised),
        read(&tally.cycles),
        read(&tally.overtaken),
        read(&tally.refused),
        read(&tally.allowed),
        read(&tally.late),
        read(&tally.wrong),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
    );
    assert!(read(&tally.refused) > read(&tally.cycles) / 2, "hardly anybody asked after a stop");
    assert!(read(&tally.allowed) > 0, "nothing was ever allowed");
    read(&tally.wrong)
}

/// `MAXIM_STOPS` sets the number of resets and stops, to make the test longer.
#[test]
fn no_effect_is_permitted_once_a_stop_has_returned_whoever_stops_asks_and_resets_meanwhile() {
    let cycles = std::env::var("MAXIM_STOPS").ok().and_then(|text| text.parse().ok()).unwrap_or(500_000);
    let latch = StopLatch::in_memory();
    let frozen = std::sync::Arc::new(AtomicU64::new(0));
    let hears = std::sync::Arc::clone(&frozen);
    latch.on_stop(move |_| add(&hears));
    let tally = storm(&latch, false, cycles, |latch, detail| drop(latch.raise(detail)));
    // The first stop is before the threads.
    let raised = tally.raised.load(Ordering::SeqCst) + 1;
    assert_eq!(told(tally, "in memory"), 0);
    assert_eq!(frozen.load(Ordering::SeqCst), raised, "the body is frozen by each");
}

#[test]
fn the_same_with_a_file_that_then_says_stopped() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("latch.json");
    let latch = StopLatch::open(&path, false).expect("a fresh latch");
    let tally = storm(&latch, true, 50, |latch, detail| drop(latch.raise(detail)));
    assert_eq!(told(tally, "with a file"), 0);
    let (_, durable) = latch.raise(StopDetail { reason: "last".into(), by: "test".into(), at: None });
    assert!(durable.wait(std::time::Duration::from_secs(60)));
    assert!(StopLatch::open(&path, true).expect("opens").is_stopped());
}

/// Shows that the counts above can fail: they detect a latch that misses one stop in thousands.
#[test]
fn a_latch_that_forgets_a_stop_now_and_then_is_found_out() {
    let latch = StopLatch::in_memory();
    let stops = AtomicU64::new(0);
    let tally = storm(&latch, false, 20_000, |latch, detail| {
        if stops.fetch_add(1, Ordering::SeqCst) % 1_000 != 999 {
            drop(latch.raise(detail));
        }
    });
    assert!(told(tally, "forgetful") > 0);
}
