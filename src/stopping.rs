//! Parts shared by all ways to stop: the author, the answer, and whether the way still works.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use maxim_bus::MessageId;
use maxim_bus::clock::monotonic_micros;
use maxim_bus::latch::Raised;
use serde_json::{Value, json};

/// The author of a stop when no person is named.
pub mod stop_by {
    pub const HTTP: &str = "http";
    pub const SOCKET: &str = "maxim stop";
    pub const SIGNAL: &str = maxim_bus::latch::StopDetail::BY_SIGNAL;
    pub const FILE: &str = "stop.request";
    #[cfg(feature = "nats")]
    pub const NATS: &str = "nats";
}

/// The answer to a stop. `cancelled` is null if the rooms were not asked which turns it ended.
pub fn stop_document(raised: &Raised, durable: bool, cancelled: Option<&[MessageId]>) -> Value {
    json!({
        "latched": true,
        "latency_us": raised.latency_us,
        "durable": durable,
        "first": raised.first,
        "cancelled": cancelled,
        "processes_killed": raised.children_killed,
    })
}

/// `{until, by}`, or null if it isn't on hold.
pub fn hold_in_words(hold: &Value) -> Option<String> {
    let by = hold["by"].as_str()?;
    let until = hold["until"].as_str().map_or_else(|| "it is released".to_owned(), str::to_owned);
    Some(format!("on hold until {until}, by {by}: nothing new is done; release it with `maxim resume`"))
}

/// How often an idle stop thread gives a sign of life.
pub const BEAT: Duration = Duration::from_millis(500);
/// A stop thread without a sign of life for this long is dead: no caller occupies one for longer than two or three
/// seconds.
const SILENCE: Duration = Duration::from_secs(5);

/// A thread that receives stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopThread {
    Socket,
    File,
    Signals,
}

impl StopThread {
    const ALL: [Self; 3] = [Self::Socket, Self::File, Self::Signals];

    pub fn word(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::File => "file",
            Self::Signals => "signals",
        }
    }
}

/// When each of the stop threads last gave a sign of life.
#[derive(Debug)]
pub struct SignsOfLife([AtomicU64; 3]);

impl SignsOfLife {
    /// All threads are about to begin.
    pub fn now() -> Self {
        Self::at(monotonic_micros())
    }

    fn at(micros: u64) -> Self {
        Self([micros; 3].map(AtomicU64::new))
    }

    /// Called by the thread itself.
    pub fn give(&self, thread: StopThread) {
        self.give_at(thread, monotonic_micros());
    }

    fn give_at(&self, thread: StopThread, micros: u64) {
        self.0[thread as usize].store(micros, Ordering::SeqCst);
    }

    /// The threads that are dead.
    pub fn silent(&self) -> Vec<StopThread> {
        self.silent_at(monotonic_micros())
    }

    fn silent_at(&self, micros: u64) -> Vec<StopThread> {
        let since = |thread: StopThread| micros.saturating_sub(self.0[thread as usize].load(Ordering::SeqCst));
        StopThread::ALL.into_iter().filter(|thread| Duration::from_micros(since(*thread)) > SILENCE).collect()
    }
}

/// A latency in microseconds as a person reads it.
pub fn millis(micros: u64) -> String {
    match micros {
        0 => "under 1 µs".into(),
        1..1000 => format!("{micros} µs"),
        _ => format!("{}.{:03} ms", micros / 1000, micros % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_thread_that_gives_no_sign_of_life_is_dead_and_the_others_are_not() {
        let (signs, second) = (SignsOfLife::at(0), 1_000_000);
        assert_eq!(signs.silent_at(5 * second), []);
        assert_eq!(signs.silent_at(6 * second), StopThread::ALL);
        for thread in [StopThread::Signals, StopThread::Socket] {
            signs.give_at(thread, 4 * second);
        }
        assert_eq!(signs.silent_at(6 * second), [StopThread::File]);
    }

    #[test]
    fn a_latency_is_told_in_the_unit_that_fits() {
        assert_eq!([0, 7, 999, 1234].map(millis), ["under 1 µs", "7 µs", "999 µs", "1.234 ms"]);
    }
}
