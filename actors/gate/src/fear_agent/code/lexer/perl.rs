//! Perl: its variables, and its words that quote.

use super::*;

impl Lexer<'_> {
    /// The signs that Perl reads differently. The inner `None` gives up.
    pub(super) fn perl(&mut self, c: char, next: Option<char>) -> Option<Option<()>> {
        let operand = self.wants_operand();
        Some(match c {
            '=' if self.starts_line() && next.is_some_and(char::is_alphabetic) => None,
            '<' if operand || self.is_after_call() => {
                self.at += 1;
                let handle = self.until('>')?;
                let name = handle.strip_prefix('$').unwrap_or(&handle);
                if name.chars().all(is_name) { self.push(Variable(format!("<{name}>")), 0) } else { None }
            }
            '<' if next == Some('<') && self.peek(2).is_some_and(|c| is_name_start(c) || "~\"'`".contains(c)) => None,
            '$' | '@' => self.perl_variable(c, next),
            '%' if operand || self.is_after_call() => match next {
                Some(n) if is_name_start(n) || matches!(n, '{' | '$') => self.perl_variable(c, next),
                _ if operand => None,
                _ => self.push(Sign('%'), 1),
            },
            '&' if (operand || self.is_after_call()) && next != Some('&') => match next {
                Some(n) if is_name_start(n) => {
                    self.at += 1;
                    self.word()
                }
                _ => None,
            },
            '*' if (operand || self.is_after_call()) && next.is_some_and(|n| is_name_start(n) || n == '{') => None,
            '-' if operand && next.is_some_and(|n| n.is_ascii_alphabetic()) && !self.peek(2).is_some_and(is_name) => {
                let behind = self.chars[self.at + 2..].iter().find(|c| !c.is_whitespace());
                match behind {
                    Some('$' | '"' | '\'' | ')' | '_') => self.push(Sign('-'), 2),
                    _ => None,
                }
            }
            _ => return None,
        })
    }

    pub(super) fn perl_variable(&mut self, sigil: char, next: Option<char>) -> Option<()> {
        let next = next?;
        if sigil == '$' && next == '#' {
            return match self.peek(2) {
                Some('{' | '$') => self.push(Variable("#".into()), 2),
                Some(n) if is_name_start(n) => {
                    let name = self.name_from(self.at + 2);
                    let length = name.chars().count();
                    self.push(Variable(name), length + 2)
                }
                _ => None,
            };
        }
        let mut at = self.at + 1;
        while self.chars.get(at) == Some(&'$') && self.chars.get(at + 1).is_some_and(|n| is_name(*n) || *n == '$') {
            at += 1;
        }
        let first = self.chars.get(at).copied()?;
        if first == '{' {
            let inner: String = self.chars[at + 1..].iter().take_while(|c| **c != '}').collect();
            let name = inner.strip_prefix('^').unwrap_or(&inner);
            if !name.is_empty() && name.chars().all(is_name) {
                let length = at + 2 + inner.chars().count() - self.at;
                return self.push(Variable(name.into()), length);
            }
            if inner.trim_start().starts_with(['"', '\'']) {
                return None;
            }
            // `@{ … }`: what stands in the braces is code.
            let length = at - self.at;
            return self.push(Variable(sigil.to_string()), length);
        }
        if is_name(first) {
            let mut name = self.name_from(at);
            let mut end = at + name.chars().count();
            while self.chars.get(end..end + 2) == Some(&[':', ':']) {
                let part = self.name_from(end + 2);
                end += 2 + part.chars().count();
                name = format!("{name}::{part}");
            }
            if self.chars.get(end) == Some(&'\'') && self.chars.get(end + 1).is_some_and(|c| is_name_start(*c)) {
                return None;
            }
            let length = end - self.at;
            return self.push(Variable(name), length);
        }
        if sigil == '$' && !first.is_whitespace() && first != ':' && first.is_ascii_punctuation() {
            let length = at + 1 - self.at;
            return self.push(Variable(first.to_string()), length);
        }
        None
    }

    /// `q()`, `qw()`, `m//`, `s///e`, `tr///`.
    pub(super) fn quote_like(&mut self, word: &str) -> Option<()> {
        self.at += word.chars().count();
        let is_apart = self.peek(0)?.is_whitespace();
        while self.peek(0)?.is_whitespace() {
            self.at += 1;
        }
        let open = self.peek(0)?;
        if is_name(open) || (is_apart && open == '#') || word == "qx" {
            return None;
        }
        self.at += 1;
        let first = self.delimited(open)?;
        let is_raw = open == '\'' || matches!(word, "q" | "qw" | "tr" | "y");
        if !is_raw && !interpolates_plainly(&first) {
            return None;
        }
        let mut second = None;
        if matches!(word, "s" | "tr" | "y") {
            let mut close = open;
            if matches!(open, '(' | '[' | '{' | '<') {
                while self.peek(0)?.is_whitespace() {
                    self.at += 1;
                }
                close = self.peek(0).filter(|c| *c != '#')?;
                self.at += 1;
            }
            second = Some(self.delimited(close)?);
        }
        let flags = self.name_from(self.at);
        if matches!(word, "s" | "m" | "qr" | "tr" | "y") {
            self.at += flags.chars().count();
        }
        if word == "s"
            && let Some(second) = second
        {
            match flags.matches('e').count() {
                0 if open != '\'' && !interpolates_plainly(&second) => return None,
                0 => {}
                1 => {
                    let inner = lexed(&second, self.language, self.depth + 1)?;
                    self.out.push(Sign('('));
                    self.out.extend(inner);
                    self.out.extend([Sign(')'), Sign(',')]);
                }
                _ => return None,
            }
        }
        self.out.push(Text(first));
        Some(())
    }
}

pub(super) fn is_quote_like(word: &str) -> bool {
    matches!(word, "q" | "qq" | "qw" | "qx" | "qr" | "m" | "s" | "tr" | "y")
}

/// Whether a text of Perl interpolates only variables and their plain subscripts, and holds no code.
pub(super) fn interpolates_plainly(text: &str) -> bool {
    if ["(?{", "(??{", "(?p{", "(*{", "(**{"].iter().any(|code| text.contains(code)) {
        return false;
    }
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        at += 1;
        if c == '\\' {
            at += 1;
            continue;
        }
        if c != '$' && c != '@' {
            continue;
        }
        while chars.get(at) == Some(&'$') || (c == '$' && chars.get(at) == Some(&'#')) {
            at += 1;
        }
        match chars.get(at) {
            Some('{') => {
                let inner: String = chars[at + 1..].iter().take_while(|c| **c != '}').collect();
                let name = inner.strip_prefix(['^', '$']).unwrap_or(&inner);
                if name.is_empty() || !name.chars().all(is_name) {
                    return false;
                }
                at += inner.chars().count() + 2;
            }
            Some(n) if is_name(*n) => {
                while chars.get(at).is_some_and(|c| is_name(*c) || *c == ':') {
                    at += 1;
                }
            }
            Some('&' | ',' | ';' | '.' | '/' | '\\' | '!' | '^' | '+' | '-' | '0' | '"' | '\'') if c == '$' => {
                at += 1;
                if matches!(chars.get(at), Some('[' | '{')) {
                    return false;
                }
                continue;
            }
            _ => continue,
        }
        // Subscripts: `[0]`, `{key}`, `->[$i]`.
        loop {
            let from = if chars[at.min(chars.len())..].starts_with(&['-', '>']) { at + 2 } else { at };
            let close = match chars.get(from) {
                Some('[') => ']',
                Some('{') => '}',
                _ => break,
            };
            let inner: String = chars[from + 1..].iter().take_while(|c| **c != close).collect();
            if !is_plain_subscript(&inner, close) {
                return false;
            }
            at = from + 2 + inner.chars().count();
        }
    }
    true
}

fn is_plain_subscript(inner: &str, close: char) -> bool {
    let is_key = close == '}' && inner.trim_matches(['"', '\'']).chars().all(is_name);
    let is_index = inner.split(['-', '+', '#', ' ', ',']).all(|part| {
        let name = part.strip_prefix('$');
        name.map_or_else(|| part.chars().all(|c| c.is_ascii_digit()), |name| name.chars().all(is_name))
    });
    is_key || is_index
}
