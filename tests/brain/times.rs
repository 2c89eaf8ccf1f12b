//! Time: regular events are expected, doors accept any bins, and imported episodes teach rhythms too.

use std::time::Duration;

use maxim::config::Settings;
use serde_json::{Value, json};

use crate::common::Bench;
use crate::model::{Model, acts};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Lines of an import: a tool used at seven on each of the last days of 2025.
fn mornings(days: u32) -> Vec<(u64, String)> {
    let line = |n: u32| {
        let at = format!("2025-12-{:02}T07:00:00Z", 31 - days + n);
        json!({"text": format!("watering {n}"), "tool": "water_plants", "success": true, "timestamp": at}).to_string()
    };
    (1..=days).map(|n| (u64::from(n), line(n))).collect()
}

fn without_clocks(settings: &mut Settings) {
    settings.memory.memory.oscillators = false;
}

#[test]
fn what_the_clocks_expect_is_before_the_model_which_acts_by_it() {
    fn minds_the_plants(prompt: &str) -> String {
        match prompt {
            done if done.contains("What you did in this turn already") => acts("respond", &json!({"message": "Done."})),
            due if due.contains("\"water_plants\" comes about once a day, next about 2026-01-06T07:00:00Z") => {
                acts("write_file", &json!({"path": "plants.txt", "content": "tomorrow at seven"}))
            }
            _ => acts("respond", &json!({"message": "Nothing that I know of."})),
        }
    }
    let planned = |configure: fn(&mut Settings)| {
        let model = Model::minded(minds_the_plants);
        let mut bench = model.bench(configure);
        assert_eq!(bench.import(mornings(12), true).kept, 12);
        bench.crash();
        let ended = bench.say("hm, is there anything that the garden would want to be reminded of by tomorrow?");
        assert!(ended.reply.is_some(), "{ended:?}");
        bench.file("plants.txt").exists()
    };
    assert!(planned(|_| {}));
    assert!(!planned(without_clocks));
}

/// A model that looks at the clock when the time is a surprise.
fn minds_the_clock(prompt: &str) -> String {
    match prompt {
        done if done.contains("What you did in this turn already") => acts("respond", &json!({"message": "Done."})),
        odd if odd.contains("The time is another than expected since the last moment") => {
            acts("write_file", &json!({"path": "clock.txt", "content": "look at the clock"}))
        }
        _ => acts("respond", &json!({"message": "Good morning."})),
    }
}

#[test]
fn a_time_that_jumped_is_before_the_model_which_acts_by_it() {
    let wondered = |zone: &str| {
        let model = Model::minded(minds_the_clock);
        let mut bench = model.bench(|_| {});
        assert_eq!(bench.import(mornings(20), true).kept, 20);
        for day in 0..7 {
            bench.say(&format!("please create a file day{day}.txt with the text one"));
            bench.pass(DAY);
        }
        let mut settings = bench.settings.clone();
        settings.agent.timezone = zone.into();
        bench.restart_with_settings(settings);
        let ended = bench.say("hm, is there anything odd about the hour that I should hear of?");
        assert!(ended.reply.is_some(), "{ended:?}");
        bench.file("clock.txt").exists()
    };
    assert!(!wondered("UTC"));
    assert!(wondered("Pacific/Auckland"), "half a day away");
}

/// Whether a model looks at the clock after three busy mornings and then a fortnight without events.
fn wondered_after_silence(configure: fn(&mut Settings)) -> bool {
    let model = Model::minded(minds_the_clock);
    let mut bench = model.bench(configure);
    for day in 0..3 {
        for n in 0..30 {
            bench.say(&format!("remember that box {n} of day {day} is empty"));
            bench.pass(Duration::from_secs(60));
        }
        bench.pass(DAY - Duration::from_secs(30 * 60));
    }
    bench.pass(14 * DAY);
    let ended = bench.say("hm, is there anything odd about the hour that I should hear of?");
    assert!(ended.reply.is_some(), "{ended:?}");
    bench.file("clock.txt").exists()
}

#[test]
fn how_the_clocks_learned_to_hang_together_decides_what_time_is_foreseen() {
    assert!(
        wondered_after_silence(|settings| settings.memory.suprachiasmatic_nucleus.coupling = 0.1),
        "they drag each other"
    );
    let unlearned = |settings: &mut Settings| {
        let clocks = &mut settings.memory.suprachiasmatic_nucleus;
        (clocks.coupling, clocks.hebb_rate) = (0.1, 0.0);
    };
    assert!(!wondered_after_silence(unlearned), "what has learned nothing drags nothing");
    assert!(!wondered_after_silence(|_| {}), "a fortnight of silence is no other time");
}

#[test]
fn what_is_lived_every_day_is_expected_tomorrow_over_a_crash_and_only_with_clocks() {
    let mut bench = Bench::new();
    let expected = |bench: &mut Bench| {
        let time = bench.inquire("temporal_patterns", json!({}));
        let clocks = &time["clocks"];
        let kinds = clocks["expected"].as_array().cloned().unwrap_or_default();
        (kinds.into_iter().find(|one| one["kind"] == "write_file"), clocks.clone())
    };
    for day in 0..7 {
        bench.say(&format!("please create a file day{day}.txt with the text one"));
        bench.pass(DAY);
    }
    let (found, clocks) = expected(&mut bench);
    let found = found.unwrap_or_else(|| panic!("{clocks}"));
    assert_eq!(found["period_hours"], 24.0, "{found}");
    assert!(found["anomaly"].as_f64().is_some_and(|apart| apart < 0.1), "it is due about now: {found}");
    assert!(clocks["coherence"].as_f64().is_some_and(|r| (0.0..=1.0).contains(&r)), "{clocks}");
    assert!(clocks["anomaly"].as_f64().is_some_and(|anomaly| anomaly < 0.05), "{clocks}");
    let values = clocks["eigenvalues"].as_array().cloned().unwrap_or_default();
    assert!(values.len() == 4 && values[0].as_f64().is_some_and(|largest| largest > 0.1), "W has learned: {clocks}");
    let known = bench.inquire("concept_query", json!({"name": "write_file"}));
    let relations = known["results"].as_array().into_iter().flatten().filter_map(|one| one["relations"].as_array());
    let locked = relations.flatten().find(|one| one["type"] == "PHASE_LOCKED_TO");
    let phase = locked.and_then(|one| one["phase"].as_f64()).unwrap_or_default();
    let nine = std::f64::consts::TAU * 9.0 / 24.0;
    assert!((phase - nine).abs() < 0.05, "what keeps to a clock is known of it: {known}");
    bench.crash();
    assert_eq!(expected(&mut bench).1, clocks, "the clocks are durable");
    let mut settings = Settings::default();
    without_clocks(&mut settings);
    bench.restart_with_settings(settings);
    let (found, clocks) = expected(&mut bench);
    assert!(found.is_none() && clocks["available"] == false, "{clocks}");
    assert!(clocks["reason"].as_str().is_some_and(|why| why.contains("memory.oscillators")), "{clocks}");
}

#[test]
fn any_bins_can_be_asked_for_and_now_stands_apart() {
    let mut bench = Bench::new();
    let line = |n: u64, at: &str| (n, json!({"id": format!("e{n}"), "text": at, "timestamp": at}).to_string());
    // A Wednesday, a Thursday and a Saturday morning; a Monday night in summer.
    let times = ["2025-12-03T09:10:00Z", "2025-12-11T07:00:00Z", "2025-12-13T09:00:00Z", "2025-07-07T23:00:00Z"];
    let lines = (1..).zip(times).map(|(n, at)| line(n, at)).collect();
    assert_eq!(bench.import(lines, true).kept, 4);
    let mut ask = |params: Value| bench.inquire("temporal_patterns", params);
    let episodes = |time: &Value| time["episodes"].clone();
    let nine = ask(json!({"hour": 9}));
    assert_eq!((&nine["hour"], &nine["day"], &nine["matching"]), (&json!(9), &Value::Null, &json!(2)), "{nine}");
    assert_eq!((&nine["now"]["day"], &nine["now"]["month"]), (&json!(0), &json!(1)), "{nine}");
    let weekday_mornings = ask(json!({"hour": [6, 7, 8, 9, 10, 11], "day": [0, 1, 2, 3, 4]}));
    assert_eq!(episodes(&weekday_mornings), json!(["e2", "e1"]), "{weekday_mornings}");
    assert_eq!(episodes(&ask(json!({"month": 12, "week": 1}))), json!(["e3", "e2"]));
    assert_eq!(episodes(&ask(json!({"month": [7], "sole": true}))), json!(["e4"]));
    assert_eq!(episodes(&ask(json!({"hour": 9, "day": 2, "sole": true}))), json!(["e1"]), "the one of Wednesdays");
    let like_now = ask(json!({"like_now": true, "limit": 4}));
    assert_eq!(episodes(&like_now)[3], "e4", "a summer night is least like a winter morning: {like_now}");
}

#[test]
fn what_was_imported_teaches_rhythms_once() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        bench.import(mornings(20), true);
    }
    let time = bench.inquire("temporal_patterns", json!({"discover_rhythms": true, "hour": 7}));
    assert_eq!((&time["rhythm_events"], time["rhythm_since"].is_string()), (&json!(20), true), "{time}");
    assert_eq!(
        (&time["rhythms"][0]["kind"], &time["rhythms"][0]["bins"]),
        (&json!("water_plants"), &json!([{"hour": 7}]))
    );
    assert_eq!(time["typical"], json!([{"kind": "water_plants", "times": 20}]), "{time}");
}

#[test]
fn at_the_ends_of_the_calendar_and_before_1970_it_lives_as_ever() {
    for begins in ["9999-12-30T21:30:00Z", "9999-12-30T21:59:58Z", "1969-03-01T12:00:00Z", "-009998-01-01T00:00:00Z"] {
        let mut bench = Bench::at(begins);
        bench.say("remember that the key is in the drawer");
        bench.say("create a file a.txt with the text x");
        assert!(bench.file("a.txt").exists(), "{begins}");
        bench.say("read the file missing.txt");
        bench.pass(DAY);
        bench.crash();
        let reply = bench.say("where is the key?").reply.unwrap_or_default();
        assert!(reply.contains("in the drawer"), "{begins}: {reply}");
        // Beyond the end, if that is near.
        bench.pass(2 * DAY);
        bench.say("stop!");
        assert!(bench.latch.is_stopped(), "{begins}");
    }
}
