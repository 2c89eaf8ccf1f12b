//! Politeness and address around what is said.

use crate::understand::guard;
use crate::understand::matcher::Ends;
use crate::word::tokens::Utterance;

/// How the utterance was led in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lead {
    /// "Could you …?": a request in the form of a question.
    pub requested: bool,
    /// "Would you mind reading …?": the verb comes as a gerund.
    pub gerund: bool,
    /// "I want to …", "maybe …": a wish, not yet a request.
    pub wished: bool,
    pub greeted: bool,
    pub thanked: bool,
    /// Where what is said begins.
    pub lo: usize,
}

const REQUESTS: &[&str] = &[
    "i was wondering if you could",
    "i would like you to",
    "i'd like you to",
    "id like you to",
    "i want you to",
    "i need you to",
    "do me a favor and",
    "do me a favour and",
    "be so kind as to",
    "would you be so kind as to",
    "would you kindly",
    "would you please",
    "could you please",
    "could you",
    "can you",
    "could u",
    "can u",
    "would you",
    "will you",
    "your task is to",
    "your job is to",
    "go ahead and",
    "feel free to",
    "you may",
    "you can",
    "you have to",
    "let us",
    "let's",
    "lets",
    "try to",
];

const MINDING: &[&str] = &["would you mind", "do you mind", "mind", "how about"];

/// Conditions that are only politeness.
const POLITE_CONDITIONS: &[&str] = &[
    "if you don't mind",
    "if you would",
    "if you can",
    "if you could",
    "if you please",
    "if possible",
    "if you have time",
    "if you have a minute",
    "if you have a moment",
    "if you get a chance",
    "if that's ok",
    "if that is ok",
    "if it's ok",
    "if it's no trouble",
    "if it isn't too much trouble",
    "when you can",
    "when you get a chance",
    "when you have a minute",
    "when you have a moment",
    "when you have time",
];

const WISHES: &[&str] = &[
    "i think you should",
    "i think we should",
    "it would be nice if you could",
    "it would be nice to",
    "i would like to",
    "i'd like to",
    "i want to",
    "i need to",
    "i wanna",
    "we should",
    "we need to",
    "you should",
    "you could",
    "you might",
    "why don't you",
    "how about you",
    "shall we",
    "maybe",
    "perhaps",
];

const GREETINGS: &[&str] =
    &["good morning", "good evening", "good afternoon", "hi there", "hello there", "hi", "hello", "hey", "yo"];

const THANKING: &[&str] = &["thank you very much", "thank you so much", "thanks a lot", "thank you", "thanks", "thx"];

/// What says that it can't wait, set off from what is wanted. The PreemptionCircuit acts on it.
const URGENCY: &[&str] = &["urgent", "urgently", "emergency", "quick", "hurry up", "hurry"];

const FILLERS: &[&str] = &[
    "by the way",
    "one more thing",
    "please",
    "pls",
    "plz",
    "kindly",
    "just",
    "now",
    "ok",
    "okay",
    "alright",
    "right",
    "well",
    "so",
    "um",
    "uh",
    "hmm",
    "oh",
    "quickly",
    "also",
    "next",
    "first",
    "then",
    "and",
    "great",
    "good",
    "cool",
    "nice",
    "perfect",
    "yes",
    "yeah",
    "yep",
    "sure",
    "actually",
    "btw",
    "there",
];

const TAILS: &[&str] = &[
    "please",
    "pls",
    "plz",
    "thank you very much",
    "thank you so much",
    "thanks a lot",
    "thank you",
    "thanks",
    "thx",
    "ty",
    "cheers",
    "for me",
    "for us",
    "if you can",
    "if you could",
    "if you don't mind",
    "if you please",
    "if possible",
    "when you can",
    "when you get a chance",
    "when you have time",
    "when you have a minute",
    "right now",
    "now",
    "immediately",
    "asap",
    "quickly",
    "will you",
    "would you",
    "can you",
    "could you",
    "ok",
    "okay",
    "buddy",
    "mate",
    "my friend",
    "?",
    "!",
    ":)",
    ":-)",
    ";)",
    ":d",
    "🙂",
    "😊",
    "🙏",
];

/// Tails that may as well be an argument of a command, so they are left on one unless a comma sets them off.
const ARGUABLE: &[&str] = &["now", "quickly", "ok", "okay", "immediately", "asap", "cheers", "ty", "buddy", "mate"];

/// Skips address and politeness. At least one word is left where any was said.
pub(crate) fn lead(said: &Utterance, names: &[String]) -> Lead {
    let hi = said.len();
    let mut lead = Lead::default();
    loop {
        let lo = lead.lo;
        let step = |phrases: &[&str]| phrases.iter().find_map(|phrase| said.starts(lo, hi, phrase));
        let ends_clause = |length: &usize| said.tokens[lo + length - 1].closes.is_some();
        let set_off = || step(POLITE_CONDITIONS).or_else(|| step(URGENCY)).filter(ends_clause);
        let length = if let Some(length) = set_off() {
            length
        } else if guard::delays(said, lo, hi) {
            // "Next week …" is no "next, …".
            return lead;
        } else if let Some(length) = step(MINDING) {
            (lead.requested, lead.gerund) = (true, true);
            length
        } else if let Some(length) = step(WISHES) {
            lead.wished = true;
            length
        } else if let Some(length) = step(REQUESTS) {
            lead.requested = true;
            length
        } else if let Some(length) = step(GREETINGS) {
            lead.greeted = true;
            length
        } else if let Some(length) = step(THANKING) {
            lead.thanked = true;
            length
        } else if let Some(length) = step(FILLERS) {
            length
        } else if names.iter().any(|name| name == said.word(lo)) || is_dash(said.word(lo)) {
            1
        } else {
            return lead;
        };
        if lo + length >= hi {
            return lead;
        }
        lead.lo = lo + length;
    }
}

/// What is told, without what only leads it in: "by the way the gate is open".
pub(crate) fn without_fillers(text: &str) -> &str {
    const LEADING: &[&str] =
        &["by the way", "btw", "one more thing", "also", "well", "so", "ok", "okay", "oh", "um", "uh", "hmm"];
    let said = Utterance::read(text);
    let (mut lo, hi) = (0, said.len());
    while let Some(length) = LEADING.iter().find_map(|filler| said.starts(lo, hi, filler))
        && lo + length < hi
    {
        lo += length;
    }
    said.span(lo, hi)
}

/// Where the utterance ends for each way of reading.
pub(crate) fn ends(said: &Utterance, lo: usize, hi: usize, names: &[String]) -> Ends {
    let plain = strip(said, lo, hi, names, |_, _| true);
    let command = strip(said, lo, hi, names, |tail, hi| {
        let echoed = hi.checked_sub(1).is_some_and(|last| matches!(said.word(last), "echo" | "printf" | "say"));
        !echoed && (!ARGUABLE.contains(&tail) || set_off(said, hi))
    });
    let content = strip(said, lo, hi, names, |tail, hi| matches!(tail, "please" | "pls" | "plz") || set_off(said, hi));
    Ends { plain, command, content }
}

fn strip(said: &Utterance, lo: usize, hi: usize, names: &[String], may: impl Fn(&str, usize) -> bool) -> usize {
    let mut hi = hi;
    'tails: loop {
        let ending = hi.checked_sub(1).map_or("", |last| said.word(last));
        for tail in TAILS.iter().filter(|tail| tail.ends_with(ending)) {
            let length = tail.split(' ').count();
            let Some(start) = hi.checked_sub(length).filter(|start| *start > lo) else { continue };
            if said.starts(start, hi, tail) == Some(length) && may(tail, start) {
                hi = start;
                continue 'tails;
            }
        }
        let last = hi.saturating_sub(1);
        if last > lo && names.iter().any(|name| name == said.word(last)) && set_off(said, last) {
            hi = last;
            continue;
        }
        return hi;
    }
}

/// Whether a mark stands before this token.
fn set_off(said: &Utterance, at: usize) -> bool {
    at.checked_sub(1).and_then(|before| said.tokens[before].closes).is_some()
}

fn is_dash(word: &str) -> bool {
    matches!(word, "-" | "–" | "—" | "," | ":" | "...")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(text: &str) -> String {
        let said = Utterance::read(text);
        let names = vec!["maxim".to_owned()];
        let lo = lead(&said, &names).lo;
        said.span(lo, ends(&said, lo, said.len(), &names).plain).to_owned()
    }

    #[test]
    fn politeness_is_taken_off_both_ends() {
        for text in [
            "read a.txt",
            "Maxim, could you please read a.txt",
            "hey maxim read a.txt please thanks",
            "I want you to read a.txt for me, maxim",
            "ok so go ahead and just read a.txt right now :)",
            "thanks! now read a.txt if you don't mind",
        ] {
            assert_eq!(core(text).trim_end_matches(','), "read a.txt", "{text}");
        }
        assert_eq!(core("please"), "please");
        assert_eq!(core("please thanks"), "thanks");
    }

    #[test]
    fn content_keeps_words_that_are_politeness_elsewhere() {
        let said = Utterance::read("write a.txt with many thanks");
        let ends = ends(&said, 0, said.len(), &[]);
        assert_eq!((ends.plain, ends.content), (4, 5));
        let said = Utterance::read("run echo thanks");
        assert_eq!(super::ends(&said, 0, said.len(), &[]).command, 3);
    }
}
