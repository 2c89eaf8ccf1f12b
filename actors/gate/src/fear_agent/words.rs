//! Words as the shell would expand them: quotes, escapes, variables, braces and substitutions. What only the running
//! shell would know becomes [`UNKNOWN`]. Substitutions are judged when they are met, because they run.

mod braces;

use super::paths::UNKNOWN;
use super::shell::Walker;
use braces::braces;

/// Most words that one brace expression may become.
const BRACE_LIMIT: usize = 64;
/// Separates the words of `"$@"` and of arrays until the fields are split.
pub(super) const BETWEEN: char = '\u{1}';

/// A reader over the characters of one word.
struct Scan {
    chars: Vec<char>,
    at: usize,
}

impl Scan {
    fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0 }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> String {
        let start = self.at.min(self.chars.len());
        while self.peek().is_some_and(&accept) {
            self.at += 1;
        }
        self.chars[start..self.at.min(self.chars.len())].iter().collect()
    }

    /// Text up to the unescaped `end`, which is consumed; `end` in quotes doesn't count when `quotes`.
    fn until(&mut self, end: char) -> String {
        let mut out = String::new();
        while let Some(c) = self.next() {
            if c == end {
                break;
            }
            out.push(c);
            if c == '\\' && end != '\'' {
                out.extend(self.next());
            }
        }
        out
    }

    /// Text up to the bracket that closes an already read one. Respects quotes and nesting.
    fn balanced(&mut self, open: char, close: char) -> String {
        let mut out = String::new();
        let mut depth = 1;
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    out.push(c);
                    out.extend(self.next());
                    continue;
                }
                '\'' => {
                    out.push(c);
                    out.push_str(&self.until('\''));
                    out.push('\'');
                    continue;
                }
                '"' => {
                    out.push(c);
                    out.push_str(&self.double_quoted());
                    out.push('"');
                    continue;
                }
                // `${a[$(echo ])]}`: brackets within a substitution belong to it.
                '$' if self.peek() == Some('(') => {
                    self.at += 1;
                    out.push_str("$(");
                    out.push_str(&self.balanced('(', ')'));
                    out.push(')');
                    continue;
                }
                '`' => {
                    out.push(c);
                    out.push_str(&self.until('`'));
                    out.push('`');
                    continue;
                }
                _ if c == open => depth += 1,
                _ if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
            out.push(c);
        }
        out
    }

    /// Text up to the closing double quote, which is consumed. Quotes within `$(…)` are skipped.
    fn double_quoted(&mut self) -> String {
        let mut out = String::new();
        while let Some(c) = self.next() {
            match c {
                '"' => break,
                '\\' => {
                    out.push(c);
                    out.extend(self.next());
                }
                '$' if self.peek() == Some('(') => {
                    self.at += 1;
                    out.push_str("$(");
                    out.push_str(&self.balanced('(', ')'));
                    out.push(')');
                }
                '$' if self.peek() == Some('{') => {
                    self.at += 1;
                    out.push_str("${");
                    out.push_str(&self.balanced('{', '}'));
                    out.push('}');
                }
                _ => out.push(c),
            }
        }
        out
    }
}

/// The fields under construction. Unquoted white space from an expansion starts a new one.
#[derive(Default)]
struct Fields {
    done: Vec<String>,
    open: Option<String>,
    split: bool,
}

impl Fields {
    fn push(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
    }

    fn push_split(&mut self, value: &str) {
        if !self.split {
            return self.push(value);
        }
        for (index, part) in value.split([' ', '\t', '\n', BETWEEN]).enumerate() {
            if index > 0 {
                self.done.extend(self.open.take());
            }
            if !part.is_empty() {
                self.push(part);
            }
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.done.extend(self.open.take());
        self.done
    }
}

impl Walker<'_> {
    /// The fields that one word of the source becomes.
    pub(super) fn expand(&mut self, raw: &str) -> Vec<String> {
        let mut out = Vec::new();
        for word in braces(raw) {
            let (fields, origins) = self.tracing(|walker| {
                let mut fields = Fields { split: true, ..Fields::default() };
                walker.expand_into(&word, &mut fields, false);
                fields.finish()
            });
            let fields: Vec<String> = fields.iter().flat_map(|field| field.split(BETWEEN)).map(str::to_owned).collect();
            self.notes_computed(&fields, &origins);
            out.extend(fields);
        }
        out
    }

    /// One string: assignments, redirection targets, the subject of `case`.
    pub(super) fn expand_single(&mut self, raw: &str) -> String {
        let mut fields = Fields::default();
        self.expand_into(raw, &mut fields, false);
        fields.finish().concat().replace(BETWEEN, " ")
    }

    /// A here-document: quotes are ordinary characters, substitutions run.
    pub(super) fn expand_document(&mut self, raw: &str) -> String {
        let mut fields = Fields::default();
        self.expand_into(raw, &mut fields, true);
        fields.finish().concat().replace(BETWEEN, " ")
    }

    /// `plain_quotes`: within double quotes or a here-document.
    fn expand_into(&mut self, raw: &str, fields: &mut Fields, plain_quotes: bool) {
        let mut scan = Scan::new(raw);
        while let Some(c) = scan.next() {
            match c {
                '\\' if plain_quotes => match scan.peek() {
                    Some('\n') => scan.at += 1,
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        scan.at += 1;
                        fields.push(next.encode_utf8(&mut [0; 4]));
                    }
                    _ => fields.push("\\"),
                },
                '\\' => match scan.next() {
                    Some('\n') | None => {}
                    Some(next) => fields.push(next.encode_utf8(&mut [0; 4])),
                },
                '\'' if !plain_quotes => {
                    let text = scan.until('\'');
                    fields.push(&text);
                }
                '"' if !plain_quotes => {
                    let inner = scan.double_quoted();
                    let mut quoted = Fields::default();
                    self.expand_into(&inner, &mut quoted, true);
                    fields.push(&quoted.finish().concat());
                }
                '`' => {
                    let source = scan.until('`').replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
                    let value = self.substitute(&source);
                    fields.push_split(&value);
                }
                '$' => self.expand_dollar(&mut scan, fields, plain_quotes),
                '<' | '>' if !plain_quotes && scan.peek() == Some('(') => {
                    scan.at += 1;
                    let source = scan.balanced('(', ')');
                    self.substitute(&source);
                    fields.push("/dev/fd/63");
                }
                _ => fields.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    fn expand_dollar(&mut self, scan: &mut Scan, fields: &mut Fields, plain_quotes: bool) {
        match scan.peek() {
            Some('\'') if !plain_quotes => {
                scan.at += 1;
                let text = scan.until_ansi();
                fields.push(&super::content::unescaped(&text));
            }
            Some('"') if !plain_quotes => {}
            Some('(') if scan.peek_at(1) == Some('(') => {
                scan.at += 1;
                let inner = scan.balanced('(', ')');
                // `$((a) ; b)` is a command in a subshell, `$((a + b))` a number.
                let mut rest = Scan { chars: inner.chars().skip(1).collect(), at: 0 };
                let expression = rest.balanced('(', ')');
                if rest.peek().is_some() {
                    self.substitute(&inner);
                } else {
                    self.arithmetic(&expression);
                    self.doubtful_arithmetic(&expression);
                }
                fields.push(UNKNOWN.encode_utf8(&mut [0; 4]));
            }
            Some('(') => {
                scan.at += 1;
                let source = scan.balanced('(', ')');
                let value = self.substitute(&source);
                if plain_quotes { fields.push(&value) } else { fields.push_split(&value) }
            }
            Some('{') => {
                scan.at += 1;
                let inner = scan.balanced('{', '}');
                let value = self.parameter(&inner);
                if plain_quotes { fields.push(&value) } else { fields.push_split(&value) }
            }
            Some('[') => {
                scan.at += 1;
                let expression = scan.balanced('[', ']');
                self.arithmetic(&expression);
                fields.push(UNKNOWN.encode_utf8(&mut [0; 4]));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = scan.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                let value = self.variable(&name);
                self.traces_variable(&name, &value);
                if plain_quotes { fields.push(&value) } else { fields.push_split(&value) }
            }
            Some('@') if plain_quotes => {
                scan.at += 1;
                let value = self.words_of("@").join(BETWEEN.encode_utf8(&mut [0; 4]));
                self.traces_variable("@", &value);
                fields.push(&value);
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                scan.at += 1;
                let value = self.variable(c.encode_utf8(&mut [0; 4]));
                self.traces_variable(c.encode_utf8(&mut [0; 4]), &value);
                if plain_quotes { fields.push(&value) } else { fields.push_split(&value) }
            }
            _ => fields.push("$"),
        }
    }

    /// The value of a variable, as far as the command's text tells it.
    pub(super) fn variable(&self, name: &str) -> String {
        if let Some(value) = self.variables.get(name) {
            return value.replace(BETWEEN, " ");
        }
        match name {
            "HOME" => self.setting.home.to_string_lossy().into_owned(),
            "PWD" => self.cwd.clone(),
            "TMPDIR" => String::from(super::asks::SCRATCH),
            "PATH" => String::from("/usr/local/bin:/usr/bin:/bin"),
            "IFS" => String::from(" \t\n"),
            "SHELL" | "BASH" | "0" => String::from("bash"),
            "?" | "#" if self.positional.is_none() => String::from("0"),
            "@" | "*" => match &self.positional {
                Some(values) => values.join(" "),
                None => UNKNOWN.to_string(),
            },
            _ => match (name.parse::<usize>(), &self.positional) {
                (Ok(index), Some(values)) if index > 0 => match values.get(index - 1) {
                    Some(value) => value.clone(),
                    // An unknown word may be several words.
                    None if values.iter().any(|value| value.contains(UNKNOWN)) => UNKNOWN.to_string(),
                    None => String::new(),
                },
                _ => UNKNOWN.to_string(),
            },
        }
    }

    /// The words of `"$@"` or of an array.
    pub(super) fn words_of(&self, name: &str) -> Vec<String> {
        match (name, &self.positional) {
            ("@" | "*", Some(values)) => values.clone(),
            ("@" | "*", None) => vec![UNKNOWN.to_string()],
            _ => match self.variables.get(name) {
                Some(value) => value.split(BETWEEN).map(str::to_owned).collect(),
                None => vec![self.variable(name)],
            },
        }
    }

    /// `${@…}`, `${a[@]…}`: the operation applies to each word; `:1:2` selects some of them.
    fn each_word(&mut self, name: &str, rest: &str) -> Vec<String> {
        let words = self.words_of(name);
        let slice = rest.strip_prefix(':').filter(|rest| !rest.starts_with(['-', '=', '+', '?']));
        let Some(slice) = slice else {
            if rest.is_empty() {
                return words;
            }
            let words = if words.is_empty() { vec![String::new()] } else { words };
            return words.into_iter().map(|word| self.operate(name, word, rest)).collect();
        };
        let slice = self.expand_single(slice);
        slice.split(':').for_each(|number| self.evaluate(number));
        let mut numbers = slice.split(':').map(|number| number.trim().parse::<usize>());
        let first = usize::from(matches!(name, "@" | "*"));
        match (numbers.next(), numbers.next()) {
            (Some(Ok(from)), None) => words.into_iter().skip(from.saturating_sub(first)).collect(),
            (Some(Ok(from)), Some(Ok(count))) => {
                words.into_iter().skip(from.saturating_sub(first)).take(count).collect()
            }
            // It isn't known which words it selects, so it may be any.
            _ => words,
        }
    }

    /// The inside of `${…}`.
    fn parameter(&mut self, inner: &str) -> String {
        let mut scan = Scan::new(inner);
        let counted = scan.peek() == Some('#') && inner.len() > 1;
        let indirect = scan.peek() == Some('!') && inner.len() > 1;
        if counted || indirect {
            scan.at += 1;
        }
        let mut name = scan.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() {
            name = scan.next().map(String::from).unwrap_or_default();
        }
        let mut all = Some(name.clone()).filter(|name| matches!(name.as_str(), "@" | "*"));
        if scan.peek() == Some('[') {
            scan.at += 1;
            let subscript = scan.balanced('[', ']');
            self.arithmetic(&subscript);
            all = Some(subscript).filter(|subscript| matches!(subscript.as_str(), "@" | "*"));
        }
        if counted {
            return UNKNOWN.to_string();
        }
        if let Some(all) = all.filter(|_| !indirect) {
            let rest: String = scan.chars[scan.at.min(scan.chars.len())..].iter().collect();
            let between = if all == "@" { BETWEEN } else { ' ' };
            let value = self.words_of(&name).concat();
            self.traces_variable(&name, &value);
            return self.each_word(&name, &rest).join(between.encode_utf8(&mut [0; 4]));
        }
        let mut value = self.variable(&name);
        self.traces_variable(&name, &value);
        if indirect {
            self.evaluate_name(&value);
            value = if value.contains(UNKNOWN) { UNKNOWN.to_string() } else { self.variable(&value) };
        }
        let rest: String = scan.chars[scan.at.min(scan.chars.len())..].iter().collect();
        if rest.is_empty() {
            return value;
        }
        self.traces_cut();
        self.operate(&name, value, &rest)
    }

    fn operate(&mut self, name: &str, value: String, rest: &str) -> String {
        let known = !value.contains(UNKNOWN);
        let bare = rest.strip_prefix(':').unwrap_or(rest);
        if rest == "@P" {
            self.once_more(&value);
            return UNKNOWN.to_string();
        }
        if let Some(word) = bare.strip_prefix(['-', '=']) {
            let default = self.expand_single(word);
            // The environment isn't known, so the name stays unknown unless the default could run something.
            if bare.starts_with('=') && !known {
                super::programs::judge_own_environment(self, name, &default);
                if super::reckoned::substitutes(&default) {
                    self.assign(name, default.clone());
                }
            }
            return if known && !value.is_empty() { value } else { default };
        }
        if let Some(word) = bare.strip_prefix('+') {
            return self.expand_single(word);
        }
        if bare.starts_with('?') {
            return value;
        }
        let argument = self.expand_single(rest.trim_start_matches(['#', '%', '/', '^', ',', ':', '@']));
        if rest.starts_with(':') {
            argument.split(':').for_each(|number| self.evaluate(number));
        }
        if !known || argument.contains(UNKNOWN) {
            return if name == "PWD" { value } else { UNKNOWN.to_string() };
        }
        operated(&value, rest, &argument).unwrap_or_else(|| UNKNOWN.to_string())
    }

    /// The output of a substitution: its text if known, without the final newlines.
    fn substitute(&mut self, source: &str) -> String {
        let (out, _) = self.tracing(|walker| walker.subshell(source));
        self.traces_output(&out);
        out.text.map_or_else(|| UNKNOWN.to_string(), |text| text.trim_end_matches('\n').to_owned())
    }
}

impl Scan {
    /// `$'…'`, in which a quote may be escaped.
    fn until_ansi(&mut self) -> String {
        let mut out = String::new();
        while let Some(c) = self.next() {
            if c == '\'' {
                break;
            }
            out.push(c);
            if c == '\\' {
                out.extend(self.next());
            }
        }
        out
    }
}

/// `${x#p}`, `${x%p}`, `${x/a/b}`, `${x:1:2}`, `${x^^}` of a known value, if the pattern is literal or has `*` at one
/// end.
fn operated(value: &str, rest: &str, argument: &str) -> Option<String> {
    let literal = |pattern: &str| !pattern.contains(['*', '?', '[']);
    if rest.starts_with('#') || rest.starts_with('%') {
        let greedy = rest.starts_with("##") || rest.starts_with("%%");
        let (front, back) = (argument.strip_prefix('*'), argument.strip_suffix('*'));
        return Some(match (rest.starts_with('#'), front, back) {
            (true, None, _) if literal(argument) => value.strip_prefix(argument).unwrap_or(value).to_owned(),
            (true, Some(end), _) if literal(end) => {
                let cut = if greedy { value.rfind(end) } else { value.find(end) };
                cut.map_or(value, |at| &value[at + end.len()..]).to_owned()
            }
            (false, _, None) if literal(argument) => value.strip_suffix(argument).unwrap_or(value).to_owned(),
            (false, _, Some(start)) if literal(start) => {
                let cut = if greedy { value.find(start) } else { value.rfind(start) };
                cut.map_or(value, |at| &value[..at]).to_owned()
            }
            // `${file%.*}` of a glob: only a suffix is cut, the folder stays.
            _ => return None,
        });
    }
    if let Some(body) = rest.strip_prefix('/') {
        let all = body.starts_with('/');
        let (pattern, with) = argument.split_once('/').unwrap_or((argument, ""));
        return literal(pattern)
            .then(|| if all { value.replace(pattern, with) } else { value.replacen(pattern, with, 1) });
    }
    if let Some(body) = rest.strip_prefix(':') {
        let (offset, length) = body.split_once(':').map_or((body, None), |(offset, length)| (offset, Some(length)));
        let chars: Vec<char> = value.chars().collect();
        let offset: i64 = offset.trim().parse().ok()?;
        let start = if offset < 0 {
            chars.len().saturating_sub(offset.unsigned_abs() as usize)
        } else {
            (offset as usize).min(chars.len())
        };
        let end = match length {
            Some(length) => start.checked_add(length.trim().parse::<usize>().ok()?)?.min(chars.len()),
            None => chars.len(),
        };
        return Some(chars[start..end.max(start)].iter().collect());
    }
    match rest {
        "^^" => Some(value.to_uppercase()),
        ",," => Some(value.to_lowercase()),
        "@Q" => Some(value.to_owned()),
        _ => None,
    }
}
