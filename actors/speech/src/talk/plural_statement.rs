//! Statements about many, without an article: "deploys happen on Thursdays", "cats sleep a lot".
//!
//! Law: a plural, a verb in its plain form, and something more. The verb is known, or it stands before a word that begins a
//! complement. A preposition or an adjective makes no sentence ("results from yesterday", "lights off").

use crate::word::tokens::Utterance;
use crate::word_list::word_lists;

word_lists! {
    "plural_statement.txt";
    /// Verbs of many things and people.
    VERBS = "verbs of many";
    /// Words that begin the complement of a verb.
    COMPLEMENTS = "beginnings of complements";
    /// Words that follow a noun and aren't its verb.
    NO_VERBS = "words that are no verb";
    /// Words with a plural's ending that are no plural.
    NO_PLURALS = "words that are no plural";
}

/// Whether the utterance is a statement about many.
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
