//! Where a path leads, and what kind of file lives there. `..`, links and `~` are resolved before anything is judged.

use std::path::{Component, Path, PathBuf};

use super::Setting;

/// Stands in expanded words for what only the running shell would know.
pub(super) const UNKNOWN: char = '\0';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Below the working folder.
    Inside,
    /// The working folder itself or a folder above it.
    Above,
    Temporary,
    /// Discards or shows: `/dev/null`, a terminal, a descriptor.
    Sink,
    Outside,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// Holds a credential wherever it lies.
    Secret,
    /// Often holds one, and often is a sample: asked inside the working folder.
    MaybeSecret,
    /// Runs by itself later: shell start-up files, schedules, units, keys that let somebody in.
    Startup,
    /// Runs when people work on the project: hooks, pipelines, editor tasks.
    ProjectHook,
    /// The system's own: binaries, configuration, kernel interfaces.
    System,
    /// A raw disk or memory.
    Device,
    /// Names of accounts and machines: not secret, of use to an intruder.
    Accounts,
}

#[derive(Debug, Clone)]
pub(super) struct Place {
    pub path: String,
    pub zone: Zone,
    pub kind: Kind,
    /// A whole system or home: `/`, `/etc`, `/home/anna`, or everything in it.
    pub vital: bool,
}

/// `raw` as the shell would use it in folder `cwd` (both may hold [`UNKNOWN`] and globs).
pub(super) fn place(setting: &Setting, cwd: &str, raw: &str) -> Place {
    let spelled = expand_home(setting, raw);
    let joined = if spelled.starts_with('/') || spelled.starts_with(UNKNOWN) {
        spelled
    } else if is_windows(&spelled) {
        return Place { kind: windows_kind(&spelled), path: spelled, zone: Zone::Outside, vital: false };
    } else {
        format!("{cwd}/{spelled}")
    };
    if joined.starts_with(UNKNOWN) {
        let kind = kind_of(setting, &joined.replace(UNKNOWN, "/?"), false);
        return Place { path: shown(&joined), zone: Zone::Unknown, kind, vital: false };
    }
    let lexical = normalise(Path::new(&joined));
    // What follows a glob or an unknown part can't be looked up; what precedes it can.
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
    Place { vital: is_vital(setting, &text), path: shown(&text), zone, kind }
}

/// The folder in which reading and writing is free.
pub(super) fn root_of(setting: &Setting) -> PathBuf {
    let root = resolve(&setting.workdir);
    if setting.mode == super::Mode::Passive { root.join(".maxim_sandbox") } else { root }
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

/// `.` and `..` taken out by the text alone.
pub(super) fn normalise(path: &Path) -> PathBuf {
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

/// `.` and `..` taken out as the kernel would, following links; what doesn't exist is taken by the text.
fn resolve(path: &Path) -> PathBuf {
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

/// Folders whose every file is a credential.
const SECRET_FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    ".bitcoin",
    ".ethereum",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/rclone",
    ".config/doctl",
    ".config/hub",
    ".local/share/keyrings",
    "Library/Keychains",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".electrum",
    ".config/heroku",
    ".config/sops",
    ".oci",
    ".vault.d",
    ".minikube",
    ".terraform.d",
    ".config/solana",
];

const SECRET_FILES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".pypirc",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".htpasswd",
    ".dockercfg",
    ".rclone.conf",
    "wallet.dat",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "secring.gpg",
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "master.passwd",
    "sudoers",
    ".credentials.json",
    ".databrickscfg",
];

const MAYBE_SECRET_FILES: &[&str] = &[
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "credentials",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "secret.yaml",
    "secret.yml",
    "secrets.env",
    "service-account.json",
    "service_account.json",
    "master.key",
    "token.json",
    "auth.json",
    "kubeconfig",
    "local.settings.json",
    "terraform.tfstate",
];

const STARTUP_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".inputrc",
    ".gitconfig",
    ".vimrc",
    ".tmux.conf",
    ".Rprofile",
    ".pythonrc",
    ".wgetrc",
    ".curlrc",
    ".npmrc",
    ".selected_editor",
    ".rhosts",
    ".forward",
];

const STARTUP_FOLDERS: &[&str] = &[
    ".config/autostart",
    ".config/systemd",
    ".config/fish",
    "Library/LaunchAgents",
    "LaunchDaemons",
    ".local/bin",
    ".config/environment.d",
    ".config/git",
];

/// `inside`: below the working folder, where a file of that name is the project's own.
fn kind_of(setting: &Setting, path: &str, inside: bool) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(['*', UNKNOWN]);
    let holds = |folder: &&str| {
        path.match_indices(folder).any(|(at, _)| {
            path[..at].ends_with('/')
                && path[at + folder.len()..].chars().next().is_none_or(|c| c == '/' || c == UNKNOWN)
        })
    };
    if path.starts_with("/dev/") && is_device(path) {
        return Kind::Device;
    }
    if path.contains("/.git/hooks") || path.ends_with("/.git/config") {
        return Kind::ProjectHook;
    }
    let secret_kernel = path.starts_with("/proc/")
        && ["environ", "mem", "kcore", "maps", "cmdline", "kmem"].iter().any(|f| name == *f && path != "/proc/cmdline");
    if SECRET_FOLDERS.iter().any(holds)
        || SECRET_FILES.contains(&name)
        || secret_kernel
        || (name.ends_with("_history") && name.starts_with('.'))
        || (name == "config.json" && path.contains("/.docker/"))
        || (name.starts_with("credentials") && (path.contains("/.cargo/") || path.contains("/.gem/")))
        || [".kdbx", ".ppk", ".p12", ".pfx", ".jks", ".keystore"]
            .iter()
            .any(|end| name.ends_with(end) && name.len() > end.len())
        || [
            "/etc/sudoers.d",
            "/etc/ssl/private",
            "/run/secrets",
            "/var/run/secrets",
            "/etc/kubernetes",
            "/var/spool/cron",
        ]
        .iter()
        .any(|folder| path.starts_with(folder))
        || (path.starts_with("/etc/ssh/ssh_host_") && !path.ends_with(".pub"))
    {
        return Kind::Secret;
    }
    let env_file = name == ".env"
        || name == ".envrc"
        || (name.starts_with(".env.")
            && ![".example", ".sample", ".template", ".dist", ".test", ".defaults"]
                .iter()
                .any(|end| name.ends_with(end)))
        || (name.ends_with(".env") && name.starts_with("prod"));
    if env_file || MAYBE_SECRET_FILES.contains(&name) || name.ends_with(".key") || name.ends_with("_rsa") {
        return if inside { Kind::MaybeSecret } else { Kind::Secret };
    }
    if inside {
        return project_kind(path, name);
    }
    if STARTUP_FILES.contains(&name) || STARTUP_FOLDERS.iter().any(holds) || is_schedule(path) {
        return Kind::Startup;
    }
    if ["/etc/passwd", "/etc/passwd-", "/etc/group", "/etc/hosts", "/etc/crontab", "/proc/key-users", "/proc/keys"]
        .contains(&path)
    {
        return Kind::Accounts;
    }
    let system = [
        "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/var", "/run", "/dev",
        "/opt", "/System", "/Library",
    ];
    let home = setting.home.to_string_lossy();
    if system.iter().any(|folder| starts_with_folder(path, folder)) && !starts_with_folder(path, &home) {
        return Kind::System;
    }
    Kind::Plain
}

fn project_kind(path: &str, name: &str) -> Kind {
    let hook_folders =
        ["/.github/workflows/", "/.github/actions/", "/.husky/", "/.circleci/", "/.buildkite/", "/.githooks/"];
    let hook_files = [
        ".gitlab-ci.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        ".travis.yml",
        "bitbucket-pipelines.yml",
        ".drone.yml",
        ".pre-commit-config.yaml",
    ];
    if hook_folders.iter().any(|folder| path.contains(folder))
        || hook_files.contains(&name)
        || path.ends_with("/.vscode/tasks.json")
        || path.ends_with("/.devcontainer/devcontainer.json")
    {
        return Kind::ProjectHook;
    }
    Kind::Plain
}

fn is_schedule(path: &str) -> bool {
    [
        "/etc/cron",
        "/etc/systemd",
        "/lib/systemd",
        "/usr/lib/systemd",
        "/etc/init",
        "/etc/rc",
        "/etc/profile",
        "/etc/bash",
        "/etc/zsh",
        "/etc/ld.so",
        "/etc/pam.d",
        "/etc/environment",
        "/etc/update-motd.d",
        "/etc/xdg/autostart",
        "/etc/udev",
        "/etc/at",
    ]
    .iter()
    .any(|start| path.starts_with(start) && path != "/etc/crontab")
}

fn starts_with_folder(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_device(path: &str) -> bool {
    let name = &path["/dev/".len()..];
    [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "loop", "dm-", "md", "mapper/", "mem", "kmem",
        "port", "sg",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// File endings and folder names that a build makes anew.
pub(super) fn is_regenerable(path: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "build",
        "dist",
        "target",
        "out",
        "node_modules",
        "__pycache__",
        ".cache",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "venv",
        "env",
        "coverage",
        ".coverage",
        "htmlcov",
        ".next",
        ".nuxt",
        ".turbo",
        ".parcel-cache",
        "tmp",
        "temp",
        ".tmp",
        "logs",
        "log",
        "cache",
        "bin",
        "obj",
        "debug",
        "release",
        "Debug",
        "Release",
        ".gradle",
        ".eggs",
        "site",
        "public/build",
        "vendor",
        "DerivedData",
        "Pods",
        ".terraform",
        ".maxim_sandbox",
    ];
    const ENDINGS: &[&str] = &[
        ".o",
        ".a",
        ".so",
        ".pyc",
        ".pyo",
        ".class",
        ".log",
        ".tmp",
        ".temp",
        ".bak",
        ".swp",
        ".swo",
        ".orig",
        ".rej",
        ".obj",
        ".gch",
        ".d",
        ".lo",
        ".la",
        ".egg-info",
        ".cache",
        "~",
        ".DS_Store",
        ".out",
        ".gcda",
        ".gcno",
        ".pid",
        ".lock",
        ".old",
        ".aux",
        ".toc",
        ".map",
        ".un~",
    ];
    let name = path.trim_end_matches("/*").trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    FOLDERS.contains(&name)
        || ENDINGS.iter().any(|end| name.ends_with(end))
        || name.starts_with("cmake-build")
        || path.split('/').any(|part| ["node_modules", "__pycache__", "target", ".venv", ".tox"].contains(&part))
}
