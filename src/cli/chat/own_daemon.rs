//! A daemon that the chat starts when none runs: a child process that is shut down with the chat.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::{CliError, Exit, Global};
use crate::data_folder::{DaemonNote, private_file};

/// How long the daemon may take until it answers.
const READY: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
/// Name of the daemon's log file in the data folder.
const LOG: &str = "chat-daemon.log";

/// The child process. Dropping the value shuts it down.
pub struct OwnDaemon(Child);

impl OwnDaemon {
    /// Starts a daemon, unless one answers or the command names another place.
    ///
    /// # Errors
    /// The daemon ended before it answered (the error quotes its last lines), or did not answer in time.
    pub fn where_none_runs(global: &Global) -> Result<Option<Self>, CliError> {
        if global.url.is_some() || global.client().is_ok_and(|client| client.is_there()) {
            return Ok(None);
        }
        let folder = global.data_folder()?;
        folder.make()?;
        let path = folder.path().join(LOG);
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("run").args(["--listen", "127.0.0.1:0"]);
        for (flag, value) in [("--data", &global.data), ("--config", &global.config)] {
            command.args(value.iter().flat_map(|value| [flag.as_ref(), value.as_os_str()]));
        }
        // Its own process group: Ctrl-C in the terminal reaches only the chat, which then shuts the daemon down.
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(private_file().truncate(true).open(&path)?);
        let mut own = Self(command.spawn()?);
        own.end_with_signals()?;
        let watch = Stopwatch::start();
        loop {
            if let Some(ended) = own.0.try_wait()? {
                let said = fs::read_to_string(&path).unwrap_or_default();
                let last = said.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>();
                let found = format!(
                    "no brain is running, and the one started for the chat ended ({ended}): \
                {}",
                    last.join(" ")
                );
                return Err(CliError::new(Exit::TryAgain, found, "start it with `maxim run` to see its whole log"));
            }
            let is_noted = DaemonNote::read(&folder).is_ok_and(|note| note.is_some_and(|note| note.pid == own.0.id()));
            if is_noted && global.client()?.get(&["readyz"], &[]).is_ok() {
                return Ok(Some(own));
            }
            if watch.elapsed() > READY {
                let found = format!("the brain started for the chat did not answer within {} s", READY.as_secs());
                return Err(CliError::new(Exit::TryAgain, found, format!("see {}", path.display())));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    /// On SIGINT or SIGTERM a line chat ends without running destructors, so the daemon is ended here.
    fn end_with_signals(&self) -> Result<(), CliError> {
        let (mut signals, pid) = (Signals::new([SIGINT, SIGTERM])?, self.pid());
        std::thread::spawn(move || {
            if let (Some(signal), Some(pid)) = (signals.forever().next(), pid) {
                let _ = kill_process(pid, Signal::TERM);
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
        Ok(())
    }
}

impl Drop for OwnDaemon {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.0.wait();
    }
}
