//! Corrections of earlier statements: "no, it's on Wednesday", "actually the key is in the shed", "he moved to Rome".
//!
//! Law: a correction with a pointing word ("it", "on Wednesday") corrects the same person's last statement. One with words of its
//! own corrects the statement that shares them. A later statement without a correcting word corrects nothing.

use std::collections::BTreeSet;

use crate::talk::courtesy;
use crate::word::lexicon::{self, terms};
use crate::word::tokens::Utterance;
use crate::word_list::word_lists;
use maxim_language::Stems;

word_lists! {
    "corrections.txt";
    /// Words that lead a correction in.
    LEADS = "beginnings of corrections";
    /// Those of them that lead a correction in before any words, not only before a whole sentence.
    PLAIN = "beginnings before any words";
    /// Words by which a statement replaces an older one.
    CHANGES = "words of change";
    /// Those of them that alone tell of a change of the subject.
    MOVES = "words of change by themselves";
    /// Words that point at earlier words.
    POINTING = "pointing words";
    POINTERS = "words of a fragment";
    THEM = "pronouns of persons";
}

/// Words of a fragment ("no, Tuesday").
const FRAGMENT: usize = 4;

/// The words that a correction puts in place. `None`: it is no correction.
pub(crate) fn corrects<'t>(said: &Utterance<'t>, lo: usize) -> Option<&'t str> {
    let hi = said.len();
    let (mut at, mut plain) = (lo, false);
    while let Some((lead, length)) =
        LEADS.iter().filter_map(|lead| Some((lead, said.starts(at, hi, lead)?))).max_by_key(|(_, length)| *length)
    {
        plain |= PLAIN.contains(lead);
        at += length;
    }
    let asks = said.tokens.last().and_then(|last| last.closes) == Some('?');
    if at == lo || at >= hi || asks {
        return None;
    }
    let rest = said.span(at, hi);
    let inner = Utterance::read(rest);
    let lead = courtesy::lead(&inner, &[]);
    // "No, I want you to …" is a wish. "Actually don't" takes something back.
    let is_wish =
        lead.requested || lead.wished || crate::understand::guard::prohibited(&inner, 0, inner.len()).is_some();
    let is_fragment = inner.len() <= FRAGMENT
        && (POINTING.contains(&inner.word(0))
            || rest.starts_with(char::is_uppercase)
            || rest.starts_with(|c: char| c.is_ascii_digit()))
        && (said.tokens[at - 1].closes.is_some() || POINTING.contains(&inner.word(0)));
    let is_told = lexicon::is_statement(&inner, 0) || is_fragment || plain;
    (is_told && !is_wish && !lexicon::is_imperative(&inner, 0)).then_some(rest)
}

/// "No, the other one": a correction without the right value.
pub(crate) fn only_points(said: &Utterance, lo: usize) -> bool {
    let lead = LEADS.iter().filter_map(|lead| said.starts(lo, said.len(), lead)).max();
    let Some(at) = lead.map(|length| lo + length).filter(|at| *at < said.len()) else { return false };
    let points = (at..said.len()).all(|at| POINTERS.contains(&said.word(at)));
    points && (at..said.len()).any(|at| ["one", "ones", "other", "others", "thing"].contains(&said.word(at)))
}

/// Whether a statement continues the one before it: "found them, they were in the fridge".
pub(crate) fn goes_on(text: &str) -> bool {
    let said = Utterance::read(text);
    let is_put_right = corrects(&said, 0).is_some();
    // "It" at the beginning is often the weather.
    let points = |at: usize| THEM.contains(&said.word(at)) || (at > 0 && said.word(at) == "it");
    !is_put_right && (0..said.len().min(4)).any(points)
}

/// The same of a text.
pub(crate) fn put_right(text: &str) -> Option<&str> {
    corrects(&Utterance::read(text), 0)
}

/// Whether two sentences have the same subject: the words before their verbs, or the first word if no verb is known.
pub(crate) fn is_of_same(one: &str, other: &str) -> bool {
    let stems = Stems::default();
    let subject = |text: &str| {
        let said = Utterance::read(text);
        let verb = (1..said.len()).find(|at| lexicon::is_finite(said.word(*at)));
        let before = terms(verb.map_or(text, |verb| said.span(0, verb)));
        let kept = if verb.is_some() { before.len() } else { 1 };
        let kept: BTreeSet<String> = before.iter().take(kept).filter_map(|term| stems.of(term)).collect();
        (!kept.is_empty()).then_some(kept)
    };
    match (subject(one), subject(other)) {
        (Some(one), Some(other)) => one.is_subset(&other) || other.is_subset(&one),
        (None, None) => true,
        _ => false,
    }
}

/// Whether `later` corrects `earlier`. `next`: nothing was told in between.
pub(crate) fn revises(later: &str, earlier: &str, next: bool) -> bool {
    let said = Utterance::read(later);
    let correction = corrects(&said, 0);
    if let Some(rest) = correction
        && next
        && (POINTING.contains(&Utterance::read(rest).word(0)) || Utterance::read(rest).len() <= FRAGMENT)
    {
        return true;
    }
    let has = |words: &[&str]| (0..said.len()).any(|at| words.contains(&said.word(at)));
    let stems = Stems::default();
    let of = |text: &str| {
        let kept = terms(text).into_iter().filter(|term| !CHANGES.contains(&term.as_str()));
        kept.flat_map(|term| stems.of_text(&term)).collect::<BTreeSet<String>>()
    };
    let shared = of(later).intersection(&of(earlier)).count();
    let subject = |text: &str| terms(text).first().and_then(|term| stems.of(term));
    let is_of_subject = has(&MOVES) && subject(later).is_some() && subject(later) == subject(earlier);
    let needed = if correction.is_some() || is_of_subject { 1 } else { 2 };
    (correction.is_some() || has(&CHANGES)) && shared >= needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_told_from_refusals_and_wishes() {
        let read = |text: &str| corrects(&Utterance::read(text), 0).map(str::to_owned);
        for (text, rest) in [
            ("no wait, it's on Wednesday at 3pm", "it's on Wednesday at 3pm"),
            ("No, it is Tuesday.", "it is Tuesday."),
            ("actually the key is in the shed", "the key is in the shed"),
            ("no, Tuesday", "Tuesday"),
            ("sorry, I meant Lucy", "Lucy"),
            ("no, on Friday", "on Friday"),
        ] {
            assert_eq!(read(text).as_deref(), Some(rest), "{text}");
        }
        for text in [
            "no",
            "no thanks",
            "no, don't do that",
            "no deleting of files",
            "actually don't",
            "no, I want you to read a.txt",
            "nobody is here",
            "no one should touch it",
            "no, read notes.txt",
            "actually, where is it?",
            "wait a moment",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn subjects_are_told_apart() {
        assert!(is_of_same("The key is in the drawer", "the key is on the table"));
        assert!(is_of_same("Grandma has moved to York", "Grandma lives in Leeds"));
        assert!(is_of_same("The pump pressure is 4 bar", "pump pressure: 6 bar"));
        assert!(!is_of_same("Jan Kowalski is allergic to milk", "Jan Novak is allergic to nuts"));
        assert!(!is_of_same("Room 3 has 12 chairs", "Room 12 has 3 chairs"));
    }

    #[test]
    fn what_only_points_is_no_correction_and_what_goes_on_is_known_by_its_pronoun() {
        let points = |text: &str| only_points(&Utterance::read(text), 0);
        assert!(points("no, the other one") && points("not quite, that one"));
        assert!(!points("no, the blue one") && !points("the other one") && !points("no") && !points("no, on Friday"));
        assert!(goes_on("found them, they were in the fridge") && goes_on("put it under the bed"));
        assert!(!goes_on("it rains") && !goes_on("no, they are red") && !goes_on("Tom likes tea"));
    }

    #[test]
    fn what_points_is_of_what_was_told_before_and_the_rest_of_what_it_shares_words_with() {
        let dentist = "My dentist appointment is on Tuesday at 3pm";
        assert!(revises("no wait, it's on Wednesday at 3pm", dentist, true));
        assert!(!revises("no wait, it's a blue one", dentist, false));
        assert!(revises("Actually I moved the car to level 2", "I parked the car on level 4 of the garage", false));
        assert!(revises("the key is no longer in the blue drawer", "the key is in the blue drawer", false));
        assert!(revises("Grandma has moved to York", "Grandma lives in Leeds", false));
        assert!(!revises("Grandma doesn't like tea", "Grandma lives in Leeds", false));
        assert!(!revises("Tom's wife is called Linda", "Tom works at the post office", true));
        assert!(
            !revises("Tom likes the post office", "Tom works at the post office", true),
            "no word says that it changed"
        );
    }
}
