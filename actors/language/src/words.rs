//! From text to stems: lower case, possessive 's removed, split at what is not a letter or digit, stop words dropped,
//! Snowball English stems (Porter 2001). Where words aren't written apart (Chinese, Japanese, Korean, Thai …), each
//! letter and each pair of letters is one, which needs no dictionary.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::iter;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use unicode_normalization::char::is_combining_mark;

/// Words that carry no content, question words and auxiliaries included.
const STOP_WORDS: [&str; 75] = [
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "do", "does", "did",
    "will", "would", "could", "should", "may", "might", "can", "shall", "to", "of", "in", "for", "on", "with", "at",
    "by", "from", "as", "into", "and", "but", "or", "nor", "not", "no", "so", "if", "than", "that", "this", "it",
    "its", "i", "you", "he", "she", "they", "we", "my", "your", "his", "her", "their", "our", "me", "him", "them",
    "us", "what", "when", "where", "who", "which", "why", "how", "there", "here", "about", "just",
];

pub fn is_stop_word(word: &str) -> bool {
    word.len() <= 6 && STOP_WORDS.iter().any(|stop| stop.len() == word.len() && *stop == word)
}

/// Capitals inside of a word beyond which it isn't an identifier that somebody wrote, but letters by chance (base64).
const MOST_HUMPS: usize = 8;

/// One word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Lower case.
    pub text: String,
    /// Its first letter was upper case.
    pub capital: bool,
    /// Nothing but the start of the text or the end of a sentence stands before it.
    pub opens_sentence: bool,
    /// Where a part begins in it that starts with a capital ("TimeoutError": 7), in bytes; for Latin letters alone.
    pub humps: Vec<usize>,
}

/// The words of `text` in order, stop words included.
pub fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::with_capacity(text.len() / 5 + 1);
    let mut opens = true;
    let mut chars = text.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        if !first.is_alphanumeric() {
            opens |= matches!(first, '.' | '!' | '?' | ':' | '"' | '[' | '\n');
            continue;
        }
        let mut end = start + first.len_utf8();
        while let Some((at, c)) = chars.next_if(|(_, c)| c.is_alphanumeric() || is_combining_mark(*c)) {
            end = at + c.len_utf8();
        }
        let mut after = text[end..].chars();
        let possessive = matches!(after.next(), Some('\'' | '’'))
            && matches!(after.next(), Some('s' | 'S'))
            && !after.next().is_some_and(char::is_alphanumeric);
        if possessive {
            chars.next();
            chars.next();
        }
        let raw = &text[start..end];
        let lower = if raw.is_ascii() { raw.to_ascii_lowercase() } else { raw.to_lowercase() };
        let humps = if raw.is_ascii() { humps(raw.as_bytes()) } else { Vec::new() };
        found.push(Word { text: lower, capital: first.is_uppercase(), opens_sentence: opens, humps });
        opens = false;
    }
    found
}

/// Where a capital follows a small letter or a digit, or begins a capitalised word behind other capitals.
fn humps(raw: &[u8]) -> Vec<usize> {
    let begins = |at: &usize| {
        let is_small = |at: usize| raw.get(at).is_some_and(u8::is_ascii_lowercase);
        raw[*at].is_ascii_uppercase() && (!raw[at - 1].is_ascii_uppercase() || is_small(at + 1))
    };
    let found: Vec<usize> = (1..raw.len()).filter(begins).collect();
    if found.len() > MOST_HUMPS { Vec::new() } else { found }
}

/// Most words have one.
pub type Pieces<'a> = SmallVec<[&'a str; 3]>;

/// What a word is found by: itself; the parts of an identifier ("TimeoutError": "timeout", "error") and of a number with
/// letters ("e4021": "4021") if they are longer than two letters; and in scripts that write words together each letter and each pair of letters.
pub fn pieces(word: &Word) -> Pieces<'_> {
    let text = word.text.as_str();
    if !text.chars().any(is_written_together) {
        let mut found = Pieces::from_iter([text]);
        if word.humps.is_empty() {
            found.extend(parts_of_mixed(text).into_iter().flatten().filter(|part| part.len() > 2));
        } else {
            let ends = word.humps.iter().copied().chain([text.len()]);
            let parts = iter::once(0).chain(word.humps.iter().copied()).zip(ends).map(|(from, to)| &text[from..to]);
            found.extend(parts.filter(|part| part.len() > 2));
        }
        return found;
    }
    letters_and_pairs(text)
}

fn letters_and_pairs(word: &str) -> Pieces<'_> {
    let mut found = Pieces::new();
    // Where each letter begins that is written together with its neighbours, and where each other stretch does.
    let mut letters: Vec<(usize, bool)> = Vec::new();
    for (at, c) in word.char_indices() {
        let together = is_written_together(c);
        let goes_on = is_combining_mark(c) || !together;
        match letters.last() {
            Some((_, before)) if goes_on && (is_combining_mark(c) || !before) => {}
            _ => letters.push((at, together)),
        }
    }
    let end = |of: usize| letters.get(of + 1).map_or(word.len(), |(at, _)| *at);
    for (number, (at, together)) in letters.iter().enumerate() {
        found.push(&word[*at..end(number)]);
        if *together && letters.get(number + 1).is_some_and(|(_, next)| *next) {
            found.push(&word[*at..end(number + 1)]);
        }
    }
    found
}

/// Letters then digits, or digits then letters.
fn parts_of_mixed(word: &str) -> Option<[&str; 2]> {
    let is_digit = |c: char| c.is_ascii_digit();
    let first = word.chars().next().map(is_digit)?;
    let (before, after) = word.split_at(word.find(|c| is_digit(c) != first)?);
    after.chars().all(|c| is_digit(c) != first).then_some([before, after])
}

/// Letters of scripts that put no space between words, or (Korean) none before what is appended to them. By Unicode's
/// blocks.
fn is_written_together(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' // Thai, Lao
        | '\u{1000}'..='\u{109F}' // Burmese
        | '\u{1780}'..='\u{17FF}' // Khmer
        | '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7FF}' // Hangul
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312F}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' // Kana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' // Han
    )
}

/// Makes stems of words.
pub struct Stems {
    english: Stemmer,
}

impl Default for Stems {
    fn default() -> Self {
        Self { english: Stemmer::create(Algorithm::English) }
    }
}

/// Words whose stems are at hand, a power of two.
const AT_HAND: usize = 1024;
/// A longer word is seldom said twice.
const AT_HAND_BYTES: usize = 24;

thread_local! {
    /// Words and their stems, each in the place of its hash: a percept's words come by half a dozen rooms. What a pure
    /// function gave, so nothing of any agent's state is in it.
    static STEMMED: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

impl Stems {
    /// The stem of a lower-case word; nothing for a stop word.
    pub fn of(&self, word: &str) -> Option<String> {
        if is_stop_word(word) {
            return None;
        }
        if word.len() > AT_HAND_BYTES {
            return Some(self.english.stem(word).into_owned());
        }
        let place = FxBuildHasher.hash_one(word) as usize & (AT_HAND - 1);
        STEMMED.with_borrow_mut(|stemmed| {
            stemmed.resize(AT_HAND, (String::new(), String::new()));
            let (known, stem) = &mut stemmed[place];
            if known != word {
                (*known, *stem) = (word.to_owned(), self.english.stem(word).into_owned());
            }
            Some(stem.clone())
        })
    }

    /// The stems of a text in order, repeats kept.
    pub fn of_text(&self, text: &str) -> Vec<String> {
        let words = words(text);
        words.iter().flat_map(pieces).filter_map(|piece| self.of(piece)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lowered_split_and_lose_their_possessive() {
        let texts: Vec<_> = words("Anna's dog-house, isn't it? Moritz’s!").into_iter().map(|w| w.text).collect();
        assert_eq!(texts, ["anna", "dog", "house", "isn", "t", "it", "moritz"]);
    }

    #[test]
    fn marks_stay_with_their_letters() {
        let texts: Vec<_> = words("cafe\u{301} हिन्दी").into_iter().map(|word| word.text).collect();
        assert_eq!(texts, ["cafe\u{301}", "हिन्दी"]);
    }

    #[track_caller]
    fn assert_pieces(text: &str, expected: &[&str]) {
        let words = words(text);
        assert_eq!(words.iter().flat_map(pieces).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_written_together_is_found_by_letters_and_pairs() {
        assert_pieces("在北京abc吃", &["在", "在北", "北", "北京", "京", "abc", "吃"]);
        assert_pieces("서울에", &["서", "서울", "울", "울에", "에"]);
        assert_pieces("ที่นี่", &["ที่", "ที่นี่", "นี่"]);
        assert_pieces("Schlüssel", &["schlüssel"]);
    }

    #[test]
    fn numbers_with_letters_are_found_by_their_parts() {
        assert_pieces("E4021", &["e4021", "4021"]);
        assert_pieces("42err", &["42err", "err"]);
        assert_pieces("a1b2 42 err", &["a1b2", "42", "err"]);
    }

    #[test]
    fn identifiers_are_found_by_their_parts() {
        assert_pieces("TimeoutError", &["timeouterror", "timeout", "error"]);
        assert_pieces("HTTPServer2Go", &["httpserver2go", "http", "server2"]);
        assert_pieces("TVs DVD iPhone", &["tvs", "dvd", "iphone", "phone"]);
    }

    #[test]
    fn capitals_and_sentence_starts_are_noted() {
        let found = words("Hello Anna. We met in Rome");
        let inside: Vec<_> = found.iter().filter(|w| w.capital && !w.opens_sentence).map(|w| w.text.as_str()).collect();
        assert_eq!(inside, ["anna", "rome"]);
    }

    #[test]
    fn stems_drop_stop_words_and_join_forms() {
        let stems = Stems::default();
        assert_eq!(stems.of_text("What are the researching researchers"), ["research", "research"]);
        assert_eq!(stems.of("which"), None);
    }

    #[test]
    fn a_stem_that_is_at_hand_is_that_of_its_own_word() {
        let stems = Stems::default();
        let words: Vec<String> = (0..4 * AT_HAND).map(|n| format!("walking{n}ings")).collect();
        // More words than places, twice: each place changes hands.
        for word in words.iter().chain(&words) {
            assert_eq!(stems.of(word).as_deref(), Some(&*Stems::default().english.stem(word)));
        }
    }
}
