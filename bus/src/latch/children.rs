//! The process groups that a stop kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

use crate::clock::Stopwatch;

/// Time limit for counting the processes before they are killed. On a busy machine counting takes some two
/// milliseconds.
const COUNTING: Duration = Duration::from_millis(5);

/// All process groups that tools have running.
#[derive(Debug, Default)]
pub struct ChildGroups {
    groups: Mutex<BTreeMap<u64, Led>>,
    /// Processes that stops have killed since the latch was last left.
    killed: AtomicUsize,
    next: AtomicU64,
    kills: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Led {
    leader: Pid,
    /// Its processes have been counted and are being killed.
    is_killed: bool,
}

/// A registered group. Dropping it forgets the group; it doesn't kill.
#[derive(Debug)]
pub struct ChildGroup<'a> {
    owner: &'a ChildGroups,
    key: u64,
    kills_before: u64,
}

impl ChildGroups {
    /// The number of stops so far. Read it before the latch's state, so that a stop that comes later is noticed.
    pub(super) fn kills(&self) -> u64 {
        self.kills.load(Ordering::SeqCst)
    }

    pub(super) fn register(&self, leader: u32, kills_before: u64) -> Option<ChildGroup<'_>> {
        let pid = Pid::from_raw(i32::try_from(leader).ok()?)?;
        let key = self.next.fetch_add(1, Ordering::SeqCst);
        self.groups.lock().insert(key, Led { leader: pid, is_killed: false });
        Some(ChildGroup { owner: self, key, kills_before })
    }

    /// Sends SIGSTOP and SIGKILL to each group. Returns how many processes stops have killed since the latch was last
    /// left, by any way of stopping. It counts the living processes in the groups, without the leaders, which only
    /// hold the group's number. If time runs out, the count is too low; the kill is complete all the same.
    pub fn kill_all(&self) -> usize {
        self.kills.fetch_add(1, Ordering::SeqCst);
        let mut groups = self.groups.lock();
        // Freeze them at once and count them frozen. Programs that use every core would delay the count, and with it
        // their own kill.
        for group in groups.values().filter(|group| !group.is_killed) {
            let _ = kill_process_group(group.leader, Signal::STOP);
        }
        let living = living(groups.values().filter(|group| !group.is_killed));
        for group in groups.values_mut() {
            group.is_killed = true;
            // A group that has already ended is no error.
            let _ = kill_process_group(group.leader, Signal::KILL);
        }
        self.killed.fetch_add(living, Ordering::SeqCst) + living
    }

    /// The stop is over.
    pub(super) fn forget_killed(&self) {
        self.killed.store(0, Ordering::SeqCst);
    }

    pub(super) fn len(&self) -> usize {
        self.groups.lock().len()
    }
}

fn living<'a>(groups: impl Iterator<Item = &'a Led>) -> usize {
    let there = groups.filter(|group| test_kill_process(group.leader).is_ok());
    let there: BTreeSet<i32> = there.map(|group| group.leader.as_raw_nonzero().get()).collect();
    if there.is_empty() {
        return 0;
    }
    let watch = Stopwatch::start();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i32> = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // What a tool has started is usually younger than all else.
    pids.sort_unstable_by(|a, b| b.cmp(a));
    let in_time = pids.into_iter().take_while(|_| watch.elapsed() < COUNTING);
    in_time.filter(|pid| !there.contains(pid) && lives_in(*pid, &there)).count()
}

/// proc_pid_stat(5): the name in brackets may contain anything; state, parent and group follow.
fn lives_in(pid: i32, groups: &BTreeSet<i32>) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let (state, _parent, group) = (fields.next(), fields.next(), fields.next());
    !matches!(state, None | Some("Z" | "X"))
        && group.and_then(|group| group.parse().ok()).is_some_and(|group: i32| groups.contains(&group))
}

impl ChildGroup<'_> {
    /// True when a stop has come since the permit was given.
    pub fn was_stopped(&self) -> bool {
        self.owner.kills.load(Ordering::SeqCst) != self.kills_before
    }

    /// SIGKILL to this group alone, for a deadline.
    pub fn kill(&self) {
        if let Some(group) = self.owner.groups.lock().get(&self.key) {
            let _ = kill_process_group(group.leader, Signal::KILL);
        }
    }
}

impl Drop for ChildGroup<'_> {
    fn drop(&mut self) {
        self.owner.groups.lock().remove(&self.key);
    }
}
