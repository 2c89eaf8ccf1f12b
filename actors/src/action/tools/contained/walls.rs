//! What the kernel holds a thread to, and all that it starts, once they are raised.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::policy::{Network, SandboxPolicy};
use super::privileges::Privileges;
use super::report::Layer;
use super::{ChildSpec, landlock_layer, seccomp_layer};
use crate::action::tools::OwnFiles;

/// Joins no group at all: inside of namespaces the numbers of processes are others.
pub(super) const NO_GROUP: u32 = u32::MAX;

/// The bounds of one run. They can be sent to another process, which raises them for itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Walls {
    pub(super) readable: Vec<PathBuf>,
    pub(super) devices: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    /// Files in what is writable that aren't written, and folders in it that aren't seen. By namespaces alone: Landlock
    /// takes nothing back of a folder that it has granted.
    #[serde(default)]
    pub(super) fixed: Vec<PathBuf>,
    #[serde(default)]
    pub(super) hidden: Vec<PathBuf>,
    pub(super) network: Network,
    /// The one process group that may be joined.
    pub(super) group: u32,
}

/// Which of them hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) files: Layer,
    pub(super) signals: Layer,
    pub(super) network: Layer,
    pub(super) group: Layer,
}

impl Walls {
    pub(super) fn of(
        spec: &ChildSpec,
        policy: &SandboxPolicy,
        scratch: &Path,
        group: u32,
        privileges: &Privileges,
    ) -> Self {
        let may_see = |path: &&PathBuf| !(privileges.can_spy && path.starts_with("/proc"));
        let mut writable = spec.writable.clone();
        writable.push(scratch.to_owned());
        let within = |paths| OwnFiles::within(paths, &spec.writable).cloned().collect();
        Self {
            readable: policy.readable.iter().filter(may_see).cloned().collect(),
            devices: policy.devices.clone(),
            fixed: within(&policy.own.configuration),
            hidden: within(&policy.own.data),
            writable,
            network: policy.network,
            group,
        }
    }

    /// What Landlock doesn't keep from children that have no namespaces.
    pub(super) fn left_open(&self) -> Option<String> {
        let open: Vec<String> = self.fixed.iter().chain(&self.hidden).map(|path| path.display().to_string()).collect();
        (!open.is_empty()).then(|| {
            format!(
                "{} lies in a folder that may be written, of which Landlock takes nothing back (bubblewrap does)",
                open.join(", ")
            )
        })
    }

    /// For this thread and what it starts from now on; they can't be taken down again.
    pub(super) fn raise(&self) -> Held {
        // Landlock first: the filter must not stand in the way of its system calls.
        let (files, signals) = landlock_layer::apply(self);
        let (network, group) = seccomp_layer::apply(self.network, self.group);
        Held { files, signals, network, group }
    }

    /// What would hold: they are raised on a thread that ends.
    pub(super) fn tried(&self) -> std::io::Result<Held> {
        let walls = self.clone();
        let thread = std::thread::Builder::new().name("contained-trial".into()).spawn(move || walls.raise())?;
        thread.join().map_err(|_| std::io::Error::other("the thread that tries the walls has died"))
    }
}
