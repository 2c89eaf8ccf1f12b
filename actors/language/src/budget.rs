//! What calls of models may cost: tokens and money of the hour, the day and the session. Whoever calls keeps the sums of all
//! replies, and refuses by them before a call is made.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::mode::MoneyLimits;
use serde::{Deserialize, Serialize};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A call that would pass one of these isn't made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Tokens in an hour; 0 allows none.
    pub tokens_per_hour: u64,
    /// Tokens in a day; 0 allows none.
    pub tokens_per_day: u64,
    /// Tokens from the start of the process on; 0 is no limit.
    pub tokens_per_session: u64,
    pub money: MoneyLimits,
}

/// What was spent in the spans that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Start of the hour that is counted, and its tokens.
    hour: Option<(Timestamp, u64)>,
    /// The same for the day.
    day: Option<(Timestamp, u64)>,
    /// The process that is counted, and its tokens.
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
pub struct Cost {
    pub tokens: u64,
    pub money: f64,
}

impl Spent {
    pub fn pay(&mut self, at: Timestamp, paid: Cost, boot: u64) {
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

    /// Why a call of this cost isn't made by this process.
    pub fn objection(&self, now: Timestamp, cost: Cost, budget: &Budget, boot: u64) -> Option<String> {
        let budgets = [
            (within(self.hour, HOUR, now).1, Some(budget.tokens_per_hour), "an hour"),
            (within(self.day, DAY, now).1, Some(budget.tokens_per_day), "a day"),
            (of_session(self.session, boot), Some(budget.tokens_per_session).filter(|limit| *limit > 0), "a session"),
        ];
        let passed = budgets.into_iter().find_map(|(spent, budget, per)| {
            budget.filter(|budget| spent.saturating_add(cost.tokens) > *budget).map(|budget| (budget, per))
        });
        if let Some((budget, per)) = passed {
            return Some(format!("the call would pass the budget of {budget} tokens {per}"));
        }
        let limits = &budget.money;
        let spent = [
            (within(self.money.hour, HOUR, now).1, limits.per_hour, "an hour"),
            (within(self.money.day, DAY, now).1, limits.per_day, "a day"),
            (of_session(self.money.session, boot), limits.per_session, "a session"),
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
    counted.filter(|(start, _)| now < start.later(span)).unwrap_or((now, T::default()))
}
