//! Values without quotation marks: numbers, keywords, calls, words.

use serde_json::{Number, Value as Json};

use super::repair::{Place, Read, Repair};
use super::scan::{is_space, starts_name};

impl Repair<'_> {
    /// A number, a keyword, a call or words; nothing where none of them stands.
    pub(super) fn bare(&mut self, place: Place) -> Read<Option<Json>> {
        if self.peek() == Some('/') {
            return self.pattern();
        }
        let start = self.at;
        let token = self.token();
        if let Some(number) = number(&token)
            && !self.goes_on_in_words(place)
        {
            return Ok(Some(number));
        }
        if token.chars().next().is_some_and(starts_name) && token.chars().all(|c| starts_name(c) || c.is_ascii_digit())
        {
            let paren = self.scan.past_space(self.at);
            if self.scan.get(paren) == Some('(') && place != Place::Member {
                self.at = paren;
                return self.call().map(Some);
            }
            if self.scan.get(paren) == Some('(') {
                // A call as a member's value; prose in parentheses stays words.
                if paren == self.at {
                    return self.call().map(Some);
                }
            } else if let Some(value) = keyword(&token)
                && !self.goes_on_in_words(place)
            {
                return Ok(Some(value));
            }
        }
        self.at = start;
        self.words(place)
    }

    /// Up to what can't be in a number or keyword.
    fn token(&mut self) -> String {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|c| !is_space(c) && !matches!(c, ',' | ']' | '}' | ')' | '(' | '{' | '[' | ':' | ';'))
            && self.scan.quote(self.at).is_none()
            && !self.scan.starts_with(self.at, "/*")
            && !self.scan.starts_with(self.at, "//")
        {
            self.at += 1;
        }
        self.scan.text[start..self.at].iter().collect()
    }

    /// More words on the same line make a text of what looked like a number or keyword.
    fn goes_on_in_words(&self, place: Place) -> bool {
        let next = self.scan.past_gap(self.at);
        let same_line = !self.scan.text[self.at..next].contains(&'\n');
        let word = self.scan.get(next).is_some_and(starts_name);
        match place {
            Place::Member => {
                same_line && word && next > self.at && !self.scan.is_key(next) && !self.scan.is_member(next)
            }
            Place::Root => same_line && word && next > self.at,
            _ => self.scan.get(self.at) == Some(':'),
        }
    }

    /// A regular expression between slashes, as its text.
    fn pattern(&mut self) -> Read<Option<Json>> {
        let start = self.at;
        self.at += 1;
        while let Some(c) = self.peek() {
            let escaped = self.scan.get(self.at - 1) == Some('\\');
            self.at += 1;
            if c == '/' && !escaped {
                break;
            }
        }
        Ok(Some(Json::String(self.scan.text[start..self.at].iter().collect())))
    }

    /// Words without quotation marks, up to what ends them in their place.
    fn words(&mut self, place: Place) -> Read<Option<Json>> {
        let start = self.at;
        let mut braces = 0u32;
        while let Some(c) = self.peek() {
            self.pay(0)?;
            match c {
                '{' if self.at > start && place == Place::Member => braces += 1,
                '}' if braces > 0 => braces -= 1,
                '\n' | '}' | ']' => break,
                '[' | '{' if place != Place::Member => break,
                ')' if place == Place::Group => break,
                ',' if place != Place::Member || (braces == 0 && self.scan.is_member(self.at + 1)) => break,
                _ if self.scan.starts_with(self.at, "/*") => break,
                _ if self.scan.is_fence(self.at) => break,
                _ if self.scan.quote(self.at).is_some() && self.quote_ends_words(start, place) => break,
                _ => {}
            }
            self.at += 1;
        }
        let mut end = self.at;
        while end > start && is_space(self.scan.text[end - 1]) {
            end -= 1;
        }
        if end == start {
            return Ok(None);
        }
        // The mark at the end of words whose first mark is missing.
        if self.at == end && self.scan.quote(self.at).is_some() {
            self.at += 1;
        }
        let words: String = self.scan.text[start..end].iter().collect();
        Ok(Some(keyword(&words).unwrap_or(Json::String(words))))
    }

    /// An apostrophe inside a word doesn't.
    fn quote_ends_words(&self, start: usize, place: Place) -> bool {
        let joins = |at: Option<usize>| at.and_then(|at| self.scan.get(at)).is_some_and(char::is_alphanumeric);
        let apostrophe = joins(self.at.checked_sub(1)) && joins(Some(self.at + 1));
        self.at > start && !apostrophe && (place != Place::Root || self.scan.begins_value(self.at))
    }
}

fn keyword(word: &str) -> Option<Json> {
    match word {
        "true" | "True" | "TRUE" => Some(Json::Bool(true)),
        "false" | "False" | "FALSE" => Some(Json::Bool(false)),
        "null" | "None" | "NULL" | "undefined" => Some(Json::Null),
        _ => None,
    }
}

/// A number as JSON has it or nearly so: signs, bare points, cut-off exponents and `_` between digits are forgiven. One with
/// leading zeros is a text (a code, a postal district), and so is what has more to it.
fn number(token: &str) -> Option<Json> {
    let strict = |text: &str| serde_json::from_str::<Number>(text).ok().map(Json::Number);
    if let Some(number) = strict(token) {
        return Some(number);
    }
    let (sign, digits) = match token.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    let plain = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-' | '_'));
    let zeros = digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit());
    if !plain || zeros || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole = digits.trim_end_matches(['+', '-']);
    let whole = whole.strip_suffix(['e', 'E']).unwrap_or(whole);
    let whole = whole.strip_suffix('.').unwrap_or(whole).replace('_', "");
    let whole = if whole.starts_with('.') { format!("0{whole}") } else { whole };
    strict(&format!("{sign}{whole}"))
}
