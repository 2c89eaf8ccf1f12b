//! A forgiving parser: reads JSON as models write it. It builds values, not text, and looks ahead where a mark may be
//! missing or superfluous.

use serde_json::{Map, Value as Json};

use super::scan::{Scan, is_space, starts_name};

/// Why nothing can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the reply is empty; answer with one JSON object")]
    Empty,
    #[error("at character {at}: the key {key:?} has no value; write \"key\": value")]
    NoValue { at: usize, key: String },
    #[error("at character {at}: a key is expected, not {found:?}; write \"key\": value")]
    NoKey { at: usize, found: char },
    #[error("at character {at}: \\u must be followed by four hexadecimal digits")]
    BadEscape { at: usize },
    #[error("at character {at}: the control character U+{code:04X} must be escaped")]
    Control { at: usize, code: u32 },
    #[error("at character {at}: nothing is expected here, but there is {found:?}; answer with one JSON value alone")]
    Surplus { at: usize, found: String },
    #[error("it is nested deeper than {DEPTH} levels")]
    TooDeep,
    #[error("it is too tangled to be read; answer with one valid JSON object")]
    TooTangled,
}

/// Levels of nesting that are followed.
pub(super) const DEPTH: usize = 120;
/// Steps for each character of the text, beside a fixed allowance: what looks ahead again and again ends.
const STEPS: usize = 200;

/// What a value is part of; it decides what may follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Key,
    Member,
    Item,
    Group,
}

pub(super) struct Repair<'a> {
    pub(super) scan: Scan<'a>,
    pub(super) at: usize,
    pub(super) depth: usize,
    steps: usize,
}

pub(super) type Read<T> = Result<T, Unreadable>;

impl<'a> Repair<'a> {
    pub(super) fn new(text: &'a [char]) -> Self {
        Self { scan: Scan { text }, at: 0, depth: 0, steps: text.len() * STEPS + 100_000 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.scan.get(self.at)
    }

    pub(super) fn gap(&mut self) {
        self.at = self.scan.past_gap(self.at);
    }

    /// Pays for work that is not a step forward.
    pub(super) fn pay(&mut self, steps: usize) -> Read<()> {
        self.steps = self.steps.checked_sub(steps + 1).ok_or(Unreadable::TooTangled)?;
        Ok(())
    }

    /// Behind commas, ellipses and fence marks.
    fn separators(&mut self) -> bool {
        let mut comma = false;
        loop {
            self.gap();
            if self.peek() == Some(',') {
                comma = true;
                self.at += 1;
            } else if self.scan.starts_with(self.at, "...") {
                self.at += 3;
            } else if self.scan.is_fence(self.at) {
                self.fence();
            } else {
                return comma;
            }
        }
    }

    /// Past a fence mark and the language it names.
    pub(super) fn fence(&mut self) {
        while self.peek() == Some('`') {
            self.at += 1;
        }
        for word in ["json5", "jsonc", "json", "JSON"] {
            if self.scan.starts_with(self.at, word) {
                self.at += word.len();
                return;
            }
        }
    }

    /// The value that begins here; nothing where none does.
    pub(super) fn value(&mut self, place: Place) -> Read<Option<Json>> {
        self.pay(0)?;
        self.gap();
        let Some(c) = self.peek() else { return Ok(None) };
        match c {
            '{' => self.nested(Self::object).map(Some),
            '[' => self.nested(Self::array).map(Some),
            '(' => self.nested(Self::group).map(Some),
            '`' if self.scan.is_fence(self.at) => {
                self.fence();
                self.value(place)
            }
            '\\' if self.scan.quote(self.at + 1).is_some() => {
                self.at += 1;
                self.joined(place).map(Some)
            }
            '}' | ']' | ')' | ',' | ':' => Ok(None),
            _ if self.scan.quote(self.at).is_some() => match self.quoted_block()? {
                Some(value) => Ok(Some(value)),
                None => self.joined(place).map(Some),
            },
            _ => self.bare(place),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEPTH {
            return Err(Unreadable::TooDeep);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// A string, and those joined to it by `+`.
    fn joined(&mut self, place: Place) -> Read<Json> {
        let mut text = self.string(place)?;
        loop {
            let next = self.scan.past_gap(self.at);
            let quote = self.scan.past_gap(next + 1);
            if self.scan.get(next) != Some('+') || self.scan.quote(quote).is_none() {
                return Ok(Json::String(text));
            }
            self.at = quote;
            text += &self.string(place)?;
        }
    }

    fn object(&mut self) -> Read<Json> {
        self.at += 1;
        let mut members = Map::new();
        let mut loose = Vec::new();
        self.members(&mut members, &mut loose)?;
        let closed = self.peek() == Some('}');
        self.at += usize::from(closed);
        match loose.first() {
            None => Ok(Json::Object(members)),
            // Python's sets: values without keys.
            Some(_) if closed && members.is_empty() => Ok(Json::Array(loose)),
            Some(value) => Err(Unreadable::NoValue { at: self.at, key: value.as_str().unwrap_or_default().into() }),
        }
    }

    /// Members up to what ends the object. What stands without a colon goes to `loose`.
    pub(super) fn members(&mut self, members: &mut Map<String, Json>, loose: &mut Vec<Json>) -> Read<()> {
        let mut last: Option<String> = None;
        loop {
            self.pay(0)?;
            self.separators();
            match self.peek() {
                None | Some('}' | ']' | ')' | ';') => return Ok(()),
                // Braces doubled as in templates.
                Some('{') if members.is_empty() && loose.is_empty() => {
                    if let Json::Object(inner) = self.nested(Self::object)? {
                        members.extend(inner);
                    }
                    continue;
                }
                Some('{') => return Ok(()),
                Some('[') => {
                    let Some(Json::Array(items)) = last.as_ref().and_then(|key| members.get_mut(key)) else {
                        return Ok(());
                    };
                    if let Json::Array(more) = self.nested(Self::array)? {
                        items.extend(more);
                    }
                    continue;
                }
                Some(_) => {}
            }
            let (key, quoted) = match self.key()? {
                Some(key) => key,
                None => continue,
            };
            self.gap();
            match self.peek() {
                Some(':' | '=') => {
                    self.at += 1;
                    if self.peek() == Some('>') {
                        self.at += 1;
                    }
                }
                None if key.is_empty() => return Ok(()),
                None => {}
                Some(',' | '}') if quoted => {
                    loose.push(Json::String(key));
                    continue;
                }
                Some(_) if self.scan.begins_value(self.at) => {}
                Some(_) => return Err(Unreadable::NoValue { at: self.at, key }),
            }
            let value = self.value(Place::Member)?.unwrap_or(Json::Null);
            members.insert(key.clone(), value);
            last = Some(key);
            self.stray();
        }
    }

    /// Words that stand behind a value and are no key.
    fn stray(&mut self) {
        self.gap();
        while self.peek().is_some_and(|c| starts_name(c) || c == '"') && !self.scan.is_member(self.at) {
            self.at += 1;
            while self.peek().is_some_and(|c| !matches!(c, ',' | '}' | ']' | '"')) {
                self.at += 1;
            }
        }
    }

    /// A key and whether it was quoted; nothing where a stray word was passed.
    fn key(&mut self) -> Read<Option<(String, bool)>> {
        if self.peek() == Some('\\') && self.scan.quote(self.at + 1).is_some() {
            self.at += 1;
        }
        if self.scan.quote(self.at).is_some() {
            return self.string(Place::Key).map(|key| Some((key, true)));
        }
        let start = self.at;
        while let Some(c) = self.peek()
            && !matches!(c, ':' | ',' | '{' | '}' | '[' | ']' | '\n' | '=')
            && self.scan.quote(self.at).is_none()
        {
            self.at += 1;
        }
        let key: String = self.scan.text[start..self.at].iter().collect();
        let trimmed = key.trim_end();
        if trimmed.is_empty() {
            let found = self.peek().unwrap_or(' ');
            return Err(Unreadable::NoKey { at: self.at, found });
        }
        if self.scan.quote(self.at).is_some() {
            if trimmed.len() < key.len() {
                return Ok(None); // the quotation mark begins the key
            }
            self.at += 1; // it ends a key whose first mark is missing
        }
        Ok(Some((trimmed.to_owned(), false)))
    }

    fn array(&mut self) -> Read<Json> {
        self.at += 1;
        let mut items = Vec::new();
        let mut pairs: Option<Map<String, Json>> = None;
        loop {
            self.pay(0)?;
            self.separators();
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    break;
                }
                None | Some('}' | ')') => break,
                Some(':') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let before = self.at;
            let Some(item) = self.value(Place::Item)? else { break };
            if self.at == before {
                break;
            }
            self.gap();
            // Members without the braces of their object.
            if let (Json::String(key), Some(':')) = (&item, self.peek()) {
                self.at += 1;
                let value = self.value(Place::Member)?.unwrap_or(Json::Null);
                pairs.get_or_insert_default().insert(key.clone(), value);
                continue;
            }
            items.extend(pairs.take().map(Json::Object));
            items.push(item);
        }
        items.extend(pairs.map(Json::Object));
        Ok(Json::Array(items))
    }

    /// Python's tuples; one value in parentheses is that value.
    fn group(&mut self) -> Read<Json> {
        let (mut items, comma) = self.grouped()?;
        Ok(match (items.len(), comma) {
            (1, false) => items.remove(0),
            _ => Json::Array(items),
        })
    }

    /// What stands in parentheses, and whether there was a comma.
    fn grouped(&mut self) -> Read<(Vec<Json>, bool)> {
        self.at += 1;
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.pay(0)?;
            comma = self.separators() || comma;
            if self.peek() == Some(')') {
                self.at += 1;
                break;
            }
            let before = self.at;
            let Some(item) = self.value(Place::Group)? else { break };
            if self.at == before {
                break;
            }
            items.push(item);
        }
        Ok((items, comma))
    }

    /// `name(value)`: wrapped by a call. At its opening parenthesis.
    pub(super) fn call(&mut self) -> Read<Json> {
        let (mut items, _) = self.nested(Self::grouped)?;
        if self.peek() == Some(';') {
            self.at += 1;
        }
        Ok(match items.len() {
            0 => Json::Null,
            1 => items.remove(0),
            _ => Json::Array(items),
        })
    }

    /// All values of a text, one after the other, and how each was separated from the one before.
    pub(super) fn all(&mut self) -> Read<Vec<(Json, Separation)>> {
        let mut values: Vec<(Json, Separation)> = Vec::new();
        loop {
            self.pay(0)?;
            let behind = self.at;
            let comma = self.separators();
            let mut closed = false;
            while matches!(self.peek(), Some('}' | ']' | ')' | ';')) {
                closed = true;
                self.at += 1;
                self.separators();
            }
            let Some(c) = self.peek() else { return Ok(values) };
            let gap = self.scan.text.get(behind..self.at).unwrap_or_default();
            let separation = match () {
                () if comma => Separation::Comma,
                () if gap.contains(&'\n') => Separation::Line,
                () if gap.is_empty() => Separation::None,
                () => Separation::Space,
            };
            if let Some((Json::Object(members), _)) = values.last_mut()
                && (comma || closed)
                && self.scan.quote(self.at).is_some()
                && self.goes_on()
            {
                self.members(members, &mut Vec::new())?;
                continue;
            }
            let scalars = values.iter().all(|(value, _)| !value.is_object() && !value.is_array());
            let wanted = values.is_empty() || matches!(c, '{' | '[') || (scalars && separation.is_clear()) || comma;
            let before = self.at;
            let value = if wanted { self.value(Place::Root)? } else { None };
            match value {
                Some(value) if self.at > before => values.push((value, separation)),
                _ => return self.rest(values, separation),
            }
        }
    }

    /// A quoted key follows, with its colon or its value behind it.
    fn goes_on(&self) -> bool {
        let quote = self.scan.quote(self.at);
        let end = quote.and_then(|quote| {
            (self.at + 1..self.scan.text.len()).find(|i| self.scan.get(*i).is_some_and(|c| quote.ends_with(c)))
        });
        let next = end.map(|end| self.scan.past_gap(end + 1));
        next.is_some_and(|next| self.scan.get(next) == Some(':') || self.scan.quote(next).is_some())
    }

    /// Words behind the last value: a model's comment, unless they run into it.
    fn rest(&self, values: Vec<(Json, Separation)>, separation: Separation) -> Read<Vec<(Json, Separation)>> {
        let is_tree = values.last().is_some_and(|(value, _)| value.is_object() || value.is_array());
        let runs_on = separation == Separation::None && self.peek().is_some_and(char::is_alphanumeric);
        if is_tree && !runs_on {
            return Ok(values);
        }
        let found: String = self.scan.text[self.at..].iter().take(20).collect();
        Err(Unreadable::Surplus { at: self.at, found })
    }
}

/// What stands between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separation {
    None,
    Space,
    Line,
    Comma,
}

impl Separation {
    fn is_clear(self) -> bool {
        matches!(self, Self::Line | Self::Comma)
    }
}

/// Trailing white space is no part of what was broken off.
pub(super) fn trim_end(text: &mut String) {
    text.truncate(text.trim_end_matches(is_space).len());
}
