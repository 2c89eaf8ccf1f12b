//! Numbers affect answers: exact results, patterns over time, and what is missing without the rooms.

use std::collections::BTreeMap;
use std::time::Duration;

use maxim_bus::Trust;
use maxim_bus::signals::body::MovementSensed;
use serde_json::json;

use crate::common::Bench;

/// A life in which writing files succeeds for some time, with one room cut off or none.
fn life(cut: Option<&str>) -> Bench {
    let mut bench = Bench::new();
    if let Some(room) = cut {
        assert!(bench.agent.cut(room), "{room} is there to be cut");
    }
    for n in 0..20 {
        let ended = bench.say(&format!("create a file n{n}.txt with the text hello"));
        assert_eq!(ended.actions[0].status, "done", "{:?}", ended.actions);
        bench.pass(Duration::from_secs(5));
    }
    bench
}

#[test]
fn how_reliable_a_tool_is_can_be_asked_and_nobody_knows_without_the_statistician() {
    let ask = |bench: &mut Bench| bench.say("how reliable is write_file?").reply.unwrap_or_default();
    let mut bench = life(None);
    let reply = ask(&mut bench);
    assert!(reply.contains("write_file succeeds in 100 % of") && reply.contains("confidence"), "{reply}");
    let stats = bench.inquire("system_stats", json!({}));
    let states = &stats["regions"]["statistician"]["states"];
    assert!(states["CONFIRMED_PATTERN"].as_u64().is_some_and(|count| count >= 1), "{stats}");
    bench.crash();
    assert_eq!(ask(&mut bench), reply, "it is known after a crash too");
    for room in ["statistician", "intraparietal_sulcus"] {
        let reply = ask(&mut life(Some(room)));
        assert!(reply.contains("no pattern"), "without {room}: {reply}");
    }
}

#[test]
fn a_pattern_that_breaks_is_not_claimed_any_more() {
    let mut bench = life(None);
    let recall = json!({ "operation": "recall", "topic": "write_file", "category": "pattern" });
    let known = |bench: &mut Bench| bench.inquire("math", recall.clone())["results"].clone();
    assert!(known(&mut bench).as_array().is_some_and(|found| !found.is_empty()));
    for n in 0..12 {
        // No file can be written below a file.
        bench.say(&format!("create a file n{n}.txt/below.txt with the text hello"));
        bench.pass(Duration::from_secs(5));
    }
    let left = known(&mut bench);
    let claims = left.as_array().expect("a list").iter().filter_map(|record| record["text"].as_str());
    let still: Vec<&str> = claims.filter(|text| text.contains("write_file succeeds in 100 %")).collect();
    assert!(still.is_empty(), "{left}");
}

#[test]
fn what_rises_together_becomes_a_trend_that_is_known() {
    let mut bench = Bench::new();
    let related = |bench: &mut Bench, kind: &str| {
        let name = "person:http/anna:reply";
        bench.inquire("concept_query", json!({ "name": name, "relationship_type": kind }))["results"].to_string()
    };
    // Two people who make it wait longer each hour.
    for hour in 1..=24 {
        bench.say_as("hello", "anna", Trust::Owner);
        bench.say_as("hello", "ben", Trust::Owner);
        bench.pass(Duration::from_secs(20 * hour));
        bench.say_as("hello", "ben", Trust::Owner);
        bench.pass(Duration::from_secs(3 * hour));
        bench.say_as("hello", "anna", Trust::Owner);
        bench.pass(Duration::from_secs(3_600 - 23 * hour));
        if hour == 11 {
            let (together, trends) = (related(&mut bench, "CORRELATES_WITH"), related(&mut bench, "TRENDS_WITH"));
            assert!(together.contains("ben"), "{together}");
            assert!(!trends.contains("ben"), "a trend isn't sure so soon: {trends}");
        }
    }
    bench.crash();
    let trends = related(&mut bench, "TRENDS_WITH");
    assert!(trends.contains("ben"), "{trends}");
    let reply = bench.say("what do you know about person:http/anna:reply?").reply.unwrap_or_default();
    assert!(reply.contains("the reply of http/anna and the reply of http/ben rise and fall together"), "{reply}");
}

#[test]
fn a_computation_is_answered_exactly_and_remembered() {
    let mut bench = Bench::new();
    assert_eq!(bench.say("what is 0.1 + 0.2?").reply.as_deref(), Some("0.1 + 0.2 = 0.3"));
    assert_eq!(bench.say("calculate 15% of 80").reply.as_deref(), Some("15% of 80 = 12"));
    let why = bench.say("what is 1/0?").reply.unwrap_or_default();
    assert!(why.contains("division by zero"), "{why}");
    bench.crash();
    let known = bench.inquire("math", json!({ "operation": "recall", "topic": "15 80", "category": "fact" }));
    assert_eq!(known["results"][0]["text"], "15% of 80 = 12", "{known}");
    let fitted = bench.inquire("math", json!({ "operation": "regression", "x": [1, 2, 3, 4], "y": [2, 4, 6, 8] }));
    assert!((fitted["r_squared"].as_f64().expect("R²") - 1.0).abs() < 1e-12, "{fitted}");
}

#[test]
fn a_movement_that_goes_otherwise_than_practised_hurts() {
    let mut bench = Bench::new();
    let turned = |by: f64| MovementSensed {
        action: None,
        body_part: "head".into(),
        movement: "turn".into(),
        params: json!({ "degrees": 10 }),
        before: BTreeMap::from([("yaw".into(), 0.0)]),
        after: BTreeMap::from([("yaw".into(), by)]),
        travelled: None,
    };
    let cerebellum = |bench: &mut Bench| bench.inquire("system_stats", json!({}))["regions"]["cerebellum"].clone();
    let without = cerebellum(&mut bench);
    assert_eq!(without["forward_models"]["available"], false, "no body, and it says so: {without}");
    for _ in 0..6 {
        bench.agent.outside.door.sense(turned(10.0));
        bench.agent.settle();
    }
    assert_eq!(cerebellum(&mut bench)["forward_models"]["errors"], 0);
    bench.agent.outside.door.sense(turned(1.0));
    bench.agent.settle();
    assert_eq!(cerebellum(&mut bench)["forward_models"]["errors"], 1);
    // The pain is felt, so the statistician counts it.
    let store = &bench.agent.frame.store;
    let pains = store.recover("statistician").expect("its state is readable");
    let events: Vec<String> = pains.events.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let hurt = events.iter().filter(|event| event.contains("Hurt")).count();
    assert_eq!(hurt, 1, "{events:?}");
}
