//! The process groups that a stop kills.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

/// All process groups that tools have running.
#[derive(Debug, Default)]
pub struct ChildGroups {
    groups: Mutex<BTreeMap<u64, Pid>>,
    next: AtomicU64,
    kills: AtomicU64,
}

/// A registered group. Dropping it forgets the group; it doesn't kill.
#[derive(Debug)]
pub struct ChildGroup<'a> {
    owner: &'a ChildGroups,
    key: u64,
    kills_before: u64,
}

impl ChildGroups {
    /// Stops so far. Read before the latch's state, so that a stop after it is never missed.
    pub(super) fn kills(&self) -> u64 {
        self.kills.load(Ordering::SeqCst)
    }

    pub(super) fn register(&self, leader: u32, kills_before: u64) -> Option<ChildGroup<'_>> {
        let pid = Pid::from_raw(i32::try_from(leader).ok()?)?;
        let key = self.next.fetch_add(1, Ordering::SeqCst);
        self.groups.lock().insert(key, pid);
        Some(ChildGroup { owner: self, key, kills_before })
    }

    /// SIGKILL to each group; how many there were.
    pub fn kill_all(&self) -> usize {
        self.kills.fetch_add(1, Ordering::SeqCst);
        let groups = self.groups.lock();
        for pid in groups.values() {
            // A group that has ended already is no error.
            let _ = kill_process_group(*pid, Signal::KILL);
        }
        groups.len()
    }

    pub(super) fn len(&self) -> usize {
        self.groups.lock().len()
    }
}

impl ChildGroup<'_> {
    /// True when a stop has killed this group.
    pub fn was_stopped(&self) -> bool {
        self.owner.kills.load(Ordering::SeqCst) != self.kills_before
    }

    /// SIGKILL to this group alone, for a deadline.
    pub fn kill(&self) {
        if let Some(pid) = self.owner.groups.lock().get(&self.key) {
            let _ = kill_process_group(*pid, Signal::KILL);
        }
    }
}

impl Drop for ChildGroup<'_> {
    fn drop(&mut self) {
        self.owner.groups.lock().remove(&self.key);
    }
}
