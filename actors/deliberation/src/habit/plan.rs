//! From what was understood to what is to be done and said.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::{ConceptShown, KnowledgeEntry};
use maxim_bus::signals::intent::Alternative;
use maxim_bus::signals::recall::{OutcomesPredicted, RecalledEpisode};
use maxim_bus::units::Confidence;
use serde_json::{Value as Json, json};

use super::answer::{self, Evidence, Expectation, Origin};
use super::grounds::{self, Ground};
use super::settings::HabitSettings;
use super::tokens::{Utterance, asks};
use super::turn::{Asked, StepWanted};
use super::understanding::{Reading, Unsupported};
use super::wanted::Wanted;
use super::{
    Grammar, Place, QuestionKind, Understanding, Which, Whose, days, held, lexicon, looking_up, past, terms, times,
};
use maxim_language::numbers::arithmetic::is_expression;

/// What it says of itself.
const WHO_I_AM: &str = "I am Maxim. I remember what you tell me and what I do, I act with tools, and I ask before I do \
    what may do harm. Say “help” for what I understand; “maxim why” shows why I did something.";

/// Memories that are looked through for what was done in a span of time: as many as the tool gives.
const SPANNED: usize = 20;

/// What habit makes of an utterance.
#[derive(Debug)]
pub(super) struct Plan {
    pub steps: Vec<StepWanted>,
    /// What is said without looking anything up.
    pub say: Option<String>,
    pub thought: String,
    pub confidence: Confidence,
    pub commanded: bool,
    /// Nothing that deliberation could add.
    pub settled: bool,
    /// It isn't clear what is wanted: a plan from experience may be.
    pub lost: bool,
    /// What could be done instead, and why it isn't.
    pub instead: Vec<Alternative>,
}

impl Plan {
    /// Its steps, as what isn't done because of `why`.
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

/// Looking inward on command is a question too, and answered like one.
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

/// Steps for commands and questions, words for the rest.
/// `grounds`: what the last answer rested on.
pub(super) fn plan(grammar: &Grammar, text: &str, grounds: &[Ground], now: Timestamp, zone: &TimeZone) -> Plan {
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
            question(grammar, text, QuestionKind::General, (Vec::new(), grounds), now, zone)
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
        Understanding::Question { about, terms } => question(grammar, text, about, (terms, grounds), now, zone),
        Understanding::Remember { fact } => say(answer::remembered(&fact), "I am told something to keep.", true),
        Understanding::Prohibition { words, .. } => say(
            format!("Understood: {}. I won't.", words.trim_end_matches('.')),
            "I am told not to do something.",
            true,
        ),
        // Deliberation, or a plan that worked before, may know a way.
        Understanding::Unsupported { what: Unsupported::NoTool, reply, .. } => {
            Plan { lost: true, ..say(reply, "I am asked for something that no tool of mine does.", false) }
        }
        Understanding::Unsupported { reply, .. } => say(reply, "I am asked for something that I can't do.", true),
        Understanding::Ambiguous { question, .. } => {
            Plan { lost: true, ..say(question, "I am not sure what is meant, so I ask.", true) }
        }
        Understanding::Statement => say("Noted.".into(), "I am told something; I keep it.", false),
        _ => {
            let words = answer::unknown(is_telling(text), &grammar.abilities());
            Plan { lost: true, ..say(words, "I don't understand this, so I do nothing.", false) }
        }
    }
}

fn question(
    grammar: &Grammar,
    text: &str,
    about: QuestionKind,
    (words, grounds): (Vec<String>, &[Ground]),
    now: Timestamp,
    zone: &TimeZone,
) -> Plan {
    let inquire = |tool: &str, params: Json, question: Option<Asked>, settled| Plan {
        thought: format!("I am asked something; I look it up with {tool}."),
        steps: vec![StepWanted { tool: tool.into(), params, question }],
        confidence: Confidence::clamped(1.0),
        settled,
        ..Plan::default()
    };
    let last_told = |about: String| {
        let within = times::within(None, looking_up::PAGE);
        let (place, found) = (Place::Last, Json::Null);
        let asked = Asked::Told { about, place, asked: false, span: None, within: within.clone(), found, pages: 0 };
        inquire("memory_recall", within, Some(asked), false)
    };
    let recall = |topic: String| {
        let wanted = Wanted::of(text, topic, words.clone(), now, zone);
        // The index of words knows no pictures.
        if !wanted.words.is_empty() && !wanted.words.iter().any(|word| word.contains(char::is_alphanumeric)) {
            return last_told(wanted.words.join(" "));
        }
        let days: Vec<String> = days::named(text, now, zone).into_iter().map(|(_, day)| days::in_words(day)).collect();
        let query = match (held::asks_own_name(text), &wanted.span) {
            (true, _) => "my name is, I'm called, call me, I am".to_owned(),
            (false, Some(_)) => times::apart(text, now, zone).0,
            (false, None) => format!("{text} {}", days.join(" ")).trim().to_owned(),
        };
        let mut params = times::within(wanted.span.as_ref(), 10);
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
        QuestionKind::Happened { topic, whose } => match times::at_the_end(&topic, now, zone) {
            Some((about, span)) => {
                let settled = terms(&about).is_empty() && whose != Whose::Askers;
                past(past::events(&about, whose, span), settled)
            }
            None => recall(topic),
        },
        QuestionKind::Beside { event, .. } if terms(&event).is_empty() => recall(words.join(" ")),
        QuestionKind::Beside { side, event, who, whose } => {
            let event = Wanted { words: terms(&event), topic: event, ..Wanted::default() };
            let settled = who.is_empty() && whose != Whose::Askers;
            past(past::beside(side, event, who, whose), settled)
        }
        QuestionKind::HowOften { topic, told } => {
            let (topic, span) = times::apart(&topic, now, zone);
            past(past::counting(&topic, told, span), false)
        }
        QuestionKind::WhatHappened { tool, topic, which, success } => {
            let (topic, span) = times::apart(&topic, now, zone);
            let is_open = which == Which::Any && success.is_none() && tool.is_none();
            if let Some(span) = span.clone().filter(|_| is_open && terms(&topic).is_empty()) {
                return past(past::deeds_in(span), true);
            }
            // Whose deed it was, where no tool of the agent did it, memory tells by the words.
            let plainly = match (which, &tool) {
                (Which::First | Which::Last, None) => {
                    let asked = past::of_others(&topic);
                    recall(asked).steps.pop()
                }
                (Which::Counted, _) => Some(past::counting(&past::of_others(&topic), false, span.clone())),
                _ => None,
            };
            let plainly = plainly.unwrap_or_else(|| deeds_by_words(tool.clone(), &topic, success, span.as_ref()));
            let settled = which == Which::Any || tool.is_some();
            past(past::deeds(tool.as_deref(), &topic, which, success, span, plainly), settled)
        }
        QuestionKind::Predict { tool, params, topic } => {
            let tool_name = tool.unwrap_or_else(|| topic.clone());
            let params = json!({ "tool_name": tool_name, "params": params, "include_all_outcomes": true });
            inquire("predict_outcome", params, Some(Asked::Predict { topic }), true)
        }
        QuestionKind::Why if let Some(step) = grounds::looked_up(grounds) => past(step, true),
        QuestionKind::Why => {
            let asked = Asked::Happened { tool: None, topic: String::new(), span: None };
            Plan {
                say: Some("What led to it, step by step: `maxim why`.".into()),
                ..inquire("memory_recall", json!({ "limit": SPANNED }), Some(asked), true)
            }
        }
        QuestionKind::WhyDid { topic, refused } => {
            let params = json!({ "query": topic, "limit": SPANNED });
            inquire("memory_recall", params, Some(Asked::WhyDid { topic, refused }), true)
        }
        QuestionKind::Told { topic, place, asked } => {
            let (about, span) = times::apart(&topic, now, zone);
            if span.is_none() && place == Place::All && !about.is_empty() && !asked {
                return recall(about);
            }
            let within = times::within(span.as_ref(), looking_up::PAGE);
            let (params, span) = (within.clone(), span.map(|span| span.words));
            let asked = Asked::Told { about, place, asked, span, within, found: Json::Null, pages: 0 };
            inquire("memory_recall", params, Some(asked), true)
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

/// Deeds that are looked up by the words of the question, and by a tool that the grammar knows.
fn deeds_by_words(tool: Option<String>, topic: &str, success: Option<bool>, span: Option<&times::Named>) -> StepWanted {
    let mut params = times::within(span, if span.is_some() { SPANNED } else { 10 });
    let failed = past::without_failure(topic);
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

/// Whether words that nothing was made of may have been meant to be kept.
fn is_telling(text: &str) -> bool {
    // Where words are written together none can be counted.
    let is_together = terms(text).iter().any(|word| lexicon::pieces(word).len() > 4);
    !asks(text) && (is_together || (terms(text).len() >= 2 && text.split_whitespace().count() >= 3))
}

/// The expression in "what is 6 * 7?" or in "6 * 7".
fn computation(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(['?', '=', '.', ' ']);
    let lower = text.to_lowercase();
    let leads = ["what is ", "what's ", "whats ", "how much is ", "how many is "];
    let lead = leads.iter().find(|lead| lower.starts_with(**lead)).map_or(0, |lead| lead.len());
    // Lower case may have another length outside of ASCII.
    let expression = text.get(lead..)?.trim();
    // By itself a number or a name is no question.
    let computes =
        |text: &str| text.contains(|c: char| c.is_ascii_digit()) && text.contains(['+', '*', '/', '^', '%', '-']);
    (is_expression(expression) && (lead > 0 || computes(expression))).then(|| expression.to_owned())
}

/// What is said of what was found.
#[derive(Debug, Default)]
pub(super) struct Worded {
    pub text: String,
    /// The episodes that it rests on.
    pub rests_on: Vec<Ground>,
}

impl Worded {
    /// Words that tell of no episode.
    fn bare(text: String) -> Self {
        Self { text, rests_on: Vec::new() }
    }

    fn told(text: String, evidence: &[Evidence]) -> Self {
        Self { text, rests_on: grounds::of(evidence) }
    }

    fn of(reply: answer::Reply, evidence: &[Evidence]) -> Self {
        let told: Vec<Evidence> = reply.rests_on.iter().filter_map(|place| evidence.get(*place).cloned()).collect();
        Self { rests_on: grounds::of(&told), text: reply.text }
    }
}

/// The answer to a question, worded from what was found.
pub(super) fn worded(
    asked: &Asked,
    found: &Json,
    asker: &str,
    recalled: &[RecalledEpisode],
    knowledge: &[KnowledgeEntry],
    settings: &HabitSettings,
) -> Worded {
    let zone = &settings.zone;
    match asked {
        Asked::Told { about, place, asked, span, found: before, pages, .. } => {
            let told = looking_up::mine(&looking_up::joined(before, found), *asked, about, asker, settings);
            let did = if *asked { "asked" } else { "told" };
            let words = answer::tellings(*place, did, about, span.as_deref(), &told, zone);
            let words = looking_up::looked_through(*pages)
                .map_or_else(|| words.clone(), |many| format!("{words}\n(From the last {many} moments.)"));
            Worded::told(words, &told)
        }
        Asked::WhyDid { topic, refused } => {
            let evidence = evidence(found, settings);
            match answer::why(topic, *refused, &evidence, zone) {
                Some(words) => Worded::told(words, &evidence),
                None => Worded::bare(why_not(topic, *refused, &settings.grammar)),
            }
        }
        Asked::Since { wanted, found: before, .. } => {
            let asked = Asked::Recall(wanted.clone());
            let found = looking_up::joined(before, &looking_up::behind(found));
            worded(&asked, &found, asker, recalled, knowledge, settings)
        }
        Asked::Recall(wanted) | Asked::Wider(wanted) => {
            let words = &wanted.words;
            let mut evidence = evidence(found, settings);
            if evidence.is_empty() {
                evidence = recalled.iter().filter_map(|episode| piece(episode.clone(), settings)).collect();
            }
            let reply = answer::recalled(wanted, &evidence, Some(asker), zone);
            let known = reply.known;
            let worded = Worded::of(reply, &evidence);
            match (answer::known(words, knowledge), known) {
                (Some(general), true) => Worded { text: format!("{} {general}", worded.text), ..worded },
                (Some(general), false) => Worded::bare(general),
                (None, _) => worded,
            }
        }
        Asked::Deeds(_) | Asked::Counting(_) | Asked::Events(_) | Asked::Beside(_) => {
            let (reply, evidence) = past::answered(asked, found, asker, settings).unwrap_or_default();
            Worded::of(reply, &evidence)
        }
        Asked::Grounds(recounting) => {
            let evidence = evidence(&recounting.all(found), settings);
            Worded::told(answer::grounds(&evidence, Some(asker), zone), &evidence)
        }
        Asked::Concepts { topic } => {
            let found = found.get("results").cloned().unwrap_or_default();
            let concepts: Vec<ConceptShown> = serde_json::from_value(found).unwrap_or_default();
            Worded::bare(answer::concepts(topic, &concepts))
        }
        Asked::Happened { tool, topic, span } => {
            let evidence = evidence(found, settings);
            let reply = answer::happened(tool.as_deref(), topic, span.as_deref(), &evidence, zone);
            let looked_through = found["results"].as_array().map_or(0, Vec::len);
            let mut worded = Worded::of(reply, &evidence);
            if looked_through >= SPANNED {
                let more = format!("\n(From the last {looked_through} moments; more: `maxim memory recall`.)");
                worded.text.push_str(&more);
            }
            worded
        }
        Asked::Predict { topic } => {
            let predicted: Option<OutcomesPredicted> = serde_json::from_value(found.clone()).ok();
            let expectation = predicted.filter(|p| p.known).map(|p| Expectation {
                tool: p.tool_name.clone(),
                value: p.value,
                confidence: p.confidence,
                outcomes: usize::try_from(p.observations).unwrap_or(usize::MAX),
                usual: p.outcomes.first().map(|(name, _)| name.clone()),
            });
            Worded::bare(answer::expected(topic, expectation.as_ref()))
        }
    }
}

/// Where nothing of the kind was done.
fn why_not(topic: &str, refused: bool, grammar: &Grammar) -> String {
    if !refused {
        return format!("I don't remember doing that (“{topic}”).");
    }
    match grammar.understand(topic) {
        Understanding::Unsupported { what: Unsupported::NoTool, .. } => format!("Because I know no way to “{topic}”."),
        Understanding::Unsupported { reply, .. } => reply,
        Understanding::Command { .. } => {
            format!("I don't remember that I was asked to. Say “{topic}”, and I do it if I may.")
        }
        _ => format!("I don't know; I don't remember anything of “{topic}”."),
    }
}

pub(super) fn evidence(found: &Json, settings: &HabitSettings) -> Vec<Evidence> {
    let results = found.get("results").cloned().unwrap_or_default();
    let episodes: Vec<RecalledEpisode> = serde_json::from_value(results).unwrap_or_default();
    episodes.into_iter().filter_map(|episode| piece(episode, settings)).collect()
}

/// What was asked in what was found, but for questions about what was asked.
pub(super) fn questions(found: &Json, settings: &HabitSettings) -> Vec<Evidence> {
    let is_one = |sentence: &str| match settings.grammar.understand(sentence) {
        Understanding::Question { about: QuestionKind::Told { asked: true, .. }, .. } => false,
        Understanding::Question { .. } => true,
        _ => asks(sentence),
    };
    let question = |episode: RecalledEpisode| {
        let sentences = answer::split(&episode.text).into_iter().filter(|sentence| is_one(sentence));
        let text = sentences.collect::<Vec<_>>().join(" ");
        (episode.said && !text.is_empty()).then(|| as_evidence(episode, text))
    };
    looking_up::episodes(found).into_iter().filter_map(question).collect()
}

/// What an episode tells. A question about something is no evidence of it, and neither are words that wanted something done
/// which wasn't; what was said beside them is.
fn piece(episode: RecalledEpisode, settings: &HabitSettings) -> Option<Evidence> {
    let text = match episode.said && episode.tool.is_none() {
        true => {
            let is_wish = |sentence: &str| lexicon::is_imperative(&Utterance::read(sentence), 0);
            let sentences = answer::split(&episode.text).into_iter();
            let plain = sentences.filter(|sentence| !asks(sentence) && !is_wish(sentence));
            plain.filter_map(|sentence| settings.told(sentence)).collect::<Vec<_>>().join("\n")
        }
        false => episode.text.clone(),
    };
    if text.is_empty() || (asks(&text) && episode.tool.is_none()) {
        return None;
    }
    Some(as_evidence(episode, text))
}

fn as_evidence(episode: RecalledEpisode, text: String) -> Evidence {
    let origin = match (&episode.tool, episode.said, episode.trust) {
        (Some(tool), ..) => Origin::Did { tool: tool.clone() },
        (None, false, _) => Origin::Other,
        (None, true, Trust::Sensor) => Origin::Heard,
        // Whoever may not command could call themselves by anybody's name.
        (None, true, Trust::Outside) => Origin::Told { person: Some(answer::STRANGER.into()) },
        // Somebody was there, and nobody knows who of them said it.
        (None, true, _) if episode.speaker.is_none() && !episode.people.is_empty() => Origin::Other,
        (None, true, _) => Origin::Told { person: episode.speaker },
    };
    Evidence {
        episode: episode.id,
        text,
        at: Some(episode.timestamp),
        origin,
        score: episode.score,
        result: episode.result,
        success: episode.success,
    }
}
