//! Version control. What can be brought back from history is free; what no commit holds, and what others see, is asked.

use super::super::paths::UNKNOWN;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::Custom;
use super::options::parse;
use super::{Parsed, Program, git_files, program};

pub(super) const PROGRAMS: &[Program] = &[
    program(
        "git",
        "^C=V c=V exec-path git-dir=V work-tree=V namespace=V super-prefix=V config-env=V p,paginate P,no-pager bare no-replace-objects literal-pathspecs v,version h,help",
        Custom(git),
    ),
    program("hg svn bzr fossil jj sl darcs", "R=V cwd=V config=V config-file=L", Custom(other)),
    program("tig lazygit gitk git-gui delta gitui git-cola", "", super::Role::Inert),
    program(
        "git-lfs git-filter-repo bfg git-crypt",
        "",
        super::Role::Asks(rules::VCS, "rewrites history or stored files"),
    ),
];

/// Subcommands that only look, or whose effect a commit or the reflog can bring back.
const FREE: &str = "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree ls-remote cat-file name-rev merge-base cherry range-diff \
    whatchanged grep help version var count-objects fsck verify-commit verify-tag check-ignore check-attr check-mailmap check-ref-format for-each-ref show-ref show-branch \
    diff-tree diff-index diff-files fetch pull merge rebase cherry-pick revert commit add mv init clone am apply format-patch tag bundle request-pull switch \
    sparse-checkout notes rerere mergetool commit-tree hash-object mktree write-tree interpret-trailers stripspace column get-tar-commit-id bugreport \
    diagnose shortlog merge-file merge-tree patch-id repack pack-objects index-pack unpack-objects multi-pack-index citool gui gc fast-export";

fn git(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for setting in parsed.values(&["c"]) {
        git_setting(walker, setting);
    }
    for (name, variable) in parsed.values(&["config-env"]).filter_map(|setting| setting.split_once('=')) {
        let value = walker.variable(variable);
        git_setting(walker, &format!("{name}={value}"));
    }
    if parsed.value(&["exec-path"]).is_some() {
        walker.findings.ask(rules::RUN_CODE, "git would run its parts from that folder");
    }
    let Some((subcommand, rest)) = parsed.operands.split_first() else { return Stream::unknown() };
    walker.apart(|walker| {
        for folder in parsed.values(&["C"]) {
            super::files::change_folder(walker, folder);
        }
        git_files::judge(walker, subcommand, rest);
        subcommanded(walker, call, subcommand, rest);
    });
    Stream::unknown()
}

/// `name=value`: some settings are programs that git will run.
pub(super) fn git_setting(walker: &mut Walker, setting: &str) {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let name = name.to_lowercase();
    if name.contains(UNKNOWN) {
        walker.findings.ask(rules::RUN_CODE, "git would be given a setting that isn't named here");
    }
    let is_program = [
        "pager",
        "editor",
        "sshcommand",
        "hookspath",
        "fsmonitor",
        "askpass",
        "credential.helper",
        "textconv",
        ".command",
        ".cmd",
        ".driver",
        ".process",
        "proxy",
        "gitproxy",
        "uploadpack",
        "receivepack",
        "external",
        ".program",
        "difffilter",
        "refscommand",
        "templatedir",
        "tunnel",
        "hook",
        "tocmd",
        "cccmd",
        "headercmd",
        ".vcs",
        "smtpserver",
        "attributesfile",
    ]
    .iter()
    .any(|part| name.contains(part))
        || name.starts_with("filter.")
        || name.starts_with("alias.")
        || name.starts_with("protocol.ext")
        || name.starts_with("include")
        || name.starts_with("url.ext::")
        || value.starts_with('!')
        || value.contains("ext::");
    let harmless = matches!(
        value,
        "" | "cat" | "less" | "true" | "false" | "never" | "vim" | "nano" | "delta" | "store" | "cache"
    ) || (name.starts_with("alias.") && !value.starts_with('!'));
    if is_program && !harmless {
        walker.findings.ask(rules::RUN_CODE, format!("git would run {value} for {name}"));
        let source = value.trim_start_matches('!').to_owned();
        walker.apart(|walker| walker.script(&source, &Stream::unknown()));
    }
}

fn flag(args: &[String], letters: &str, words: &[&str]) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| match arg.strip_prefix("--") {
        Some(long) => {
            let long = long.split('=').next().unwrap_or_default();
            words.iter().any(|word| long == *word || (long.len() > 3 && word.starts_with(long)))
        }
        None => arg.strip_prefix('-').is_some_and(|short| short.chars().any(|c| letters.contains(c))),
    })
}

/// An option of a letter or a long name, cut short or not, with the value that stands in the same word.
fn given(args: &[String], letter: char, long: &str) -> Option<Option<String>> {
    args.iter().take_while(|arg| *arg != "--").find_map(|arg| match arg.strip_prefix("--") {
        Some(rest) => {
            let (name, value) =
                rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value.to_owned())));
            (!name.is_empty() && long.starts_with(name)).then_some(value)
        }
        None => {
            let (before, value) = arg.strip_prefix('-')?.split_once(letter)?;
            let is_cluster = before.chars().all(|c| c.is_ascii_alphabetic());
            is_cluster.then(|| Some(value.to_owned()).filter(|value| !value.is_empty()))
        }
    })
}

fn operands(args: &[String]) -> Vec<&str> {
    args.iter().filter(|arg| !arg.starts_with('-')).map(String::as_str).collect()
}

fn subcommanded(walker: &mut Walker, call: &Call, subcommand: &str, args: &[String]) {
    let has = |letters: &str, words: &[&str]| flag(args, letters, words);
    let lose = |walker: &mut Walker, what: &str| walker.findings.ask(rules::VCS, format!("git {subcommand} {what}"));
    match subcommand {
        "reset" if has("", &["hard", "merge", "keep"]) => lose(walker, "throws away changes that no commit holds"),
        "reset" => {}
        "clean" => {
            if !has("n", &["dry-run"]) {
                lose(walker, "deletes files that no commit holds");
            }
        }
        "checkout" => checkout(walker, args),
        "restore" => {
            if !has("S", &["staged"]) || has("W", &["worktree"]) {
                lose(walker, "overwrites changes that no commit holds");
            }
        }
        "switch" if has("f", &["force", "discard-changes"]) || has("C", &["force-create"]) => {
            lose(walker, "throws away changes")
        }
        "stash" if matches!(args.first().map(String::as_str), Some("drop" | "clear")) => {
            lose(walker, "deletes stashed work")
        }
        "stash" => {}
        "branch" => {
            let forced = has("DMC", &[])
                || (has("d", &["delete"]) && has("f", &["force"]))
                || (has("f", &["force"]) && !operands(args).is_empty());
            if forced {
                lose(walker, "forgets commits that nothing else names");
            }
        }
        "tag" if has("f", &["force"]) => lose(walker, "moves a tag"),
        "push" => push(walker, args),
        "send-email" | "svn" | "p4" => {
            walker.findings.ask(rules::REMOTE_CHANGE, format!("git {subcommand} sends to others"))
        }
        "worktree" if args.first().is_some_and(|arg| arg == "remove") && has("f", &["force"]) => {
            lose(walker, "deletes a working tree")
        }
        "worktree" => {}
        "rm" => {
            for path in operands(args).into_iter().filter(|_| has("f", &["force"])) {
                walker.delete(path, has("r", &[]));
            }
        }
        "filter-branch" | "filter-repo" | "replace" | "fast-import" | "prune" | "update-ref" | "read-tree"
        | "checkout-index" | "symbolic-ref" => lose(walker, "rewrites history or working files"),
        "reflog" if matches!(args.first().map(String::as_str), Some("expire" | "delete")) => {
            lose(walker, "forgets what could be brought back")
        }
        "gc" if args
            .iter()
            .any(|arg| arg.starts_with("--prune") && arg != "--prune=never" || arg == "--aggressive") =>
        {
            lose(walker, "deletes what could be brought back")
        }
        "remote"
            if matches!(
                args.first().map(String::as_str),
                Some("remove" | "rm" | "set-url" | "add" | "rename" | "prune")
            ) =>
        {
            for url in &args[1..] {
                if url.starts_with("ext::") {
                    walker.findings.block(rules::RUN_CODE, "ext:: makes git run a program");
                }
            }
        }
        "remote" | "reflog" | "bisect" if args.first().is_none_or(|arg| arg != "run") => {}
        "bisect" => {
            walker.words(args[1..].to_vec(), Stream::unknown());
        }
        "submodule" => match args.iter().position(|arg| arg == "foreach") {
            Some(at) => {
                let source =
                    args[at + 1..].iter().filter(|arg| !arg.starts_with("--")).cloned().collect::<Vec<_>>().join(" ");
                walker.apart(|walker| walker.script(&source, &Stream::unknown()));
            }
            None if args.first().is_some_and(|arg| arg == "deinit") && has("f", &["force"]) => {
                lose(walker, "deletes a module's working tree")
            }
            None => {}
        },
        "config" => config(walker, args),
        "clone" => {
            let names = operands(args);
            if names.iter().any(|url| url.starts_with("ext::")) {
                walker.findings.block(rules::RUN_CODE, "ext:: makes git run a program");
            }
        }
        "archive" => {
            let parsed = parse("o,output=W remote=V exec=X format=V prefix=V", args);
            super::apply_options(walker, "git", &parsed);
        }
        "difftool" | "mergetool" if given(args, 'x', "extcmd").is_some() => {
            walker.findings.ask(rules::RUN_CODE, "git would run a program on each file");
            let value = given(args, 'x', "extcmd").flatten();
            let next =
                || args.iter().skip_while(|arg| given(std::slice::from_ref(*arg), 'x', "extcmd").is_none()).nth(1);
            let command = value.or_else(|| next().cloned()).unwrap_or_default();
            walker.apart(|walker| walker.script(&command, &Stream::unknown()));
        }
        // Its command stands in the same word, or is the pager's.
        "grep" if given(args, 'O', "open-files-in-pager").is_some() => {
            walker.findings.ask(rules::RUN_CODE, "git would run a program on the files");
            if let Some(Some(command)) = given(args, 'O', "open-files-in-pager") {
                walker.apart(|walker| walker.script(&command, &Stream::unknown()));
            }
        }
        "daemon" | "instaweb" | "http-backend" | "shell" => {
            walker.findings.ask(rules::SERVE, format!("git {subcommand} serves the repository"))
        }
        "credential" | "credential-store" | "credential-cache" => {
            walker.findings.block(rules::SECRET_READ, "git would print stored credentials")
        }
        "lfs" | "maintenance" | "difftool" | "subtree" | "flow" | "annex" => {
            if args.iter().any(|arg| matches!(arg.as_str(), "prune" | "push" | "start" | "register" | "drop")) {
                lose(walker, "changes stored files");
            }
        }
        _ if FREE.split_ascii_whitespace().any(|free| free == subcommand) => {
            let parsed = parse("", args);
            match (subcommand, parsed.operands.split_last()) {
                ("apply" | "am", _) if !has("", &["check", "stat"]) => walker.fills("."),
                ("mv", Some((target, sources))) => {
                    walker.replaces(target);
                    for source in sources {
                        walker.renames(source);
                        walker.lands(source, target);
                    }
                }
                _ => {}
            }
            if call.args.iter().any(|arg| {
                let name = arg.split('=').next().unwrap_or_default();
                let is_cut = |long: &str| name.len() > 3 && long.starts_with(name);
                is_cut("--upload-pack") || is_cut("--receive-pack") || is_cut("--exec") || arg.starts_with("ext::")
            }) {
                walker.findings.ask(rules::RUN_CODE, "git would run a program for the connection");
            }
        }
        _ => walker
            .findings
            .ask(rules::UNKNOWN_PROGRAM, format!("git {subcommand} is not a command whose effects are known")),
    }
}

/// Endings by which a name that is not on the disk is taken for a file and not for a branch.
const FILE_ENDINGS: &str = "txt md rst rs py js mjs ts tsx jsx json yml yaml toml c h cc cpp hpp cs java kt go rb php pl lua css scss html xml svg sh bash sql csv tsv lock cfg ini conf log swift vue svelte scala \
    ex exs erl hs ml clj r jl dart ipynb tex proto tf gradle properties png jpg pdf";

/// Branches are switched to freely; paths are overwritten, with whatever was not committed in them.
fn checkout(walker: &mut Walker, args: &[String]) {
    let table = "b=V B=V orphan=V conflict=V U,unified=V inter-hunk-context=V pathspec-from-file=V f,force q,quiet d,detach l m,merge t p,patch 2 3 ours theirs guess no-guess overlay no-overlay track recurse-submodules no-recurse-submodules progress no-progress ignore-skip-worktree-bits";
    let before = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let parsed = parse(table, &args[..before]);
    let paths_after = args.get(before + 1..).unwrap_or_default();
    let creates = parsed.has(&["b", "B", "orphan"]);
    let names: Vec<&String> = parsed.operands.iter().collect();
    let is_path = |name: &str| {
        let looks = name == "."
            || name == ".."
            || name.ends_with('/')
            || name.starts_with("./")
            || name.contains('*')
            || name.starts_with(':');
        let ending = name
            .rsplit_once('.')
            .is_some_and(|(stem, end)| !stem.is_empty() && FILE_ENDINGS.split(' ').any(|known| known == end));
        looks || ending || std::path::Path::new(&walker.place(name).path).exists()
    };
    let overwrites = parsed.has(&["f"])
        || !paths_after.is_empty()
        || parsed.has(&["pathspec-from-file", "p", "ours", "theirs", "2", "3"])
        || (!creates && names.len() > 1 && !parsed.has(&["t", "track", "d", "recurse-submodules"]))
        || (!creates && names.len() > 2)
        || (!creates && names.len() == 2 && parsed.has(&["recurse-submodules"]) && is_path(names[1]))
        || (!creates && names.len() == 1 && is_path(names[0]));
    if overwrites {
        walker.findings.ask(rules::VCS, "git checkout overwrites changes that no commit holds");
    }
}

fn push(walker: &mut Walker, args: &[String]) {
    if flag(args, "n", &["dry-run"]) {
        return;
    }
    let destroys = flag(args, "fd", &["force", "force-with-lease", "delete", "mirror", "prune"])
        || args.iter().any(|arg| arg.starts_with('+') || (arg.starts_with(':') && arg.len() > 1));
    if destroys {
        walker.findings.ask(rules::VCS, "git push rewrites or deletes what others have");
    }
    walker.findings.ask(rules::REMOTE_CHANGE, "git push publishes commits");
}

fn config(walker: &mut Walker, args: &[String]) {
    let parsed = parse(
        "f,file=R blob=V type=V default=V global system local get get-all get-regexp list l unset unset-all edit e add replace-all show-origin",
        args,
    );
    let looks = parsed.has(&["get", "get-all", "get-regexp", "list", "l"])
        || parsed.operands.len() < 2
        || parsed.operands.first().is_some_and(|op| op == "get" || op == "list");
    let looks = looks && !parsed.has(&["unset", "unset-all", "edit", "e"]);
    git_files::settings_file(walker, &parsed, !looks);
    if looks {
        return;
    }
    if parsed.has(&["global", "system"]) {
        walker.findings.ask(rules::WRITE_OUTSIDE, "git config changes settings outside of the working folder");
    }
    // `git config set name value`, as newer versions have it.
    let operands = match parsed.operands.split_first() {
        Some((verb, rest)) if verb == "set" => rest,
        _ => &parsed.operands[..],
    };
    if let [name, value, ..] = operands {
        git_setting(walker, &format!("{name}={value}"));
    }
}

/// Settings of Mercurial and its like that only change what is shown. Others may name a program or code to load.
const SHOWN_SETTINGS: &str = "ui.username ui.user ui.verbose ui.quiet ui.debug ui.color ui.interactive ui.paginate ui.report_untrusted color.mode \
    diff.git diff.nodates diff.showfunc diff.unified user.name user.email ui.timeout ui.traceback";

fn other_setting(walker: &mut Walker, program: &str, setting: &str) {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    if SHOWN_SETTINGS.split_ascii_whitespace().any(|known| known == name.trim()) {
        return;
    }
    walker.findings.ask(rules::RUN_CODE, format!("{program} would be given the setting {setting:.80}"));
    if let Some(source) = value.trim().strip_prefix('!') {
        walker.apart(|walker| walker.script(source, &Stream::unknown()));
    } else if value.contains(' ') {
        walker.apart(|walker| walker.script(value, &Stream::unknown()));
    }
}

fn other(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let verb = parsed.operands.first().map_or("", String::as_str);
    let force = flag(&call.args, "f", &["force", "clean"]);
    for setting in parsed.values(&["config"]) {
        other_setting(walker, &call.name, setting);
    }
    match verb {
        "push" | "commit" if call.name == "svn" || verb == "push" => {
            walker.findings.ask(rules::REMOTE_CHANGE, format!("{} {verb} publishes changes", call.name))
        }
        "revert" | "strip" | "purge" | "clean" | "rollback" | "cleanup" | "abandon" => {
            walker.findings.ask(rules::VCS, format!("{} {verb} throws away changes", call.name));
        }
        "update" | "co" | "checkout" | "delete" | "remove" | "rm" if force => {
            walker.findings.ask(rules::VCS, format!("{} {verb} throws away changes", call.name))
        }
        _ => {}
    }
    Stream::unknown()
}
