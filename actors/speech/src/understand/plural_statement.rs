//! What is told of many, without an article: "deploys happen on Thursdays", "cats sleep a lot".
//!
//! Law: a plural, a verb in its plain form, and something more. The verb is a known one, or whatever stands before a word that
//! begins a complement; a preposition or an adjective makes no sentence ("results from yesterday", "lights off").

use crate::word::tokens::Utterance;

/// Verbs of many things and people.
const VERBS: &[&str] = &[
    "happen", "sleep", "flicker", "fail", "break", "work", "need", "like", "love", "live", "come", "go", "take",
    "cost", "eat", "grow", "make", "seem", "belong", "want", "hate", "have", "mean", "prefer", "arrive", "leave",
    "use", "contain", "last", "begin", "stay", "tend", "look", "feel", "fly", "sing", "hurt", "help", "hang", "sit",
    "stand", "matter", "depend", "require", "consist", "become", "keep", "give", "bring", "cause", "drink", "learn",
    "move", "remain", "smell", "taste", "wear",
];

/// Words behind a verb: the beginning of what it takes.
const COMPLEMENTS: &[&str] = &[
    "on", "at", "in", "every", "when", "because", "too", "very", "only", "always", "well", "by", "a", "an", "the",
    "after", "before", "during", "from", "to", "with", "without", "like", "my", "our", "your", "their", "if", "all",
    "each", "best", "better", "faster", "slowly", "quickly", "here", "there", "today", "often", "never", "more",
    "less",
];

/// Words that stand behind a noun and aren't its verb.
const NO_VERBS: &[&str] = &[
    "off",
    "on",
    "up",
    "down",
    "in",
    "out",
    "of",
    "for",
    "from",
    "to",
    "at",
    "by",
    "with",
    "without",
    "near",
    "about",
    "and",
    "or",
    "but",
    "please",
    "now",
    "then",
    "than",
    "that",
    "which",
    "who",
    "not",
    "no",
    "due",
    "bigger",
    "smaller",
    "older",
    "newer",
    "larger",
    "open",
    "only",
    "too",
    "again",
    "back",
    "away",
    "over",
    "under",
    "between",
    "here",
    "there",
    "today",
    "tomorrow",
    "yesterday",
    "first",
    "last",
    "next",
    "all",
    "the",
    "a",
    "an",
    "my",
    "your",
    "our",
    "his",
    "her",
    "their",
    "i",
    "we",
    "you",
    "he",
    "she",
    "it",
    "they",
    "as",
    "like",
    "is",
    "was",
    "full",
];

/// Words that end like a plural and are none.
const NO_PLURALS: &[&str] = &[
    "always",
    "sometimes",
    "perhaps",
    "besides",
    "does",
    "whats",
    "whos",
    "hows",
    "wheres",
    "lets",
    "thanks",
    "towards",
    "afterwards",
    "yours",
    "theirs",
    "ours",
    "hers",
    "unless",
    "whereas",
    "says",
    "looks",
    "seems",
    "sounds",
    "means",
    "tests",
    "lists",
    "shows",
    "runs",
];

/// Whether it tells something of many.
pub(crate) fn is_of_many(said: &Utterance, lo: usize) -> bool {
    if said.len() < lo + 3 || said.tokens[lo].closes.is_some() {
        return false;
    }
    let (subject, verb, after) = (said.word(lo), said.word(lo + 1), said.word(lo + 2));
    let is_plural = subject.len() >= 4
        && subject.ends_with('s')
        && !["ss", "us", "is", "'s"].iter().any(|end| subject.ends_with(end))
        && subject.chars().all(char::is_alphabetic)
        && !NO_PLURALS.contains(&subject);
    let is_plain = verb.chars().all(char::is_alphabetic) && !NO_VERBS.contains(&verb);
    let is_base = !["s", "ed", "ing", "ly"].iter().any(|end| verb.ends_with(end));
    is_plural && is_plain && (VERBS.contains(&verb) || (is_base && COMPLEMENTS.contains(&after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_many_is_told_from_orders_questions_and_pieces() {
        let of_many = |text: &str| is_of_many(&Utterance::read(text), 0);
        for told in [
            "deploys happen on Thursdays",
            "Cats sleep a lot.",
            "gulls nest on the roof every spring",
            "backups need two hours",
            "releases ship on Fridays",
        ] {
            assert!(of_many(told), "{told}");
        }
        for other in [
            "always use tabs",
            "whats up with you",
            "lights off",
            "lights off in the hall",
            "results from yesterday",
            "files bigger than 3 MB",
            "notes, please read them",
            "tests please run them all",
            "photos near the lake",
            "process the list",
            "thanks a lot",
            "lists the files",
        ] {
            assert!(!of_many(other), "{other}");
        }
    }
}
