//! Tells who wanted something that nobody knows whether it was done, and what to answer. The gate holds the question.

use maxim_bus::signals::approval::code_of;
use maxim_bus::signals::outbox::is_outside;
use maxim_bus::signals::outcome::OutcomeDoubted;
use serde_json::json;

use super::answer;
use super::region::Habit;
use super::turn::Turn;
use crate::action::executor::RESPOND;
use crate::region::{Hears, Pulse};

impl Hears<OutcomeDoubted> for Habit {
    /// As words of its own: the turn may be over long since.
    fn hear(&self, doubted: &OutcomeDoubted, pulse: &mut Pulse<'_, Self>) {
        let started = &doubted.started;
        let intent = &started.intent;
        if intent.unasked {
            return;
        }
        let turn = Turn::new(intent.turn, pulse.trust(), &intent.channel, &intent.recipient);
        self.asked_again(&turn, started.action, pulse);
        let question = answer::Question {
            code: code_of(started.action),
            id: (!is_outside(&turn.channel)).then(|| started.action.to_string()),
            until: None,
        };
        let tool = started.called.as_ref().unwrap_or(&intent.tool);
        let message = answer::doubted(tool, &intent.params, &question);
        pulse.emit_trusted(turn.id, turn.trust, self.intent(&turn, RESPOND, json!({ "message": message })));
    }
}
