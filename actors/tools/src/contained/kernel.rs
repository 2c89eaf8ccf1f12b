//! What this kernel can enforce, found by trial.

use serde::{Deserialize, Serialize};

use super::{cgroup, landlock_layer, own_port, seccomp_layer};

/// Landlock here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LandlockSupport {
    /// The version of its interface, 1 or more.
    Available {
        abi: i32,
    },
    Missing {
        why: String,
    },
}

/// What the kernel offers for restricting child processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSupport {
    pub landlock: LandlockSupport,
    /// `None` if filters work; else why not.
    pub seccomp_missing: Option<String>,
    /// `None` if each call can have a control group; else why not.
    pub cgroup_missing: Option<String>,
    /// Controllers that can limit a call, such as `pids` and `memory`.
    #[serde(default)]
    pub cgroup_controllers: Vec<String>,
    /// `None` if a child's connections can be checked one by one; else why not.
    pub notifications_missing: Option<String>,
}

impl KernelSupport {
    /// Tries each on a thread that ends right after, because a restriction can't be removed.
    pub fn probe() -> Self {
        let landlock = on_own_thread(landlock_layer::version);
        let cgroup = cgroup::probe();
        Self {
            cgroup_missing: cgroup.as_ref().err().cloned(),
            cgroup_controllers: cgroup.unwrap_or_default().into_iter().map(str::to_owned).collect(),
            landlock: match landlock {
                Ok(abi) => LandlockSupport::Available { abi },
                Err(why) => LandlockSupport::Missing { why },
            },
            seccomp_missing: on_own_thread(seccomp_layer::supported).err(),
            notifications_missing: on_own_thread(own_port::supported).err(),
        }
    }

    /// True if a run can be fully contained: files, signals, network and group. A control group is a second wall.
    pub fn is_complete(&self) -> bool {
        matches!(self.landlock, LandlockSupport::Available { abi } if abi >= 6) && self.seccomp_missing.is_none()
    }

    /// Lines for the start and for `maxim doctor`, each with whether it is well.
    pub fn lines(&self) -> Vec<(bool, String)> {
        let files = match &self.landlock {
            LandlockSupport::Available { abi } if *abi >= 6 => (
                true,
                format!("Landlock version {abi}: child processes reach only their folders and signal only each other"),
            ),
            LandlockSupport::Available { abi } => (
                false,
                format!(
                    "Landlock version {abi}: child processes reach only their folders, with gaps; they can signal this daemon. Use Linux 6.12 or newer"
                ),
            ),
            LandlockSupport::Missing { why } => (
                false,
                format!(
                    "Landlock: {why}. CHILD PROCESSES REACH ALL FILES OF THIS USER. Use Linux 5.13 or newer with lsm=landlock"
                ),
            ),
        };
        let network = match &self.seccomp_missing {
            None => (true, "seccomp: child processes have no network, make no namespaces, leave neither their process group nor setuid programs, and touch no other process".to_owned()),
            Some(why) => (
                false,
                format!(
                    "seccomp: {why}. CHILD PROCESSES HAVE THE NETWORK AND CAN OUTLIVE A STOP, unless they are found by their control group or their environment. Use a kernel with CONFIG_SECCOMP_FILTER"
                ),
            ),
        };
        let own_port = own_port::line(self.notifications_missing.as_ref(), &self.landlock);
        vec![files, network, self.of_cgroups(), own_port]
    }

    fn of_cgroups(&self) -> (bool, String) {
        match &self.cgroup_missing {
            None if self.cgroup_controllers.is_empty() => (
                true,
                "cgroup: each call has its own and is ended by it; no controller bounds its processes and memory"
                    .into(),
            ),
            None => {
                let held = self.cgroup_controllers.join(" and ");
                (true, format!("cgroup: each call has its own, is ended by it, and is held by it in {held}"))
            }
            Some(why) => (
                false,
                format!(
                    "cgroup: {why}. Calls are ended by their process group alone, and where this program is root, nothing bounds how many processes a call starts. Let this program write its control group (Delegate=yes in systemd)"
                ),
            ),
        }
    }
}

pub(super) fn on_own_thread<T: Send + 'static>(probe: fn() -> Result<T, String>) -> Result<T, String> {
    let thread =
        std::thread::Builder::new().name("kernel-probe".into()).spawn(probe).map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the probe died".to_owned())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_lacks_is_told_in_words() {
        let whole = KernelSupport {
            landlock: LandlockSupport::Available { abi: 6 },
            seccomp_missing: None,
            cgroup_missing: None,
            cgroup_controllers: vec!["pids".into(), "memory".into()],
            notifications_missing: None,
        };
        assert!(whole.is_complete() && whole.lines().iter().all(|(well, _)| *well));
        let none = KernelSupport {
            landlock: LandlockSupport::Missing { why: "not in the kernel".into() },
            seccomp_missing: Some("the kernel refused the filter".into()),
            cgroup_missing: Some("no control groups of version 2 are mounted here".into()),
            cgroup_controllers: Vec::new(),
            notifications_missing: Some("the kernel refused a listener".into()),
        };
        let bad: Vec<String> = none.lines().into_iter().filter(|(well, _)| !well).map(|(_, line)| line).collect();
        assert_eq!(bad.len(), 4);
        assert!(bad[0].contains("not in the kernel") && bad[0].contains("REACH ALL FILES"));
        assert!(bad[1].contains("HAVE THE NETWORK"));
        assert!(bad[2].contains("version 2") && bad[2].contains("Delegate=yes"));
        assert!(bad[3].contains("refused a listener") && bad[3].contains("tools.expose_own_port"));
        let by_landlock = KernelSupport { landlock: LandlockSupport::Available { abi: 4 }, ..none };
        assert!(by_landlock.lines()[3].0 && by_landlock.lines()[3].1.contains("20 ms"));
    }
}
