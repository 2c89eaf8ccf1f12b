//! From the understanding to a plan: steps and words.

use jiff::Timestamp;
use maxim_bus::signals::intent::Alternative;
use maxim_bus::signals::recall::EpisodeFilter;
use maxim_bus::units::Confidence;
use serde_json::{Value as Json, json};

use crate::recollection::counting::counting;
use crate::recollection::deeds::deeds;
use crate::recollection::events::{deeds_in, events};
use crate::recollection::grounds::{self, Ground};
use crate::recollection::neighbours::beside;
use crate::recollection::search::{ENOUGH, SPANNED};
use crate::recollection::{Asked, StepWanted, View, narrow, within};
use maxim_speech::question::computation::computation;
use maxim_speech::question::wanted::Wanted;
use maxim_speech::question::{content, topic};
use maxim_speech::talk::statement::may_tell;
use maxim_speech::time::{days, spans};
use maxim_speech::{Place, QuestionKind, Reading, Understanding, Unsupported, Which, Whose, answer, terms};

/// The answer to "who are you?".
const WHO_I_AM: &str = "I am Maxim. I remember what you tell me and what I do, I act with tools, and I ask before I do \
    what may do harm. Say “help” for what I understand; “maxim why” shows why I did something.";

/// The plan for an utterance.
#[derive(Debug)]
pub(super) struct Plan {
    pub steps: Vec<StepWanted>,
    /// Words that need no look-up.
    pub say: Option<String>,
    pub thought: String,
    pub confidence: Confidence,
    pub commanded: bool,
    /// A model could add nothing.
    pub settled: bool,
    /// The request isn't clear. A plan from experience may help.
    pub lost: bool,
    /// Alternatives, each with the reason against it.
    pub instead: Vec<Alternative>,
}

impl Plan {
    /// The steps as alternatives that weren't taken because of `why`.
    pub fn passed_over(&self, why: &str) -> Vec<Alternative> {
        let step = |step: &StepWanted| Alternative {
            tool: step.tool.clone(),
            params: step.params.clone(),
            why: why.to_owned(),
        };
        self.steps.iter().map(step).collect()
    }
}

impl Default for Plan {
    fn default() -> Self {
        let confidence = Confidence::clamped(1.0);
        Self {
            steps: Vec::new(),
            say: None,
            thought: String::new(),
            confidence,
            commanded: false,
            settled: false,
            lost: false,
            instead: Vec::new(),
        }
    }
}

/// The question behind a command to look inward. Its answer is worded like any other.
fn asked_by(tool: &str, params: &Json) -> Option<Asked> {
    let text = |field: &str| params.get(field).and_then(Json::as_str).map(str::to_owned);
    match tool {
        "memory_recall" => text("query").map(|topic| {
            let wanted = Wanted { topic: topic.clone(), words: terms(&topic), ..Wanted::default() };
            Asked::Recall(wanted)
        }),
        "predict_outcome" => text("tool_name").map(|topic| Asked::Predict { topic }),
        "concept_query" => text("category").or_else(|| text("name")).map(|topic| Asked::Concepts { topic }),
        _ => None,
    }
}

/// Steps for commands and questions, words for all else.
/// `grounds`: the grounds of the last answer.
pub(super) fn plan(view: &View<'_>, text: &str, grounds: &[Ground], now: Timestamp) -> Plan {
    let grammar = view.grammar;
    let understood = grammar.understand(text);
    let sure = Confidence::clamped(1.0);
    let say = |words: String, thought: &str, settled| Plan {
        say: Some(words),
        thought: thought.into(),
        confidence: sure,
        settled,
        ..Plan::default()
    };
    let unclear = matches!(
        understood,
        Understanding::Ambiguous { .. } | Understanding::Unsupported { what: Unsupported::NoTool, .. }
    );
    if let Some(words) = answer::small_talk(&understood).filter(|_| !unclear) {
        return say(words, "This is small talk; I answer in kind.", true);
    }
    match understood {
        Understanding::Unknown if computation(text).is_some() => {
            question(view, text, QuestionKind::General, (Vec::new(), grounds), now)
        }
        Understanding::Command { steps } => {
            let certainty = steps.iter().map(|step| step.certainty.get()).fold(1.0, f64::min);
            let tools: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
            let instead = steps.iter().flat_map(|step| step.others.clone());
            Plan {
                instead: instead.map(|Reading { tool, params, why }| Alternative { tool, params, why }).collect(),
                thought: format!("I am asked to use {}.", tools.join(", then ")),
                steps: steps
                    .into_iter()
                    .map(|step| {
                        let question = asked_by(&step.tool, &step.params);
                        StepWanted { tool: step.tool, params: step.params, question }
                    })
                    .collect(),
                confidence: Confidence::clamped(certainty),
                commanded: true,
                settled: true,
                ..Plan::default()
            }
        }
        Understanding::Question { about, terms } => question(view, text, about, (terms, grounds), now),
        Understanding::Remember { fact } => say(answer::remembered(&fact), "I am told something to keep.", true),
        Understanding::Prohibition { words, .. } => say(
            format!("Understood: {}. I won't.", words.trim_end_matches('.')),
            "I am told not to do something.",
            true,
        ),
        // A model, or a plan that worked before, may know a way.
        Understanding::Unsupported { what: Unsupported::NoTool, reply, .. } => {
            Plan { lost: true, ..say(reply, "I am asked for something that no tool of mine does.", false) }
        }
        Understanding::Unsupported { reply, .. } => say(reply, "I am asked for something that I can't do.", true),
        Understanding::Ambiguous { question, .. } => {
            Plan { lost: true, ..say(question, "I am not sure what is meant, so I ask.", true) }
        }
        Understanding::Statement => say("Noted.".into(), "I am told something; I keep it.", false),
        _ => {
            let words = answer::unknown(may_tell(text), &grammar.abilities());
            Plan { lost: true, ..say(words, "I don't understand this, so I do nothing.", false) }
        }
    }
}

fn question(
    view: &View<'_>,
    text: &str,
    about: QuestionKind,
    (words, grounds): (Vec<String>, &[Ground]),
    now: Timestamp,
) -> Plan {
    let View { grammar, zone, asker } = *view;
    let inquire = |tool: &str, params: Json, question: Option<Asked>, settled| Plan {
        thought: format!("I am asked something; I look it up with {tool}."),
        steps: vec![StepWanted { tool: tool.into(), params, question }],
        confidence: Confidence::clamped(1.0),
        settled,
        ..Plan::default()
    };
    let told = |about: String, place: Place, asked: bool, span: Option<spans::NamedSpan>| {
        let many = if place == Place::Counted { EpisodeFilter::READ } else { ENOUGH };
        let mut params = within(span.as_ref(), many);
        narrow(&mut params, Whose::Askers, &about, asker);
        if place == Place::First {
            params["oldest"] = json!(true);
        }
        let span = span.map(|span| span.words);
        inquire("memory_recall", params, Some(Asked::Told { about, place, asked, span }), true)
    };
    let recall = |topic: String| {
        let wanted = Wanted::of(text, topic, words.clone(), now, zone);
        // The index of words holds no emoji.
        if !wanted.words.is_empty() && !wanted.words.iter().any(|word| word.contains(char::is_alphanumeric)) {
            return Plan { settled: false, ..told(wanted.words.join(" "), Place::Last, false, None) };
        }
        let days: Vec<String> = days::named(text, now, zone).into_iter().map(|(_, day)| days::in_words(day)).collect();
        let query = match (content::asks_own_name(text), &wanted.span) {
            (true, _) => "my name is, I'm called, call me, I am".to_owned(),
            (false, Some(_)) => spans::apart(text, now, zone).0,
            (false, None) => format!("{text} {}", days.join(" ")).trim().to_owned(),
        };
        let mut params = within(wanted.span.as_ref(), 10);
        params["query"] = json!(query);
        inquire("memory_recall", params, Some(Asked::Recall(wanted)), false)
    };
    let past =
        |step: StepWanted, settled| Plan { steps: vec![step], ..inquire("memory_recall", Json::Null, None, settled) };
    if let Some(expression) = computation(text) {
        return inquire("math", json!({ "expression": expression }), None, true);
    }
    match about {
        QuestionKind::Who { topic } if topic == "you" => Plan {
            say: Some(WHO_I_AM.into()),
            thought: "I am asked who I am.".into(),
            confidence: Confidence::clamped(1.0),
            settled: true,
            ..Plan::default()
        },
        QuestionKind::Remember { topic } | QuestionKind::When { topic } | QuestionKind::Who { topic } => recall(topic),
        QuestionKind::General => recall(words.join(" ")),
        QuestionKind::Happened { topic, whose } => match spans::at_the_end(&topic, now, zone) {
            Some((about, span)) => {
                let settled = terms(&about).is_empty() && whose != Whose::Askers;
                past(events(&about, whose, span, asker), settled)
            }
            None => recall(topic),
        },
        QuestionKind::Beside { event, .. } if terms(&event).is_empty() => recall(words.join(" ")),
        QuestionKind::Beside { side, event, who, whose } => {
            let event = Wanted { words: terms(&event), topic: event, ..Wanted::default() };
            let settled = who.is_empty() && whose != Whose::Askers;
            past(beside(side, event, who, whose), settled)
        }
        QuestionKind::HowOften { topic, told } => {
            let (topic, span) = spans::apart(&topic, now, zone);
            past(counting(&topic, told, span, asker), false)
        }
        QuestionKind::WhatHappened { tool, topic, which, success } => {
            let (topic, span) = spans::apart(&topic, now, zone);
            let is_open = which == Which::Any && success.is_none() && tool.is_none();
            if let Some(span) = span.clone().filter(|_| is_open && terms(&topic).is_empty()) {
                return past(deeds_in(span), true);
            }
            // If no tool of the agent did it, memory finds by its words whose deed it was.
            let plainly = match (which, &tool) {
                (Which::First | Which::Last, None) => {
                    let asked = topic::of_others(&topic);
                    recall(asked).steps.pop()
                }
                (Which::Counted, _) => Some(counting(&topic::of_others(&topic), false, span.clone(), asker)),
                _ => None,
            };
            let plainly = plainly.unwrap_or_else(|| deeds_by_words(tool.clone(), &topic, success, span.as_ref()));
            let settled = which == Which::Any || tool.is_some();
            past(deeds(tool.as_deref(), &topic, which, success, span, plainly), settled)
        }
        QuestionKind::Predict { tool, params, topic } => {
            let tool_name = tool.unwrap_or_else(|| topic.clone());
            let params = json!({ "tool_name": tool_name, "params": params, "include_all_outcomes": true });
            inquire("predict_outcome", params, Some(Asked::Predict { topic }), true)
        }
        QuestionKind::Why if let Some(step) = grounds::looked_up(grounds) => past(step, true),
        QuestionKind::Why => Plan {
            say: Some("What led to it, step by step: `maxim why`.".into()),
            ..inquire("memory_recall", json!({ "limit": SPANNED }), Some(Asked::WhyNewest), true)
        },
        QuestionKind::WhyDid { topic, refused } => {
            let params = json!({ "query": topic, "limit": SPANNED });
            inquire("memory_recall", params, Some(Asked::WhyDid { topic, refused }), true)
        }
        QuestionKind::Told { topic, place, asked } => {
            let (about, span) = spans::apart(&topic, now, zone);
            if span.is_none() && place == Place::All && !about.is_empty() && !asked {
                return recall(about);
            }
            told(about, place, asked, span)
        }
        QuestionKind::Status => inquire("system_stats", json!({}), None, true),
        QuestionKind::Now => Plan {
            say: Some(match days::named(text, now, zone).first() {
                Some((word, day)) if !days::is_now(word) => {
                    format!("The day that is {word}: {}.", days::in_words(*day))
                }
                _ => format!("It is {}.", now.to_zoned(zone.clone()).strftime("%A, %-d %B %Y, %H:%M")),
            }),
            thought: "I am asked for the time.".into(),
            confidence: Confidence::clamped(1.0),
            settled: true,
            ..Plan::default()
        },
        QuestionKind::Abilities => {
            let can: Vec<String> =
                grammar.abilities().into_iter().map(|(tool, example)| format!("{tool}: “{example}”")).collect();
            Plan {
                say: Some(format!("I understand for example:\n{}", can.join("\n"))),
                thought: "I am asked what I can do.".into(),
                confidence: Confidence::clamped(1.0),
                settled: true,
                ..Plan::default()
            }
        }
    }
}

/// A look-up of deeds by the words of the question, and by a tool that the grammar knows.
fn deeds_by_words(
    tool: Option<String>,
    topic: &str,
    success: Option<bool>,
    span: Option<&spans::NamedSpan>,
) -> StepWanted {
    let mut params = within(span, if span.is_some() { SPANNED } else { 10 });
    let failed = topic::without_failure(topic);
    if let Some(success) = success.or(failed.as_ref().map(|_| false)) {
        params["success"] = json!(success);
    }
    let topic = failed.unwrap_or_else(|| topic.to_owned());
    if let Some(tool) = &tool {
        params["tool_name"] = json!(tool);
    }
    if !topic.is_empty() {
        params["query"] = json!(topic);
    }
    let span = span.map(|span| span.words.clone());
    let question = Some(Asked::Happened { tool, topic, span });
    StepWanted { tool: "memory_recall".into(), params, question }
}
