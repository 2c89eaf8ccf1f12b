//! Tokens and money of the hour, the day and the session.

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
    /// The process that is counted, and its tokens.
    #[serde(default)]
    session: Option<(u64, u64)>,
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
        self.session = Some((boot, of_session(self.session, boot).saturating_add(tokens)));
        self.money.session = Some((boot, of_session(self.money.session, boot) + money));
    }

    /// Why a call of this cost isn't made.
    pub(super) fn objection(&self, now: Timestamp, cost: Cost, settings: &PrefrontalSettings) -> Option<String> {
        let budgets = [
            (within(self.hour, HOUR, now).1, Some(settings.tokens_per_hour), "an hour"),
            (within(self.day, DAY, now).1, Some(settings.tokens_per_day), "a day"),
            (
                of_session(self.session, settings.boot),
                Some(settings.tokens_per_session).filter(|limit| *limit > 0),
                "a session",
            ),
        ];
        let passed = budgets.into_iter().find_map(|(spent, budget, per)| {
            budget.filter(|budget| spent.saturating_add(cost.tokens) > *budget).map(|budget| (budget, per))
        });
        if let Some((budget, per)) = passed {
            return Some(format!("the call would pass the budget of {budget} tokens {per}"));
        }
        let limits = &settings.money;
        let spent = [
            (within(self.money.hour, HOUR, now).1, limits.per_hour, "an hour"),
            (within(self.money.day, DAY, now).1, limits.per_day, "a day"),
            (of_session(self.money.session, settings.boot), limits.per_session, "a session"),
        ];
        let passed = spent.into_iter().find(|(spent, limit, _)| *limit > 0.0 && spent + cost.money > *limit);
        passed.map(|(_, limit, per)| format!("the call would pass the limit of {limit} in money {per}"))
    }
}

/// What this process has spent.
fn of_session<T: Default>(counted: Option<(u64, T)>, boot: u64) -> T {
    counted.filter(|(of, _)| *of == boot).map_or_else(T::default, |(_, spent)| spent)
}

/// Start and sum of the span that is being counted; a new one when the last is over.
fn within<T: Default>(counted: Option<(Timestamp, T)>, span: SignedDuration, now: Timestamp) -> (Timestamp, T) {
    counted.filter(|(start, _)| now < *start + span).unwrap_or((now, T::default()))
}
