//! What thinking and examining give in a simulation: what memory says of a thought, and what was seen and said of a thing
//! lately or is remembered of it.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::MessageId;
use maxim_bus::signals::recall::{EpisodeFilter, Inquiry, RecallEpisodes, RecalledEpisode, Via};
use maxim_bus::signals::scene::{SceneSurveyed, SceneThing, SurveyScene};
use maxim_bus::signals::working_memory::{EntryKind, SurveyWorkingMemory, WorkingEntry};
use serde_json::{Value as Json, json};

use super::Introspector;
use super::affordances::meaning;
use crate::action::tools::narrative::{NOTHING_NOTABLE, THINK};
use crate::region::Pulse;

/// Memories and newest percepts that are told.
const TOLD: usize = 3;
/// Memories that are looked through.
const LOOKED_THROUGH: usize = 10;

/// Asks the rooms that know; which questions are out.
pub(super) fn questions(inquiry: &Inquiry, pulse: &mut Pulse<'_, Introspector>) -> BTreeMap<MessageId, String> {
    let (subject, limit) = match inquiry.tool.as_str() {
        THINK => (&inquiry.params["thought"], TOLD),
        _ => (&inquiry.params["target"], LOOKED_THROUGH),
    };
    let query = subject.as_str().map(str::to_owned);
    let filter = EpisodeFilter { query, expand: inquiry.tool == THINK, limit, ..EpisodeFilter::default() };
    let memories = RecallEpisodes { filter, except: inquiry.turn, waits: true };
    let mut questions = BTreeMap::from([(pulse.ask("hippocampus", memories), "hippocampus".to_owned())]);
    if inquiry.tool != THINK {
        let scene = SurveyScene { top_n: usize::MAX, include_attention: true };
        questions.insert(pulse.ask("scene", scene), "scene".into());
        let kinds = vec![EntryKind::Percept, EntryKind::Conversation];
        let mind = SurveyWorkingMemory { kinds, turn: inquiry.turn, ..SurveyWorkingMemory::default() };
        questions.insert(pulse.ask("working_memory", mind), "working_memory".into());
    }
    questions
}

/// What memory says; none for other tools.
pub(super) fn remembered(tool: &str, params: &Json, episodes: &[RecalledEpisode]) -> Option<Json> {
    let told = |episode: &RecalledEpisode| json!({ "at": episode.timestamp, "text": episode.text });
    if tool == THINK {
        let told: Vec<Json> = episodes.iter().map(told).collect();
        return Some(json!({ "thought": params["thought"], "reminds_of": told }));
    }
    let target = params["target"].as_str()?;
    let speaks_of_it = |episode: &&RecalledEpisode| episode.via != Via::Association && tells_of(target, &episode.text);
    let told: Vec<Json> = episodes.iter().filter(speaks_of_it).take(TOLD).map(told).collect();
    Some(json!({ "remembered": told }))
}

/// What the senses report of it now.
pub(super) fn seen(params: &Json, scene: &SceneSurveyed) -> Json {
    let target = params["target"].as_str().unwrap_or_default();
    let is_it = |thing: &&SceneThing| {
        let (name, wanted) = (meaning(&thing.name), meaning(target));
        !wanted.is_empty() && !name.is_empty() && (name.is_subset(&wanted) || wanted.is_subset(&name))
    };
    let thing = scene.objects.iter().find(is_it);
    let described = scene.scene.as_ref().filter(|named| tells_of(target, &named.description));
    json!({ "target": target, "seen": thing, "scene": described.map(|named| &named.description) })
}

/// What was perceived of it lately, the newest last.
pub(super) fn lately(params: &Json, entries: &[WorkingEntry]) -> Json {
    let target = params["target"].as_str().unwrap_or_default();
    let of_it: Vec<Json> = entries
        .iter()
        .filter(|entry| !entry.own && tells_of(target, &entry.text))
        .map(|entry| json!({ "at": entry.at, "by": entry.of, "text": entry.text }))
        .collect();
    json!({ "lately": of_it[of_it.len().saturating_sub(TOLD)..] })
}

/// The whole, or that there is nothing.
pub(super) fn notable(mut whole: Json) -> Json {
    let is_empty = |field: &str| whole[field].as_array().is_none_or(Vec::is_empty);
    let is_known =
        !whole["seen"].is_null() || !whole["scene"].is_null() || !is_empty("lately") || !is_empty("remembered");
    if !is_known {
        whole["notable"] = NOTHING_NOTABLE.into();
    }
    whole
}

/// Whether a text tells of a thing. A question about it tells nothing.
fn tells_of(target: &str, text: &str) -> bool {
    let wanted: BTreeSet<String> = meaning(target);
    !wanted.is_empty() && !text.trim_end().ends_with('?') && wanted.is_subset(&meaning(text))
}
