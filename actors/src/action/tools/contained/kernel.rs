//! What this kernel can enforce, tried out rather than looked up.

use std::fs;

use serde::{Deserialize, Serialize};

use super::{landlock_layer, seccomp_layer};

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

/// What the kernel offers for keeping child processes in bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSupport {
    pub landlock: LandlockSupport,
    /// None when filters work; else why not.
    pub seccomp_missing: Option<String>,
    /// Namespaces can be made without rights. Told only: the sandbox doesn't need them.
    pub user_namespaces: bool,
}

impl KernelSupport {
    /// Tries each on a thread that ends right after, because a restriction can't be taken off again.
    pub fn probe() -> Self {
        let landlock = on_own_thread(landlock_layer::version);
        Self {
            landlock: match landlock {
                Ok(abi) => LandlockSupport::Available { abi },
                Err(why) => LandlockSupport::Missing { why },
            },
            seccomp_missing: on_own_thread(seccomp_layer::supported).err(),
            user_namespaces: user_namespaces(),
        }
    }

    /// True when a run can be contained whole: files, signals, network and group.
    pub fn is_complete(&self) -> bool {
        matches!(self.landlock, LandlockSupport::Available { abi } if abi >= 6) && self.seccomp_missing.is_none()
    }

    /// For the start-up lines and `maxim doctor`: each with whether it is well.
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
            None => (true, "seccomp: child processes have no network and can't leave their process group".to_owned()),
            Some(why) => (
                false,
                format!(
                    "seccomp: {why}. CHILD PROCESSES HAVE THE NETWORK AND CAN OUTLIVE A STOP. Use a kernel with CONFIG_SECCOMP_FILTER"
                ),
            ),
        };
        let namespaces = if self.user_namespaces { "there are" } else { "there are no" };
        vec![files, network, (true, format!("{namespaces} user namespaces; the sandbox doesn't need them"))]
    }
}

fn on_own_thread<T: Send + 'static>(probe: fn() -> Result<T, String>) -> Result<T, String> {
    let thread =
        std::thread::Builder::new().name("kernel-probe".into()).spawn(probe).map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the probe died".to_owned())?
}

fn user_namespaces() -> bool {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let off = |path: &str| read(path).is_some_and(|value| value == "0");
    fs::exists("/proc/self/ns/user").unwrap_or(false)
        && !off("/proc/sys/user/max_user_namespaces")
        && !off("/proc/sys/kernel/unprivileged_userns_clone")
}
