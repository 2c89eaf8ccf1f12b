//! Questions and facts to be remembered: forms of English that need no tool.

use crate::QuestionKind;
use crate::question::forms::{BROAD, FACTS, FORGETTING, Form, INTERROGATIVES, SPECIFIC};
use crate::time::spans;
use crate::understand::grammar::Grammar;
use crate::understand::matcher::{Ends, Matcher};
use crate::understand::pattern::{self, Node, PatternError};
use crate::understand::understanding::{Place, Side, Which, Whose};
use crate::word::lexicon;
use crate::word::tokens::{Utterance, strip_full_stop};
use crate::word_list::word_lists;

word_lists! {
    "question_words.txt";
    OTHERS = "words near question words";
    FOLLOW = "verbs behind question words";
}

/// Longest embedded question that is read, in words.
const EMBEDDED_WORDS: usize = 40;

#[derive(Clone, Debug)]
pub(crate) struct Forms {
    specific: Vec<(Form, Vec<Node>)>,
    broad: Vec<(Form, Vec<Node>)>,
    facts: Vec<Vec<Node>>,
    forgetting: Vec<Vec<Node>>,
}

impl Forms {
    pub fn new() -> Result<Self, PatternError> {
        let forms = |table: &[(Form, &str)]| {
            table
                .iter()
                .map(|(form, text)| Ok((*form, pattern::compile(text)?)))
                .collect::<Result<Vec<_>, PatternError>>()
        };
        let plain =
            |table: &[&str]| table.iter().map(|text| pattern::compile(text)).collect::<Result<Vec<_>, PatternError>>();
        Ok(Self {
            specific: forms(SPECIFIC)?,
            broad: forms(BROAD)?,
            facts: plain(FACTS)?,
            forgetting: plain(FORGETTING)?,
        })
    }

    pub fn specific(&self, grammar: &Grammar, said: &Utterance, lo: usize, ends: Ends) -> Option<QuestionKind> {
        // "Are you ok" ends in a word that is politeness elsewhere.
        let [polite, whole] = [ends, Ends::all(said.len())].map(|ends| {
            let fits = |(form, nodes): &(Form, Vec<Node>)| {
                let slots = slots(said, nodes, lo, ends)?;
                // Without a time, "what happened" may be about a tool's own words, or about deeds.
                let is_it = match (form, slots.last()) {
                    (Form::Happened, last) => last.is_some_and(|last| spans::names_one(last)),
                    (Form::Failed, Some(when)) => slots.len() == 1 || spans::names_one(when),
                    // A wish is no question.
                    (Form::Asked | Form::AskedLast | Form::OftenAsked, Some(topic)) => {
                        !topic.to_lowercase().starts_with("to ")
                    }
                    // "What came of it" is about a deed.
                    (Form::After, Some(event)) => slots.len() > 1 || !event.to_lowercase().starts_with("you "),
                    _ => true,
                };
                is_it.then_some((*form, slots))
            };
            self.specific.iter().find_map(fits)
        });
        let (form, slots) = polite.or(whole)?;
        let topic = joined(&slots);
        let done = |which, success: Option<bool>, topic: String| {
            let tool = if success.is_none() { grammar.deed(&topic) } else { None };
            QuestionKind::WhatHappened { tool, topic, which, success }
        };
        Some(match form {
            // What is known about the asker is what the asker told.
            Form::Remember if ["me", "myself", "us"].contains(&topic.as_str()) => {
                QuestionKind::Told { topic: String::new(), place: Place::All, asked: false }
            }
            Form::Remember => QuestionKind::Remember { topic },
            Form::Embedded => self.embedded(grammar, topic),
            Form::Predict => {
                let (tool, params) = grammar.clause(&topic);
                QuestionKind::Predict { tool, params, topic }
            }
            // A name is no request to use a tool with that verb.
            Form::Failed => done(Which::Any, Some(false), topic),
            Form::Worked => done(Which::Any, Some(true), topic),
            Form::Done | Form::WhatHappened => done(Which::Any, None, topic),
            Form::DoneLast => done(Which::Last, None, topic),
            Form::DoneFirst => done(Which::First, None, topic),
            Form::WhenLast => QuestionKind::WhatHappened { tool: None, topic, which: Which::Last, success: None },
            Form::WhenFirst => QuestionKind::WhatHappened { tool: None, topic, which: Which::First, success: None },
            Form::Often => done(Which::Counted, None, topic),
            Form::OftenTold => QuestionKind::HowOften { topic, told: true },
            Form::Happened => {
                let (whose, who) = doer(&slots);
                let when = slots.last().map_or("", String::as_str);
                QuestionKind::Happened { topic: format!("{who} {when}").trim().to_owned(), whose }
            }
            Form::Before | Form::After => {
                let (whose, who) = doer(&slots);
                let side = if form == Form::Before { Side::Before } else { Side::After };
                QuestionKind::Beside { side, event: slots.last().cloned().unwrap_or_default(), who, whose }
            }
            Form::Why => QuestionKind::Why,
            Form::WhyDid => QuestionKind::WhyDid { topic, refused: false },
            Form::WhyNot => QuestionKind::WhyDid { topic, refused: true },
            Form::Told => QuestionKind::Told { topic, place: Place::All, asked: false },
            Form::ToldFirst => QuestionKind::Told { topic, place: Place::First, asked: false },
            Form::ToldLast => QuestionKind::Told { topic, place: Place::Last, asked: false },
            Form::Asked => QuestionKind::Told { topic, place: Place::All, asked: true },
            Form::AskedLast => QuestionKind::Told { topic, place: Place::Last, asked: true },
            Form::OftenAsked => QuestionKind::Told { topic, place: Place::Counted, asked: true },
            Form::When => QuestionKind::When { topic },
            Form::Who => QuestionKind::Who { topic: "you".to_owned() },
            Form::Status => QuestionKind::Status,
            Form::Now => QuestionKind::Now,
            Form::Abilities => QuestionKind::Abilities,
        })
    }

    /// A question inside a request keeps its kind: "do you know when Anna called" asks when.
    fn embedded(&self, grammar: &Grammar, topic: String) -> QuestionKind {
        let inner = Utterance::read(&topic);
        match inner.word(0) {
            "when" => QuestionKind::When { topic: inner.span(1, inner.len()).to_owned() },
            "who" => QuestionKind::Who { topic: inner.span(1, inner.len()).to_owned() },
            _ => {
                // Nested requests recurse, so their length is bounded.
                let short = inner.len() < EMBEDDED_WORDS;
                short
                    .then(|| self.specific(grammar, &inner, 0, Ends::all(inner.len())))
                    .flatten()
                    .unwrap_or_else(|| QuestionKind::Remember { topic: without_preposition(&topic).to_owned() })
            }
        }
    }

    /// Any other question.
    pub fn broad(&self, said: &Utterance, lo: usize, ends: Ends) -> Option<QuestionKind> {
        let found = self.broad.iter().find_map(|(form, nodes)| Some((*form, topic(said, nodes, lo, ends)?)));
        if let Some((form, topic)) = found {
            return Some(match form {
                Form::Who => QuestionKind::Who { topic },
                _ => QuestionKind::Remember { topic },
            });
        }
        let asked = said.tokens.last().and_then(|last| last.closes) == Some('?');
        (asked || (self.interrogative(said, lo) && said.len() > lo + 1 && said.word(lo) != "if"))
            .then_some(QuestionKind::General)
    }

    /// A fact to be remembered. A question ("remember the cup?") is none.
    pub fn fact(&self, said: &Utterance, lo: usize, ends: Ends) -> Option<String> {
        if said.tokens.last()?.closes == Some('?') || ["when", "how", "what", "where"].contains(&said.word(lo + 1)) {
            return None;
        }
        let told = |said: &Utterance| self.facts.iter().find_map(|nodes| topic(said, nodes, lo, ends));
        told(said).or_else(|| told(&meant(said, lo)?)).filter(|fact| !fact.is_empty())
    }

    pub fn forget(&self, said: &Utterance, lo: usize, ends: Ends) -> Option<String> {
        self.forgetting.iter().find_map(|nodes| topic(said, nodes, lo, ends))
    }

    /// "Remind me to …".
    pub fn remind(&self, said: &Utterance, lo: usize) -> Option<String> {
        let asks = ["remind me", "wake me", "set a timer", "set an alarm", "set a reminder", "schedule"];
        let found = asks.iter().any(|phrase| said.starts(lo, said.len(), phrase).is_some());
        found.then(|| said.span(lo, said.len()).to_owned())
    }

    /// "Do you …" asks; "do the dishes" and "have a look" do not.
    pub fn interrogative(&self, said: &Utterance, lo: usize) -> bool {
        let asked = said.tokens.last().and_then(|last| last.closes) == Some('?');
        let wished = ["do", "have"].contains(&said.word(lo))
            && (lexicon::DETERMINERS.contains(&said.word(lo + 1)) || lexicon::is_pronoun(said.word(lo + 1)));
        is_interrogative(said.word(lo)) && (asked || !wished)
    }

    /// "When did …" asks; "when I come back, …" does not.
    pub fn asks_when(&self, said: &Utterance, lo: usize) -> bool {
        let second = said.word(lo + 1);
        said.word(lo) == "when" && second != "if" && INTERROGATIVES.contains(&second)
    }
}

/// The same utterance with its first word corrected: it is one typing error away from a question word, and a verb follows.
pub(crate) fn meant_to_ask<'t>(said: &Utterance<'t>, lo: usize) -> Option<Utterance<'t>> {
    const ASKING: [&str; 5] = ["where", "what", "when", "which", "who"];
    let typed = said.word(lo);
    if typed.len() < 3 || OTHERS.contains(&typed) || is_interrogative(typed) || !FOLLOW.contains(&said.word(lo + 1)) {
        return None;
    }
    let word = ASKING.into_iter().find(|word| typed.starts_with('w') && strsim::osa_distance(typed, word) == 1)?;
    let mut meant = said.clone();
    meant.tokens.get_mut(lo)?.word = word.to_owned();
    Some(meant)
}

/// A word that begins questions.
pub(crate) fn is_interrogative(word: &str) -> bool {
    INTERROGATIVES.contains(&word)
}

/// The same utterance with its first word corrected to "remember", if that is one typing error away.
fn meant<'t>(said: &Utterance<'t>, lo: usize) -> Option<Utterance<'t>> {
    let typed = said.word(lo);
    let word = ["remember", "memorize", "memorise"].into_iter().find(|word| strsim::osa_distance(typed, word) == 1)?;
    let mut meant = said.clone();
    meant.tokens.get_mut(lo)?.word = word.to_owned();
    Some(meant)
}

/// The doer: the first of two slots.
fn doer(slots: &[String]) -> (Whose, String) {
    let [who, _] = slots else { return (Whose::Anyones, String::new()) };
    match who.to_lowercase().as_str() {
        "you" => (Whose::Own, String::new()),
        "i" | "we" => (Whose::Askers, String::new()),
        _ => (Whose::Anyones, who.clone()),
    }
}

/// The open slots of a matching form, joined. Empty if the form has none.
fn topic(said: &Utterance, nodes: &[Node], lo: usize, ends: Ends) -> Option<String> {
    Some(joined(&slots(said, nodes, lo, ends)?))
}

fn joined(slots: &[String]) -> String {
    slots.join(" ")
}

/// The open slots of a matching form that hold something.
fn slots(said: &Utterance, nodes: &[Node], lo: usize, ends: Ends) -> Option<Vec<String>> {
    let ends = Ends { content: ends.command, ..ends };
    let found = Matcher::new(said, ends, &[], false).run(nodes, lo)?;
    let parts = found.captures.iter().map(|capture| {
        if capture.hi - capture.lo == 1 && said.tokens[capture.lo].quoted.is_some() {
            return said.value(capture.lo);
        }
        let text = said.span(capture.lo, capture.hi).trim_end_matches(['?', '!', ',']);
        strip_full_stop(text).to_owned()
    });
    Some(parts.filter(|part| !part.is_empty()).collect())
}

fn without_preposition(topic: &str) -> &str {
    ["anything about ", "something about ", "about ", "of ", "that "]
        .iter()
        .find_map(|prefix| topic.strip_prefix(prefix))
        .unwrap_or(topic)
}
