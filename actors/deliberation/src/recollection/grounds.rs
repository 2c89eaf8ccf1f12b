//! The grounds of the last answer to each person, for "why?". Ids and times of episodes are kept, never their words, so that
//! a forgotten episode isn't told.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_speech::answer::Evidence;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::asked::{Asked, StepWanted, recall};

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

/// The look-up of grounds. `None`: nothing is known of them.
pub(crate) fn looked_up(grounds: &[Ground]) -> Option<StepWanted> {
    let ids: Vec<&str> = grounds.iter().take(TOLD).map(|ground| ground.episode.as_str()).collect();
    (!ids.is_empty()).then(|| recall(json!({ "ids": ids, "limit": TOLD }), Asked::Grounds))
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
    fn the_first_grounds_are_looked_up_at_once() {
        let ground = |n: i64| Ground { episode: format!("e{n}"), at: Timestamp::from_second(n).expect("a time") };
        let many: Vec<Ground> = (1..6).map(ground).collect();
        let step = looked_up(&many).expect("grounds");
        assert_eq!(step.params, json!({ "ids": ["e1", "e2", "e3"], "limit": TOLD }));
    }
}
