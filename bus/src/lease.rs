//! The lease on an agent that several machines could run. This process holds it for a limited time.
//!
//! Other code wins and renews the lease; this file holds the check right before an effect. The time is measured on a
//! clock that also runs while the process is paused and while the machine sleeps. It counts from the moment *before*
//! a renewal was requested. The issuer counts from a later moment, so the lease never ends there before it ends here.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::since_boot;

/// This process no longer holds the agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this machine no longer holds the agent's lease: {0}")]
pub struct LeaseLost(pub Arc<str>);

/// Clones are the same lease.
#[derive(Clone, Debug)]
pub struct Lease(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    token: u64,
    /// Nanoseconds since the machine started, on the clock above.
    until: AtomicU64,
    lost: OnceLock<Arc<str>>,
}

impl Lease {
    /// A lease that was won. `token` is larger than that of each earlier holder. `asked_at` is [`since_boot`] read
    /// before the request.
    pub fn won(token: u64, asked_at: Duration, lasts: Duration) -> Self {
        Self(Arc::new(Inner { token, until: AtomicU64::new(nanos(asked_at + lasts)), lost: OnceLock::new() }))
    }

    /// The fencing token.
    pub fn token(&self) -> u64 {
        self.0.token
    }

    /// The lease was extended. A lost lease stays lost.
    pub fn renewed(&self, asked_at: Duration, lasts: Duration) {
        self.0.until.fetch_max(nanos(asked_at + lasts), Ordering::SeqCst);
    }

    /// Loses the lease for good; the first reason stays.
    pub fn lose(&self, why: &str) {
        let _ = self.0.lost.set(why.into());
    }

    /// How long the lease holds without a renewal; zero once it is lost.
    pub fn left(&self) -> Duration {
        if self.0.lost.get().is_some() {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.0.until.load(Ordering::SeqCst).saturating_sub(nanos(since_boot())))
    }

    /// Call this right before each effect and each write.
    ///
    /// # Errors
    /// The lease was lost or has run out. Once it has run out it stays lost, even if a renewal arrives later.
    pub fn check(&self) -> Result<(), LeaseLost> {
        if self.left().is_zero() {
            let why = self.0.lost.get_or_init(|| "its lease ran out before it could be renewed".into());
            return Err(LeaseLost(why.clone()));
        }
        Ok(())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn it_is_held_from_the_question_on_and_not_beyond() {
        let asked = since_boot();
        let lease = Lease::won(7, asked, HOUR);
        assert_eq!((lease.check(), lease.token()), (Ok(()), 7));
        assert!(lease.left() <= HOUR);
        // As far as it knows, asked for an hour ago: the answer was on its way that long.
        let late = Lease::won(8, asked.saturating_sub(HOUR), HOUR);
        assert!(late.check().is_err() && late.left().is_zero());
    }

    #[test]
    fn what_is_lost_stays_lost() {
        let lease = Lease::won(7, Duration::ZERO, Duration::ZERO);
        assert!(lease.check().expect_err("ran out").to_string().contains("ran out"));
        lease.renewed(since_boot(), HOUR);
        assert!(lease.check().is_err(), "a renewal that comes too late gives nothing back");
        let other = Lease::won(7, since_boot(), HOUR);
        other.lose("machine b holds it");
        other.lose("later");
        assert_eq!(other.check(), Err(LeaseLost("machine b holds it".into())));
    }
}
