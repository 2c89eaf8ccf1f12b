//! Variables that make programs run or load something.

use super::super::effects::By;
use super::super::paths::{self, UNKNOWN, Zone};
use super::super::shell::{Stream, Walker};
use super::super::verdict::rules;
use super::vcs::git_setting;

/// Their value is, or names, code that another program loads.
const LOADS: &str = "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONSTARTUP PERL5OPT RUBYOPT BASH_ENV ENV PROMPT_COMMAND NODE_OPTIONS \
    JAVA_TOOL_OPTIONS PERL5LIB GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_TEMPLATE_DIR";

/// Their value is where a program searches for its modules, libraries or settings: as good as running what is there.
const SEARCHES: &str = "_JAVA_OPTIONS JDK_JAVA_OPTIONS PERL5DB PERLLIB PYTHONPATH PYTHONHOME PYTHONBREAKPOINT PYTHONINSPECT PYTHONUSERBASE RUBYLIB NODE_PATH \
    LUA_PATH LUA_CPATH LUA_INIT TCLLIBPATH R_PROFILE R_PROFILE_USER R_ENVIRON JULIA_LOAD_PATH GEM_PATH GEM_HOME BUNDLE_GEMFILE PHPRC \
    PHP_INI_SCAN_DIR AWKPATH AWKLIBPATH VIMINIT EXINIT VIM VIMRUNTIME MYVIMRC GVIMINIT COMPILER_PATH GCC_EXEC_PREFIX CARGO_HOME RUSTUP_HOME RUSTC \
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES CURL_HOME \
    WGETRC SYSTEM_WGETRC NPM_CONFIG_USERCONFIG GCONV_PATH ZDOTDIR SHELLOPTS GIT_DIR GIT_COMMON_DIR GIT_CONFIG MAKEFILES XDG_CONFIG_HOME XDG_CONFIG_DIRS \
    XDG_DATA_HOME XDG_DATA_DIRS KUBECONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE GNUPGHOME MYSQL_HOME PGSYSCONFDIR PGSERVICEFILE LESSKEY LESSKEYIN \
    LESSKEY_SYSTEM LESSKEYIN_SYSTEM GROFF_TMAC_PATH GROFF_FONT_PATH TEXINPUTS TEXMFHOME TEXMFCNF CMAKE_TOOLCHAIN_FILE CMAKE_MODULE_PATH ACLOCAL_PATH \
    M4PATH MAGICK_CONFIGURE_PATH MAGICK_CODER_MODULE_PATH MAGICK_HOME GTK_PATH GIO_EXTRA_MODULES GDK_PIXBUF_MODULE_FILE GST_PLUGIN_PATH QT_PLUGIN_PATH MYPYPATH \
    PIP_CONFIG_FILE RIPGREP_CONFIG_PATH BAT_CONFIG_PATH BAT_CONFIG_DIR LYNX_CFG LYNX_LSS R_LIBS R_LIBS_USER R_LIBS_SITE R_HOME OCTAVE_PATH GUILE_LOAD_PATH \
    GUILE_LOAD_COMPILED_PATH EMACSLOADPATH SBCL_HOME ERL_LIBS CLASSPATH GOENV GOROOT GOTOOLDIR FPATH PARALLEL_HOME HGRCPATH VALGRIND_LIB GNUPLOT_DRIVER_DIR \
    DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH JUPYTER_PATH IPYTHONDIR PYTHONPLATLIBDIR DVIPSHEADERS TERMINFO_DIRS";

/// Endings of names of variables for settings files, or for folders with code to load.
const SEARCH_ENDINGS: &[&str] = &[
    "RC",
    "RC_PATH",
    "_CONFIG",
    "_CONFIG_FILE",
    "_CONFIG_PATH",
    "_CONFIG_HOME",
    "_CONFIG_DIR",
    "_CONFIG_DIRS",
    "_CONF",
    "_CONF_DIR",
    "_INIT_FILE",
    "_PRELOAD",
    "_PLUGIN_PATH",
    "_PLUGINS_DIR",
    "_MODULE_PATH",
    "_LOAD_PATH",
];

/// Variables that matter only if their value holds one of these.
const SAYS: &[(&str, &[&str])] = &[
    ("RUSTFLAGS", &["linker", "-Z", "-Clink-arg=-fuse"]),
    ("GOFLAGS", &["exec", "vettool", "overlay", "modfile"]),
    ("MAKEFLAGS", &["eval", "SHELL", "-f", "--file"]),
    ("GNUMAKEFLAGS", &["eval", "SHELL", "-f", "--file"]),
    ("MANROFFOPT", &["U"]),
];

/// Their value is a command line.
const RUNS: &str = "GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PROXY_COMMAND PAGER EDITOR VISUAL MANPAGER GIT_ASKPASS \
    SSH_ASKPASS SUDO_ASKPASS SYSTEMD_PAGER SYSTEMD_EDITOR PSQL_PAGER PSQL_EDITOR DELTA_PAGER BAT_PAGER GH_PAGER AWS_PAGER KUBE_EDITOR FCEDIT FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND \
    HGEDITOR SVN_EDITOR TEXEDIT LYNX_EDITOR WWW_BROWSER BROWSER RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH SVN_SSH";

/// Their value is the file or the folder that a program writes: a trace, a history, a profile.
const WRITES: &str = "PYTHON_HISTORY PYTHONDUMPREFSFILE LD_DEBUG_OUTPUT LD_PROFILE_OUTPUT MALLOC_TRACE GCOV_PREFIX \
    LLVM_PROFILE_FILE GOCOVERDIR NODE_V8_COVERAGE NODE_REDIRECT_WARNINGS NODE_REPL_HISTORY SSLKEYLOGFILE HISTFILE LESSHISTFILE MYSQL_HISTFILE \
    PSQL_HISTORY SQLITE_HISTORY REDISCLI_HISTFILE KRB5_TRACE TAPE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY \
    GOBIN ERL_CRASH_DUMP";

/// Beginnings of such names.
const WRITE_BEGINNINGS: &[&str] = &["GIT_TRACE"];

/// They name the machine that a client talks to.
const HOSTS: &str = "DOCKER_HOST CONTAINER_HOST DOCKER_CONTEXT CONTAINER_CONNECTION BUILDKIT_HOST";

/// Options that a program adds to its own.
const OPTIONS_OF: &[(&str, &str)] = &[("TAR_OPTIONS", "tar"), ("ZIPOPT", "zip"), ("ZIP", "zip")];

/// Their value is expanded when the shell shows it.
const PROMPTS: &str = "PS0 PS1 PS2 PS4";

/// Whether the agent itself may change one of these paths.
fn leads_inside(walker: &Walker, value: &str) -> bool {
    let root = paths::root_of(walker.setting);
    value.split(':').filter(|path| !matches!(*path, "" | ".git")).any(|path| {
        let place = walker.place(path);
        matches!(place.zone, Zone::Inside | Zone::Temporary | Zone::Unknown) || place.path == root.to_string_lossy()
    })
}

fn says(name: &str, value: &str) -> bool {
    SAYS.iter().any(|(known, words)| *known == name && words.iter().any(|word| value.contains(word)))
}

/// Whether a program finds its settings or code through the variable at a path that the agent may change.
fn searches(walker: &Walker, name: &str, value: &str) -> bool {
    let is_path = value.contains(['/', '.', UNKNOWN]);
    (listed(SEARCHES, name) || (is_path && SEARCH_ENDINGS.iter().any(|end| name.ends_with(end))))
        && leads_inside(walker, value)
}

/// Whether a program writes what the variable names. Numbers are file descriptors and switches.
fn writes(name: &str, value: &str) -> bool {
    let is_known = listed(WRITES, name) || WRITE_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    is_known && value.contains(['/', '.', '~', UNKNOWN])
}

fn listed(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

/// Variables given to a program: `NAME=value command`, `env`, `export`.
pub(in super::super) fn judge_environment(walker: &mut Walker, assigned: &[(String, String)]) {
    for (name, value) in assigned {
        judge_own_environment(walker, name, value);
        if listed(LOADS, name) {
            walker.findings.ask(rules::ENVIRONMENT, format!("{name} makes other programs load code"));
            walker.read(value, By::Shell);
        } else if searches(walker, name, value) || says(name, value) {
            walker.findings.ask(rules::RUN_CODE, format!("{name} makes other programs load code"));
            value.split(':').for_each(|path| {
                walker.read(path, By::Shell);
            });
        } else if writes(name, value) {
            walker.write(value.trim_start_matches("af_unix:"));
        } else if listed(HOSTS, name) && !value.is_empty() && !value.starts_with("unix:///var/run/") {
            walker
                .findings
                .ask(rules::REMOTE_CHANGE, format!("{name} makes a client talk to another machine: {value:.80}"));
        } else if listed(RUNS, name) {
            walker.apart(|walker| walker.script(value, &Stream::unknown()));
        } else if matches!(name.as_str(), "LESSOPEN" | "LESSCLOSE") {
            // `|` and `-` say how the output is used.
            let source = value.trim_start_matches(['|', '-', ' ']);
            walker.apart(|walker| walker.script(source, &Stream::unknown()));
        } else if let Some((_, program)) = OPTIONS_OF.iter().find(|(known, _)| known == name) {
            let mut words = vec![(*program).to_owned()];
            words.extend(value.split_whitespace().map(str::to_owned));
            walker.apart(|walker| walker.words(words, Stream::unknown()));
        } else if let Some(number) =
            name.strip_prefix("GIT_CONFIG_KEY_").or_else(|| name.strip_prefix("GIT_CONFIG_VALUE_"))
        {
            let part = |part: &str| {
                let name = format!("GIT_CONFIG_{part}_{number}");
                let given = assigned.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
                given.unwrap_or_else(|| walker.variable(&name))
            };
            let (key, value) = (part("KEY"), part("VALUE"));
            if key.contains(UNKNOWN) {
                walker.findings.ask(rules::ENVIRONMENT, format!("{name} sets a setting of git that isn't named here"));
            }
            git_setting(walker, &format!("{key}={value}"));
        }
    }
}

/// Variables that the shell itself uses, exported or not.
pub(in super::super) fn judge_own_environment(walker: &mut Walker, name: &str, value: &str) {
    if name == "PATH" {
        search_path(walker, value);
    } else if name == "HOME" {
        home(walker, value);
    } else if listed(PROMPTS, name) {
        walker.once_more(value);
    } else if name == "PROMPT_COMMAND" {
        walker.apart(|walker| walker.script(value, &Stream::default()));
    }
}

/// Programs search their settings below it, and `~` stands for it. It is exported already, so setting it is enough.
fn home(walker: &mut Walker, value: &str) {
    let known = walker.setting.home.to_string_lossy();
    if !matches!(value, "~" | "") && value.trim_end_matches('/') != known.trim_end_matches('/') {
        let shown = value.replace(UNKNOWN, "…");
        walker
            .findings
            .ask(rules::ENVIRONMENT, format!("programs would find their settings below \"{shown}\" by HOME"));
        walker.read(value, By::Shell);
    }
}

/// A folder in which the agent may write decides what `ls` is. So does the current folder, which an empty entry means.
fn search_path(walker: &mut Walker, value: &str) {
    let root = paths::root_of(walker.setting);
    for folder in value.split(':') {
        let place = walker.place(folder);
        let is_own = matches!(place.zone, Zone::Inside | Zone::Temporary | Zone::Unknown | Zone::Sink)
            || place.path == root.to_string_lossy();
        if is_own || !folder.starts_with(['/', '~']) {
            let shown = folder.replace(UNKNOWN, "…");
            walker.findings.ask(rules::ENVIRONMENT, format!("programs would be looked for in \"{shown}\" by PATH"));
        }
    }
}
