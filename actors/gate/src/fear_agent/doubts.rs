//! Actions that may already have happened. They aren't repeated automatically: a person decides.
//!
//! Law: a person is always asked, despite grants and a model's review. The question stays open for days, because the
//! person who knows may be away when the brain comes back. A no or a missing answer leaves it as it is, and teaches
//! nothing about such actions.

use jiff::SignedDuration;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::intent::OUTCOME_UNKNOWN;
use maxim_bus::signals::outcome::OutcomeDoubted;

use super::reading::Files;
use super::region::{FearAgent, GateEntry, GateStatus};
use crate::cleared_intent::Terms;
use maxim_region::{Gather, Hears, Pulse};

/// How long the question stays open.
const WAITS: SignedDuration = SignedDuration::from_hours(7 * 24);
const REASON: &str = "it may already be done, and its outcome is not known; a yes does it again, a no leaves it";

impl GateEntry {
    pub(super) fn is_doubt(&self) -> bool {
        self.rule == OUTCOME_UNKNOWN
    }
}

impl Hears<OutcomeDoubted> for FearAgent {
    fn hear(&self, doubted: &OutcomeDoubted, pulse: &mut Pulse<'_, Self>) {
        let started = &doubted.started;
        // No person asked for it, so no person is asked about it.
        if started.intent.unasked {
            return;
        }
        let entry = GateEntry {
            intent: started.intent.clone(),
            id: started.action,
            trust: pulse.trust(),
            rule: OUTCOME_UNKNOWN.into(),
            reason: REASON.into(),
            status: GateStatus::Judging,
            expires: pulse.now().later(WAITS),
            gather: Gather::default(),
            predicted: None,
            assessed: None,
            terms: Terms { powers: started.powers.clone(), called: started.called.clone(), sealed: None },
            asks: Vec::new(),
            grants: Vec::new(),
            always: None,
            any_arguments: None,
            files: Files::default(),
            question: None,
            replaced: Vec::new(),
        };
        Self::put_question(entry, pulse);
    }
}
