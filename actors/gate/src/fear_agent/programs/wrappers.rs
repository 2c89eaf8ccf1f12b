//! Programs and built-ins that run other programs: seen through, whatever the order of their options.

use super::super::effects::By;
use super::super::paths::UNKNOWN;
use super::super::shell::{Call, Stream, Walker};
use super::super::tables::{self, Effect, Opened, Runs, Wrapper};
use super::super::verdict::rules;
use super::Role::{Asks, Custom, Inert};
use super::split_string::split;
use super::{Parsed, Program, files, find_like, interpreters, judge_environment, program, scripts};

/// What any wrapper of the data file is judged by, unless it is in a table of its own.
pub(super) static WRAPPED: Program = program("", "", Custom(wrapped));

pub(super) const PROGRAMS: &[Program] = &[
    program("sudoedit", "", Custom(edited_by_root)),
    program("sudo run0", "", Custom(elevated)),
    program("su runuser", "", Custom(switch_user)),
    program("xargs", "^a,arg-file=R d,delimiter=V E=V I=V J=V L=V n=V P=V R=V S=V s=V", Custom(xargs)),
    program("gdb lldb", "!x,command=R ix,init-command=R s,source=R S=R K=R ex=V o=V O=V", Custom(wrapped)),
    program("parallel sem rush", "^a,arg-file=R j,jobs=V S=V I=V N=V n=V L=V C=V d=V", Custom(parallel)),
    program("script", "", Custom(recorded)),
    program("direnv", "", Custom(direnv)),
    program("eval", "", Custom(evaluated)),
    program("trap", "", Custom(trapped)),
    program("alias", "", Custom(aliased)),
    program("unalias", "", Inert),
    program("cd pushd chdir", "^P L e @ n", Custom(change_folder)),
    program("popd", "", Custom(change_back)),
    program("zmodload", "", Asks(rules::RUN_CODE, "loads a module into the shell")),
    program("ztcp", "", Asks(rules::REMOTE_SHELL, "opens a connection from the shell")),
];

fn wrapped(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    match tables::wrapper(&call.name) {
        Some(wrapper) => see_through(walker, wrapper, &call.args, &call.stdin),
        None => walker.words(call.args.clone(), call.stdin.clone()),
    }
}

/// What a wrapper's options leave to be told, once they are judged.
#[derive(Default)]
struct Told {
    folder: Option<String>,
    /// Words that an option named the program by.
    program: Vec<String>,
    assigned: Vec<(String, String)>,
    stops: bool,
    names: bool,
}

pub(super) fn see_through(walker: &mut Walker, wrapper: &Wrapper, args: &[String], stdin: &Stream) -> Stream {
    let opened = open(walker, wrapper, args);
    let told = own_words(walker, wrapper, &opened, stdin);
    run(walker, wrapper, opened, told, stdin)
}

fn open(walker: &Walker, wrapper: &Wrapper, args: &[String]) -> Opened {
    wrapper.open(args, &|text| split(text, &|name| walker.variable(name)))
}

fn assignment(word: &str) -> Option<(String, String)> {
    word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// Judges what the wrapper is told by its own words.
fn own_words(walker: &mut Walker, wrapper: &Wrapper, opened: &Opened, stdin: &Stream) -> Told {
    let mut told = Told::default();
    for rule in &wrapper.itself {
        walker.findings.ask(*rule, format!("{} runs a program under other rights or watched", wrapper.name));
    }
    for option in &opened.unknown {
        let shown = option.replace(UNKNOWN, "…");
        walker.findings.ask(rules::UNKNOWN_PROGRAM, format!("what {shown} of {} does is not known", wrapper.name));
    }
    for (option, effect, values) in &opened.given {
        let value = values.last().map_or("", String::as_str);
        match effect {
            Effect::None | Effect::Split => {}
            Effect::Reads => {
                walker.read(value, By::Shell);
            }
            Effect::Writes => walker.write(value),
            Effect::Folder => told.folder = Some(value.to_owned()),
            Effect::Shell => {
                walker.apart(|walker| walker.script(value, stdin));
            }
            Effect::Words => told.program.extend(value.split_whitespace().map(str::to_owned)),
            Effect::Assigns => told.assigned.extend(assignment(value)),
            Effect::Loads => walker.loads(wrapper.name, value),
            Effect::Tape => walker.tape(value),
            Effect::Stops => told.stops = true,
            Effect::Names => told.names = true,
            Effect::Debugger => debugger(walker, value),
            Effect::Asks(rule) => walker.findings.ask(*rule, format!("{} {option}", wrapper.name)),
        }
    }
    opened.files.iter().for_each(|file| walker.write(file));
    told.assigned.extend(opened.assigned.iter().filter_map(|word| assignment(word)));
    judge_environment(walker, &told.assigned);
    told
}

/// Judges the program that is run.
fn run(walker: &mut Walker, wrapper: &Wrapper, opened: Opened, told: Told, stdin: &Stream) -> Stream {
    let folder = told.folder.or_else(|| opened.folders.first().filter(|_| wrapper.name != "chroot").cloned());
    let mut words = told.program;
    words.extend(opened.rest);
    if told.names {
        return words.first().map_or_else(Stream::unknown, |name| Stream::of(name.as_str()));
    }
    if told.stops || words.is_empty() {
        // `exec` may only carry redirections.
        return if wrapper.name == "exec" { Stream::of("") } else { Stream::unknown() };
    }
    // Where an option isn't known, the word after it may be its value.
    if !opened.unknown.is_empty() && words.len() > 1 && find_like(&words[0]).is_none() {
        walker.apart(|walker| walker.words(words[1..].to_vec(), stdin.clone()));
    }
    let joined = opened.given.iter().any(|(option, _, _)| wrapper.name == "entr" && *option == "-s");
    let runs = if joined { Runs::Shell } else { wrapper.runs };
    let judged = |walker: &mut Walker| match runs {
        Runs::Words => walker.words(words, stdin.clone()),
        Runs::Shell => walker.apart(|walker| walker.script(&words.join(" "), stdin)),
        Runs::Each => {
            for source in &words {
                walker.apart(|walker| walker.script(source, &Stream::unknown()));
            }
            Stream::unknown()
        }
        Runs::Nothing => Stream::unknown(),
    };
    if folder.is_none() && told.assigned.is_empty() {
        return judged(walker);
    }
    walker.apart(|walker| {
        if let Some(folder) = folder {
            files::change_folder(walker, &folder);
        }
        walker.with_variables(&told.assigned, judged)
    })
}

/// `shell rm x`, `!rm x`, `pipe … | rm x`.
fn debugger(walker: &mut Walker, command: &str) {
    let command = command.trim();
    let source = ["!", "shell ", "platform shell ", "sh ", "make "]
        .iter()
        .find_map(|start| command.strip_prefix(start))
        .or_else(|| command.split_once('|').map(|(_, rest)| rest));
    if let Some(source) = source {
        walker.apart(|walker| walker.script(source, &Stream::unknown()));
    } else if let Some(path) = command.strip_prefix("source ") {
        walker.loads("the debugger", path);
    }
}

fn edited_by_root(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    if let Some(wrapper) = tables::wrapper("sudoedit") {
        let opened = open(walker, wrapper, &call.args);
        own_words(walker, wrapper, &opened, &call.stdin);
        opened.rest.iter().for_each(|path| walker.write(path));
    }
    Stream::unknown()
}

fn elevated(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let Some(wrapper) = tables::wrapper(&call.name) else { return Stream::unknown() };
    let opened = open(walker, wrapper, &call.args);
    if opened.given.iter().any(|(option, _, _)| matches!(*option, "-e" | "--edit")) {
        return edited_by_root(walker, call, parsed);
    }
    let told = own_words(walker, wrapper, &opened, &call.stdin);
    run(walker, wrapper, opened, told, &call.stdin)
}

/// `su user -c command`; what stands behind the user is given to a shell. `runuser -u user command` runs it.
fn switch_user(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let Some(wrapper) = tables::wrapper(&call.name) else { return Stream::unknown() };
    let opened = open(walker, wrapper, &call.args);
    let told = own_words(walker, wrapper, &opened, &call.stdin);
    if opened.given.iter().any(|(option, _, _)| matches!(*option, "-u" | "--user")) && call.name == "runuser" {
        return run(walker, wrapper, opened, told, &call.stdin);
    }
    // Without a user the first word may be the program.
    if opened.rest.first().is_some_and(|word| find_like(word).is_some()) {
        walker.apart(|walker| walker.words(opened.rest.clone(), call.stdin.clone()));
    }
    let shell = told.program.first().cloned().unwrap_or_else(|| String::from("sh"));
    if opened.rest.len() > 1 || shell != "sh" {
        let mut words = vec![shell];
        words.extend(opened.rest.into_iter().skip(1));
        walker.apart(|walker| walker.words(words, call.stdin.clone()));
    } else if call.stdin.present {
        interpreters::run_stream(walker, &call.stdin);
    }
    Stream::unknown()
}

fn direnv(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    match (call.args.first().map(String::as_str), tables::wrapper("direnv exec")) {
        (Some("exec"), Some(wrapper)) => see_through(walker, wrapper, &call.args[1..], &call.stdin),
        (Some("version" | "help"), _) => Stream::unknown(),
        _ => {
            walker.findings.ask(rules::RUN_CODE, "direnv runs the folder's .envrc, or lets it run later");
            super::loose_arguments(walker, &call.args);
            Stream::unknown()
        }
    }
}

/// A tool that runs a program among what else it does: `uv run rm x`, `npm exec -- rm x`. It is asked about already, so a program
/// that nobody knows adds nothing.
pub(super) fn runner(walker: &mut Walker, call: &Call) {
    let words: Vec<&str> = call.args.iter().map(String::as_str).collect();
    let two = words
        .windows(2)
        .enumerate()
        .find_map(|(at, pair)| Some((tables::wrapper(&format!("{} {} {}", call.name, pair[0], pair[1]))?, at + 2)));
    let one = || {
        words
            .iter()
            .enumerate()
            .find_map(|(at, word)| Some((tables::wrapper(&format!("{} {word}", call.name))?, at + 1)))
    };
    let none = || Some((tables::wrapper(&call.name)?, 0));
    let Some((wrapper, at)) = two.or_else(one).or_else(none) else { return };
    let opened = open(walker, wrapper, &call.args[at..]);
    let told = own_words(walker, wrapper, &Opened { unknown: Vec::new(), ..opened.clone() }, &call.stdin);
    let name = told.program.first().or_else(|| opened.rest.first());
    if name.is_some_and(|name| find_like(name.rsplit('/').next().unwrap_or(name)).is_some()) {
        walker.apart(|walker| run(walker, wrapper, opened, told, &call.stdin));
    }
}

/// Items that are judged one by one, at most; one unknown item stands for the rest.
const ITEMS: usize = 32;

/// The items that `xargs` and `parallel` read from standard input, or one unknown item. A command that stands alone reads what
/// its starter gives it, which nobody sees here. `split` takes a text apart.
fn items(stdin: &Stream, split: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let Some(text) = stdin.text.as_deref().filter(|_| stdin.present) else { return vec![UNKNOWN.to_string()] };
    let mut items = split(text);
    if items.len() > ITEMS {
        items.truncate(ITEMS);
        items.push(UNKNOWN.to_string());
    }
    items
}

/// The items of a text as `xargs` takes it apart: at blanks, with quotes and backslashes; at one character, or by lines, where
/// an option says so.
fn split_items(text: &str, opened: &Opened, is_by_line: bool) -> Vec<String> {
    let mark = opened.given.iter().rev().find_map(|(option, _, values)| match *option {
        "-0" | "--null" => Some(String::from("\\0")),
        "-d" | "--delimiter" => Some(values.first().cloned().unwrap_or_default()),
        _ => None,
    });
    match mark.as_deref() {
        Some("\\0") => text.split(['\0', UNKNOWN]).filter(|item| !item.is_empty()).map(str::to_owned).collect(),
        Some("\\n") => text.lines().map(str::to_owned).collect(),
        Some("\\t") => text.split('\t').map(str::to_owned).collect(),
        Some(mark) if mark.chars().count() == 1 => text.split(mark).map(str::to_owned).collect(),
        Some(_) => vec![UNKNOWN.to_string()],
        None if is_by_line => text.lines().flat_map(|line| unquoted(line, true)).collect(),
        None => unquoted(text, false),
    }
}

/// Words as `xargs` reads them: a quote ends at its like, a backslash keeps the next character. A whole line is one word.
fn unquoted(text: &str, is_line: bool) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if matches!(c, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == '\\' => word.get_or_insert_default().extend(chars.next()),
            None if c.is_whitespace() && (!is_line || word.is_none()) => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn xargs(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let Some(wrapper) = tables::wrapper("xargs") else { return Stream::unknown() };
    let opened = open(walker, wrapper, &call.args);
    if own_words(walker, wrapper, &opened, &call.stdin).stops {
        return Stream::unknown();
    }
    let mut words = opened.rest.clone();
    if words.is_empty() {
        words.push(String::from("echo"));
    }
    let placeholder = opened
        .given
        .iter()
        .find(|(option, _, _)| matches!(*option, "-I" | "-J" | "-i" | "--replace"))
        .map(|(_, _, values)| values.first().cloned().unwrap_or_else(|| String::from("{}")));
    let is_by_line = placeholder.as_ref().is_some_and(|mark| !mark.is_empty());
    let items = items(&call.stdin, |text| split_items(text, &opened, is_by_line));
    match placeholder {
        Some(mark) if is_by_line => {
            let words: Vec<String> = words.iter().map(|word| word.replace(&mark, "{}")).collect();
            for item in items {
                files::run_on(walker, words.clone(), &item);
            }
            Stream::unknown()
        }
        _ => {
            // Each item may be the first of a command: so many go into one as an option says, or as fit.
            let is_cut_up = opened.given.iter().any(|(option, _, _)| CUTS_UP.contains(option));
            let calls = if is_cut_up { items.len().max(1) } else { 1 };
            for at in 0..calls {
                for item in items[at..].iter().filter(|item| item.contains([UNKNOWN, '*'])) {
                    // What a line says, or a file is called, is for whoever made it to choose.
                    walker.notes_unknown(item);
                }
                let words = words.iter().chain(&items[at..]).cloned().collect();
                walker.apart(|walker| {
                    walker.words(words, Stream::default());
                });
            }
            Stream::unknown()
        }
    }
}

/// Options of `xargs` that give a command fewer items than there are.
const CUTS_UP: [&str; 7] = ["-n", "--max-args", "-L", "-l", "--max-lines", "-s", "--max-chars"];

fn parallel(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let Some(wrapper) = tables::wrapper(&call.name) else { return Stream::unknown() };
    let opened = open(walker, wrapper, &call.args);
    own_words(walker, wrapper, &opened, &call.stdin);
    // `{= … =}` is code of Perl, for each value.
    for code in call.args.join(" ").split("{=").skip(1) {
        let code = code.split("=}").next().unwrap_or_default();
        scripts::rename(walker, code.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-'));
    }
    let words = &opened.rest;
    let is_mark = |word: &String| matches!(word.as_str(), ":::" | "::::" | ":::+" | "::::+");
    let cut = words.iter().position(is_mark).unwrap_or(words.len());
    let mut command: Vec<String> = words[..cut].to_vec();
    let values: Vec<String> = if cut == words.len() {
        items(&call.stdin, |text| text.lines().map(str::to_owned).collect())
    } else {
        words[cut..].iter().filter(|word| !is_mark(word)).cloned().collect()
    };
    if command.is_empty() {
        // Each value is a command line of its own.
        for value in values {
            walker.apart(|walker| walker.script(&value, &Stream::default()));
        }
        return Stream::unknown();
    }
    if !command.iter().any(|word| word.contains("{")) {
        command.push(String::from("{}"));
    }
    for value in values {
        // parallel gives the joined words to a shell.
        let command: Vec<String> =
            command.iter().map(|word| word.replace("{.}", "{}").replace("{/}", "{}").replace("{//}", "{}")).collect();
        if let [source] | [source, _] = command.as_slice()
            && source.contains(' ')
        {
            let source = match command.len() {
                1 => source.replace("{}", "${_item}"),
                _ => format!("{source} ${{_item}}"),
            };
            walker.apart(|walker| {
                walker.traces_setting("_item", &value, Some(&Stream::unknown()));
                walker.variables.insert(String::from("_item"), value.clone());
                walker.script(&source, &Stream::default());
            });
        } else {
            files::run_on(walker, command, &value);
        }
    }
    Stream::unknown()
}

fn recorded(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let Some(wrapper) = tables::wrapper("script") else { return Stream::unknown() };
    let opened = open(walker, wrapper, &call.args);
    if own_words(walker, wrapper, &opened, &call.stdin).stops {
        return Stream::unknown();
    }
    let runs = opened.given.iter().any(|(_, effect, _)| *effect == Effect::Shell);
    match opened.rest.split_first() {
        Some((file, words)) => {
            walker.write(file);
            walker.apart(|walker| walker.words(words.to_vec(), call.stdin.clone()));
        }
        None => walker.write("typescript"),
    }
    if !runs && opened.rest.len() < 2 {
        walker.findings.ask(rules::RUN_CODE, "an interactive shell would be started");
    }
    Stream::unknown()
}

fn evaluated(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let source = call.args.join(" ");
    walker.script(&source, &call.stdin)
}

fn trapped(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    let args = call.args.strip_prefix(&[String::from("--")]).unwrap_or(&call.args);
    if let Some(source) = args.first().filter(|arg| !arg.starts_with('-') && args.len() > 1) {
        walker.apart(|walker| walker.script(source, &Stream::default()));
    }
    Stream::of("")
}

/// An alias runs when it is used, which may be in a later call; so it is judged where it is made.
fn aliased(walker: &mut Walker, call: &Call, _: &Parsed) -> Stream {
    for (name, value) in call.args.iter().filter_map(|arg| arg.split_once('=')) {
        walker.forget_function(name);
        walker.apart(|walker| walker.script(value, &Stream::default()));
    }
    Stream::unknown()
}

fn change_folder(walker: &mut Walker, _: &Call, parsed: &Parsed) -> Stream {
    let folder = parsed.operands.first().cloned().unwrap_or_else(|| String::from("~"));
    if walker.setting.mode == super::super::Mode::Passive {
        walker.findings.block(rules::PASSIVE, "passive mode keeps its folder");
    }
    files::change_folder(walker, &folder);
    Stream::of("")
}

fn change_back(walker: &mut Walker, _: &Call, _: &Parsed) -> Stream {
    walker.cwd = UNKNOWN.to_string();
    Stream::of("")
}

/// A tool that hands a program to another machine behind a word of its own: `lxc exec name program`.
pub(super) fn remote(walker: &mut Walker, call: &Call) {
    let behind = |(at, word): (usize, &String)| Some((tables::wrapper(&format!("{} {word}", call.name))?, at + 1));
    let Some((wrapper, at)) = call.args.iter().enumerate().take(6).find_map(behind) else { return };
    let opened = open(walker, wrapper, &call.args[at..]);
    own_words(walker, wrapper, &opened, &call.stdin);
    within(walker, opened.rest);
}

/// A program that runs in a container, with its words as they are. One that nobody knows adds nothing, since what runs in a
/// container is asked about.
pub(super) fn within(walker: &mut Walker, words: Vec<String>) {
    let name = words.first().map_or("", String::as_str);
    if find_like(name.rsplit('/').next().unwrap_or(name)).is_some() {
        behind_other_walls(walker, |walker| {
            walker.words(words, Stream::default());
        });
    }
}

/// What runs in a container or on another machine isn't held by this sandbox.
fn behind_other_walls(walker: &mut Walker, run: impl FnOnce(&mut Walker)) {
    let around = std::mem::replace(&mut walker.findings.elsewhere, true);
    walker.apart(run);
    walker.findings.elsewhere = around;
}

/// A wrapper of the shell's own kind: `ssh host command` and `docker exec` hand a command to another machine.
pub(super) fn elsewhere(walker: &mut Walker, words: Vec<String>) {
    let source = words.join(" ");
    if !source.is_empty() {
        behind_other_walls(walker, |walker| {
            interpreters::run_stream(walker, &Stream::of(source));
        });
    }
}
