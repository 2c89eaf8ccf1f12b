//! Sections of the prompt that working memory gives: the conversation, what was done lately, what was heard, and what else
//! is on the mind.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::Trust;
use maxim_bus::signals::prompt::Tier;
use maxim_bus::signals::working_memory::{EntryKind, WorkingEntry};
use serde::{Deserialize, Serialize};

use crate::prompt::{Part, Section, data, quoted};
use maxim_language::TokenCounter;

/// Entries of each at most.
const CONVERSATION: usize = 12;
const OUTCOMES: usize = 8;
const OTHERS: usize = 8;
const SPEECH: usize = 6;
/// What was heard longer ago isn't told.
const OLD: SignedDuration = SignedDuration::from_mins(10);
/// Share of the room that is left beside what must be in the prompt, and tokens at most, of each.
const SHARES: [(f64, usize); 4] = [(0.2, 1_000), (0.1, 500), (0.1, 500), (0.05, 250)];

/// What was on the mind when the turn began, in lines; the least wanted of each come first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OnMind {
    conversation: Vec<String>,
    outcomes: Vec<String>,
    others: Vec<String>,
    #[serde(default)]
    speech: Vec<String>,
}

impl OnMind {
    /// Out of entries, the newest last. `with`: who talks. Whoever may not command is told nothing of what others said and
    /// did.
    pub fn of(entries: &[WorkingEntry], with: &str, trust: Trust, now: Timestamp) -> Self {
        let newest = |wanted: &dyn Fn(&WorkingEntry) -> bool, most: usize| {
            let mut found: Vec<&WorkingEntry> = entries.iter().rev().filter(|entry| wanted(entry)).take(most).collect();
            found.reverse();
            found
        };
        let spoken = newest(&|entry| entry.kind == EntryKind::Conversation && entry.of == with, CONVERSATION);
        let conversation = spoken.into_iter().map(|entry| {
            let who = if entry.own { "you" } else { with.split_once('/').map_or(with, |(_, person)| person) };
            format!("- {} {}: {}", time(entry), who.escape_debug(), quoted(&entry.text))
        });
        let conversation = conversation.collect();
        if matches!(trust, Trust::Outside | Trust::Sensor) {
            return Self { conversation, ..Self::default() };
        }
        let age = |entry: &WorkingEntry| now.duration_since(entry.at);
        let heard = newest(&|entry| entry.heard.is_some() && age(entry) < OLD, SPEECH);
        let speech = heard.into_iter().filter_map(|entry| {
            let (sure, seconds) = (entry.heard?.get(), age(entry).as_secs().max(0));
            Some(format!("- {seconds} s ago, confidence {sure:.2}: {}", quoted(&entry.text)))
        });
        let speech = speech.collect();
        let outcomes = newest(&|entry| entry.kind == EntryKind::Outcome, OUTCOMES);
        let line = |entry: &WorkingEntry| format!("- {} {}", time(entry), quoted(&entry.text));
        let mut others: Vec<&WorkingEntry> = entries
            .iter()
            .filter(|entry| !matches!(entry.kind, EntryKind::Conversation | EntryKind::Outcome))
            .collect();
        // What comes to mind turn after turn is told once, as it came last.
        let mut told = BTreeSet::new();
        others.reverse();
        others.retain(|entry| told.insert((entry.kind, entry.text.as_str())));
        others.reverse();
        others.sort_by(|a, b| a.salience.get().total_cmp(&b.salience.get()));
        let others = others.split_off(others.len().saturating_sub(OTHERS));
        let kind = |entry: &WorkingEntry| format!("{:?}", entry.kind).to_lowercase();
        Self {
            conversation,
            outcomes: outcomes.into_iter().map(line).collect(),
            others: others.into_iter().map(|entry| format!("{} ({})", line(entry), kind(entry))).collect(),
            speech,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.conversation.is_empty() && self.outcomes.is_empty() && self.others.is_empty()
    }

    /// `available`: tokens that are left beside what must be in the prompt.
    pub fn sections(&self, available: usize, counter: &TokenCounter) -> Vec<Section> {
        let (important, extra) = (Tier::Important, Tier::NiceToHave);
        let parts = [
            ("conversation", "What you and this person said lately:", &self.conversation, important, 3),
            ("recent_outcomes", "What you did lately, and what came of it:", &self.outcomes, important, 5),
            ("working_memory", "What else is on your mind:", &self.others, important, 7),
            ("speech", "What was heard lately, as the recogniser took it; it may be wrong:", &self.speech, extra, 1),
        ];
        let made = parts.into_iter().zip(SHARES).filter_map(|((name, heading, lines, tier, rank), (share, most))| {
            fitted(counter, (name, tier), heading, lines, most.min((available as f64 * share) as usize))
                .map(|made| made.ranked(rank))
        });
        made.collect()
    }
}

/// The lines from the first on with which they fit.
fn fitted(
    counter: &TokenCounter,
    (name, tier): (&'static str, Tier),
    heading: &str,
    lines: &[String],
    budget: usize,
) -> Option<Section> {
    let made = |from: usize| {
        let text = format!("{heading}\n{}", data(name, &lines[from..].join("\n")));
        Section::new(counter, name, tier, Part::User, text)
    };
    (0..lines.len()).map(made).find(|section| section.tokens <= budget)
}

fn time(entry: &WorkingEntry) -> String {
    // To the second: less is no help, more is no use.
    entry.at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;
    use maxim_bus::units::Salience;

    use super::*;
    use maxim_region::rig::monday_morning;

    fn entry(kind: EntryKind, salience: f64, of: &str, own: bool, text: &str) -> WorkingEntry {
        WorkingEntry {
            kind,
            at: monday_morning(),
            turn: MessageId::from_parts(1, 1),
            salience: Salience::clamped(salience),
            novelty: None,
            heard: None,
            trust: Trust::Owner,
            of: of.into(),
            own,
            text: text.into(),
            rests_on: Vec::new(),
        }
    }

    fn entries() -> Vec<WorkingEntry> {
        vec![
            entry(EntryKind::Conversation, 0.9, "http/anna", false, "where is it?"),
            entry(EntryKind::Conversation, 0.5, "http/anna", true, "In the drawer."),
            entry(EntryKind::Conversation, 0.9, "http/bo", false, "a secret"),
            entry(EntryKind::Recall, 0.4, "e1", false, "a blue drawer"),
            entry(EntryKind::Pain, 0.8, "read_file", true, "it hurt"),
            entry(EntryKind::Outcome, 0.7, "read_file", true, "read_file failed"),
        ]
    }

    #[test]
    fn a_person_is_shown_what_was_said_with_them_and_the_rest_by_kind() {
        let sections = OnMind::of(&entries(), "http/anna", Trust::Owner, monday_morning())
            .sections(10_000, &TokenCounter::Estimated);
        let names: Vec<_> = sections.iter().map(|section| (section.name, section.tier, section.rank)).collect();
        assert_eq!(
            names,
            [
                ("conversation", Tier::Important, 3),
                ("recent_outcomes", Tier::Important, 5),
                ("working_memory", Tier::Important, 7)
            ]
        );
        let said = &sections[0].text;
        assert!(
            said.contains("09:00:00 anna: \"where is it?\"\n- 2026-01-05 09:00:00 you: \"In the drawer.\""),
            "{said}"
        );
        assert!(!said.contains("secret"), "{said}");
        let others = &sections[2].text;
        assert!(others.find("a blue drawer") < others.find("it hurt"), "the most salient stands last: {others}");
    }

    #[test]
    fn what_was_heard_is_told_with_its_confidence_and_age_while_it_is_fresh() {
        let heard = |sure: f64, text: &str| WorkingEntry {
            heard: Some(maxim_bus::units::Confidence::clamped(sure)),
            ..entry(EntryKind::Percept, 0.5, "speech", false, text)
        };
        let entries = [heard(0.55, "the kettle is </data> over")];
        let speech = |after: i64, trust| {
            let now = monday_morning() + SignedDuration::from_secs(after);
            let sections = OnMind::of(&entries, "http/anna", trust, now).sections(10_000, &TokenCounter::Estimated);
            sections.into_iter().find(|section| section.name == "speech")
        };
        let told = speech(12, Trust::Owner).expect("fresh");
        assert!(told.text.contains("12 s ago, confidence 0.55: \"the kettle"), "{}", told.text);
        assert_eq!((told.tier, told.text.matches("</data").count()), (Tier::NiceToHave, 1));
        assert!(speech(601, Trust::Owner).is_none() && speech(12, Trust::Outside).is_none());
    }

    #[test]
    fn a_stranger_is_told_nothing_of_others() {
        let mind = OnMind::of(&entries(), "http/bo", Trust::Outside, monday_morning());
        let sections = mind.sections(10_000, &TokenCounter::Estimated);
        assert_eq!(sections.len(), 1);
        assert!(sections[0].text.contains("a secret") && !sections[0].text.contains("drawer"));
        assert!(OnMind::of(&entries(), "http/carla", Trust::Outside, monday_morning()).is_empty());
    }

    #[test]
    fn where_room_is_scarce_the_oldest_words_go() {
        let many: Vec<WorkingEntry> = (0..12)
            .map(|n| entry(EntryKind::Conversation, 0.9, "http/anna", false, &format!("message number {n}")))
            .collect();
        let scarce =
            &OnMind::of(&many, "http/anna", Trust::Owner, monday_morning()).sections(600, &TokenCounter::Estimated)[0];
        assert!(scarce.tokens <= 120 && scarce.text.contains("number 11") && !scarce.text.contains("number 0"));
        assert!(
            OnMind::of(&many, "http/anna", Trust::Owner, monday_morning())
                .sections(50, &TokenCounter::Estimated)
                .is_empty()
        );
    }
}
