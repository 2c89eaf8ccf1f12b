//! The grounds of the last answer to each person, for "why?". Ids and times of episodes are kept, never their words, so that
//! a forgotten episode isn't told.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_speech::answer::Evidence;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::asked::{Asked, StepWanted, recall};
use super::evidence::{episodes, joined};
use super::search::PAGE;

/// People whose last answer is remembered.
const PEOPLE: usize = 256;
/// Episodes that are told.
const TOLD: usize = 3;

/// An episode that an answer rested on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    pub episode: String,
    pub at: Timestamp,
}

/// The grounds in a list of evidence: each piece with a known episode and time.
pub(super) fn of(evidence: &[Evidence]) -> Vec<Ground> {
    let known = evidence.iter().filter(|one| !one.episode.is_empty());
    known.filter_map(|one| Some(Ground { episode: one.episode.clone(), at: one.at? })).collect()
}

/// By `channel/person`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grounds(BTreeMap<String, Vec<Ground>>);

impl Grounds {
    /// Keeps the grounds of the last answer. An answer without grounds replaces the older grounds too.
    pub(crate) fn keep(&mut self, who: String, grounds: Vec<Ground>) {
        if grounds.is_empty() {
            self.0.remove(&who);
        } else if self.0.len() < PEOPLE || self.0.contains_key(&who) {
            self.0.insert(who, grounds);
        }
    }

    pub(crate) fn of(&self, who: &str) -> &[Ground] {
        self.0.get(who).map_or(&[], Vec::as_slice)
    }
}

/// A look-up of grounds, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recounting {
    left: Vec<Ground>,
    found: Json,
}

/// The first look-up of grounds. `None`: nothing is known of them.
pub(crate) fn looked_up(grounds: &[Ground]) -> Option<StepWanted> {
    let left: Vec<Ground> = grounds.iter().take(TOLD).cloned().collect();
    Recounting { left, found: Json::Null }.look()
}

impl Recounting {
    fn look(self) -> Option<StepWanted> {
        let at = self.left.first()?.at;
        let params = json!({ "time_after": at, "time_before": at, "limit": PAGE });
        Some(recall(params, Asked::Grounds(self)))
    }

    /// The finds so far, with the episode that was looked for.
    pub(super) fn all(&self, output: &Json) -> Json {
        let wanted = self.left.first().map(|ground| &ground.episode);
        let it: Vec<_> = episodes(output).into_iter().filter(|one| Some(&one.id) == wanted).collect();
        joined(&self.found, &json!({ "results": it }))
    }

    pub(super) fn further(&self, output: &Json) -> Option<StepWanted> {
        let left = self.left.iter().skip(1).cloned().collect();
        Self { left, found: self.all(output) }.look()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_rests_on_nothing_takes_the_place_of_the_one_before() {
        let ground = Ground { episode: "e1".into(), at: Timestamp::UNIX_EPOCH };
        let mut grounds = Grounds::default();
        grounds.keep("http/anna".into(), vec![ground.clone()]);
        assert_eq!((grounds.of("http/anna"), grounds.of("http/bo")), (&[ground.clone()][..], &[][..]));
        assert!(looked_up(grounds.of("http/anna")).is_some() && looked_up(grounds.of("http/bo")).is_none());
        grounds.keep("http/anna".into(), vec![]);
        assert!(grounds.of("http/anna").is_empty());
    }

    #[test]
    fn one_after_the_other_is_looked_up() {
        let ground = |n: i64| Ground { episode: format!("e{n}"), at: Timestamp::from_second(n).expect("a time") };
        let many: Vec<Ground> = (1..6).map(ground).collect();
        let mut step = looked_up(&many);
        let mut looks = 0;
        while let Some(StepWanted { question: Some(Asked::Grounds(asked)), .. }) = step {
            looks += 1;
            step = asked.further(&Json::Null);
        }
        assert_eq!(looks, TOLD);
    }
}
