//! Editors, and languages for text that can do more than edit it.

use super::super::effects::By;
use super::super::paths::UNKNOWN;
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
    for script in &scripts {
        awk_script(walker, script);
        for computed in walker.computed_text(&call.name, script) {
            awk_script(walker, &computed);
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

fn awk_script(walker: &mut Walker, script: &str) {
    let quoted = |text: &str| {
        let rest = text.trim_start().strip_prefix('"')?;
        Some(rest.split('"').next().unwrap_or("").to_owned())
    };
    for (at, _) in script.match_indices("system") {
        let Some(inner) = script[at + 6..].trim_start().strip_prefix('(') else { continue };
        walker.findings.ask(rules::RUN_CODE, "the awk program runs a command");
        if let Some(command) = quoted(inner) {
            walker.apart(|walker| walker.script(&command, &Stream::unknown()));
        }
    }
    if script.contains("/inet/") {
        walker.findings.block(rules::BACKDOOR, "the awk program opens a network connection");
    }
    awk_files(walker, script);
    let mut quote = false;
    let bytes = script.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if at == 0 || bytes[at - 1] != b'\\' => quote = !quote,
            b'|' if !quote && bytes.get(at + 1) != Some(&b'|') && (at == 0 || bytes[at - 1] != b'|') => {
                // `print | "cmd"` and `"cmd" | getline`.
                let before = script[..at].trim_end();
                let command =
                    quoted(&script[at + 1..].replacen('&', "", usize::from(bytes.get(at + 1) == Some(&b'&'))))
                        .or_else(|| before.strip_suffix('"').and_then(|b| b.rsplit('"').next().map(str::to_owned)));
                if in_regex(&script[..at]) {
                    continue;
                }
                let whole = is_whole_command(script, at);
                match command {
                    Some(command) => {
                        // What is put behind the text is known only when it runs.
                        let command = if whole { command } else { format!("{command}{UNKNOWN}") };
                        walker.apart(|walker| walker.script(&command, &Stream::unknown()));
                    }
                    None => {
                        walker.findings.ask(rules::RUN_CODE, "the awk program runs a command that it puts together")
                    }
                }
            }
            b'>' if !quote && script[..at].contains("print") => {
                if let Some(path) = quoted(script[at + 1..].trim_start_matches('>')) {
                    walker.write(&path);
                }
            }
            b'<' if !quote && script[..at].trim_end().ends_with("getline") => {
                if let Some(path) = quoted(&script[at + 1..]) {
                    walker.read(&path, By::Shell);
                }
            }
            _ => {}
        }
    }
}

/// `getline line < "file"`, `ARGV[1] = "file"`, `@load "library"`, and functions that are called by their names.
fn awk_files(walker: &mut Walker, script: &str) {
    for (mark, rest) in script
        .match_indices('@')
        .map(|(at, _)| script[at + 1..].trim_start())
        .filter_map(|rest| ["load", "include"].iter().find_map(|word| Some((*word, rest.strip_prefix(*word)?))))
    {
        let library = rest.split('"').nth(1).unwrap_or_default();
        walker.loads(&format!("awk's @{mark}"), library);
    }
    if script.contains('@') && ["\"system\"", "\"sys"].iter().any(|name| script.contains(name)) {
        walker.findings.ask(rules::RUN_CODE, "the awk program calls a function by its name");
    }
    if ["getline", "ARGV", ">"].iter().any(|word| script.contains(word)) {
        for text in script.split('"').skip(1).step_by(2).filter(|text| text.contains(['/', '.'])) {
            if matches!(
                walker.place(text).kind,
                super::super::paths::Kind::Secret | super::super::paths::Kind::MaybeSecret
            ) {
                walker.read(text, By::Shell);
            }
        }
    }
}

/// Whether the string beside a pipe is the whole command: nothing is put behind it, or before it.
fn is_whole_command(script: &str, at: usize) -> bool {
    let behind = script[at + 1..].trim_start_matches('&').trim_start();
    match behind.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some((_, rest)) => rest.trim_start().is_empty() || rest.trim_start().starts_with([';', '}', ')', '\n', '|']),
        None => script[..at].trim_end().strip_suffix('"').is_some_and(|before| {
            let before = before.rsplit_once('"').map_or("", |(before, _)| before).trim_end();
            before.is_empty() || before.ends_with(['{', ';', '(', '}', '\n', '&', '|', '!'])
        }),
    }
}

/// Whether a regular expression (`/a|b/`) is open at the end of `text`.
fn in_regex(text: &str) -> bool {
    let line = text.rsplit(['{', '}', ';', '\n']).next().unwrap_or(text);
    line.matches('/').count() % 2 == 1
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
