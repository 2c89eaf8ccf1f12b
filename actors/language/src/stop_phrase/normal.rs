//! An utterance as words: how it was dressed, spelt and shouted makes no difference.
//!
//! NFKD and lower case; accents, apostrophes and invisible marks are dropped, and a letter that is held counts once. What is no
//! letter or digit is a gap. Chinese and Japanese are written without gaps: each character is a word there.

use unicode_normalization::UnicodeNormalization;

/// A word, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    /// A mark that cuts a sentence stands behind it.
    pub is_cut: bool,
    /// A character of a script without gaps.
    pub is_character: bool,
}

impl Token {
    fn letter(&self) -> Option<char> {
        let mut letters = self.text.chars();
        letters.next().filter(|_| letters.next().is_none() && !self.is_character)
    }
}

/// The words as they stand, one after the other: who has seen enough needs none of the rest.
struct Tokens<C: Iterator<Item = char>> {
    chars: std::iter::Peekable<C>,
}

/// All words of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    stream(text).collect()
}

/// The words of a text, with letters that were spaced (`s t o p`) put together.
pub(super) fn stream(text: &str) -> impl Iterator<Item = Token> + '_ {
    let chars = text.nfkd().flat_map(char::to_lowercase).filter(|c| !is_silent(*c)).map(plain);
    let mut words = Tokens { chars: chars.peekable() }.peekable();
    std::iter::from_fn(move || {
        let mut word = words.next()?;
        if word.letter().is_some() {
            // A letter alone stays a word.
            while let Some(next) = words.next_if(|next| next.letter().is_some()) {
                if !word.text.ends_with(next.text.as_str()) {
                    word.text.push_str(&next.text);
                }
                word.is_cut = next.is_cut;
            }
        }
        Some(word)
    })
}

impl<C: Iterator<Item = char>> Iterator for Tokens<C> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while self.chars.next_if(|c| !is_letter(*c)).is_some() {}
        let first = self.chars.next()?;
        let (mut text, is_character) = (String::from(first), is_of_characters(first));
        if is_character {
            // Marks of a Japanese syllable stand behind it.
            while let Some(mark) = self.chars.next_if(|c| matches!(c, '\u{3099}' | '\u{309a}')) {
                text.push(mark);
            }
        } else {
            let mut last = first;
            while let Some(c) = self.chars.next_if(|c| is_letter(*c) && !is_of_characters(*c)) {
                if c != last {
                    text.push(c);
                }
                last = c;
            }
        }
        let mut is_cut = false;
        while let Some(gap) = self.chars.next_if(|c| !is_letter(*c)) {
            is_cut |= is_cutting(gap);
            // Whoever shouts in writing lets go of the shift key: "stop!!1".
            while gap == '!' && self.chars.next_if_eq(&'1').is_some() {}
        }
        Some(Token { text: if is_character { text } else { respelt(text) }, is_cut, is_character })
    }
}

/// `st0p`, `5top`, and a word that letters of Cyrillic are mixed into: what looks like a letter is one.
fn respelt(word: String) -> String {
    let has = |is: fn(char) -> bool| word.chars().any(is);
    let (has_latin, has_cyrillic) = (has(|c| c.is_ascii_lowercase()), has(|c| matches!(c, '\u{400}'..='\u{4ff}')));
    let has_digit = has(|c| c.is_ascii_digit());
    if !has_latin || !(has_digit || has_cyrillic) {
        return word;
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars().map(looks_like) {
        if !out.ends_with(c) {
            out.push(c);
        }
    }
    out
}

fn looks_like(c: char) -> char {
    match c {
        '0' | 'о' => 'o',
        '1' | 'і' => 'i',
        '3' | 'е' => 'e',
        '4' | 'а' => 'a',
        '5' | 'ѕ' => 's',
        '7' | 'т' => 't',
        'р' => 'p',
        'с' => 'c',
        'х' => 'x',
        'у' => 'y',
        'к' => 'k',
        'м' => 'm',
        other => other,
    }
}

/// The words with a gap between those that have one.
pub(super) fn spaced(tokens: &[Token]) -> String {
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && !(token.is_character && tokens[at - 1].is_character) {
            out.push(' ');
        }
        out.push_str(&token.text);
    }
    out
}

/// The words without gaps.
pub(super) fn glued(tokens: &[Token]) -> String {
    let mut out = String::new();
    for c in tokens.iter().flat_map(|token| token.text.chars()) {
        if !out.ends_with(c) {
            out.push(c);
        }
    }
    out
}

fn is_letter(c: char) -> bool {
    // Signs within a word of an Indic or Thai script, and of a Japanese syllable.
    let is_mark =
        matches!(c, '\u{900}'..='\u{963}' | '\u{980}'..='\u{dff}' | '\u{e30}'..='\u{e4e}' | '\u{3099}' | '\u{309a}');
    c.is_alphanumeric() || is_mark || is_sign(c)
}

/// A character of Chinese or Japanese, or a sign that means to stop.
fn is_of_characters(c: char) -> bool {
    is_sign(c)
        || matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

/// What isn't seen, joins a word, or is an accent: apostrophes, joiners, direction marks, Arabic and Hebrew vowels, the marks of a
/// held syllable in Japanese.
fn is_silent(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | '`' | '´' | 'ʼ' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{300}'..='\u{36f}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{640}' | '\u{591}'..='\u{5bd}' | '\u{5bf}'..='\u{5c7}'
        | 'ー' | 'っ' | 'ッ' | 'ぁ' | 'ァ')
}

/// Letters that people type for one another.
fn plain(c: char) -> char {
    match c {
        'ς' => 'σ',
        'ı' => 'i',
        'ø' => 'o',
        'ł' => 'l',
        'ى' => 'ي',
        '🖐' | '🤚' => '✋',
        other => other,
    }
}

/// A sign that is shown to stop somebody.
fn is_sign(c: char) -> bool {
    matches!(c, '🛑' | '⛔' | '✋')
}

fn is_cutting(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | '!' | '?' | ';' | ':' | '…' | '–' | '—' | '\n' | '、' | '。' | '，' | '！' | '؛' | '،' | '।'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn dress_and_spelling_make_no_difference() {
        for text in [
            "stop",
            "STOP!!",
            "s t o p",
            "S.T.O.P.",
            "stooop",
            "s\u{200b}top",
            "ｓｔｏｐ",
            "**stop**",
            "s-t-o-o-p",
            "stôp",
        ] {
            assert_eq!(words(text), ["stop"], "{text}");
        }
        assert_eq!(words("Don’t move"), ["dont", "move"]);
        assert_eq!(words("arrête-toi"), ["arete", "toi"]);
        assert_eq!(words("e-stop"), ["e", "stop"]);
        assert_eq!(words("止まれ！"), ["止", "ま", "れ"]);
        assert_eq!(words("ストップ"), words("ストップー！"));
        assert_eq!(words("स्टॉप").len(), 1);
        assert_eq!(words("فوراً"), words("فورا"));
        assert_eq!(words("st0p"), ["stop"]);
        assert_eq!(words("5to0p"), ["stop"]);
        assert_eq!(words("st\u{43e}p"), ["stop"], "with a letter of Cyrillic");
        assert_eq!(words("стоп 70 %"), ["стоп", "70"]);
        assert_eq!(words("🛑 ✋🏽✋"), ["🛑", "✋", "✋"]);
    }

    #[test]
    fn marks_that_cut_are_known() {
        let cut: Vec<bool> = tokens("no, stop now!").into_iter().map(|token| token.is_cut).collect();
        assert_eq!(cut, [true, false, true]);
    }
}
