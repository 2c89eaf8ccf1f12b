//! Answers about the past: what was told and done, when, how often, in which span, and what came before and after.

use jiff::tz::TimeZone;
use maxim_bus::signals::recall::EpisodesCounted;

use super::evidence::{Evidence, Origin, cited, date_and_time, on_date};
use super::memory::{ANSWERS, Reply, UNKNOWN, about, coverage};
use crate::understand::guard;
use crate::understand::understanding::{Place, Side};
use crate::word::lexicon::terms;

/// Deeds, tellings or events that an answer about a span lists.
pub const DEEDS: usize = 8;

/// Where an answer to "why" leads on.
const MORE: &str = "Step by step: `maxim why`.";

/// What a person told or asked (`did` is the word), in order. `span`: the time in words.
pub fn tellings(
    place: Place,
    did: &str,
    topic: &str,
    span: Option<&str>,
    told: &[Evidence],
    zone: &TimeZone,
) -> String {
    let when = span.map_or(String::new(), |span| format!(" {span}"));
    let said = |one: &Evidence| {
        let at = one.at.map_or(String::new(), |at| format!("{}: ", date_and_time(at, zone)));
        format!("{at}“{}”", one.text.trim())
    };
    let (Some(first), Some(last)) = (told.first(), told.last()) else {
        return format!("I don't remember that you {did} me anything{}{when}.", about(topic));
    };
    let of = about(topic);
    match place {
        Place::First => format!("The first that I remember you {did} me{of}{when}: {}", said(first)),
        Place::Last => format!("The last that you {did} me{of}{when}: {}", said(last)),
        Place::Counted => {
            format!("{} that I remember{of}{when}, the last: {}", capital(&times(told.len() as u64)), said(last))
        }
        Place::All => {
            let mut lines: Vec<String> = told.iter().rev().take(DEEDS).map(said).collect();
            if told.len() > DEEDS {
                lines.push("and more; see `maxim memory recall`".into());
            }
            format!("What you {did} me{of}{when}, the latest first:\n{}", lines.join("\n"))
        }
    }
}

/// Why something was done, from the words at that time. `refused`: why it wasn't.
pub fn why(topic: &str, refused: bool, evidence: &[Evidence], zone: &TimeZone) -> Option<String> {
    let words = terms(topic);
    let bears = |one: &&Evidence| coverage(&words, &one.text) >= ANSWERS;
    let is_deed = |one: &&Evidence| matches!(one.origin, Origin::Did { .. });
    let deed = evidence.iter().filter(is_deed).filter(bears).max_by_key(|one| one.at);
    let forbids =
        |one: &&Evidence| matches!(one.origin, Origin::Told { .. }) && guard::is_prohibition(&one.text) && bears(one);
    let forbidden = evidence.iter().filter(forbids).max_by_key(|one| one.at).filter(|_| refused);
    if let Some(told) = forbidden.filter(|told| deed.is_none_or(|deed| told.at > deed.at)) {
        return Some(format!("Because I was told{} not to: “{}”", on_date(told.at, zone), told.text.trim()));
    }
    let deed = deed?;
    let Origin::Did { tool } = &deed.origin else { return None };
    let when = deed.at.map_or(String::new(), |at| format!(" on {}", date_and_time(at, zone)));
    let said = deed.text.trim();
    if let Some(reason) = deed.undone() {
        let reason = reason.trim_end_matches('.');
        return Some(format!(
            "I didn't. At “{said}”{when} I wanted to use {tool}, and it wasn't done ({reason}). {MORE}"
        ));
    }
    let end = match (deed.success, &deed.result) {
        (Some(false), Some(result)) => format!(" It failed: {}.", result.trim().trim_end_matches('.')),
        (Some(false), None) => " It failed.".to_owned(),
        _ if deed.is_open() => " I don't know how it ended.".to_owned(),
        _ => String::new(),
    };
    let lead = match (refused, deed.success) {
        (true, Some(false)) => "I tried.",
        (true, None) if deed.is_open() => "I tried.",
        (true, _) => "But I did.",
        (false, _) => "Because of what was said.",
    };
    Some(format!("{lead} At “{said}”{when} I used {tool}.{end} {MORE}"))
}

/// The newest act, done or refused. A bare "why?" is about it.
pub fn newest(evidence: &[Evidence], zone: &TimeZone) -> Reply {
    let acts = evidence.iter().enumerate().filter_map(|(place, one)| match &one.origin {
        Origin::Did { tool } => Some((place, one, tool)),
        _ => None,
    });
    match acts.max_by_key(|(_, act, _)| act.at) {
        Some((place, act, tool)) => Reply { text: deed(act, tool, zone), rests_on: vec![place], known: true },
        None => happened(None, "", None, &[], zone),
    }
}

/// What the agent did: the latest matching action with its result, or all of a span that nothing else narrows.
/// `tool` narrows to one tool; `span` is the time in words.
pub fn happened(tool: Option<&str>, topic: &str, span: Option<&str>, evidence: &[Evidence], zone: &TimeZone) -> Reply {
    let words = terms(topic);
    let acts = evidence.iter().enumerate().filter_map(|(place, one)| match &one.origin {
        Origin::Did { tool: used } if tool.is_none_or(|tool| tool == used) => Some((place, one, used)),
        _ => None,
    });
    let is_about = |covered: f64| covered > 0.0 || words.is_empty() || tool.is_some();
    let mut acts: Vec<_> = acts.map(|act| (coverage(&words, &format!("{} {}", act.1.text, act.2)), act)).collect();
    acts.retain(|(covered, _)| is_about(*covered));
    let undone = |act: &(usize, &Evidence, &String)| act.1.undone().is_some();
    acts.sort_by(|(a, one), (b, other)| {
        b.total_cmp(a).then(undone(one).cmp(&undone(other))).then(other.1.at.cmp(&one.1.at))
    });
    let Some((_, (place, act, used))) = acts.first() else {
        let what = tool.map(|tool| format!(" using {tool}")).unwrap_or_else(|| about(topic));
        let when = span.map_or(String::new(), |span| format!(" {span}"));
        let lately = if what.is_empty() && when.is_empty() { " lately" } else { "" };
        let text = format!("I don't remember doing anything{what}{when}{lately}.");
        return Reply { text, rests_on: vec![], known: false };
    };
    if let Some(span) = span.filter(|_| tool.is_none() && words.is_empty() && acts.len() > 1) {
        let deeds: Vec<_> = acts.iter().map(|(_, act)| *act).collect();
        return told(span, &deeds, zone);
    }
    Reply { text: deed(act, used, zone), rests_on: vec![*place], known: true }
}

/// One deed, its time and its end.
fn deed(act: &Evidence, used: &str, zone: &TimeZone) -> String {
    let when = act.at.map(|at| format!("On {}", date_and_time(at, zone))).unwrap_or_else(|| "At some time".to_owned());
    let end = match (act.success, &act.result) {
        (Some(true), Some(result)) => format!("It worked: {}.", result.trim().trim_end_matches('.')),
        (Some(false), Some(result)) => format!("It failed: {}.", result.trim().trim_end_matches('.')),
        (Some(true), None) => "It worked.".to_owned(),
        (Some(false), None) => "It failed.".to_owned(),
        (None, Some(result)) => format!("Result: {}.", result.trim().trim_end_matches('.')),
        (None, None) => "I don't know how it ended.".to_owned(),
    };
    let stem = act.text.trim().trim_end_matches('.');
    if let Some(why) = act.undone() {
        return format!("{when} I wanted to use {used}: {stem}. It wasn't done ({}).", why.trim_end_matches('.'));
    }
    format!("{when} I used {used}: {stem}. {end}")
}

/// Several deeds, the newest first, a line each.
fn told(span: &str, deeds: &[(usize, &Evidence, &String)], zone: &TimeZone) -> Reply {
    let line = |(_, act, used): &(usize, &Evidence, &String)| {
        let when = act.at.map_or_else(|| "at some time".to_owned(), |at| date_and_time(at, zone));
        format!("{when}, {used}: {} ({})", act.text.trim().trim_end_matches('.'), act.end())
    };
    let mut lines: Vec<String> = deeds.iter().take(DEEDS).map(line).collect();
    if deeds.len() > DEEDS {
        lines.push(format!("and {} more; see `maxim memory recall`", deeds.len() - DEEDS));
    }
    let rests_on = deeds.iter().take(DEEDS).map(|(place, ..)| *place).collect();
    Reply { text: format!("What I did {span}, the latest first:\n{}", lines.join("\n")), rests_on, known: true }
}

/// Whether the act was done, not refused.
fn is_done(one: &Evidence) -> bool {
    one.undone().is_none()
}

/// The first of these deeds that was done, else the first that was wanted. `what`: the search in words.
pub fn first_done(what: &str, deeds: &[Evidence], zone: &TimeZone) -> Reply {
    let found = deeds.iter().position(is_done).or_else(|| (!deeds.is_empty()).then_some(0));
    let told = found.and_then(|place| match &deeds[place].origin {
        Origin::Did { tool } => Some((place, deed(&deeds[place], tool, zone))),
        _ => None,
    });
    match told {
        Some((place, text)) => Reply { text, rests_on: vec![place], known: true },
        None => Reply { text: format!("I don't remember {what}."), rests_on: vec![], known: false },
    }
}

/// How often something was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Often {
    pub counted: EpisodesCounted,
    /// There may be more.
    pub at_least: bool,
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// How often something was done, and the last time. The evidence has the last time first. `what`: the search in words.
pub fn how_often(what: &str, often: Often, evidence: &[Evidence], zone: &TimeZone) -> Reply {
    let EpisodesCounted { total, succeeded, failed } = often.counted;
    // An act with an unknown end may not have been done at all.
    let ended = succeeded + failed;
    let (count, open) = if ended > 0 { (ended, total.saturating_sub(ended)) } else { (total, 0) };
    if count == 0 {
        return Reply { text: format!("I don't remember {what}."), rests_on: vec![], known: false };
    }
    let least = if often.at_least { "at least " } else { "" };
    let ways = match (succeeded, failed) {
        (0, _) | (_, 0) => String::new(),
        (well, badly) => format!(" ({well} went well, {badly} failed)"),
    };
    let besides = match open {
        0 => String::new(),
        open => format!(" Besides, {} it was wanted, and I don't know that it was done.", times(open)),
    };
    let last = evidence.iter().position(is_done).or_else(|| (!evidence.is_empty()).then_some(0));
    let told = last.map_or(String::new(), |place| match &evidence[place].origin {
        Origin::Did { tool } => format!(" The last time: {}", deed(&evidence[place], tool, zone)),
        _ => format!(" The last time: {}", cited(&evidence[place], evidence[place].text.trim(), None, zone)),
    });
    let text = format!("{}{ways}.{besides}{told}", capital(&format!("{least}{}", times(count))));
    Reply { text, rests_on: last.into_iter().collect(), known: true }
}

/// How often a person told of something, and the last time. `told` is in order.
pub fn how_often_told(topic: &str, at_least: bool, told: &[Evidence], zone: &TimeZone) -> Reply {
    let Some((last, place)) = told.last().zip(told.len().checked_sub(1)) else {
        let text = format!("I don't remember that you told me anything{}.", about(topic));
        return Reply { text, rests_on: vec![], known: false };
    };
    let least = if at_least { "at least " } else { "" };
    let count = capital(&format!("{least}{}", times(told.len() as u64)));
    let when = last.at.map_or(String::new(), |at| format!(" on {}", date_and_time(at, zone)));
    let text = format!("{count} that I remember, the last time{when}: “{}”", last.text.trim());
    Reply { text, rests_on: vec![place], known: true }
}

/// The events of a span, the latest first. `topic`: the rest of the question.
pub fn events(topic: &str, span: &str, found: &[Evidence], asker: Option<&str>, zone: &TimeZone) -> Reply {
    let of = about(topic);
    let line = |one: &Evidence| {
        let when = one.at.map_or(String::new(), |at| format!("{}: ", date_and_time(at, zone)));
        format!("{when}{}", told_of(one, asker))
    };
    match found {
        [] => {
            Reply { text: format!("I remember nothing of what happened {span}{of}."), rests_on: vec![], known: false }
        }
        [one] => {
            let when = one.at.map_or(String::new(), |at| format!("On {}: ", date_and_time(at, zone)));
            Reply { text: format!("{when}{}.", told_of(one, asker)), rests_on: vec![0], known: true }
        }
        all => {
            let mut lines: Vec<String> = all.iter().take(DEEDS).map(line).collect();
            if all.len() > DEEDS {
                lines.push("and more; see `maxim memory recall`".into());
            }
            let text = format!("What I remember of what happened {span}{of}, the latest first:\n{}", lines.join("\n"));
            Reply { text, rests_on: (0..all.len().min(DEEDS)).collect(), known: true }
        }
    }
}

/// An event without its date.
fn told_of(one: &Evidence, asker: Option<&str>) -> String {
    let text = one.text.trim();
    match &one.origin {
        Origin::Told { person } => {
            let is_asker =
                person.as_ref().is_none_or(|person| asker.is_some_and(|who| who.eq_ignore_ascii_case(person)));
            let who = if is_asker { "you" } else { person.as_deref().unwrap_or("somebody") };
            format!("{who} told me “{text}”")
        }
        Origin::Heard => format!("I heard “{text}”"),
        Origin::Did { tool } => {
            let did = if one.undone().is_some() { "wanted to use" } else { "used" };
            format!("I {did} {tool}: {} ({})", text.trim_end_matches('.'), one.end())
        }
        Origin::Document { .. } | Origin::Sensed { .. } | Origin::Other => text.trim_end_matches('.').to_owned(),
    }
}

/// What came next before or after an event. `event`: `None` if its time isn't known.
pub fn beside(
    side: Side,
    topic: &str,
    event: Option<&Evidence>,
    next: Option<&Evidence>,
    asker: Option<&str>,
    zone: &TimeZone,
) -> String {
    let Some(event) = event else { return format!("{UNKNOWN} when that was{}.", about(topic)) };
    let (this, other) = match side {
        Side::Before => ("before", "After"),
        Side::After => ("after", "Before"),
    };
    let said = event.text.trim().trim_end_matches(['.', '!']);
    match next {
        Some(next) => {
            let first = cited(next, next.text.trim(), asker, zone);
            format!("{first} {other} that{}: “{said}.”", on_date(event.at, zone))
        }
        None => format!("I remember nothing of what was {this} that{}: “{said}.”", on_date(event.at, zone)),
    }
}

/// The grounds of an answer, and where to find more.
pub fn grounds(found: &[Evidence], asker: Option<&str>, zone: &TimeZone) -> String {
    if found.is_empty() {
        return format!("What that rested on I don't remember any more. {MORE}");
    }
    let told: Vec<String> = found.iter().map(|one| cited(one, one.text.trim(), asker, zone)).collect();
    format!("That rested on this: {} {MORE}", told.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, person: Option<&str>, at: &str) -> Evidence {
        Evidence {
            episode: String::new(),
            text: text.to_owned(),
            at: at.parse().ok(),
            origin: Origin::Told { person: person.map(str::to_owned) },
            score: 0.5,
            result: None,
            success: None,
        }
    }

    #[test]
    fn a_count_is_told_with_the_last_time() {
        let mut act = told("the weekly report", None, "2026-01-05T09:30:00Z");
        act.origin = Origin::Did { tool: "print".to_owned() };
        act.success = Some(false);
        let often =
            |total, succeeded, failed| Often { counted: EpisodesCounted { total, succeeded, failed }, at_least: false };
        let say = |often: Often| how_often("using print", often, std::slice::from_ref(&act), &TimeZone::UTC).text;
        assert_eq!(
            say(often(130, 100, 30)),
            "130 times (100 went well, 30 failed). The last time: On 2026-01-05 at 09:30 I used print: the weekly report. It failed."
        );
        assert!(say(often(3, 0, 1)).starts_with("Once. Besides, twice it was wanted"));
        assert!(say(Often { at_least: true, ..often(20, 20, 0) }).starts_with("At least 20 times."));
        assert_eq!(how_often("using print", often(0, 0, 0), &[], &TimeZone::UTC).text, "I don't remember using print.");
    }

    #[test]
    fn what_came_next_is_told_with_both_dates() {
        let (called, came) = (
            told("Paul called the plumber", None, "2026-01-05T09:00:00Z"),
            told("the plumber came.", None, "2026-01-06T09:00:00Z"),
        );
        let say = |next| beside(Side::Before, "the plumber came", Some(&came), next, None, &TimeZone::UTC);
        assert_eq!(
            say(Some(&called)),
            "You told me on 2026-01-05 that Paul called the plumber. After that on 2026-01-06: “the plumber came.”"
        );
        assert_eq!(say(None), "I remember nothing of what was before that on 2026-01-06: “the plumber came.”");
        assert!(beside(Side::After, "x", None, None, None, &TimeZone::UTC).starts_with(UNKNOWN));
    }

    #[test]
    fn a_span_without_anything_is_named() {
        let none = events("", "in October", &[], None, &TimeZone::UTC);
        assert_eq!((none.text.as_str(), none.known), ("I remember nothing of what happened in October.", false));
        let one = told("the boiler broke", None, "2026-01-05T09:00:00Z");
        let said = events("", "yesterday", std::slice::from_ref(&one), None, &TimeZone::UTC).text;
        assert_eq!(said, "On 2026-01-05 at 09:00: you told me “the boiler broke”.");
        let many = vec![one; DEEDS + 1];
        assert!(
            events("", "yesterday", &many, None, &TimeZone::UTC).text.ends_with("and more; see `maxim memory recall`")
        );
    }

    #[test]
    fn what_the_gate_kept_from_being_done_is_told_as_wanted() {
        let act = |at: &str, result: &str| Evidence {
            origin: Origin::Did { tool: "bash".into() },
            result: Some(result.into()),
            ..told("run the command touch important.txt", None, at)
        };
        let asked = act("2026-01-05T09:00:00Z", "fear.learned: it went wrong before");
        let reply = happened(Some("bash"), "touch important.txt", None, std::slice::from_ref(&asked), &TimeZone::UTC);
        assert!(reply.text.contains("I wanted to use bash") && reply.text.contains("It wasn't done"), "{}", reply.text);
        let told = happened(None, "", Some("today"), &[asked.clone(), asked], &TimeZone::UTC).text;
        assert!(told.contains("(not done)") && !told.contains("(done)"), "{told}");
        let unknown =
            act("2026-01-05T09:00:00Z", "the process went down; whether it happened is not known, so it is left");
        let all = [unknown.clone(), unknown];
        let text = events("", "today", &all, None, &TimeZone::UTC).text
            + &happened(None, "", Some("today"), &all, &TimeZone::UTC).text;
        assert!(text.contains("(I don't know how it ended)") && !text.contains("(done)"), "{text}");
        let done = act("2026-01-05T09:00:00Z", "a note of what came: all is well");
        assert_eq!(done.undone(), None);
    }

    #[test]
    fn why_something_was_not_done_tells_the_refusal() {
        let act = |text: &str, at: &str, success: Option<bool>, result: &str| Evidence {
            origin: Origin::Did { tool: "bash".into() },
            success,
            result: Some(result.into()),
            ..told(text, None, at)
        };
        let listed = act("list the files", "2026-01-05T08:00:00Z", Some(true), "notes.txt");
        let blocked = act("run rm -rf /", "2026-01-05T09:00:00Z", None, "shell.recursive-delete: it deletes all.");
        let all = [listed.clone(), blocked.clone()];
        let refusal = "I didn't. At “run rm -rf /” on 2026-01-05 at 09:00 I wanted to use bash, and it wasn't done \
                       (shell.recursive-delete: it deletes all). Step by step: `maxim why`.";
        for refused in [true, false] {
            assert_eq!(why("run rm -rf /", refused, &all, &TimeZone::UTC).as_deref(), Some(refusal));
        }
        let did = why("list the files", true, &all, &TimeZone::UTC).unwrap_or_default();
        assert!(did.starts_with("But I did."), "{did}");
        let open = act("run make", "2026-01-05T10:00:00Z", None, "it was cut; whether it happened is not known");
        let tried = why("run make", true, &[open], &TimeZone::UTC).unwrap_or_default();
        assert!(tried.starts_with("I tried.") && tried.contains("I don't know how it ended."), "{tried}");
        let newest_of = |all: &[Evidence]| newest(all, &TimeZone::UTC);
        let refusal = newest_of(&all);
        assert!(refusal.text.contains("It wasn't done (shell.recursive-delete"), "{}", refusal.text);
        assert_eq!(refusal.rests_on, [1]);
        let later = Evidence { at: "2026-01-05T11:00:00Z".parse().ok(), ..listed };
        assert_eq!(newest_of(&[blocked, later]).rests_on, [1], "what was done after it is newer");
        assert!(!newest_of(&[]).known);
    }

    #[test]
    fn what_was_done_is_told_with_its_end() {
        let mut act = told("write notes.txt", None, "2026-01-05T09:30:00Z");
        act.origin = Origin::Did { tool: "write_file".to_owned() };
        act.success = Some(false);
        act.result = Some("permission denied".to_owned());
        let reply = happened(Some("write_file"), "write notes.txt", None, &[act.clone()], &TimeZone::UTC);
        assert_eq!(
            reply.text,
            "On 2026-01-05 at 09:30 I used write_file: write notes.txt. It failed: permission denied."
        );
        assert!(!happened(Some("bash"), "run ls", None, &[act], &TimeZone::UTC).known);
    }
}
