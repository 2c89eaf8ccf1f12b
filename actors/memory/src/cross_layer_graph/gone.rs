//! Recently removed records. A room that used such a record may still report an edge to it afterwards; that edge
//! would never be removed again.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::concepts::MemoryRef;
use serde::{Deserialize, Serialize};

/// How late a room may report something about a removed record: longer than a promotion waits for a room (10 s), over
/// several steps. After that, an episode imported again under its old id counts as a source again.
const LATE: SignedDuration = SignedDuration::from_mins(5);
/// Maximum number of remembered records. A sleep that removes more has promoted before it does.
const MOST: usize = 1024;

/// A removed record, when it was removed, and whether a person had it forgotten.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct One(Timestamp, MemoryRef, bool);

/// Removed records, the newest last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gone(VecDeque<One>);

impl Gone {
    pub fn note(&mut self, records: Vec<MemoryRef>, at: Timestamp, forgotten: bool) {
        self.0.extend(records.into_iter().map(|record| One(at, record, forgotten)));
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
        while self.0.front().is_some_and(|gone| at.duration_since(gone.0) > LATE) {
            self.0.pop_front();
        }
    }

    /// Whether a record was removed recently.
    pub fn holds(&self, record: &MemoryRef, now: Timestamp) -> bool {
        self.of(record, now).next().is_some()
    }

    /// Whether a person recently had it forgotten.
    pub fn holds_forgotten(&self, record: &MemoryRef, now: Timestamp) -> bool {
        self.of(record, now).any(|One(.., forgotten)| *forgotten)
    }

    fn of<'a>(&'a self, record: &'a MemoryRef, now: Timestamp) -> impl Iterator<Item = &'a One> {
        let lately = self.0.iter().rev().take_while(move |gone| now.duration_since(gone.0) <= LATE);
        lately.filter(move |gone| gone.1 == *record)
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
        gone.note(vec![episode("a")], at(0), false);
        gone.note(vec![episode("b")], at(200), true);
        assert!(gone.holds(&episode("a"), at(300)) && !gone.holds(&episode("a"), at(301)));
        assert!(gone.holds(&episode("b"), at(301)) && !gone.holds(&episode("c"), at(301)));
        assert!(gone.holds_forgotten(&episode("b"), at(301)) && !gone.holds_forgotten(&episode("a"), at(300)));
        gone.note((0..MOST).map(|n| episode(&format!("n{n}"))).collect(), at(301), false);
        let written = serde_json::to_string(&gone).expect("plain data");
        let read: Gone = serde_json::from_str(&written).expect("what was written");
        assert_eq!(serde_json::to_string(&read).expect("plain data"), written);
        assert_eq!((gone.0.len(), gone.holds(&episode("b"), at(301))), (MOST, false));
    }
}
