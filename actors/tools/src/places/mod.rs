//! Where a path or an address leads, and what kind of place that is. One judgement for the gate, which decides, and for
//! the tools, which must not go where the gate wouldn't let them.

pub mod globs;
pub mod kinds;
pub mod own;
pub mod paths;
pub mod percent;
pub mod urls;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use maxim_bus::mode::Mode;

use crate::OwnFiles;

/// Where a call would happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub mode: Mode,
    /// Absolute. Relative paths start here.
    pub workdir: PathBuf,
    /// Absolute. What `~` stands for.
    pub home: PathBuf,
    /// Files that no tool may change in any mode.
    pub own: Arc<OwnFiles>,
}

/// Why the agent's own HTTP tool may not read this address; `None` if it is on the public web.
pub fn unfit_url(url: &str) -> Option<String> {
    match urls::reach(url) {
        urls::Reach::Public => None,
        urls::Reach::Internal(host) | urls::Reach::Metadata(host) => Some(format!("{host} is not a public host")),
        urls::Reach::Odd(why) => Some(why),
    }
}

/// Why a name may not resolve to this address; `None` if it is public.
pub fn unfit_address(address: std::net::IpAddr) -> Option<String> {
    (urls::address_reach(address) != urls::Reach::Public).then(|| address.to_string())
}

/// Where a path leads as the kernel would find it, even if its end doesn't exist.
pub fn resolved(path: &Path) -> PathBuf {
    paths::resolve(path)
}

/// Whether the file at this path inside the working folder may be a credential by its name. Reading it is asked about.
pub fn may_hold_secret(path: &Path, workdir: &Path) -> bool {
    let (home, own) = (PathBuf::from("/nonexistent"), Arc::default());
    let setting = Setting { mode: Mode::Active, workdir: workdir.to_owned(), home, own };
    let kind = kinds::kind_of(&setting, &path.to_string_lossy(), path.starts_with(workdir));
    matches!(kind, paths::Kind::Secret | paths::Kind::MaybeSecret)
}
