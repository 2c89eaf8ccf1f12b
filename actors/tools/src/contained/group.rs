//! The process group of one run, the process that leads it, and the control group around it if there is one.
//!
//! This process adopts the orphans of its children (`PR_SET_CHILD_SUBREAPER`, prctl(2)). So all processes of a run end
//! as its children. It waits for each, and no zombie is left. When it has no child in the group, the group is empty.

use std::cell::Cell;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{ChildGroup, Permit};
use rustix::io::Errno;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitOptions, getpid, set_child_subreaper, waitid, waitpgid, waitpid,
};

use super::cgroup::Cgroup;
use super::policy::Limits;
use super::processes::{self, LeftProcess, Process};
use super::report::{Layer, SandboxReport};
use crate::{ErrorKind, ToolFailure};

/// The leader waits for the end of its input, which comes when this process dies from any cause. Then it kills the
/// control group, if there is one, and its own process group.
const LEADER: &str = "read -r _; [ -z \"$1\" ] || echo 1 > \"$1\"; kill -9 0";
/// Pause between two checks of processes that are being killed.
const PAUSE: Duration = Duration::from_micros(300);

/// A group led by a shell.
pub(super) struct Group<'latch> {
    anchor: Child,
    /// Registered with the latch until the run is over.
    registered: Option<ChildGroup<'latch>>,
    was_stopped: Cell<bool>,
    cgroup: Result<Cgroup, String>,
    /// Orphans of the run become children of this process.
    takes_orphans: bool,
    /// No process of the run can leave the control group, so the group alone lists all of them.
    is_closed: bool,
}

/// Processes that still existed at the end.
#[derive(Debug, Default)]
pub(super) struct Remains {
    /// They had left the group and were ended.
    pub(super) strays: Vec<LeftProcess>,
    /// They couldn't be ended in time, for example because a device doesn't answer.
    pub(super) living: Vec<LeftProcess>,
}

impl<'latch> Group<'latch> {
    /// Starts the leader and registers the group with the latch.
    pub(super) fn lead(permit: &Permit<'latch>, limits: &Limits) -> Result<Self, ToolFailure> {
        let no_group = |why: String| {
            ToolFailure::new(ErrorKind::Unavailable, format!("no process group for a child process: {why}"))
        };
        let takes_orphans = set_child_subreaper(Some(getpid())).is_ok();
        let cgroup = Cgroup::make(limits);
        let mut anchor = Command::new("/bin/sh")
            .args(["-c", LEADER, "leader"])
            .args(cgroup.as_ref().ok().map(Cgroup::kill_file))
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| no_group(format!("/bin/sh can't be started: {error}")))?;
        match permit.register(anchor.id()) {
            Some(registered) => {
                let (registered, was_stopped) = (Some(registered), Cell::new(false));
                Ok(Self { anchor, registered, was_stopped, cgroup, takes_orphans, is_closed: false })
            }
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
        if let Some(registered) = &self.registered {
            self.was_stopped.set(registered.was_stopped());
        }
        self.was_stopped.get()
    }

    /// Puts the gate into the control group before it opens. A failure is stored in [`Group::cgroup`].
    pub(super) fn adopt(&mut self, gate: u32) {
        if let Err(why) = self.cgroup.as_ref().map_or(Ok(()), |cgroup| cgroup.adopt(gate)) {
            self.cgroup = Err(why);
        }
    }

    /// The run's walls are up: processes in the control group can't write to its files, and stay in the process group.
    pub(super) fn close(&mut self, report: &SandboxReport) {
        let is_held = |layer: &Layer| matches!(layer, Layer::Enforced { .. } | Layer::Partial { .. });
        self.is_closed = self.cgroup.is_ok() && is_held(&report.files) && is_held(&report.group);
    }

    /// The control group, or why there is none.
    pub(super) fn cgroup(&self) -> Result<&Cgroup, &str> {
        self.cgroup.as_ref().map_err(String::as_str)
    }

    /// Sends SIGKILL to the process group, its leader too, and to the control group. The leader isn't waited for before
    /// the end, so its number stays this group's.
    pub(super) fn kill(&self) {
        if let Some(registered) = &self.registered {
            registered.kill();
        }
        if let Ok(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    /// All processes that run now, without the leader. `mark` is a variable with which the environment of each of them
    /// started.
    pub(super) fn members(&self, mark: &str) -> Vec<Process> {
        if let (Ok(cgroup), true) = (&self.cgroup, self.is_closed) {
            let all = cgroup.members().into_iter().filter_map(Process::of);
            return all.filter(|process| process.is_alive() && process.pid != self.id()).collect();
        }
        let others = self.cgroup.as_ref().map(Cgroup::members).unwrap_or_default();
        processes::of_call(self.id(), mark, &others)
    }

    /// Those of `members` that have left the process group.
    pub(super) fn strays(&self, members: &[Process]) -> Vec<Process> {
        members.iter().filter(|process| process.group != self.id()).cloned().collect()
    }

    /// Waits for orphans of the run that have died. The gate's end is waited for elsewhere.
    pub(super) fn tidy(&self, gate: u32) {
        let any_dead = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let group = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        if matches!(waitid(WaitId::Pgid(group), any_dead), Ok(Some(_))) {
            processes::dead(self.id()).into_iter().filter(|pid| *pid != gate).for_each(wait_for_one);
        }
    }

    /// Ends the group and all processes that left it, and waits up to `patience` until they are dead. `strays` are
    /// those seen before the kill, while their parents were still known.
    pub(super) fn end(&mut self, mark: &str, mut strays: Vec<Process>, patience: Duration) -> Remains {
        self.kill();
        self.was_stopped();
        // From here on the number may be reused. No stop needs it any more.
        self.registered = None;
        let watch = Stopwatch::start();
        let mut remains = Remains::default();
        let mut is_over = false;
        loop {
            is_over = is_over || self.all_waited_for();
            for stray in &strays {
                if !remains.strays.iter().any(|told| told.pid == stray.pid) {
                    remains.strays.push(stray.told());
                }
                stray.kill();
                wait_for_one(stray.pid);
            }
            strays.retain(Process::lives_on);
            let is_populated = self.cgroup.as_ref().is_ok_and(Cgroup::is_populated);
            if is_populated {
                self.kill();
            }
            if is_over && strays.is_empty() && !is_populated {
                if remains.strays.is_empty() {
                    return remains;
                }
                // Processes that had left may have started others meanwhile.
                strays = self.members(mark);
                if strays.is_empty() {
                    return remains;
                }
            }
            if watch.elapsed() >= patience {
                remains.living = self.members(mark).iter().map(Process::told).collect();
                return remains;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for all dead processes of the group. True if none is left.
    fn all_waited_for(&self) -> bool {
        let Some(group) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) else { return true };
        loop {
            match waitpgid(group, WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                // No child of this process is in it.
                Err(_) => return self.takes_orphans || processes::of_call(self.id(), "", &[]).is_empty(),
            }
        }
    }
}

/// Waits for it if it is a dead child of this process.
fn wait_for_one(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if self.registered.is_some() {
            self.end("", Vec::new(), super::AFTER_THE_KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::process::ExitStatusExt;

    use maxim_bus::latch::{EffectKind, StopLatch};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn the_group_is_killed_when_the_process_that_holds_its_anchor_dies() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let mut group = Group::lead(&permit, &Limits::default()).expect("a group");
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
        let group = Group::lead(&permit, &Limits::default()).expect("a group");
        assert_eq!(permit.groups(), 1);
        drop(group);
        assert_eq!(permit.groups(), 0);
    }

    /// As on a kernel without seccomp, where groups can be left.
    #[test]
    fn who_has_left_the_group_is_found_by_mark_or_control_group_and_ended_and_named() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let mut group = Group::lead(&permit, &Limits::default()).expect("a group");
        let id = i32::try_from(group.id()).expect("a pid");
        let mark = format!("TMPDIR=/nowhere/{id}");
        // Both lose their parent at once and hold no output; the second one hides its mark too.
        let marked = "read -r _; (setsid -f sleep 600) >/dev/null 2>&1";
        let hidden = "(env -i setsid -f sleep 600) >/dev/null 2>&1";
        let has_cgroup = group.cgroup().is_ok();
        let script = if has_cgroup {
            format!("{marked}; {hidden}; echo begun; sleep 600")
        } else {
            format!("{marked}; echo begun; sleep 600")
        };
        // The group, which takes its orphans, waits for it.
        #[allow(clippy::zombie_processes)]
        let mut member = Command::new("/bin/sh")
            .args(["-c", &script])
            .env_clear()
            .envs([("PATH", "/usr/bin:/bin"), ("TMPDIR", &format!("/nowhere/{id}"))])
            .process_group(id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        group.adopt(member.id());
        assert_eq!(group.cgroup().is_ok(), has_cgroup, "{:?}", group.cgroup());
        member.stdin.take().expect("its input").write_all(b"\n").expect("written");
        let mut said = String::new();
        let out = member.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut said).expect("read");
        assert_eq!(said, "begun\n");
        let expected = if has_cgroup { 2 } else { 1 };
        let watch = Stopwatch::start();
        let mut strays = Vec::new();
        // A session of its own comes a moment after the fork.
        while strays.len() < expected && watch.elapsed() < PATIENCE {
            strays = group.strays(&group.members(&mark));
        }
        assert_eq!(strays.len(), expected, "{strays:?}");
        let remains = group.end(&mark, strays.clone(), PATIENCE);
        assert_eq!((remains.living, remains.strays.len()), (Vec::new(), expected));
        assert!(strays.iter().all(|stray| !stray.lives_on()));
    }

    /// As on a kernel without seccomp: when this process dies, nobody else ends who has left the group.
    #[test]
    fn who_has_left_the_group_ends_by_its_control_group_when_the_process_that_holds_its_anchor_dies() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let mut group = Group::lead(&permit, &Limits::default()).expect("a group");
        if let Err(why) = group.cgroup() {
            return println!("SKIPPED: no control group of its own here: {why}");
        }
        let id = i32::try_from(group.id()).expect("a pid");
        let script = "read -r _; exec setsid -w sh -c 'echo begun; exec sleep 600'";
        let mut member = Command::new("/bin/sh")
            .args(["-c", script])
            .process_group(id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        group.adopt(member.id());
        member.stdin.take().expect("its input").write_all(b"\n").expect("written");
        let mut out = BufReader::new(member.stdout.take().expect("its output"));
        let mut said = String::new();
        out.read_line(&mut said).expect("read");
        assert_eq!(said, "begun\n");
        let outside = group.strays(&group.members("")).len();
        assert_eq!(outside, 1, "it has a session of its own");
        // What the kernel does to the anchor's input when this process is gone.
        drop(group.anchor.stdin.take());
        // Its output closes when all that hold it have ended.
        let (say_closed, closed) = std::sync::mpsc::channel();
        std::thread::spawn(move || say_closed.send(out.read_line(&mut String::new())));
        let closed = closed.recv_timeout(PATIENCE).expect("it ends");
        assert_eq!(closed.expect("read"), 0);
        assert_eq!(member.wait().expect("ended").signal(), Some(9));
    }

    #[test]
    fn no_dead_stay_behind() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let mut group = Group::lead(&permit, &Limits::default()).expect("a group");
        let id = i32::try_from(group.id()).expect("a pid");
        // Orphans that live and orphans that have died.
        let script = "for i in 1 2 3 4 5 6; do (sleep 600 & true & exec true) & done; wait; echo begun; exec sleep 600";
        let mut member = Command::new("/bin/sh");
        member.args(["-c", script]).process_group(id).stdout(Stdio::piped());
        let mut member = member.spawn().expect("sh");
        let mut said = String::new();
        let out = member.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut said).expect("read");
        let gate = member.id();
        let watch = Stopwatch::start();
        while !processes::dead(group.id()).is_empty() && watch.elapsed() < PATIENCE {
            group.tidy(gate);
        }
        assert!(group.members("").len() >= 7, "{:?}", group.members(""));
        assert!(member.try_wait().expect("asked").is_none(), "it goes on");
        let remains = group.end("", Vec::new(), PATIENCE);
        assert!(remains.living.is_empty() && remains.strays.is_empty(), "{remains:?}");
        let of_group = std::fs::read_dir("/proc").expect("proc").flatten();
        let pids = of_group.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let dead: Vec<Process> = pids.filter_map(Process::of).filter(|process| process.group == id as u32).collect();
        assert_eq!(dead, [], "the dead of it are waited for");
    }
}
