//! The kind of file at a path, by its name and folder.

use super::Setting;
use super::globs::Stands;
pub use super::paths::Kind;
use super::paths::UNKNOWN;

fn listed(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// Folders in which every file is a credential.
const SECRET_FOLDERS: &str = ".ssh .gnupg .aws .azure .kube .password-store .bitcoin .ethereum .config/gcloud .config/gh .config/op \
    .config/rclone .config/doctl .config/hub .local/share/keyrings Library/Keychains .mozilla .thunderbird \
    .config/google-chrome .config/chromium .config/BraveSoftware .electrum .config/heroku .config/sops .oci \
    .vault.d .minikube .terraform.d .config/solana .local/share/kwalletd .config/vivaldi .config/opera .config/microsoft-edge \
    .config/google-chrome-beta snap/firefox snap/chromium .config/Signal .config/Bitwarden .config/keepassxc .config/age .pki .kaggle \
    .config/hcloud .config/linode-cli .config/wandb .config/github-copilot .fly .railway .aws-sso .azure-devops";

const SECRET_FILES: &str = ".netrc _netrc .pgpass .my.cnf .git-credentials .pypirc .vault-token .s3cfg .boto .htpasswd .dockercfg .Xauthority .ICEauthority krb5.keytab chap-secrets pap-secrets \
    .rclone.conf wallet.dat id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk secring.gpg shadow \
    shadow- gshadow gshadow- master.passwd sudoers .credentials.json .databrickscfg";

const MAYBE_SECRET_FILES: &str = "credentials.json credentials.yml credentials.yaml credentials.toml credentials secrets.json secrets.yml \
    secrets.yaml secrets.toml secret.yaml secret.yml secrets.env service-account.json service_account.json \
    master.key token.json auth.json kubeconfig local.settings.json terraform.tfstate";

/// A name that alone shows that the file holds a credential.
pub fn is_listed(name: &str) -> bool {
    name.contains(['.', '_'])
        && (listed(SECRET_FILES, name) || MAYBE_SECRET_FILES.split_ascii_whitespace().any(|known| known == name))
}

const STARTUP_FILES: &str = ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin \
    .zlogout .kshrc .cshrc .tcshrc .login .logout .xinitrc .xprofile .xsession .xsessionrc .pam_environment \
    .inputrc .gitconfig .vimrc .tmux.conf .Rprofile .pythonrc .wgetrc .curlrc .npmrc .selected_editor .rhosts \
    .forward";

const STARTUP_FOLDERS: &str = ".config/autostart .config/systemd .config/fish Library/LaunchAgents LaunchDaemons .local/bin \
    .config/environment.d .config/git";

/// Kinds that [`kind_of`] knows by name, for paths with wildcards that may match them. `*` is any name.
pub const NAMED: &[(&str, Stands, Kind)] = &[
    (SECRET_FOLDERS, Stands::Anywhere, Kind::Secret),
    (SECRET_FILES, Stands::AtEnd, Kind::Secret),
    (
        ".bash_history .zsh_history .python_history .psql_history .mysql_history .sqlite_history .node_repl_history \
        .docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials",
        Stands::AtEnd,
        Kind::Secret,
    ),
    (
        "proc/*/environ proc/*/mem proc/*/maps proc/*/cmdline proc/kcore etc/ssh/ssh_host_rsa_key \
        etc/ssh/ssh_host_ecdsa_key etc/ssh/ssh_host_ed25519_key",
        Stands::Whole,
        Kind::Secret,
    ),
    (
        "etc/sudoers.d etc/ssl/private etc/wireguard etc/letsencrypt/live etc/letsencrypt/archive etc/NetworkManager/system-connections run/secrets var/run/secrets etc/kubernetes var/spool/cron",
        Stands::AtRoot,
        Kind::Secret,
    ),
    (MAYBE_SECRET_FILES, Stands::AtEnd, Kind::MaybeSecret),
    (".env .envrc .env.local .env.production", Stands::AtEnd, Kind::MaybeSecret),
    (".git/hooks", Stands::Anywhere, Kind::ProjectHook),
    (".git/config", Stands::AtEnd, Kind::ProjectHook),
    ("etc/passwd etc/passwd- etc/group etc/crontab", Stands::Whole, Kind::Accounts),
];

/// `inside`: below the working folder, where a file of that name is the project's own.
pub fn kind_of(setting: &Setting, path: &str, inside: bool) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(['*', UNKNOWN]);
    let holds = |folder: &str| {
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
    if SECRET_FOLDERS.split(' ').any(holds)
        || listed(SECRET_FILES, name)
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
            "/etc/wireguard",
            "/etc/letsencrypt/live",
            "/etc/letsencrypt/archive",
            "/etc/NetworkManager/system-connections",
            "/var/lib/sss/secrets",
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
    if env_file || listed(MAYBE_SECRET_FILES, name) || name.ends_with(".key") || name.ends_with("_rsa") {
        return if inside { Kind::MaybeSecret } else { Kind::Secret };
    }
    if inside {
        return project_kind(path, name);
    }
    if listed(STARTUP_FILES, name) || STARTUP_FOLDERS.split(' ').any(holds) || is_schedule(path) {
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

/// File extensions and folder names that a build makes again.
pub fn is_regenerable(path: &str) -> bool {
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
