//! Compilers, interpreters and package caches in a person's home folder. Contained programs may read these and nothing
//! else of the home.

use std::path::{Path, PathBuf};

use crate::contained::SandboxPolicy;

/// Readable paths, relative to the home. Not all of .cargo: it holds the registry's token.
const READABLE: &[&str] = &[
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/git",
    ".cargo/registry",
    ".local/bin",
    ".local/lib",
    ".nvm/versions",
    ".pyenv",
    ".rustup",
    ".volta/bin",
    ".volta/tools",
    "go/pkg/mod",
];

/// Folders with programs, before those of the system. A version manager's own folders come before its starters, which
/// would want to write beside themselves.
const PROGRAMS: &[&str] = &[".cargo/bin", ".pyenv/shims", ".pyenv/bin", ".volta/bin", ".local/bin", "go/bin"];

/// Environment that toolchains find their parts by: the variable, and the folder in the home.
const PLACES: &[(&str, &str)] = &[("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")];

/// The network is off, so what would fetch is told at once; and nothing asks back.
const SETTLED: &[(&str, &str)] = &[
    ("CARGO_NET_OFFLINE", "true"),
    ("CARGO_TERM_COLOR", "never"),
    ("CI", "true"),
    ("GOFLAGS", "-mod=mod"),
    ("GOPROXY", "off"),
    ("NO_COLOR", "1"),
    ("npm_config_update_notifier", "false"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// The policy widened by the toolchains below `home`.
pub(super) fn with_toolchains(policy: &SandboxPolicy, home: &Path) -> SandboxPolicy {
    let mut wider = policy.clone();
    wider.readable.extend(READABLE.iter().map(|place| home.join(place)));
    wider.readable.push(PathBuf::from("/usr/local/go"));
    let mut programs: Vec<String> =
        PROGRAMS.iter().map(|place| home.join(place)).filter(|folder| folder.is_dir()).map(shown).collect();
    if Path::new("/usr/local/go/bin").is_dir() {
        programs.push("/usr/local/go/bin".into());
    }
    programs.push(policy.path.clone());
    wider.path = programs.join(":");
    for (variable, place) in PLACES {
        let folder = home.join(place);
        if folder.is_dir() {
            wider.environment.entry((*variable).into()).or_insert_with(|| shown(folder));
        }
    }
    for (variable, value) in SETTLED {
        wider.environment.entry((*variable).into()).or_insert_with(|| (*value).into());
    }
    wider
}

fn shown(path: PathBuf) -> String {
    path.display().to_string()
}
