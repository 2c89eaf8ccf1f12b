//! Politeness and address around a request.

use crate::understand::guard;
use crate::understand::matcher::Ends;
use crate::word::tokens::Utterance;
use crate::word_list::word_lists;

word_lists! {
    "courtesy.txt";
    REQUESTS = "requests";
    MINDING = "requests with a gerund";
    /// Conditions that are only politeness.
    POLITE_CONDITIONS = "polite conditions";
    WISHES = "wishes";
    GREETINGS = "greetings";
    THANKING = "thanking";
    /// Words of urgency, set off from the request. The PreemptionCircuit acts on them.
    URGENCY = "urgency";
    FILLERS = "fillers";
    TAILS = "tails";
    /// Tails that may also be an argument of a command. They are stripped from one only behind a comma.
    ARGUABLE = "tails that may be arguments";
    LEADING = "words that lead a statement in";
}

/// How an utterance begins, before its content.
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
    /// Where the content begins.
    pub lo: usize,
}

/// Skips address and politeness. At least one word is left.
pub(crate) fn lead(said: &Utterance, names: &[String]) -> Lead {
    let hi = said.len();
    let mut lead = Lead::default();
    loop {
        let lo = lead.lo;
        let step = |phrases: &[&str]| phrases.iter().find_map(|phrase| said.starts(lo, hi, phrase));
        let ends_clause = |length: &usize| said.tokens[lo + length - 1].closes.is_some();
        let set_off = || step(&POLITE_CONDITIONS).or_else(|| step(&URGENCY)).filter(ends_clause);
        let length = if let Some(length) = set_off() {
            length
        } else if guard::delays(said, lo, hi) {
            // "Next week …" doesn't begin with the filler "next".
            return lead;
        } else if let Some(length) = step(&MINDING) {
            (lead.requested, lead.gerund) = (true, true);
            length
        } else if let Some(length) = step(&WISHES) {
            lead.wished = true;
            length
        } else if let Some(length) = step(&REQUESTS) {
            lead.requested = true;
            length
        } else if let Some(length) = step(&GREETINGS) {
            lead.greeted = true;
            length
        } else if let Some(length) = step(&THANKING) {
            lead.thanked = true;
            length
        } else if let Some(length) = step(&FILLERS) {
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

/// A statement without the words that only lead it in: "by the way the gate is open".
pub(crate) fn without_fillers(text: &str) -> &str {
    let said = Utterance::read(text);
    let (mut lo, hi) = (0, said.len());
    while let Some(length) = LEADING.iter().find_map(|filler| said.starts(lo, hi, filler))
        && lo + length < hi
    {
        lo += length;
    }
    said.span(lo, hi)
}

/// The end of the utterance, for each way of reading.
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
