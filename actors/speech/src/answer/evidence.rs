//! Evidence for an answer, and how it is cited.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::outcome::NOT_KNOWN;

use crate::talk::corrections;
use crate::talk::courtesy;
use crate::time::days;

/// Where a piece of evidence comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Somebody said it. `None`: it isn't known who.
    Told {
        person: Option<String>,
    },
    /// A sense heard it: a person, or a loudspeaker.
    Heard,
    /// The agent did it with this tool.
    Did {
        tool: String,
    },
    Document {
        name: String,
    },
    /// A sensor, by name.
    Sensed {
        source: String,
    },
    Other,
}

/// The name for people who may not command.
pub const STRANGER: &str = "Somebody outside";

/// One recalled episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Its id; empty where it isn't known.
    pub episode: String,
    pub text: String,
    pub at: Option<Timestamp>,
    pub origin: Origin,
    /// Relevance by the memory that found it: 0 none, 1 all.
    pub score: f64,
    /// The result of an action.
    pub result: Option<String>,
    pub success: Option<bool>,
}

impl Evidence {
    /// The speaker isn't known for sure. Such words stand beside what a known person told, never in its place.
    pub(crate) fn is_hearsay(&self) -> bool {
        self.origin == Origin::Heard || self.is_strangers()
    }

    /// The speaker may not command, and could use anybody's name.
    pub(crate) fn is_strangers(&self) -> bool {
        matches!(&self.origin, Origin::Told { person: Some(person) } if person == STRANGER)
    }

    /// The rule and reason by which the gate refused the act. `None`: the gate let it pass.
    pub fn undone(&self) -> Option<&str> {
        let result = self.result.as_deref().filter(|_| self.success.is_none())?;
        let rule = result.split_once(": ").map_or(result, |(rule, _)| rule);
        let is_rule =
            rule.contains('.') && rule.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '.' | '-' | '_'));
        (is_rule || matches!(result, "asked" | "blocked" | "denied" | "stopped")).then_some(result)
    }

    /// The end of the act isn't known: it may have been done.
    pub(crate) fn is_open(&self) -> bool {
        let is_told = self.result.as_deref().is_some_and(|result| !result.contains(NOT_KNOWN));
        self.success.is_none() && !is_told
    }

    /// How an act ended, in a few words.
    pub fn end(&self) -> &'static str {
        match (self.success, self.result.as_deref()) {
            (Some(true), _) => "it worked",
            (Some(false), _) => "it failed",
            _ if self.undone().is_some() => "not done",
            _ if self.is_open() => "I don't know how it ended",
            (None, _) => "done",
        }
    }
}

/// " on 2026-01-05", or nothing where the date isn't known.
pub(crate) fn on_date(at: Option<Timestamp>, zone: &TimeZone) -> String {
    at.map(|at| format!(" on {}", at.to_zoned(zone.clone()).strftime("%Y-%m-%d"))).unwrap_or_default()
}

/// "2026-01-05 at 09:00".
pub(crate) fn date_and_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M").to_string()
}

/// The source, the date and the sentence as one statement.
pub(crate) fn cited(evidence: &Evidence, sentence: &str, asker: Option<&str>, zone: &TimeZone) -> String {
    let date = on_date(evidence.at, zone);
    let stem = sentence.trim().trim_end_matches(['.', '!']);
    let statement = stated(evidence, stem, asker, &date);
    // "Tomorrow" was another day when it was said.
    let named = evidence.at.map(|at| days::named(stem, at, zone)).unwrap_or_default();
    let meant: Vec<String> = named
        .iter()
        .filter(|(word, _)| !days::is_now(word))
        .map(|(word, day)| format!("{word} meant {}", days::in_words(*day)))
        .collect();
    if meant.is_empty() { statement } else { format!("{statement} ({}.)", meant.join(", ")) }
}

/// The name of the speaker: "you" for the asker, and for an unknown speaker.
fn named<'p>(person: Option<&'p str>, asker: Option<&str>) -> &'p str {
    match (person, asker) {
        (None, _) => "You",
        (Some(person), Some(asker)) if person.eq_ignore_ascii_case(asker) => "You",
        (Some(person), _) => person,
    }
}

fn stated(evidence: &Evidence, stem: &str, asker: Option<&str>, date: &str) -> String {
    match &evidence.origin {
        Origin::Told { person } => {
            let who = named(person.as_deref(), asker);
            let stem = without_speaker(stem, person.as_deref());
            // "And one with Rita" is half a sentence. "By the way" isn't part of one.
            let goes_on = ["and ", "or ", "but "].iter().any(|lead| stem.to_lowercase().starts_with(lead));
            let stem = if goes_on { stem } else { courtesy::without_fillers(stem) };
            if let Some(rest) = corrections::put_right(stem) {
                format!("{who} corrected that{date}: “{rest}.”")
            } else if goes_on || speaks_of_itself(stem) {
                format!("{who} told me{date}: “{stem}.”")
            } else {
                format!("{who} told me{date} that {}.", lowered(stem))
            }
        }
        Origin::Heard if speaks_of_itself(stem) => format!("I heard{date}: “{stem}.”"),
        Origin::Heard => format!("I heard{date} that {}.", lowered(stem)),
        Origin::Did { tool } if let Some(why) = evidence.undone() => {
            format!("I wanted to use {tool}{date}: {stem}. It wasn't done ({}).", why.trim_end_matches('.'))
        }
        Origin::Did { tool } => match &evidence.result {
            Some(result) => format!("I used {tool}{date}: {stem}. Result: {}.", result.trim().trim_end_matches('.')),
            None => format!("I used {tool}{date}: {stem}."),
        },
        Origin::Document { name } => format!("{name}{} says: “{stem}.”", date.replacen(" on ", ", read on ", 1)),
        Origin::Sensed { source } => format!("I noticed{date} ({source}): {stem}."),
        Origin::Other => format!("I remember{date}: {stem}."),
    }
}

/// Words that begin with the speaker's name, as in a transcript, need no other citation.
fn without_speaker<'s>(stem: &'s str, person: Option<&str>) -> &'s str {
    match stem.split_once(": ").zip(person) {
        Some(((name, rest), person)) if name.trim().eq_ignore_ascii_case(person) => rest,
        _ => stem,
    }
}

/// First and second person change their meaning in reported speech, so such a sentence is quoted.
fn speaks_of_itself(sentence: &str) -> bool {
    let words = sentence.to_lowercase().replace('’', "'");
    words.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| {
        [
            "i", "i'm", "i've", "i'll", "i'd", "me", "my", "mine", "we", "we're", "us", "our", "you", "your", "yours",
            "you're", "myself",
        ]
        .contains(&word)
    })
}

/// Lower case for a first word that has a capital only as the first of its sentence.
fn lowered(sentence: &str) -> String {
    let first = sentence.split_whitespace().next().unwrap_or_default().to_lowercase();
    let common = [
        "the", "a", "an", "this", "that", "it", "there", "he", "she", "they", "his", "her", "their", "some", "all",
        "today", "in", "on", "at", "its", "these", "those", "both", "each", "every", "no",
    ];
    match sentence.char_indices().nth(1) {
        Some((second, _)) if common.contains(&first.as_str()) => {
            format!("{}{}", sentence[..second].to_lowercase(), &sentence[second..])
        }
        _ => sentence.to_owned(),
    }
}
