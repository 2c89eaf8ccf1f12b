//! An utterance as words with their places. Parameters are cut from the original text, byte for byte.

use crate::word_list::word_lists;

word_lists! {
    "tokens.txt";
    /// Contracted question words, split so that patterns need only the long form.
    CONTRACTED = "contractions";
}

/// Longest word that is compared with the grammar, in bytes. A longer word is only content.
const WORD_BYTES: usize = 64;

/// How many closing marks are tried for one opening mark. It bounds the time for a text full of apostrophes.
const CLOSINGS: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub start: usize,
    pub end: usize,
    /// Lower case, straight apostrophes, without the punctuation around it. Empty for a quoted string.
    pub word: String,
    /// The place of a quoted string's content.
    pub quoted: Option<(usize, usize)>,
    /// The punctuation mark behind it.
    pub closes: Option<char>,
}

#[derive(Clone, Debug)]
pub(crate) struct Utterance<'t> {
    pub text: &'t str,
    pub tokens: Vec<Token>,
}

/// Short forms and hasty spellings. Parameters are cut from the text, so these change no content.
const SHORTHAND: &[(&str, &str)] = &[("u", "you"), ("ur", "your"), ("abt", "about"), ("teh", "the"), ("wat", "what")];

impl<'t> Utterance<'t> {
    pub fn read(text: &'t str) -> Self {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(gap) = text[at..].find(|c: char| !c.is_whitespace()) {
            let start = at + gap;
            let (end, quoted) = match quoted_end(text, start) {
                Some((inner, end)) => (end, Some(inner)),
                None => (word_end(text, start), None),
            };
            push(&mut tokens, text, start, end, quoted);
            at = end;
        }
        Self { text, tokens }
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The word at a place. Empty beyond the end and for quoted strings.
    pub fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.word.as_str())
    }

    /// The text of tokens `lo..hi`, as typed.
    pub fn span(&self, lo: usize, hi: usize) -> &'t str {
        match (self.tokens.get(lo), hi.checked_sub(1).and_then(|last| self.tokens.get(last))) {
            (Some(first), Some(last)) if first.start <= last.end => &self.text[first.start..last.end],
            _ => "",
        }
    }

    /// The number of tokens from `lo` that spell the phrase, within `hi`.
    pub fn starts(&self, lo: usize, hi: usize, phrase: &str) -> Option<usize> {
        // Most phrases begin with another word. This is checked before the phrase is split.
        if !phrase.starts_with(self.word(lo)) {
            return None;
        }
        let mut at = lo;
        for word in phrase.split(' ') {
            if at >= hi || self.word(at) != word {
                return None;
            }
            at += 1;
        }
        Some(at - lo)
    }

    /// A single token as a parameter: the quoted content, or the word without the sentence's punctuation.
    pub fn value(&self, at: usize) -> String {
        let Some(token) = self.tokens.get(at) else { return String::new() };
        if let Some((lo, hi)) = token.quoted {
            return self.text[lo..hi].to_owned();
        }
        let raw = self.text[token.start..token.end].trim_end_matches([',', ';', ':', '!', '?']);
        strip_full_stop(raw).replace("\\ ", " ")
    }
}

/// "what is" for "what's". Other words stay as they are.
pub(crate) fn uncontracted(word: &str) -> String {
    match word.strip_suffix("'s").or_else(|| word.strip_suffix('s')) {
        Some(head) if CONTRACTED.contains(&word) => format!("{head} is"),
        _ => word.to_owned(),
    }
}

/// In Latin, Chinese and Japanese, Arabic, and Greek texts.
pub(crate) fn is_question_mark(c: char) -> bool {
    matches!(c, '?' | '？' | '؟' | '\u{37e}')
}

/// Whether a text ends like a question.
pub fn asks(text: &str) -> bool {
    text.trim_end().ends_with(is_question_mark)
}

/// Removes the full stop of a sentence, and leaves `.`, `..` and `dir/.` alone.
pub(crate) fn strip_full_stop(raw: &str) -> &str {
    match raw.strip_suffix('.') {
        Some(cut) if cut.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '"' | '\'' | '*')) => cut,
        _ => raw,
    }
}

fn push(tokens: &mut Vec<Token>, text: &str, start: usize, end: usize, quoted: Option<(usize, usize)>) {
    let raw = &text[start..end];
    let tail = match quoted {
        Some((_, inner_end)) => &text[inner_end..end],
        None => raw,
    };
    let marks: String = tail.chars().rev().take_while(|c| ",.;:!?…。！".contains(*c) || is_question_mark(*c)).collect();
    let closes = if marks.contains(is_question_mark) { Some('?') } else { marks.chars().next() };
    if quoted.is_some() {
        tokens.push(Token { start, end, word: String::new(), quoted, closes });
        return;
    }
    let word = fold(raw);
    if CONTRACTED.contains(&word.as_str()) {
        let cut = word.len() - if word.contains('\'') { 2 } else { 1 };
        let mark = raw.char_indices().nth(cut).map_or(raw.len(), |(at, _)| at);
        let (head, verb) = (word[..cut].to_owned(), "is".to_owned());
        tokens.push(Token { start, end: start + mark, word: head, quoted: None, closes: None });
        tokens.push(Token { start: start + mark, end, word: verb, quoted: None, closes });
        return;
    }
    tokens.push(Token { start, end, word, quoted: None, closes });
}

fn fold(raw: &str) -> String {
    if raw.len() > WORD_BYTES {
        return String::new();
    }
    let straight = raw.replace(['’', '‘', '`'], "'").to_lowercase();
    let bare = straight
        .trim_start_matches(['(', '[', '{', '¿', '¡'])
        .trim_end_matches(|c| ",.;:!?…)]}。！".contains(c) || is_question_mark(c));
    if bare.is_empty() {
        return straight;
    }
    SHORTHAND.iter().find(|(short, _)| *short == bare).map_or(bare, |(_, long)| long).to_owned()
}

/// A quoted string from here: its content, and the end of the token with the marks behind it.
fn quoted_end(text: &str, start: usize) -> Option<((usize, usize), usize)> {
    const PAIRS: [(&str, &str); 7] =
        [("```", "```"), ("\"", "\""), ("“", "”"), ("«", "»"), ("‘", "’"), ("'", "'"), ("`", "`")];
    let (open, close) = PAIRS.iter().find(|(open, _)| text[start..].starts_with(open))?;
    let inner = start + open.len();
    let mut from = inner;
    for _ in 0..CLOSINGS {
        let stop = from + text[from..].find(close)?;
        let after = stop + close.len();
        let marks = text[after..].find(|c: char| !",.;:!?…)".contains(c)).map_or(text.len(), |gap| after + gap);
        let ends = text[marks..].chars().next().is_none_or(char::is_whitespace);
        let escaped = text[..stop].ends_with('\\');
        if ends && !escaped && stop > inner {
            return Some((fence_content(text, inner, stop, open.len() == 3), marks));
        }
        from = after;
    }
    None
}

/// In a code fence, the language tag and the outer line breaks are no content.
fn fence_content(text: &str, lo: usize, hi: usize, fence: bool) -> (usize, usize) {
    if !fence {
        return (lo, hi);
    }
    let body = match text[lo..hi].split_once('\n') {
        Some((tag, _)) if tag.chars().all(char::is_alphanumeric) => lo + tag.len() + 1,
        _ => lo,
    };
    let end = body + text[body..hi].trim_end().len();
    if end > body { (body, end) } else { (lo, hi) }
}

/// The end of a word: white space that is neither escaped nor inside a quotation that began in the word.
fn word_end(text: &str, start: usize) -> usize {
    let mut chars = text[start..].char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        if c.is_whitespace() && before != '\\' {
            return start + at;
        }
        let opens = at > 0 && (c == '"' || (c == '\'' && before == '='));
        if opens {
            let inner = start + at + c.len_utf8();
            if let Some(gap) = text[inner..].find(c) {
                while chars.next_if(|(next, _)| start + next <= inner + gap).is_some() {}
            }
        }
        before = c;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Utterance::read(text).tokens.iter().map(|token| token.word.clone()).collect()
    }

    #[test]
    fn words_lose_case_and_marks_but_places_keep_the_text() {
        let said = Utterance::read("Hey Maxim, READ  notes.txt!");
        assert_eq!(words("Hey Maxim, READ  notes.txt!"), ["hey", "maxim", "read", "notes.txt"]);
        assert_eq!(said.span(2, 4), "READ  notes.txt!");
        assert_eq!(said.value(3), "notes.txt");
        assert_eq!(said.tokens[1].closes, Some(','));
    }

    #[test]
    fn quoted_strings_are_one_token() {
        let said = Utterance::read("read \"my notes.txt\", please");
        assert_eq!(said.len(), 3);
        assert_eq!(said.value(1), "my notes.txt");
        assert_eq!(Utterance::read("don't say 'it isn't so' twice").value(2), "it isn't so");
        assert_eq!(Utterance::read("run ```bash\nls -la\n```").value(1), "ls -la");
        assert_eq!(Utterance::read("git commit -m=\"a and then b\" x").len(), 4);
    }

    #[test]
    fn dots_that_are_paths_stay() {
        assert_eq!(Utterance::read("list ..").value(1), "..");
        assert_eq!(Utterance::read("read a.txt.").value(1), "a.txt");
        assert_eq!(Utterance::read("read my\\ file.txt").value(1), "my file.txt");
    }

    #[test]
    fn contracted_question_words_are_split() {
        assert_eq!(words("What's in a?"), ["what", "is", "in", "a"]);
        assert_eq!(words("Where’s it"), ["where", "is", "it"]);
    }
}
