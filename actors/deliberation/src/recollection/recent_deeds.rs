//! A model's latest acts with its thoughts. A turn of several steps is one episode, which tells the last step alone, but a
//! person may ask about any of them.
//!
//! Law: the newest act that fits the question's words by its tool, its parameters and the words of its turn.

use std::collections::VecDeque;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_speech::{answer, terms};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Acts that are kept. The oldest goes.
const DEEDS: usize = 32;
/// Characters of an act's parameters, and of the words of its turn, that are kept.
const KEPT: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentDeed {
    at: Timestamp,
    /// The words of its turn.
    text: String,
    tool: String,
    params: String,
    success: Option<bool>,
    /// The thought at its choice.
    why: Option<String>,
}

impl RecentDeed {
    pub(crate) fn new(
        at: Timestamp,
        text: &str,
        (tool, params): (&str, &Json),
        success: Option<bool>,
        why: Option<&str>,
    ) -> Self {
        let kept = |text: &str| text.chars().take(KEPT).collect::<String>();
        let (text, tool, params) = (kept(text), tool.to_owned(), kept(&params.to_string()));
        Self { at, text, tool, params, success, why: why.map(str::to_owned) }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentDeeds(VecDeque<RecentDeed>);

impl RecentDeeds {
    pub(crate) fn keep(&mut self, deed: RecentDeed) {
        self.0.push_back(deed);
        while self.0.len() > DEEDS {
            self.0.pop_front();
        }
    }

    /// Why something was done. `None`: no act fits.
    pub(crate) fn why(&self, topic: &str, zone: &TimeZone) -> Option<String> {
        let is_meant = |deed: &&RecentDeed| {
            let done = format!("{} {} {}", deed.tool.replace('_', " "), deed.params, deed.text);
            !terms(topic).is_empty() && answer::bears_on(topic, &done)
        };
        let deed = self.0.iter().rev().find(is_meant)?;
        let when = deed.at.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M").to_string();
        let end = if deed.success == Some(false) { " It failed." } else { "" };
        let thought = deed.why.as_ref().map_or_else(String::new, |why| format!(" I thought: “{}”", why.trim()));
        let said = deed.text.trim().trim_end_matches('.');
        let tool = &deed.tool;
        Some(format!(
            "Because of what was said. At “{said}” on {when} I used {tool}.{end}{thought} Step by step: `maxim why`."
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_step_that_is_asked_for_is_told_with_its_thought_and_only_so_many_are_kept() {
        let mut deeds = RecentDeeds::default();
        let wish = "what would it take to get the boat ready?";
        let deed = |tool: &str, path: &str, why: &str| {
            let params = json!({ "path": path });
            RecentDeed::new(Timestamp::UNIX_EPOCH, wish, (tool, &params), Some(true), Some(why))
        };
        deeds.keep(deed("write_file", "boat.txt", "It is worth a note."));
        deeds.keep(deed("read_file", "boat.txt", "I look whether it is right."));
        let why = |deeds: &RecentDeeds, topic: &str| deeds.why(topic, &TimeZone::UTC);
        assert!(why(&deeds, "write boat.txt").is_some_and(|why| why.contains("write_file") && why.contains("a note")));
        assert!(why(&deeds, "read boat.txt").is_some_and(|why| why.contains("read_file") && why.contains("is right")));
        assert_eq!((why(&deeds, "write tide.txt"), why(&deeds, "that")), (None, None));
        for _ in 0..DEEDS {
            deeds.keep(deed("glob", "x", "I look around."));
        }
        assert_eq!((deeds.0.len(), why(&deeds, "write boat.txt")), (DEEDS, None));
    }
}
