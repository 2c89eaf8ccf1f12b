//! Tokens of the hour and the day, and money of these and the session.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::model::PrefrontalSettings;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// What was spent in the spans that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Start of the hour that is counted, and its tokens.
    hour: Option<(Timestamp, u64)>,
    /// The same for the day.
    #[serde(default)]
    day: Option<(Timestamp, u64)>,
    #[serde(default)]
    money: Money,
}

/// By the prices of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Money {
    hour: Option<(Timestamp, f64)>,
    day: Option<(Timestamp, f64)>,
    /// The process that is counted.
    session: Option<(u64, f64)>,
}

/// What a call costs at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub tokens: u64,
    pub money: f64,
}

impl Spent {
    pub(super) fn pay(&mut self, at: Timestamp, paid: Cost, boot: u64) {
        let Cost { tokens, money } = paid;
        for (counted, span) in [(&mut self.hour, HOUR), (&mut self.day, DAY)] {
            let (start, spent) = within(*counted, span, at);
            *counted = Some((start, spent.saturating_add(tokens)));
        }
        for (counted, span) in [(&mut self.money.hour, HOUR), (&mut self.money.day, DAY)] {
            let (start, spent) = within(*counted, span, at);
            *counted = Some((start, spent + money));
        }
        self.money.session = Some((boot, self.of_session(boot) + money));
    }

    fn of_session(&self, boot: u64) -> f64 {
        self.money.session.filter(|(counted, _)| *counted == boot).map_or(0.0, |(_, spent)| spent)
    }

    /// Why a call of this cost isn't made.
    pub(super) fn objection(&self, now: Timestamp, cost: Cost, settings: &PrefrontalSettings) -> Option<String> {
        let budgets =
            [(self.hour, HOUR, settings.tokens_per_hour, "an hour"), (self.day, DAY, settings.tokens_per_day, "a day")];
        let passed = budgets.into_iter().find(|(counted, span, budget, _)| {
            let (_, spent) = within(*counted, *span, now);
            spent.saturating_add(cost.tokens) > *budget
        });
        if let Some((_, _, budget, per)) = passed {
            return Some(format!("the call would pass the budget of {budget} tokens {per}"));
        }
        let limits = &settings.money;
        let spent = [
            (within(self.money.hour, HOUR, now).1, limits.per_hour, "an hour"),
            (within(self.money.day, DAY, now).1, limits.per_day, "a day"),
            (self.of_session(settings.boot), limits.per_session, "a session"),
        ];
        let passed = spent.into_iter().find(|(spent, limit, _)| *limit > 0.0 && spent + cost.money > *limit);
        passed.map(|(_, limit, per)| format!("the call would pass the limit of {limit} in money {per}"))
    }
}

/// Start and sum of the span that is being counted; a new one when the last is over.
fn within<T: Default>(counted: Option<(Timestamp, T)>, span: SignedDuration, now: Timestamp) -> (Timestamp, T) {
    counted.filter(|(start, _)| now < *start + span).unwrap_or((now, T::default()))
}
