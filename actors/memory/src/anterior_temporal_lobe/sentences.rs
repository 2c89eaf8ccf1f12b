//! Sentences that define: "a mug is a container", "the engine is part of the car". Precision comes before coverage:
//! other forms define nothing.

use maxim_bus::relations::{CAUSES, HAS_PART, IS_A, PART_OF};

/// Maximum number of words in a subject or object; longer ones aren't names.
const LONGEST: usize = 5;

/// A sentence's statement about a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub subject: String,
    pub relation: &'static str,
    pub object: String,
}

/// Forms of a statement, the most specific first.
const FORMS: [(&str, &str); 18] = [
    (" is a kind of ", IS_A),
    (" are a kind of ", IS_A),
    (" are kinds of ", IS_A),
    (" is a type of ", IS_A),
    (" are types of ", IS_A),
    (" is a sort of ", IS_A),
    (" is one of the ", IS_A),
    (" is part of ", PART_OF),
    (" is a part of ", PART_OF),
    (" are parts of ", PART_OF),
    (" consists of ", HAS_PART),
    (" contains ", HAS_PART),
    (" causes ", CAUSES),
    (" cause ", CAUSES),
    (" is a ", IS_A),
    (" is an ", IS_A),
    (" are a ", IS_A),
    (" are ", IS_A),
];

/// Where an object ends, because a description follows.
const ENDS: [&str; 22] = [
    "that", "which", "who", "whose", "where", "when", "for", "with", "used", "made", "designed", "by", "in", "on",
    "from", "of", "to", "and", "but", "because", "so", "as",
];

/// Subjects that name nothing.
const NO_NAMES: [&str; 28] = [
    "it",
    "this",
    "that",
    "these",
    "those",
    "there",
    "he",
    "she",
    "they",
    "we",
    "you",
    "i",
    "here",
    "what",
    "which",
    "who",
    "one",
    "some",
    "all",
    "many",
    "most",
    "each",
    "every",
    "another",
    "nothing",
    "everything",
    "any",
    "no",
];

/// Words after "are" that name no kind.
const NO_KINDS: [&str; 20] = [
    "not",
    "very",
    "now",
    "also",
    "still",
    "always",
    "never",
    "often",
    "usually",
    "being",
    "going",
    "available",
    "able",
    "ready",
    "here",
    "there",
    "more",
    "less",
    "all",
    "too",
];

/// The definition in one sentence.
pub fn definition(sentence: &str) -> Option<Definition> {
    let sentence = sentence.trim().trim_end_matches(['.', '!', ';']);
    if sentence.ends_with('?') {
        return None;
    }
    let lower = sentence.to_lowercase();
    // Lower case may have another length; then its places don't match.
    if lower.len() != sentence.len() {
        return None;
    }
    let found = FORMS.iter().filter_map(|(form, relation)| Some((lower.find(form)?, *form, *relation)));
    let (at, form, relation) = found.min_by_key(|(at, form, _)| (*at, std::cmp::Reverse(form.len())))?;
    let subject = named(&sentence[..at], false)?;
    let object = named(&sentence[at + form.len()..], true)?;
    let bare = form == " are ";
    if bare && (NO_KINDS.contains(&object.split(' ').next()?) || !plural(&object) || !plural(&subject)) {
        return None;
    }
    (!subject.eq_ignore_ascii_case(&object)).then_some(Definition { subject, relation, object })
}

fn plural(name: &str) -> bool {
    let last = name.rsplit(' ').next().unwrap_or(name).to_lowercase();
    maxim_language::naming::singular(&last) != last
}

/// A name of few words without articles; an object is cut where its description begins.
fn named(text: &str, object: bool) -> Option<String> {
    let text = text.trim().trim_start_matches(['-', '*', '•', '"', '“', '(']);
    let text = if object { text.split([',', ':', ';', '(']).next().unwrap_or(text) } else { text };
    let mut words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(['"', '“', '”', '*', '`', ')'])).collect();
    while words.first().is_some_and(|word| ["a", "an", "the"].contains(&word.to_lowercase().as_str())) {
        words.remove(0);
    }
    if object && let Some(end) = words.iter().position(|word| ENDS.contains(&word.to_lowercase().as_str())) {
        words.truncate(end);
    }
    let first = words.first()?.to_lowercase();
    let fine = (1..=LONGEST).contains(&words.len())
        && !NO_NAMES.contains(&first.as_str())
        && words.iter().all(|word| !word.is_empty() && !word.contains(','))
        && words.iter().all(|word| !["if", "when", "while", "because"].contains(&word.to_lowercase().as_str()));
    fine.then(|| words.join(" "))
}

/// The sentences of a text. A dot within a number or a name doesn't end a sentence.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        if ".!?".contains(c) && chars.peek().is_none_or(|(_, next)| next.is_whitespace()) {
            parts.push(text[start..after].trim());
            start = after;
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sentence: &str) -> Option<(String, &'static str, String)> {
        definition(sentence).map(|found| (found.subject, found.relation, found.object))
    }

    #[test]
    fn defining_sentences_are_read() {
        let cases = [
            ("A mug is a container.", ("mug", IS_A, "container")),
            ("The coffee mug is a kind of cup that has a handle", ("coffee mug", IS_A, "cup")),
            ("Mugs are containers.", ("Mugs", IS_A, "containers")),
            ("An engine is part of a car.", ("engine", PART_OF, "car")),
            ("The gripper consists of two fingers", ("gripper", HAS_PART, "two fingers")),
            ("Overheating causes shutdown, which is bad", ("Overheating", CAUSES, "shutdown")),
            ("A whale is an animal in the sea", ("whale", IS_A, "animal")),
        ];
        for (sentence, (subject, relation, object)) in cases {
            assert_eq!(read(sentence), Some((subject.into(), relation, object.into())), "{sentence}");
        }
    }

    #[test]
    fn what_defines_nothing_is_left() {
        let cases = [
            "It is a container.",
            "Is a mug a container?",
            "The doors are open.",
            "They are containers.",
            "What you see here is a very long sentence about nothing in particular is a thing",
            "If the lamp is a red one, stop.",
            "Mugs are not plates.",
            "the mug",
            "",
        ];
        for sentence in cases {
            assert_eq!(read(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn sentences_end_at_a_mark_before_white_space() {
        assert_eq!(sentences("Pi is 3.14. Really? Yes!\nNext"), ["Pi is 3.14.", "Really?", "Yes!", "Next"]);
    }
}
