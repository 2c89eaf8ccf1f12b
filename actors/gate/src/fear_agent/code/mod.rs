//! Judges programs in other languages by what they call. They aren't fully parsed: the text is split into names,
//! strings and signs, and acting calls are judged by their string arguments. What can't be told is asked about; it
//! never passes unasked.

mod acts;
mod lexer;
mod plain;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use self::acts::{Act, act_of, is_pure};
use super::content;
use super::effects::By;
use super::paths::{Kind, Zone};
use super::reading::Text;
use super::shell::{Stream, Walker};
use super::verdict::rules;

pub(super) use plain::{is_acting_module, module, only_computes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A name with its dots: `os.path.join`.
    Name(String),
    Text(String),
    /// Back-quoted: a command in Ruby, Perl and PHP, a template in JavaScript.
    Quoted(String),
    Sign(char),
}

/// Judges a program text. Pure computing passes; anything that acts is at least asked about.
pub(super) fn judge(walker: &mut Walker, language: Language, source: &str) {
    judge_with(walker, language, source, &BTreeSet::new());
}

/// The same for a program for which names were imported from modules that aren't judged here.
pub(super) fn judge_with(walker: &mut Walker, language: Language, source: &str, imported: &BTreeSet<String>) {
    for computed in walker.computed_text("the code", source) {
        judge_with(walker, language, &computed, imported);
    }
    let tokens = tokens(source, language);
    let variables = literals(&tokens);
    let mut acts: Vec<Act> = Vec::new();
    let mut impure = imports_others(&tokens, language)
        || match language {
            Language::Other => !computes(&tokens) || may_hide(source),
            _ => !only_computes(language, source, imported),
        };
    for (at, token) in tokens.iter().enumerate() {
        let name = match token {
            Token::Quoted(command) if language != Language::JavaScript => {
                acts.push(Act::Run);
                walker.apart(|walker| walker.script(command, &Stream::default()));
                continue;
            }
            // A template tagged with `$` is a command (Bun, zx).
            Token::Quoted(command) if at > 0 && tokens[at - 1] == Token::Sign('$') => {
                acts.push(Act::Run);
                walker.apart(|walker| walker.script(command, &Stream::default()));
                continue;
            }
            Token::Name(name) => name.replace("::", "."),
            _ => continue,
        };
        // `do "file"` and `require "file"` run the file.
        if language == Language::Perl && matches!(name.as_str(), "do" | "require") {
            match tokens.get(at + 1..).unwrap_or_default() {
                [Token::Sign('('), Token::Text(path), ..] | [Token::Text(path), ..] => {
                    acts.push(Act::Evaluate);
                    let text = walker.program_text(path);
                    if let Text::Known(text) = text {
                        let within = walker.deeper(|walker| judge(walker, language, &text));
                        if within.is_none() {
                            walker.findings.ask(rules::TOO_COMPLEX, "files of code run each other too deeply");
                        }
                    }
                }
                [Token::Sign('$' | '(' | '@') | Token::Quoted(_), ..] => acts.push(Act::Evaluate),
                _ => {}
            }
            continue;
        }
        let Some(act) = act_of(&name, language) else { continue };
        if !is_used(&tokens, at, act) {
            continue;
        }
        let arguments = arguments(&tokens, at + 1);
        if let Some(path) = plain_read(act, &arguments, language) {
            walker.read(path, By::Shell);
            continue;
        }
        acts.push(act);
        act_on(walker, act, &name, &arguments, &variables, language);
    }
    combined(walker, &acts, &tokens);
    impure |= !acts.is_empty();
    if impure {
        named_paths(walker, &tokens, &acts);
        walker.findings.ask(rules::RUN_CODE, "the code does more than compute");
    }
}

/// The file that Python's `open("…")` only reads, if its path is a literal. Judged like `cat`.
fn plain_read(act: Act, arguments: &[Token], language: Language) -> Option<&str> {
    let [Token::Sign('('), Token::Text(path), rest @ ..] = arguments else { return None };
    let is_told = |token: &Token| match token {
        Token::Text(text) => !(text.len() <= 4 && text.contains(['w', 'a', 'x', '+'])),
        Token::Name(name) => matches!(name.as_str(), "mode" | "encoding" | "newline" | "errors"),
        Token::Sign(sign) => matches!(sign, ',' | '='),
        Token::Quoted(_) => false,
    };
    let separate = rest.first().is_none_or(|token| *token == Token::Sign(','));
    (act == Act::Open && language == Language::Python && separate && rest.iter().all(is_told)).then_some(path)
}

/// Whether a program in a language without close reading only computes: all its words are known to only compute, and no
/// string can hold code. Called functions must be named: `$f("…")` and `("sys"."tem")("…")` can call anything.
fn computes(tokens: &[Token]) -> bool {
    let calls_what_it_made = tokens.windows(2).enumerate().any(|(at, pair)| match pair {
        [Token::Text(_) | Token::Sign(')' | ']' | '}'), Token::Sign('(')] => true,
        [Token::Name(_), Token::Sign('(')] => at > 0 && tokens[at - 1] == Token::Sign('$'),
        _ => false,
    });
    !calls_what_it_made
        && tokens.iter().all(|token| match token {
            Token::Name(name) => {
                let parts = || name.split(['.', ':']).filter(|part| !part.is_empty());
                name.len() == 1 || parts().all(acts::only_computes)
            }
            Token::Text(text) => !text.contains(['$', '[', '{', '`', '@']),
            Token::Quoted(_) => false,
            Token::Sign(_) => true,
        })
}

/// Whether a sign may mean something else in one of the languages without close reading: `#` may be an operator, and a
/// single quote may be no quote, so that what looks like a remark or a text is code.
fn may_hide(source: &str) -> bool {
    let single = source.split('\'').skip(1).step_by(2);
    source.contains('#')
        || source.contains("/*")
        || source.contains("//")
        || single.into_iter().any(|text| text.contains(['(', ';', '"', '\n', '\\']))
}

/// Whether Python itself has a module of this name.
fn is_python_module(name: &str) -> bool {
    static MODULES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
        let lines = include_str!("../reading/python_modules.txt").lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_ascii_whitespace).collect()
    });
    MODULES.contains(name)
}

/// Names that matter only if they are used in a certain way.
fn is_used(tokens: &[Token], at: usize, act: Act) -> bool {
    let next = tokens.get(at + 1);
    let called = matches!(next, Some(Token::Sign('(')));
    let worded = matches!(next, Some(Token::Text(_) | Token::Quoted(_) | Token::Sign('{' | '<')));
    let defined =
        at > 0 && matches!(&tokens[at - 1], Token::Name(word) if word == "def" || word == "function" || word == "sub");
    !defined
        && (called
            || worded
            || !matches!(
                act,
                Act::Open
                    | Act::Connect
                    | Act::Send
                    | Act::Evaluate
                    | Act::Write
                    | Act::Delete
                    | Act::Kill
                    | Act::Run
                    | Act::Listen
            )
            || matches!(next, Some(Token::Sign('$') | Token::Name(_))))
}

fn tokens(source: &str, language: Language) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let line_comment = (c == '#' && language != Language::JavaScript)
            || (c == '/' && chars.get(at + 1) == Some(&'/') && language == Language::JavaScript);
        if line_comment {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if c == '"' || c == '\'' || c == '`' {
            let triple = language == Language::Python && chars[at..].starts_with(&[c, c, c]);
            let (text, end) = string(&chars, at + if triple { 3 } else { 1 }, c, triple);
            out.push(if c == '`' { Token::Quoted(text) } else { Token::Text(text) });
            at = end;
        } else if c.is_alphabetic() || c == '_' {
            let start = at;
            while at < chars.len()
                && (chars[at].is_alphanumeric()
                    || chars[at] == '_'
                    || (matches!(chars[at], '.' | ':')
                        && chars.get(at + 1).is_some_and(|n| n.is_alphabetic() || matches!(n, '_' | ':'))))
            {
                at += 1;
            }
            out.push(Token::Name(chars[start..at].iter().collect()));
        } else if c == '.' && chars.get(at + 1).is_some_and(|n| n.is_alphabetic() || *n == '_') {
            // A member of an expression: `f().kill`.
            let start = at;
            at += 1;
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
            out.push(Token::Name(chars[start..at].iter().collect()));
        } else {
            if !c.is_whitespace() && !c.is_ascii_digit() {
                out.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    out
}

/// The text of a string that opens before `at`, and the index after it.
fn string(chars: &[char], mut at: usize, quote: char, triple: bool) -> (String, usize) {
    let mut text = String::new();
    while at < chars.len() {
        if chars[at] == '\\' && at + 1 < chars.len() {
            text.extend([chars[at], chars[at + 1]]);
            at += 2;
        } else if chars[at] == quote && (!triple || chars[at..].starts_with(&[quote, quote, quote])) {
            return (content::unescaped(&text), at + if triple { 3 } else { 1 });
        } else {
            text.push(chars[at]);
            at += 1;
        }
    }
    (content::unescaped(&text), at)
}

/// Names that are given a string once: `path = "/etc/x"`.
fn literals(tokens: &[Token]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for (at, window) in tokens.windows(2).enumerate() {
        if window[0] != Token::Sign('=') || at == 0 {
            continue;
        }
        // A prefix (`f"…"`, `b"…"`) may precede the string.
        let text = match (&window[1], tokens.get(at + 2)) {
            (Token::Text(text), _) => Some(text),
            (Token::Name(prefix), Some(Token::Text(text))) if prefix.len() <= 2 => Some(text),
            _ => None,
        };
        if let (Token::Name(name), Some(text)) = (&tokens[at - 1], text) {
            out.insert(name.clone(), text.clone());
        }
    }
    out
}

/// The tokens in the brackets after a call; without brackets, up to the end of the statement.
fn arguments(tokens: &[Token], from: usize) -> Vec<Token> {
    let bracketed = tokens.get(from) == Some(&Token::Sign('('));
    let mut depth = 0;
    let mut out = Vec::new();
    for token in tokens.iter().skip(from).take(64) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => {
                depth -= 1;
                if depth <= 0 {
                    break;
                }
            }
            Token::Sign(';') if !bracketed => break,
            _ => {}
        }
        out.push(token.clone());
    }
    out
}

/// The strings among the arguments, also names with a known string.
fn texts(arguments: &[Token], variables: &BTreeMap<String, String>) -> Vec<String> {
    arguments
        .iter()
        .filter_map(|token| match token {
            Token::Text(text) | Token::Quoted(text) => Some(text.clone()),
            Token::Name(name) => variables.get(name).cloned(),
            Token::Sign(_) => None,
        })
        .collect()
}

fn act_on(
    walker: &mut Walker,
    act: Act,
    name: &str,
    arguments: &[Token],
    variables: &BTreeMap<String, String>,
    language: Language,
) {
    let texts = texts(arguments, variables);
    let first = texts.first().cloned();
    match act {
        Act::Run => {
            walker.findings.ask(rules::RUN_CODE, format!("{name} runs a program"));
            let listed = arguments.contains(&Token::Sign('['));
            let separate = listed
                || (texts.len() > 1
                    && !matches!(name.rsplit('.').next(), Some("popen" | "Popen" | "run" | "check_output")));
            match first {
                Some(_) if separate => {
                    walker.apart(|walker| walker.words(texts.clone(), Stream::default()));
                }
                Some(source) => {
                    walker.apart(|walker| walker.script(&source, &Stream::default()));
                }
                None => {}
            }
        }
        Act::Delete => match first {
            Some(path) => walker.delete(&path, name.contains("rm") || name.contains("tree") || name.contains("rf")),
            None => walker.findings.ask(rules::UNKNOWN_PATH, format!("what {name} deletes is known only when it runs")),
        },
        Act::Open => {
            let Some(path) = first.clone() else { return };
            let (path, perl_write) = match path.trim_start().strip_prefix('>') {
                Some(rest) => (rest.trim_start_matches('>').trim().to_owned(), true),
                None => (path, false),
            };
            let mode = texts
                .iter()
                .skip(1)
                .chain(first.as_ref().filter(|_| language == Language::Perl))
                .find(|text| text.len() <= 4 && text.contains(['w', 'a', 'x', '+', '>']));
            let path = if language == Language::Perl && path.len() <= 3 {
                texts.get(1).cloned().unwrap_or(path)
            } else {
                path
            };
            if path.starts_with('|') || path.ends_with('|') {
                walker.apart(|walker| walker.script(path.trim_matches('|'), &Stream::default()));
            } else if mode.is_some() || perl_write {
                walker.write(&path);
            } else {
                walker.read(&path, By::Shell);
            }
        }
        Act::Write => {
            for path in
                texts.iter().take(2).filter(|text| text.contains(['/', '.', '~']) && !text.contains(['\n', ' ']))
            {
                if path.contains("://") { walker.fetch(path) } else { walker.write(path) }
            }
        }
        Act::Read => {
            if let Some(path) = first.filter(|path| !path.contains("://")) {
                walker.read(&path, By::Shell);
            }
        }
        Act::Connect | Act::Send => {
            for url in texts.iter().filter(|text| text.contains("://")) {
                walker.fetch(url);
            }
            walker.findings.ask(rules::REMOTE_CHANGE, format!("{name} speaks to another machine"));
        }
        Act::Listen => walker.findings.ask(rules::SERVE, format!("{name} waits for connections")),
        Act::Kill => walker.findings.ask(rules::PROCESS, format!("{name} ends processes")),
        Act::Evaluate => {
            walker.findings.ask(rules::RUN_CODE, format!("{name} runs what it is given"));
            // Code in a string is code.
            if let Some(inner) =
                first.filter(|_| matches!(name, "eval" | "exec" | "loadstring" | "Function" | "compile"))
            {
                judge(walker, language, &inner);
            }
        }
        Act::Fork => walker.findings.ask(rules::EXHAUST, "processes are started by fork"),
    }
}

/// Acts that are worse together.
fn combined(walker: &mut Walker, acts: &[Act], tokens: &[Token]) {
    let has = |act: Act| acts.contains(&act);
    let names = |words: &[&str]| {
        tokens.iter().any(|token| matches!(token, Token::Name(name) if words.iter().any(|word| name.rsplit('.').next() == Some(word))))
    };
    let connects = has(Act::Connect) || has(Act::Listen);
    let raw = names(&[
        "recv",
        "receive",
        "accept",
        "gets",
        "dup2",
        "makefile",
        "getOutputStream",
        "TCPSocket",
        "sockaddr_in",
        "fsockopen",
        "INET",
    ]);
    if connects && raw && has(Act::Run) {
        walker.findings.block(rules::BACKDOOR, "the code gives the other end of a connection control of a program");
    }
    let endless = tokens.windows(2).any(|pair| {
        pair[0] == Token::Name(String::from("while"))
            && matches!(&pair[1], Token::Name(word) if word == "True" || word == "true")
    });
    if has(Act::Fork) && endless {
        walker.findings.block(rules::FORK_BOMB, "the code starts processes without end");
    }
}

/// Strings that are paths, in code whose acts can't be traced to its paths.
fn named_paths(walker: &mut Walker, tokens: &[Token], acts: &[Act]) {
    let writes = acts.iter().any(|act| matches!(act, Act::Open | Act::Write | Act::Delete));
    for token in tokens {
        let Token::Text(text) = token else { continue };
        if writes && walker.setting.own.is_named_like(text) {
            let place = walker.place(text);
            walker.guards_change(&place.path, place.own);
        }
        let is_path = text.len() < 256
            && (text.starts_with('/') || text.starts_with('~'))
            && !text.contains(['\n', ' ', '*'])
            && text.len() > 2;
        if !is_path {
            continue;
        }
        let place = walker.place(text);
        if place.kind == Kind::Secret {
            walker.read(text, By::Shell);
        } else if writes && matches!(place.zone, Zone::Outside | Zone::Above) && !place.path.starts_with("/dev/") {
            walker.findings.ask(
                rules::WRITE_OUTSIDE,
                format!("{} is outside of the working folder, and the code changes files", place.path),
            );
        }
    }
}

fn imports_others(tokens: &[Token], language: Language) -> bool {
    // A module that stands last counts too.
    let tokens = [tokens, &[Token::Sign(';')]].concat();
    tokens.windows(3).any(|window| match (&window[0], &window[1], &window[2]) {
        (Token::Name(word), Token::Name(module), _)
            if word == "import" || (word == "from" && language == Language::Python) =>
        {
            !is_pure(module) && !imported_from_pure(&tokens, module)
        }
        (Token::Name(word), Token::Name(module), _) if word == "use" && language == Language::Perl => {
            !is_pure(module) && plain::module(language, module).is_none()
        }
        (Token::Name(word), Token::Sign('('), Token::Text(module)) | (Token::Name(word), Token::Text(module), _)
            if word == "require" || word == "from" || word == "import" =>
        {
            let module = module.trim_start_matches("node:");
            !is_pure(module) && plain::module(language, module).is_none()
        }
        _ => false,
    })
}

/// `from math import sqrt`: the name after `import` is not a module.
fn imported_from_pure(tokens: &[Token], name: &str) -> bool {
    tokens.windows(4).any(|window| {
        matches!((&window[0], &window[1], &window[2], &window[3]), (Token::Name(from), Token::Name(module), Token::Name(import), Token::Name(item))
            if from == "from" && import == "import" && item == name && is_pure(module) && !item.starts_with('_') && !is_python_module(item))
    })
}
