//! Words the grammar knows without any tool: function words, vague words, numbers, names of files.

use unicode_normalization::UnicodeNormalization;

use crate::word::tokens::{Utterance, is_question_mark};
use maxim_language::{self, words};

/// What may stand where a pattern says `the`.
pub(crate) const DETERMINERS: &[&str] =
    &["the", "a", "an", "my", "our", "your", "this", "his", "her", "their", "some", "that"];

const FUNCTION_WORDS: &[&str] = &[
    "a",
    "an",
    "the",
    "with",
    "to",
    "in",
    "into",
    "from",
    "of",
    "and",
    "or",
    "as",
    "for",
    "on",
    "at",
    "by",
    "but",
    "if",
    "containing",
    "saying",
    "is",
    "are",
];

/// Words that point at something without naming it.
const VAGUE: &[&str] = &[
    "it",
    "this",
    "that",
    "these",
    "those",
    "them",
    "thing",
    "things",
    "stuff",
    "something",
    "anything",
    "everything",
    "nothing",
    "one",
    "ones",
    "all",
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "directories",
    "document",
    "command",
    "commands",
    "script",
    "scripts",
    "program",
    "code",
    "here",
    "there",
    "what",
    "whatever",
    "none",
    "any",
    "both",
    "some",
    "me",
    "you",
    "him",
    "her",
    "us",
];

const PRONOUNS: &[&str] = &["it", "this", "that", "these", "those", "them", "something", "anything"];

/// Words that a request to read something may hold without any change of meaning.
pub(crate) const NOISE: &[&str] =
    &["the", "a", "an", "my", "your", "our", "out", "up", "over", "all", "currently", "please", "just", "there", "of"];

/// Nouns after which a bare word is the name of a file.
pub(crate) const FILE_NOUNS: &[&str] = &["file", "files", "folder", "directory", "dir", "path", "named", "called"];

/// Files that are known by a bare name.
const KNOWN_FILES: &[&str] = &[
    "makefile",
    "dockerfile",
    "readme",
    "license",
    "changelog",
    "todo",
    "notice",
    "authors",
    "justfile",
    "procfile",
    "gemfile",
    "jenkinsfile",
];

/// Frequent words that are one edit away from frequent verbs: never taken for a typing error.
const COMMON: &[&str] = &[
    "rain", "fun", "sun", "gun", "ran", "ruin", "rum", "red", "real", "lead", "dead", "head", "bread", "road", "ready",
    "white", "wrote", "fine", "fined", "kind", "mind", "wind", "bind", "blind", "lost", "last", "lest", "least",
    "late", "shot", "shop", "slow", "how", "who", "snow", "shown", "edits", "exit", "cute", "opens", "pen", "oven",
    "even", "seat", "heat", "cat", "car", "can", "that", "than", "look", "book", "took", "cook", "hook", "like",
    "list's", "sand", "end", "spend", "same", "save's", "cave", "gave", "have", "wave", "turns", "learn",
];

const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "again",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "been",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "ever",
    "every",
    "everything",
    "for",
    "from",
    "had",
    "happen",
    "has",
    "have",
    "he",
    "her",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "know",
    "many",
    "me",
    "much",
    "my",
    "now",
    "of",
    "on",
    "or",
    "our",
    "please",
    "recall",
    "remember",
    "said",
    "say",
    "she",
    "should",
    "so",
    "some",
    "something",
    "tell",
    "mention",
    "mentioned",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "they",
    "this",
    "to",
    "told",
    "us",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
    "mine",
    "yours",
    "still",
    "keep",
    "kept",
    "maxim",
];

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

/// Whether a word looks like the name of a file or a glob, without a noun that says so.
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

/// Verbs that ask for something where a sentence begins with them, whatever tools there are.
const ACTIONS: &str = "\
    add append arrange ask attach bake book boot bring build buy call cancel carry check clean clear click climb \
    close compare compile compress connect convert cook copy count dance delete deploy dim disable disconnect \
    do download draw drive drop duplicate email empty enable encrypt erase explain fetch fix fly follow format \
    forward generate give go grab hand hang hide hold install invite jump kill knock lift lock look lower mail \
    merge message mount move mute nod order paint paste pay pick play point post pour press print publish pull \
    push put raise reboot record remove rename repair reply reserve reset restart restore rotate schedule sell \
    send shake share shut sing sort speak spin start store summarise summarize switch take teach tell text throw \
    toggle touch transfer translate turn tweet uninstall unlock unmount unzip update upgrade upload vacuum walk \
    wash water wave whisper wipe zip";

/// Whether something is asked for in the imperative, be there a tool for it or not. Where such a verb is a noun, as in
/// "email servers are slow", something is told.
pub(crate) fn is_imperative(said: &Utterance, lo: usize) -> bool {
    let is_address = said.tokens.get(lo).is_some_and(|token| token.closes == Some(','));
    if said.len() < lo + 2 || is_address || !ACTIONS.split_whitespace().any(|verb| verb == said.word(lo)) {
        return false;
    }
    has_no_other_verb(said, lo, FINITE)
}

const FINITE: &[&str] = &["is", "are", "was", "were", "has", "had", "will", "does", "did", "went", "came", "can"];

/// Whether no finite verb follows the first word but in a clause: "dust the shelf that is high".
fn has_no_other_verb(said: &Utterance, lo: usize, finite: &[&str]) -> bool {
    const CLAUSES: &[&str] = &["that", "which", "who", "saying", "if", "when", "because", "whether", "how", "what"];
    let mut after = (lo + 1..said.len()).map(|at| said.word(at));
    after.find(|word| finite.contains(word) || CLAUSES.contains(word)).is_none_or(|word| CLAUSES.contains(&word))
}

/// Whether an unknown word stands where a verb asks for something: before an object, with no other verb in the sentence
/// ("polish the boots"). Words that begin other sentences so are no such verbs.
pub(crate) fn is_like_an_order(said: &Utterance, lo: usize) -> bool {
    const OBJECTS: &[&str] = &[
        "the", "my", "your", "our", "his", "her", "their", "a", "an", "this", "these", "those", "every", "each", "it",
        "them", "me", "him", "us",
    ];
    const OTHERS: &[&str] = &[
        "above",
        "across",
        "after",
        "against",
        "all",
        "along",
        "already",
        "although",
        "always",
        "among",
        "around",
        "because",
        "before",
        "behind",
        "below",
        "beside",
        "besides",
        "between",
        "beyond",
        "both",
        "despite",
        "down",
        "during",
        "enjoy",
        "enough",
        "even",
        "except",
        "feel",
        "got",
        "guess",
        "half",
        "hate",
        "hope",
        "hopefully",
        "inside",
        "instead",
        "least",
        "less",
        "like",
        "love",
        "many",
        "maybe",
        "mean",
        "miss",
        "more",
        "most",
        "near",
        "need",
        "not",
        "off",
        "often",
        "once",
        "only",
        "opposite",
        "out",
        "outside",
        "over",
        "past",
        "per",
        "quite",
        "rather",
        "regarding",
        "same",
        "since",
        "still",
        "such",
        "than",
        "then",
        "think",
        "though",
        "through",
        "till",
        "too",
        "toward",
        "towards",
        "twice",
        "under",
        "unless",
        "unlike",
        "until",
        "up",
        "upon",
        "want",
        "whereas",
        "wish",
        "within",
        "without",
        "worth",
        "yet",
    ];
    const PAST: &[&str] = &[
        "broke", "caught", "felt", "forgot", "found", "gave", "had", "heard", "kept", "lost", "met", "saw", "sent",
        "sold", "spent", "took", "won",
    ];
    let first = said.word(lo);
    let is_verb = first.len() > 1
        && first.chars().all(|c| c.is_ascii_lowercase())
        && !["ing", "ed", "ly"].iter().any(|end| first.ends_with(end))
        && ![OTHERS, PAST, FUNCTION_WORDS, VAGUE, PRONOUNS, DETERMINERS, STOP_WORDS, SUBJECTS, VERBS]
            .iter()
            .any(|known| known.contains(&first));
    let is_object = said.len() > lo + 1 && OBJECTS.contains(&said.word(lo + 1));
    let closes = said.tokens.get(lo).is_some_and(|token| token.closes.is_some());
    is_verb && is_object && !closes && has_no_other_verb(said, lo, VERBS)
}

/// Words that a sentence about the world begins with.
const SUBJECTS: &[&str] = &[
    "i",
    "i'm",
    "i've",
    "i'll",
    "i'd",
    "im",
    "we",
    "we're",
    "we've",
    "we'll",
    "he",
    "he's",
    "she",
    "she's",
    "it",
    "it's",
    "its",
    "they",
    "they're",
    "you",
    "you're",
    "my",
    "our",
    "your",
    "his",
    "her",
    "their",
    "the",
    "this",
    "that",
    "these",
    "those",
    "there",
    "there's",
    "today",
    "yesterday",
    "tomorrow",
    "a",
    "an",
    "everyone",
    "everybody",
    "someone",
    "nobody",
    "some",
    "people",
    "here",
];

/// Finite verbs of such sentences.
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "am", "has", "have", "had", "will", "won't", "isn't", "aren't", "wasn't", "can",
    "can't", "does", "doesn't", "did", "didn't", "likes", "loves", "hates", "wants", "lives", "works", "went", "came",
    "said", "says", "told", "asked", "needs", "knows", "left", "got", "called", "bought", "made", "put", "goes",
    "comes", "takes", "means", "wrote", "thinks", "gave", "writes", "asks", "tells",
];

/// Whether it is such a verb.
pub(crate) fn is_finite(word: &str) -> bool {
    VERBS.contains(&word)
}

/// Whether something is told: it begins like a sentence about the world and is longer than a word or two.
pub(crate) fn is_statement(said: &Utterance, lo: usize) -> bool {
    let words = said.len() - lo;
    (words >= 3 && SUBJECTS.contains(&said.word(lo)))
        || (words >= 4 && said.word(lo).ends_with("'s") && !FINITE.contains(&said.word(lo + 1)))
        || (words >= 2 && SUBJECTS.contains(&said.word(lo)) && said.word(lo).contains('\''))
        || (words >= 3 && (lo + 1..said.len().min(lo + 8)).any(|at| VERBS.contains(&said.word(at))))
}

/// An emoji or another sign that stands for a thing.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// The content words of a text, in lower case, in order, without repeats.
pub fn terms(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // An accent may stand in a letter or behind it.
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

/// What a term is compared by: itself, or where words are written together its letters and pairs of letters.
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
