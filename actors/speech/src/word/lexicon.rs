//! Words the grammar knows without any tool: function words, vague words, numbers, names of files.

use unicode_normalization::UnicodeNormalization;

use crate::word::tokens::{Utterance, is_question_mark};
use crate::word_list::word_lists;
use maxim_language::{self, words};

word_lists! {
    "lexicon.txt";
    /// Words that match `the` in a pattern.
    pub(crate) DETERMINERS = "determiners";
    FUNCTION_WORDS = "function words";
    /// Words that point at something without naming it.
    VAGUE = "vague words";
    PRONOUNS = "pronouns";
    /// Words without meaning in a request to read something.
    pub(crate) NOISE = "words without meaning";
    /// Nouns after which a bare word is the name of a file.
    pub(crate) FILE_NOUNS = "file nouns";
    /// Files with a well-known bare name.
    KNOWN_FILES = "known files";
    /// Frequent words, one edit away from frequent verbs. They never count as a typing error.
    COMMON = "common words";
    STOP_WORDS = "stop words";
    /// Verbs that ask for something at the beginning of a sentence, whatever tools there are.
    ACTIONS = "verbs of imperatives";
    FINITE = "finite verbs";
    CLAUSES = "beginnings of clauses";
    OBJECTS = "beginnings of objects";
    OTHERS = "beginnings of other sentences";
    PAST = "irregular past forms";
    /// Words that a sentence about the world begins with.
    SUBJECTS = "beginnings of statements";
    /// Finite verbs of such sentences.
    VERBS = "finite verbs of statements";
}

pub(crate) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(&word)
}

pub fn is_vague(word: &str) -> bool {
    VAGUE.contains(&word)
}

pub(crate) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.contains(&word)
}

pub(crate) fn is_common(word: &str) -> bool {
    COMMON.contains(&word) || FUNCTION_WORDS.contains(&word) || VAGUE.contains(&word)
}

/// Whether a word looks like the name of a file or a glob. No noun has to say so.
pub(crate) fn looks_like_path(value: &str) -> bool {
    let has_letters = value.chars().any(char::is_alphanumeric);
    value == "."
        || value == ".."
        || value == "/"
        || value.starts_with('~')
        || value.contains('*')
        || value.contains('_')
        || (has_letters && value.contains(['/', '\\']))
        || (has_letters && value.contains('.') && !value.ends_with('.'))
        || KNOWN_FILES.contains(&value.to_lowercase().as_str())
}

/// A number as digits (with sign, fraction, °, % or a degree word glued on) or as an English word up to ninety-nine.
pub(crate) fn number(text: &str) -> Option<serde_json::Number> {
    const ONES: &[&str] = &[
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let word = text.to_lowercase();
    let bare = word.trim_end_matches("degrees").trim_end_matches("deg").trim_end_matches(['°', '%']);
    if let Ok(whole) = bare.trim_start_matches('+').parse::<i64>() {
        return Some(whole.into());
    }
    if bare.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && let Ok(real) = bare.parse::<f64>()
    {
        return serde_json::Number::from_f64(real);
    }
    if let Some(ones) = ONES.iter().position(|name| *name == bare) {
        return Some(ones.into());
    }
    let (tens, ones) = bare.split_once('-').unwrap_or((bare, "zero"));
    let tens = TENS.iter().position(|name| *name == tens)?;
    let ones = ONES.iter().take(10).position(|name| *name == ones)?;
    Some((20 + 10 * tens + ones).into())
}

/// Whether the sentence is an imperative, with or without a tool for it. If the verb is a noun, as in "email servers are
/// slow", it is a statement.
pub(crate) fn is_imperative(said: &Utterance, lo: usize) -> bool {
    let is_address = said.tokens.get(lo).is_some_and(|token| token.closes == Some(','));
    if said.len() < lo + 2 || is_address || !ACTIONS.contains(&said.word(lo)) {
        return false;
    }
    has_no_other_verb(said, lo, &FINITE)
}

/// Whether no finite verb follows the first word, except in a clause: "dust the shelf that is high".
fn has_no_other_verb(said: &Utterance, lo: usize, finite: &[&str]) -> bool {
    let mut after = (lo + 1..said.len()).map(|at| said.word(at));
    after.find(|word| finite.contains(word) || CLAUSES.contains(word)).is_none_or(|word| CLAUSES.contains(&word))
}

/// Whether an unknown first word is used as a verb of an imperative: before an object, without another verb in the sentence
/// ("polish the boots"). Words that often begin other sentences are excluded.
pub(crate) fn is_like_an_order(said: &Utterance, lo: usize) -> bool {
    let first = said.word(lo);
    let is_verb = first.len() > 1
        && first.chars().all(|c| c.is_ascii_lowercase())
        && !["ing", "ed", "ly"].iter().any(|end| first.ends_with(end))
        && ![&OTHERS, &PAST, &FUNCTION_WORDS, &VAGUE, &PRONOUNS, &DETERMINERS, &STOP_WORDS, &SUBJECTS, &VERBS]
            .iter()
            .any(|known| known.contains(&first));
    let is_object = said.len() > lo + 1 && OBJECTS.contains(&said.word(lo + 1));
    let closes = said.tokens.get(lo).is_some_and(|token| token.closes.is_some());
    is_verb && is_object && !closes && has_no_other_verb(said, lo, &VERBS)
}

/// Whether a word is such a verb.
pub(crate) fn is_finite(word: &str) -> bool {
    VERBS.contains(&word)
}

/// Whether the utterance is a statement: it begins like a sentence about the world and has more than a word or two.
pub(crate) fn is_statement(said: &Utterance, lo: usize) -> bool {
    let words = said.len() - lo;
    (words >= 3 && SUBJECTS.contains(&said.word(lo)))
        || (words >= 4 && said.word(lo).ends_with("'s") && !FINITE.contains(&said.word(lo + 1)))
        || (words >= 2 && SUBJECTS.contains(&said.word(lo)) && said.word(lo).contains('\''))
        || (words >= 3 && (lo + 1..said.len().min(lo + 8)).any(|at| VERBS.contains(&said.word(at))))
}

/// An emoji or another sign for a thing.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// The content words of a text, in lower case, in order, without repeats.
pub fn terms(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // An accent may be part of a letter or follow it.
    let composed = if text.is_ascii() { text.to_lowercase() } else { text.nfc().collect::<String>().to_lowercase() };
    let folded = composed.replace('’', "'");
    let parts = |c: char| c.is_whitespace() || ",;:!?()[]{}\"“”«»。！、，「」".contains(c) || is_question_mark(c);
    for raw in folded.split(parts) {
        let word = raw.trim_matches(['\'', '.', '`']);
        let word = word.strip_suffix("'s").unwrap_or(word);
        if word.is_empty() || word.len() > 64 || STOP_WORDS.contains(&word) || found.iter().any(|known| known == word) {
            continue;
        }
        if word.chars().any(|c| c.is_alphanumeric() || is_picture(c)) {
            found.push(word.to_owned());
        }
    }
    found
}

/// The pieces by which a term is compared: itself, or its letters and pairs of letters if it has no spaces between words.
pub fn pieces(term: &str) -> Vec<String> {
    if term.is_ascii() || term.contains(is_picture) {
        return vec![term.to_owned()];
    }
    words(term).iter().flat_map(maxim_language::pieces).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_digits_or_words() {
        for (text, value) in [
            ("30", "30"),
            ("-12.5", "-12.5"),
            ("+3", "3"),
            ("45°", "45"),
            ("30deg", "30"),
            ("forty-five", "45"),
            ("ninety", "90"),
            ("twelve", "12"),
        ] {
            assert_eq!(number(text).map(|n| n.to_string()).as_deref(), Some(value), "{text}");
        }
        for text in ["", "-", "many", "nan", "inf", "1e999", "twenty-ten"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn paths_are_told_from_words() {
        for path in ["a.txt", "src/main.rs", "*.rs", "..", "~", "Makefile", ".env", "my_notes"] {
            assert!(looks_like_path(path), "{path}");
        }
        for word in ["thing", "notes", "...", "door"] {
            assert!(!looks_like_path(word), "{word}");
        }
    }

    #[test]
    fn terms_are_the_content_words() {
        assert_eq!(terms("What do you remember about Anna's blue cup, and the Cup?"), ["anna", "blue", "cup"]);
    }
}
