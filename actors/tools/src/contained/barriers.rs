//! Which refusals of the sandbox hold on this machine, for who would ask a person about what they refuse.

use serde::{Deserialize, Serialize};

use super::kernel::{KernelSupport, LandlockSupport, on_own_thread};
use super::privileges::Privileges;
use super::report::Layer;

/// The first version of Landlock that bounds signals.
const SIGNALS: i32 = 6;

/// What the sandbox refuses whatever a person says. Where the kernel lacks the mechanism, it isn't so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Barriers {
    /// The filter of system calls: namespaces, mounts, sessions, the clock, other processes, local sockets.
    pub calls: bool,
    /// No signal reaches a process outside of the call.
    pub signals: bool,
    /// No program gets other rights.
    pub rights: bool,
    /// Nothing is written outside of what is granted.
    pub files: bool,
}

impl Default for Barriers {
    /// All of them, which is what the sandbox asks of the kernel.
    fn default() -> Self {
        Self { calls: true, signals: true, rights: true, files: true }
    }
}

impl Barriers {
    /// What holds with this kernel. `has_namespaces`: each call has processes of its own.
    pub fn of(kernel: &KernelSupport, has_namespaces: bool) -> Self {
        let is_kept = |from: i32| matches!(kernel.landlock, LandlockSupport::Available { abi } if abi >= from);
        let calls = kernel.seccomp_missing.is_none();
        let has_none = on_own_thread(|| Ok(matches!(Privileges::plan().layer, Layer::Enforced { .. })));
        Self {
            calls,
            signals: has_namespaces || is_kept(SIGNALS),
            // Each of the two sets "no new privileges", without which they can't be raised.
            rights: (calls || is_kept(1)) && has_none == Ok(true),
            files: is_kept(1) || has_namespaces,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_lacks_refuses_nothing() {
        let kernel = |abi, seccomp_missing: Option<&str>| KernelSupport {
            landlock: match abi {
                0 => LandlockSupport::Missing { why: "not in the kernel".into() },
                abi => LandlockSupport::Available { abi },
            },
            seccomp_missing: seccomp_missing.map(str::to_owned),
            cgroup_missing: None,
            cgroup_controllers: Vec::new(),
            notifications_missing: None,
        };
        let whole = Barriers::of(&kernel(6, None), false);
        assert!(whole.calls && whole.signals && whole.files);
        let old = Barriers::of(&kernel(4, None), false);
        assert!(old.calls && old.files && !old.signals);
        assert!(Barriers::of(&kernel(4, None), true).signals, "in a namespace of its own");
        let none = Barriers::of(&kernel(0, Some("the kernel refused the filter")), false);
        assert_eq!(none, Barriers { calls: false, signals: false, rights: false, files: false });
    }
}
