//! What must not become an action, whatever verbs it holds: prohibitions, reports of speech, delays, conditions,
//! retractions.

use crate::word::tokens::Utterance;

const PROHIBITING: &[&str] = &[
    "don't",
    "dont",
    "do not",
    "never",
    "no",
    "not",
    "avoid",
    "stop",
    "quit",
    "refrain",
    "cease",
    "cannot",
    "can't",
    "mustn't",
    "shouldn't",
    "under no circumstances",
    "by no means",
    "whatever you do don't",
    "whatever you do do not",
    "whatever you do never",
    "make sure not to",
    "make sure you don't",
    "make sure you never",
    "make sure to never",
    "make sure to not",
    "be careful not to",
    "be sure not to",
    "promise not to",
    "promise me not to",
    "promise to never",
    "you must not",
    "you must never",
    "you should not",
    "you shouldn't",
    "you should never",
    "you may not",
    "you may never",
    "you can't",
    "you can not",
    "you cannot",
    "you mustn't",
    "you are not allowed to",
    "you're not allowed to",
    "you are never to",
    "you are not to",
    "you aren't allowed to",
    "you will not",
    "you won't",
    "you don't need to",
    "you do not need to",
    "you needn't",
    "no need to",
    "there is no need to",
    "i don't want you to",
    "i do not want you to",
    "i dont want you to",
    "i never want you to",
    "i don't need you to",
    "i'd rather you didn't",
    "i would rather you didn't",
    "i forbid you to",
    "it is forbidden to",
    "instead of",
    "rather than",
    "hold off on",
    "without",
    "we must not",
    "we should not",
    "we shouldn't",
    "nobody should",
    "no one should",
    "let's not",
    "lets not",
    "let us not",
    "try not to",
    "better not",
    "please not",
];

const REPORTING: &[&str] = &[
    "said",
    "says",
    "say",
    "told",
    "tells",
    "asked",
    "asks",
    "wrote",
    "writes",
    "shouted",
    "shouts",
    "replied",
    "replies",
    "answered",
    "yelled",
    "whispered",
    "mentioned",
    "suggested",
    "suggests",
    "demanded",
    "ordered",
    "wants",
    "wanted",
    "read:",
    "claims",
    "claimed",
    "thinks",
    "texted",
    "tweeted",
    "posted",
    "commented",
    "added",
    "goes",
    "quoted",
    "states",
    "stated",
];

/// Reporting verbs that are never the object of a request.
const REPORTING_PLAINLY: &[&str] = &[
    "said",
    "says",
    "told",
    "tells",
    "asked",
    "asks",
    "wrote",
    "writes",
    "shouted",
    "replied",
    "yelled",
    "answered",
    "whispered",
];

const RETRACTING: &[&str] = &[
    "never mind",
    "nevermind",
    "actually don't",
    "actually no",
    "actually not",
    "just kidding",
    "only kidding",
    "jk",
    "cancel that",
    "scratch that",
    "on second thought",
    "on second thoughts",
    "wait no",
    "no wait",
    "don't do it",
    "do not do it",
    "don't do that",
    "dont do it",
    "or not",
    "or rather not",
    "not really",
    "just joking",
    "i'm joking",
    "forget it",
    "forget that",
];

const WHEN: &[&str] = &[
    "when",
    "whenever",
    "once",
    "if",
    "unless",
    "after",
    "before",
    "until",
    "till",
    "as soon as",
    "as long as",
    "provided",
    "assuming",
    "in case",
    "while",
    "during",
    "tomorrow",
    "tonight",
    "later",
    "someday",
    "eventually",
    "each time",
    "at noon",
    "at midnight",
    "at night",
    "at dawn",
    "this evening",
    "this afternoon",
    "next week",
    "next month",
    "next year",
    "in the morning",
    "in the evening",
    "in the afternoon",
    "the next time",
    "next time",
    "from now on",
    "only if",
    "only when",
    "the day after",
    "by tomorrow",
];

const DAYS: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "weekdays",
    "weekends",
    "christmas",
];

const SPANS: &[&str] = &[
    "second", "seconds", "sec", "secs", "minute", "minutes", "min", "mins", "hour", "hours", "day", "days", "week",
    "weeks", "month", "months", "year", "years", "moment", "while", "bit",
];

/// Where a prohibition's own words end, if the utterance begins with one.
pub(crate) fn prohibited(said: &Utterance, lo: usize, hi: usize) -> Option<usize> {
    PROHIBITING.iter().filter_map(|phrase| said.starts(lo, hi, phrase)).max().map(|length| lo + length)
}

/// Whether a text forbids something.
pub(crate) fn is_prohibition(text: &str) -> bool {
    let said = Utterance::read(text);
    prohibited(&said, crate::understand::courtesy::lead(&said, &[]).lo, said.len()).is_some()
}

/// Whether someone's words are told: a reporting verb after a short subject ("Anna said: …", "the note on the door says …"),
/// or "according to …". The utterance's own first word is never the reporting verb: "say hello" is a request.
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

/// Whether words at or after `lo` take back what was asked.
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

/// Words that show that a command goes on in prose: what follows was not meant for the shell.
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
