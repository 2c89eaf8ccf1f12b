use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use maxim_bus::signals::concepts::{ForgetRecord, PinRecord, RecordChanged, RecordsRemoved};
use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
use maxim_bus::signals::recall::{EpisodeFilter, EpisodesRecalled, RecallEpisodes};
use maxim_bus::units::{Novelty, Salience};
use maxim_bus::{MessageId, Trust};
use serde_json::json;

use super::{Bench, Hippocampus, life, settings};
use crate::hippocampus::exporting;
use crate::hippocampus::text_index::stems_of;
use maxim_language::{Encoder, TokenTable};
use maxim_region::Region;

/// Moments without a reason to keep them: without words, a person or a thing, failed, dull, each by another tool.
fn clutter(count: usize, days_ago: i64) -> Vec<serde_json::Value> {
    let of = |(i, line): (usize, serde_json::Value)| json!({"id": format!("clutter-{i}"), "timestamp": line["timestamp"], "success": false, "tool": format!("probe_{i}")});
    life(count, days_ago, 99).into_iter().enumerate().map(of).collect()
}

fn by_tool(bench: &mut Bench, i: usize) -> Vec<String> {
    let filter = EpisodeFilter { tool_name: Some(format!("probe_{i}")), ..EpisodeFilter::default() };
    bench.recall(filter).into_iter().map(|episode| episode.id).collect()
}

/// Questions with exactly one matching moment each: number and thing.
fn questions(lines: &[serde_json::Value]) -> Vec<(String, String)> {
    let words = |line: &serde_json::Value| {
        let text = line["text"].as_str().expect("a text");
        let number = text.split("number ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
        let thing = line["objects"][0].as_str().expect("a thing");
        format!("where is the {thing} number {number}?")
    };
    lines.iter().map(|line| (line["id"].as_str().expect("an id").to_owned(), words(line))).collect()
}

fn found(bench: &mut Bench, questions: &[(String, String)]) -> usize {
    questions.iter().filter(|(id, question)| bench.find(question, 10).contains(id)).count()
}

#[test]
fn after_sleep_records_are_three_times_smaller_and_what_was_known_is_found() {
    let mut bench = Bench::new(None);
    let lines = life(1_500, 10, 1);
    bench.import(lines.iter().cloned());
    let asked: Vec<_> = questions(&lines).into_iter().step_by(10).collect();
    let before = (bench.record_bytes(), found(&mut bench, &asked));
    let tally = bench.sleep();
    let after = (bench.record_bytes(), found(&mut bench, &asked));
    println!(
        "{} episodes: {} bytes a record become {}; of {} questions {} were answered before, {} after; {tally:?}",
        lines.len(),
        before.0 / lines.len(),
        after.0 / bench.stats().0 as usize,
        asked.len(),
        before.1,
        after.1
    );
    assert!(before.1 * 10 >= asked.len() * 9, "{} of {} were known", before.1, asked.len());
    assert!(after.1 * 100 >= before.1 * 95, "{} of {} are still known", after.1, before.1);
    assert_eq!((tally.bytes_before, tally.bytes_after), (before.0 as u64, after.0 as u64), "the report is right");
    assert!(before.0 >= 3 * after.0, "{} bytes of records become {}", before.0, after.0);
}

#[test]
fn a_small_store_becomes_as_small() {
    let mut bench = Bench::new(None);
    bench.import(life(40, 10, 1));
    let before = bench.record_bytes();
    let tally = bench.sleep();
    assert!(before >= 3 * bench.record_bytes(), "{before} bytes become {}: {tally:?}", bench.record_bytes());
    assert!(tally.compressed > 30, "{tally:?}");
    bench.rig.crash();
    assert_eq!(bench.find("number 1020", 1), [life(40, 10, 1)[20]["id"].as_str().expect("an id")]);
}

#[test]
fn every_index_finds_a_compressed_episode_also_after_a_restart() {
    let mut bench = Bench::new(None);
    let lines = life(700, 10, 1);
    bench.import(lines.iter().cloned());
    bench.sleep();
    let line = &lines[20];
    let word = |field: &str| line[field].as_str().map(str::to_owned);
    let first = |field: &str| line[field][0].as_str().map(str::to_owned);
    let (lost, at) = (&line["text"].as_str().expect("a text")[80..], word("timestamp").and_then(|at| at.parse().ok()));
    let filters = [
        EpisodeFilter { goal: word("goal"), ..EpisodeFilter::default() },
        EpisodeFilter { tool_name: word("tool"), object: first("objects"), ..EpisodeFilter::default() },
        EpisodeFilter { success: line["success"].as_bool(), goal: word("goal"), ..EpisodeFilter::default() },
        EpisodeFilter { person: first("people"), goal: word("goal"), ..EpisodeFilter::default() },
        EpisodeFilter { query: Some("number 1020".into()), ..EpisodeFilter::default() },
        EpisodeFilter { query: Some(lost.into()), ..EpisodeFilter::default() },
        EpisodeFilter { mode: word("mode"), time_after: at, time_before: at, ..EpisodeFilter::default() },
    ];
    for _ in 0..2 {
        for filter in &filters {
            let found = bench.recall(EpisodeFilter { limit: 50, ..filter.clone() });
            let episode = found.iter().find(|found| Some(found.id.as_str()) == line["id"].as_str());
            let episode = episode.unwrap_or_else(|| panic!("{filter:?} finds it among {}", found.len()));
            assert!(episode.text.len() <= 80 && line["text"].as_str().expect("text").starts_with(&episode.text));
        }
        bench.rig.crash();
    }
    let edges = bench.rig.region().edges().degree(20);
    let record = bench.rig.records().get::<crate::hippocampus::model::EpisodicMemory>(b"episode/00000014");
    assert_eq!(record.and_then(|episode| episode.live_edges), Some(edges as u32), "it keeps its count of live edges");
}

#[test]
fn clutter_goes_with_its_edges_and_people_successes_and_the_recent_stay() {
    let mut bench = Bench::new(None);
    bench.import(clutter(300, 10));
    bench.import([
        json!({"id": "person", "timestamp": "2025-12-01T08:00:00Z", "text": "qwx1", "people": ["Anna"], "success": false}),
        json!({"id": "success", "timestamp": "2025-12-01T09:00:00Z", "text": "qwx2", "success": true}),
        json!({"id": "recent", "timestamp": "2026-01-04T09:00:00Z", "text": "qwx3", "success": false}),
    ]);
    let (episodes, _) = bench.stats();
    assert_eq!(episodes, 303);
    let tally = bench.sleep();
    println!("{tally:?}");
    assert!(tally.pruned > 200, "{tally:?}");
    for (word, id) in [("qwx1", "person"), ("qwx2", "success"), ("qwx3", "recent")] {
        assert_eq!(bench.find(word, 3).first().map(String::as_str), Some(id));
    }
    let left = bench.stats();
    assert_eq!(u64::from(left.0), 303 - tally.pruned);
    for _ in 0..2 {
        let all = bench.recall(EpisodeFilter { success: Some(false), limit: 1_000, ..EpisodeFilter::default() });
        assert_eq!(all.len(), left.0 as usize - 1, "no index shows what is gone");
        assert_eq!(bench.stats(), left);
        let gone = (0..303).filter(|n| bench.rig.records().bytes(format!("episode/{n:08x}").as_bytes()).is_none());
        let gone: Vec<u32> = gone.collect();
        assert_eq!(gone.len() as u64, tally.pruned);
        assert!(gone.iter().all(|document| bench.rig.region().edges().degree(*document) == 0), "no edge is left over");
        bench.rig.crash();
    }
    let again = bench.sleep();
    assert_eq!((again.pruned, bench.stats().0), (0, left.0), "a second sleep finds nothing to do");
}

#[test]
fn a_crash_at_any_step_of_sleep_ends_in_the_same_memory() {
    let mut lines = life(500, 10, 4);
    lines.extend(clutter(120, 9));
    let run = |crash_at: Option<usize>| {
        let mut bench = Bench::new(None);
        bench.import(lines.iter().cloned());
        let mut step = 0;
        let tally = bench.sleep_with(|bench| {
            if crash_at.is_none_or(|at| at == step) && crash_at.is_some() {
                bench.rig.crash();
            }
            step += 1;
        });
        bench.settle();
        bench.rig.crash();
        let records = bench.rig.records().prefixed(b"", usize::MAX);
        let edges: Vec<_> = (0..620).map(|n| bench.rig.region().edges().own(n)).collect();
        (tally, step, records, edges)
    };
    let whole = run(None);
    println!("{} steps, {:?}", whole.1, whole.0);
    assert!(whole.0.pruned > 50 && whole.0.compressed > 200, "{:?}", whole.0);
    for step in 0..whole.1 {
        let broken = run(Some(step));
        assert_eq!(broken.0, whole.0, "crash after step {step}");
        let keys = |records: &[(Vec<u8>, Vec<u8>)]| -> Vec<String> {
            records.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect()
        };
        assert_eq!(keys(&broken.2), keys(&whole.2), "crash after step {step}");
        assert!(broken.2 == whole.2 && broken.3 == whole.3, "crash after step {step}");
    }
}

/// A thought, in its own turn, in which the act of this number is recalled.
fn think_of(bench: &mut Bench, i: usize) {
    let turn = MessageId::from_parts(5, 5);
    let filter = EpisodeFilter { tool_name: Some(format!("probe_{i}")), limit: 1, ..EpisodeFilter::default() };
    bench.rig.send_in(
        turn,
        Trust::Own,
        RecallEpisodes { filter, except: Some(turn), thought: false, waits: false, until: None },
    );
    assert_eq!(bench.rig.heard::<EpisodesRecalled>().len(), 1);
}

#[test]
fn what_is_thought_of_is_kept_longer_and_questions_from_outside_count_for_nothing() {
    let mut bench = Bench::new(None);
    bench.import(clutter(300, 10));
    think_of(&mut bench, 7);
    assert_eq!(by_tool(&mut bench, 8), ["clutter-8"], "a look from outside");
    bench.sleep();
    assert_eq!(by_tool(&mut bench, 7), ["clutter-7"]);
    assert!(by_tool(&mut bench, 8).is_empty(), "it was not used in any thought");
}

#[test]
fn when_the_budget_is_reached_the_least_valued_small_episodes_go_first() {
    let lines = life(600, 10, 6);
    let free = {
        let mut bench = Bench::new(None);
        bench.import(lines.iter().cloned());
        bench.sleep();
        bench.record_bytes() as u64
    };
    let budget = free - 20_000;
    let mut bench = Bench::new(Some(budget));
    bench.import(lines.iter().cloned());
    let tally = bench.sleep();
    println!("{tally:?} for a budget of {budget} bytes");
    assert!(tally.evicted > 50 && tally.evicted < 200, "{tally:?}");
    assert!(tally.bytes_after <= budget && bench.record_bytes() as u64 == tally.bytes_after, "{tally:?}");
    assert_eq!(u64::from(bench.stats().0), 600 - tally.pruned - tally.evicted);
}

#[test]
fn sleeps_without_new_experience_change_nothing_and_segments_do_not_pile_up() {
    let mut bench = Bench::new(None);
    for part in 0..12 {
        bench.import(life(300, 10, 20 + part));
        bench.sleep();
        bench.settle();
    }
    let segments = |bench: &Bench| bench.rig.records().prefixed(b"segment/text/", usize::MAX).len();
    let keys = bench.rig.records().prefixed(b"segment/keys/", usize::MAX).len();
    assert!(segments(&bench) <= 8 && keys <= 8, "twelve seals, {} and {keys} segments", segments(&bench));
    for document in [0, 1_700, 3_599] {
        let wanted = BTreeSet::from([document]);
        let of = |parts: Vec<Vec<u8>>| {
            let found = parts.into_iter().flat_map(|part| stems_of(part.into(), &wanted).expect("whole"));
            found.collect::<BTreeMap<_, _>>()
        };
        let all = bench.rig.records().prefixed(b"segment/text/", usize::MAX);
        assert!(all.len() > 1, "there is a choice");
        let read = exporting::segments(&bench.rig.records(), &wanted).expect("readable");
        assert!(read.len() <= 1, "an export reads {} of {} segments for one episode", read.len(), all.len());
        assert_eq!(of(read), of(all.into_iter().map(|(_, part)| part).collect()), "{document}");
    }
    assert_eq!(bench.find("where is the thing with number 1000?", 20).len(), 20);
    let all = |bench: &Bench| bench.rig.records().prefixed(b"", usize::MAX);
    let before = all(&bench);
    let found = bench.find("Anna said that the red cup stands in the kitchen", 10);
    for _ in 0..3 {
        bench.rig.pass(Duration::from_secs(3_600));
        bench.sleep();
        bench.settle();
    }
    let (then, now) = (before.len(), all(&bench).len());
    assert!(all(&bench) == before, "{then} records before, {now} after three idle nights");
    bench.rig.crash();
    assert_eq!(bench.find("Anna said that the red cup stands in the kitchen", 10), found, "merged segments load");
}

#[test]
fn what_it_says_that_it_is_woken_by_is_what_it_is_woken_by() {
    let mut bench = Bench::new(None);
    let listed = |bench: &Bench| {
        let [wakes, lists] = bench.rig.woken_by();
        assert_eq!(wakes, lists);
        lists
    };
    assert!(listed(&bench).is_empty());
    bench.import(life(300, 10, 7));
    assert!(!listed(&bench).is_empty(), "the newest episodes, whose words aren't sealed");
    bench.import(life(3_000, 50, 8));
    let forgotten = bench.find("the thing with number 1007", 1).remove(0);
    bench.rig.send(ForgetRecord { id: forgotten });
    bench.settle();
    bench.sleep();
    bench.settle();
    let whole = listed(&bench);
    let segments = whole.iter().filter(|(key, _)| key.starts_with(b"segment/")).count();
    assert!(segments > 0 && whole.iter().any(|(key, _)| key.starts_with(b"gone/")), "{segments} segments");
}

#[test]
fn a_start_reads_no_vectors_but_those_of_which_it_does_not_know_whose_they_are() {
    let mut bench = Bench::new(None);
    // A segment sealed during one import is written at the next.
    for part in 0..14 {
        bench.import(life(450, 50, 8 + part));
    }
    let stretches = bench.rig.records().prefixed(b"segment/vectors/", usize::MAX).len();
    assert!(stretches > 1, "{stretches} stretches");
    let found = bench.find("where is the thing with number 1007?", 10);
    bench.rig.crash();
    let text = |room: &Hippocampus, document: u32| {
        let text = &room.indexes.as_ref().expect("awake").text;
        (text.vectors_in_memory(), text.vector_of(document).expect("a vector"), text.vectors_in_memory())
    };
    let (before, first, after) = text(bench.rig.region(), 0);
    assert_eq!((before, after), (0, 1), "only what is looked at is read");
    assert_eq!(bench.find("where is the thing with number 1007?", 10), found);
    // An older state doesn't name the encoder of its vectors, and a state of another encoder names that one.
    let state = serde_json::to_value(bench.rig.region()).expect("serialises");
    assert_eq!(state["sealed"]["encoded"], json!([TokenTable::embedded().id(), 0]));
    for encoded in [json!(null), json!(["another", 0])] {
        let mut state = state.clone();
        state["sealed"]["encoded"] = encoded;
        let mut room: Hippocampus = serde_json::from_value(state).expect("an older state");
        room.wake(&bench.rig.records(), &settings(None));
        assert_eq!(text(&room, 0), (stretches, first.clone(), stretches));
    }
    // Missing parts are made again.
    let mut state = state;
    state["sealed"]["vectors"][0][0] = json!(999_999);
    let mut room: Hippocampus = serde_json::from_value(state).expect("a state");
    room.wake(&bench.rig.records(), &settings(None));
    assert_eq!(text(&room, 0).1, first);
}

#[test]
fn what_a_person_has_forgotten_leaves_nothing_behind() {
    let mut bench = Bench::new(None);
    bench.import(life(20, 3, 5));
    let said = |text: &str| SalientPercept {
        percept: Percept::from_outside("http", "anna", text.into(), false, Trust::Owner),
        disposition: Disposition::Proceed,
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.1),
    };
    bench.rig.send(said("the violin is in the cellar beside the striped mirror"));
    let secret = "the safe opens with qwx9";
    let turns = [bench.rig.send(said(secret)), bench.rig.send(said(secret))];
    bench.settle();
    let before = bench.stats().0;
    bench.rig.heard::<RecordsRemoved>();
    // It is also known by the turn that repeated it, and both names are removed.
    bench.rig.send(ForgetRecord { id: turns[1].to_string() });
    let told = bench.rig.heard::<RecordsRemoved>().pop().expect("every layer is told");
    assert_eq!(told.ids, turns.map(|turn| turn.to_string()));
    for _ in 0..2 {
        assert_eq!(bench.stats().0, before - 1);
        assert!(!bench.find("qwx9", 20).contains(&turns[0].to_string()));
        assert_eq!(bench.rig.region().edges().degree(21), 0);
        // Its sealed words are in segments; no record contains any of them.
        for (key, record) in bench.rig.records().prefixed(b"", usize::MAX) {
            let (key, record) =
                (String::from_utf8_lossy(&key).into_owned(), String::from_utf8_lossy(&record).into_owned());
            assert!(!record.contains("qwx9") && !key.ends_with("00000015"), "{key}: {record}");
            assert!(turns.iter().all(|turn| !key.contains(&turn.to_string())), "{key}");
        }
        bench.rig.crash();
    }
    bench.rig.send(ForgetRecord { id: turns[0].to_string() });
    assert!(!bench.rig.heard::<RecordChanged>().pop().expect("an answer").found, "it is gone");
}

#[test]
fn what_is_pinned_while_sleep_goes_on_is_not_pruned() {
    let mut bench = Bench::new(None);
    bench.import(clutter(300, 10));
    let sleep = bench.begin_sleep();
    while !bench.score(sleep).done {}
    bench.rig.send(PinRecord { id: "clutter-7".into(), pinned: true });
    while !bench.compress(sleep).done {}
    assert_eq!(by_tool(&mut bench, 7), ["clutter-7"]);
    assert!(by_tool(&mut bench, 8).is_empty());
}

#[test]
fn what_is_thought_of_while_sleep_goes_on_is_not_pruned() {
    let mut bench = Bench::new(None);
    bench.import(clutter(300, 10));
    let sleep = bench.begin_sleep();
    while !bench.score(sleep).done {}
    think_of(&mut bench, 7);
    while !bench.compress(sleep).done {}
    assert_eq!(by_tool(&mut bench, 7), ["clutter-7"], "it was marked before");
    assert!(by_tool(&mut bench, 8).is_empty());
}

#[test]
fn what_alone_stands_for_its_hour_of_the_week_is_kept_and_the_same_beside_another_is_not() {
    let mut bench = Bench::new(None);
    let at = |id: &str, time: &str| json!({"id": id, "timestamp": format!("2025-12-26T{time}:00Z"), "tool": id, "success": false, "salience": 0.2});
    bench.import([at("alone", "04:10"), at("beside", "13:10"), at("another", "13:40")]);
    let tally = bench.sleep();
    // Ten days give an access of 1/(1 + √10) = 0.24. With 0.06 of importance that is low; half as much again is not.
    assert_eq!((tally.pruned, bench.stats().0), (2, 1), "{tally:?}");
    let left = bench.recall(EpisodeFilter { tool_name: Some("alone".into()), ..EpisodeFilter::default() });
    assert_eq!(left.len(), 1);
}

#[test]
fn those_let_go_for_the_budget_are_the_least_valued_wherever_they_stand() {
    let line = |(i, mut line): (usize, serde_json::Value)| {
        let kind = if i % 2 == 0 { "dull" } else { "bright" };
        let more =
            json!({"tool": kind, "salience": if i % 2 == 0 { 0.0 } else { 0.9 }, "people": ["Anna"], "success": null});
        line.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        line.as_object_mut().expect("an object").remove("goal");
        line
    };
    let lines: Vec<_> = life(600, 10, 6).into_iter().enumerate().map(line).collect();
    let slept = |budget: Option<u64>| {
        let mut bench = Bench::new(budget);
        bench.import(lines.iter().cloned());
        let tally = bench.sleep();
        let left = ["dull", "bright"].map(|kind| {
            let filter = EpisodeFilter { tool_name: Some(kind.into()), limit: 1_000, ..EpisodeFilter::default() };
            bench.recall(filter).len()
        });
        (tally, left)
    };
    let (free, all) = slept(None);
    assert_eq!((free.evicted, all), (0, [300, 300]));
    let (tally, [dull, bright]) = slept(Some(free.bytes_after - 12_000));
    println!("{tally:?}; {dull} dull and {bright} bright ones are left");
    assert!(
        tally.evicted > 20 && bright == 300 && dull as u64 == 300 - tally.evicted,
        "{dull} and {bright} of {tally:?}"
    );
}
