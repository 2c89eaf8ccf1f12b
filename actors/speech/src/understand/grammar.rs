//! The grammar: from the tools' speech to the understanding of an utterance.

use std::cmp::Reverse;

use serde_json::Value;

use crate::question::kinds;
use crate::question::kinds::Forms;
use crate::talk::corrections;
use crate::talk::courtesy::{self, Lead};
use crate::talk::plural_statement;
use crate::talk::small_talk;
use crate::understand::guard;
use crate::understand::judgement::{Candidate, later};
use crate::understand::matcher::{Ends, Matcher};
use crate::understand::pattern::{self, Node, PatternError};
use crate::understand::steps;
use crate::understand::tool_speech::ToolSpeech;
use crate::understand::understanding::{Partial, QuestionKind, Step, Understanding, Unsupported, Which};
use crate::word::inflection;
use crate::word::lexicon::{self, NOISE, terms};
use crate::word::tokens::Utterance;
use crate::word_list::word_lists;

word_lists! {
    "grammar.txt";
    FOR_WORDS = "verbs that ask for words";
}

/// A tool with unusable speech.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("tool `{tool}`: {cause}")]
pub struct GrammarError {
    pub tool: String,
    pub cause: PatternError,
}

#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub speech: ToolSpeech,
    /// Each verb with itself as its only form.
    exact: Vec<(String, Vec<String>)>,
    /// Each verb with all its forms, for "did you …" and "if you …".
    inflected: Vec<(String, Vec<String>)>,
    patterns: Vec<(String, Vec<Node>)>,
}

/// Understands utterances. It is built once from the agent's names and the registered tools. The same utterance always has the
/// same understanding.
#[derive(Clone, Debug)]
pub struct Grammar {
    names: Vec<String>,
    tools: Vec<Tool>,
    forms: Forms,
}

impl Grammar {
    /// `names`: the agent's names. If two tools match equally well, the earlier one is asked about first.
    ///
    /// # Errors
    /// A pattern that isn't in the language of [`ToolSpeech`], with its tool.
    pub fn new(names: &[&str], tools: &[ToolSpeech]) -> Result<Self, GrammarError> {
        let tools = tools.iter().map(Tool::new).collect::<Result<_, _>>()?;
        let forms = Forms::new().map_err(|cause| GrammarError { tool: "questions".to_owned(), cause })?;
        Ok(Self { names: names.iter().map(|name| name.to_lowercase()).collect(), tools, forms })
    }

    /// One example of a request for each tool.
    pub fn abilities(&self) -> Vec<(String, String)> {
        // The shortest says best what the tool is for.
        let example = |tool: &Tool| {
            let verb = tool.speech.verbs.first().map_or("", String::as_str);
            let examples = tool.patterns.iter().map(|pattern| pattern::example(&pattern.1, verb));
            Some((tool.speech.tool.clone(), examples.min_by_key(|example| example.split_whitespace().count())?))
        };
        let mut examples: Vec<(String, String)> = self.tools.iter().filter_map(example).collect();
        examples.dedup_by(|next, first| next.0 == first.0);
        examples
    }

    /// Small talk and nothing else: a greeting, thanks, a yes or no.
    pub fn small_talk(&self, text: &str) -> Option<Understanding> {
        let said = Utterance::read(text);
        (said.len() > 0).then(|| small_talk::read(&said, &self.names)).flatten()
    }

    pub fn understand(&self, text: &str) -> Understanding {
        let said = Utterance::read(text);
        if said.len() == 0 {
            return Understanding::Unknown;
        }
        if let Some(talk) = small_talk::read(&said, &self.names) {
            return talk;
        }
        let lead = courtesy::lead(&said, &self.names);
        let said = kinds::meant_to_ask(&said, lead.lo).unwrap_or(said);
        let (lo, hi) = (lead.lo, said.len());
        let ends = courtesy::ends(&said, lo, hi, &self.names);
        self.guarded(&said, lead, ends)
            .or_else(|| self.requested(&said, lead, ends))
            .or_else(|| self.unfinished_request(&said, lead, ends))
            .or_else(|| beyond_tools(&said, lead, ends))
            .or_else(|| self.forms.broad(&said, lo, ends).map(|about| question(about, &said, lo)))
            .or_else(|| self.unfinished(&said, lo, ends))
            .unwrap_or_else(|| self.told(&said, lead))
    }

    /// Utterances that are settled before any tool is considered.
    fn guarded(&self, said: &Utterance, lead: Lead, ends: Ends) -> Option<Understanding> {
        let lo = lead.lo;
        if let Some(fact) = self.forms.fact(said, lo, ends) {
            return Some(Understanding::Remember { fact });
        }
        if let Some(topic) = self.forms.forget(said, lo, ends) {
            let about =
                if topic.is_empty() { "something".to_owned() } else { format!("what I know about “{topic}”") };
            let reply = format!("I don't forget on a spoken request. To remove {about}, use: maxim memory forget");
            return Some(Understanding::Unsupported { what: Unsupported::Forget, topic, reply });
        }
        if corrections::only_points(said, 0) {
            let question = "Which one do you mean? Say it by its name.".to_owned();
            return Some(Understanding::Ambiguous { understood: Partial::default(), question });
        }
        if corrections::corrects(said, 0).is_some() {
            return Some(Understanding::Statement);
        }
        if let Some(after) = guard::prohibited(said, lo, said.len()) {
            let words = said.span(lo, said.len()).to_owned();
            return Some(Understanding::Prohibition { words, tool: self.forbidden_tool(said, after) });
        }
        if let Some(about) = self.forms.specific(self, said, lo, ends) {
            // No tool has words for what was told, when and how often.
            let is_own = match &about {
                QuestionKind::Told { .. } | QuestionKind::Happened { .. } => true,
                QuestionKind::Beside { .. } | QuestionKind::HowOften { .. } => true,
                QuestionKind::WhatHappened { which, .. } => *which != Which::Any,
                _ => false,
            };
            return (is_own || !self.asks_a_tool(said, lo, ends)).then(|| question(about, said, lo));
        }
        if guard::reported(said, lo, said.len()) && !self.forms.interrogative(said, lo) {
            return Some(Understanding::Statement);
        }
        let waits = guard::delays(said, lo, said.len()) || said.word(lo) == "wait";
        if waits && !self.forms.asks_when(said, lo) && self.command_within(said, lo) {
            return Some(later(said.span(lo, said.len())));
        }
        None
    }

    fn requested(&self, said: &Utterance, lead: Lead, ends: Ends) -> Option<Understanding> {
        let (lo, hi) = (lead.lo, said.len());
        let found = self.candidates(said, lo, ends, lead.gerund);
        let asks = self.forms.interrogative(said, lo);
        // Memory may know what is in the safe. A file would be named.
        let best = found.first().filter(|best| !(asks && (best.changes_something() || best.names_no_file(said))));
        if let Some(several) = steps::read(self, said, lead, hi, best) {
            return Some(several);
        }
        if let Some(two) = steps::ask(self, said, lo, hi) {
            return Some(two);
        }
        if best.is_none()
            && let Some(step) = self.loosely(said, lo, ends)
        {
            return Some(Understanding::Command { steps: vec![step] });
        }
        let Some(best) = best else {
            let at = guard::delayed_at(said, lo, hi)?;
            let before = Utterance::read(said.span(lo, at).trim_end_matches(','));
            let known = !asks && !self.candidates(&before, 0, Ends::all(before.len()), false).is_empty();
            return known.then(|| later(said.span(lo, hi)));
        };
        if let Some(question) = tie(best, &found) {
            let understood = Partial { tool: None, params: Value::Null, missing: vec!["tool".to_owned()] };
            return Some(Understanding::Ambiguous { understood, question });
        }
        Some(match judged(&found, said, lead)? {
            Ok(step) => Understanding::Command { steps: vec![step] },
            Err(asked) => asked,
        })
    }

    /// A text as one request: the step, or why it must be asked about.
    pub(crate) fn request(&self, text: &str, requested: bool) -> Option<Result<Step, Understanding>> {
        let said = Utterance::read(text);
        let mut lead = courtesy::lead(&said, &self.names);
        lead.requested |= requested;
        if said.len() == 0 || self.forms.interrogative(&said, lead.lo) || guard::reported(&said, lead.lo, said.len()) {
            return None;
        }
        let ends = courtesy::ends(&said, lead.lo, said.len(), &self.names);
        judged(&self.candidates(&said, lead.lo, ends, lead.gerund), &said, lead)
    }

    /// The tool and parameters of a clause with any form of its verb ("ran rm", "writing notes.txt").
    pub(crate) fn clause(&self, text: &str) -> (Option<String>, Value) {
        let said = Utterance::read(text);
        let ends = courtesy::ends(&said, 0, said.len(), &self.names);
        let found = self.candidates(&said, 0, ends, true);
        match found.first() {
            Some(best) => (Some(best.tool.speech.tool.clone()), best.params(&said, true)),
            None => (self.named_tool(&said, 0), Value::Object(serde_json::Map::new())),
        }
    }

    /// The tool of a deed in a question, if the words belong to one tool alone.
    pub(crate) fn deed(&self, text: &str) -> Option<String> {
        let said = Utterance::read(text);
        let ends = courtesy::ends(&said, 0, said.len(), &self.names);
        if let Some(best) = self.candidates(&said, 0, ends, true).first() {
            return Some(best.tool.speech.tool.clone());
        }
        let named = self.named_tool(&said, 0)?;
        let has_verb = |tool: &&Tool| {
            tool.inflected.iter().flat_map(|(_, forms)| forms).any(|form| said.starts(0, said.len(), form).is_some())
        };
        let others = self.tools.iter().filter(has_verb).any(|tool| tool.speech.tool != named);
        (!others).then_some(named)
    }

    /// A read-only request without words that carry no meaning ("show me the current stats"). A request with side effects is
    /// never read so loosely.
    fn loosely(&self, said: &Utterance, lo: usize, ends: Ends) -> Option<Step> {
        let means = |at: &usize| *at == lo || said.tokens[*at].quoted.is_some() || !NOISE.contains(&said.word(*at));
        let kept: Vec<&str> = (lo..ends.plain).filter(means).map(|at| said.span(at, at + 1)).collect();
        if kept.len() == ends.plain - lo || guard::reported(said, lo, said.len()) {
            return None;
        }
        let text = kept.join(" ");
        let reduced = Utterance::read(&text);
        let found = self.candidates(&reduced, 0, Ends::all(reduced.len()), false);
        let best = found.first().filter(|best| !best.changes_something() && best.doubts(&reduced).is_empty())?;
        best.judge(&reduced, Lead::default()).ok()
    }

    /// A read-only tool with its own words for this question ("when is high tide in Whitby").
    fn asks_a_tool(&self, said: &Utterance, lo: usize, ends: Ends) -> bool {
        let found = self.candidates(said, lo, ends, false);
        found.first().is_some_and(|best| !best.changes_something() && best.doubts(said).is_empty())
    }

    /// The tool that a prohibition is about.
    fn forbidden_tool(&self, said: &Utterance, after: usize) -> Option<String> {
        let clause = |at: usize| self.clause(said.span(at, said.len())).0;
        (after..after + 3).find_map(clause)
    }

    /// The tool whose verb (in any form) or name stands here. A tool's name may follow an article.
    fn named_tool(&self, said: &Utterance, at: usize) -> Option<String> {
        let hi = said.len();
        let by_verb = |tool: &&Tool| {
            tool.inflected.iter().flat_map(|(_, forms)| forms).any(|form| said.starts(at, hi, form).is_some())
        };
        let by_name = |tool: &&Tool| (at..hi.min(at + 3)).any(|at| said.word(at) == tool.speech.tool);
        let tool = self.tools.iter().find(by_name).or_else(|| self.tools.iter().find(by_verb));
        tool.map(|tool| tool.speech.tool.clone())
    }

    /// All matches, the best first: few doubts, many words of the pattern, few words in open slots.
    fn candidates(&self, said: &Utterance, lo: usize, ends: Ends, inflected: bool) -> Vec<Candidate<'_>> {
        let mut found = Vec::new();
        for (order, tool) in self.tools.iter().enumerate() {
            let verbs = if inflected { &tool.inflected } else { &tool.exact };
            let mut matcher = Matcher::new(said, ends, verbs, !inflected);
            for (place, (pattern, nodes)) in tool.patterns.iter().enumerate() {
                let Some(matched) = matcher.run(nodes, lo) else { continue };
                let candidate = Candidate { tool, pattern, found: matched, lo };
                let doubt =
                    candidate.doubts(said).iter().map(crate::understand::judgement::Doubt::weight).max().unwrap_or(0);
                let open: usize = candidate.found.captures.iter().map(|capture| capture.hi - capture.lo).sum();
                found.push(((doubt, Reverse(candidate.found.literals), open, order, place), candidate));
            }
        }
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// Whether a later part of the utterance is a request, or begins with a tool's verb after a comma.
    fn command_within(&self, said: &Utterance, lo: usize) -> bool {
        let hi = said.len();
        (lo + 1..hi.min(lo + 60)).any(|at| {
            let begins = said.tokens[at - 1].closes.is_some() || said.word(at - 1) == "then";
            self.request(said.span(at, hi), false).is_some() || (begins && self.verb_at(said, at).is_some())
        })
    }

    fn verb_at(&self, said: &Utterance, at: usize) -> Option<(&Tool, &str, usize)> {
        let hi = said.len();
        self.tools.iter().find_map(|tool| {
            let verb =
                tool.speech.verbs.iter().find_map(|verb| Some((verb, said.starts(at, hi, &verb.to_lowercase())?)));
            verb.map(|(verb, length)| (tool, verb.as_str(), length))
        })
    }

    /// "Can you write a file?" is a request, not a question to memory, if the tool changes something.
    fn unfinished_request(&self, said: &Utterance, lead: Lead, ends: Ends) -> Option<Understanding> {
        let (tool, ..) = self.verb_at(said, lead.lo).filter(|_| lead.requested)?;
        tool.speech.effect.changes_something().then(|| self.unfinished(said, lead.lo, ends)).flatten()
    }

    /// A known verb with parameters that fit no pattern.
    fn unfinished(&self, said: &Utterance, lo: usize, ends: Ends) -> Option<Understanding> {
        let (tool, verb, length) = self.verb_at(said, lo)?;
        let told = said.tokens[lo + length - 1].closes == Some(',')
            || ["is", "was", "are", "were", "has", "had"].contains(&said.word(lo + length));
        if told {
            return None;
        }
        // A verb of many tools needs the rest of its words to name one.
        let is_said = |word: &str| (lo + length..said.len()).any(|at| said.word(at) == word);
        let is_own = self.tools.iter().any(|other| {
            other.speech.verbs.first().is_some_and(|first| first == verb) && {
                let first = self.tools.iter().find(|tool| tool.speech.tool == other.speech.tool);
                first.is_some_and(|first| std::ptr::eq(first, other))
            }
        });
        let quotes = said.tokens[lo..].iter().any(|token| token.quoted.is_some());
        let fits = |tool: &Tool| tool.patterns.iter().any(|(_, nodes)| pattern::are_said(nodes, &is_said, quotes));
        let meant = |tool: &Tool| tool.speech.verbs.iter().any(|known| known == verb) && fits(tool);
        if !is_own && lexicon::is_imperative(said, lo) && !self.tools.iter().any(meant) {
            return None;
        }
        let ways = self.tools.iter().filter(|other| other.speech.verbs.iter().any(|known| known == verb));
        let ways = ways.flat_map(|tool| tool.patterns.iter().map(move |(_, nodes)| (tool, nodes)));
        // Of the patterns that take the named parameters, the one that needs the fewest.
        let names_path = (lo + length..ends.plain).any(|at| lexicon::looks_like_path(&said.value(at)));
        let simplest = ways
            .filter(|(_, nodes)| nodes.contains(&Node::Verb) && !pattern::required_slots(nodes).is_empty())
            .min_by_key(|(_, nodes)| {
                let slots = pattern::required_slots(nodes);
                (names_path && !slots.contains(&"path"), slots.len())
            });
        let (tool, missing, example) = match simplest {
            Some((tool, nodes)) => (tool, pattern::required_slots(nodes), pattern::example(nodes, verb)),
            None => (tool, vec!["rest"], verb.to_owned()),
        };
        let lacking = missing.iter().map(|slot| slot.replace('_', " ")).collect::<Vec<_>>().join(" and ");
        let rest = said.span(lo + length, ends.plain);
        let question = if rest.is_empty() {
            format!("I understood “{verb}”, but not the {lacking}. Say it like this: {example}")
        } else {
            format!(
                "I understood “{verb}”, but I can't make out the {lacking} from “{rest}”. Say it like this: {example}"
            )
        };
        let missing = missing.into_iter().map(str::to_owned).collect();
        let understood =
            Partial { tool: Some(tool.speech.tool.clone()), params: Value::Object(serde_json::Map::new()), missing };
        Some(Understanding::Ambiguous { understood, question })
    }

    fn told(&self, said: &Utterance, lead: Lead) -> Understanding {
        let lo = lead.lo;
        if let Some(topic) = self.forms.remind(said, lo) {
            return later(&topic);
        }
        if lexicon::is_imperative(said, lo) || lexicon::is_like_an_order(said, lo) {
            without_tool(said.span(lo, said.len()))
        } else if lexicon::is_statement(said, lo) || plural_statement::is_of_many(said, lo) {
            Understanding::Statement
        } else if lead.greeted {
            Understanding::Greeting
        } else if lead.thanked {
            Understanding::Thanks
        } else {
            Understanding::Unknown
        }
    }
}

impl Tool {
    fn new(speech: &ToolSpeech) -> Result<Self, GrammarError> {
        let failed = |cause| GrammarError { tool: speech.tool.clone(), cause };
        let compiled = |text: &String| Ok((text.clone(), pattern::compile(text).map_err(failed)?));
        let verbs: Vec<String> = speech.verbs.iter().map(|verb| verb.to_lowercase()).collect();
        Ok(Self {
            exact: verbs.iter().map(|verb| (verb.clone(), vec![verb.clone()])).collect(),
            inflected: verbs.iter().map(|verb| (verb.clone(), inflection::forms(verb))).collect(),
            patterns: speech.patterns.iter().map(compiled).collect::<Result<_, _>>()?,
            speech: speech.clone(),
        })
    }
}

/// A deed in the form of a question ("could you wash the car?"). Verbs that ask for words are left to
/// memory.
fn beyond_tools(said: &Utterance, lead: Lead, ends: Ends) -> Option<Understanding> {
    let lo = lead.lo;
    let is_deed = lead.requested && lexicon::is_imperative(said, lo) && !FOR_WORDS.contains(&said.word(lo));
    is_deed.then(|| without_tool(said.span(lo, ends.plain)))
}

/// The answer to a request that no tool has words for.
fn without_tool(wish: &str) -> Understanding {
    let topic = wish.trim_end_matches(['.', '!', ',', '?']).to_owned();
    let reply = format!(
        "I understood that you want me to “{topic}”, but I know no way to do that, so I did nothing. Say “help” for what I can do."
    );
    Understanding::Unsupported { what: Unsupported::NoTool, topic, reply }
}

/// Other readings that are kept with a request.
const READINGS: usize = 3;

/// The best candidate as a step, with its other readings.
fn judged(found: &[Candidate], said: &Utterance, lead: Lead) -> Option<Result<Step, Understanding>> {
    let mut step = match found.first()?.judge(said, lead) {
        Ok(step) => step,
        Err(asked) => return Some(Err(asked)),
    };
    for other in found[1..].iter().map(|other| other.reading(said)) {
        let is_new = (&other.tool, &other.params) != (&step.tool, &step.params)
            && !step.others.iter().any(|known| (&known.tool, &known.params) == (&other.tool, &other.params));
        if is_new && step.others.len() < READINGS {
            step.others.push(other);
        }
    }
    Some(Ok(step))
}

fn question(about: QuestionKind, said: &Utterance, lo: usize) -> Understanding {
    Understanding::Question { about, terms: terms(said.span(lo, said.len())) }
}

/// Two tools fit equally well, and one has side effects.
fn tie(best: &Candidate, found: &[Candidate]) -> Option<String> {
    let other = found.iter().find(|other| other.tool.speech.tool != best.tool.speech.tool)?;
    let equal = other.found.literals == best.found.literals
        && other.found.typo == best.found.typo
        && other.found.captures.iter().map(|capture| (capture.lo, capture.hi)).eq(best
            .found
            .captures
            .iter()
            .map(|capture| (capture.lo, capture.hi)));
    let risky = best.changes_something() || other.changes_something();
    (equal && risky).then(|| {
        let (one, two) = (&best.tool.speech.tool, &other.tool.speech.tool);
        format!("That could mean {one} or {two}. Which of the two do you want?")
    })
}
