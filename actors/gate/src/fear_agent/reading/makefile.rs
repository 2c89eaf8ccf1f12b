//! Makefiles: what runs while make reads them, and the recipes of the wanted targets.

use std::collections::BTreeSet;

use super::super::options::Parsed;
use super::super::paths::UNKNOWN;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::{Findings, Verdict, rules};
use super::super::{Mode, Setting};
use super::Text;

/// Recipes that are checked, at most.
const RECIPES: usize = 400;

/// A rule: its targets, its prerequisites and its recipe lines.
#[derive(Default)]
struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    lines: Vec<String>,
}

/// What make does with this text for the targets among its arguments. That it runs at all is asked about elsewhere.
/// This finds what would be blocked on a command line, and what runs even if nothing is to be made.
pub(super) fn judge(walker: &mut Walker, text: &str, args: &[String]) {
    if let Some(told) = runs_while_read(text) {
        walker.findings.ask(rules::BUILD, format!("the makefile {told}"));
    }
    let text = text.replace("\\\n", " ");
    judge_reading(walker, &text);
    let Some(wanted) = targets(args) else { return };
    let rules_of = parse(&text);
    for line in reached(&rules_of, &wanted).into_iter().take(RECIPES) {
        let line = line.trim_start().trim_start_matches(['@', '-', '+', ' ', '\t']);
        walker.apart(|walker| walker.script(&as_shell(line), &Stream::default()));
    }
}

/// The targets among the arguments of make. `None`: it makes nothing.
fn targets(args: &[String]) -> Option<Vec<String>> {
    const VALUED: &str =
        "--directory --file --makefile --include-dir --old-file --assume-old --what-if --new-file --assume-new --eval";
    const DRY: &str = "--dry-run --just-print --recon --question --touch";
    let is_listed = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let mut found = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(letters) = arg.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            found.extend(Some(arg.clone()).filter(|arg| !arg.contains('=')));
            continue;
        };
        if letters.starts_with('-') {
            if is_listed(DRY, arg) {
                return None;
            }
            if is_listed(VALUED, arg) {
                args.next();
            }
            continue;
        }
        for (at, letter) in letters.char_indices() {
            match letter {
                'n' | 'q' | 't' => return None,
                'C' | 'f' | 'I' | 'o' | 'W' | 'E' => {
                    if at + 1 == letters.len() {
                        args.next();
                    }
                    break;
                }
                // The rest is their value: `-j4`, `-Oline`.
                'j' | 'l' | 'O' => break,
                _ => {}
            }
        }
    }
    Some(found)
}

/// What make gets besides its files: makefile text by `--eval`, and variables on the command line and in the
/// environment.
pub(in super::super) fn judge_words(walker: &mut Walker, call: &Call, parsed: &Parsed) {
    let mut texts: Vec<String> = parsed.values(&["E", "eval"]).map(str::to_owned).collect();
    texts.extend(call.args.iter().filter(|arg| arg.contains('=') && !arg.starts_with("--")).cloned());
    let around = walker.variables.iter().filter(|(_, value)| value.contains('$') || value.starts_with('+'));
    texts.extend(around.map(|(name, value)| format!("{name}={value}")));
    for text in texts {
        if let Some(told) = runs_while_read(&text) {
            walker.findings.ask(rules::BUILD, format!("make's command line {told}"));
        } else if walker.is_computed(&text) {
            walker.findings.ask(rules::BUILD, "make's instructions are known only when it runs");
        }
        judge_reading(walker, &text);
    }
}

/// Whether `call` runs a function by a computed name or by another name: `$(call shell,…)`.
fn calls_indirectly(line: &str) -> bool {
    ["(call", "{call"].iter().any(|word| {
        line.match_indices(word).any(|(at, _)| {
            let name = line[at + word.len()..].trim_start();
            line[at + word.len()..].starts_with([' ', '\t'])
                && (["shell", "eval", "file", "guile"].iter().any(|known| name.starts_with(known))
                    || name.starts_with('$'))
        })
    })
}

/// Whether something runs although nothing is to be made: while the file is read, or in lines that run despite `-n`.
pub(super) fn runs_while_read(text: &str) -> Option<String> {
    let text = text.replace("\\\n", " ");
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.starts_with('#') {
            continue;
        }
        let recipe = bare.trim_start_matches(['@', '-', ' ']);
        let behind =
            |mark: char| line.split_once(mark).map_or("", |(_, rest)| rest.trim_start_matches(['@', '-', ' ', '\t']));
        let told = if shell_calls(line).any(|command| is_open(&command)) {
            "runs a computed command by $(shell …)"
        } else if !line.starts_with('\t')
            && line.split_once("!=").is_some_and(|(name, command)| !name.contains([':', '"', '$']) && is_open(command))
        {
            "runs a command by !="
        } else if recipe.starts_with('+') || (!line.starts_with('\t') && behind(';').starts_with('+')) {
            // Also within `define`, and with another recipe prefix.
            "has a line that runs even with -n (+)"
        } else if !line.starts_with('\t') && behind('=').starts_with('+') {
            "has a variable that makes a line run even with -n (+)"
        } else if calls_indirectly(line) {
            "calls a function by a computed name"
        } else if line.contains("$(file ") || line.contains("${file ") {
            "reads or writes a file by $(file …)"
        } else if bare.starts_with(".RECIPEPREFIX") {
            "sets its own recipe prefix"
        } else if (line.starts_with('\t') || !line.contains('='))
            && (line.contains("$(MAKE)") || line.contains("${MAKE}"))
        {
            "starts make again"
        } else if line.contains("$(guile") || bare.starts_with("load ") || bare.starts_with("-load ") {
            "loads code"
        } else if ["include ", "-include ", "sinclude "].iter().any(|word| bare.starts_with(word))
            && !line.starts_with('\t')
        {
            "includes other files, which make may build first"
        } else if bare.starts_with("SHELL") && bare.contains('=') && !line.starts_with('\t') {
            "sets its own shell"
        } else {
            continue;
        };
        return Some(told.to_owned());
    }
    None
}

/// The files of `$(file >…)`.
fn written(line: &str) -> Vec<String> {
    let calls = ["(file ", "{file "]
        .iter()
        .flat_map(|word| line.match_indices(word).map(|(at, word)| &line[at + word.len()..]));
    calls
        .filter_map(|rest| rest.trim_start().strip_prefix('>'))
        .map(|rest| rest.trim_start_matches('>').trim_start())
        .map(|rest| rest.split([',', ')', '}', ' ']).next().unwrap_or_default().to_owned())
        .map(|path| if path.contains('$') { UNKNOWN.to_string() } else { path })
        .collect()
}

/// The commands of `$(shell …)`.
fn shell_calls(text: &str) -> impl Iterator<Item = String> + '_ {
    ["$(shell ", "${shell ", "$(shell\t", "${shell\t", "$(call shell,", "${call shell,"].into_iter().flat_map(
        move |word| {
            text.match_indices(word).map(move |(at, _)| {
                let inner = &text[at + word.len()..];
                let mut depth = 1;
                let end = inner.char_indices().find(|(_, c)| {
                    depth += i32::from(matches!(c, '(' | '{')) - i32::from(matches!(c, ')' | '}'));
                    depth == 0
                });
                inner[..end.map_or(inner.len(), |(at, _)| at)].to_owned()
            })
        },
    )
}

/// Whether make computes the command: it holds a variable or a function of make.
fn is_open(command: &str) -> bool {
    command.replace("$$", "").contains('$')
}

/// Whether a command would pass where nothing may be changed. Files that it would run are judged during the walk.
fn only_looks(walker: &Walker, command: &str) -> bool {
    let setting = Setting { mode: Mode::Passive, ..walker.setting.clone() };
    let mut findings = Findings::new(Mode::Passive);
    let mut inner = Walker::new(&setting, &mut findings);
    inner.cwd.clone_from(&walker.cwd);
    inner.script(&as_shell(command), &Stream::default());
    findings.verdict() == Verdict::Allow
}

/// Whether a makefile sets something that decides which programs its commands are.
fn sets_surroundings(text: &str) -> bool {
    const NAMES: &str = "PATH SHELL .SHELLFLAGS ENV BASH_ENV HOME IFS CDPATH";
    const STARTS: [&str; 8] = ["LD_", "GIT_", "PYTHON", "PERL", "NODE_", "RUBY", "BASH_FUNC", "XDG_"];
    text.lines().any(|line| {
        let bare = line.trim_start().trim_start_matches("override ").trim_start_matches("export ");
        let name = bare.trim_start().split([' ', '\t', '=', ':', '?', '+', '!']).next().unwrap_or_default();
        let is_set = bare[bare.find(name).unwrap_or(0)..].contains('=') || bare.starts_with("define ");
        is_set && (NAMES.split(' ').any(|known| known == name) || STARTS.iter().any(|start| name.starts_with(start)))
    })
}

fn judge_reading(walker: &mut Walker, text: &str) {
    let changes_surroundings = sets_surroundings(text);
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        for path in written(line) {
            walker.write(&path);
        }
        for command in shell_calls(line) {
            // A literal command that only reads is judged as on a command line.
            if changes_surroundings || is_open(&command) || !only_looks(walker, &command) {
                walker.findings.ask(rules::BUILD, "the makefile runs a command while it is read");
            }
            walker.apart(|walker| walker.script(&as_shell(&command), &Stream::default()));
        }
        if line.starts_with('\t') {
            continue;
        }
        if let Some((_, command)) = line.split_once("!=") {
            if changes_surroundings || !only_looks(walker, command) {
                walker.findings.ask(rules::BUILD, "the makefile runs a command while it is read");
            }
            walker.apart(|walker| walker.script(&as_shell(command), &Stream::default()));
        }
        let bare = line.trim_start().trim_start_matches('-');
        if let Some(files) = bare.strip_prefix("include ").or_else(|| bare.strip_prefix("sinclude ")) {
            for path in files.split_whitespace().filter(|path| !path.contains(['$', '*'])) {
                if let Text::Known(text) = walker.program_text(path) {
                    walker.within(path, |walker| judge(walker, &text, &[]));
                }
            }
        }
    }
}

/// As the shell gets it: `$$` is a dollar; a make variable has an unknown value.
fn as_shell(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        rest = match after.chars().next() {
            Some('$') => {
                out.push('$');
                &after[1..]
            }
            Some(open @ ('(' | '{')) => {
                let close = if open == '(' { ')' } else { '}' };
                out.push_str("${_made}");
                after.find(close).map_or("", |at| &after[at + 1..])
            }
            Some(one) => {
                out.push_str("${_made}");
                &after[one.len_utf8()..]
            }
            None => "",
        };
    }
    out.push_str(rest);
    out
}

fn parse(text: &str) -> Vec<Rule> {
    let mut all: Vec<Rule> = Vec::new();
    for line in text.lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(rule) = all.last_mut() {
                rule.lines.push(recipe.to_owned());
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default();
        let Some((targets, needs)) = line.split_once(':') else { continue };
        if needs.starts_with('=') || needs.starts_with(":=") || targets.contains('=') {
            continue;
        }
        let (needs, recipe) = needs.split_once(';').map_or((needs, None), |(needs, recipe)| (needs, Some(recipe)));
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let lines = recipe.map(str::to_owned).into_iter().collect();
        all.push(Rule { targets: names(targets), needs: names(needs.trim_start_matches(':')), lines });
    }
    all
}

/// The recipe lines of the wanted targets and their prerequisites; of the first target if none is named.
fn reached<'a>(all: &'a [Rule], wanted: &[String]) -> Vec<&'a String> {
    let is_special = |name: &String| name.starts_with('.') && !name.contains('/');
    let mut todo: Vec<String> = wanted.to_vec();
    if todo.is_empty() {
        let first = all.iter().flat_map(|rule| &rule.targets).find(|name| !is_special(name) && !name.contains('%'));
        todo.extend(first.cloned());
    }
    let mut known = BTreeSet::new();
    let mut lines = Vec::new();
    while let Some(name) = todo.pop() {
        if !known.insert(name.clone()) {
            continue;
        }
        for rule in all.iter().filter(|rule| rule.targets.contains(&name)) {
            todo.extend(rule.needs.iter().cloned());
            lines.extend(&rule.lines);
        }
    }
    // A pattern rule or a computed name may be needed by any target.
    let loose = |rule: &&Rule| rule.targets.iter().any(|name| name.contains(['%', '$']));
    lines.extend(all.iter().filter(loose).flat_map(|rule| &rule.lines));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipes_of_the_wanted_targets_are_reached() {
        let text =
            "all: a b\na:\n\techo a\nb: c\n\techo b\nc: ; echo c\ninstall:\n\tcp x /usr/bin\n%.o: %.c\n\tcc $<\n";
        let all = parse(text);
        let lines = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            let mut lines: Vec<String> =
                reached(&all, &wanted).into_iter().map(|line| line.trim().to_owned()).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&[]), ["cc $<", "echo a", "echo b", "echo c"]);
        assert_eq!(lines(&["install"]), ["cc $<", "cp x /usr/bin"]);
        assert_eq!(
            as_shell("for f in $$x; do rm $(OUT)/$$f $@; done"),
            "for f in $x; do rm ${_made}/$f ${_made}; done"
        );
    }

    #[test]
    fn what_runs_although_nothing_is_made_is_seen() {
        for text in [
            "X := $(shell $(C))",
            "X != $(C)",
            "all:\n\t+echo x",
            "all:\n\t$(MAKE) -C sub",
            "-include gen.mk",
            "SHELL = ./sh",
            "all: ; +echo x",
            "all: ; @+echo x",
            "define R\n+echo x\nendef\nall:\n\t$(R)",
            "Q = +",
            ".RECIPEPREFIX = >",
            "X := $(call shell,id)",
            "X := $(call $(S),id)",
            "X := $(file >out,x)",
        ] {
            assert!(runs_while_read(text).is_some(), "{text}");
        }
        for text in [
            "all: a\n\techo $@\n",
            "X = 1\n# $(shell id)\nall:\n\tcc -o a a.c\n",
            "test:\n\t[ \"$$a\" != 1 ]",
            "X += a\nY := $(call map,a)\nall: ; echo a+b\n",
        ] {
            assert!(runs_while_read(text).is_none(), "{text}");
        }
    }
}
