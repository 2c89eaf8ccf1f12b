//! Several requests in one utterance.

use crate::talk::courtesy::Lead;
use crate::understand::grammar::Grammar;
use crate::understand::judgement::Candidate;
use crate::understand::understanding::{Partial, Understanding};
use crate::word::tokens::Utterance;

/// Most steps in one utterance. More are content.
const MOST_STEPS: usize = 8;

/// Where one request ends and the next begins.
type Cut = (usize, usize);

/// "… and then …", "…; then …", "…, then …".
fn clear_cuts(said: &Utterance, lo: usize, hi: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut at = lo + 1;
    while at + 1 < hi {
        let marked = matches!(said.tokens[at - 1].closes, Some(',' | ';' | '.'));
        let length = said.starts(at, hi, "and then").or_else(|| said.starts(at, hi, "then").filter(|_| marked));
        if let Some(length) = length.filter(|length| at + length < hi) {
            cuts.push((at, at + length));
            at += length;
        }
        at += 1;
    }
    cuts
}

/// "… and …", or a new sentence: perhaps two requests, perhaps one with that text in it.
fn unclear_cuts(said: &Utterance, lo: usize, hi: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for at in lo + 1..hi.saturating_sub(1) {
        if ["and", "then", "&", "&&", "plus"].contains(&said.word(at)) && said.tokens[at].quoted.is_none() {
            cuts.push((at, at + 1));
        } else if matches!(said.tokens[at].closes, Some('.' | '!' | ';')) {
            cuts.push((at + 1, at + 1));
        }
    }
    cuts
}

fn parts(lo: usize, hi: usize, cuts: &[Cut]) -> Vec<(usize, usize)> {
    let starts = std::iter::once(lo).chain(cuts.iter().map(|cut| cut.1));
    let ends = cuts.iter().map(|cut| cut.0).chain(std::iter::once(hi));
    starts.zip(ends).collect()
}

/// Several clear requests become several steps, but only if each part alone is a request. Any other part is
/// asked about, unless the whole is one request whose content holds these words.
pub(crate) fn read(
    grammar: &Grammar,
    said: &Utterance,
    lead: Lead,
    hi: usize,
    whole: Option<&Candidate>,
) -> Option<Understanding> {
    let cuts = clear_cuts(said, lead.lo, hi);
    if cuts.is_empty() || cuts.len() >= MOST_STEPS || whole.is_some_and(|whole| is_shell_block(said, whole)) {
        return None;
    }
    let parts = parts(lead.lo, hi, &cuts);
    let texts: Vec<&str> = parts.iter().map(|(lo, hi)| said.span(*lo, *hi).trim_end_matches([',', ';'])).collect();
    let first_asks = lead.requested;
    let judged: Vec<_> = texts.iter().map(|text| grammar.request(text, first_asks)).collect();
    if judged.iter().all(Option::is_some) {
        let steps: Result<Vec<_>, _> = judged.into_iter().flatten().collect();
        return Some(match steps {
            Ok(_) if lead.wished => {
                let question = "Shall I do these one after the other? Then say it without the wish.".to_owned();
                Understanding::Ambiguous { understood: Partial::default(), question }
            }
            Ok(steps) => Understanding::Command { steps },
            Err(asked) => asked,
        });
    }
    let is_content = whole.is_some_and(Candidate::ends_in_content) && judged.iter().skip(1).all(Option::is_none);
    if is_content || judged.iter().all(Option::is_none) {
        return None;
    }
    let strange = texts.iter().zip(&judged).find(|(_, judged)| judged.is_none()).map_or("", |(text, _)| text);
    let question =
        format!("I understood part of that, but not “{strange}”, so I did nothing yet. What should I do there?");
    Some(Understanding::Ambiguous { understood: Partial::default(), question })
}

/// "run if …; then …; fi": the shell has its own `then`.
fn is_shell_block(said: &Utterance, whole: &Candidate) -> bool {
    let command = whole.found.captures.first().map_or(0, |capture| capture.lo);
    !whole.ends_in_content()
        && ["if", "for", "while", "until"].contains(&said.word(command))
        && whole.doubts(said).is_empty()
}

/// Asks whether words between two requests are content or a second request.
pub(crate) fn ask(grammar: &Grammar, said: &Utterance, lo: usize, hi: usize) -> Option<Understanding> {
    for cut in unclear_cuts(said, lo, hi).into_iter().take(MOST_STEPS) {
        let (first, second) = (said.span(lo, cut.0), said.span(cut.1, hi));
        if grammar.request(first, false).is_some() && grammar.request(second, false).is_some() {
            let first = first.trim_end_matches([',', '.', ';', '!']);
            let question =
                format!("Are these two requests? Then say “{first} and then {second}”. If they are one, use quotes.");
            return Some(Understanding::Ambiguous { understood: Partial::default(), question });
        }
    }
    None
}
