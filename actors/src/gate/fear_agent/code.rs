//! Programs in other languages, by what they call. There is no parser for each of them: the text is cut into names, strings and
//! signs, and calls that act are judged by the strings given to them. What can't be told is asked, never passed.

use std::collections::BTreeMap;

use super::content;
use super::effects::By;
use super::paths::{Kind, Zone};
use super::shell::{Stream, Walker};
use super::verdict::rules;

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

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Run,
    Delete,
    Open,
    Write,
    Read,
    Connect,
    Listen,
    Send,
    Kill,
    Evaluate,
    Fork,
}

/// By the last part of a name; a dot before it means that the part must be a member of something.
const ACTS: &[(&str, Act)] = &[
    ("system", Act::Run),
    ("popen", Act::Run),
    ("Popen", Act::Run),
    ("getoutput", Act::Run),
    ("getstatusoutput", Act::Run),
    ("check_call", Act::Run),
    ("check_output", Act::Run),
    ("subprocess.run", Act::Run),
    ("subprocess.call", Act::Run),
    ("shell_exec", Act::Run),
    ("passthru", Act::Run),
    ("proc_open", Act::Run),
    ("pcntl_exec", Act::Run),
    ("execSync", Act::Run),
    ("spawn", Act::Run),
    ("spawnSync", Act::Run),
    ("execFile", Act::Run),
    ("execFileSync", Act::Run),
    ("execa", Act::Run),
    ("execv", Act::Run),
    ("execve", Act::Run),
    ("execvp", Act::Run),
    ("execl", Act::Run),
    ("execlp", Act::Run),
    ("execle", Act::Run),
    ("spawnl", Act::Run),
    ("spawnv", Act::Run),
    ("spawnvp", Act::Run),
    ("posix_spawn", Act::Run),
    ("startfile", Act::Run),
    ("pty.spawn", Act::Run),
    ("os.execute", Act::Run),
    ("Open3.capture2", Act::Run),
    ("Open3.capture3", Act::Run),
    ("Open3.popen3", Act::Run),
    ("ProcessBuilder", Act::Run),
    ("getRuntime", Act::Run),
    ("create_subprocess_shell", Act::Run),
    ("create_subprocess_exec", Act::Run),
    ("Deno.run", Act::Run),
    ("Deno.Command", Act::Run),
    ("Bun.spawn", Act::Run),
    ("qx", Act::Run),
    ("syscall", Act::Run),
    ("exec", Act::Run),
    ("system2", Act::Run),
    ("runInNewContext", Act::Evaluate),
    ("os.remove", Act::Delete),
    ("os.unlink", Act::Delete),
    ("os.rmdir", Act::Delete),
    ("os.removedirs", Act::Delete),
    ("rmtree", Act::Delete),
    ("rm_rf", Act::Delete),
    ("rm_r", Act::Delete),
    ("rm_f", Act::Delete),
    ("FileUtils.rm", Act::Delete),
    ("remove_dir", Act::Delete),
    ("remove_entry_secure", Act::Delete),
    ("File.delete", Act::Delete),
    ("File.unlink", Act::Delete),
    ("Dir.rmdir", Act::Delete),
    ("Dir.delete", Act::Delete),
    ("unlink", Act::Delete),
    ("unlinkSync", Act::Delete),
    ("rmSync", Act::Delete),
    ("rmdirSync", Act::Delete),
    ("fs.rm", Act::Delete),
    ("fs.rmdir", Act::Delete),
    ("rimraf", Act::Delete),
    ("remove_tree", Act::Delete),
    ("removeSync", Act::Delete),
    ("rmdir", Act::Delete),
    ("Deno.remove", Act::Delete),
    ("send2trash", Act::Delete),
    ("open", Act::Open),
    ("fopen", Act::Open),
    ("fdopen", Act::Open),
    ("openSync", Act::Open),
    ("file_put_contents", Act::Write),
    ("writeFile", Act::Write),
    ("writeFileSync", Act::Write),
    ("appendFile", Act::Write),
    ("appendFileSync", Act::Write),
    ("createWriteStream", Act::Write),
    ("File.write", Act::Write),
    ("IO.write", Act::Write),
    ("write_text", Act::Write),
    ("write_bytes", Act::Write),
    ("os.rename", Act::Write),
    ("os.replace", Act::Write),
    ("os.symlink", Act::Write),
    ("os.link", Act::Write),
    ("os.chmod", Act::Write),
    ("os.chown", Act::Write),
    ("os.truncate", Act::Write),
    ("shutil.move", Act::Write),
    ("shutil.copy", Act::Write),
    ("shutil.copyfile", Act::Write),
    ("shutil.copy2", Act::Write),
    ("shutil.copytree", Act::Write),
    ("os.mkdir", Act::Write),
    ("os.makedirs", Act::Write),
    ("mkdirSync", Act::Write),
    ("copyFileSync", Act::Write),
    ("renameSync", Act::Write),
    ("symlinkSync", Act::Write),
    ("chmodSync", Act::Write),
    ("FileUtils.cp", Act::Write),
    ("FileUtils.mv", Act::Write),
    ("FileUtils.ln_s", Act::Write),
    ("to_csv", Act::Write),
    ("to_json", Act::Write),
    ("urlretrieve", Act::Write),
    ("mkdir", Act::Write),
    ("chmod", Act::Write),
    ("rename", Act::Write),
    ("symlink", Act::Write),
    ("writelines", Act::Write),
    ("extractall", Act::Write),
    ("savefig", Act::Write),
    ("sqlite3.connect", Act::Write),
    ("readFile", Act::Read),
    ("readFileSync", Act::Read),
    ("File.read", Act::Read),
    ("IO.read", Act::Read),
    ("file_get_contents", Act::Read),
    ("readfile", Act::Read),
    ("read_text", Act::Read),
    ("read_bytes", Act::Read),
    ("read_csv", Act::Read),
    ("createReadStream", Act::Read),
    ("listdir", Act::Read),
    ("glob.glob", Act::Read),
    ("os.walk", Act::Read),
    ("readdirSync", Act::Read),
    ("connect", Act::Connect),
    ("connect_ex", Act::Connect),
    ("create_connection", Act::Connect),
    ("createConnection", Act::Connect),
    ("TCPSocket", Act::Connect),
    ("fsockopen", Act::Connect),
    ("pfsockopen", Act::Connect),
    ("IO.Socket.INET", Act::Connect),
    ("Socket", Act::Connect),
    ("socket.socket", Act::Connect),
    ("UDPSocket", Act::Connect),
    ("TCPClient", Act::Connect),
    ("tcp", Act::Connect),
    ("bind", Act::Listen),
    ("listen", Act::Listen),
    ("createServer", Act::Listen),
    ("TCPServer", Act::Listen),
    ("HTTPServer", Act::Listen),
    ("ThreadingHTTPServer", Act::Listen),
    ("serve_forever", Act::Listen),
    ("requests.post", Act::Send),
    ("requests.put", Act::Send),
    ("requests.patch", Act::Send),
    ("requests.delete", Act::Send),
    ("requests.get", Act::Send),
    ("requests.request", Act::Send),
    ("httpx.post", Act::Send),
    ("httpx.get", Act::Send),
    ("urlopen", Act::Send),
    ("fetch", Act::Send),
    ("axios", Act::Send),
    ("axios.get", Act::Send),
    ("axios.post", Act::Send),
    ("http.get", Act::Send),
    ("https.get", Act::Send),
    ("http.request", Act::Send),
    ("https.request", Act::Send),
    ("Net.HTTP", Act::Send),
    ("sendmail", Act::Send),
    ("SMTP", Act::Send),
    ("FTP", Act::Send),
    ("HTTPConnection", Act::Send),
    ("HTTPSConnection", Act::Send),
    ("curl_exec", Act::Send),
    ("LWP", Act::Send),
    ("sendto", Act::Send),
    ("sendall", Act::Send),
    ("os.kill", Act::Kill),
    ("os.killpg", Act::Kill),
    ("process.kill", Act::Kill),
    ("Process.kill", Act::Kill),
    (".kill", Act::Kill),
    (".terminate", Act::Kill),
    ("kill", Act::Kill),
    ("posix_kill", Act::Kill),
    ("os.abort", Act::Kill),
    ("eval", Act::Evaluate),
    ("compile", Act::Evaluate),
    ("__import__", Act::Evaluate),
    ("import_module", Act::Evaluate),
    ("loads", Act::Evaluate),
    ("pickle.load", Act::Evaluate),
    ("yaml.load", Act::Evaluate),
    ("Function", Act::Evaluate),
    ("loadstring", Act::Evaluate),
    ("instance_eval", Act::Evaluate),
    ("create_function", Act::Evaluate),
    ("ctypes", Act::Evaluate),
    ("unserialize", Act::Evaluate),
    ("Marshal.load", Act::Evaluate),
    ("__subclasses__", Act::Evaluate),
    ("__builtins__", Act::Evaluate),
    ("__globals__", Act::Evaluate),
    ("setattr", Act::Evaluate),
    ("dlopen", Act::Evaluate),
    ("CDLL", Act::Evaluate),
    ("runpy", Act::Evaluate),
    ("vm", Act::Evaluate),
    ("fork", Act::Fork),
    ("pcntl_fork", Act::Fork),
];

/// Modules whose use can't reach anything outside of the program.
const PURE_MODULES: &[&str] = &[
    "math",
    "cmath",
    "random",
    "statistics",
    "decimal",
    "fractions",
    "numbers",
    "datetime",
    "time",
    "calendar",
    "zoneinfo",
    "re",
    "string",
    "textwrap",
    "unicodedata",
    "difflib",
    "json",
    "csv",
    "collections",
    "itertools",
    "functools",
    "operator",
    "heapq",
    "bisect",
    "copy",
    "enum",
    "dataclasses",
    "typing",
    "abc",
    "hashlib",
    "hmac",
    "base64",
    "binascii",
    "struct",
    "pprint",
    "uuid",
    "secrets",
    "numpy",
    "np",
    "pandas",
    "sympy",
    "scipy",
    "array",
    "contextlib",
    "io",
    "html",
    "colorsys",
    "graphlib",
    "__future__",
    "types",
    "warnings",
    "traceback",
    "timeit",
    "util",
    "assert",
    "path",
    "url",
    "querystring",
    "strict",
    "warnings",
    "List",
    "POSIX",
    "set",
    "bigdecimal",
    "date",
    "prime",
    "matrix",
    "sys",
    "typing_extensions",
    "platform",
    "locale",
    "collections.abc",
    "os.path",
    "perf_hooks",
    "buffer",
    "punycode",
    "string_decoder",
];

/// Judges a program text. Pure computing is free; whatever acts is at least asked.
pub(super) fn judge(walker: &mut Walker, language: Language, source: &str) {
    let tokens = tokens(source, language);
    let variables = literals(&tokens);
    let mut acts: Vec<Act> = Vec::new();
    let mut impure = imports_others(&tokens, language) || (language == Language::Other && !tokens.is_empty());
    for (at, token) in tokens.iter().enumerate() {
        let name = match token {
            Token::Quoted(command) if language != Language::JavaScript => {
                acts.push(Act::Run);
                walker.apart(|walker| walker.script(command, &Stream::default()));
                continue;
            }
            Token::Name(name) => name.replace("::", "."),
            _ => continue,
        };
        let Some(act) = act_of(&name, language) else { continue };
        if !is_used(&tokens, at, act) {
            continue;
        }
        acts.push(act);
        act_on(walker, act, &name, &arguments(&tokens, at + 1), &variables, language);
    }
    combined(walker, &acts, &tokens);
    impure |= !acts.is_empty();
    if impure {
        named_paths(walker, &tokens, &acts);
        walker.findings.ask(rules::RUN_CODE, "the code does more than compute");
    }
}

/// Names that matter only when something is done with them.
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

fn act_of(name: &str, language: Language) -> Option<Act> {
    let last = name.rsplit('.').next().unwrap_or(name);
    if last == "exec"
        && name != "exec"
        && !name.contains("child_process")
        && !name.contains("cp.")
        && !name.ends_with("Runtime.exec")
    {
        return None;
    }
    if last == "exec" && language == Language::Python {
        return Some(Act::Evaluate);
    }
    if matches!(
        name,
        "re.compile" | "json.loads" | "tomllib.loads" | "orjson.loads" | "yaml.safe_load" | "ujson.loads" | "socket"
    ) || (last == "compile" && name != "compile")
    {
        return None;
    }
    let matches = |pattern: &str| match pattern.strip_prefix('.') {
        Some(member) => last == member && name != member,
        None if pattern.contains('.') => name == pattern || name.ends_with(&format!(".{pattern}")),
        None => last == pattern,
    };
    ACTS.iter().find(|(pattern, _)| matches(pattern)).map(|(_, act)| *act)
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
        // A prefix (`f"…"`, `b"…"`) may stand before the string.
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

/// The tokens between the brackets after a call, or up to the end of the statement without them.
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

/// The strings among arguments, names with a known string included; `None` when there is none.
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
            let listed = arguments.iter().any(|token| *token == Token::Sign('['));
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
        walker
            .findings
            .block(rules::BACKDOOR, "the code gives a program to whoever is at the other end of a connection");
    }
    let endless = tokens.windows(2).any(|pair| {
        pair[0] == Token::Name(String::from("while"))
            && matches!(&pair[1], Token::Name(word) if word == "True" || word == "true")
    });
    if has(Act::Fork) && endless {
        walker.findings.block(rules::FORK_BOMB, "the code starts processes without end");
    }
}

/// Strings that are paths, where code acts in ways that can't be followed to them.
fn named_paths(walker: &mut Walker, tokens: &[Token], acts: &[Act]) {
    let writes = acts.iter().any(|act| matches!(act, Act::Open | Act::Write | Act::Delete));
    for token in tokens {
        let Token::Text(text) = token else { continue };
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
    let pure = |name: &str| {
        let root = name.split(['.', ':']).next().unwrap_or(name);
        PURE_MODULES.contains(&name) || PURE_MODULES.contains(&root) && root != "os"
    };
    tokens.windows(3).any(|window| match (&window[0], &window[1], &window[2]) {
        (Token::Name(word), Token::Name(module), _)
            if word == "import" || (word == "from" && language == Language::Python) =>
        {
            !pure(module) && !imported_from_pure(tokens, module, &pure)
        }
        (Token::Name(word), Token::Name(module), _) if word == "use" && language == Language::Perl => !pure(module),
        (Token::Name(word), Token::Sign('('), Token::Text(module)) | (Token::Name(word), Token::Text(module), _)
            if word == "require" || word == "from" || word == "import" =>
        {
            !pure(module.trim_start_matches("node:"))
        }
        _ => false,
    })
}

/// `from math import sqrt`: the name after `import` is not a module.
fn imported_from_pure(tokens: &[Token], name: &str, pure: &impl Fn(&str) -> bool) -> bool {
    tokens.windows(4).any(|window| {
        matches!((&window[0], &window[1], &window[2], &window[3]), (Token::Name(from), Token::Name(module), Token::Name(import), Token::Name(item))
            if from == "from" && import == "import" && item == name && pure(module))
    })
}
