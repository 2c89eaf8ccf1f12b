//! Episodes from memory as evidence for an answer.

use maxim_bus::Trust;
use maxim_bus::signals::recall::{EpisodesRecalled, RecalledEpisode};
use maxim_speech::answer::{self, Evidence, Origin};
use maxim_speech::talk::statement;
use maxim_speech::word::tokens::asks;
use maxim_speech::{QuestionKind, Understanding, Whose};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::View;

/// The answer of memory. Nothing, if it is of another shape.
pub(super) fn recalled(found: &Json) -> EpisodesRecalled {
    EpisodesRecalled::deserialize(found).unwrap_or_default()
}

pub(super) fn episodes(found: &Json) -> Vec<RecalledEpisode> {
    recalled(found).episodes
}

/// Ids of all records in a find, whatever its shape.
pub(crate) fn ids(found: &Json) -> Vec<String> {
    match found {
        Json::Object(fields) => {
            let own = fields.get("id").and_then(Json::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(ids)).collect()
        }
        Json::Array(items) => items.iter().flat_map(ids).collect(),
        _ => Vec::new(),
    }
}

/// Both finds, each episode once.
pub(super) fn joined(found: &Json, more: &Json) -> Json {
    let mut all = episodes(found);
    for episode in episodes(more) {
        if !all.iter().any(|known| known.id == episode.id) {
            all.push(episode);
        }
    }
    json!({ "results": all })
}

pub(super) fn evidence(found: &Json, view: &View<'_>) -> Vec<Evidence> {
    episodes(found).into_iter().filter_map(|episode| piece(episode, view)).collect()
}

/// The questions in a find, except questions about questions.
pub(super) fn questions(found: &Json, view: &View<'_>) -> Vec<Evidence> {
    let is_one = |sentence: &str| match view.grammar.understand(sentence) {
        Understanding::Question { about: QuestionKind::Told { asked: true, .. }, .. } => false,
        Understanding::Question { .. } => true,
        _ => asks(sentence),
    };
    let question = |episode: RecalledEpisode| {
        let sentences = answer::split(&episode.text).into_iter().filter(|sentence| is_one(sentence));
        let text = sentences.collect::<Vec<_>>().join(" ");
        (episode.said && !text.is_empty()).then(|| as_evidence(episode, text))
    };
    episodes(found).into_iter().filter_map(question).collect()
}

/// The statements in an episode. A question is no evidence of its content, and neither is a request that wasn't carried out.
/// Statements beside them count.
pub(super) fn piece(episode: RecalledEpisode, view: &View<'_>) -> Option<Evidence> {
    let text = match episode.said && episode.tool.is_none() {
        true => {
            let sentences = answer::split(&episode.text).into_iter();
            let plain = sentences.filter(|sentence| !asks(sentence) && !statement::is_wish(sentence));
            plain.filter_map(|sentence| statement::told(view.grammar, sentence)).collect::<Vec<_>>().join("\n")
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
        // People who may not command could use anybody's name.
        (None, true, Trust::Outside) => Origin::Told { person: Some(answer::STRANGER.into()) },
        // Several people were there, and it isn't known which one spoke.
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

/// What this person told or asked about `about`, in order.
pub(super) fn mine(found: &Json, asked: bool, about: &str, view: &View<'_>) -> Vec<Evidence> {
    let mut told = if asked { questions(found, view) } else { evidence(found, view) };
    told.retain(|one| is_mine(one, view.asker));
    told.retain(|one| about.is_empty() || answer::bears_on(about, &one.text));
    told.sort_by_key(|one| one.at);
    told
}

/// Whether the asker told it.
pub(super) fn is_mine(one: &Evidence, asker: &str) -> bool {
    match &one.origin {
        Origin::Told { person } => person.as_ref().is_none_or(|person| person.eq_ignore_ascii_case(asker)),
        _ => false,
    }
}

/// Whether it is the doing of the person asked about.
pub(super) fn is_of(one: &Evidence, whose: Whose, about: &str, asker: &str) -> bool {
    let is_theirs = match whose {
        Whose::Anyones => true,
        Whose::Askers => is_mine(one, asker),
        Whose::Own => matches!(one.origin, Origin::Did { .. }),
    };
    is_theirs && (about.is_empty() || answer::bears_on(about, &one.text))
}
