//! The lease on an agent that several machines could live: held for so long, and for no longer, by this process.
//!
//! Where it is won and renewed is no matter of this file; here is what is asked right before an effect. It is reckoned on a
//! clock that goes on while the process is paused and while the machine sleeps, from the moment *before* a renewal was asked
//! for: whoever gives the lease reckons from later on, so it never ends there before it ends here.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::since_boot;

/// The agent isn't this process's any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this machine doesn't hold the agent any more: {0}")]
pub struct LeaseLost(pub Arc<str>);

/// Clones are the same lease.
#[derive(Clone, Debug)]
pub struct Lease(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    token: u64,
    /// Nanoseconds since the machine started.
    until: AtomicU64,
    lost: OnceLock<Arc<str>>,
}

impl Lease {
    /// One that was won. `token` is larger than that of each holder before; `asked_at` is [`since_boot`] before it was asked
    /// for.
    pub fn won(token: u64, asked_at: Duration, lasts: Duration) -> Self {
        Self(Arc::new(Inner { token, until: AtomicU64::new(nanos(asked_at + lasts)), lost: OnceLock::new() }))
    }

    /// The fencing token.
    pub fn token(&self) -> u64 {
        self.0.token
    }

    /// It was given for longer. One that is lost stays lost.
    pub fn renewed(&self, asked_at: Duration, lasts: Duration) {
        self.0.until.fetch_max(nanos(asked_at + lasts), Ordering::SeqCst);
    }

    /// For good; the first reason stays.
    pub fn lose(&self, why: &str) {
        let _ = self.0.lost.set(why.into());
    }

    /// How long it is held without a renewal; nothing once it is lost.
    pub fn left(&self) -> Duration {
        if self.0.lost.get().is_some() {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.0.until.load(Ordering::SeqCst).saturating_sub(nanos(since_boot())))
    }

    /// Asked right before each effect and each write.
    ///
    /// # Errors
    /// It was lost, or has run out: then it is lost from now on, even if a renewal came in later.
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
        // Asked for an hour ago, as far as it knows: the answer was that long on its way.
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
