//! Which refusals of the sandbox hold on this machine, so that nobody is asked about what they refuse.

use serde::{Deserialize, Serialize};

use super::kernel::{KernelSupport, LandlockSupport, on_own_thread};
use super::privileges::Privileges;
use super::report::Layer;

/// The first version of Landlock that restricts signals.
const SIGNALS: i32 = 6;

/// What the sandbox refuses even after a person's yes. A field is false if the kernel lacks the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Barriers {
    /// The filter of system calls: namespaces, mounts, sessions, the clock, other processes, local sockets.
    pub calls: bool,
    /// No signal reaches a process outside the call.
    pub signals: bool,
    /// No program gains rights.
    pub rights: bool,
    /// Nothing outside the granted paths is written.
    pub files: bool,
}

impl Default for Barriers {
    /// All barriers, which is what the sandbox asks of the kernel.
    fn default() -> Self {
        Self { calls: true, signals: true, rights: true, files: true }
    }
}

impl Barriers {
    /// The barriers of this kernel. `has_namespaces`: each call has its own namespaces.
    pub fn of(kernel: &KernelSupport, has_namespaces: bool) -> Self {
        let is_kept = |from: i32| matches!(kernel.landlock, LandlockSupport::Available { abi } if abi >= from);
        let calls = kernel.seccomp_missing.is_none();
        let has_none = on_own_thread(|| Ok(matches!(Privileges::plan().layer, Layer::Enforced { .. })));
        Self {
            calls,
            signals: has_namespaces || is_kept(SIGNALS),
            // Each of the two sets "no new privileges", without which rights could be raised.
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
