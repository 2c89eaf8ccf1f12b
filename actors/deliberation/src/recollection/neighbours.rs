//! The event next before or after another one.

use jiff::Timestamp;
use maxim_speech::answer::{self, Evidence, Reply};
use maxim_speech::question::wanted::Wanted;
use maxim_speech::{Side, Whose};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, narrow, recall};
use super::evidence::{evidence, is_of};
use super::search::ENOUGH;

/// A search for the event next to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    side: Side,
    event: Wanted,
    about: String,
    whose: Whose,
    /// The time of the event, once it is found.
    at: Option<Timestamp>,
    it: Json,
}

/// The look-up of the event. Its neighbour comes after that.
pub(crate) fn beside(side: Side, event: Wanted, about: String, whose: Whose) -> StepWanted {
    let params = json!({ "query": event.topic, "limit": 10 });
    recall(params, Asked::Beside(Beside { side, event, about, whose, at: None, it: Json::Null }))
}

impl Beside {
    fn event(&self, found: &Json, view: &View<'_>) -> Option<Evidence> {
        let all = evidence(found, view);
        answer::best(&self.event, &all, view.zone).cloned()
    }

    /// The find nearest to the event.
    fn next(&self, found: &Json, at: Timestamp, view: &View<'_>) -> Option<Evidence> {
        let it = self.event(&self.it, view).map(|it| it.text).unwrap_or_default();
        let is_next = |one: &Evidence| {
            let is_there = one.at.is_some_and(|when| match self.side {
                Side::Before => when < at,
                Side::After => when > at,
            });
            is_there && !answer::is_alike(&one.text, &it) && is_of(one, self.whose, &self.about, view.asker)
        };
        let all = evidence(found, view).into_iter().filter(is_next);
        match self.side {
            Side::Before => all.max_by_key(|one| one.at),
            Side::After => all.min_by_key(|one| one.at),
        }
    }

    /// The look-up of the neighbours, the nearest first.
    pub(super) fn further(&self, output: &Json, view: &View<'_>) -> Option<StepWanted> {
        let at = self.event(output, view).filter(|_| self.at.is_none())?.at?;
        let mut params = match self.side {
            Side::Before => json!({ "time_before": at, "limit": ENOUGH }),
            Side::After => json!({ "time_after": at, "oldest": true, "limit": ENOUGH }),
        };
        narrow(&mut params, self.whose, &self.about, view.asker);
        Some(recall(params, Asked::Beside(Self { at: Some(at), it: output.clone(), ..self.clone() })))
    }

    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let event = self.at.and_then(|_| self.event(&self.it, view));
        let next = self.at.and_then(|at| self.next(output, at, view));
        let asker = Some(view.asker);
        let text = answer::beside(self.side, &self.event.topic, event.as_ref(), next.as_ref(), asker, view.zone);
        let told: Vec<Evidence> = next.into_iter().chain(event).collect();
        (Reply { text, rests_on: (0..told.len()).collect(), known: !told.is_empty() }, told)
    }
}
