use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::hippocampus::model::{Action, Outcome};

fn episode(n: u32) -> EpisodicMemory {
    let mut episode = EpisodicMemory::new(format!("e{n}"), Timestamp::from_second(i64::from(n) * 60).expect("a time"));
    episode.context.goal = Some(format!("goal {}", n % 5));
    episode.context.mode = Some(if n.is_multiple_of(2) { "active" } else { "passive" }.into());
    episode.action = Some(Action { tool: format!("tool_{}", n % 3), ..Action::default() });
    episode.perception.objects = vec![format!("Object-{}", n % 97), "cup".into()];
    episode.perception.people = if n.is_multiple_of(11) { vec!["Anna".into()] } else { vec![] };
    let success = [Some(true), Some(false), None][n as usize % 3];
    episode.outcome = Some(Outcome { success, ..Outcome::default() });
    episode
}

fn filter(fields: serde_json::Value) -> EpisodeFilter {
    serde_json::from_value(fields).expect("fields of a filter")
}

fn fill(count: u32, mut after: impl FnMut(&mut KeyIndex)) -> KeyIndex {
    let mut index = KeyIndex::new();
    for n in 0..count {
        index.add(n, &episode(n)).expect("ascending");
        after(&mut index);
    }
    index
}

/// The results of scanning all episodes, newest first.
fn scan(count: u32, holds: impl Fn(u32) -> bool) -> Vec<u32> {
    (0..count).rev().filter(|n| holds(*n)).collect()
}

#[test]
fn every_field_finds_what_a_scan_finds_sealed_or_not() {
    let count = 13_000;
    let open = fill(count, |_| ());
    let sealed = fill(count, |index| {
        index.seal();
    });
    assert_eq!(sealed.segments().count(), 6);
    let mut closed = fill(count, |index| {
        index.seal();
    });
    closed.seal_all();
    let loaded = KeyIndex::from_segments(closed.segments().cloned().collect()).expect("sound");
    let cases = [
        (filter(json!({"goal": "Goal  3"})), scan(count, |n| n % 5 == 3)),
        (filter(json!({"tool": "tool-1", "goal": "goal 2"})), scan(count, |n| n % 3 == 1 && n % 5 == 2)),
        (filter(json!({"object": "object 96"})), scan(count, |n| n % 97 == 96)),
        (filter(json!({"object": "cup", "person": "anna"})), scan(count, |n| n % 11 == 0)),
        (filter(json!({"success": false, "mode": "ACTIVE"})), scan(count, |n| n % 3 == 1 && n % 2 == 0)),
        (filter(json!({"object": "cup", "success": true, "mode": "active"})), scan(count, |n| n % 6 == 0)),
        (filter(json!({"person": "Nobody"})), vec![]),
        (
            filter(json!({"time_after": "1970-01-01T01:00:00Z", "time_before": "1970-01-05T00:00:00Z"})),
            scan(count, |n| (60..=5760).contains(&n)),
        ),
        (filter(json!({})), scan(count, |_| true)),
    ];
    for (filter, expected) in cases {
        for index in [&open, &sealed, &loaded] {
            assert_eq!(index.find(&filter, usize::MAX), expected, "{filter:?}");
            assert_eq!(index.find(&filter, 7), expected[..expected.len().min(7)], "{filter:?}");
        }
        let mut ascending = expected;
        ascending.reverse();
        assert_eq!(loaded.matching(&filter), ascending);
    }
}

#[test]
fn newest_means_by_time_even_when_old_episodes_are_added_later() {
    let mut index = fill(100, |_| ());
    let mut old = episode(3);
    old.id = "late".into();
    index.add(100, &old).expect("ascending");
    assert_eq!(index.find(&filter(json!({"goal": "goal 3"})), 2), [98, 93]);
    assert_eq!(
        index.find(&filter(json!({"goal": "goal 3"})), 100).iter().rev().take(2).collect::<Vec<_>>(),
        [&3, &100]
    );
}

/// An old life is imported into a running one.
#[test]
fn a_history_that_is_taken_in_later_makes_no_look_up_linear() {
    let (lived, history) = (20_000, 20_000);
    let mut index = KeyIndex::new();
    let at = |n: u32| if n < lived { history + n } else { n - lived };
    for n in 0..lived + history {
        index.add(n, &episode(at(n))).expect("ascending");
        index.seal();
    }
    let closed = KeyIndex::from_segments(index.segments().cloned().collect()).expect("sound");
    let expected = |holds: &dyn Fn(u32) -> bool, documents: usize| {
        let mut all: Vec<u32> = (0..documents as u32).filter(|n| holds(at(*n))).collect();
        all.sort_by_key(|n| std::cmp::Reverse((at(*n), *n)));
        all
    };
    let cases: [(EpisodeFilter, &dyn Fn(u32) -> bool); 4] = [
        (filter(json!({})), &|_| true),
        (filter(json!({"object": "cup"})), &|_| true),
        (filter(json!({"goal": "goal 3", "mode": "active"})), &|n| n % 5 == 3 && n % 2 == 0),
        (filter(json!({"time_before": "1970-01-08T00:00:00Z"})), &|n| n <= 7 * 24 * 60),
    ];
    for (filter, holds) in &cases {
        for index in [&index, &closed] {
            let expected = expected(holds, index.len());
            for limit in [1, 7, 5_000, usize::MAX] {
                let (found, looked) = index.newest(filter, limit);
                assert_eq!(found, expected[..expected.len().min(limit)], "{filter:?}, {limit}");
                // All documents of the block in which the search ends, and all unsealed ones, are examined.
                let most = limit.saturating_add(2 * SEGMENT_DOCUMENTS + HELD_OPEN);
                assert!(looked <= most, "{filter:?}: {looked} were looked at for {limit}");
            }
        }
    }
}

#[test]
fn an_episode_is_found_by_its_outcome_once_it_came_and_not_after_removal() {
    let mut index = KeyIndex::new();
    let mut open = episode(0);
    open.outcome = None;
    open.action = None;
    index.add(0, &open).expect("first");
    index.add(1, &episode(1)).expect("second");
    assert!(index.find(&filter(json!({"tool_name": "tool_0"})), 5).is_empty());
    index.amend(0, &episode(0)).expect("still open");
    assert_eq!(index.find(&filter(json!({"tool_name": "tool_0", "success": true})), 5), [0]);
    index.remove(0);
    assert!(index.find(&filter(json!({"tool_name": "tool_0"})), 5).is_empty());
    index.seal_all();
    assert_eq!(index.amend(1, &episode(1)), Err(NotIndexed::Sealed(1)));
}

#[test]
fn an_unknown_filter_is_refused_by_its_name() {
    let error = serde_json::from_value::<EpisodeFilter>(json!({"colour": "red"})).expect_err("no such field");
    assert!(error.to_string().contains("unknown field `colour`"), "{error}");
    assert!(filter(json!({"query": "cup", "limit": 3})).is_open());
    let conditions = [
        ("goal", json!("g")),
        ("tool", json!("t")),
        ("object", json!("o")),
        ("person", json!("p")),
        ("mode", json!("m")),
        ("success", json!(false)),
        ("time_after", json!("1970-01-08T00:00:00Z")),
        ("time_before", json!("1970-01-08T00:00:00Z")),
    ];
    for (name, value) in conditions {
        assert!(!filter(json!({name: value})).is_open(), "{name}");
    }
}

/// What is linked after an import is older than most of what is known.
#[test]
fn kin_of_an_old_one_are_those_before_it_and_no_later_one_is_looked_at() {
    let count = 30_000;
    let mut index = fill(count, |index| {
        index.seal();
    });
    index.remove(2_995);
    for before in [0, 3_000, count] {
        let earlier: Vec<u32> = scan(before, |n| n % 5 == 0 && n != 2_995).into_iter().take(9).collect();
        assert_eq!(index.same_goal("goal 0", before, 9), earlier, "before {before}");
    }
    let mut looked = 0;
    let wanted = Wanted::with(&["ocup"], 3_000);
    index.visit(&wanted, &|_| true, &mut |ordinal| {
        looked += 1;
        assert!(ordinal < 3_000);
        looked < 9
    });
    let latest = index.holding(&wanted).map(|(block, _)| block.base).max();
    assert!(latest.is_some_and(|base| base < 3_000), "{latest:?}");
}

#[test]
fn what_is_counted_block_by_block_is_what_a_scan_counts() {
    let count = 13_000;
    let mut index = fill(count, |index| {
        index.seal();
    });
    let holds: [(serde_json::Value, &dyn Fn(u32) -> bool); 7] = [
        (json!({}), &|_| true),
        (json!({"object": "cup"}), &|_| true),
        (json!({"person": "Anna"}), &|n| n % 11 == 0),
        (json!({"tool": "tool_1", "mode": "active"}), &|n| n % 3 == 1 && n % 2 == 0),
        (json!({"object": "object 96", "mode": "active"}), &|n| n % 97 == 96 && n % 2 == 0),
        (json!({"mode": "active", "time_after": "1970-01-03T00:00:00Z"}), &|n| n % 2 == 0 && n >= 2_880),
        (json!({"person": "Nobody"}), &|_| false),
    ];
    let gone = [5, 22, 4_442];
    for is_any_gone in [false, true] {
        let is_there = |n: u32| !(is_any_gone && gone.contains(&n));
        for (fields, holds) in &holds {
            let expected = (0..count).filter(|n| holds(*n) && is_there(*n)).count();
            assert_eq!(index.count(&filter(fields.clone())), expected as u64, "{fields}");
        }
        gone.iter().for_each(|document| index.remove(*document));
    }
}

#[test]
fn the_oldest_are_found_even_when_they_were_added_last() {
    let (lived, history) = (9_000, 5_000);
    let mut index = KeyIndex::new();
    let at = |n: u32| if n < lived { history + n } else { n - lived };
    for n in 0..lived + history {
        index.add(n, &episode(at(n))).expect("ascending");
        index.seal();
    }
    assert_eq!(index.find_oldest(&filter(json!({"mode": "active"})), 3), [lived, lived + 2, lived + 4]);
    assert_eq!(index.find_oldest(&filter(json!({})), 0), [] as [u32; 0]);
}

#[test]
fn the_oldest_are_found_and_all_are_counted_sealed_or_not() {
    let count = 9_500;
    let open = fill(count, |_| ());
    let sealed = fill(count, |index| {
        index.seal();
    });
    for index in [open, sealed] {
        let wanted = filter(json!({"tool": "tool_1", "success": false}));
        assert_eq!(index.count(&wanted), scan(count, |n| n % 3 == 1).len() as u64);
        assert_eq!(index.find_oldest(&wanted, 3), [1, 4, 7]);
        let since = filter(json!({"tool": "tool_1", "time_after": "1970-01-02T00:00:00Z"}));
        assert_eq!(index.find_oldest(&since, 2), [1_441, 1_444]);
        assert_eq!(index.count(&filter(json!({"tool": "none"}))), 0);
    }
}
