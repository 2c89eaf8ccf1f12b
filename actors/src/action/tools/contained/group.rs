//! The process group of one run, and the process that holds it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use maxim_bus::latch::{ChildGroup, Permit};

use crate::action::tools::{ErrorKind, ToolFailure};

/// A group led by a shell that waits for its input to end. That happens when this process dies, whatever kills it; then
/// the shell kills the group.
pub(super) struct Group<'latch> {
    anchor: Child,
    registered: ChildGroup<'latch>,
}

impl<'latch> Group<'latch> {
    /// Starts the leader and registers the group with the latch.
    pub(super) fn lead(permit: &Permit<'latch>) -> Result<Self, ToolFailure> {
        let no_group =
            |why: String| ToolFailure::new(ErrorKind::Io, format!("no process group for a child process: {why}"));
        let mut anchor = Command::new("/bin/sh")
            .args(["-c", "read -r _; kill -9 0"])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| no_group(format!("/bin/sh can't be started: {error}")))?;
        match permit.children().register(anchor.id()) {
            Some(registered) => Ok(Self { anchor, registered }),
            None => {
                let _ = anchor.kill();
                let _ = anchor.wait();
                Err(no_group(format!("{} is no process id", anchor.id())))
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.anchor.id()
    }

    pub(super) fn was_stopped(&self) -> bool {
        self.registered.was_stopped()
    }

    /// SIGKILL to all of the group, its leader too. The leader isn't reaped before the group is dropped, so its number
    /// stays this group's.
    pub(super) fn kill(&self) {
        self.registered.kill();
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.registered.kill();
        // It has been killed, so this waits for no one.
        let _ = self.anchor.wait();
    }
}
