//! Records that left their layers a short time ago. A room that taught with what it had read of one before may say so after
//! it is gone: an edge to it would never be taken out again.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::concepts::MemoryRef;
use serde::{Deserialize, Serialize};

/// How late a room may say something of a record that is gone: longer than a promotion waits for a room (10 s), over
/// several of its steps. An episode that is imported again under its old id is a source again after that.
const LATE: SignedDuration = SignedDuration::from_mins(5);
/// Records that are held. A sleep that lets more go has promoted before it does.
const MOST: usize = 1024;

/// What is gone, the newest last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gone(VecDeque<(Timestamp, MemoryRef)>);

impl Gone {
    pub fn note(&mut self, records: Vec<MemoryRef>, at: Timestamp) {
        self.0.extend(records.into_iter().map(|record| (at, record)));
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
        while self.0.front().is_some_and(|(gone, _)| at.duration_since(*gone) > LATE) {
            self.0.pop_front();
        }
    }

    /// Whether a record is among them now.
    pub fn holds(&self, record: &MemoryRef, now: Timestamp) -> bool {
        self.0.iter().rev().take_while(|(at, _)| now.duration_since(*at) <= LATE).any(|(_, gone)| gone == record)
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::concepts::Layer;

    use super::*;

    #[test]
    fn what_is_gone_is_held_for_minutes_and_so_many() {
        let at = |seconds: i64| Timestamp::from_second(seconds).expect("a time");
        let episode = |id: &str| MemoryRef::new(Layer::Hippocampus, id.to_owned());
        let mut gone = Gone::default();
        gone.note(vec![episode("a")], at(0));
        gone.note(vec![episode("b")], at(200));
        assert!(gone.holds(&episode("a"), at(300)) && !gone.holds(&episode("a"), at(301)));
        assert!(gone.holds(&episode("b"), at(301)) && !gone.holds(&episode("c"), at(301)));
        gone.note((0..MOST).map(|n| episode(&format!("n{n}"))).collect(), at(301));
        assert_eq!((gone.0.len(), gone.holds(&episode("b"), at(301))), (MOST, false));
    }
}
