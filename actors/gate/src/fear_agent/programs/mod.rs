//! What programs do, in tables by family: which of their options and operands are read, written, deleted, fetched or
//! run. A program in no table isn't known, so a person is asked.

mod archives;
mod awk;
mod builtins;
mod clients;
mod cloud;
mod containers;
mod editing;
mod environment;
mod files;
mod git_files;
mod interpreters;
mod named_places;
mod network;
mod python_module;
mod scripts;
mod sed;
mod split_string;
mod stores;
mod system;
mod text;
mod vcs;
mod vi;
mod wrappers;

pub(super) use environment::{judge_environment, judge_own_environment};
pub(super) use interpreters::{checked_only, reads_more};

use super::computed;
use super::effects::By;
use super::endless;
use super::options::{self, Parsed};
use super::paths::UNKNOWN;
use super::reading;
use super::shell::{Call, Stream, Walker};
use super::tables;
use super::verdict::{Rule, rules};

type Handler = fn(&mut Walker, &Call, &Parsed) -> Stream;

/// What a program's operands are.
#[derive(Clone, Copy)]
enum Role {
    /// Text or names: nothing that matters is opened.
    Inert,
    Reads,
    /// The first operand is a pattern or program unless an option gave it; the rest are read.
    TextThenReads,
    Writes,
    /// A person is asked, for this reason.
    Asks(Rule, &'static str),
    Blocks(Rule, &'static str),
    Custom(Handler),
}

struct Program {
    /// Separated by spaces.
    names: &'static str,
    /// In the syntax of [`options`].
    options: &'static str,
    role: Role,
}

const fn program(names: &'static str, options: &'static str, role: Role) -> Program {
    Program { names, options, role }
}

const FAMILIES: &[&[Program]] = &[
    text::PROGRAMS,
    files::PROGRAMS,
    wrappers::PROGRAMS,
    builtins::PROGRAMS,
    interpreters::PROGRAMS,
    vcs::PROGRAMS,
    network::PROGRAMS,
    system::PROGRAMS,
    archives::PROGRAMS,
    editing::PROGRAMS,
    containers::PROGRAMS,
    stores::PROGRAMS,
    cloud::PROGRAMS,
];

fn find(name: &str) -> Option<&'static Program> {
    let listed = FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|program| program.names.split(' ').any(|known| known == name));
    listed.or_else(|| tables::wrapper(name).map(|_| &wrappers::WRAPPED))
}

/// The table's entry for a name; versions (`python3.12`), GNU prefixes (`gsed`) and `.exe` are ignored.
fn find_like(name: &str) -> Option<(&'static Program, String)> {
    let plain = name.strip_suffix(".exe").unwrap_or(name);
    let unversioned = plain.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let ungnu = plain.strip_prefix('g').filter(|rest| rest.len() > 1);
    [Some(plain), (unversioned.len() > 1).then_some(unversioned), ungnu]
        .into_iter()
        .flatten()
        .find_map(|name| Some((find(name)?, name.to_owned())))
}

const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/snap/bin"];

/// Judges one command and returns its output for the next one in the pipe.
pub(super) fn judge(walker: &mut Walker, call: &Call) -> Stream {
    let typed = call.name.as_str();
    if typed == "$" || typed.is_empty() {
        return walker.words(call.args.clone(), call.stdin.clone());
    }
    if typed.contains(UNKNOWN) {
        walker.findings.ask(rules::COMPUTED_COMMAND, "the program's name is known only when it runs");
        walker.fixes_named();
        loose_arguments(walker, &call.args);
        return Stream::unknown();
    }
    let before = walker.findings.about_hit(hit(walker, call));
    let out = judge_program(walker, call);
    walker.findings.about_hit_again(before);
    let is_plain = computed::gives_plain(call);
    Stream { is_plain, ..out }
}

/// The wall of the sandbox that would refuse this program even after a yes.
fn hit(walker: &Walker, call: &Call) -> Option<tables::Hit> {
    let (folder, name) = call.name.rsplit_once('/').unwrap_or(("", &call.name));
    if walker.findings.elsewhere || !(folder.is_empty() || SYSTEM_FOLDERS.contains(&folder)) {
        return None;
    }
    tables::refused(&tables::Refusable {
        program: name,
        args: &call.args,
        sets_id: files::sets_id,
        has_others: walker.starts_others || walker.findings.has_open_question(),
    })
}

fn judge_program(walker: &mut Walker, call: &Call) -> Stream {
    let typed = call.name.as_str();
    let (folder, name) = typed.rsplit_once('/').unwrap_or(("", typed));
    if !folder.is_empty() && !SYSTEM_FOLDERS.contains(&folder) {
        walker.run_file(typed);
        reading::run_directly(walker, typed, &call.args);
        loose_arguments(walker, &call.args);
        return Stream::unknown();
    }
    if let [only] = call.args.as_slice()
        && ["--version", "--help", "-version", "-help", "--usage"].contains(&only.as_str())
    {
        return Stream::unknown();
    }
    let Some((program, canonical)) = find_like(name) else {
        unknown(walker, call, name);
        return Stream::unknown();
    };
    let args = if canonical.ends_with("awk") { editing::long_options(&call.args) } else { call.args.clone() };
    let parsed = options::parse_with(program.options, tables::options_of(&canonical).unwrap_or_default(), &args);
    apply_options(walker, &canonical, &parsed);
    let call = Call { name: canonical, args, stdin: call.stdin.clone() };
    named_places::judge(walker, &call);
    let call = reading::with_stdin(walker, call, &parsed);
    // The previous folder. What `cd` changes applies to later commands.
    let folder = walker.cwd.clone();
    let mut out = carry_out(walker, program, &call, &parsed);
    let after = std::mem::replace(&mut walker.cwd, folder);
    reading::judge_programs(walker, &call, &parsed);
    // A sourced file runs in this shell.
    if !matches!(call.name.as_str(), "source" | ".") {
        walker.cwd = after;
    }
    // The program inside a wrapper has already reported it.
    let is_wrapper = [wrappers::PROGRAMS, interpreters::PROGRAMS]
        .iter()
        .any(|family| family.iter().any(|known| std::ptr::eq(known, program)))
        || std::ptr::eq(program, &wrappers::WRAPPED);
    out.endless = endless::gives_endless(&call, &parsed) || (is_wrapper && out.endless);
    out
}

fn carry_out(walker: &mut Walker, program: &Program, call: &Call, parsed: &Parsed) -> Stream {
    match program.role {
        Role::Inert => call.stdin.filtered(),
        Role::Reads => {
            read_all(walker, &parsed.operands);
            passed_on(walker, call, &parsed.operands)
        }
        Role::TextThenReads => {
            let given = parsed.has(&["e", "f", "regexp", "expression", "file"]);
            let files = if given { &parsed.operands[..] } else { parsed.operands.get(1..).unwrap_or_default() };
            read_all(walker, files);
            if files.is_empty() {
                Stream { text: call.stdin.text.clone(), ..call.stdin.filtered() }
            } else {
                Stream::unknown()
            }
        }
        Role::Writes => {
            for path in &parsed.operands {
                walker.write(path);
            }
            call.stdin.filtered()
        }
        Role::Asks(rule, why) => {
            walker.findings.ask(rule, format!("{}: {why}", call.name));
            loose_arguments(walker, &call.args);
            Stream::unknown()
        }
        Role::Blocks(rule, why) => {
            walker.findings.block(rule, format!("{}: {why}", call.name));
            Stream::unknown()
        }
        Role::Custom(handler) => handler(walker, call, parsed),
    }
}

fn unknown(walker: &mut Walker, call: &Call, name: &str) {
    walker.findings.ask(rules::UNKNOWN_PROGRAM, format!("{name} is not a program whose effects are known"));
    loose_arguments(walker, &call.args);
}

/// The effects of options and their values, by their role in the tables.
fn apply_options(walker: &mut Walker, program: &str, parsed: &Parsed) {
    for (name, value, role) in &parsed.options {
        if let Some(rule) = tables::asked(program, name) {
            let dashes = if name.chars().count() > 1 { "--" } else { "-" };
            walker.findings.ask(rule, format!("{program} {dashes}{name} does more than look"));
        }
        let Some(value) = value else { continue };
        match tables::setting(program, name, value) {
            Some((role, value)) => apply(walker, program, role, value),
            None => apply(walker, program, *role, value),
        }
    }
}

fn apply(walker: &mut Walker, program: &str, role: char, value: &str) {
    match role {
        'R' | 'P' => {
            walker.read(value, By::Shell);
        }
        'C' if !value.contains('=') => {
            walker.read(value, By::Shell);
        }
        'W' => walker.write(value),
        'X' => {
            walker.apart(|walker| walker.script(value, &Stream::unknown()));
        }
        'U' => walker.fetch(value),
        'T' => walker.tape(value),
        'L' => walker.loads(program, value),
        'l' if value.contains(['/', '.', UNKNOWN]) => walker.loads(program, value),
        _ => {}
    }
}

fn read_all(walker: &mut Walker, paths: &[String]) {
    for path in paths {
        walker.read(path, By::Shell);
    }
}

/// The output of a program that copies its input: the text of standard input or of a substitution.
fn passed_on(walker: &Walker, call: &Call, operands: &[String]) -> Stream {
    match operands {
        [] => call.stdin.clone(),
        [only] if only == "-" => call.stdin.clone(),
        [only] => {
            let copies = matches!(call.name.as_str(), "cat" | "bat" | "batcat");
            let file = walker.absolute(only).filter(|_| copies && !only.starts_with("/dev/"));
            Stream { file, ..walker.substituted_or(only) }
        }
        _ => Stream::unknown(),
    }
}

/// Arguments of a program whose options aren't known. A word that looks like a secret's path counts as read.
fn loose_arguments(walker: &mut Walker, args: &[String]) {
    for arg in args {
        for piece in named_places::pieces(arg) {
            if piece.contains('/') || piece.starts_with(['~', '.']) {
                walker.read(&piece, By::Shell);
            }
        }
        if arg.contains("://") && !arg.contains(' ') {
            walker.fetch(arg);
        }
    }
}
