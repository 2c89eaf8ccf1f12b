//! Editors that take commands: on the command line, or by standard input.
//!
//! Law: a command that isn't known to only edit is asked about.

use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::rules;
use super::Parsed;

/// Editors with the commands of ex.
const VI: &str = "ex vi vim nvim gvim view vimdiff nvimdiff vimx rvim gvimdiff";

/// Commands that edit the text, move in it or end the editor.
const EDITS: &str = "s substitute & d de del delete m mo move t co copy j join p pr print nu number l list k ma mark y yank pu put \
    sor sort u undo red redo noh nohlsearch ret retab q quit qa qall x xi xit wq w wr write wa wqa xa up update n next \
    N previous prev b bn bp buffer bnext bprevious r re read e ed edit sp split vs vsplit tabe tabedit tabnew sv sview \
    view fin find sav saveas se set setl setlocal g global v vglobal a append i insert c change";

/// Options of which no value runs or loads anything.
const SETTINGS: &str = "number nu relativenumber rnu ruler ru list wrap linebreak lbr cursorline cul hlsearch hls incsearch is ignorecase ic \
    smartcase scs tabstop ts softtabstop sts shiftwidth sw expandtab et autoindent ai smartindent si textwidth tw fileformat ff \
    fileencoding fenc encoding enc binary bin endofline eol fixendofline fixeol bomb backup bk writebackup wb swapfile swf \
    compatible cp readonly ro modifiable ma gdefault gd magic spell scrolloff so more paste laststatus ls showcmd sc hidden hid";

pub(super) fn editor(walker: &mut Walker, call: &Call, parsed: &Parsed) -> Stream {
    // `+/word` goes to a line.
    for path in parsed.operands.iter().filter(|path| !path.starts_with('+')) {
        if call.name == "view" {
            walker.read(path, By::Shell);
        } else {
            walker.write(path);
        }
    }
    let is_lisp = call.name == "emacs";
    if parsed.has(&["S", "script"]) || (is_lisp && parsed.has(&["l", "f", "eval"])) {
        walker.findings.ask(rules::RUN_CODE, "the editor would run a script");
    }
    let by_words = call.args.iter().filter_map(|arg| arg.strip_prefix('+'));
    let script: Vec<String> = parsed.values(&["c", "eval", "e", "cmd"]).chain(by_words).map(str::to_owned).collect();
    for command in &script {
        judge_commands(walker, command);
        walker.computed_text(&call.name, command);
    }
    by_stdin(walker, call, parsed);
    verbose_file(walker, call);
    Stream::unknown()
}

/// What comes by standard input is the text only where an operand says so. Else it is keys or commands.
fn by_stdin(walker: &mut Walker, call: &Call, parsed: &Parsed) {
    let is_text = parsed.operands.iter().any(|operand| matches!(operand.as_str(), "-" | "/dev/stdin"));
    if !call.stdin.present || is_text {
        return;
    }
    let is_vi = VI.split(' ').any(|name| name == call.name);
    let takes_commands = is_vi && (call.name == "ex" || parsed.has(&["e", "E", "es"]));
    match &call.stdin.text {
        Some(text) if takes_commands => judge_commands(walker, text),
        _ => {
            walker.findings.ask(rules::RUN_CODE, format!("{} would do what comes by its standard input", call.name));
            if let Some(text) = &call.stdin.text {
                judge_commands(walker, text);
            }
        }
    }
}

/// `-V9file` writes a file.
fn verbose_file(walker: &mut Walker, call: &Call) {
    if !VI.split(' ').any(|name| name == call.name) {
        return;
    }
    for file in call.args.iter().filter_map(|arg| arg.strip_prefix("-V")) {
        let file = file.trim_start_matches(|c: char| c.is_ascii_digit());
        if !file.is_empty() {
            walker.write(file);
        }
    }
}

/// Commands of ex, one in a line.
fn judge_commands(walker: &mut Walker, script: &str) {
    let mut is_text = false;
    for line in script.lines() {
        // Behind `a`, `i` and `c` stands text, up to a dot.
        if is_text {
            is_text = line.trim() != ".";
            continue;
        }
        is_text = matches!(without_address(line), "a" | "i" | "c" | "append" | "insert" | "change");
        files(walker, line);
        if !only_edits(line, 0) {
            walker.findings.ask(rules::RUN_CODE, format!("the editor would do more than edit: {line:.60}"));
        }
    }
}

/// A command without its lines: `%s/a/b/` is `s/a/b/`.
fn without_address(command: &str) -> &str {
    let mut rest = command.trim_start_matches([':', ' ', '\t']);
    loop {
        let is_address = |c: char| c.is_ascii_digit() || matches!(c, '%' | '.' | '$' | ',' | ';' | '+' | '-' | ' ');
        rest = rest.trim_start_matches(is_address);
        rest = match rest.chars().next() {
            Some('\'') => rest.get(2..).unwrap_or_default(),
            Some(mark @ ('/' | '?')) => delimited(&rest[1..], mark).map_or("", |(_, rest)| rest),
            _ => return rest.trim_end(),
        };
    }
}

/// The text up to an unescaped sign, and what follows it.
fn delimited(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            c if c == mark && !escaped => return Some((&text[..at], &text[at + c.len_utf8()..])),
            _ => escaped = false,
        }
    }
    None
}

fn only_edits(command: &str, depth: usize) -> bool {
    let command = without_address(command);
    if command.is_empty() || command.starts_with(['"', '>', '<', '#', '&', '=']) {
        return !command.contains(['|', '`']);
    }
    let name: String = command.chars().take_while(char::is_ascii_alphabetic).collect();
    let rest = &command[name.len()..];
    // `s/a/b/` and `g/a/d` may have their name and pattern joined; `k` has its mark joined.
    if !EDITS.split_ascii_whitespace().any(|known| known == name) {
        return name.len() == 2 && name.starts_with('k') && rest.is_empty();
    }
    match name.as_str() {
        "s" | "substitute" | "g" | "global" | "v" | "vglobal" => {
            let rest = rest.trim_start_matches('!');
            let Some(mark) = rest.chars().next() else { return true };
            if mark.is_alphanumeric() || matches!(mark, ' ' | '"' | '|' | '\\') {
                return false;
            }
            let body = &rest[mark.len_utf8()..];
            let (_, rest) = delimited(body, mark).unwrap_or((body, ""));
            if name.starts_with(['g', 'v']) {
                return depth < 4 && only_edits(rest, depth + 1);
            }
            let (put, rest) = delimited(rest, mark).unwrap_or((rest, ""));
            let flags = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '&' | '#' | ' '));
            !put.contains("\\=") && follows(flags, depth)
        }
        "se" | "set" | "setl" | "setlocal" => {
            let (settings, after) = rest.split_once('|').unwrap_or((rest, ""));
            settings.split_whitespace().all(is_harmless_setting) && (after.is_empty() || only_edits(after, depth + 1))
        }
        _ if rest.contains('`') => false,
        _ => {
            let (argument, after) = rest.split_once('|').unwrap_or((rest, ""));
            let argument = argument.strip_prefix('!').unwrap_or(argument);
            !argument.contains('!')
                && !argument.trim_start().starts_with(['+', '='])
                && (after.is_empty() || (depth < 4 && only_edits(after, depth + 1)))
        }
    }
}

/// The next command in the line.
fn follows(rest: &str, depth: usize) -> bool {
    match rest.trim_start().strip_prefix('|') {
        Some(next) => depth < 4 && only_edits(next, depth + 1),
        None => rest.trim().is_empty(),
    }
}

fn is_harmless_setting(setting: &str) -> bool {
    let name: String = setting.chars().take_while(char::is_ascii_alphabetic).collect();
    let listed = |name: &str| SETTINGS.split_ascii_whitespace().any(|known| known == name);
    listed(&name) || name.strip_prefix("no").is_some_and(listed)
}

/// `:w file`, `:r file`, `:e file` and their like, and `:!command`.
fn files(walker: &mut Walker, script: &str) {
    for command in script.split('|') {
        let command = without_address(command);
        if let Some(shell) = command.split_once('!').map(|(_, shell)| shell).filter(|shell| !shell.trim().is_empty()) {
            let named = shell.trim().starts_with(['/', '~', '.']) && command.starts_with(['w', 's', 'e']);
            if !named {
                walker.apart(|walker| walker.script(shell, &Stream::unknown()));
            }
        }
        let Some((verb, path)) = command.split_once(' ') else { continue };
        let path = path.trim().trim_start_matches(['!', '+']);
        match verb.trim_end_matches('!') {
            "w" | "wr" | "write" | "sav" | "saveas" | "wq" | "x" | "xit" | "up" | "update" | "mks" | "mksession"
            | "redir"
                if !path.is_empty() =>
            {
                walker.write(path.trim_start_matches(['>', ' ']));
            }
            "r" | "re" | "read" | "e" | "ed" | "edit" | "sp" | "split" | "vs" | "vsplit" | "tabe" | "tabedit"
            | "tabnew" | "view" | "sv" | "sview" | "fin" | "find" => {
                walker.read(path, By::Shell);
            }
            _ => {}
        }
    }
}
