//! A control group (cgroups(7), version 2) for each call, if this process may make one.
//!
//! No process leaves it without writing to its files, and one write ends all processes in it. It is below the group
//! that this process was given: in that folder itself, or beside this process if the parent group was delegated
//! (systemd's `DelegateSubgroup=`). The kernel allows controllers only in a group without processes.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;

use super::policy::Limits;

/// Prefix of a call's group name; a unique number follows.
const PREFIX: &str = "maxim-call-";
/// Marks of a delegated group (systemd's "Control Group APIs and Delegation").
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];
const CONTROLLERS: [&str; 2] = ["pids", "memory"];

/// Removed when dropped.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    /// The folder, for a child that starts in it.
    handle: OwnedFd,
    /// Controllers that enforce the call's limits.
    held: Vec<&'static str>,
}

impl Cgroup {
    /// Makes an empty group.
    ///
    /// # Errors
    /// Version 2 isn't available, or the group can't be made; in words.
    pub(super) fn make(limits: &Limits) -> Result<Self, String> {
        let base = base()?;
        let folder = base.join(format!("{PREFIX}{}-{}", std::process::id(), uuid::Uuid::now_v7().simple()));
        switch_on(&base);
        fs::create_dir(&folder).map_err(|error| told("can't be made", &folder, &error))?;
        let handle = fs::File::open(&folder).map_err(|error| told("can't be opened", &folder, &error))?;
        let mut made = Self { folder, handle: handle.into(), held: Vec::new() };
        if !made.folder.join("cgroup.kill").exists() {
            return Err("this kernel can't end a whole group with one write: use Linux 5.14 or newer".into());
        }
        for (controller, file, most) in [
            ("pids", "pids.max", limits.processes.to_string()),
            ("memory", "memory.max", limits.all_memory_bytes.to_string()),
        ] {
            // Without the controller there is no such file.
            if fs::write(made.folder.join(file), most).is_ok() {
                made.held.push(controller);
            }
        }
        Ok(made)
    }

    /// For a child that starts in the group.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// Moves a process into the group; processes that it starts later are in it too. The kernel takes some 10 ms for
    /// this.
    pub(super) fn adopt(&self, pid: u32) -> Result<(), String> {
        let file = self.folder.join("cgroup.procs");
        fs::write(&file, pid.to_string()).map_err(|error| told("takes no process", &file, &error))
    }

    /// Sends SIGKILL to all processes in it.
    pub(super) fn kill(&self) {
        // The write fails if the group is empty and gone.
        let _ = fs::write(self.kill_file(), "1");
    }

    /// Writing 1 to this file ends all processes of the group.
    pub(super) fn kill_file(&self) -> PathBuf {
        self.folder.join("cgroup.kill")
    }

    pub(super) fn holds(&self, controller: &str) -> bool {
        self.held.contains(&controller)
    }

    /// Its processes, also dead ones that nobody has waited for.
    pub(super) fn members(&self) -> Vec<u32> {
        let listed = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Whether a process in it is alive.
    pub(super) fn is_populated(&self) -> bool {
        is_populated(&self.folder)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        // Processes that are being ended stay in it a moment longer.
        let watch = Stopwatch::start();
        while fs::remove_dir(&self.folder).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY)) {
            if watch.elapsed() > Duration::from_millis(500) {
                tracing::warn!(cgroup = %self.folder.display(), "a call's control group can't be removed");
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Whether calls can have a group here. Removes groups left by a daemon that was killed.
pub(super) fn probe() -> Result<Vec<&'static str>, String> {
    let base = base()?;
    for entry in fs::read_dir(&base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = fs::write(entry.path().join("cgroup.kill"), "1");
            // A group that isn't empty yet is removed at the next start.
            let _ = fs::remove_dir(entry.path());
        }
    }
    Cgroup::make(&Limits::default()).map(|made| made.held.clone())
}

/// The folder in which the groups of calls are made.
fn base() -> Result<PathBuf, String> {
    let of_own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("no control groups: {error}"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("no mounts are told: {error}"))?;
    let own = own_folder(&of_own, &mounts).ok_or("no control groups of version 2 are mounted here")?;
    let above = own.parent().filter(|above| !is_delegated(&own) && is_delegated(above));
    Ok(above.map_or_else(|| own.clone(), Path::to_owned))
}

/// This process's group folder, from /proc/self/cgroup and /proc/self/mountinfo.
fn own_folder(cgroups: &str, mounts: &str) -> Option<PathBuf> {
    let path = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let (root, mount) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let is_version_2 = after.split_ascii_whitespace().next() == Some("cgroup2");
        let mut fields = before.split_ascii_whitespace().skip(3);
        is_version_2.then_some((fields.next()?, fields.next()?))
    })?;
    // A mount may show only a part of the tree.
    let within = Path::new(path).strip_prefix(root).ok()?;
    Some(if within.as_os_str().is_empty() { mount.into() } else { Path::new(mount).join(within) })
}

fn is_delegated(folder: &Path) -> bool {
    DELEGATED.iter().any(|name| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(folder, *name, &mut value[..]).is_ok_and(|length| value[..length] == *b"1")
    })
}

/// Refused where processes are in the group itself, and needless where it was done before.
fn switch_on(base: &Path) {
    let file = base.join("cgroup.subtree_control");
    let on = fs::read_to_string(&file).unwrap_or_default();
    for controller in CONTROLLERS.iter().filter(|controller| !on.split_whitespace().any(|one| one == **controller)) {
        let _ = fs::write(&file, format!("+{controller}"));
    }
}

fn is_populated(folder: &Path) -> bool {
    fs::read_to_string(folder.join("cgroup.events")).is_ok_and(|events| events.contains("populated 1"))
}

fn told(what: &str, path: &Path, error: &io::Error) -> String {
    format!("the control group {} {what}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    const MOUNTS: &str = "25 30 0:23 / /sys rw shared:7 - sysfs sysfs rw\n\
                          31 25 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn its_own_place_is_found_in_each_layout() {
        let service = "0::/system.slice/maxim.service\n";
        let found = |cgroups, mounts| own_folder(cgroups, mounts).map(|path| path.display().to_string());
        assert_eq!(found(service, MOUNTS).as_deref(), Some("/sys/fs/cgroup/system.slice/maxim.service"));
        assert_eq!(found("0::/\n", MOUNTS).as_deref(), Some("/sys/fs/cgroup"));
        let hybrid = "32 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let beside = "4:memory:/other\n0::/user\n";
        assert_eq!(found(beside, hybrid).as_deref(), Some("/sys/fs/cgroup/unified/user"));
        let part = "32 25 0:27 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(found("0::/docker/x/y\n", part).as_deref(), Some("/sys/fs/cgroup/y"));
        assert_eq!(found("0::/elsewhere\n", part), None);
        assert_eq!(found("4:memory:/a\n", MOUNTS), None, "version 1 alone");
        assert_eq!(found(service, "25 30 0:23 / /sys rw - sysfs sysfs rw\n"), None);
    }

    #[test]
    fn all_in_it_end_at_once_and_it_is_removed() {
        let cgroup = match Cgroup::make(&Limits::default()) {
            Ok(cgroup) => cgroup,
            Err(why) => return println!("SKIPPED: no control group of its own here: {why}"),
        };
        let folder = cgroup.folder.clone();
        let mut child = Command::new("/bin/sleep").arg("600").spawn().expect("sleep");
        cgroup.adopt(child.id()).expect("taken");
        assert!(cgroup.is_populated() && cgroup.members() == [child.id()]);
        cgroup.kill();
        let watch = Stopwatch::start();
        let ended = loop {
            match child.try_wait().expect("asked") {
                Some(status) => break status,
                None => assert!(watch.elapsed() < Duration::from_secs(20), "it goes on"),
            }
            std::thread::yield_now();
        };
        assert_eq!(ended.signal(), Some(9));
        drop(cgroup);
        assert!(!folder.exists());
    }
}
