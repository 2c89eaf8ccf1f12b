//! Shrinks a root that is too large for the store, so that the room can go on.
//!
//! A room may choose itself what to remove ([`Region::shed`]). For other rooms, or if that isn't enough, the largest
//! entries of its maps and lists are removed first. Then the front half of the longest one is removed: the oldest
//! entries, if they are in the order of time. Each step is tested: the rest must still deserialize as this room's
//! state.

use maxim_bus::bounds::ROOT;
use serde_json::Value as Json;

use super::Region;

/// The root shrinks to the bound divided by this, so that the next message doesn't make it too large again.
const LEFT: usize = 2;
/// Entries larger than this many bytes are removed first. No door admits such an entry now.
const LARGE: usize = 64 << 10;
/// Maps and lists with fewer entries are left alone.
const SEVERAL: usize = 8;
/// Steps at most; each removes a large part of the rest.
const STEPS: usize = 64;

/// What a room removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shed {
    /// Bytes of the root before and after.
    pub before: usize,
    pub after: usize,
    /// Entries removed.
    pub entries: usize,
}

/// The size of a state as the store would hold it, in bytes.
fn size<R: Region>(state: &R) -> usize {
    serde_json::to_vec(state).map_or(0, |bytes| bytes.len())
}

/// Makes a state of this many bytes small enough for the store; none if that is impossible.
pub(super) fn shed<R: Region>(state: &mut R, before: usize) -> Option<Shed> {
    let most = ROOT.limit / LEFT;
    let mut entries = state.shed(most);
    let mut after = size(state);
    if after > most {
        entries += shed_json(state, most)?;
        after = size(state);
    }
    Some(Shed { before, after, entries })
}

/// The path of an entry: the members and positions that lead to it.
type Path = Vec<Step>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Place(usize),
}

fn shed_json<R: Region>(state: &mut R, most: usize) -> Option<usize> {
    let mut root = serde_json::to_value(&*state).ok()?;
    let mut gone = 0;
    let mut refused: Vec<Path> = Vec::new();
    for _ in 0..STEPS {
        let bytes = root.to_string().len();
        if bytes <= most {
            break;
        }
        // All entries that are too large at once; otherwise the front half of the largest map or list.
        let mut tried = root.clone();
        let large = take_large(&mut tried);
        let (taken, of) = match large {
            0 => {
                let path = heaviest(&tried, &refused)?;
                (halve(at(&mut tried, &path)?), Some(path))
            }
            taken => (taken, None),
        };
        match (serde_json::from_value::<R>(tried.clone()), of) {
            (Ok(_), _) if taken > 0 => {
                root = tried;
                gone += taken;
            }
            (_, Some(path)) => refused.push(path),
            // The large part is required for a valid state. Halve it if possible.
            (_, None) => {
                let path = heaviest(&root, &refused)?;
                let mut halved = root.clone();
                let taken = halve(at(&mut halved, &path)?);
                if taken > 0 && serde_json::from_value::<R>(halved.clone()).is_ok() {
                    (root, gone) = (halved, gone + taken);
                } else {
                    refused.push(path);
                }
            }
        }
    }
    (root.to_string().len() <= most).then_some(())?;
    *state = serde_json::from_value(root).ok()?;
    Some(gone)
}

/// Removes entries that alone are too large, deepest first, and shortens such texts; returns how many.
fn take_large(value: &mut Json) -> usize {
    match value {
        Json::Object(members) => {
            let inner: usize = members.values_mut().map(take_large).sum();
            let before = members.len();
            members.retain(|key, _| key.len() <= LARGE);
            inner + before - members.len()
        }
        Json::Array(items) => {
            // A list item is removed whole, before it could be shortened.
            let before = items.len();
            items.retain(|item| item.as_str().is_none_or(|text| text.len() <= LARGE));
            before - items.len() + items.iter_mut().map(take_large).sum::<usize>()
        }
        Json::String(text) if text.len() > LARGE => {
            text.truncate(text.floor_char_boundary(LARGE / 2));
            1
        }
        _ => 0,
    }
}

/// The largest map or list with several entries whose own parts are not as large, so that halving it removes a good
/// part.
fn heaviest(root: &Json, refused: &[Path]) -> Option<Path> {
    let (mut best, mut path) = (None, Vec::new());
    seek(root, &mut path, refused, &mut best);
    best.map(|(_, path)| path)
}

fn seek(value: &Json, path: &mut Path, refused: &[Path], best: &mut Option<(usize, Path)>) -> usize {
    let mut parts = Vec::new();
    match value {
        Json::Object(members) => {
            for (name, member) in members {
                path.push(Step::Member(name.clone()));
                parts.push(name.len() + 3 + seek(member, path, refused, best));
                path.pop();
            }
        }
        Json::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push(Step::Place(place));
                parts.push(1 + seek(item, path, refused, best));
                path.pop();
            }
        }
        other => return other.to_string().len(),
    }
    let all: usize = 2 + parts.iter().sum::<usize>();
    let largest = parts.iter().max().copied().unwrap_or(0);
    let halving = all - largest;
    // Fewer entries are probably the members of a record, which must stay complete.
    if parts.len() >= SEVERAL
        && !path.is_empty()
        && best.as_ref().is_none_or(|(known, _)| halving > *known)
        && !refused.contains(path)
    {
        *best = Some((halving, path.clone()));
    }
    all
}

fn at<'a>(root: &'a mut Json, path: &Path) -> Option<&'a mut Json> {
    path.iter().try_fold(root, |value, step| match step {
        Step::Member(name) => value.get_mut(name.as_str()),
        Step::Place(place) => value.get_mut(*place),
    })
}

fn halve(value: &mut Json) -> usize {
    match value {
        Json::Object(members) => {
            let first: Vec<String> = members.keys().take(members.len().div_ceil(2)).cloned().collect();
            first.iter().for_each(|key| drop(members.remove(key)));
            first.len()
        }
        Json::Array(items) => items.drain(..items.len().div_ceil(2)).count(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use maxim_bus::signals::recall::ReportStats;
    use maxim_bus::{RegionName, Stage};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::rig::Rig;
    use crate::wiring;
    use crate::{Hears, Pulse};

    /// A room that stores everything it hears, which no real room should.
    #[derive(Default, Serialize, Deserialize)]
    struct Hoard {
        named: BTreeMap<String, u64>,
        order: VecDeque<String>,
        last: String,
        fixed: (u64, u64),
    }

    wiring!(Hoard { hears: [ReportStats], back: [], emits: [] });

    impl Region for Hoard {
        const NAME: RegionName = "hoard";
        const STAGE: Stage = Stage::Memory;
        type Event = String;
        type Settings = usize;

        fn apply(&mut self, event: String) {
            self.named.insert(event.clone(), 1);
            self.order.push_back(event.clone());
            self.last = event;
        }
    }

    impl Hears<ReportStats> for Hoard {
        fn hear(&self, _: &ReportStats, pulse: &mut Pulse<'_, Self>) {
            let length = *pulse.settings();
            pulse.keep(format!("{}{}", self.order.len(), "x".repeat(length)));
        }
    }

    #[test]
    fn a_root_that_is_too_large_is_shed_and_the_room_goes_on_over_a_crash() {
        for length in [900_000, 40_000] {
            let mut rig: Rig<Hoard> = Rig::new(length, |_, _| {});
            for _ in 0..(40_000_000 / length) {
                rig.send(ReportStats {});
            }
            rig.crash();
            rig.send(ReportStats {});
            let state = rig.region();
            assert!(size(state) < 2 * ROOT.limit, "{}", size(state));
            assert!(state.last.starts_with(|c: char| c.is_ascii_digit()));
        }
    }

    #[test]
    fn what_no_door_lets_in_goes_first_and_the_rest_stays() {
        let mut state = Hoard { fixed: (1, 2), ..Hoard::default() };
        (0..100).for_each(|n| state.apply(format!("small {n}")));
        (0..22).for_each(|n| state.apply(format!("{n}{}", "x".repeat(900_000))));
        let before = size(&state);
        let told = shed(&mut state, before).expect("it can be shed");
        assert!(told.before > ROOT.limit && told.after <= ROOT.limit / LEFT, "{told:?}");
        assert_eq!((state.named.len(), state.order.len(), state.fixed), (100, 100, (1, 2)));
    }

    #[test]
    fn of_many_small_ones_the_oldest_go() {
        let mut state = Hoard::default();
        (0..2_000).for_each(|n| state.apply(format!("{n:06}{}", "x".repeat(10_000))));
        let before = size(&state);
        shed(&mut state, before).expect("it can be shed");
        assert!(size(&state) <= ROOT.limit / LEFT);
        assert!(state.named.keys().next_back().is_some_and(|key| key.starts_with("001999")));
        assert!(state.order.back().is_some_and(|key| key.starts_with("001999")));
    }
}
