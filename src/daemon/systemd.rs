//! What systemd is told: ready, alive, ending. Nothing happens where it isn't there.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use maxim_bus::clock::monotonic_micros;
use sd_notify::NotifyState;

use crate::agent::AgentHandle;

/// A start that takes long asks for so much more time again and again.
const STILL: Duration = Duration::from_secs(60);

/// Ready, and from now on alive as long as the rooms are not all hung.
pub fn ready(agent: &AgentHandle) {
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    let (supervision, period) = (agent.supervision.clone(), limit / 3);
    let feeding = std::thread::Builder::new().name("systemd-watchdog".into()).spawn(move || {
        let mut last_good = monotonic_micros();
        loop {
            std::thread::sleep(period.max(Duration::from_millis(10)));
            let hung = supervision.hearts().iter().any(|heart| heart.overdue().is_some_and(|late| late > limit));
            if !hung {
                last_good = monotonic_micros();
            }
            if monotonic_micros() - last_good < u64::try_from(limit.as_micros()).unwrap_or(u64::MAX) {
                let _ = sd_notify::notify(&[NotifyState::Watchdog]);
            }
        }
    });
    if let Err(error) = feeding {
        tracing::error!(%error, "systemd's watchdog can't be fed");
    }
}

/// Does what may take longer than a start may, and tells meanwhile that it goes on.
pub fn taking_long<T>(work: impl FnOnce() -> T) -> T {
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let telling = std::thread::Builder::new().name("systemd-start".into()).spawn_scoped(scope, move || {
            while end.recv_timeout(STILL / 4) == Err(RecvTimeoutError::Timeout) {
                let more = u32::try_from(STILL.as_micros()).unwrap_or(u32::MAX);
                let _ = sd_notify::notify(&[NotifyState::ExtendTimeoutUsec(more)]);
            }
        });
        if let Err(error) = telling {
            tracing::warn!(%error, "systemd isn't told that the start takes long");
        }
        let done = work();
        drop(ended);
        done
    })
}

pub fn stopping() {
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
}
