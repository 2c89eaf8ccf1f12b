//! Moments for tests.

use jiff::Timestamp;
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::thought::ActionSummary;
use maxim_bus::units::{Novelty, Salience};
use maxim_bus::{MessageId, Trust};
use serde_json::json;

/// A moment in which the owner said `text`; the tools have the given results.
pub(crate) fn lived(text: &str, actions: &[(&str, &str)]) -> EpisodeLived {
    let id = MessageId::from_parts(text.len() as u64, actions.len() as u128);
    let action = |(tool, status): &(&str, &str)| ActionSummary {
        id,
        tool: (*tool).into(),
        params: json!({ "path": text }),
        status: (*status).into(),
        reason: None,
    };
    EpisodeLived {
        episode: format!("episode of {text}"),
        turn: id,
        at: Timestamp::UNIX_EPOCH,
        text: text.into(),
        source: "comms:http".into(),
        objects: vec![],
        people: vec!["anna".into()],
        goal: None,
        goal_changed: false,
        actions: actions.iter().map(action).collect(),
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.5),
        person_involved: true,
        trust: Trust::Owner,
        retold: false,
    }
}
