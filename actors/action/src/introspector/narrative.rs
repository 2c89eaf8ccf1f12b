//! The answers of thinking and examining in a simulation: what memory says of a thought; what was seen, said or is
//! remembered of a thing.

use std::collections::BTreeSet;

use maxim_bus::signals::recall::{RecalledEpisode, Via};
use maxim_bus::signals::scene::{SceneSurveyed, SceneThing};
use maxim_bus::signals::working_memory::WorkingEntry;
use serde_json::{Value as Json, json};

use super::IntrospectorSettings;
use super::affordances::meaning;
use maxim_tools::narrative::{EXAMINE, NOTHING_NOTABLE, THINK};

/// Memories and newest percepts that are told.
const TOLD: usize = 3;
/// What memory says; none for other tools.
pub(super) fn remembered(
    tool: &str,
    params: &Json,
    episodes: &[RecalledEpisode],
    settings: &IntrospectorSettings,
) -> Option<Json> {
    let told = |episode: &RecalledEpisode| json!({ "at": episode.timestamp, "text": episode.text });
    let asking = asking(settings);
    if tool == THINK {
        let thought = params["thought"].as_str().unwrap_or_default();
        let news = episodes.iter().filter(|episode| says_more(thought, &episode.text, &asking)).take(TOLD);
        return Some(json!({ "thought": thought, "reminds_of": news.map(told).collect::<Vec<_>>() }));
    }
    let target = params["target"].as_str()?;
    let speaks_of_it =
        |episode: &&RecalledEpisode| episode.via != Via::Association && tells_of(target, &episode.text, &asking);
    let told: Vec<Json> = episodes.iter().filter(speaks_of_it).take(TOLD).map(told).collect();
    Some(json!({ "remembered": told }))
}

/// What the senses report of it now.
pub(super) fn seen(params: &Json, scene: &SceneSurveyed, settings: &IntrospectorSettings) -> Json {
    let target = params["target"].as_str().unwrap_or_default();
    let is_it = |thing: &&SceneThing| {
        let (name, wanted) = (meaning(&thing.name), meaning(target));
        !wanted.is_empty() && !name.is_empty() && (name.is_subset(&wanted) || wanted.is_subset(&name))
    };
    let thing = scene.objects.iter().find(is_it);
    let described = scene.scene.as_ref().filter(|named| tells_of(target, &named.description, &asking(settings)));
    json!({ "target": target, "seen": thing, "scene": described.map(|named| &named.description) })
}

/// What was perceived of it lately, the newest last.
pub(super) fn lately(params: &Json, entries: &[WorkingEntry], settings: &IntrospectorSettings) -> Json {
    let asking = asking(settings);
    let target = params["target"].as_str().unwrap_or_default();
    let of_it: Vec<Json> = entries
        .iter()
        .filter(|entry| !entry.own && tells_of(target, &entry.text, &asking))
        .map(|entry| json!({ "at": entry.at, "by": entry.of, "text": entry.text }))
        .collect();
    json!({ "lately": of_it[of_it.len().saturating_sub(TOLD)..] })
}

/// The whole answer, or that there is nothing.
pub(super) fn notable(mut whole: Json) -> Json {
    let is_empty = |field: &str| whole[field].as_array().is_none_or(Vec::is_empty);
    let is_known =
        !whole["seen"].is_null() || !whole["scene"].is_null() || !is_empty("lately") || !is_empty("remembered");
    if !is_known {
        whole["notable"] = NOTHING_NOTABLE.into();
    }
    whole
}

/// Stems of the words by which people ask for these tools.
fn asking(settings: &IntrospectorSettings) -> BTreeSet<String> {
    let spoken = [THINK, EXAMINE].into_iter().filter_map(|tool| settings.tools.get(tool));
    let verbs = spoken.flat_map(|tool| tool.spec.speech.iter().flat_map(|speech| speech.verbs.clone()));
    verbs.flat_map(|verb| meaning(&verb)).collect()
}

/// Whether a text tells something about a thing. A question about it, or a command to look at it, tells nothing.
fn tells_of(target: &str, text: &str, asking: &BTreeSet<String>) -> bool {
    let (wanted, said) = (meaning(target), meaning(text));
    let more: BTreeSet<&String> = said.difference(&wanted).collect();
    let is_command = !more.is_empty() && more.into_iter().all(|stem| asking.contains(stem));
    !wanted.is_empty() && wanted.is_subset(&said) && !is_command && !text.trim_end().ends_with('?')
}

/// Whether a memory says more than the thought that recalled it.
fn says_more(thought: &str, text: &str, asking: &BTreeSet<String>) -> bool {
    let thought = meaning(thought);
    let is_new = |stem: &String| !thought.contains(stem) && !asking.contains(stem);
    !text.trim_end().ends_with('?') && meaning(text).iter().any(is_new)
}
