//! Tokens of the hour and the day.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::model::PrefrontalSettings;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// What was spent in the spans that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Start of the hour that is counted, and its tokens.
    hour: Option<(Timestamp, u64)>,
    /// The same for the day.
    #[serde(default)]
    day: Option<(Timestamp, u64)>,
}

impl Spent {
    pub(super) fn pay(&mut self, at: Timestamp, tokens: u64) {
        for (counted, span) in [(&mut self.hour, HOUR), (&mut self.day, DAY)] {
            let (start, spent) = within(*counted, span, at);
            *counted = Some((start, spent.saturating_add(tokens)));
        }
    }

    /// Why a call of this cost isn't made.
    pub(super) fn objection(&self, now: Timestamp, cost: u64, settings: &PrefrontalSettings) -> Option<String> {
        let budgets =
            [(self.hour, HOUR, settings.tokens_per_hour, "an hour"), (self.day, DAY, settings.tokens_per_day, "a day")];
        let passed = budgets.into_iter().find(|(counted, span, budget, _)| {
            let (_, spent) = within(*counted, *span, now);
            spent.saturating_add(cost) > *budget
        });
        passed.map(|(_, _, budget, per)| format!("the call would pass the budget of {budget} tokens {per}"))
    }
}

/// Start and tokens of the span that is being counted; a new one when the last is over.
fn within(counted: Option<(Timestamp, u64)>, span: SignedDuration, now: Timestamp) -> (Timestamp, u64) {
    counted.filter(|(start, _)| now < *start + span).unwrap_or((now, 0))
}
