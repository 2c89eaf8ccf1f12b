//! The outcome of a moment: the end of its turn completes its episode, with the words of the result, and pain. An
//! action that a person allows or refuses later completes it then.
//!
//! A moment without a reason to keep it is let pass, but held for a while. If its action then fails or hurts, it is
//! kept after all (synaptic tagging and capture).

use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::rooms::RESPOND;
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::intent::{IntentRefused, Refusal};
use maxim_bus::signals::outbox::DeliveryEnded;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::PainSignal;
use maxim_bus::signals::recall::EpisodeStored;
use maxim_bus::signals::similarity::SituationsStored;
use maxim_bus::signals::thought::{ActionStatus, ActionSummary, TurnEnded};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::capturing::situation;
use super::events::HippocampusEvent;
use super::model::{Action, CaptureReason, EpisodicMemory, Outcome, is_speech};
use super::recalling::{CLIP, bus_trust};
use super::records::episode_key;
use super::region::Hippocampus;
use maxim_region::{Hears, Pulse};

/// Held moments, at most; a new one replaces the oldest.
pub(super) const HELD: u32 = 32;
/// Maximum number of turns whose newest result is held until they end.
pub(super) const RESULTS: usize = 64;
/// Characters of a result that are remembered.
const LONGEST_RESULT: usize = 240;
/// Fields in which tools put what a person would read; the first existing one is used.
const TOLD_IN: [&str; 5] = ["text", "stdout", "content", "summary", "stderr"];

/// A moment that was not stored.
#[derive(Serialize, Deserialize)]
struct Passed {
    episode: EpisodicMemory,
    /// The end of its turn, once it came.
    ended: Option<TurnEnded>,
    /// The greatest surprising |RPE| of its actions: if the moment is kept, it is linked to its causes.
    #[serde(default)]
    surprise: Option<f64>,
}

fn passed_key(place: u32) -> Vec<u8> {
    format!("passed/{place:02x}").into_bytes()
}

/// The result's own words on one line; empty if it has none.
fn words_of(result: &ToolResult) -> String {
    let told = match (&result.error, &result.output) {
        (Some(error), _) => error.clone(),
        (None, Json::String(said)) => said.clone(),
        (None, Json::Object(fields)) => {
            let said = TOLD_IN.iter().filter_map(|name| fields.get(*name)?.as_str());
            let first = said.map(str::trim).find(|said| !said.is_empty()).map(str::to_owned);
            first.unwrap_or_else(|| plain_fields(fields))
        }
        (None, Json::Null) => String::new(),
        (None, other) => other.to_string(),
    };
    let words: Vec<&str> = told.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_RESULT).collect()
}

/// The exact place of a file depends on the machine; its name is in the parameters.
fn plain_fields(fields: &serde_json::Map<String, Json>) -> String {
    let told = fields.iter().filter_map(|(name, value)| match value {
        Json::Null | Json::Array(_) | Json::Object(_) => None,
        Json::String(said) if said.starts_with('/') => None,
        Json::String(said) => Some(format!("{} {said}", name.replace('_', " "))),
        other => Some(format!("{} {other}", name.replace('_', " "))),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The action of this intent, if it waited for a person when the turn ended.
fn left_in(ended: &mut TurnEnded, intent: MessageId) -> Option<&mut ActionSummary> {
    ended.actions.iter_mut().find(|action| action.id == intent && action.is_asked())
}

/// The end of the turn with this refusal of an action that waited for a person; `None` if none did.
fn with_refusal(mut ended: TurnEnded, refused: &IntentRefused) -> Option<TurnEnded> {
    let action = left_in(&mut ended, refused.intent).filter(|_| refused.refusal != Refusal::Asked)?;
    action.status = refused.refusal.into();
    action.reason = Some(format!("{}: {}", refused.rule, refused.reason));
    Some(ended)
}

/// The end of the turn with this result of an action that waited for a person; `None` if none did.
fn with_late(mut ended: TurnEnded, result: &ToolResult) -> Option<TurnEnded> {
    let action = left_in(&mut ended, result.intent)?;
    action.id = result.action;
    action.reason.clone_from(&result.error);
    action.status = ActionStatus::ended(result.success);
    Some(ended)
}

/// The completed episode in the form that the bridges learn from.
fn lived(episode: &EpisodicMemory, ended: &TurnEnded, at: Timestamp, retold: bool) -> EpisodeLived {
    EpisodeLived {
        episode: episode.id.clone(),
        turn: ended.turn,
        at,
        text: episode.perception.text.chars().take(CLIP).collect(),
        source: episode.perception.source.clone(),
        objects: episode.perception.objects.clone(),
        people: episode.perception.people.clone(),
        goal: episode.context.goal.clone(),
        goal_changed: episode.reasons.contains(&CaptureReason::GoalChanged),
        actions: ended.actions.clone(),
        salience: episode.salience,
        novelty: episode.novelty,
        person_involved: episode.person_involved,
        trust: bus_trust(episode.trust),
        retold,
    }
}

/// Adds what was done and the outcome to the episode. `result`: the words of the newest result, and its action.
fn complete(episode: &mut EpisodicMemory, ended: &TurnEnded, result: Option<&(MessageId, String)>) {
    // A turn in which the agent only spoke has no action of its own.
    let mut done = ended.actions.iter().rev().filter(|action| action.tool != RESPOND);
    if let Some(action) = done.next() {
        let params = action.params.as_object().cloned().unwrap_or_default();
        episode.action = Some(Action { tool: action.tool.clone(), params });
        let success = action.status.success();
        let own = result.filter(|(of, words)| *of == action.id && !words.is_empty()).map(|(_, words)| words.clone());
        let result = own.or_else(|| action.reason.clone()).unwrap_or_else(|| action.status.to_string());
        episode.outcome = Some(Outcome { success, result });
    } else if episode.outcome.is_none() {
        // Answers may repeat what was recalled, so they aren't found by words.
        let answered = !ended.lost && ended.actions.iter().any(|action| action.status == ActionStatus::Done);
        let success = answered.then_some(true);
        episode.outcome = Some(Outcome { success, result: String::new() });
    }
    if ended.decided.is_some() {
        episode.decision.clone_from(&ended.decided);
    }
}

impl Hippocampus {
    /// Holds a moment that isn't stored.
    pub(super) fn let_pass(&self, turn: MessageId, episode: EpisodicMemory, pulse: &mut Pulse<'_, Self>) {
        let place = self.passed.back().map_or(0, |(_, place)| (place + 1) % HELD);
        pulse.put(passed_key(place), &Passed { episode, ended: None, surprise: None });
        pulse.keep(HippocampusEvent::Passed { turn, place });
    }

    fn passed(&self, turn: MessageId, pulse: &Pulse<'_, Self>) -> Option<(u32, Passed)> {
        let (_, place) = self.passed.iter().rev().find(|(of, _)| *of == turn)?;
        Some((*place, pulse.record::<Passed>(&passed_key(*place))?))
    }

    fn has_passed(&self, turn: MessageId) -> bool {
        self.passed.iter().any(|(of, _)| *of == turn)
    }

    /// Keeps a held moment after all, with its causes if it surprised.
    fn keep_after_all(&self, turn: MessageId, passed: Passed, pulse: &mut Pulse<'_, Self>) {
        let Passed { episode, ended, surprise } = passed;
        let (document, episode) = self.keep_moment(turn, episode, pulse);
        if let Some(surprise) = surprise {
            self.find_causes(document, &episode, surprise, pulse);
        }
        if let Some(ended) = ended {
            self.end(document, episode, &ended, String::new(), pulse);
        }
    }

    /// An action of a held moment surprised.
    pub(super) fn hold_surprise(&self, turn: MessageId, surprise: f64, pulse: &mut Pulse<'_, Self>) {
        if let Some((place, mut passed)) = self.passed(turn, pulse) {
            passed.surprise = Some(surprise.max(passed.surprise.unwrap_or_default()));
            pulse.put(passed_key(place), &passed);
        }
    }

    /// The end of a turn in which an action may wait for a person.
    fn left_asked(&self, turn: MessageId, pulse: &Pulse<'_, Self>) -> Option<TurnEnded> {
        let kept = self.asked.iter().find(|ended| ended.turn == turn).cloned();
        kept.or_else(|| self.passed(turn, pulse)?.1.ended)
    }

    /// Takes in the end of a turn. `result`: the words of its newest result, and its action.
    fn take_end(&self, ended: &TurnEnded, result: Option<&(MessageId, String)>, pulse: &mut Pulse<'_, Self>) {
        if let Some((place, mut passed)) = self.passed(ended.turn, pulse) {
            complete(&mut passed.episode, ended, result);
            passed.ended = Some(ended.clone());
            if passed.episode.success() == Some(false) {
                passed.episode.reasons.push(CaptureReason::ActionFailed);
                self.keep_after_all(ended.turn, passed, pulse);
            } else {
                pulse.put(passed_key(place), &passed);
            }
        } else if let Some(document) = self.document_of(ended.turn, pulse) {
            let Some(mut episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) else { return };
            let retold = self.asked.iter().any(|before| before.turn == ended.turn);
            let before = if retold { episode.further_words() } else { String::new() };
            complete(&mut episode, ended, result);
            self.end(document, episode, ended, before, pulse);
        }
    }

    /// The episode of the turn is complete. `before`: its earlier further words, if it was told before.
    fn end(
        &self,
        document: u32,
        episode: EpisodicMemory,
        ended: &TurnEnded,
        before: String,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let stored = EpisodeStored {
            episode: episode.id.clone(),
            at: pulse.now(),
            complete: true,
            reasons: Vec::new(),
            salience: episode.salience,
            repeats: None,
        };
        pulse.put(episode_key(document), &episode);
        pulse.emit(SituationsStored { stored: vec![situation(&episode)], ..SituationsStored::default() });
        let retold = self.asked.iter().any(|before| before.turn == ended.turn);
        pulse.emit(lived(&episode, ended, pulse.now(), retold));
        let turn = ended.turn;
        pulse.keep(HippocampusEvent::Completed { document, turn, episode: Box::new(episode), before });
        if ended.actions.iter().any(ActionSummary::is_asked) {
            pulse.keep(HippocampusEvent::LeftAsked(Box::new(ended.clone())));
        }
        pulse.emit(stored);
    }
}

impl Hears<ToolResult> for Hippocampus {
    /// Its words go into the episode when the turn ends, or at once if a person allowed it after that.
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let turn = result.turn;
        if self.forget_again(turn, pulse) || result.tool == RESPOND {
            return;
        }
        let is_told = is_speech(&result.tool) || pulse.settings().hearsay.contains(&result.tool);
        let words = if is_told { String::new() } else { words_of(result) };
        let action = result.action;
        if let Some(late) = self.left_asked(turn, pulse).and_then(|ended| with_late(ended, result)) {
            self.take_end(&late, Some(&(action, words)), pulse);
        } else if self.open.contains_key(&turn) || self.has_passed(turn) {
            pulse.keep(HippocampusEvent::ResultCame { turn, action, words });
        }
    }
}

impl Hears<IntentRefused> for Hippocampus {
    /// A person refused after the turn was over, or nobody answered in time.
    fn hear(&self, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        if self.forget_again(refused.turn, pulse) {
            return;
        }
        let left = self.left_asked(refused.turn, pulse);
        if let Some(late) = left.and_then(|ended| with_refusal(ended, refused)) {
            self.take_end(&late, None, pulse);
        }
    }
}

impl Hears<TurnEnded> for Hippocampus {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        if !self.forget_again(ended.turn, pulse) {
            self.take_end(ended, self.results.get(&ended.turn), pulse);
        }
    }
}

impl Hears<DeliveryEnded> for Hippocampus {
    /// The outbox knows the result of a message. Of a forgotten turn nothing is to be learned.
    fn hear(&self, ended: &DeliveryEnded, pulse: &mut Pulse<'_, Self>) {
        self.forget_again(ended.turn, pulse);
    }
}

impl Hears<PainSignal> for Hippocampus {
    /// Pain in a turn belongs to its episode, and is a reason to keep it.
    fn hear(&self, felt: &PainSignal, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let is_reason = felt.intensity.get() >= pulse.settings().capture.painful;
        if let Some((_, mut passed)) = self.passed(turn, pulse).filter(|_| is_reason) {
            passed.episode.pain = felt.intensity;
            passed.episode.reasons.push(CaptureReason::Pain);
            self.keep_after_all(turn, passed, pulse);
            return;
        }
        let Some(document) = self.document_of(turn, pulse) else { return };
        let Some(mut episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) else { return };
        if felt.intensity <= episode.pain {
            return;
        }
        episode.pain = felt.intensity;
        if is_reason && !episode.reasons.contains(&CaptureReason::Pain) {
            episode.reasons.push(CaptureReason::Pain);
        }
        pulse.put(episode_key(document), &episode);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(output: Json, error: Option<&str>) -> String {
        let id = MessageId::from_parts(1, 1);
        words_of(&ToolResult {
            action: id,
            intent: id,
            turn: id,
            tool: "bash".into(),
            params: json!({}),
            success: Some(error.is_none()),
            output,
            error: error.map(str::to_owned),
            failure: None,
            duration_us: 1,
            side_effects: Vec::new(),
            reward: None,
        })
    }

    #[test]
    fn a_results_own_words_are_short_and_on_one_line() {
        assert_eq!(words(json!({"exit_code": 0, "stdout": "one\n two \n"}), None), "one two");
        assert_eq!(
            words(json!({"path": "a.txt", "kept_at": "/tmp/x", "bytes": 5, "more": [1]}), None),
            "bytes 5, path a.txt"
        );
        assert_eq!(words(json!("said"), None), "said");
        assert_eq!(words(Json::Null, None), "");
        assert_eq!(words(json!({"text": "partial"}), Some("no such file")), "no such file");
        assert_eq!(words(json!("x".repeat(9_000)), None).len(), LONGEST_RESULT);
    }
}
