//! The end of a step: its outcome, a refusal by the gate, or an answer of the brain about itself.

use maxim_bus::signals::intent::{IntentRefused, OUTCOME_UNKNOWN, Refusal as Refused};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::recall::InquiryAnswered;
use maxim_bus::signals::thought::{ActionSummary, Deed, Mind};
use serde_json::{Value as Json, json};

use super::region::{Turns, TurnsEvent};
use super::turn::summary;
use crate::recollection::recent_deeds::RecentDeed;
use crate::recollection::wording::{Worded, worded};
use crate::recollection::{Asked, evidence, search};
use maxim_bus::rooms::RESPOND;
use maxim_region::{Hears, Pulse};
use maxim_speech::answer;
use maxim_speech::question::whereabouts::whereabouts_asked;
use maxim_tools::FollowUp;

/// If a model asked it, the answer is put into words, for the case that the model fails afterwards.
const FORESEEING: &str = "predict_outcome";
/// The confirmation for people who want few words.
const DONE: &str = "Done.";

impl Hears<InquiryAnswered> for Turns {
    fn hear(&self, answered: &InquiryAnswered, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = answered.turn.and_then(|id| self.turn(id, pulse)) else { return };
        let Some(step) = turn.current.take() else { return };
        let settings = pulse.settings();
        let asker = turn.sender.clone();
        let view = settings.view(&asker);
        let by_model = turn.goes_back(settings.follow_up(&step.tool));
        let question = step.question.as_ref().map(|question| question.answered_by(&answered.output));
        if let (None, Some(question)) = (&answered.error, question)
            && let Some(next) = search::further(question, &answered.output, &view).filter(|_| !by_model)
        {
            turn.steps.push_front(next);
            return self.go_on(turn, pulse);
        }
        let known = match question {
            Some(Asked::WhyDid { topic, refused: false }) => self.recent.why(topic, &settings.zone),
            _ => None,
        };
        let known_before = (turn.recalled.as_slice(), turn.knowledge.as_slice());
        let (mut rests_on, mut grounds) = (Vec::new(), Vec::new());
        let mut told = |worded: Worded| {
            rests_on = worded.rests_on.iter().map(|ground| ground.episode.clone()).collect();
            grounds = worded.rests_on;
            worded.text
        };
        let words = match (&answered.error, question) {
            // The finds so far suffice.
            (Some(_), Some(question @ Asked::Since { .. })) => told(worded(question, &Json::Null, known_before, &view)),
            (Some(error), _) => format!("I could not look that up: {error}."),
            (None, Some(_)) if known.is_some() => known.unwrap_or_default(),
            (None, Some(question)) => told(worded(question, &answered.output, known_before, &view)),
            (None, None) if step.tool == FORESEEING => {
                let topic = step.params["tool_name"].as_str().unwrap_or_default().to_owned();
                let asked = Asked::Predict { topic };
                told(worded(&asked, &answered.output, known_before, &view))
            }
            (None, None) => {
                let outcome = json!({ "success": true, "output": answered.output });
                rests_on = evidence::ids(&answered.output);
                answer::outcome(&step.tool, &step.params, &outcome)
            }
        };
        if by_model {
            let (status, outcome) = match &answered.error {
                Some(error) => ("failed", error.clone()),
                None => ("done", answered.output.to_string()),
            };
            let deed = Deed { tool: step.tool, params: step.params, status: status.into(), outcome };
            turn.rest_on(evidence::ids(&answered.output));
            return self.think_on(turn, deed, words, pulse);
        }
        turn.rest_on(rests_on);
        turn.grounds.extend(grounds);
        let unknown = words.starts_with(answer::UNKNOWN) && matches!(question, Some(Asked::Recall(_)));
        if let Some((thing, _)) = whereabouts_asked(&turn.text).filter(|_| unknown && turn.steps.is_empty()) {
            return self.ask_place(turn, thing, Some(words), pulse);
        }
        turn.said.push(words);
        self.go_on(turn, pulse);
    }
}

impl Hears<ToolResult> for Turns {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        self.outcome_of_allowed(result, pulse);
        let Some(mut turn) = self.turn(result.turn, pulse) else { return };
        let Some(step) = turn.current.take_if(|step| step.tool == result.tool) else { return };
        if turn.unasked {
            return self.end_unasked(turn, summary(result), pulse);
        }
        turn.actions.push(summary(result));
        if step.tool == RESPOND && turn.reply.is_some() {
            return self.end(turn, result.success == Some(true), pulse);
        }
        if turn.mind == Mind::Model {
            let done = (step.tool.as_str(), &step.params);
            let deed = RecentDeed::new(pulse.now(), &turn.text, done, result.success, turn.decided.as_deref());
            pulse.keep(TurnsEvent::Did(Box::new(deed)));
        }
        // A question doesn't wait for a parked turn. It comes as words of its own.
        let doubt = if self.is_parked(&turn) { None } else { self.doubt_of(result, &turn, pulse) };
        let is_asked = doubt.is_some();
        let words = doubt.unwrap_or_else(|| answer::of_result(result));
        // An act that waits for a person must not be bypassed.
        if !is_asked && turn.goes_back(pulse.settings().follow_up(&step.tool)) {
            let status = turn.actions.last().map(|action| action.status).unwrap_or_default();
            let outcome = result.error.clone().unwrap_or_else(|| result.output.to_string());
            let deed = Deed { tool: step.tool, params: step.params, status, outcome };
            return self.think_on(turn, deed, words, pulse);
        }
        if turn.brief && result.success == Some(true) && pulse.settings().confirmed.contains(&result.tool) {
            if turn.said.last().is_none_or(|said| said != DONE) {
                turn.said.push(DONE.into());
            }
            return self.go_on(turn, pulse);
        }
        if is_asked {
            turn.said.append(&mut turn.outcomes);
        }
        turn.said.push(words);
        if result.success != Some(true) && !turn.steps.is_empty() {
            turn.said.push(format!("I left out the remaining {} steps because of that.", turn.steps.len()));
            turn.steps.clear();
        }
        self.go_on(turn, pulse);
    }
}

impl Hears<IntentRefused> for Turns {
    fn hear(&self, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        self.refusal_of_allowed(refused, pulse);
        if refused.rule == OUTCOME_UNKNOWN {
            return; // no step waits for it
        }
        let Some(mut turn) = self.turn(refused.turn, pulse) else { return };
        let Some(step) = turn.current.take_if(|step| step.tool == refused.tool) else { return };
        let status = match refused.refusal {
            Refused::Asked => "asked",
            Refused::Blocked => "blocked",
            Refused::Stopped => "stopped",
            Refused::Denied => "denied",
        };
        let (id, tool, params) = (refused.intent, refused.tool.clone(), step.params.clone());
        let reason = Some(format!("{}: {}", refused.rule, refused.reason));
        let action = ActionSummary { id, tool, params, status: status.into(), reason };
        if turn.unasked {
            self.refused_unasked(refused, &step.params, pulse);
            return self.end_unasked(turn, action, pulse);
        }
        turn.actions.push(action);
        if step.tool == RESPOND && turn.reply.is_some() {
            return self.end(turn, false, pulse);
        }
        let words = match (refused.refusal, refused.approval) {
            (Refused::Asked, Some(_)) => {
                let wanted = maxim_speech::Step {
                    tool: step.tool.clone(),
                    params: step.params.clone(),
                    certainty: turn.confidence,
                    pattern: String::new(),
                    others: Vec::new(),
                };
                self.asked_by_gate(&turn, refused, pulse);
                self.question_words(&turn, &wanted, refused, pulse).unwrap_or_default()
            }
            _ => answer::refused(&answer::Refusal {
                tool: refused.tool.clone(),
                rule: refused.rule.clone(),
                reason: refused.reason.clone(),
            }),
        };
        // An act that waits for a person, or was stopped by one, must not be bypassed. The model is told of other refusals, so that it
        // can find another way or explain.
        let is_refused = matches!(refused.refusal, Refused::Blocked | Refused::Denied);
        if is_refused && turn.goes_back(FollowUp::Process) {
            let outcome = format!("{}: {}", refused.rule, refused.reason);
            let deed = Deed { tool: step.tool, params: step.params, status: status.into(), outcome };
            return self.think_on(turn, deed, words, pulse);
        }
        turn.said.append(&mut turn.outcomes);
        turn.said.push(words);
        turn.steps.clear();
        self.go_on(turn, pulse);
    }
}
