//! What the indexes hold of an episode that sleep has compressed, in an export and back. Its record alone would bring
//! only half of its words, three of its things and no mode to another brain.
//!
//! Its text, things and circumstances are in the entorhinal cortex, which compares whole situations. The words of its
//! parameters and its result are only in the segments of the text index, as stems. In the receiving brain they are in a
//! separate record until a segment there contains its words.

use std::borrow::Cow;
use std::collections::BTreeSet;

use maxim_bus::signals::similarity::Situation;
use serde::{Deserialize, Serialize};

use super::model::{Action, EpisodicMemory};
use super::text_index::{Fields, speaker_prefix, stems_in};

/// Beside the small record: what the episode was found by when it was whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Held {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// All words by which it is found, if nothing was said or perceived in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub more: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// Stems that the other fields don't contain: those of its parameters and its result. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stems: Vec<String>,
}

/// Its key until a segment contains the episode's words.
pub(super) fn held_key(document: u32) -> Vec<u8> {
    format!("held/{document:08x}").into_bytes()
}

impl Held {
    /// From a small record, the known situation, and all stems by which it is found.
    pub fn new(record: &EpisodicMemory, situation: Option<Situation>, stems: &BTreeSet<String>) -> Self {
        let perception = &record.perception;
        let mut held = match situation {
            Some(situation) => {
                let Situation { text, goal, mode, objects, people, .. } = situation;
                let mut held = Self { goal, mode, objects, people, ..Self::default() };
                if perception.text.trim().is_empty() {
                    held.more = text;
                } else {
                    held.text = format!("{}{text}", spoken_by(&perception.text, &held.people));
                }
                held
            }
            None => Self {
                text: perception.text.clone(),
                goal: record.context.goal.clone(),
                mode: record.context.mode.clone(),
                objects: perception.objects.clone(),
                people: perception.people.clone(),
                ..Self::default()
            },
        };
        let whole = held.whole(record);
        let known = stems_in(&whole.fields(&held.further_words(&whole), 0));
        held.stems = stems.difference(&known).cloned().collect();
        held
    }

    /// The episode as it is found: complete except for its parameters and its result.
    pub fn whole(&self, record: &EpisodicMemory) -> EpisodicMemory {
        let mut whole = record.clone();
        whole.live_edges = None;
        whole.perception.text.clone_from(&self.text);
        whole.perception.objects.clone_from(&self.objects);
        whole.perception.people.clone_from(&self.people);
        whole.context.goal.clone_from(&self.goal);
        whole.context.mode.clone_from(&self.mode);
        whole.action = record.tool().map(|tool| Action { tool: tool.to_owned(), ..Action::default() });
        whole
    }

    /// Words beside the text, of the episode from [`Held::whole`].
    pub fn further_words(&self, whole: &EpisodicMemory) -> String {
        if self.more.is_empty() { whole.further_words() } else { self.more.clone() }
    }
}

/// The words before a text that name the speaker. They are not compared.
fn spoken_by<'a>(text: &'a str, people: &[String]) -> &'a str {
    let said = speaker_prefix(text).filter(|(name, _)| people.iter().any(|one| one.trim().eq_ignore_ascii_case(name)));
    said.map_or("", |(_, said)| &text[..text.len() - said.len()])
}

/// An episode with its indexed fields: its own, or those held beside a small record.
pub(super) struct Indexed<'a> {
    pub episode: Cow<'a, EpisodicMemory>,
    more: String,
    stems: &'a [String],
}

impl<'a> Indexed<'a> {
    pub fn of(record: &'a EpisodicMemory, held: Option<&'a Held>) -> Self {
        match held {
            Some(held) => {
                let episode = held.whole(record);
                Self { more: held.further_words(&episode), stems: &held.stems, episode: Cow::Owned(episode) }
            }
            None => Self { more: record.further_words(), stems: &[], episode: Cow::Borrowed(record) },
        }
    }

    pub fn fields(&self, day: i32) -> Fields<'_> {
        Fields { stems: self.stems, ..self.episode.fields(&self.more, day) }
    }
}
