//! What systemd is told: ready, alive, ending. Nothing happens where it isn't there.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use sd_notify::NotifyState;

use crate::agent::AgentHandle;
use crate::stopping::{SignsOfLife, StopThread};

/// A start that takes long asks for this much more time again and again.
const STILL: Duration = Duration::from_secs(60);

/// Ready, and from now on alive as long as every stop thread is and no room hangs.
pub fn ready(agent: &AgentHandle, signs: &Arc<SignsOfLife>) {
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    let (supervision, signs) = (agent.supervision.clone(), Arc::clone(signs));
    let feeding = std::thread::Builder::new().name("systemd-watchdog".into()).spawn(move || {
        loop {
            std::thread::sleep((limit / 3).max(Duration::from_millis(10)));
            let hearts = supervision.hearts();
            if is_alive(hearts.iter().filter_map(|heart| heart.overdue()), limit, &signs.silent()) {
                let _ = sd_notify::notify(&[NotifyState::Watchdog]);
            }
        }
    });
    if let Err(error) = feeding {
        tracing::error!(%error, "systemd's watchdog can't be fed");
    }
}

/// Reports that it stands by, while another machine runs the agent, until the returned value is dropped.
#[cfg(feature = "nats")]
pub fn waiting() -> Feeding {
    let status = NotifyState::Status("standing by: another machine runs the agent");
    let _ = sd_notify::notify(&[NotifyState::Ready, status]);
    let (waiting, end) = mpsc::channel();
    if let Some(limit) = sd_notify::watchdog_enabled() {
        let feed = move || {
            while end.recv_timeout((limit / 3).max(Duration::from_millis(10))) == Err(RecvTimeoutError::Timeout) {
                let _ = sd_notify::notify(&[NotifyState::Watchdog]);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("systemd-watchdog".into()).spawn(feed) {
            tracing::error!(%error, "systemd's watchdog can't be fed");
        }
    }
    Feeding { _waiting: waiting }
}

/// Feeds systemd's watchdog for as long as it is held.
#[cfg(feature = "nats")]
pub struct Feeding {
    _waiting: mpsc::Sender<()>,
}

#[cfg(feature = "nats")]
impl Drop for Feeding {
    fn drop(&mut self) {
        let _ = sd_notify::notify(&[NotifyState::Status("")]);
    }
}

/// `overdue`: how late each late room is.
fn is_alive(mut overdue: impl Iterator<Item = Duration>, limit: Duration, silent: &[StopThread]) -> bool {
    silent.is_empty() && overdue.all(|late| late <= limit)
}

/// Does work that may take longer than a start may, and meanwhile reports that it goes on.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_alive_while_no_stop_thread_is_dead_and_no_room_hangs() {
        let limit = Duration::from_secs(10);
        let second = Duration::from_secs(1);
        assert!(is_alive([second, limit].into_iter(), limit, &[]));
        assert!(!is_alive([limit + second].into_iter(), limit, &[]));
        assert!(!is_alive([].into_iter(), limit, &[StopThread::File]));
    }
}
