//! The introspection tools in the whole brain: each with each of its parameters, and the errors for wrong ones.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::memory::anterior_temporal_lobe::AnteriorTemporalLobe;
use maxim_actors::region::Region;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::IngestDocument;
use maxim_bus::signals::powers::RestorePowers;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::units::Confidence;
use serde_json::{Value, json};

use crate::common::Bench;
use crate::model::{Model, acts};

/// A brain with a small past, in which one tool had good and bad results, and one only bad ones.
fn lived() -> Bench {
    let mut bench = Bench::new();
    let mut lines = vec![
        json!({"id": "boat", "timestamp": "2026-01-01T10:00:00Z", "text": "the boat was painted blue", "mode": "active",
            "goal": "paint the boat", "objects": ["boat"], "people": ["Anna"]}),
        json!({"id": "leak", "timestamp": "2026-01-02T10:00:00Z", "text": "the roof leaks by the chimney", "mode": "passive",
            "goal": "mend the roof", "objects": ["roof"], "people": ["Bo"]}),
        json!({"id": "walk", "timestamp": "2026-01-03T10:00:00Z", "text": "Anna walked along the quay in the rain",
            "people": ["Anna"]}),
    ];
    for (number, success) in [true, true, true, true, false, false].into_iter().enumerate() {
        lines.push(json!({"id": format!("pump{number}"), "timestamp": format!("2026-01-04T1{number}:00:00Z"),
            "text": format!("the pump was started, try {number}"), "tool": "start_pump", "success": success,
            "result": if success { "it runs" } else { "timeout" }}));
    }
    for number in 0..3 {
        lines.push(json!({"id": format!("hoist{number}"), "timestamp": format!("2026-01-04T2{number}:00:00Z"),
            "text": format!("the hoist was moved, try {number}"), "tool": "move_hoist", "success": false, "result": "stuck"}));
    }
    let count = lines.len() as u64;
    let lines = (1..).zip(lines.iter().map(ToString::to_string)).collect();
    assert_eq!(bench.import(lines, true).kept, count);
    bench.pass(Duration::from_secs(60));
    bench
}

fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer[name].as_array().unwrap_or_else(|| panic!("no list {name}: {answer}"))
}

fn ids(answer: &Value) -> BTreeSet<&str> {
    list(answer, "results").iter().filter_map(|one| one["id"].as_str()).collect()
}

#[test]
fn memory_is_recalled_by_each_of_its_filters() {
    let mut bench = lived();
    let mut recalled = |params: Value| {
        let answer = bench.inquire("memory_recall", params);
        ids(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for (params, found) in [
        (json!({"goal": "paint the boat"}), vec!["boat"]),
        (json!({"tool_name": "move_hoist"}), vec!["hoist0", "hoist1", "hoist2"]),
        (json!({"tool_name": "start_pump", "success": false}), vec!["pump4", "pump5"]),
        (json!({"object": "roof"}), vec!["leak"]),
        (json!({"person": "Anna"}), vec!["boat", "walk"]),
        (json!({"mode": "passive"}), vec!["leak"]),
        (json!({"time_after": "2026-01-02T00:00:00Z", "time_before": "2026-01-04T00:00:00Z"}), vec!["leak", "walk"]),
        (json!({"time_after": "2026-01-02", "time_before": "2026-01-03"}), vec!["leak"]),
        (json!({"person": "Anna", "query": "painted"}), vec!["boat"]),
    ] {
        let asked = params.to_string();
        let is_ranked = params["query"].is_string();
        let told = recalled(params);
        assert!(if is_ranked { told.contains(&found[0].to_owned()) } else { told == found }, "{asked}: {told:?}");
    }
    assert_eq!(recalled(json!({"query": "where does the roof leak?", "limit": 1})), ["leak"]);
    assert_eq!(recalled(json!({"success": true, "limit": 2})).len(), 2);
    assert_eq!(recalled(json!({})).len(), 5, "the default");
}

#[test]
fn situations_are_found_by_each_cue() {
    let mut bench = lived();
    let alike = bench.inquire("similarity_search", json!({"memory_id": "pump4", "limit": 3}));
    assert_eq!(list(&alike, "results").len(), 3, "{alike}");
    assert!(!ids(&alike).contains("pump4") && list(&alike, "results")[0]["tool"] == "start_pump", "{alike}");
    let alike = bench.inquire("similarity_search", json!({"tool_name": "move_hoist", "limit": 3}));
    assert_eq!(ids(&alike), BTreeSet::from(["hoist0", "hoist1", "hoist2"]), "{alike}");
    let alike = bench.inquire("similarity_search", json!({"context": "water drips through the ceiling"}));
    assert!(list(&alike, "results")[0]["id"] == "leak", "{alike}");
    let early = json!({"context": "the chimney of the boat was painted", "time_before": "2026-01-02"});
    assert_eq!(ids(&bench.inquire("similarity_search", early)), BTreeSet::from(["boat"]));
    let told = bench.refusal("similarity_search", json!({"memory_id": "nowhere"}));
    assert!(told.contains("similarity_search") && told.contains("nowhere"), "{told}");
}

#[test]
fn what_a_person_asks_for_in_words_is_not_its_own_answer() {
    let mut bench = lived();
    let ended = bench.say("find memories like the roof leaks in the rain");
    let reply = ended.reply.unwrap_or_default();
    assert!(reply.contains("leaks by the chimney") && !reply.contains("find memories like"), "{reply}");
}

#[test]
fn predictions_and_causes_come_from_what_was_lived() {
    let mut bench = lived();
    let one = bench.inquire("predict_outcome", json!({"tool_name": "start_pump"}));
    let all = bench.inquire("predict_outcome", json!({"tool_name": "start_pump", "include_all_outcomes": true}));
    assert_eq!((list(&one, "outcomes").len(), &one["known"]), (1, &json!(true)), "{one}");
    assert!(list(&all, "outcomes").len() > 1, "{all}");
    let unknown = bench.inquire("predict_outcome", json!({"tool_name": "polish_brass"}));
    assert_eq!(unknown["known"], false, "{unknown}");
    let bad = bench.inquire("predict_outcome", json!({"tool_name": "move_hoist"}));
    assert!(bad["value"].as_f64() < one["value"].as_f64(), "{bad} {one}");

    let links = |bench: &mut Bench, params: Value| bench.inquire("causal_links", params);
    let pump = links(&mut bench, json!({"event": "start_pump"}));
    assert!(list(&pump, "results").iter().all(|link| link["event"].as_str().is_some_and(|e| e.contains("start_pump"))));
    assert!(list(&pump, "results").len() > 1, "{pump}");
    let timeouts = links(&mut bench, json!({"event": "start_pump", "outcome": "success"}));
    let outcomes: BTreeSet<_> = list(&timeouts, "results").iter().map(|link| link["outcome"].to_string()).collect();
    assert_eq!((outcomes.len(), list(&timeouts, "results").len()), (1, 1), "{timeouts}");
    let negative = links(&mut bench, json!({"valence": "negative"}));
    let events: Vec<_> = list(&negative, "results").iter().map(|link| link["event"].to_string()).collect();
    assert!(!events.is_empty() && events.iter().all(|event| event.contains("move_hoist")), "{negative}");
    let learned = links(&mut bench, json!({"memory_id": "hoist1"}));
    assert!(list(&learned, "results").iter().all(|link| link["episodes"].to_string().contains("hoist1")), "{learned}");
    assert!(!list(&learned, "results").is_empty());
    let least = links(&mut bench, json!({"limit": 1}));
    assert!(list(&least, "results").len() == 1 && least["found"].as_u64() > Some(1), "{least}");
}

#[test]
fn circumstances_in_words_change_what_is_expected() {
    let mut bench = Bench::new();
    let line = |number: usize| {
        let (wet, success) =
            if number.is_multiple_of(2) { ("in the pouring rain", false) } else { ("on a dry day", true) };
        let at = format!("2026-01-0{}T{:02}:00:00Z", 1 + number / 10, 10 + number % 10);
        json!({"id": format!("n{number}"), "timestamp": at, "text": format!("the paint was put on {wet}"),
            "tool": "put_on_paint", "goal": format!("paint {wet}"), "success": success})
    };
    let lines: Vec<(u64, String)> = (1..).zip((0..20).map(|number| line(number).to_string())).collect();
    bench.import(lines, true);
    bench.pass(Duration::from_secs(60));
    let mut value = |context: &str| {
        let told = bench.inquire("predict_outcome", json!({"tool_name": "put_on_paint", "context": context}));
        told["value"].as_f64().unwrap_or_else(|| panic!("{told}"))
    };
    let (wet, dry) = (value("paint in the pouring rain"), value("paint on a dry day"));
    assert!(wet < dry, "{wet} {dry}");
}

#[test]
fn pain_is_told_by_kind_and_what_fear_would_decide_without_doing_it() {
    let mut bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.say(&format!("read the file {name}.txt"));
        bench.pass(Duration::from_secs(600));
    }
    bench.say("replace x with y in d.txt");
    let told = bench.inquire("pain_history", json!({"limit": 2}));
    assert_eq!((&told["counts"]["tool_error"], list(&told, "recent").len()), (&json!(4), 2), "{told}");
    let about = bench.inquire("pain_history", json!({"check_action": "read_file"}));
    assert!(list(&about, "recent").iter().all(|felt| felt["about"] == "read_file"), "{about}");
    let would = |bench: &mut Bench, tool: &str, params: Value| {
        bench.inquire("pain_history", json!({"check_action": tool, "action_params": params}))["would"].clone()
    };
    assert_eq!(would(&mut bench, "bash", json!({"command": "touch done"})), "allow");
    assert_eq!(would(&mut bench, "bash", json!({"command": "rm -rf /"})), "block");
    assert_eq!(would(&mut bench, "run_tests", json!({})), "ask");
    assert!(!bench.file("done").exists(), "nothing is done");
}

#[test]
fn times_are_told_by_hour_and_day_with_rhythms_where_they_are_asked_for() {
    let mut bench = Bench::new();
    let line = |day: u32| {
        json!({"text": format!("watered the plants on day {day}"), "tool": "water_plants", "success": true,
        "timestamp": format!("2025-12-{day:02}T07:00:00Z")})
    };
    bench.import((1..).zip((1..=28).map(|day| line(day).to_string())).collect(), true);
    bench.pass(Duration::from_secs(60));
    let seven = bench.inquire("temporal_patterns", json!({"hour": 7, "limit": 2}));
    assert_eq!((&seven["matching"], list(&seven, "episodes").len()), (&json!(28), 2), "{seven}");
    assert!(seven["typical"].to_string().contains("water_plants") && seven["rhythms"].is_null(), "{seven}");
    let noon = bench.inquire("temporal_patterns", json!({"hour": 12}));
    assert_eq!(noon["matching"], 0, "{noon}");
    let mondays = bench.inquire("temporal_patterns", json!({"hour": 7, "day": 0}));
    assert_eq!(mondays["matching"], 4, "{mondays}");
    let found = bench.inquire("temporal_patterns", json!({"discover_rhythms": true}));
    let rhythm = list(&found, "rhythms").iter().find(|one| one["kind"].to_string().contains("water_plants"));
    assert!(rhythm.is_some_and(|one| one["bins"].to_string().contains('7')), "{found}");
}

#[test]
fn concepts_are_looked_up_by_name_kind_id_and_relation() {
    let mut bench = Bench::new();
    let text =
        "# Kitchen\n\nA mug is a container. A bowl is a container. A teacup is a kind of mug. A hammer is a tool.\n"
            .to_owned();
    let part = IngestDocument {
        document: "kitchen.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    bench.ask(AnteriorTemporalLobe::NAME, part);
    let mut named = |params: Value| {
        let answer = bench.inquire("concept_query", params);
        let names = list(&answer, "results").iter().filter_map(|one| one["name"].as_str());
        (names.map(str::to_owned).collect::<BTreeSet<_>>(), answer)
    };
    let (names, mug) = named(json!({"name": "mug"}));
    assert!(names.contains("mug") && list(&mug, "results")[0]["name"] == "mug", "{mug}");
    let (_, hammer) = named(json!({"name": "hammer"}));
    assert_eq!(list(&hammer, "results")[0]["name"], "hammer", "{hammer}");
    let id = list(&mug, "results").iter().find(|one| one["name"] == "mug").expect("it is known")["id"].clone();
    assert_eq!(named(json!({"concept_id": id})).0, BTreeSet::from(["mug".to_owned()]));
    let (kinds, told) = named(json!({"category": "container", "limit": 20}));
    assert!(["mug", "bowl", "teacup"].iter().all(|name| kinds.contains(*name)) && !kinds.contains("hammer"), "{told}");
    let (related, told) = named(json!({"relationship_type": "IS_A", "limit": 20}));
    assert!(related.contains("teacup") && !related.contains("container"), "{told}");
    assert_eq!(named(json!({"category": "container", "limit": 1})).0.len(), 1);
}

#[test]
fn the_scene_is_summed_up_with_what_is_gazed_at_and_each_thing_can_be_sensed() {
    let mut bench = Bench::new();
    let seen = |name: &str, confidence: f64, frame: [f64; 4]| Detection {
        name: name.into(),
        confidence: Confidence::clamped(confidence),
        frame: Some(frame),
    };
    for _ in 0..4 {
        let objects = vec![seen("Lamp", 0.9, [0.4, 0.4, 0.6, 0.6]), seen("chair", 0.6, [0.0, 0.0, 0.1, 0.1])];
        let people = vec![seen("Anna", 0.8, [0.8, 0.8, 0.9, 0.9])];
        let observed = Observed { source: "camera".into(), objects, people, sound: None, pose: None };
        let door = Arc::clone(&bench.agent.outside.door);
        door.put("door", door.fresh_id(), Trust::Sensor, observed);
        bench.pass(Duration::from_secs(3));
    }
    let told = bench.inquire("scene_summary", json!({"include_attention": true}));
    let lamp = list(&told, "objects").iter().find(|one| one["name"] == "lamp").expect("it is there");
    assert_eq!((&told["gaze"], &told["next_target"]), (&json!("lamp"), &json!("anna")), "{told}");
    assert!(lamp["dwell_s"].as_f64().is_some_and(|dwell| dwell >= 6.0), "{told}");
    assert!(lamp["novelty"].as_f64().is_some_and(|novelty| novelty < 1.0) && lamp["confidence"] == 0.9, "{told}");
    let few = bench.inquire("scene_summary", json!({"top_n": 2}));
    assert_eq!((list(&few, "objects").len(), &few["around"], &few["gaze"]), (2, &json!(3), &Value::Null), "{few}");
    let sensed = bench.inquire("sense", json!({"entity": "the lamp"}));
    let sensed = if sensed["entity"].is_null() { bench.inquire("sense", json!({"entity": "Lamp"})) } else { sensed };
    assert_eq!((&sensed["entity"]["name"], &sensed["is_gazed_at"]), (&json!("lamp"), &json!(true)), "{sensed}");
    let absent = bench.inquire("sense", json!({"entity": "unicorn"}));
    assert!(absent["entity"].is_null() && absent["around"].to_string().contains("chair"), "{absent}");
    assert!(bench.inquire("sense", json!({"entity": "yourself"}))["level"].is_number(), "its own sensors");
    let presence = bench.inquire("sense_presence", json!({}));
    assert!(presence["scene"]["observed"].to_string().contains("anna"), "{presence}");
    let tools = bench.inquire("discover_tools", json!({"query": "switch the lamp on", "limit": 2}));
    assert!(tools["hint"].as_str().is_some_and(|hint| hint.contains("observed, not yours to call")), "{tools}");
    let few = bench.inquire("discover_tools", json!({"query": "a file", "limit": 2}));
    assert!(list(&few, "results").len() == 2 && few["found"].as_u64() > Some(2), "{few}");
}

#[test]
fn the_mode_in_force_is_told_with_the_configured_one_where_they_differ() {
    let mut bench = Bench::new();
    let modes = |bench: &mut Bench| {
        let you = bench.inquire("sense_presence", json!({}))["you"].clone();
        (you["mode"].clone(), you["configured_mode"].clone())
    };
    assert_eq!(modes(&mut bench), (json!("active"), Value::Null));
    bench.say("switch to passive mode");
    for _ in 0..2 {
        assert_eq!(modes(&mut bench), (json!("passive"), json!("active")));
        bench.crash();
    }
    let reply = bench.say("what exists here").reply.unwrap_or_default();
    assert!(reply.contains("in passive mode (lowered; active is configured)"), "{reply}");
    bench.ask("autonomy", RestorePowers { by: "anna".into() });
    bench.agent.settle();
    assert_eq!(modes(&mut bench), (json!("active"), Value::Null));
}

#[test]
fn what_thinking_cost_is_told_for_the_window_that_is_asked_for() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
    let mut bench = model.bench(|settings| {
        settings.effectors.llm.price_prompt = 10.0;
        settings.effectors.llm.tokens_per_hour = 50_000;
    });
    bench.say("what would the plumber say to this mess?");
    bench.pass(Duration::from_secs(1_200));
    let told = bench.inquire("energy_status", json!({}));
    let spent = told["tokens"].as_u64().expect("tokens");
    assert!(spent > 0 && told["money"]["window"].as_f64() > Some(0.0), "{told}");
    assert_eq!(told["tokens_per_minute"], json!(spent as f64 / 60.0), "{told}");
    let hour = &told["budgets"]["hour"];
    assert_eq!((hour["spent"].as_u64(), hour["left"].as_u64()), (Some(spent), Some(50_000 - spent)), "{told}");
    assert!(told["purposes"].as_object().is_some_and(|purposes| !purposes.is_empty()), "{told}");
    let lately = bench.inquire("energy_status", json!({"window_seconds": 600}));
    assert_eq!((&lately["tokens"], &lately["window_seconds"]), (&json!(0), &json!(600)), "{lately}");
}

#[test]
fn the_brains_figures_are_told_at_a_glance() {
    let mut bench = Bench::new();
    bench.say("create a file a.txt with the text one");
    bench.say("read the file missing.txt");
    bench.pass(Duration::from_secs(60));
    let told = bench.inquire("system_stats", json!({}));
    let count = |name: &str| told["counts"][name].as_u64().unwrap_or_else(|| panic!("{name}: {told}"));
    assert!(count("episodes") >= 2 && count("links") >= 2 && count("signatures") >= 2, "{told}");
    assert_eq!((count("concepts"), count("pain_signals")), (0, 1), "{told}");
    assert!(told["energy"]["tokens"].is_u64() && told["significance"]["surprise"].is_number(), "{told}");
    assert_eq!(
        (&told["missing"], &told["health"]["available"]),
        (&json!([]), &json!(false)),
        "nobody supervises a bench"
    );
}

#[test]
fn a_wrong_parameter_is_named_with_what_was_expected_and_what_came() {
    let mut bench = lived();
    for tool in ["memory_recall", "similarity_search"] {
        let told = bench.refusal(tool, json!({"context": "x", "time_after": "yesterday"}));
        let is_named = ["time_after", "2026-01-31T08:00:00Z", "yesterday"].iter().all(|part| told.contains(part));
        assert!(is_named && told.contains(tool), "{told}");
    }
    // A model's question is checked against the tools' own schemas.
    let model = Model::minded(|prompt| match prompt.contains("What you did in this turn already") {
        true => acts("respond", &json!({"message": "well"})),
        false => acts("temporal_patterns", &json!({"hour": 24, "day": "Monday"})),
    });
    let mut bench = model.bench(|_| {});
    bench.say("what would the plumber say to this mess?");
    let shown = model.last().replace('\\', "");
    assert!(shown.contains("field \"hour\": expected an integer from 0 to 23"), "{shown}");
    assert!(shown.contains("field \"day\"") && shown.contains("got \"Monday\", a string"), "{shown}");
}
