//! Files by Landlock: a path that isn't granted can't be reached.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::grants::Granted;
use super::policy::Network;
use super::report::Layer;
use super::walls::Walls;

/// The interface version with all that is used here: files (1–3), TCP (4), devices (5), signals (6).
const WANTED: ABI = ABI::V6;

/// Restricts this thread and all that it starts from now on. Returns the layers for files and signals.
pub(super) fn apply(walls: &Walls) -> (Layer, Layer) {
    match restrict(walls) {
        Ok(status) => layers(&status),
        Err(error) => {
            let missing = || Layer::Missing { why: format!("Landlock refused its rules: {error}") };
            (missing(), missing())
        }
    }
}

fn restrict(walls: &Walls) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(WANTED))?.scope(Scope::from_all(WANTED))?;
    if walls.network == Network::Off {
        // A second wall behind the filter: no rule follows, so TCP is refused.
        ruleset = ruleset.handle_access(AccessNet::from_all(WANTED))?;
    } else if !walls.closed_ports.is_empty() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    let devices = AccessFs::ReadFile | AccessFs::WriteFile;
    let Granted { readable, writable, beside_readable, beside_writable, listed } = &walls.granted;
    // One rule for each open port: a port can't be excluded from all.
    let open = (0..=u16::MAX).filter(|port| !walls.closed_ports.is_empty() && !walls.closed_ports.contains(port));
    ruleset
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(WANTED)))?
        .add_rules(path_beneath_rules(&walls.devices, devices))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(WANTED)))?
        .add_rules(themselves(beside_readable, AccessFs::from_read(WANTED)))?
        .add_rules(themselves(beside_writable, AccessFs::from_all(WANTED)))?
        .add_rules(themselves(listed, AccessFs::ReadDir.into()))?
        .add_rules(open.map(|port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))))?
        .restrict_self()
}

/// Rules for these paths themselves. If a link has replaced a path meanwhile, it isn't followed.
fn themselves(
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<File>, RulesetError>> {
    paths.iter().filter_map(move |path| {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path).ok()?;
        let kind = opened.metadata().ok()?.file_type();
        let access = if kind.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
        (!kind.is_symlink()).then(|| Ok(PathBeneath::new(opened, access)))
    })
}

fn layers(status: &RestrictionStatus) -> (Layer, Layer) {
    let abi = match status.landlock {
        LandlockStatus::NotEnabled => {
            return both("Landlock is in the kernel but switched off: add it to lsm= on the kernel's command line");
        }
        LandlockStatus::NotImplemented => {
            return both("this kernel has no Landlock: use Linux 5.13 or newer, built with it");
        }
        LandlockStatus::Available { effective_abi, .. } => effective_abi as i32,
    };
    let by = format!("Landlock version {abi}");
    let missing: Vec<&str> = [(2, "moving files between folders"), (3, "truncating files"), (5, "device commands")]
        .into_iter()
        .filter(|(since, _)| abi < *since)
        .map(|(_, what)| what)
        .collect();
    let files = match (&status.ruleset, missing.is_empty()) {
        (RulesetStatus::NotEnforced, _) => Layer::Missing { why: format!("{by} enforced nothing") },
        (_, true) => Layer::Enforced { by: by.clone() },
        (_, false) => {
            Layer::Partial { by: by.clone(), missing: format!("this kernel doesn't check {}", missing.join(", ")) }
        }
    };
    let signals = if abi >= WANTED as i32 {
        Layer::Enforced { by }
    } else {
        Layer::Missing { why: format!("{by} doesn't know signals (6 does, Linux 6.12)") }
    };
    (files, signals)
}

fn both(why: &str) -> (Layer, Layer) {
    (Layer::Missing { why: why.into() }, Layer::Missing { why: why.into() })
}

/// The interface's version on this kernel; the error says why there is none. Restricts the calling thread.
pub(super) fn version() -> Result<i32, String> {
    let root = [Path::new("/")];
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(root, AccessFs::from_all(ABI::V1))))
        .and_then(|ruleset| ruleset.restrict_self())
        .map_err(|error| error.to_string())?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => Ok(kernel_abi.unwrap_or(effective_abi as i32)),
        LandlockStatus::NotEnabled => Err("switched off in the kernel".into()),
        LandlockStatus::NotImplemented => Err("not in the kernel".into()),
    }
}
