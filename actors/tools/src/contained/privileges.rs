//! What of root's power a child process doesn't need.
//!
//! A capability that reads performance data (`CAP_PERFMON`) also reads any process's memory map and environment, past
//! Landlock, since Linux 5.8's `perfmon_capable`. So a child of root gets only what files ask for, which Landlock bounds.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::report::Layer;

/// Capability numbers of the kernel's capability.h.
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;

/// The program of util-linux that gives capabilities up.
const SETPRIV: [&str; 2] = ["/usr/bin/setpriv", "/bin/setpriv"];
/// The working folder may be another user's, so files are opened past their modes, as far as Landlock grants them. Owners
/// and modes stay as they are: Landlock doesn't bound who changes them, so these two would reach every file of the machine.
const GIVE_UP: [&str; 3] = ["--inh-caps=-all", "--bounding-set=-all,+dac_override", "--"];
/// In namespaces the files that aren't granted aren't there, or are mounted read only. Without `fsetid`, which would let
/// who writes a file leave it setuid.
const GIVE_UP_IN_NAMESPACES: [&str; 3] = ["--inh-caps=-all", "--bounding-set=-all,+chown,+dac_override,+fowner", "--"];

/// What is done about the privileges of this thread.
pub(super) struct Privileges {
    /// What gives capabilities up, where there are any and it works.
    setpriv: Option<&'static str>,
    /// A child can look into other processes, so it mustn't see /proc.
    pub(super) can_spy: bool,
    pub(super) layer: Layer,
}

impl Privileges {
    pub(super) fn plan() -> Self {
        let enforced = |by: &str| Layer::Enforced { by: by.into() };
        let has = effective();
        if has == Some(0) {
            return Self { setpriv: None, can_spy: false, layer: enforced("there are none") };
        }
        match SETPRIV.into_iter().find(|path| Path::new(path).exists()) {
            Some(setpriv) if works(setpriv) => {
                Self { setpriv: Some(setpriv), can_spy: false, layer: enforced("setpriv") }
            }
            found => {
                let why = if found.is_some() { "setpriv is refused" } else { "there is no setpriv (util-linux)" };
                let why =
                    format!("{why}: child processes keep the capabilities of this process; run it as another user");
                let can_spy = has.is_none_or(|has| has & (1 << SYS_ADMIN | 1 << PERFMON) != 0);
                Self { setpriv: None, can_spy, layer: Layer::Missing { why } }
            }
        }
    }

    /// Stands before the command. `is_bounded_by_mounts`: what isn't granted is kept from it by namespaces.
    pub(super) fn wrapper(&self, is_bounded_by_mounts: bool) -> impl Iterator<Item = &'static str> + use<> {
        let words = if is_bounded_by_mounts { GIVE_UP_IN_NAMESPACES } else { GIVE_UP };
        self.setpriv.into_iter().flat_map(move |setpriv| std::iter::once(setpriv).chain(words))
    }
}

/// Effective capabilities as a set of bits; none when they can't be known.
fn effective() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(bits.trim(), 16).ok()
}

/// Whether it does so here. It is tried once, because a trial is a process more for each call.
fn works(setpriv: &str) -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let mut trial = Command::new(setpriv);
        trial.args(GIVE_UP_IN_NAMESPACES).arg("/bin/true").env_clear();
        trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success())
    })
}
