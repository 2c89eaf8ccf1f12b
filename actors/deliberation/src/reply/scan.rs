//! A text as characters, and what can be seen from a place in it without moving.

/// What a quotation mark begins, and hence what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    /// Typographic or misused marks, which end by any of their kind.
    DoubleLike,
    SingleLike,
}

impl Quote {
    pub(super) fn of(c: char) -> Option<Self> {
        match c {
            '"' => Some(Self::Double),
            '\'' => Some(Self::Single),
            '“' | '”' | '„' | '‟' => Some(Self::DoubleLike),
            '‘' | '’' | '`' | '´' | '‚' | '‛' => Some(Self::SingleLike),
            _ => None,
        }
    }

    pub(super) fn ends_with(self, c: char) -> bool {
        match (self, Self::of(c)) {
            (Self::DoubleLike, Some(Self::Double)) | (Self::SingleLike, Some(Self::Single)) => true,
            (own, Some(other)) => own == other,
            (_, None) => false,
        }
    }
}

/// White space of any kind, zero-width ones included.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' | '\u{180e}')
}

pub(super) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

pub(super) fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.')
}

/// Longest key that is looked for ahead, in characters.
const KEY: usize = 160;

/// A text that can be looked into.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) text: &'a [char],
}

impl Scan<'_> {
    pub(super) fn get(&self, at: usize) -> Option<char> {
        self.text.get(at).copied()
    }

    pub(super) fn quote(&self, at: usize) -> Option<Quote> {
        self.get(at).and_then(Quote::of)
    }

    pub(super) fn starts_with(&self, at: usize, word: &str) -> bool {
        word.chars().enumerate().all(|(i, c)| self.get(at + i) == Some(c))
    }

    pub(super) fn is_fence(&self, at: usize) -> bool {
        self.starts_with(at, "```")
    }

    /// Behind white space.
    pub(super) fn past_space(&self, mut at: usize) -> usize {
        while self.get(at).is_some_and(is_space) {
            at += 1;
        }
        at
    }

    /// Behind white space and comments.
    pub(super) fn past_gap(&self, mut at: usize) -> usize {
        loop {
            at = self.past_space(at);
            if self.starts_with(at, "/*") {
                at += 2;
                while at < self.text.len() && !self.starts_with(at, "*/") {
                    at += 1;
                }
                at = (at + 2).min(self.text.len());
            } else if self.starts_with(at, "//") || self.starts_with(at, "# ") {
                while self.get(at).is_some_and(|c| c != '\n') {
                    at += 1;
                }
            } else {
                return at;
            }
        }
    }

    /// The last place before `at` that is no white space, with its character.
    pub(super) fn before(&self, at: usize) -> Option<(usize, char)> {
        let at = (0..at).rev().find(|place| self.get(*place).is_some_and(|c| !is_space(c)))?;
        Some((at, self.get(at)?))
    }

    /// Only closing brackets, fences and space follow.
    pub(super) fn only_closers(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.iter().all(|c| is_space(*c) || matches!(c, '}' | ']' | ')' | '`' | ';' | ','))
    }

    /// A key and its colon stand here: quoted, or a plain name. A quoted one may be cut off by the end of the text.
    pub(super) fn is_key(&self, at: usize) -> bool {
        if let Some(quote) = self.quote(at) {
            let end = (at + 1..self.text.len().min(at + 1 + KEY))
                .find(|i| self.get(*i).is_some_and(|c| quote.ends_with(c) || matches!(c, '\n' | '{' | '}')));
            return match end {
                Some(end) if self.quote(end).is_some() => self.get(self.past_gap(end + 1)) == Some(':'),
                Some(_) => false,
                None => at + 1 + KEY >= self.text.len(),
            };
        }
        if !self.get(at).is_some_and(starts_name) {
            return false;
        }
        let mut end = at;
        while end < at + KEY && self.get(end).is_some_and(in_name) {
            end += 1;
        }
        // The first mark of a quoted key may be missing.
        let colon = self.past_space(end + usize::from(self.quote(end).is_some()));
        self.get(colon) == Some(':') && !self.starts_with(colon, "://")
    }

    /// Behind a comma in an object: a member follows, or nothing more.
    pub(super) fn is_member(&self, at: usize) -> bool {
        let at = self.past_gap(at);
        match self.get(at) {
            None | Some('}' | ']' | ',') => true,
            Some('.') => self.starts_with(at, "..."),
            _ if self.is_key(at) => true,
            // A stray word before the key.
            Some(c) if starts_name(c) => {
                let mut end = at;
                while self.get(end).is_some_and(in_name) {
                    end += 1;
                }
                let key = self.past_space(end);
                key > end && self.quote(key).is_some() && self.is_key(key)
            }
            _ => false,
        }
    }

    /// Something that may be a value begins here.
    pub(super) fn begins_value(&self, at: usize) -> bool {
        let keyword =
            || ["true", "false", "null", "True", "False", "None"].iter().any(|word| self.starts_with(at, word));
        self.get(at).is_some_and(|c| matches!(c, '{' | '[' | '-') || c.is_ascii_digit() || Quote::of(c).is_some())
            || keyword()
    }
}
