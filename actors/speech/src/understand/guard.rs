//! Utterances that must not become an action, whatever verbs they hold: prohibitions, reports of speech, delays, conditions,
//! retractions.

use crate::word::tokens::Utterance;
use crate::word_list::word_lists;

word_lists! {
    "guard.txt";
    PROHIBITING = "beginnings of prohibitions";
    REPORTING = "reporting verbs";
    /// Reporting verbs that are never the object of a request.
    REPORTING_PLAINLY = "reporting verbs that are never an object";
    RETRACTING = "retractions";
    WHEN = "beginnings of delays";
    DAYS = "days";
    SPANS = "units of time";
}

/// The end of a prohibition's own words, if the utterance begins with one.
pub(crate) fn prohibited(said: &Utterance, lo: usize, hi: usize) -> Option<usize> {
    PROHIBITING.iter().filter_map(|phrase| said.starts(lo, hi, phrase)).max().map(|length| lo + length)
}

/// Whether a text forbids something.
pub(crate) fn is_prohibition(text: &str) -> bool {
    let said = Utterance::read(text);
    prohibited(&said, crate::talk::courtesy::lead(&said, &[]).lo, said.len()).is_some()
}

/// Whether the utterance reports words: a reporting verb after a short subject ("Anna said: …", "the note on the door says …"),
/// or "according to …". The first word is never the reporting verb: "say hello" is a request.
pub(crate) fn reported(said: &Utterance, lo: usize, hi: usize) -> bool {
    if ["according to", "quote", "in the words of", "as they say", "it says"]
        .iter()
        .any(|phrase| said.starts(lo, hi, phrase).is_some())
    {
        return true;
    }
    if REPORTING_PLAINLY.contains(&said.word(lo + 1)) && lo + 2 < hi {
        return true;
    }
    let colon = said.tokens.get(lo + 1).is_some_and(|token| token.closes == Some(':'));
    (lo + 1..hi.min(lo + 8))
        .any(|at| REPORTING.contains(&said.word(at)) && ((at == lo + 1 && colon) || subject_word(said.word(lo))))
}

/// Words that begin a subject and never a request.
fn subject_word(word: &str) -> bool {
    [
        "the",
        "a",
        "an",
        "my",
        "his",
        "her",
        "our",
        "their",
        "this",
        "that",
        "someone",
        "somebody",
        "he",
        "she",
        "they",
        "it",
        "i",
        "we",
        "everybody",
        "everyone",
        "mr",
        "mrs",
        "yesterday",
        "today",
        "earlier",
        "people",
        "mom",
        "dad",
    ]
    .contains(&word)
}

/// Whether words at or after `lo` take the request back.
pub(crate) fn retracted(said: &Utterance, lo: usize, hi: usize) -> bool {
    let taken = (lo + 1..hi).any(|at| RETRACTING.iter().any(|phrase| said.starts(at, hi, phrase).is_some()));
    let last = hi.saturating_sub(1);
    taken || (last > lo && ["not", "don't", "dont", "never", "no", "nope"].contains(&said.word(last)))
}

/// Whether a time, a repetition or a condition begins at this token.
pub(crate) fn delays(said: &Utterance, at: usize, hi: usize) -> bool {
    if WHEN.iter().any(|phrase| said.starts(at, hi, phrase).is_some()) {
        return true;
    }
    let (first, second, third) = (said.word(at), said.word(at + 1), said.word(at + 2));
    match first {
        "in" => SPANS.contains(&third) || (second == "half" && said.word(at + 3) == "hour"),
        "at" => second.starts_with(|c: char| c.is_ascii_digit()) && clock_time(second, third),
        "every" | "each" => {
            SPANS.contains(&second)
                || SPANS.contains(&third)
                || DAYS.contains(&second)
                || ["time", "morning", "night", "evening"].contains(&second)
        }
        "daily" | "hourly" | "weekly" | "nightly" | "soon" => at + 1 == hi,
        "on" | "by" | "this" | "next" => DAYS.contains(&second.trim_end_matches("'s")),
        _ => false,
    }
}

fn clock_time(word: &str, next: &str) -> bool {
    word.contains(':')
        || word.ends_with("am")
        || word.ends_with("pm")
        || word.ends_with("h")
        || ["am", "pm", "o'clock", "oclock", ""].contains(&next)
        || word.chars().all(|c| c.is_ascii_digit()) && word.len() <= 2
}

/// The first place within `lo + 1..hi` where a delay begins.
pub(crate) fn delayed_at(said: &Utterance, lo: usize, hi: usize) -> Option<usize> {
    (lo + 1..hi).find(|at| delays(said, *at, hi))
}

/// Words of prose in a command: what follows wasn't meant for the shell.
pub(crate) fn is_prose(word: &str) -> bool {
    [
        "but",
        "don't",
        "dont",
        "never",
        "unless",
        "because",
        "please",
        "instead",
        "except",
        "without",
        "though",
        "although",
        "otherwise",
        "afterwards",
        "wait",
        "or",
        "and",
        "i",
        "you",
        "he",
        "she",
        "him",
        "away",
        "along",
        "amok",
        "errands",
    ]
    .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str, law: impl Fn(&Utterance, usize, usize) -> bool) -> bool {
        let said = Utterance::read(text);
        law(&said, 0, said.len())
    }

    #[test]
    fn reports_are_told_from_requests() {
        for text in [
            "Anna said: delete a.txt",
            "the note on the door says run ls",
            "he told me to run rm",
            "According to Bob, run ls",
        ] {
            assert!(on(text, reported), "{text}");
        }
        for text in ["say hello", "write a.txt with Anna said hello", "run ls", "tell Anna what Bob said"] {
            assert!(!on(text, reported), "{text}");
        }
    }

    #[test]
    fn delays_are_seen_where_they_begin() {
        for text in [
            "ls tomorrow",
            "ls in 5 minutes",
            "ls at 5pm",
            "ls every hour",
            "ls on Monday",
            "ls if it rains",
            "ls in an hour",
        ] {
            assert!(on(text, |said, lo, hi| delayed_at(said, lo, hi) == Some(1)), "{text}");
        }
        assert!(!on("ls in src at root", |said, lo, hi| delayed_at(said, lo, hi).is_some()));
    }

    #[test]
    fn what_is_taken_back_is_seen() {
        assert!(on("delete a.txt, no wait", retracted));
        assert!(on("run ls NOT", retracted));
        assert!(!on("never mind", retracted));
    }
}
