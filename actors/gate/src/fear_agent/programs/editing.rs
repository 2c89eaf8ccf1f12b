//! Editors, and languages for text that can do more than edit it.

use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Role::Custom;
use super::vi::editor;
use super::{Parsed, Program, program};

pub(super) const PROGRAMS: &[Program] = &[
    program("sed ssed", "e,expression=V f,file=R i,in-place n E r s u z l=V", Custom(sed)),
    program("ed red", "s,quiet,silent p=V", Custom(line_editor)),
    program("ex", "c=V S=R V=V e n r R s v", Custom(editor)),
    program(
        "vi vim nvim nano pico emacs micro joe mcedit kak helix hx code subl gedit kate gvim view vimdiff nvimdiff vimx rvim gvimdiff",
        "c=V u=R S=R l,load=R eval=V cmd=V e=V es r R n f,funcall=V script=R",
        Custom(editor),
    ),
    program(
        "awk gawk mawk nawk original-awk",
        "F,field-separator=V v,assign=V f,file=R i,include=R o=W e,source=V",
        Custom(awk),
    ),
];

/// `e` runs a command, `w` and `r` name files; `-i` writes the operands.
fn sed(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let mut scripts: Vec<String> = parsed.values(&["e"]).map(str::to_owned).collect();
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty() && !parsed.has(&["f"]) {
        scripts.extend(files.first().cloned());
        files = files.get(1..).unwrap_or_default();
    }
    let in_place = parsed.has(&["i"]);
    // Several expressions are one program, each in lines of its own.
    if !parsed.has(&["sandbox"]) {
        super::sed::judge(walker, &scripts.join("\n"));
    }
    for file in files {
        walker.read(file, By::Shell);
        if in_place {
            walker.write(file);
        }
    }
    call.stdin.filtered()
}

/// `-W exec x` is `--exec x` in mawk, and in gawk every long option has this form too.
pub(super) fn long_options(args: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let long = match arg.strip_prefix("-W") {
            Some("") => args.next().cloned(),
            Some(long) => Some(long.to_owned()),
            None => None,
        };
        match long {
            Some(long) => {
                let mut words = long.splitn(2, [' ', ',']);
                out.extend(words.next().map(|name| format!("--{name}")));
                out.extend(words.next().map(str::to_owned));
            }
            None => out.push(arg.clone()),
        }
        if arg == "--" {
            break;
        }
    }
    out.extend(args.cloned());
    out
}

/// `system()`, pipes and redirections of an awk program act on the machine.
fn awk(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    let given: Vec<String> = parsed.values(&["e"]).map(str::to_owned).collect();
    let has_program = parsed.has(&["f"]) || !given.is_empty();
    let (scripts, files) = match parsed.operands.split_first() {
        Some((script, files)) if !has_program => (vec![script.clone()], files),
        _ => (given, &parsed.operands[..]),
    };
    let set = parsed.values(&["v"]).chain(files.iter().map(String::as_str));
    let assigned: Vec<(String, String)> =
        set.filter_map(|word| word.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    for script in &scripts {
        super::awk::judge(walker, script, &assigned);
        for computed in walker.computed_text(&call.name, script) {
            super::awk::judge(walker, &computed, &assigned);
        }
    }
    let in_place = parsed.values(&["i", "include"]).any(|library| library == "inplace");
    for file in files.iter().filter(|file| !file.contains('=')) {
        walker.read(file, By::Shell);
        if in_place {
            walker.write(file);
        }
    }
    // `name=value` among the files sets a variable, which may name a file.
    for (_, value) in files.iter().filter_map(|file| file.split_once('=')) {
        if matches!(walker.place(value).kind, super::super::paths::Kind::Secret) {
            walker.read(value, By::Shell);
        }
    }
    call.stdin.filtered()
}

/// Its commands come by standard input: `!` runs one, `w` and `r` name files or commands.
fn line_editor(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    for path in &parsed.operands {
        walker.write(path);
    }
    for command in call.stdin.text.as_deref().unwrap_or_default().lines() {
        let is_address = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '.' | '%' | ';' | '+' | '-' | ' ');
        let command = command.trim_start_matches(is_address);
        let (verb, rest) = command.split_at(command.chars().next().map_or(0, char::len_utf8));
        let rest = rest.trim_start_matches('q').trim_start();
        match (verb, rest.strip_prefix('!')) {
            ("!", _) => runs_command(walker, rest),
            ("w" | "r" | "e" | "W", Some(piped)) => runs_command(walker, piped),
            ("w" | "W", None) if !rest.is_empty() => walker.write(rest),
            ("r" | "e", None) if !rest.is_empty() => {
                walker.read(rest, By::Shell);
            }
            _ => {}
        }
    }
    Stream::unknown()
}

fn runs_command(walker: &mut Walker, command: &str) {
    walker.findings.ask(rules::RUN_CODE, "the editor would run a command");
    walker.apart(|walker| walker.script(command, &Stream::unknown()));
}
