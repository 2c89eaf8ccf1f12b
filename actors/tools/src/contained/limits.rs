//! rlimits, set from outside on a child that waits.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};

use super::cgroup::Cgroup;
use super::policy::Limits;
use super::report::Layer;

/// Sets all limits of the process. The returned layer lists what the kernel refuses. A control group limits the
/// processes and the memory of the whole call.
pub(super) fn apply(pid: u32, limits: &Limits, deadline: Duration, cgroup: Result<&Cgroup, &str>) -> Layer {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Layer::Missing { why: format!("{pid} is no process id") };
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let cpu = limits.cpu_seconds.unwrap_or_else(|| (deadline.as_secs() + 1) * cores);
    let is_root = geteuid().is_root();
    let mut wanted = vec![
        ("processor time", Resource::Cpu, cpu),
        ("memory", Resource::Data, limits.memory_bytes),
        ("address space", Resource::As, limits.address_space_bytes),
        ("file size", Resource::Fsize, limits.file_bytes),
        ("open files", Resource::Nofile, limits.open_files),
        ("core dumps", Resource::Core, 0),
    ];
    let is_counted = cgroup.is_ok_and(|cgroup| cgroup.holds("pids"));
    if !is_root && !is_counted {
        wanted.push(("processes", Resource::Nproc, processes_of_this_user() + limits.processes));
    }
    let mut missing: Vec<String> = wanted
        .into_iter()
        .filter_map(|(name, resource, most)| set(pid, resource, most).err().map(|error| format!("{name}: {error}")))
        .collect();
    if is_root && !is_counted {
        let why = cgroup.err().unwrap_or("its control group has no controller for processes");
        missing.push(format!(
            "the kernel doesn't hold root to a number of processes; run as another user, or in a control group that may be written ({why})"
        ));
    }
    let by = if is_counted { "rlimits and a control group" } else { "rlimits" }.to_owned();
    if missing.is_empty() { Layer::Enforced { by } } else { Layer::Partial { by, missing: missing.join("; ") } }
}

/// Never raises a lower limit: that would need a right that the agent shouldn't have.
fn set(pid: Pid, resource: Resource, most: u64) -> rustix::io::Result<()> {
    let hard = rustix::process::getrlimit(resource).maximum;
    let most = hard.map_or(most, |hard| hard.min(most));
    prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(most) }).map(drop)
}

/// Threads of all processes of this user, which is what the kernel counts. A process that ends meanwhile isn't counted.
fn processes_of_this_user() -> u64 {
    let own = geteuid().as_raw();
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    processes
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == own))
        .map(|entry| fs::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64))
        .sum()
}
