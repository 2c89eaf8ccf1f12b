//! The signal thread: SIGUSR1 stops, SIGTERM and SIGINT end in order, a second one at once.

use std::ffi::c_int;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use maxim_actors::effectors::door::Door;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use tokio::sync::watch;

use crate::standard_error;
use crate::stopping::{BEAT, SignsOfLife, StopThread, stop_by};

/// How long an end at once waits for its last line.
const LAST_LINE: Duration = Duration::from_millis(100);

/// A second signal within this time belongs to the first: `timeout` and terminals send it to the process and to its group.
const ONE_WISH: Duration = Duration::from_millis(500);

/// Listens on its own thread, so that a blocked room can't block it.
pub fn listen(door: &Arc<Door>, end: &Arc<watch::Sender<bool>>, signs: &Arc<SignsOfLife>) -> io::Result<()> {
    let (wakes, woken) = UnixStream::pair()?;
    wakes.set_read_timeout(Some(BEAT))?;
    let mut signals = SignalDelivery::with_pipe(wakes, woken, SignalOnly, [SIGUSR1, SIGTERM, SIGINT, SIGHUP])?;
    let (door, end, signs) = (Arc::clone(door), Arc::clone(end), Arc::clone(signs));
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut first = None;
        loop {
            signs.give(StopThread::Signals);
            match signals.poll_pending(&mut wait) {
                Ok(None) => {}
                // Panics are caught: whatever happens with one signal, the next is handled.
                Ok(Some(came)) => came
                    .for_each(|signal| drop(catch_unwind(AssertUnwindSafe(|| heed(signal, &door, &end, &mut first))))),
                Err(error) => return tracing::error!(%error, "signals can't be waited for any more"),
            }
        }
    })?;
    Ok(())
}

/// Waits for a signal, at most one beat.
fn wait(wakes: &mut UnixStream) -> io::Result<bool> {
    match wakes.read(&mut [0; 64]) {
        Ok(count) => Ok(count > 0),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// `first` is when it was told to end.
fn heed(signal: c_int, door: &Door, end: &watch::Sender<bool>, first: &mut Option<Instant>) {
    match signal {
        SIGUSR1 => {
            let _ = door.stop("signal SIGUSR1".into(), stop_by::SIGNAL.into());
        }
        // A terminal that closes is no reason for a brain to end.
        SIGHUP => tracing::info!("SIGHUP is ignored"),
        _ if first.is_some_and(|first| first.elapsed() < ONE_WISH) => {}
        _ if first.is_some() || *end.borrow() => {
            tracing::warn!("told twice to end: it ends at once, as in a crash");
            standard_error::settle(LAST_LINE);
            std::process::exit(130);
        }
        _ => {
            *first = Some(Instant::now());
            end.send_replace(true);
        }
    }
}
