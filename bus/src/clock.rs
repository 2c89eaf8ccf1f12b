//! Time as the agent sees it. This is the one file that reads the machine's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use jiff::{Timestamp, TimestampArithmetic};

/// Arithmetic on times that can't panic. A time beyond the calendar's end becomes that end. Use these instead of `+`
/// and `-`, which panic there.
pub trait Reckoned: Sized {
    /// This much later; earlier where `by` is negative.
    fn later(self, by: impl Into<TimestampArithmetic>) -> Self;
    /// This much earlier.
    fn earlier(self, by: impl Into<TimestampArithmetic>) -> Self;
}

impl Reckoned for Timestamp {
    fn later(self, by: impl Into<TimestampArithmetic>) -> Self {
        self.saturating_add(by).unwrap_or(self) // only calendar units are refused, and no wait uses them
    }

    fn earlier(self, by: impl Into<TimestampArithmetic>) -> Self {
        self.saturating_sub(by).unwrap_or(self)
    }
}

/// The last time that a clock shows. What is due at the calendar's end is never due, instead of always due.
pub const LAST: Timestamp = Timestamp::constant(253_402_207_200 - 1, 0);

/// The source of an agent's time: the machine, a simulation or a recording.
pub trait Clock: Send + Sync + 'static {
    /// Wall-clock time, cut to microseconds so that storing it changes nothing.
    fn now(&self) -> Timestamp;
    /// True when time passes by itself; false when a caller advances it.
    fn is_live(&self) -> bool;
}

pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock beyond the calendar shows the calendar's end.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = match since {
            Ok(since) => Timestamp::UNIX_EPOCH.later(since),
            Err(before) => Timestamp::UNIX_EPOCH.earlier(before.duration()),
        };
        to_micros(now).min(LAST)
    }
    fn is_live(&self) -> bool {
        true
    }
}

/// A clock that stands still until it is advanced. Clones share the hand.
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<AtomicI64>);

impl VirtualClock {
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(start.as_microsecond())))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Moves the hand to `time`. A time in the past changes nothing.
    pub fn advance_to(&self, time: Timestamp) {
        self.0.fetch_max(time.as_microsecond(), Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.load(Ordering::SeqCst)).map_or(LAST, |now| now.min(LAST))
    }
    fn is_live(&self) -> bool {
        false
    }
}

/// Cuts to microseconds, the resolution of everything that is stored.
pub fn to_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// A stopwatch for watchdogs and latencies. Never used for a decision.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Time since the machine started. It also counts while the machine sleeps and while the process is paused.
pub fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

/// Microseconds on a monotonic clock since the first call in this process. For busy stamps that other threads read.
pub fn monotonic_micros() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_time_beyond_the_calendar_is_its_end() {
        let year = SignedDuration::from_hours(24 * 366);
        assert_eq!(LAST.later(year), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.earlier(year), Timestamp::MIN);
        assert_eq!(Timestamp::UNIX_EPOCH.later(SignedDuration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::UNIX_EPOCH.later(SignedDuration::MIN), Timestamp::MIN);
        assert_eq!(Timestamp::UNIX_EPOCH.earlier(Duration::MAX), Timestamp::MIN);
        assert!(LAST < Timestamp::MAX, "what is due at the end is never due");
    }

    #[test]
    fn a_clock_goes_no_further_than_the_last_time() {
        let clock = VirtualClock::at(LAST);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(clock.now(), LAST);
        clock.advance_to(Timestamp::MAX);
        assert_eq!(clock.now(), LAST);
    }
}
