//! The signal thread: SIGUSR1 stops, SIGTERM and SIGINT end in order, a second one at once.

use std::io;
use std::sync::Arc;

use maxim_actors::effectors::door::Door;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

use crate::stopping::stop_by;

/// Listens on a thread of its own, which nothing that blocks a room can block.
pub fn listen(door: &Arc<Door>, end: &Arc<watch::Sender<bool>>) -> io::Result<()> {
    let mut signals = Signals::new([SIGUSR1, SIGTERM, SIGINT, SIGHUP])?;
    let (door, end) = (Arc::clone(door), Arc::clone(end));
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGUSR1 => {
                    let _ = door.stop("signal SIGUSR1".into(), stop_by::SIGNAL.into());
                }
                // A terminal that closes is no reason for a brain to end.
                SIGHUP => tracing::info!("SIGHUP is ignored"),
                _ if *end.borrow() => {
                    tracing::warn!("told twice to end: it ends at once, as in a crash");
                    std::process::exit(130);
                }
                _ => {
                    end.send_replace(true);
                }
            }
        }
    })?;
    Ok(())
}
