//! Acts with an unknown outcome: asks the person with the wish whether to do it again. The gate holds the question.
//!
//! Law: one message. If the outcome is told in a turn or to the person with the wish, that message is the question. If no such
//! message is left, the question comes as words of its own.

use maxim_bus::MessageId;
use maxim_bus::signals::approval::code_of;
use maxim_bus::signals::outbox::is_outside;
use maxim_bus::signals::outcome::{OutcomeDoubted, ToolResult};
use serde_json::json;

use super::region::Turns;
use super::turn::Turn;
use maxim_bus::rooms::RESPOND;
use maxim_region::{Hears, Pulse};
use maxim_speech::answer;
use maxim_tools::ToolSpec;

impl Turns {
    /// The question whether to do it again, if the gate asks that about this result. It is noted as asked.
    pub(super) fn doubt_of(&self, result: &ToolResult, turn: &Turn, pulse: &mut Pulse<'_, Self>) -> Option<String> {
        // As the tracker has it: the outbox knows which words went out, and a read-only tool can be repeated.
        let is_repeatable = pulse.settings().meant(&result.tool).is_some_and(ToolSpec::is_repeatable);
        if !result.is_doubted() || result.tool == RESPOND || is_repeatable {
            return None;
        }
        let question = self.put_doubt(turn, result.action, pulse);
        Some(answer::doubted(&result.tool, &result.params, result.known(), &question))
    }

    fn put_doubt(&self, turn: &Turn, action: MessageId, pulse: &mut Pulse<'_, Self>) -> answer::Question {
        self.asked_again(turn, action, pulse);
        let id = (!is_outside(&turn.channel)).then(|| action.to_string());
        answer::Question { code: code_of(action), id, until: None, always: None }
    }
}

impl Hears<OutcomeDoubted> for Turns {
    /// The question as words of its own: the turn may be over.
    fn hear(&self, doubted: &OutcomeDoubted, pulse: &mut Pulse<'_, Self>) {
        let started = &doubted.started;
        let intent = &started.intent;
        // The outcome comes first. The person who heard of it was asked with it.
        if intent.unasked || self.questions.is_wanted(started.action) {
            return;
        }
        let turn = Turn::new(intent.turn, pulse.trust(), &intent.channel, &intent.recipient);
        let question = self.put_doubt(&turn, started.action, pulse);
        let tool = started.called.as_ref().unwrap_or(&intent.tool);
        let message = answer::doubted(tool, &intent.params, &doubted.known, &question);
        pulse.emit_trusted(turn.id, turn.trust, self.intent(&turn, RESPOND, json!({ "message": message })));
    }
}
