//! The files that git's subcommands read and write by an option or an operand, apart from what they do to the repository.

use super::super::effects::By;
use super::super::paths::Kind;
use super::super::reading::Text;
use super::super::shell::Walker;
use super::super::verdict::rules;
use super::Parsed;
use super::options::parse;

/// Long options that mean the same wherever they are understood.
const LONG: &str = "output=W output-directory=W contents=R ignore-revs-file=R file=R template=V upload-pack=X receive-pack=X exec=X pathspec-from-file=R export-marks=W \
    import-marks=R build-fake-ancestor=W separate-git-dir=W config=V no-index";

/// Letters by subcommand; a letter that is given to none of them takes no value.
const LETTERS: &[(&str, &str)] = &[
    ("commit", "F=R t,template=R m=V C=V c=V"),
    ("tag notes merge", "F=R m=V C=V c=V s=V X=V u=V"),
    ("format-patch diagnose bugreport index-pack", "o=W s=V v=V"),
    ("apply", "p=V C=V directory=V exclude=V include=V whitespace=V"),
    ("am", "p=V C=V S=V directory=V exclude=V include=V"),
    ("rebase", "x=X s=V X=V C=V"),
    ("blame annotate", "S=R L=V"),
    ("grep", "f=R e=V A=V B=V C=V m=V"),
    ("clone", "u=X b,branch=V o,origin=V j,jobs=V c=V depth=V reference=V filter=V"),
    ("init", "b,initial-branch=V object-format=V ref-format=V"),
    ("worktree", "b=V B=V reason=V"),
    ("fetch pull", "o=V j=V X=V s=V"),
    ("hash-object", "t=V"),
    ("diff show log", "S=V G=V L=V n=V"),
];

/// What `git subcommand args` names.
pub(super) fn judge(walker: &mut Walker, subcommand: &str, args: &[String]) {
    let letters = LETTERS.iter().find(|(names, _)| names.split(' ').any(|name| name == subcommand));
    // `config` reads and writes by one option, and `archive` has its own.
    let long = if matches!(subcommand, "config" | "archive") { "" } else { LONG };
    let table = format!("{} {long}", letters.map_or("", |(_, letters)| letters));
    let parsed = parse(&table, args);
    super::apply_options(walker, "git", &parsed);
    operands(walker, subcommand, &parsed);
    shown(walker, subcommand, args, &parsed.operands);
    if matches!(subcommand, "clone" | "init") && parsed.value(&["template"]).is_some_and(|folder| !folder.is_empty()) {
        walker.findings.ask(rules::RUN_CODE, "the hooks of the template would run with every use of the repository");
    }
    if subcommand == "clone" {
        for setting in parsed.values(&["c", "config"]) {
            super::vcs::git_setting(walker, setting);
        }
    }
}

fn operands(walker: &mut Walker, subcommand: &str, parsed: &Parsed) {
    let operands = &parsed.operands[..];
    let mut read = |paths: &[String]| {
        for path in paths {
            walker.read(path, By::Shell);
        }
    };
    match subcommand {
        // Outside of a repository, or with a path outside of it, `--no-index` goes without saying.
        "diff" => read(operands),
        "apply" | "am" => patches(walker, parsed),
        "hash-object" | "merge-file" | "interpret-trailers" => read(operands),
        "grep" if parsed.has(&["no-index"]) => {
            let given = parsed.has(&["e", "f", "file"]);
            match operands.get(usize::from(!given)..).filter(|paths| !paths.is_empty()) {
                Some(paths) => read(paths),
                None => read(&[String::from(".")]),
            }
        }
        "bundle" if operands.first().is_some_and(|verb| verb != "create") => {
            read(operands.get(1..2).unwrap_or_default())
        }
        _ => {}
    }
    let written = match subcommand {
        "bundle" if operands.first().is_some_and(|verb| verb == "create") => operands.get(1),
        "worktree" if operands.first().is_some_and(|verb| verb == "add") => operands.get(1),
        "clone" => operands.get(1),
        "init" | "pack-objects" => operands.first(),
        "merge-file" if !parsed.has(&["p", "stdout"]) => operands.first(),
        "interpret-trailers" if parsed.has(&["in-place"]) => operands.first(),
        _ => None,
    };
    if let Some(path) = written {
        walker.write(path);
    }
}

/// Patches that git applies. Their texts name the files that they change.
fn patches(walker: &mut Walker, parsed: &Parsed) {
    let folder = parsed.value(&["directory"]).unwrap_or(".").to_owned();
    let looks = parsed.has(&["stat", "numstat", "summary", "check"]) && !parsed.has(&["apply"]);
    let strip = parsed.value(&["p"]).and_then(|number| number.parse().ok()).unwrap_or(1);
    for path in &parsed.operands {
        walker.read(path, By::Shell);
        if let Text::Known(text) = walker.program_text(path)
            && !looks
        {
            super::files::patched(walker, &text, &folder, Some(strip));
        }
    }
}

/// Subcommands that print what a file holds or held, or take it in so that others do.
const SHOWS: &str = "show cat-file diff blame annotate archive grep add stage hash-object checkout-index difftool diff-tree diff-index diff-files";

/// A secret file that is shown or taken in: `show :.env`, `diff HEAD -- .env`, `add -f .env`.
fn shown(walker: &mut Walker, subcommand: &str, args: &[String], operands: &[String]) {
    let with_contents = |arg: &String| {
        matches!(arg.as_str(), "-p" | "-u" | "--patch" | "-m" | "--cc")
            || arg.starts_with("-L")
            || arg.starts_with("-U")
    };
    let shows = SHOWS.split(' ').any(|known| known == subcommand)
        || (matches!(subcommand, "log" | "stash" | "whatchanged" | "reflog") && args.iter().any(with_contents));
    if !shows {
        return;
    }
    // What is searched for is no file.
    let pattern =
        usize::from(subcommand == "grep" && !args.iter().any(|arg| arg.starts_with("-e") || arg.starts_with("-f")));
    let after_dashes = args.iter().skip_while(|arg| *arg != "--").skip(1);
    for word in operands.iter().skip(pattern).chain(after_dashes) {
        let path = word.rsplit_once(':').map_or(word.as_str(), |(_, path)| path);
        if matches!(walker.place(path).kind, Kind::Secret | Kind::MaybeSecret) && path.contains(['.', '/']) {
            walker.read(path, By::Shell);
        }
    }
}

/// The file that `git config -f` names instead of the repository's own.
pub(super) fn settings_file(walker: &mut Walker, parsed: &Parsed, writes: bool) {
    let Some(path) = parsed.value(&["f"]).map(str::to_owned) else { return };
    walker.read(&path, By::Shell);
    // What is set in the repository's own is judged by the setting.
    if writes && walker.place(&path).kind != Kind::ProjectHook {
        walker.write(&path);
    }
}
