//! What the kernel enforces on a thread, and on all that it starts, once the walls are raised.

use std::path::{Path, PathBuf};

use seccompiler::BpfProgram;
use serde::{Deserialize, Serialize};

use super::grants::{self, Granted, Mounted, TooMany};
use super::policy::{Network, SandboxPolicy};
use super::privileges::Privileges;
use super::report::Layer;
use super::{ChildSpec, landlock_layer, seccomp_layer};
use crate::OwnFiles;

/// No group may be joined: inside namespaces, process numbers differ.
pub(super) const NO_GROUP: u32 = u32::MAX;
/// Folders named in a note, at most.
const NAMED: usize = 6;

/// The bounds of one run. Another process can receive them and raise them for itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Walls {
    /// What bubblewrap mounts.
    pub(super) readable: Vec<PathBuf>,
    pub(super) devices: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    /// The agent's own part of it, for bubblewrap.
    #[serde(default)]
    pub(super) mounted: Mounted,
    /// What Landlock grants of it.
    pub(super) granted: Granted,
    /// TCP ports that Landlock closes for connections.
    #[serde(default)]
    pub(super) closed_ports: Vec<u16>,
    pub(super) network: Network,
    /// The only process group that may be joined.
    pub(super) group: u32,
}

/// Which walls hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) files: Layer,
    pub(super) signals: Layer,
    pub(super) network: Layer,
    pub(super) group: Layer,
}

impl Walls {
    /// # Errors
    /// The agent's own files can't be kept from the child, because too many entries are beside them.
    pub(super) fn of(
        spec: &ChildSpec,
        policy: &SandboxPolicy,
        scratch: &Path,
        group: u32,
        privileges: &Privileges,
    ) -> Result<Self, TooMany> {
        let may_see = |path: &&PathBuf| !(privileges.can_spy && path.starts_with("/proc"));
        let readable: Vec<PathBuf> = policy.readable.iter().filter(may_see).cloned().collect();
        let mut writable = spec.writable.clone();
        writable.push(scratch.to_owned());
        let mounted = match policy.namespaces {
            Some(_) => grants::mounted(&policy.own, &readable, &writable),
            None => Mounted::default(),
        };
        let is_kept_by_mounts = policy.namespaces.is_some() && !mounted.has_link;
        let granted = if is_kept_by_mounts {
            Granted { readable: readable.clone(), writable: writable.clone(), ..Granted::default() }
        } else {
            // The kernel's interfaces are never writable, whatever a person has allowed of the agent's own files.
            let nothing = OwnFiles::default();
            let own = if policy.expose_own_data { &nothing } else { &policy.own };
            grants::spare(own, &readable, &writable)?
        };
        let (devices, network, closed_ports) = (policy.devices.clone(), policy.network, Vec::new());
        Ok(Self { readable, devices, writable, mounted, granted, closed_ports, network, group })
    }

    /// Whether the whole machine is writable.
    pub(super) fn writes_everywhere(&self) -> bool {
        self.writable.iter().any(|path| path == Path::new("/"))
    }

    /// The agent's own files that a child without namespaces can reach because a person has allowed it.
    pub(super) fn left_open(spec: &ChildSpec, policy: &SandboxPolicy) -> Option<String> {
        let OwnFiles { configuration, data } = &policy.own;
        let written = OwnFiles::within(configuration, &spec.writable).chain(OwnFiles::within(data, &spec.writable));
        let open: Vec<String> = written.map(|path| path.display().to_string()).collect();
        (policy.expose_own_data && !open.is_empty()).then(|| {
            format!("{} lies in a folder that may be written, and tools.expose_own_data is true", open.join(", "))
        })
    }

    /// What differs for the child because the agent's own files are below a granted folder.
    pub(super) fn note(&self) -> Option<String> {
        let levels: Vec<String> =
            self.granted.listed.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        let more = self.granted.listed.len().saturating_sub(NAMED);
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!levels.is_empty()).then(|| {
            format!(
                "nothing new can be made directly in {}{and_more}, because the agent's own files lie below; make it in a folder that is there (bubblewrap lifts this)",
                levels.join(", ")
            )
        })
    }

    /// For this thread and all that it starts from now on. It can't be undone.
    pub(super) fn raise(&self) -> Held {
        let (held, last) = self.raise_but_last();
        match last.map_or(Ok(()), |last| seccomp_layer::install(&last)) {
            Ok(()) => held,
            Err(why) => Held { group: Layer::Missing { why }, ..held },
        }
    }

    /// The same without the last filter, which refuses the call that starts a child in a control group. The child must
    /// install it.
    pub(super) fn raise_but_last(&self) -> (Held, Option<BpfProgram>) {
        // Landlock first, because the filter must not block its system calls.
        let (files, signals) = landlock_layer::apply(self);
        let (network, group, last) = seccomp_layer::apply_but_last(self.network, self.group);
        (Held { files, signals, network, group }, last)
    }

    /// What would hold, tried on a thread that ends.
    pub(super) fn tried(&self) -> std::io::Result<Held> {
        let walls = self.clone();
        let thread = std::thread::Builder::new().name("contained-trial".into()).spawn(move || walls.raise())?;
        thread.join().map_err(|_| std::io::Error::other("the thread that tries the walls has died"))
    }
}
