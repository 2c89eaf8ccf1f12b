//! What a child process may do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bubblewrap::Bubblewrap;
use super::own_port::OwnPorts;
use crate::OwnFiles;

/// Whether a child process may use the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No socket can be made.
    Off,
    /// Internet sockets only. Local services can't be reached; they would be a way around the sandbox.
    On,
}

/// What to do if the kernel can't enforce everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMissing {
    /// Run, and say what is missing in the report.
    Report,
    /// Don't run.
    Refuse,
}

/// Limits of one process or of the user, by the kernel's rlimits (getrlimit(2)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Processor seconds of one process; `None`: the deadline on every core, rounded up.
    pub cpu_seconds: Option<u64>,
    /// Writable private memory of one process, in bytes. Default 4 GiB.
    pub memory_bytes: u64,
    /// Address space of one process, in bytes. Default 64 GiB: runtimes reserve far more than they use.
    pub address_space_bytes: u64,
    /// The largest file that it can write, in bytes. Default 1 GiB.
    pub file_bytes: u64,
    /// Open files of one process. Default 1024.
    pub open_files: u64,
    /// Processes and threads: of one call if it has a control group; otherwise in addition to the user's at the start.
    /// The kernel doesn't limit root by the latter. Default 512.
    pub processes: u64,
    /// Memory of all processes of one call, in bytes, if it has a control group. Default 8 GiB.
    pub all_memory_bytes: u64,
    /// What one call may write to disk in all, in bytes. For a program that keeps running: within a minute. Default 8
    /// GiB.
    pub disk_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            cpu_seconds: None,
            memory_bytes: 4 * GIB,
            address_space_bytes: 64 * GIB,
            file_bytes: GIB,
            open_files: 1024,
            processes: 512,
            all_memory_bytes: 8 * GIB,
            disk_bytes: 8 * GIB,
        }
    }
}

/// The bounds of child processes. Each run names its writable folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub network: Network,
    pub on_missing: OnMissing,
    /// Files and folders that may be read and executed. Missing ones are left out.
    pub readable: Vec<PathBuf>,
    /// Devices that may be read and written.
    pub devices: Vec<PathBuf>,
    pub limits: Limits,
    /// The search path of programs.
    pub path: String,
    /// Further environment variables, such as `CARGO_HOME`. Never put a secret here: the agent reads them.
    pub environment: BTreeMap<String, String>,
    /// With it each child gets its own namespaces. `None`: no bubblewrap, so no namespaces.
    pub namespaces: Option<Bubblewrap>,
    /// The agent's own files. Children are kept from them as far as the kernel can do that.
    #[serde(default)]
    pub own: OwnFiles,
    /// Children run even if they can reach those files. Default false.
    #[serde(default)]
    pub expose_own_data: bool,
    /// Where this daemon listens. No child connects to it.
    #[serde(default)]
    pub own_ports: OwnPorts,
}

/// Programs, libraries and the system files that they need. Of /etc only files that programs look up and that hold no
/// secrets: for root, the whole of /etc would include password hashes and private keys.
const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/profile",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// A child of root can't change owners, so tar mustn't try. git's background maintenance needs its own session, which
/// is refused, so it runs in the foreground. A repository's own settings run nothing when git only reads: no file
/// monitor, no pager, no helper of a bare repository among the files.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("TAR_OPTIONS", "--no-same-owner"),
    ("GIT_CONFIG_COUNT", "7"),
    ("GIT_CONFIG_KEY_0", "gc.autoDetach"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "maintenance.autoDetach"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("GIT_CONFIG_KEY_2", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_2", "false"),
    ("GIT_CONFIG_KEY_3", "core.pager"),
    ("GIT_CONFIG_VALUE_3", "cat"),
    ("GIT_CONFIG_KEY_4", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_4", "explicit"),
    ("GIT_CONFIG_KEY_5", "protocol.ext.allow"),
    ("GIT_CONFIG_VALUE_5", "never"),
    ("GIT_CONFIG_KEY_6", "log.showSignature"),
    ("GIT_CONFIG_VALUE_6", "false"),
];

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self {
            network: Network::Off,
            on_missing: OnMissing::Report,
            readable: READABLE.iter().map(PathBuf::from).collect(),
            devices: DEVICES.iter().map(PathBuf::from).collect(),
            limits: Limits::default(),
            path: "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin".into(),
            environment: ENVIRONMENT.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            namespaces: None,
            own: OwnFiles::default(),
            expose_own_data: false,
            own_ports: OwnPorts::default(),
        }
    }
}

impl SandboxPolicy {
    /// The first executable file of this name on the search path.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let can_run = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        self.path.split(':').map(|folder| Path::new(folder).join(name)).find(can_run)
    }

    /// The whole environment of a child. Nothing is inherited, so no secret of this process can be.
    pub(super) fn environment(&self, scratch: &Path) -> BTreeMap<String, String> {
        let mut all = self.environment.clone();
        let own = [
            ("PATH", self.path.clone()),
            ("TMPDIR", scratch.display().to_string()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            // An allowed call is compared by its files, so a run must not leave new ones that the next run would load.
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ];
        all.extend(own.map(|(name, value)| (name.to_owned(), value)));
        // Programs run what they find in their home. So it is a folder that is empty at each start and that no tool
        // writes to.
        all.entry("HOME".into()).or_insert_with(|| scratch.display().to_string());
        all
    }
}
