//! The lease: the brain must confirm again and again that it still wants the movement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use maxim_bus::clock::monotonic_micros;

/// The brain renews it, the motor reads it.
#[derive(Debug)]
pub struct Lease {
    length: Duration,
    renewed: AtomicU64,
}

impl Lease {
    /// A lease that has run out.
    pub fn new(length: Duration) -> Self {
        Self { length, renewed: AtomicU64::new(0) }
    }

    pub fn length(&self) -> Duration {
        self.length
    }

    pub fn renew(&self) {
        // Never zero, which means "never".
        self.renewed.store(monotonic_micros().max(1), Ordering::SeqCst);
    }

    /// Whether it lasts this long from now on.
    pub fn holds_for(&self, time: Duration) -> bool {
        match self.renewed.load(Ordering::SeqCst) {
            0 => false,
            renewed => Duration::from_micros(monotonic_micros().saturating_sub(renewed)) + time <= self.length,
        }
    }
}
