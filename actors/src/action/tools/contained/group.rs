//! The process group of one run, and the process that holds it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
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
        let no_group = |why: String| {
            ToolFailure::new(ErrorKind::Unavailable, format!("no process group for a child process: {why}"))
        };
        let mut anchor = Command::new("/bin/sh")
            .args(["-c", "read -r _; kill -9 0"])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| no_group(format!("/bin/sh can't be started: {error}")))?;
        match permit.register(anchor.id()) {
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

    /// Waits until the killed have died: the kernel tells nobody but a parent, and orphans have another one. The ids of
    /// those that are still there after `patience`, for example in a device that doesn't answer.
    pub(super) fn wait_until_dead(&self, patience: Duration) -> Vec<u32> {
        let watch = Stopwatch::start();
        loop {
            let living = living(self.id());
            if living.is_empty() || watch.elapsed() >= patience {
                return living;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Processes of a group that aren't dead.
fn living(group: u32) -> Vec<u32> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            // proc_pid_stat(5): the name in brackets may hold anything, then state, parent, group.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
            let (state, _parent, own) = (fields.next(), fields.next(), fields.next());
            !matches!(state, None | Some("Z" | "X")) && own.and_then(|own| own.parse().ok()) == Some(group)
        })
        .collect()
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.registered.kill();
        // It has been killed, so this waits for no one.
        let _ = self.anchor.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use maxim_bus::latch::{EffectKind, StopLatch};

    use super::*;

    #[test]
    fn the_group_is_killed_when_the_process_that_holds_its_anchor_dies() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let mut group = Group::lead(&permit).expect("a group");
        let id = i32::try_from(group.id()).expect("a pid");
        let mut member = Command::new("/bin/sleep").arg("600").process_group(id).spawn().expect("sleep");
        // What the kernel does to the anchor's input when this process is gone.
        drop(group.anchor.stdin.take());
        assert_eq!(member.wait().expect("ended").signal(), Some(9));
    }

    #[test]
    fn a_group_is_registered_while_it_is_held() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let group = Group::lead(&permit).expect("a group");
        assert_eq!(permit.groups(), 1);
        drop(group);
        assert_eq!(permit.groups(), 0);
    }
}
