//! Root's privileges that a child process doesn't need.
//!
//! A capability to read performance data (`CAP_PERFMON`) also reads any process's memory map and environment, past
//! Landlock, since Linux 5.8's `perfmon_capable`. So a child of root gets only capabilities over files, which Landlock
//! restricts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::report::Layer;

/// Capability numbers of the kernel's capability.h.
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;

/// The util-linux program that drops capabilities.
const SETPRIV: [&str; 2] = ["/usr/bin/setpriv", "/bin/setpriv"];
/// The working folder may belong to another user, so files are opened despite their modes, as far as Landlock grants
/// them. Owners and modes can't be changed: Landlock doesn't restrict such changes, so these two capabilities would
/// reach every file of the machine.
const GIVE_UP: [&str; 3] = ["--inh-caps=-all", "--bounding-set=-all,+dac_override", "--"];
/// In namespaces, files that aren't granted don't exist or are mounted read-only. `fsetid` is dropped, because with it
/// a writer could leave a file setuid.
const GIVE_UP_IN_NAMESPACES: [&str; 3] = ["--inh-caps=-all", "--bounding-set=-all,+chown,+dac_override,+fowner", "--"];

/// How this thread's privileges are handled.
pub(super) struct Privileges {
    /// The program that drops capabilities, if there are any and it works.
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

    /// Precedes the command. `is_bounded_by_mounts`: namespaces keep ungranted files from it.
    pub(super) fn wrapper(&self, is_bounded_by_mounts: bool) -> impl Iterator<Item = &'static str> + use<> {
        let words = if is_bounded_by_mounts { GIVE_UP_IN_NAMESPACES } else { GIVE_UP };
        self.setpriv.into_iter().flat_map(move |setpriv| std::iter::once(setpriv).chain(words))
    }
}

/// Effective capabilities as a set of bits; `None` if they aren't known.
fn effective() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(bits.trim(), 16).ok()
}

/// Whether it works here. Tried once, because each trial starts a process.
fn works(setpriv: &str) -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let mut trial = Command::new(setpriv);
        trial.args(GIVE_UP_IN_NAMESPACES).arg("/bin/true").env_clear();
        trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success())
    })
}
