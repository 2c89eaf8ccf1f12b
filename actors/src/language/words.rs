//! From text to stems: lower case, possessive 's removed, split at what is not a letter or digit, stop words dropped,
//! Snowball English stems (Porter 2001).

use rust_stemmers::{Algorithm, Stemmer};

/// Words that carry no content, question words and auxiliaries included.
const STOP_WORDS: [&str; 75] = [
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "do", "does", "did",
    "will", "would", "could", "should", "may", "might", "can", "shall", "to", "of", "in", "for", "on", "with", "at",
    "by", "from", "as", "into", "and", "but", "or", "nor", "not", "no", "so", "if", "than", "that", "this", "it",
    "its", "i", "you", "he", "she", "they", "we", "my", "your", "his", "her", "their", "our", "me", "him", "them",
    "us", "what", "when", "where", "who", "which", "why", "how", "there", "here", "about", "just",
];

pub fn is_stop_word(word: &str) -> bool {
    word.len() <= 6 && STOP_WORDS.contains(&word)
}

/// One word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Lower case.
    pub text: String,
    /// Its first letter was upper case.
    pub capital: bool,
    /// Nothing but the start of the text or the end of a sentence stands before it.
    pub opens_sentence: bool,
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
        while let Some((at, c)) = chars.next_if(|(_, c)| c.is_alphanumeric()) {
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
        found.push(Word { text: lower, capital: first.is_uppercase(), opens_sentence: opens });
        opens = false;
    }
    found
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

impl Stems {
    /// The stem of a lower-case word; nothing for a stop word.
    pub fn of(&self, word: &str) -> Option<String> {
        (!is_stop_word(word)).then(|| self.english.stem(word).into_owned())
    }

    /// The stems of a text in order, repeats kept.
    pub fn of_text(&self, text: &str) -> Vec<String> {
        words(text).iter().filter_map(|word| self.of(&word.text)).collect()
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
}
