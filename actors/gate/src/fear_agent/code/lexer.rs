//! Cuts a program into its parts, as its language does, for [`super::plain`].
//!
//! Law: the lexer gives up where a language could read a sign in two ways. Otherwise a quote or a slash would hide
//! code in what looks like text.

mod perl;

use super::Language;
use perl::{interpolates_plainly, is_quote_like};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lexeme {
    Name(String),
    /// A name behind `.`, `->` or `::`.
    Member(String),
    /// A variable with its sign: `$x`, `@x`.
    Variable(String),
    /// A literal string or a regular expression. What it interpolates stands before it.
    Text(String),
    /// A text between back quotes in JavaScript.
    Template,
    Number,
    Sign(char),
    /// The end of a line.
    Line,
}

use Lexeme::{Line, Member, Name, Number, Sign, Template, Text, Variable};

/// Words behind which an expression begins, so that `/` begins a regular expression.
const BEFORE_EXPRESSIONS: &str = "return typeof case in of delete void instanceof new do else yield await if unless \
    while until and or not print split grep map join push x lt gt le ge eq ne cmp puts p when then elif elsif";

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    language: Language,
    out: Vec<Lexeme>,
    /// Open brackets: the sign, and whether a condition (`if (`) or a subscript (`$h{`) begins there.
    open: Vec<(char, bool)>,
    /// Whether the last closed bracket was such a one.
    closed_marked: bool,
    depth: usize,
}

/// The parts of a program. `None` if they can't be told for certain.
pub(super) fn lexemes(source: &str, language: Language) -> Option<Vec<Lexeme>> {
    lexed(source, language, 0)
}

fn lexed(source: &str, language: Language, depth: usize) -> Option<Vec<Lexeme>> {
    let chars: Vec<char> = source.chars().collect();
    let mut lexer =
        Lexer { chars: &chars, at: 0, language, out: Vec::new(), open: Vec::new(), closed_marked: false, depth };
    if depth > 6 {
        return None;
    }
    while lexer.at < chars.len() {
        lexer.step()?;
    }
    lexer.open.is_empty().then_some(lexer.out)
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn is(&self, language: Language) -> bool {
        self.language == language
    }

    fn starts_line(&self) -> bool {
        self.at == 0 || self.chars[self.at - 1] == '\n'
    }

    fn push(&mut self, lexeme: Lexeme, chars: usize) -> Option<()> {
        self.out.push(lexeme);
        self.at += chars;
        Some(())
    }

    fn name_from(&self, from: usize) -> String {
        self.chars[from..].iter().take_while(|c| is_name(**c)).collect()
    }

    /// Whether an operand comes next, rather than an operator.
    fn wants_operand(&self) -> bool {
        match self.out.iter().rev().find(|lexeme| **lexeme != Line) {
            None => true,
            Some(Name(word)) => BEFORE_EXPRESSIONS.split_ascii_whitespace().any(|known| known == word),
            Some(Sign(')')) => self.closed_marked && self.is(Language::JavaScript),
            Some(Sign(']' | '}')) => false,
            Some(Sign(_)) => true,
            Some(_) => false,
        }
    }

    /// Whether the last part is a name that may take what follows as an argument without brackets.
    fn is_after_call(&self) -> bool {
        let last = self.out.iter().rev().find(|lexeme| **lexeme != Line);
        matches!(last, Some(Name(_) | Member(_)))
            && matches!(self.language, Language::Perl | Language::Ruby)
            && !self.wants_operand()
    }

    fn step(&mut self) -> Option<()> {
        let c = self.peek(0)?;
        let next = self.peek(1);
        if c == '\n' {
            return self.push(Line, 1);
        }
        if c.is_whitespace() {
            self.at += 1;
            return Some(());
        }
        if self.skips_comment(c, next)? {
            return Some(());
        }
        match self.language {
            Language::Perl => {
                if let Some(done) = self.perl(c, next) {
                    return done;
                }
            }
            Language::Ruby => {
                if let Some(done) = self.ruby(c, next) {
                    return done;
                }
            }
            Language::JavaScript if matches!(c, '\\' | '@' | '#') => return None,
            Language::Python if matches!(c, '`' | '$' | '?') || (c == '!' && next != Some('=')) => return None,
            _ => {}
        }
        let is_word = is_name_start(c) || (c == '$' && self.is(Language::JavaScript));
        if is_word {
            return self.word();
        }
        if c.is_ascii_digit() {
            return self.number();
        }
        match c {
            '"' | '\'' | '`' => self.quoted(c),
            '/' if matches!(self.language, Language::Python | Language::Other) => self.push(Sign('/'), 1),
            '/' => self.slash(),
            '.' if next.is_some_and(|c| is_name_start(c) || c == '$') && !self.spreads() => {
                let name = self.name_from(self.at + 1);
                let length = name.chars().count();
                if length == 0 {
                    return None;
                }
                self.push(Member(name), length + 1)
            }
            '(' | '[' | '{' => {
                let is_marked = self.opens_marked(c);
                self.open.push((c, is_marked));
                self.push(Sign(c), 1)
            }
            ')' | ']' | '}' => {
                let (opened, is_marked) = self.open.pop()?;
                if !matches!((opened, c), ('(', ')') | ('[', ']') | ('{', '}')) {
                    return None;
                }
                self.closed_marked = is_marked;
                self.push(Sign(c), 1)
            }
            c if c.is_ascii_punctuation() => self.push(Sign(c), 1),
            _ => None,
        }
    }

    /// `...x`: the name behind three dots is no member.
    fn spreads(&self) -> bool {
        self.at >= 2 && self.chars[self.at - 2..self.at] == ['.', '.']
    }

    /// Whether a `?` on this line may still wait for its `:`.
    fn is_in_ternary(&self) -> bool {
        let line = self.out.iter().rev().take_while(|lexeme| !matches!(lexeme, Line | Sign(';')));
        line.into_iter().any(|lexeme| *lexeme == Sign('?'))
    }

    fn opens_marked(&self, c: char) -> bool {
        let last = self.out.last();
        match c {
            '(' => matches!(last, Some(Name(word)) if matches!(word.as_str(), "if" | "while" | "for" | "with")),
            '{' => {
                let arrow = matches!(self.out.as_slice(), [.., Sign('-'), Sign('>')]);
                arrow
                    || matches!(last, Some(Variable(_) | Sign(']')))
                    || (last == Some(&Sign('}')) && self.closed_marked)
            }
            _ => false,
        }
    }

    fn skips_comment(&mut self, c: char, next: Option<char>) -> Option<bool> {
        let is_line = match self.language {
            Language::JavaScript => c == '/' && next == Some('/'),
            _ => c == '#',
        };
        if is_line {
            while self.peek(0).is_some_and(|c| c != '\n') {
                self.at += 1;
            }
            return Some(true);
        }
        if self.is(Language::JavaScript) && c == '/' && next == Some('*') {
            let end = self.chars[self.at + 2..].windows(2).position(|pair| pair == ['*', '/'])?;
            self.at += end + 4;
            return Some(true);
        }
        Some(false)
    }

    fn word(&mut self) -> Option<()> {
        let is_js = self.is(Language::JavaScript);
        let mut word: String =
            self.chars[self.at..].iter().take_while(|c| is_name(**c) || (is_js && **c == '$')).collect();
        let mut length = word.chars().count();
        let follows = |ahead: usize| self.peek(ahead);
        match self.language {
            Language::Ruby if matches!(follows(length), Some('?' | '!')) && follows(length + 1) != Some('=') => {
                word.push(follows(length)?);
                length += 1;
            }
            Language::Perl if follows(length) == Some('\'') && follows(length + 1).is_some_and(is_name_start) => {
                return None;
            }
            Language::Python if word.len() <= 2 && matches!(follows(length), Some('"' | '\'')) => {
                self.at += length;
                let is_format = word.to_lowercase().contains(['f', 't']);
                return self.python_string(self.peek(0)?, is_format);
            }
            _ => {}
        }
        // `Foo::bar` and `Foo::Bar` of Perl and Ruby are one name.
        while matches!(self.language, Language::Perl | Language::Ruby)
            && follows(length) == Some(':')
            && follows(length + 1) == Some(':')
            && follows(length + 2).is_some_and(is_name_start)
        {
            let part = self.name_from(self.at + length + 2);
            length += 2 + part.chars().count();
            word = format!("{word}::{part}");
        }
        let is_member = match self.out.as_slice() {
            [.., Sign('-'), Sign('>')] => self.is(Language::Perl),
            [.., Sign('&'), Sign('.')] | [.., Sign('?'), Sign('.')] => true,
            _ => false,
        };
        if is_member {
            return self.push(Member(word), length);
        }
        if self.is(Language::Perl) && !self.is_key(length) && is_quote_like(&word) {
            return self.quote_like(&word);
        }
        self.push(Name(word), length)
    }

    /// Whether a word of this length is a key: `word =>` or `{word}`.
    fn is_key(&self, length: usize) -> bool {
        let mut rest = self.chars[self.at + length..].iter().skip_while(|c| c.is_whitespace());
        let (first, second) = (rest.next(), rest.next());
        let in_braces = self.out.last() == Some(&Sign('{')) && first == Some(&'}');
        (first == Some(&'=') && second == Some(&'>')) || in_braces
    }

    fn number(&mut self) -> Option<()> {
        let run = |from: usize| self.chars[from..].iter().take_while(|c| is_name(**c)).count();
        let mut end = self.at + run(self.at);
        if self.chars.get(end) == Some(&'.') && self.chars.get(end + 1).is_some_and(char::is_ascii_digit) {
            end += 1 + run(end + 1);
        }
        let length = end - self.at;
        self.push(Number, length)
    }

    /// The text up to an end that no backslash stands before.
    fn until(&mut self, end: char) -> Option<String> {
        let mut text = String::new();
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            if c == end {
                return Some(text);
            }
            text.push(c);
            if c == '\\' {
                text.push(self.peek(0)?);
                self.at += 1;
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Option<()> {
        match (self.language, quote) {
            (Language::Python, _) => return self.python_string(quote, false),
            (Language::JavaScript, '`') => return self.template(),
            (_, '`') => return None,
            _ => {}
        }
        self.at += 1;
        let text = self.until(quote)?;
        match (self.language, quote) {
            (Language::Perl, '"') if !interpolates_plainly(&text) => return None,
            (Language::Ruby, '"') => self.interpolated(&text, "#{")?,
            (Language::JavaScript, _) if text.contains('\n') && !text.contains("\\\n") => return None,
            _ => {}
        }
        self.out.push(Text(text));
        Some(())
    }

    fn python_string(&mut self, quote: char, is_format: bool) -> Option<()> {
        let is_triple = self.chars[self.at..].starts_with(&[quote; 3]);
        self.at += if is_triple { 3 } else { 1 };
        let text = if is_triple {
            let mut text = String::new();
            while !self.chars.get(self.at..)?.starts_with(&[quote; 3]) {
                let c = self.peek(0)?;
                text.push(c);
                self.at += 1;
                if c == '\\' {
                    text.push(self.peek(0)?);
                    self.at += 1;
                }
            }
            self.at += 3;
            text
        } else {
            self.until(quote).filter(|text| !text.replace("\\\n", "").contains('\n'))?
        };
        if is_format {
            self.interpolated(&text.replace("{{", "").replace("}}", ""), "{")?;
        }
        self.out.push(Text(text));
        Some(())
    }

    fn template(&mut self) -> Option<()> {
        self.at += 1;
        let mut whole = String::new();
        loop {
            let c = self.peek(0)?;
            if c == '`' {
                self.at += 1;
                break;
            }
            whole.push(c);
            self.at += 1;
            if c == '\\' {
                self.at += 1;
            }
        }
        // A template in a template would end the outer one here.
        self.interpolated(&whole, "${")?;
        self.out.push(Template);
        Some(())
    }

    /// Lexes the expressions in a text as if they stood in brackets before it.
    fn interpolated(&mut self, text: &str, mark: &str) -> Option<()> {
        let mut rest = text;
        while let Some(at) = rest.find(mark) {
            let (inner, after) = rest[at + mark.len()..].split_once('}')?;
            let inner = match self.language {
                // `{x!r:>10}`: the form isn't code.
                Language::Python => {
                    let form = inner.find(':').filter(|_| !inner.contains(['[', '(', '"', '\'']));
                    let inner = form.map_or(inner, |form| &inner[..form]);
                    inner.trim_end_matches('=').trim_end_matches("!r").trim_end_matches("!s")
                }
                _ => inner,
            };
            if inner.contains('{') {
                return None;
            }
            let inner = lexed(inner, self.language, self.depth + 1)?;
            self.out.push(Sign('('));
            self.out.extend(inner);
            self.out.extend([Sign(')'), Sign(',')]);
            rest = after;
        }
        Some(())
    }

    /// A division, or a regular expression.
    fn slash(&mut self) -> Option<()> {
        let last = self.out.iter().rev().find(|lexeme| **lexeme != Line);
        let is_unclear = match last {
            Some(Sign('}')) => !(self.is(Language::Perl) && self.closed_marked),
            Some(Sign('+' | '-')) => matches!(self.out.as_slice(), [.., Sign(a), Sign(b)] if a == b),
            _ => self.is_after_call(),
        };
        if is_unclear {
            return None;
        }
        if !self.wants_operand() {
            return self.push(Sign('/'), 1);
        }
        self.at += 1;
        let text = if self.is(Language::JavaScript) { self.regex()? } else { self.until('/')? };
        match self.language {
            Language::Perl if !interpolates_plainly(&text) => return None,
            Language::Ruby => self.interpolated(&text, "#{")?,
            _ => {}
        }
        let flags = self.name_from(self.at).chars().count();
        self.push(Text(text), flags)
    }

    /// In JavaScript a slash within `[…]` doesn't end it.
    fn regex(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut in_class = false;
        loop {
            let c = self.peek(0).filter(|c| *c != '\n')?;
            self.at += 1;
            match c {
                '/' if !in_class => return Some(text),
                '[' => in_class = true,
                ']' => in_class = false,
                '\\' => {
                    text.push(c);
                    text.push(self.peek(0)?);
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            text.push(c);
        }
    }

    /// The text between delimiters, which may be nested brackets.
    fn delimited(&mut self, open: char) -> Option<String> {
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            _ => return self.until(open),
        };
        let mut depth = 1;
        let mut text = String::new();
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            if c == '\\' {
                text.push(c);
                text.push(self.peek(0)?);
                self.at += 1;
                continue;
            }
            depth += i32::from(c == open) - i32::from(c == close);
            if depth == 0 {
                return Some(text);
            }
            text.push(c);
        }
    }

    /// The signs that Ruby reads differently. The inner `None` gives up.
    fn ruby(&mut self, c: char, next: Option<char>) -> Option<Option<()>> {
        let operand = self.wants_operand();
        Some(match c {
            '=' if self.starts_line() && next.is_some_and(char::is_alphabetic) => None,
            '?' if next.is_some_and(|n| "'\"`/%#\\".contains(n)) => None,
            '<' if next == Some('<') && self.peek(2).is_some_and(|n| is_name_start(n) || "~-\"'`".contains(n)) => None,
            '%' if operand || self.is_after_call() => match next {
                Some('w' | 'i') => {
                    let open = self.peek(2)?;
                    self.at += 3;
                    let text = self.delimited(open)?;
                    self.push(Text(text), 0)
                }
                Some(n) if !operand && (n.is_whitespace() || n.is_ascii_digit()) => self.push(Sign('%'), 1),
                _ => None,
            },
            '$' => match next {
                Some(n) if is_name_start(n) => {
                    let name = self.name_from(self.at + 1);
                    let length = name.chars().count();
                    self.push(Variable(name), length + 1)
                }
                Some(n) if n.is_ascii_digit() || "_~/,;.&+0".contains(n) => self.push(Variable(n.to_string()), 2),
                _ => None,
            },
            '@' => {
                self.at += usize::from(next == Some('@'));
                let name = self.name_from(self.at + 1);
                let length = name.chars().count();
                if length == 0 { None } else { self.push(Variable(name), length + 1) }
            }
            ':' if next == Some('"') || next == Some('\'') => None,
            ':' if next == Some(':') => {
                self.out.push(Sign(':'));
                self.push(Sign(':'), 2)
            }
            ':' if next.is_some_and(is_name_start) && !self.is_in_ternary() => {
                let name = self.name_from(self.at + 1);
                let length = name.chars().count();
                self.push(Variable(format!(":{name}")), length + 1)
            }
            _ => return None,
        })
    }
}
