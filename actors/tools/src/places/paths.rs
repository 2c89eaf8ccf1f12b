//! Where a path leads, and what kind of file is there. `..`, links and `~` are resolved before anything is judged.

use std::path::{Component, Path, PathBuf};

use super::Setting;
use super::globs;
use super::kinds::kind_of;
use super::own::{Own, standing};

/// Stands in expanded words for what only the running shell would know.
pub const UNKNOWN: char = '\0';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Below the working folder.
    Inside,
    /// The working folder itself or a folder above it.
    Above,
    Temporary,
    /// Discards or displays: `/dev/null`, a terminal, a descriptor.
    Sink,
    Outside,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// Holds a credential, wherever it is.
    Secret,
    /// Often holds a credential, and often is a sample. Asked about inside the working folder.
    MaybeSecret,
    /// Runs by itself later: shell start-up files, schedules, units, keys that let somebody in.
    Startup,
    /// Runs when people work on the project: hooks, pipelines, editor tasks.
    ProjectHook,
    /// Belongs to the system: binaries, configuration, kernel interfaces.
    System,
    /// A raw disk or memory.
    Device,
    /// Names of accounts and machines: not secret, but useful to an intruder.
    Accounts,
}

impl Kind {
    /// The kind with the greatest value decides.
    pub fn gravity(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::System => 1,
            Self::Accounts => 2,
            Self::ProjectHook => 3,
            Self::MaybeSecret => 4,
            Self::Startup => 5,
            Self::Secret => 6,
            Self::Device => 7,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Place {
    pub path: String,
    pub zone: Zone,
    pub kind: Kind,
    /// A whole system or home: `/`, `/etc`, `/home/anna`, or everything in it.
    pub vital: bool,
    /// Its relation to the agent's own files.
    pub own: Own,
}

/// `raw` as the shell would use it in folder `cwd` (both may hold [`UNKNOWN`] and globs).
pub fn place(setting: &Setting, cwd: &str, raw: &str) -> Place {
    let spelled = expand_home(setting, raw);
    let joined = if spelled.starts_with('/') || spelled.starts_with(UNKNOWN) {
        spelled
    } else if is_windows(&spelled) {
        return Place {
            kind: windows_kind(&spelled),
            path: spelled,
            zone: Zone::Outside,
            vital: false,
            own: Own::Apart,
        };
    } else {
        format!("{cwd}/{spelled}")
    };
    if joined.starts_with(UNKNOWN) {
        let kind = graver(setting, kind_of(setting, &joined.replace(UNKNOWN, "/?"), false), &joined, false);
        return Place { path: shown(&joined), zone: Zone::Unknown, kind, vital: false, own: Own::Apart };
    }
    let lexical = normalise(Path::new(&joined));
    // A path after a glob or an unknown part can't be looked up; the part before it can.
    let resolved = match joined.find([UNKNOWN, '*', '?', '[']) {
        Some(cut) => {
            let (known, rest) = joined.split_at(joined[..cut].rfind('/').map_or(0, |slash| slash + 1));
            normalise(&resolve(Path::new(known)).join(rest.trim_start_matches('/')))
        }
        None => resolve(Path::new(&joined)),
    };
    let root = root_of(setting);
    let zone = zone_of(&root, &resolved);
    let text = resolved.to_string_lossy().into_owned();
    let inside = zone == Zone::Inside;
    let kind = match kind_of(setting, &text, inside) {
        Kind::Plain => kind_of(setting, &lexical.to_string_lossy(), inside),
        kind => kind,
    };
    let kind = graver(setting, kind, &text, inside);
    let own = standing(setting, [&text, &lexical.to_string_lossy()]);
    Place { vital: is_vital(setting, &text), path: shown(&text), zone, kind, own }
}

/// The kind of a path that may hold wildcards: the more serious of its own kind and of what it may match.
fn graver(setting: &Setting, kind: Kind, path: &str, inside: bool) -> Kind {
    if !globs::is_glob(path) && !path.contains('(') {
        return kind;
    }
    let kinds = globs::alternatives(path).into_iter().flat_map(|path| {
        let spelled = (!globs::is_glob(&path)).then(|| kind_of(setting, &path, inside));
        spelled.into_iter().chain(globs::gravest(setting, &path, inside))
    });
    kinds.chain([kind]).max_by_key(|kind| kind.gravity()).unwrap_or(kind)
}

/// The folder in which reading and writing passes.
pub fn root_of(setting: &Setting) -> PathBuf {
    let root = resolve(&setting.workdir);
    if setting.mode == maxim_bus::mode::Mode::Passive { root.join(".maxim_sandbox") } else { root }
}

fn shown(path: &str) -> String {
    path.replace(UNKNOWN, "…")
}

fn expand_home(setting: &Setting, raw: &str) -> String {
    let Some(rest) = raw.strip_prefix('~') else { return raw.to_owned() };
    let (user, tail) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match user {
        "" => format!("{}{tail}", setting.home.display()),
        "root" => format!("/root{tail}"),
        "+" => format!(".{tail}"),
        _ if user.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) => format!("/home/{user}{tail}"),
        _ => raw.to_owned(),
    }
}

/// Resolves `.` and `..` by the text only.
pub fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// Resolves `.` and `..` as the kernel would, following links. A part that doesn't exist is resolved by the text.
pub fn resolve(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    let mut todo: Vec<PathBuf> = path.components().rev().map(|c| PathBuf::from(c.as_os_str())).collect();
    let mut links = 0;
    let mut exists = true;
    while let Some(next) = todo.pop() {
        match next.components().next() {
            Some(Component::ParentDir) => {
                out.pop();
                exists = true;
            }
            Some(Component::RootDir) => out = PathBuf::from("/"),
            Some(Component::Normal(name)) => {
                out.push(name);
                if !exists {
                    continue;
                }
                match std::fs::symlink_metadata(&out) {
                    Ok(meta) if meta.file_type().is_symlink() && links < 40 => {
                        links += 1;
                        if let Ok(target) = std::fs::read_link(&out) {
                            out.pop();
                            todo.extend(target.components().rev().map(|c| PathBuf::from(c.as_os_str())));
                        }
                    }
                    Ok(_) => {}
                    Err(_) => exists = false,
                }
            }
            _ => {}
        }
    }
    out
}

fn zone_of(root: &Path, path: &Path) -> Zone {
    if path != root && path.starts_with(root) {
        return Zone::Inside;
    }
    if root.starts_with(path) {
        return Zone::Above;
    }
    let text = path.to_string_lossy();
    if [
        "/dev/null",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/stdin",
        "/dev/tty",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
    ]
    .contains(&text.as_ref())
        || text.starts_with("/dev/fd/")
        || (text.starts_with("/proc/") && text.contains("/fd/"))
    {
        return Zone::Sink;
    }
    let temporary = ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"];
    if temporary.iter().any(|folder| path != Path::new(folder) && path.starts_with(folder)) {
        return Zone::Temporary;
    }
    Zone::Outside
}

const VITAL: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/log",
    "/Users",
    "/System",
    "/Library",
    "/Applications",
];

fn is_vital(setting: &Setting, path: &str) -> bool {
    let folder = path.trim_end_matches(['*', '.']).trim_end_matches('/');
    let folder = if folder.is_empty() { "/" } else { folder };
    let home = setting.home.to_string_lossy();
    let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
    VITAL.contains(&folder) || folder == home.trim_end_matches('/') || matches!(parent, "/home" | "/Users")
}

fn is_windows(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'\\' | b'/')
}

fn windows_kind(path: &str) -> Kind {
    let path = path.to_lowercase().replace('\\', "/");
    if path.contains("/config/sam") || path.contains("/ntds") || path.contains("/.ssh/") {
        Kind::Secret
    } else {
        Kind::System
    }
}
