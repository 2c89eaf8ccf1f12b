//! Programs that take what they run from a file or a stream, by a table. The text is judged as if it were in the
//! command.

use std::sync::LazyLock;

use super::super::code::{self, Language};
use super::super::effects::By;
use super::super::options::Parsed;
use super::super::paths::UNKNOWN;
use super::super::programs::{checked_only, reads_more};
use super::super::shell::{Call, Stream, Walker};
use super::super::tables;
use super::super::verdict::rules;
use super::{Text, beside, git, makefile};

/// One line of the table.
struct Row {
    programs: Vec<&'static str>,
    source: Source,
    takes: Takes,
    effect: &'static str,
}

enum Source {
    Option(Vec<&'static str>),
    FirstOperand,
    AllOperands,
    StandardInput,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Program,
    Commands,
    Items,
    Optional,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| rows(include_str!("program_files.tsv")));

fn rows(table: &'static str) -> Vec<Row> {
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .filter_map(|line| {
            let mut columns = line.split('\t');
            let (programs, source, takes, effect) =
                (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
            Some(Row {
                programs: programs.split(' ').collect(),
                source: match source {
                    "1" => Source::FirstOperand,
                    "a" => Source::AllOperands,
                    "<" => Source::StandardInput,
                    names => Source::Option(names.split(',').collect()),
                },
                takes: match takes {
                    "program" => Takes::Program,
                    "commands" => Takes::Commands,
                    "items" => Takes::Items,
                    _ => Takes::Optional,
                },
                effect,
            })
        })
        .collect()
}

/// The call with the text of its standard input, if that is a file with instructions.
pub(in super::super) fn with_stdin(walker: &mut Walker, mut call: Call, parsed: &Parsed) -> Call {
    let reads_more = reads_more(&call, parsed) || has_interpreter(parsed);
    let is_inline = !reads_more && (has_inline(parsed) || parsed.options.iter().any(|(_, _, role)| *role == 'Q'));
    let is_free = reads_more || parsed.operands.first().is_none_or(|path| is_stdin(path));
    let name = call.name.clone();
    let rows = TABLE.iter().filter(|row| row.programs.contains(&name.as_str()));
    for row in rows.filter(|row| matches!(row.source, Source::StandardInput)) {
        let by_lines = row.effect == "lines" || row.takes != Takes::Program;
        let is_told = row.effect == "shell" && parsed.has(&["s"]);
        // `vim -` takes its text from there.
        let is_text = row.effect == "commands" && parsed.operands.iter().any(|path| is_stdin(path));
        if !is_inline && !is_text && (is_free || by_lines || is_told) {
            fill(walker, &mut call, row);
        }
        if is_told && let Some(text) = call.stdin.text.clone() {
            walker.apart(|walker| walker.script(&text, &Stream::default()));
        }
    }
    call
}

/// Judges everything that the call runs from files. The program's own judge ran before, so its rule comes first.
pub(in super::super) fn judge_programs(walker: &mut Walker, call: &Call, parsed: &Parsed) {
    for row in TABLE.iter().filter(|row| row.programs.contains(&call.name.as_str())) {
        match &row.source {
            Source::Option(names) => {
                let values = values(call, parsed, names);
                judge_files(walker, call, row, names, &values);
            }
            Source::FirstOperand => {
                let is_inline = has_inline(parsed) || only_checks(row, parsed) || checked_only(call).is_some();
                if let Some(path) = parsed.operands.first().filter(|_| !is_inline) {
                    judge_files(walker, call, row, &[], std::slice::from_ref(path));
                }
            }
            Source::AllOperands => judge_files(walker, call, row, &[], &parsed.operands),
            Source::StandardInput => {}
        }
    }
    if call.name == "git" {
        git::judge(walker, parsed);
    }
    beside::judge(walker, call, parsed);
    walker.notes_program(&call.name);
}

/// A program on the command line. What follows it isn't a file to run.
fn has_inline(parsed: &Parsed) -> bool {
    parsed.options.iter().any(|(_, value, role)| matches!(role, 'S' | 'M') && value.is_some())
}

/// `python -m code`: a module that runs what it reads.
fn has_interpreter(parsed: &Parsed) -> bool {
    parsed
        .options
        .iter()
        .any(|(_, value, role)| *role == 'M' && value.as_deref().is_some_and(tables::is_python_interpreter))
}

/// `sh -n`, `node --check`, `ruby -c`: the syntax is checked and nothing runs.
fn only_checks(row: &Row, parsed: &Parsed) -> bool {
    match row.effect {
        // With `-s` the operands are arguments of the program on standard input.
        "shell" => parsed.has(&["n", "s"]),
        "javascript" | "ruby" => parsed.options.iter().any(|(name, value, _)| name == "c" && value.is_none()),
        _ => false,
    }
}

fn is_stdin(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// The values of an option in any form: `-f x`, `-fx`, `--file=x`, `--file x`.
fn values(call: &Call, parsed: &Parsed, names: &[&str]) -> Vec<String> {
    let known: Vec<String> = parsed.values(names).map(str::to_owned).collect();
    if !known.is_empty() {
        return known;
    }
    let mut found = Vec::new();
    let mut args = call.args.iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            break;
        }
        for name in names {
            if let Some(long) =
                arg.strip_prefix("--").and_then(|rest| rest.strip_prefix(name)).filter(|_| name.len() > 1)
            {
                match long.strip_prefix('=') {
                    Some(value) => found.push(value.to_owned()),
                    None if long.is_empty() => found.extend(args.peek().map(|value| (*value).clone())),
                    None => {}
                }
            } else if let Some(value) = abbreviated(arg, name) {
                found.extend(
                    value.map_or_else(|| args.peek().map(|value| (*value).clone()), |value| Some(value.to_owned())),
                );
            } else if arg == &format!("-{name}") {
                found.extend(args.peek().map(|value| (*value).clone()));
            } else if name.len() == 1 && !arg.starts_with("--") && arg.len() > 2 && arg.starts_with(&format!("-{name}"))
            {
                found.push(arg[2..].to_owned());
            }
        }
    }
    found
}

/// `--fi=x` and `--fi x` for `--file`: the value if it is in the same word. `None` if it isn't this option.
fn abbreviated<'a>(arg: &'a str, name: &str) -> Option<Option<&'a str>> {
    let long = arg.strip_prefix("--")?;
    let (cut, value) = long.split_once('=').map_or((long, None), |(cut, value)| (cut, Some(value)));
    (name.len() > cut.len() && !cut.is_empty() && name.starts_with(cut)).then_some(value)
}

/// The arguments without an option and its values.
fn without(args: &[String], names: &[&str], values: &[String]) -> Vec<String> {
    let is_name = |arg: &String| {
        names.iter().any(|name| {
            arg == &format!("-{name}")
                || (name.len() > 1 && arg == &format!("--{name}"))
                || abbreviated(arg, name) == Some(None)
        })
    };
    let is_joined = |arg: &String| {
        names.iter().any(|name| {
            let value = arg
                .strip_prefix(&format!("--{name}="))
                .or_else(|| arg.strip_prefix(&format!("-{name}")).filter(|_| name.len() == 1))
                .or_else(|| abbreviated(arg, name).flatten());
            value.is_some_and(|value| values.iter().any(|known| known == value))
        })
    };
    let mut out = Vec::new();
    let mut at = 0;
    while at < args.len() {
        if is_name(&args[at]) && args.get(at + 1).is_some_and(|value| values.contains(value)) {
            at += 2;
            continue;
        }
        if !is_joined(&args[at]) {
            out.push(args[at].clone());
        }
        at += 1;
    }
    out
}

/// The text behind a path: of a file, a substitution or the standard input.
fn text(walker: &mut Walker, call: &Call, path: &str) -> Text {
    let stream = if is_stdin(path) {
        call.stdin.clone()
    } else if path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/") {
        walker.substituted_or(path)
    } else {
        return walker.program_text(path);
    };
    stream_text(walker, &stream)
}

fn stream_text(walker: &mut Walker, stream: &Stream) -> Text {
    match (&stream.text, &stream.file) {
        (Some(text), _) if text.contains(UNKNOWN) => Text::Unknown("it is computed while it runs".into()),
        (Some(text), _) => Text::Known(text.clone()),
        (None, Some(file)) => walker.program_text(&file.clone()),
        (None, None) => Text::Unknown("its input is known only when it runs".into()),
    }
}

/// A program that takes instructions from its standard input gets the text of the file behind it.
fn fill(walker: &mut Walker, call: &mut Call, row: &Row) {
    if !call.stdin.present {
        return;
    }
    match stream_text(walker, &call.stdin) {
        Text::Known(text) => {
            let judged = matches!(row.effect, "lines" | "editor" | "gnuplot") && call.stdin.text.is_none();
            if judged || row.effect == "gnuplot" || row.effect == "lines" {
                told(walker, &call.name, row, &text);
            }
            call.stdin.text = Some(text);
        }
        Text::Unread => {}
        Text::Missing | Text::Unknown(_) if row.takes == Takes::Commands => {
            walker
                .findings
                .ask(rules::RUN_CODE, format!("the instructions for {} are known only when it runs", call.name));
        }
        Text::Missing | Text::Unknown(_) => {}
    }
}

fn judge_files(walker: &mut Walker, call: &Call, row: &Row, names: &[&str], paths: &[String]) {
    let mut whole = Vec::new();
    for path in paths {
        if row.takes == Takes::Optional {
            library(walker, path);
            continue;
        }
        match text(walker, call, path) {
            Text::Known(text) => whole.push((path.clone(), text)),
            Text::Unread => {}
            Text::Missing => unread(walker, call, row, path, "it isn't there"),
            Text::Unknown(why) => unread(walker, call, row, path, &why),
        }
    }
    let Some((first, _)) = whole.first().cloned() else { return };
    let joined = whole.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
    let rest = without(&call.args, names, paths);
    walker.within(&first, |walker| as_if_inline(walker, call, row, (&first, &joined), rest));
}

/// What can't be read is asked about. The handlers of shells and interpreters ask in any case.
fn unread(walker: &mut Walker, call: &Call, row: &Row, path: &str, why: &str) {
    let is_node_package = row.effect == "javascript" && !path.contains('/') && !path.contains('.');
    if row.takes == Takes::Items {
        // What its items do is judged as unknown.
    } else if is_node_package {
        walker.findings.ask(rules::RUN_CODE, format!("{} would load {path}", call.name));
    } else {
        walker.findings.ask(rules::RUN_FILE, format!("{} would run {path}, which can't be judged: {why}", call.name));
    }
}

/// An awk library. It is searched beside the program before the system's folders.
fn library(walker: &mut Walker, name: &str) {
    for path in [name.to_owned(), format!("{name}.awk")] {
        match walker.program_text(&path) {
            Text::Known(text) => {
                let words = ["awk".to_owned(), text];
                walker.within(&path, |walker| {
                    walker.apart(|walker| walker.words(words.to_vec(), Stream::unknown()));
                });
            }
            Text::Unread | Text::Missing => {}
            Text::Unknown(why) => {
                walker.findings.ask(rules::RUN_FILE, format!("awk would run {path}, which can't be judged: {why}"))
            }
        }
    }
}

fn as_if_inline(walker: &mut Walker, call: &Call, row: &Row, (path, text): (&str, &str), rest: Vec<String>) {
    let name = call.name.clone();
    let again = |walker: &mut Walker, words: Vec<String>, stdin: Stream| {
        walker.apart(|walker| walker.words([vec![name.clone()], words].concat(), stdin));
    };
    match row.effect {
        "awk" => {
            awk_includes(walker, text);
            again(walker, [vec!["-e".into(), text.to_owned()], rest].concat(), call.stdin.filtered());
        }
        "sed" => {
            // A program in a file may have comments and continued lines.
            let script: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
            again(walker, [vec!["-e".into(), script.join("\n")], rest].concat(), call.stdin.filtered());
        }
        "shell" => {
            let at = call.args.iter().position(|arg| arg == path).map_or(call.args.len(), |at| at + 1);
            let positional = call.args[at..].to_vec();
            walker.apart(|walker| {
                walker.variables.insert("0".into(), path.to_owned());
                walker.positional = Some(positional);
                walker.script(text, &call.stdin)
            });
        }
        "source" => {
            walker.script(text, &call.stdin);
        }
        "python" => code::judge(walker, Language::Python, text),
        "javascript" => code::judge(walker, Language::JavaScript, text),
        "perl" => code::judge(walker, Language::Perl, text),
        "ruby" => code::judge(walker, Language::Ruby, text),
        "code" | "lisp" => code::judge(walker, Language::Other, text),
        "makefile" => makefile::judge(walker, text, &call.args),
        "options" => again(walker, [options(text), rest].concat(), call.stdin.filtered()),
        _ => {
            told(walker, &call.name, row, text);
            if matches!(row.effect, "lines") {
                let rest: Vec<String> = if matches!(row.source, Source::AllOperands) { Vec::new() } else { rest };
                again(walker, rest, Stream::of(text));
            }
        }
    }
}

/// `@include "x"` and `@load "x"` of gawk.
fn awk_includes(walker: &mut Walker, text: &str) {
    for line in text.lines().map(str::trim_start) {
        let quoted = || line.split('"').nth(1).unwrap_or_default().to_owned();
        if line.starts_with("@include") {
            library(walker, &quoted());
        } else if line.starts_with("@load") {
            walker.findings.ask(rules::RUN_CODE, format!("the awk program loads the library {}", quoted()));
        }
    }
}

/// Lines of an options file, as the arguments they stand for.
fn options(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut words = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(['=', ' ', ':', '\t']).map_or((line, ""), |(name, value)| (name, value));
        let (name, value) = (name.trim(), value.trim().trim_start_matches(['=', ':']).trim().trim_matches('"'));
        words.push(if name.starts_with('-') { name.to_owned() } else { format!("--{}", name.replace('_', "-")) });
        if !value.is_empty() {
            words.push(value.to_owned());
        }
    }
    words
}

/// Words by which an instruction line for a client, an editor or a plotter runs a program. The rest is its command
/// line.
const RUNS: &[&str] = &[
    "!",
    ":!",
    "\\!",
    ".shell ",
    ".system ",
    "system ",
    "shell ",
    "silent !",
    ":silent !",
    "call system(",
    "exec !",
    "%!",
];
/// Words by which such a line reads another file of lines.
const READS: &[&str] =
    &[".read ", "\\i ", "\\ir ", "\\include ", "source ", "\\. ", "load ", "call ", ":source ", "so "];
/// Words that run a program or reach files anywhere in a line.
const REACHES: &[&str] = &[
    "system(",
    "popen(",
    "writefile(",
    "load_extension(",
    "readfile(",
    "edit(",
    "python3 ",
    "python ",
    "pyfile ",
    "luafile ",
    "lua ",
    "perl ",
    "ruby ",
    "libcall(",
    "job_start(",
    "termopen(",
    "from program",
    "to program",
];

/// Instruction lines for a client, an editor or a plotter.
fn told(walker: &mut Walker, name: &str, row: &Row, text: &str) {
    let is_items = row.takes == Takes::Items || matches!(name, "dc" | "m4");
    if is_items {
        return;
    }
    for line in text.lines().map(str::trim_start) {
        if let Some(command) = RUNS.iter().find_map(|word| line.strip_prefix(word)) {
            walker.findings.ask(rules::RUN_CODE, format!("{name} would run a command"));
            let command = command.trim().trim_start_matches(['"', '\'']).trim_end_matches([')', '"', '\'']);
            walker.apart(|walker| walker.script(command, &Stream::unknown()));
            continue;
        }
        if let Some(path) = READS.iter().find_map(|word| line.strip_prefix(word)) {
            let path = path.trim().trim_matches(['"', '\'', ';']);
            let path = path.split_whitespace().next().unwrap_or_default().trim_matches(['"', '\'']).to_owned();
            further(walker, name, row, &path);
            continue;
        }
        let lower = line.to_lowercase();
        let is_piped = [
            ".output |",
            ".once |",
            ".import \"|",
            ".import '|",
            "\\o |",
            "\\g |",
            "\\w |",
            "set print \"|",
            "set output \"|",
            "\"<",
        ]
        .iter()
        .any(|word| lower.contains(word));
        if is_piped
            || REACHES.iter().any(|word| lower.contains(word))
            || (row.effect == "gnuplot" && line.contains('`'))
        {
            walker.findings.ask(rules::RUN_CODE, format!("{name} would run a program or reach files: {line:.80}"));
            inner_command(walker, line);
        } else if let Some(path) =
            [".output ", ".once ", ".backup ", ".save ", ".dump ", "\\o ", "set output ", ".log "]
                .iter()
                .find_map(|word| line.strip_prefix(word))
        {
            let path = path.trim().trim_matches(['"', '\'']);
            if !path.is_empty() && path != "stdout" {
                walker.write(path);
            }
        }
    }
}

/// The command that a line names in quotes, or behind a pipe.
fn inner_command(walker: &mut Walker, line: &str) {
    let quoted = ['"', '\'', '`'].iter().find_map(|mark| {
        let (_, rest) = line.split_once(*mark)?;
        let (inner, _) = rest.split_once(*mark)?;
        Some(inner.trim_start_matches(['|', '<', ' ']).to_owned())
    });
    let piped = || line.split_once('|').map(|(_, rest)| rest.trim().to_owned());
    if let Some(command) = quoted.or_else(piped) {
        walker.apart(|walker| walker.script(&command, &Stream::unknown()));
        for path in line.split(['\'', '"']).filter(|path| path.starts_with(['/', '~'])) {
            walker.read(path, By::Shell);
            if line.to_lowercase().contains("writefile(") {
                walker.write(path);
            }
        }
    }
}

/// A file of lines that a line names.
fn further(walker: &mut Walker, name: &str, row: &Row, path: &str) {
    match walker.program_text(path) {
        Text::Known(text) => walker.within(path, |walker| told(walker, name, row, &text)),
        Text::Unread => {}
        Text::Missing => {}
        Text::Unknown(why) => {
            walker.findings.ask(rules::RUN_FILE, format!("{name} would read {path}, which can't be judged: {why}"));
        }
    }
}

/// A file that is started by its own name: its first line, or its ending, tells what reads it. That it is asked about has
/// been said by who calls this.
pub(in super::super) fn run_directly(walker: &mut Walker, path: &str, args: &[String]) {
    let Text::Known(text) = walker.program_text(path) else { return };
    let first = text.lines().next().unwrap_or_default();
    let mut words: Vec<String> = match first.strip_prefix("#!") {
        Some(line) => {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let is_env = words.first().is_some_and(|word| word.ends_with("/env") || word == "env");
            if is_env {
                words.remove(0);
                words.retain(|word| word != "-S");
            }
            words
        }
        None => vec![by_ending(path).to_owned()],
    };
    if let Some(name) = words.first_mut() {
        *name = name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    words.push(path.to_owned());
    words.extend(args.iter().cloned());
    let key = format!("start {path}");
    walker.within(&key, |walker| {
        walker.apart(|walker| walker.words(words, Stream::unknown()));
    });
}

fn by_ending(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "py" | "pyw" => "python3",
        "js" | "mjs" | "cjs" => "node",
        "rb" => "ruby",
        "pl" => "perl",
        "php" => "php",
        "lua" => "lua",
        "r" | "R" => "Rscript",
        _ => "sh",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_read_and_its_effect_known() {
        let table = include_str!("program_files.tsv");
        let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(TABLE.len(), lines);
        for row in TABLE.iter() {
            let effects = "awk awk-library sed shell source python javascript perl ruby code lisp makefile options lines editor commands gnuplot";
            assert!(effects.split(' ').any(|known| known == row.effect), "{}", row.effect);
        }
    }

    #[test]
    fn an_option_is_found_and_taken_out_in_each_form() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for form in ["-f a.awk x", "-fa.awk x", "--file=a.awk x", "--file a.awk x"] {
            let call = Call { name: "awk".into(), args: words(form), stdin: Stream::default() };
            let found = values(&call, &Parsed::default(), &["f", "file"]);
            assert_eq!(found, ["a.awk"], "{form}");
            assert_eq!(without(&call.args, &["f", "file"], &found), ["x"], "{form}");
        }
    }
}
