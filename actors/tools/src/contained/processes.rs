//! The processes of a call, as /proc lists them.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// Names listed for one call, at most. Further ones are counted.
const NAMED: usize = 20;

/// A process that still existed when its call had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftProcess {
    pub pid: u32,
    /// The kernel's name of it: at most 15 characters, chosen by the process itself.
    pub name: String,
}

/// In words, for a person.
pub(super) fn in_words(left: &[LeftProcess]) -> String {
    let names = left.iter().take(NAMED).map(|one| format!("{} ({})", one.name, one.pid));
    let mut words = names.collect::<Vec<_>>().join(", ");
    if left.len() > NAMED {
        words.push_str(&format!(" and {} more", left.len() - NAMED));
    }
    words
}

/// One process, from its `stat` (proc_pid_stat(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    name: String,
    state: char,
    parent: u32,
    pub(super) group: u32,
    /// Start time in ticks since the machine's start. Together with the number it identifies one process for good.
    began: u64,
}

impl Process {
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name in brackets may hold any character, also brackets.
    fn parse(pid: u32, stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let name: String = before.split_once('(')?.1.chars().filter(|letter| !letter.is_control()).collect();
        let fields: Vec<&str> = after.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Self {
            pid,
            name,
            state: fields.first()?.chars().next()?,
            parent: number(1)?,
            group: number(2)?,
            began: fields.get(19)?.parse().ok()?,
        })
    }

    /// Not a zombie.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }

    /// The same process is still alive.
    pub(super) fn lives_on(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.began == self.began && now.is_alive())
    }

    /// Sends SIGKILL to this process, and never to another one that has got its number since.
    pub(super) fn kill(&self) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if self.lives_on() {
            // It may have ended by itself.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
    }

    pub(super) fn told(&self) -> LeftProcess {
        LeftProcess { pid: self.pid, name: self.name.clone() }
    }
}

fn all() -> Vec<Process> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::of).collect()
}

/// All living processes of a call, without the leader of its group: those in its group; elsewhere those that have its
/// mark in their environment or are listed in `others`; and all that any of them has started. An empty mark matches
/// none.
pub(super) fn of_call(leader: u32, mark: &str, others: &[u32]) -> Vec<Process> {
    let all = all();
    // The leader lives until its group is over, and no process of the call is older.
    let since = all.iter().find(|process| process.pid == leader).map_or(u64::MAX, |process| process.began);
    let is_marked = |process: &Process| {
        !mark.is_empty()
            && process.group != leader
            && process.began >= since
            && process.is_alive()
            && has_mark(process.pid, mark)
    };
    let is_member = |process: &&Process| {
        process.pid != leader && (process.group == leader || others.contains(&process.pid) || is_marked(process))
    };
    let mut members: BTreeSet<u32> = all.iter().filter(is_member).map(|process| process.pid).collect();
    while !members.is_empty() {
        let started = |process: &&Process| !members.contains(&process.pid) && members.contains(&process.parent);
        let more: Vec<u32> = all.iter().filter(started).map(|process| process.pid).collect();
        if more.is_empty() {
            break;
        }
        members.extend(more);
    }
    all.into_iter().filter(|process| members.contains(&process.pid) && process.is_alive()).collect()
}

/// Dead processes of a group for which this process must wait.
pub(super) fn dead(leader: u32) -> Vec<u32> {
    let own = std::process::id();
    let is_dead = |process: &Process| {
        process.group == leader && process.parent == own && !process.is_alive() && process.pid != leader
    };
    all().iter().filter(|process| is_dead(process)).map(|process| process.pid).collect()
}

/// An unreadable environment belongs to another user's process or to one that hides. Then its group and its parent
/// decide.
fn has_mark(pid: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let rest = "S 7 9 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        let process = Process::parse(12, &format!("12 (a) R 1 \u{1b}(b) {rest}")).expect("read");
        assert_eq!((process.parent, process.group, process.began), (7, 9, 4711));
        assert_eq!(process.told(), LeftProcess { pid: 12, name: "a) R 1 (b".into() });
        assert!(Process::parse(12, "12 (a) R").is_none() && Process::parse(12, "").is_none());
        let own = Process::of(std::process::id()).expect("itself");
        assert!(own.is_alive() && own.lives_on());
        assert!(!Process { began: own.began + 1, ..own }.lives_on(), "another one with its number");
    }

    #[test]
    fn who_was_left_is_told_within_bounds() {
        let left = |count: u32| (0..count).map(|pid| LeftProcess { pid, name: "sleep".into() }).collect::<Vec<_>>();
        assert_eq!(in_words(&left(2)), "sleep (0), sleep (1)");
        assert!(in_words(&left(1000)).ends_with("sleep (19) and 980 more"));
    }
}
