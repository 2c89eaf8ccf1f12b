//! Questions about what was: which deeds and how often, what was in a span of time, and what came before and after something.
//!
//! Law: a tool whose name memory knows is asked for by its index, the newest or the oldest first, and counted there; a verb of the
//! grammar comes after it. What is looked through page by page is kept only where it bears on the question.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::recall::{EpisodesCounted, RecalledEpisode};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::answer::{self, Evidence, Often, Origin, Reply};
use super::looking_up::{PAGE, PAGES, episodes, is_mine, joined};
use super::plan::evidence;
use super::settings::HabitSettings;
use super::times::{self, Named};
use super::tokens::Utterance;
use super::turn::{Asked, StepWanted};
use super::understanding::{Side, Which, Whose};
use super::wanted::Wanted;
use super::{inflect, lexicon, terms};

/// What is told of a span may have been told the day after.
const TOLD_LATER: SignedDuration = SignedDuration::from_hours(24);
/// How far behind an event the next is looked for, in turn: what comes soon is found among little.
const BEHIND: [SignedDuration; 7] = [
    SignedDuration::from_mins(2),
    SignedDuration::from_mins(20),
    SignedDuration::from_hours(3),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(7 * 24),
    SignedDuration::from_hours(60 * 24),
    SignedDuration::from_hours(3_650 * 24),
];

/// Deeds that are looked up by a tool's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deeds {
    /// What may be a tool's name, with what else is asked of its use; the first is looked for.
    tries: Vec<(String, String)>,
    /// The one that memory knows; none while it is looked for, or where any tool is meant.
    tool: Option<String>,
    is_found: bool,
    /// What bears on the words was more than a page: all uses are looked through in their order.
    #[serde(default)]
    in_order: bool,
    /// What else is asked of its use.
    about: String,
    topic: String,
    which: Which,
    success: Option<bool>,
    span: Option<Named>,
    found: Json,
    pages: u32,
    /// What is looked up where memory knows no such tool.
    otherwise: Box<StepWanted>,
}

/// What is counted among the best results for its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    topic: String,
    told: bool,
    span: Option<Named>,
}

/// What was in a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    about: String,
    whose: Whose,
    span: Named,
    found: Json,
    pages: u32,
}

/// What came next to an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    side: Side,
    event: Wanted,
    about: String,
    whose: Whose,
    /// The event, once it is found.
    at: Option<Timestamp>,
    it: Json,
    /// The nearest that was found, as far as was looked.
    found: Json,
    window: usize,
    pages: u32,
}

fn recall(params: Json, question: Asked) -> StepWanted {
    StepWanted { tool: "memory_recall".into(), params, question: Some(question) }
}

/// The rest of what is asked about what failed ("fail today", "wrong last time"); none where it isn't asked for failures.
pub(super) fn without_failure(topic: &str) -> Option<String> {
    let is_failure = |word: &&str| FAILURE.contains(&plain(word).as_str());
    topic.split_whitespace().any(|word| is_failure(&word)).then(|| {
        let rest = topic.split_whitespace().filter(|word| !is_failure(word));
        without_order(&rest.collect::<Vec<_>>().join(" "))
    })
}

const FAILURE: [&str; 11] =
    ["fail", "failed", "failing", "wrong", "badly", "error", "errors", "mistakes", "crash", "crashed", "fails"];
const SUCCESS: [&str; 5] = ["work", "worked", "succeed", "succeeded", "working"];

fn plain(word: &str) -> String {
    word.trim_matches(|c: char| ",.;:!?".contains(c)).to_lowercase()
}

/// A topic without words that only say which of several is meant.
fn without_order(topic: &str) -> String {
    const AROUND: [&str; 10] = ["go", "gone", "last", "time", "times", "make", "any", "ever", "usually", "first"];
    let rest = topic.split_whitespace().filter(|word| !AROUND.contains(&plain(word).as_str()));
    rest.collect::<Vec<_>>().join(" ")
}

/// What may be the name of a tool in what is asked, with the rest: what is used, or what was done.
fn tries(topic: &str) -> Vec<(String, String)> {
    const USES: [&str; 9] = ["use", "used", "using", "call", "called", "run", "ran", "been", "try"];
    let said = Utterance::read(topic);
    let mut at = 0;
    let leads = |word: &str| lexicon::DETERMINERS.contains(&word) || ["you", "i", "we", "it"].contains(&word);
    while leads(said.word(at)) || (USES.contains(&said.word(at)) && at + 1 < said.len()) {
        at += 1;
    }
    // "The print tool", "print was used".
    let after = |at: usize| {
        let skips = ["tool", "used", "get", "been"].iter().any(|word| said.word(at) == *word);
        said.span(at + usize::from(skips), said.len()).to_owned()
    };
    let is_name = |word: &str| !word.is_empty() && !lexicon::looks_like_path(word) && !terms(word).is_empty();
    let (first, second) = (said.word(at), said.word(at + 1));
    let mut found = Vec::new();
    if !is_name(first) && !first.contains('_') {
        return found;
    }
    if is_name(second) && second != "tool" {
        found.push((format!("{first} {second}"), after(at + 2)));
    }
    found.push((first.to_owned(), after(at + 1)));
    let base = inflected_base(first);
    found.extend(base.map(|base| (base, after(at + 1))));
    found
}

/// "Print" for "printed" and "printing".
fn inflected_base(word: &str) -> Option<String> {
    let irregular = inflect::base(word);
    let regular = ["ed", "ing", "s"].iter().find_map(|end| word.strip_suffix(end)).filter(|stem| stem.len() > 2);
    (irregular != word).then_some(irregular).or(regular).map(str::to_owned)
}

/// How deeds are looked up. `tool`: which the grammar knows by its verb; `plainly`: the look-up by words.
pub(super) fn deeds(
    tool: Option<&str>,
    topic: &str,
    which: Which,
    success: Option<bool>,
    span: Option<Named>,
    plainly: StepWanted,
) -> StepWanted {
    let about = without_failure(topic).unwrap_or_else(|| topic.to_owned());
    let success = success.or_else(|| without_failure(topic).map(|_| false));
    let works = |word: &&str| SUCCESS.contains(&plain(word).as_str());
    let is_of_success =
        which == Which::Counted && about.split_whitespace().next_back().is_some_and(|word| works(&word));
    let (about, success) = match is_of_success {
        true => (about.split_whitespace().filter(|word| !works(word)).collect::<Vec<_>>().join(" "), Some(true)),
        false => (about, success),
    };
    let about = if which == Which::Any && success.is_none() { about } else { without_order(&about) };
    let mut tries = tries(&about);
    // The verb of a tool is no part of what it was used on.
    if let Some(tool) = tool.filter(|_| which != Which::Any) {
        let rest = about.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
        tries.push((tool.to_owned(), rest));
    }
    let mut deeds = Deeds {
        tries,
        tool: None,
        is_found: false,
        in_order: false,
        about: String::new(),
        topic: topic.to_owned(),
        which,
        success,
        span,
        found: Json::Null,
        pages: 0,
        otherwise: Box::new(plainly),
    };
    if !deeds.tries.is_empty() {
        return deeds.look_for();
    }
    // "How many times did you fail?" is asked of any tool.
    if which == Which::Counted && deeds.success.is_some() && terms(&about).is_empty() {
        deeds.is_found = true;
        return deeds.look();
    }
    *deeds.otherwise
}

/// How it is counted how often something was said or told of.
pub(super) fn counting(topic: &str, told: bool, span: Option<Named>) -> StepWanted {
    let mut params = times::within(span.as_ref(), PAGE);
    params["query"] = json!(topic);
    recall(params, Asked::Counting(Counting { topic: topic.to_owned(), told, span }))
}

/// How what was in a span is looked up.
pub(super) fn events(about: &str, whose: Whose, span: Named) -> StepWanted {
    let about = ["to ", "with ", "at ", "in ", "on "].iter().find_map(|lead| about.strip_prefix(lead)).unwrap_or(about);
    let events = Events { about: about.trim_end_matches(',').to_owned(), whose, span, found: Json::Null, pages: 0 };
    events.look(None)
}

/// How what the agent did in a span is looked up.
pub(super) fn deeds_in(span: Named) -> StepWanted {
    events("", Whose::Own, span)
}

/// A topic as others than the agent are asked about in it: without words of order, and without "you".
pub(super) fn of_others(topic: &str) -> String {
    let rest = without_order(topic);
    rest.strip_prefix("you ").map(str::to_owned).unwrap_or(rest)
}

/// How what came next to an event is looked up.
pub(super) fn beside(side: Side, event: Wanted, about: String, whose: Whose) -> StepWanted {
    let params = json!({ "query": event.topic, "limit": 10 });
    let (it, found) = (Json::Null, Json::Null);
    recall(params, Asked::Beside(Beside { side, event, about, whose, at: None, it, found, window: 0, pages: 0 }))
}

impl Deeds {
    fn look_for(self) -> StepWanted {
        let name = self.tries.first().map(|(name, _)| name.clone());
        recall(json!({ "tool_name": name, "limit": 1 }), Asked::Deeds(self))
    }

    /// The deeds of the tool, a page of them.
    fn look(self) -> StepWanted {
        let mut params = times::within(self.span.as_ref(), PAGE);
        if let Some(tool) = &self.tool {
            params["tool_name"] = json!(tool);
        }
        if let Some(success) = self.success {
            params["success"] = json!(success);
        }
        if self.is_by_words() {
            params["query"] = json!(self.about);
        } else if self.which == Which::First {
            params["oldest"] = json!(true);
        } else if self.which == Which::Counted && self.is_of_all() {
            params["count"] = json!(true);
        }
        recall(params, Asked::Deeds(self))
    }

    /// Whether each use is meant: "it", "a file" say nothing more of it.
    fn is_of_all(&self) -> bool {
        terms(&self.about).iter().all(|word| lexicon::is_vague(word))
    }

    /// Whether those of the tool are looked up that fit the words best.
    fn is_by_words(&self) -> bool {
        !self.in_order && !self.is_of_all()
    }

    fn bears(&self, text: &str) -> bool {
        self.is_of_all() || answer::bears_on(&self.about, text)
    }

    pub(super) fn further(&self, output: &Json, settings: &HabitSettings) -> Option<StepWanted> {
        let page = episodes(output);
        if !self.is_found {
            let mut next = self.clone();
            let (tool, about) = next.tries.remove(0);
            if !page.is_empty() {
                return Some(Self { tool: Some(tool), about, is_found: true, ..next }.look());
            }
            return Some(if next.tries.is_empty() { *next.otherwise } else { next.look_for() });
        }
        if self.is_by_words() {
            // What fits best comes first: where the last doesn't fit, no more do.
            let is_more = page.len() >= PAGE && page.last().is_some_and(|last| self.bears(&last.text));
            return is_more.then(|| Self { in_order: true, ..self.clone() }.look());
        }
        let kept: Vec<RecalledEpisode> = page.iter().filter(|one| self.bears(&one.text)).cloned().collect();
        let found = joined(&self.found, &json!({ "results": kept }));
        let is_done = evidence(&found, settings).iter().any(|one| one.undone().is_none());
        let is_enough = match self.which {
            Which::Counted => self.is_of_all(),
            _ => is_done,
        };
        let times = page.iter().map(|episode| episode.timestamp);
        let (bound, at) = match self.which {
            Which::First => ("time_after", times.max()?),
            _ => ("time_before", times.min()?),
        };
        if is_enough || page.len() < PAGE || self.pages >= PAGES {
            return None;
        }
        let mut step = Self { found, pages: self.pages + 1, ..self.clone() }.look();
        step.params[bound] = json!(at);
        Some(step)
    }

    fn answered(&self, output: &Json, settings: &HabitSettings) -> (Reply, Vec<Evidence>) {
        let all = joined(&self.found, output);
        let mut deeds = evidence(&all, settings);
        deeds.retain(|one| matches!(one.origin, Origin::Did { .. }) && self.bears(&one.text));
        deeds.sort_by_key(|one| std::cmp::Reverse(one.at));
        if self.which == Which::First {
            deeds.reverse();
        }
        let when = self.span.as_ref().map_or(String::new(), |span| format!(" {}", span.words));
        let what = match (&self.tool, self.success) {
            (Some(tool), Some(false)) => format!("that {tool} failed{when}"),
            (Some(tool), Some(true)) => format!("that {tool} worked{when}"),
            (Some(tool), None) => format!("using {tool}{when}"),
            (None, _) => format!("that anything of mine failed{when}"),
        };
        let about = if self.is_of_all() { String::new() } else { format!(" (about “{}”)", self.about) };
        let what = format!("{what}{about}");
        let zone = &settings.zone;
        let reply = match self.which {
            Which::Counted => {
                let counted: Option<EpisodesCounted> = serde_json::from_value(output["counted"].clone()).ok();
                let of = |success| deeds.iter().filter(|one| one.success == success).count() as u64;
                let looked =
                    EpisodesCounted { total: deeds.len() as u64, succeeded: of(Some(true)), failed: of(Some(false)) };
                let at_least = counted.is_none() && self.pages >= PAGES;
                answer::how_often(&what, Often { counted: counted.unwrap_or(looked), at_least }, &deeds, zone)
            }
            _ => answer::first_done(&what, &deeds, zone),
        };
        (reply, deeds)
    }
}

impl Counting {
    fn answered(&self, output: &Json, asker: &str, settings: &HabitSettings) -> (Reply, Vec<Evidence>) {
        let zone = &settings.zone;
        let page = episodes(output);
        let mut found = evidence(output, settings);
        found.retain(|one| answer::covers_all(&self.topic, &one.text));
        // What fits best comes first: where the last doesn't fit, no more do.
        let is_all = page.len() < PAGE || page.last().is_some_and(|last| !answer::covers_all(&self.topic, &last.text));
        if self.told {
            found.retain(|one| is_mine(one, asker));
            found.sort_by_key(|one| one.at);
            return (answer::how_often_told(&self.topic, !is_all, &found, zone), found);
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.at));
        let when = self.span.as_ref().map_or(String::new(), |span| format!(" {}", span.words));
        let what = format!("anything of the kind{when} (about “{}”)", self.topic);
        let counted = EpisodesCounted { total: found.len() as u64, ..EpisodesCounted::default() };
        (answer::how_often(&what, Often { counted, at_least: !is_all }, &found, zone), found)
    }
}

/// Whether it is the doing of whom it is asked about.
fn is_of(one: &Evidence, whose: Whose, about: &str, asker: &str) -> bool {
    let is_theirs = match whose {
        Whose::Anyones => true,
        Whose::Askers => is_mine(one, asker),
        Whose::Own => matches!(one.origin, Origin::Did { .. }),
    };
    is_theirs && (about.is_empty() || answer::bears_on(about, &one.text))
}

impl Events {
    fn look(self, before: Option<Timestamp>) -> StepWanted {
        let mut params = times::within(Some(&self.span), PAGE);
        if let Some(before) = before.or(self.span.before.map(|before| before.later(TOLD_LATER))) {
            params["time_before"] = json!(before);
        }
        recall(params, Asked::Events(self))
    }

    /// What of it is of the span, the latest first.
    fn kept(&self, found: &Json, asker: &str, settings: &HabitSettings) -> Vec<Evidence> {
        let mut kept = evidence(found, settings);
        let is_of_it = |one: &Evidence| match one.origin {
            Origin::Told { .. } | Origin::Heard | Origin::Other => {
                times::is_of(&self.span, &one.text, one.at, &settings.zone)
            }
            _ => one.at.is_some_and(|at| self.span.holds(at)),
        };
        kept.retain(|one| is_of(one, self.whose, &self.about, asker) && is_of_it(one));
        kept.sort_by_key(|one| std::cmp::Reverse(one.at));
        kept
    }

    pub(super) fn further(&self, output: &Json, asker: &str, settings: &HabitSettings) -> Option<StepWanted> {
        let page = episodes(output);
        let bears = |one: &RecalledEpisode| !self.kept(&json!({ "results": [one] }), asker, settings).is_empty();
        let kept: Vec<RecalledEpisode> = page.iter().filter(|one| bears(one)).cloned().collect();
        let found = joined(&self.found, &json!({ "results": kept }));
        let oldest = page.iter().map(|episode| episode.timestamp).min()?;
        // One more tells that there are more.
        let is_enough = episodes(&found).len() > answer::DEEDS;
        let goes_on = !is_enough && page.len() >= PAGE && self.pages < PAGES;
        goes_on.then(|| Self { found, pages: self.pages + 1, ..self.clone() }.look(Some(oldest)))
    }
}

impl Beside {
    /// A page of what lies on the asked side of the event, the latest first.
    fn look(self, at: Timestamp, until: Option<Timestamp>) -> StepWanted {
        let mut params = json!({ "limit": PAGE });
        match self.side {
            Side::Before => params["time_before"] = json!(until.unwrap_or(at)),
            Side::After => {
                params["time_after"] = json!(at);
                let behind = BEHIND.get(self.window).and_then(|behind| at.checked_add(*behind).ok());
                params["time_before"] = json!(until.or(behind));
            }
        }
        recall(params, Asked::Beside(self))
    }

    fn event(&self, found: &Json, settings: &HabitSettings) -> Option<Evidence> {
        let all = evidence(found, settings);
        answer::best(&self.event, &all, &settings.zone).cloned()
    }

    /// Of what was found the nearest to the event.
    fn next(&self, found: &Json, at: Timestamp, asker: &str, settings: &HabitSettings) -> Option<Evidence> {
        let it = self.event(&self.it, settings).map(|it| it.text).unwrap_or_default();
        let is_next = |one: &Evidence| {
            let is_there = one.at.is_some_and(|when| match self.side {
                Side::Before => when < at,
                Side::After => when > at,
            });
            is_there && !answer::is_alike(&one.text, &it) && is_of(one, self.whose, &self.about, asker)
        };
        let all = evidence(found, settings).into_iter().filter(is_next);
        match self.side {
            Side::Before => all.max_by_key(|one| one.at),
            Side::After => all.min_by_key(|one| one.at),
        }
    }

    pub(super) fn further(&self, output: &Json, asker: &str, settings: &HabitSettings) -> Option<StepWanted> {
        let Some(at) = self.at else {
            let at = self.event(output, settings)?.at?;
            return Some(Self { at: Some(at), it: output.clone(), ..self.clone() }.look(at, None));
        };
        let page = episodes(output);
        let all = joined(&self.found, output);
        let next = self.next(&all, at, asker, settings);
        let (is_full, oldest) = (page.len() >= PAGE, page.iter().map(|episode| episode.timestamp).min());
        let kept = next.as_ref().map(|next| &next.episode);
        let found: Vec<_> = episodes(&all).into_iter().filter(|one| Some(&one.id) == kept).collect();
        let going_on = Self { found: json!({ "results": found }), ..self.clone() };
        let is_searched = match self.side {
            Side::Before => next.is_some() || !is_full,
            // The latest come first, so the nearest may be on a further page.
            Side::After => !is_full,
        };
        if !is_searched && self.pages < PAGES {
            return Some(Self { pages: self.pages + 1, ..going_on }.look(at, oldest));
        }
        let is_wider = self.side == Side::After && next.is_none() && self.window + 1 < BEHIND.len();
        is_wider.then(|| Self { window: self.window + 1, pages: 0, ..going_on }.look(at, None))
    }
}

/// The next look for a question about what was; none where it can be answered.
pub(super) fn further(asked: &Asked, output: &Json, asker: &str, settings: &HabitSettings) -> Option<StepWanted> {
    match asked {
        Asked::Deeds(deeds) => deeds.further(output, settings),
        Asked::Events(events) => events.further(output, asker, settings),
        Asked::Beside(beside) => beside.further(output, asker, settings),
        _ => None,
    }
}

/// The answer to a question about what was, and the evidence that its places are of; none for other questions.
pub(super) fn answered(
    asked: &Asked,
    output: &Json,
    asker: &str,
    settings: &HabitSettings,
) -> Option<(Reply, Vec<Evidence>)> {
    let zone: &TimeZone = &settings.zone;
    Some(match asked {
        Asked::Deeds(deeds) => deeds.answered(output, settings),
        Asked::Counting(counting) => counting.answered(output, asker, settings),
        Asked::Events(events) => {
            let found = events.kept(&joined(&events.found, output), asker, settings);
            if events.whose == Whose::Own {
                return Some((answer::happened(None, &events.about, Some(&events.span.words), &found, zone), found));
            }
            (answer::events(&events.about, &events.span.words, &found, Some(asker), zone), found)
        }
        Asked::Beside(beside) => {
            let event = beside.at.and_then(|_| beside.event(&beside.it, settings));
            let next = beside.at.and_then(|at| beside.next(&joined(&beside.found, output), at, asker, settings));
            let text =
                answer::beside(beside.side, &beside.event.topic, event.as_ref(), next.as_ref(), Some(asker), zone);
            let told: Vec<Evidence> = next.into_iter().chain(event).collect();
            (Reply { text, rests_on: (0..told.len()).collect(), known: !told.is_empty() }, told)
        }
        _ => return None,
    })
}

/// Whether enough was found for an answer, should looking further fail.
pub(super) fn is_begun(asked: &Asked) -> bool {
    match asked {
        Asked::Deeds(deeds) => deeds.pages > 0,
        Asked::Events(events) => events.pages > 0,
        Asked::Beside(beside) => beside.pages > 0 || beside.window > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_tools_name_is_tried_before_any_verb() {
        let names =
            |topic: &str| tries(topic).into_iter().map(|(name, rest)| format!("{name}|{rest}")).collect::<Vec<_>>();
        assert_eq!(names("print"), ["print|"]);
        assert_eq!(names("the print tool"), ["print|"]);
        assert_eq!(names("use print"), ["print|"]);
        assert_eq!(names("print the weekly report"), ["print|the weekly report"]);
        assert_eq!(names("printed reports"), ["printed reports|", "printed|reports", "print|reports"]);
        assert_eq!(names("notes.txt"), Vec::<String>::new());
        assert_eq!(names(""), Vec::<String>::new());
    }

    #[test]
    fn failures_are_told_from_what_failed() {
        assert_eq!(without_failure("wrong last time").as_deref(), Some(""));
        assert_eq!(without_failure("print fail").as_deref(), Some("print"));
        assert_eq!(without_failure("write notes"), None);
    }

    #[test]
    fn who_failed_how_often_is_counted_by_the_index() {
        let plainly = recall(json!({}), Asked::Predict { topic: "plainly".into() });
        let step = deeds(None, "print fail", Which::Counted, None, None, plainly.clone());
        assert_eq!(step.params, json!({ "tool_name": "print", "limit": 1 }), "is it a tool that memory knows?");
        let Some(Asked::Deeds(asked)) = step.question else { panic!("{step:?}") };
        let known = Deeds { tool: Some("print".into()), is_found: true, ..asked };
        let params = known.clone().look().params;
        assert_eq!(params, json!({ "tool_name": "print", "success": false, "count": true, "limit": PAGE }));
        let report = |in_order| Deeds { about: "the weekly report".into(), in_order, ..known.clone() }.look().params;
        assert_eq!(report(false)["query"], "the weekly report", "by its words first");
        assert_eq!(report(true), json!({ "tool_name": "print", "success": false, "limit": PAGE }));
        let step = deeds(None, "fail", Which::Counted, None, None, plainly.clone());
        assert_eq!(step.params, json!({ "success": false, "count": true, "limit": PAGE }));
        assert_eq!(deeds(None, "", Which::Any, None, None, plainly.clone()), plainly);
    }
}
