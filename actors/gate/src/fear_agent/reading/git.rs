//! What git runs because of its repository's configuration and hooks.

use maxim_bus::signals::program_files::ProgramFile;

use super::super::options::Parsed;
use super::super::shell::{Stream, Walker};
use super::super::verdict::rules;

/// Subcommands that run hooks.
const HOOKED: &str = "commit merge rebase cherry-pick revert am checkout switch push pull clone worktree gc fetch stash apply reset \
    receive-pack rewrite notes tag branch update-ref";
/// Subcommands that talk to another repository.
const REMOTE: &str = "fetch pull push clone ls-remote remote submodule archive bundle request-pull";
/// Subcommands that open an editor.
const EDITED: &str = "commit merge rebase revert cherry-pick tag notes branch config";
/// Subcommands that compare or show contents.
const SHOWN: &str = "diff show log blame annotate whatchanged format-patch grep stash add cat-file range-diff difftool mergetool commit";
/// Hooks by subcommand, where only some can run.
const HOOKS: &[(&str, &str)] = &[
    (
        "commit",
        "pre-commit prepare-commit-msg commit-msg post-commit pre-merge-commit reference-transaction post-rewrite pre-auto-gc",
    ),
    ("merge", "pre-merge-commit prepare-commit-msg commit-msg post-merge reference-transaction post-checkout"),
    ("pull", "post-merge pre-rebase reference-transaction post-checkout pre-merge-commit post-rewrite"),
    ("push", "pre-push reference-transaction"),
    ("fetch", "reference-transaction"),
    ("checkout", "post-checkout reference-transaction"),
    ("switch", "post-checkout reference-transaction"),
    ("rebase", "pre-rebase post-rewrite post-checkout post-commit reference-transaction"),
    ("am", "applypatch-msg pre-applypatch post-applypatch reference-transaction"),
    ("gc", "pre-auto-gc"),
];
/// Hooks that any changing subcommand may run.
const ANY_HOOK: &str = "reference-transaction post-index-change";

fn listed(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

pub(super) fn judge(walker: &mut Walker, parsed: &Parsed) {
    let Some((subcommand, rest)) = parsed.operands.split_first() else { return };
    if matches!(subcommand.as_str(), "help" | "version" | "init" | "var") {
        return;
    }
    let mut folder = walker.cwd.clone();
    for into in parsed.values(&["C"]) {
        folder = if into.starts_with(['/', '~']) {
            walker.absolute(into).unwrap_or_default()
        } else {
            format!("{folder}/{into}")
        };
    }
    if !folder.starts_with('/') || folder.contains(super::super::paths::UNKNOWN) {
        return;
    }
    let named = parsed
        .value(&["git-dir"])
        .map(|named| if named.starts_with('/') { named.to_owned() } else { format!("{folder}/{named}") });
    let subcommand = subcommand.clone();
    let repository = match named {
        Some(repository) => Some(repository),
        None => repository_of(walker, &folder),
    };
    let Some(repository) = repository else { return };
    let names = ["config", "config.worktree", "commondir"];
    let Some(found) = walker.beside(&repository, &names, false) else { return };
    let mut repository = repository;
    for file in &found.files {
        if file.path.ends_with("/commondir") {
            let common = file.text.as_deref().unwrap_or_default().trim().to_owned();
            repository = if common.starts_with('/') { common } else { format!("{repository}/{common}") };
            if let Some(shared) = walker.beside(&repository, &["config"], false) {
                shared.files.iter().for_each(|file| configuration(walker, file, &subcommand, rest));
            }
        } else {
            configuration(walker, file, &subcommand, rest);
        }
    }
    if listed(HOOKED, &subcommand) {
        hooks(walker, &format!("{repository}/hooks"), &subcommand);
    }
}

/// Where the repository's own files are: in `.git`, where a file of that name points, or in the folder itself.
fn repository_of(walker: &mut Walker, folder: &str) -> Option<String> {
    let found = walker.beside(folder, &[".git/config", ".git", "HEAD", "config"], true)?;
    let folder_of = |path: &str, name: &str| path.strip_suffix(name).map(|rest| rest.trim_end_matches('/').to_owned());
    for file in &found.files {
        if let Some(root) = folder_of(&file.path, "/.git/config") {
            return Some(format!("{root}/.git"));
        }
        if let Some(root) = folder_of(&file.path, "/.git") {
            let to = file.text.as_deref()?.trim().strip_prefix("gitdir:")?.trim().to_owned();
            return Some(if to.starts_with('/') { to } else { format!("{root}/{to}") });
        }
        if let Some(root) = folder_of(&file.path, "/HEAD")
            && found.files.iter().any(|other| other.path == format!("{root}/config"))
        {
            return Some(root);
        }
    }
    None
}

fn hooks(walker: &mut Walker, folder: &str, subcommand: &str) {
    let Some(found) = walker.beside(folder, &["*"], false) else { return };
    for file in &found.files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let own = HOOKS.iter().find(|(known, _)| *known == subcommand).map_or("", |(_, hooks)| *hooks);
        if listed(own, name) || listed(ANY_HOOK, name) {
            walker.findings.ask(rules::RUN_FILE, format!("git {subcommand} would run {}", file.path));
        }
    }
}

/// A repository's configuration. Settings that are programs are asked about if this subcommand would run them.
fn configuration(walker: &mut Walker, file: &ProgramFile, subcommand: &str, args: &[String]) {
    let Some(text) = &file.text else {
        let why = file.fault.as_deref().unwrap_or("it is no text");
        return walker
            .findings
            .ask(rules::RUN_FILE, format!("git goes by {}, which can't be judged: {why}", file.path));
    };
    for (key, value) in settings(text) {
        if !matters(&key, &value, subcommand, args) || is_harmless(&value) {
            continue;
        }
        walker.findings.ask(rules::RUN_CODE, format!("git would run {value:?} for {key}, as {} says", file.path));
        let source = value.trim_start_matches('!').to_owned();
        walker.apart(|walker| walker.script(&source, &Stream::unknown()));
    }
}

fn matters(key: &str, value: &str, subcommand: &str, args: &[String]) -> bool {
    let (section, name) = (key.split('.').next().unwrap_or_default(), key.rsplit('.').next().unwrap_or_default());
    let pages = args.iter().any(|arg| arg == "-p" || arg == "--paginate");
    match (section, name) {
        ("alias", name) => name == subcommand,
        ("include" | "includeif", _) => true,
        ("core", "fsmonitor" | "gitproxy" | "worktree") => name != "worktree",
        ("core", "hookspath") => listed(HOOKED, subcommand),
        ("core", "pager") | ("pager", _) => pages || value.contains('/') || value.contains([' ', ';', '|', '$', '`']),
        ("core", "editor") | ("sequence", "editor") => listed(EDITED, subcommand),
        ("core", "sshcommand" | "askpass") | ("credential" | "ssh", _) => {
            listed(REMOTE, subcommand) && name != "username"
        }
        ("remote", "uploadpack" | "receivepack" | "vcs" | "proxy") | ("http" | "protocol", "proxy" | "allow") => {
            listed(REMOTE, subcommand)
        }
        ("remote" | "submodule" | "url", "url" | "pushurl" | "insteadof" | "update") => {
            value.starts_with('!') || (value.contains("ext::") && listed(REMOTE, subcommand))
        }
        ("filter", "clean" | "smudge" | "process") => true,
        ("merge", "driver") | ("mergetool" | "difftool", "cmd" | "path") => {
            !matches!(subcommand, "status" | "log" | "show" | "diff")
        }
        ("diff", "external" | "command" | "textconv") => listed(SHOWN, subcommand),
        ("interactive", "difffilter") => matches!(subcommand, "add" | "checkout" | "reset" | "stash" | "restore"),
        ("gpg", _) => name == "program",
        (
            "uploadpack" | "receive" | "transfer" | "trailer" | "sendemail" | "browser" | "man" | "web" | "guitool"
            | "extensions",
            _,
        ) => {
            matches!(name, "packobjectshook" | "command" | "cmd" | "path" | "smtpserver" | "sendmailcmd")
        }
        _ => value.starts_with('!'),
    }
}

/// Programs that come with the system, with arguments that name nothing else.
fn is_harmless(value: &str) -> bool {
    let known = "cat less more delta vim vi nano emacs code subl store cache osxkeychain manager libsecret true false git-lfs gh git gpg gpg2 ssh";
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_plain = value.chars().all(|c| c.is_alphanumeric() || " -_%=.,".contains(c));
    value.is_empty()
        || (is_plain && words.first().is_some_and(|first| listed(known, first)))
            && !(words.first() == Some(&"git") && words.contains(&"-c"))
}

/// `section.name = value` of a configuration in git's form, names in lower case.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut all = Vec::new();
    let text = text.replace("\\\n", " ");
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((head, after)) = rest.split_once(']') else { continue };
            let (name, sub) = head.split_once([' ', '\t']).unwrap_or((head, ""));
            section = name.to_lowercase();
            let sub = sub.trim().trim_matches('"');
            if !sub.is_empty() {
                section = format!("{section}.{sub}");
            }
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.trim().trim_matches('"').replace("\\\"", "\"");
        all.push((format!("{section}.{}", name.trim().to_lowercase()), value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_something_are_seen_where_they_run() {
        let runs = |text: &str, subcommand: &str| {
            settings(text).iter().any(|(key, value)| matters(key, value, subcommand, &[]) && !is_harmless(value))
        };
        for (text, subcommand) in [
            ("[core]\n\tfsmonitor = ./x", "status"),
            ("[core] fsmonitor = touch ran", "status"),
            ("[Core]\n\tFSMonitor = \"sh -c 'x'\"", "diff"),
            ("[alias]\n\tst = !sh x", "st"),
            ("[diff \"bin\"]\n\ttextconv = ./x", "log"),
            ("[filter \"a\"]\n\tclean = ./x", "status"),
            ("[core]\n\tsshCommand = ./x", "fetch"),
            ("[core]\n\thooksPath = ../h", "commit"),
            ("[include]\n\tpath = ../evil", "log"),
            ("[core]\n\tpager = ./x", "log"),
        ] {
            assert!(runs(text, subcommand), "{text}: {subcommand}");
        }
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
            [remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = Anna\n\temail = a@example.org\n\
            [filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\
            [alias]\n\tco = checkout\n[pull]\n\trebase = true\n";
        for subcommand in ["status", "diff", "log", "commit", "push", "pull", "fetch", "checkout", "add", "merge"] {
            assert!(!runs(usual, subcommand), "{subcommand}");
        }
        assert!(!runs("[core]\n\tsshCommand = ./x", "status"));
    }
}
