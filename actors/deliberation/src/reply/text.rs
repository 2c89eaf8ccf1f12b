//! Strings: where one ends when marks are missing, doubled or unescaped.

use serde_json::Value as Json;

use super::repair::{Place, Read, Repair, Unreadable, trim_end};
use super::scan::{Quote, is_space, starts_name};

impl Repair<'_> {
    /// The string whose quotation mark stands here.
    pub(super) fn string(&mut self, place: Place) -> Read<String> {
        let start = self.at + 1;
        let Some(quote) = self.scan.quote(self.at) else { return Ok(String::new()) };
        let mut text = String::new();
        let mut inner = false;
        let mut line = false;
        self.at = start;
        while let Some(c) = self.peek() {
            self.pay(0)?;
            match c {
                '\\' => {
                    self.escape(&mut text)?;
                    continue;
                }
                c if quote.ends_with(c) => {
                    if self.ends(self.at + 1, quote, place, inner)? {
                        self.at += 1;
                        if place == Place::Key && line {
                            trim_end(&mut text);
                        }
                        return Ok(text);
                    }
                    if let Some(end) = self.missed(start, place)? {
                        return self.cut(start, end);
                    }
                    let opens = self.at.checked_sub(1).and_then(|before| self.scan.get(before));
                    let opens = opens.is_none_or(|c| is_space(c) || matches!(c, '(' | '[' | '{'));
                    inner = !inner && opens && self.scan.get(self.at + 1).is_some_and(|c| !is_space(c));
                }
                '\n' | '\r' => line = true,
                '\t' | '\u{8}' | '\u{c}' => {}
                c if c < ' ' => return Err(Unreadable::Control { at: self.at, code: c.into() }),
                _ => {}
            }
            text.push(c);
            self.at += 1;
        }
        match self.unended(start, place) {
            Some(end) => self.cut(start, end),
            None => {
                trim_end(&mut text);
                Ok(text)
            }
        }
    }

    /// A string that is one fenced block, in which marks of its own kind stand bare: the value in the block is meant, since
    /// a text with such marks would have them escaped.
    pub(super) fn quoted_block(&mut self) -> Read<Option<Json>> {
        let (start, scan) = (self.at, self.scan);
        let open = scan.past_space(start + 1);
        let Some(quote) = scan.quote(start).filter(|_| scan.is_fence(open)) else { return Ok(None) };
        let close = (open + 3..scan.text.len())
            .find(|at| scan.is_fence(*at))
            .filter(|close| scan.quote(scan.past_space(close + 3)) == Some(quote));
        let Some(close) = close else { return Ok(None) };
        self.pay(close - open)?;
        let mut marks = (open + 3..close).filter(|at| scan.get(*at).is_some_and(|c| quote.ends_with(c)));
        if marks.next().is_none_or(|at| scan.get(at - 1) == Some('\\')) {
            return Ok(None);
        }
        self.at = open;
        self.fence();
        self.gap();
        let value = if matches!(self.peek(), Some('{' | '[')) { self.value(Place::Member)? } else { None };
        self.gap();
        let is_whole = value.is_some() && self.at == close;
        self.at = if is_whole { scan.past_space(close + 3) + 1 } else { start };
        Ok(value.filter(|_| is_whole))
    }

    /// The string again, up to `end`, where its mark is missing.
    fn cut(&mut self, start: usize, end: usize) -> Read<String> {
        let (mut text, whole) = (String::new(), self.scan.text);
        let scan = super::scan::Scan { text: &whole[..end] };
        self.at = start;
        while let Some(c) = scan.get(self.at) {
            self.pay(0)?;
            if c == '\\' {
                self.escape(&mut text)?;
            } else {
                text.push(c);
                self.at += 1;
            }
        }
        self.at = end;
        trim_end(&mut text);
        Ok(text)
    }

    fn escape(&mut self, text: &mut String) -> Read<()> {
        let Some(c) = self.scan.get(self.at + 1) else {
            self.at += 1; // cut off behind the backslash
            return Ok(());
        };
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return self.code_point(text),
            other => other, // also what needs no escape
        };
        text.push(plain);
        self.at += 2;
        Ok(())
    }

    fn code_point(&mut self, text: &mut String) -> Read<()> {
        let unit = |at: usize| -> Option<u32> {
            let digits = self.scan.text.get(at + 2..at + 6)?;
            digits.iter().try_fold(0, |code, c| Some(code * 16 + c.to_digit(16)?))
        };
        let Some(first) = unit(self.at) else {
            let digits = self.scan.text[self.at + 2..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
            if self.at + 2 + digits < self.scan.text.len() {
                return Err(Unreadable::BadEscape { at: self.at });
            }
            self.at = self.scan.text.len(); // cut off inside the escape
            return Ok(());
        };
        let second = self.scan.starts_with(self.at + 6, "\\u").then(|| unit(self.at + 6)).flatten();
        let pair = match (first, second) {
            (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) => Some(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)),
            _ => None,
        };
        self.at += if pair.is_some() { 12 } else { 6 };
        // Half of a pair is no character.
        text.push(char::from_u32(pair.unwrap_or(first)).unwrap_or('\u{fffd}'));
        Ok(())
    }

    /// Whether the mark before `next` ends the string, by what follows. `inner`: a quotation inside of it is open.
    fn ends(&mut self, next: usize, quote: Quote, place: Place, inner: bool) -> Read<bool> {
        let at = self.scan.past_gap(next);
        self.pay(at - next)?;
        let Some(c) = self.scan.get(at) else { return Ok(true) };
        let adjacent = at == next;
        Ok(match place {
            Place::Key => match c {
                ':' | ',' | '}' | ']' | '=' => true,
                _ => self.scan.begins_value(at) && !(adjacent && self.scan.quote(at) == Some(quote)),
            },
            Place::Member => match c {
                '}' | ']' => self.closes(at + 1, quote, inner)?,
                ',' => self.scan.is_member(at + 1),
                '+' => self.scan.quote(self.scan.past_gap(at + 1)).is_some(),
                '`' => self.scan.is_fence(at),
                _ if self.scan.quote(at).is_some() => self.scan.is_key(at),
                _ if inner => false,
                _ if starts_name(c) && !adjacent => self.scan.is_key(at) || self.is_last(next, quote, '}')?,
                _ => false,
            },
            Place::Item => match c {
                ']' | '}' => self.closes(at + 1, quote, inner)?,
                ',' => {
                    let after = self.scan.past_gap(at + 1);
                    let plain = self.scan.get(after).is_some_and(starts_name) && !self.scan.begins_value(after);
                    !(inner && plain)
                }
                ':' | '+' | '{' | '[' => true,
                '`' => self.scan.is_fence(at),
                _ if self.scan.quote(at).is_some() => !(adjacent && inner),
                _ if inner => false,
                _ if adjacent => false,
                _ if c.is_ascii_digit() => true,
                _ => self.is_last(next, quote, ']')?,
            },
            Place::Group => matches!(c, ')' | ',' | '+') || self.scan.quote(at).is_some() && !adjacent,
            Place::Root => match c {
                ',' | '+' | ';' => true,
                '}' | ']' => self.scan.only_closers(at),
                '`' => self.scan.is_fence(at),
                _ => self.scan.text[next..at].contains(&'\n') && self.scan.begins_value(at),
            },
        })
    }

    /// A bracket that closes behind the string is one if what follows it fits.
    fn closes(&mut self, next: usize, quote: Quote, inner: bool) -> Read<bool> {
        if !inner {
            return Ok(true);
        }
        let at = self.scan.past_gap(next);
        let rest = &self.scan.text[at.min(self.scan.text.len())..];
        let steps = rest.len();
        let clean = match rest.first() {
            None | Some(',' | '}' | ']' | ')') => true,
            _ => !rest.iter().any(|c| quote.ends_with(*c)),
        };
        self.pay(steps)?;
        Ok(clean)
    }

    /// No mark of the kind stands between here and the end of the object or array.
    fn is_last(&mut self, from: usize, quote: Quote, closer: char) -> Read<bool> {
        let rest = &self.scan.text[from..];
        let stop = rest.iter().position(|c| quote.ends_with(*c) || *c == closer || *c == '\n');
        let last = stop.is_some_and(|stop| !quote.ends_with(rest[stop]));
        self.pay(stop.unwrap_or(rest.len()))?;
        Ok(last)
    }

    /// The mark here begins the next string: the end of this one was forgotten before it.
    fn missed(&mut self, start: usize, place: Place) -> Read<Option<usize>> {
        let Some((before, c)) = self.scan.before(self.at).filter(|(before, _)| *before >= start) else {
            return Ok(None);
        };
        self.pay(self.at - before)?;
        let next = self.scan.get(self.at + 1);
        let begins = next.is_some_and(|c| !is_space(c));
        Ok(match place {
            Place::Key if c == ':' => Some(before),
            Place::Member if c == ',' && self.scan.is_key(self.at) => Some(before),
            Place::Member if self.scan.text[before..self.at].contains(&'\n') && self.scan.is_key(self.at) => {
                Some(before + 1)
            }
            Place::Item if c == ',' && begins => Some(before),
            _ => None,
        })
    }

    /// Where a string ends that no mark ends; nothing when the text was cut off inside of it.
    fn unended(&self, start: usize, place: Place) -> Option<usize> {
        let text = self.scan.text;
        let (last, closer) = self.scan.before(text.len()).filter(|(last, _)| *last >= start)?;
        let places = start..=last;
        match place {
            Place::Key => places.into_iter().find(|i| text[*i] == ':'),
            Place::Item if matches!(closer, ']' | '}' | ',' | '`') => {
                places.into_iter().find(|i| matches!(text[*i], ',' | ']' | '\n') || self.scan.is_fence(*i))
            }
            Place::Member => places.into_iter().find(|i| match text[*i] {
                ',' => !self.scan.only_closers(*i + 1) && self.scan.is_member(*i + 1),
                '\n' => self.scan.is_key(self.scan.past_space(*i)),
                '}' | ']' => self.scan.only_closers(*i),
                '`' => self.scan.is_fence(*i) && self.scan.only_closers(*i),
                _ => false,
            }),
            _ => None,
        }
    }
}
