//! The numbers of the laws come from the configuration, and another number changes decisions.

use std::time::Duration;

use maxim::config::Settings;
use maxim_actors::memory::angular_gyrus::AngularGyrus;
use maxim_actors::memory::anterior_temporal_lobe::AnteriorTemporalLobe;
use maxim_actors::memory::hippocampus::{Hippocampus, exporting};
use maxim_actors::region::{RecordView, Region};
use maxim_actors::sleep::semantic_promoter::SemanticPromoter;
use maxim_actors::store::StateStore;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::IngestDocument;
use maxim_bus::signals::promotion::{Promote, PromotionVerdict};
use maxim_bus::signals::sleep::RequestSleep;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};
use crate::stove::with_stove;

fn under(change: fn(&mut Settings)) -> Bench {
    let mut settings = Settings::default();
    change(&mut settings);
    Bench::with("maxim", StateStore::in_memory(), core_tools, settings)
}

fn usual(_: &mut Settings) {}

fn remember(bench: &mut Bench, lines: &[Value]) {
    bench.import((1..).zip(lines.iter().map(ToString::to_string)).collect(), true);
    bench.pass(Duration::from_secs(1));
}

/// Sleeps, and returns what happened to episodes and knowledge.
fn sleep(bench: &mut Bench) -> Value {
    let door = &bench.agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Owner, RequestSleep { by: "anna".into() });
    bench.pass(Duration::from_secs(5));
    bench.inquire("system_stats", json!({}))["regions"]["consolidation"]["last"].clone()
}

/// A room's records that contain these words.
fn records(bench: &Bench, room: &'static str, words: &str) -> usize {
    let all = bench.agent.frame.store.records(room, .., usize::MAX).expect("read");
    all.iter().filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(words)).count()
}

fn days(number: u64) -> Duration {
    Duration::from_secs(number * 86_400)
}

#[test]
fn the_hippocampus_joins_and_spreads_by_its_numbers() {
    let brought_back = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        let joined = json!({"objects": ["ladder"], "goal": "tidy the attic"});
        let line = |id: &str, day: u32, text: &str, more: Option<&Value>| {
            let mut line = json!({"id": id, "timestamp": format!("2026-01-0{day}T10:00:00Z"), "text": text});
            let members = line.as_object_mut().expect("an object");
            members.extend(more.and_then(Value::as_object).cloned().unwrap_or_default());
            line
        };
        let lines = [
            line("tea", 1, "Anna drinks black tea", Some(&joined)),
            line("rain", 2, "rain is expected along the coast", None),
            line("shelf", 3, "it was put behind the door afterwards", Some(&joined)),
        ];
        remember(&mut bench, &lines);
        let found = bench.inquire("memory_recall", json!({ "query": "black tea", "expand": true, "limit": 2 }));
        found["results"].as_array().into_iter().flatten().any(|one| one["via"] == "association")
    };
    assert!(brought_back(usual));
    assert!(!brought_back(|settings| settings.memory.hippocampus.association_floor = 1.0), "no edge");
    assert!(!brought_back(|settings| settings.memory.hippocampus.associations_max = 0), "no edge");
    assert!(!brought_back(|settings| settings.memory.hippocampus.spreading_floor = 0.9), "an edge that nothing passes");
}

#[test]
fn an_episode_fits_a_question_by_the_numbers_of_recall() {
    let beside = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        let line = |id: &str, minute: u32, text: &str| json!({"id": id, "timestamp": format!("2026-01-02T10:{minute:02}:00Z"), "text": text});
        remember(
            &mut bench,
            &[line("asked", 1, "when does the violin concert begin"), line("told", 2, "at eight on the pier")],
        );
        let found = bench.inquire("memory_recall", json!({ "query": "violin concert", "limit": 5 }));
        found["results"].as_array().into_iter().flatten().filter(|one| one["text"] == "at eight on the pier").count()
    };
    assert_eq!(beside(usual), 1, "by what was said just before");
    let apart = |settings: &mut Settings| {
        (settings.memory.recall.neighbour_decay, settings.memory.recall.sitting, settings.memory.recall.answer) =
            (0.0, 0.0, 0.0);
        (settings.memory.recall.meaning, settings.memory.recall.meaning_near) = (0.0, 0.0);
    };
    assert_eq!(beside(apart), 0);
}

#[test]
fn a_surprise_makes_causes_by_the_hippocampus_numbers() {
    let causes = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        ["create a file note.txt with the text milk and bread", "look at parliament.log", "read the file missing.txt"]
            .into_iter()
            .for_each(|words| drop(bench.say(words)));
        let frozen = bench.agent.frame.store.freeze(Hippocampus::NAME);
        let page = exporting::page(&RecordView::frozen(&frozen), &|_| None, None, 100).expect("readable");
        page.lines.iter().filter(|line| line.contains("\"Causes\"")).count()
    };
    assert!(causes(usual) > 0);
    assert_eq!(causes(|settings| settings.memory.hippocampus.surprise = 1.0), 0);
    assert_eq!(causes(|settings| settings.memory.hippocampus.causes_max = 0), 0);
}

#[test]
fn sleep_lets_go_by_its_numbers() {
    let pruned = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        let clutter = |i| json!({"id": format!("c{i}"), "timestamp": "2025-12-10T10:00:00Z", "tool": format!("probe_{i}"), "success": false, "salience": 0.5});
        remember(&mut bench, &(0..40).map(clutter).collect::<Vec<_>>());
        let told = sleep(&mut bench);
        (told["episodes"]["pruned"].as_u64().expect("a count"), told["episodes"]["compressed"].as_u64())
    };
    assert!(pruned(usual).0 > 20);
    assert_eq!(pruned(|settings| settings.memory.sleep.idle = "365days".parse().expect("a time")), (0, Some(0)));
    assert_eq!(pruned(|settings| settings.memory.sleep.remove_below = 0.0).0, 0, "nothing is so low");
    assert_eq!(pruned(|settings| settings.memory.sleep.salience = 1.0).0, 0, "it was salient enough");
}

#[test]
fn the_suprachiasmatic_nucleus_finds_rhythms_by_its_numbers() {
    let rhythms = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        let watering = |day: u32| {
            let at = format!("2025-12-{day:02}T07:00:00Z");
            json!({"text": format!("watering {day}"), "tool": "water_plants", "success": true, "timestamp": at})
        };
        remember(&mut bench, &(1..=20).map(watering).collect::<Vec<_>>());
        let told = bench.inquire("temporal_patterns", json!({ "discover_rhythms": true }));
        told["rhythms"].as_array().map_or(0, Vec::len)
    };
    assert!(rhythms(usual) > 0);
    assert_eq!(rhythms(|settings| settings.memory.suprachiasmatic_nucleus.rhythm_events_min = 50), 0);
}

#[test]
fn the_gate_fears_by_the_numbers_of_the_nucleus_accumbens() {
    let status = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        let mut bench = Bench::with("maxim", StateStore::in_memory(), with_stove, settings);
        let burnt = |n| json!({"id": format!("t{n}"), "timestamp": format!("2026-01-04T10:{n:02}:00Z"), "tool": "touch_stove", "success": false});
        remember(&mut bench, &(0..30).map(burnt).collect::<Vec<_>>());
        bench.say("touch the stove").actions[0].status
    };
    assert_eq!(status(usual), "asked");
    assert_eq!(
        status(|settings| settings.learning.nucleus_accumbens.confidence_max = 0.1),
        "failed",
        "done, and it hurt"
    );
}

#[test]
fn the_entorhinal_cortex_compares_by_its_weights() {
    let best = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        bench.say("remember that the spare key is in the blue drawer");
        bench.say("create a file list.txt with the text milk and bread");
        let found = bench.inquire("similarity_search", json!({ "context": "where the spare keys are kept" }));
        found["results"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    assert!(best(usual).contains("blue drawer"));
    assert!(!best(|settings| settings.memory.entorhinal_cortex.semantic = 0.0).contains("blue drawer"));
}

fn mugs(change: fn(&mut Settings)) -> Bench {
    let mut bench = under(change);
    let text = "# Kitchen\n\nA coffee mug is a cup.\n".to_owned();
    bench.ask(
        AnteriorTemporalLobe::NAME,
        IngestDocument {
            document: "kitchen.md".into(),
            markdown: true,
            text,
            passages_before: 0,
            lessons_before: 0,
            more: false,
        },
    );
    bench
}

#[test]
fn the_anterior_temporal_lobe_knows_a_name_again_by_its_numbers() {
    let known = |change: fn(&mut Settings)| {
        let found = mugs(change).inquire("concept_query", json!({ "name": "coffe mug" }));
        found["results"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(known(usual), 1);
    assert_eq!(known(|settings| settings.memory.anterior_temporal_lobe.same_name = 1.0), 0);
}

#[test]
fn what_was_taught_is_as_sure_as_is_configured() {
    let sure = |change: fn(&mut Settings)| {
        let found = mugs(change).inquire("concept_query", json!({ "name": "coffee mug" }));
        found["results"][0]["confidence"].as_f64().expect("a confidence")
    };
    assert!(sure(usual) >= 0.5);
    assert!((sure(|settings| settings.memory.anterior_temporal_lobe.confidence_max = 0.2) - 0.2).abs() < 1e-9);
}

#[test]
fn the_gate_heeds_the_bridges_by_their_numbers() {
    let burnt = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        let mut bench = Bench::with("maxim", StateStore::in_memory(), with_stove, settings);
        (0..40).take_while(|_| bench.say("touch the stove").actions[0].status == "failed").count()
    };
    assert_eq!(burnt(usual), 3, "three alike speak");
    assert_eq!(burnt(|settings| settings.learning.bridges.danger_cases_min = 5), 5);
    let asked = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        let denied = bench.say_as("run the command git init && git reset --hard", "bo", Trust::Listed).actions[0].id;
        bench.agent.outside.door.decide(denied, false, false, "anna".into());
        bench.agent.settle();
        bench.say_as("run the command ls", "bo", Trust::Listed).actions[0].status
    };
    assert_eq!(asked(usual), "done", "one no is no rule");
    let touchy = |settings: &mut Settings| {
        (settings.learning.bridges.asking_cases_min, settings.learning.bridges.asking_unwanted_to) = (1, 0.4);
    };
    assert_eq!(asked(touchy), "asked");
}

#[test]
fn concepts_stay_whole_as_long_as_is_configured() {
    let made_small = |change: fn(&mut Settings)| {
        let mut bench = mugs(change);
        bench.pass(days(31));
        sleep(&mut bench);
        records(&bench, AnteriorTemporalLobe::NAME, "\"compressed\":true")
    };
    assert!(made_small(usual) > 0);
    assert_eq!(
        made_small(|s| s.memory.anterior_temporal_lobe.consolidated_after = "365days".parse().expect("a time")),
        0
    );
}

#[test]
fn records_of_numbers_stay_whole_as_long_as_is_configured() {
    let made_small = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        bench.inquire("math", json!({ "operation": "regression", "x": [1, 2, 3, 4], "y": [2, 4, 6, 8] }));
        let whole = |bench: &Bench| {
            let with = |words| records(bench, AngularGyrus::NAME, words);
            with("\"inputs\":[") - with("\"inputs\":[]")
        };
        let before = whole(&bench);
        bench.pass(days(31));
        sleep(&mut bench);
        before - whole(&bench)
    };
    assert_eq!(made_small(usual), 1);
    let long =
        |settings: &mut Settings| settings.memory.angular_gyrus.consolidated_after = "365days".parse().expect("a time");
    assert_eq!(made_small(long), 0);
}

#[test]
fn the_senses_of_number_confirm_by_their_numbers() {
    let reply = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        for n in 0..20 {
            bench.say(&format!("create a file n{n}.txt with the text hello"));
            bench.pass(Duration::from_secs(5));
        }
        bench.say("how reliable is write_file?").reply.unwrap_or_default()
    };
    assert!(reply(usual).contains("succeeds in 100 %"));
    let quick = reply(|settings| settings.learning.intraparietal_sulcus.values_min = 200);
    assert!(quick.contains("no pattern"), "{quick}");
    let patient = reply(|settings| settings.learning.statistician.times = 100);
    assert!(patient.contains("no pattern"), "{patient}");
}

#[test]
fn the_promoter_asks_whether_it_is_chance_by_its_numbers() {
    let verdict = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        // Six of ten, in random order: no file can be written below a file.
        for (n, works) in [true, false, false, true, true, false, true, true, false, true].into_iter().enumerate() {
            let below = if works { "" } else { "/below.txt" };
            bench.say(&format!("create a file n{}.txt{below} with the text hello", if works { n } else { 0 }));
            bench.pass(Duration::from_secs(5));
        }
        let ended = bench.ask(SemanticPromoter::NAME, Promote { by: "test".into() });
        let verdict = ended.verdicts.into_iter().find(|(name, _)| name == "write_file success");
        verdict.map(|(_, verdict)| verdict)
    };
    assert_eq!(verdict(usual), Some(PromotionVerdict::Noise));
    assert_eq!(verdict(|settings| settings.sleep.semantic_promoter.judged_from = 64), Some(PromotionVerdict::Promoted));
}

#[test]
fn the_cerebellum_makes_a_program_by_its_numbers() {
    let done = |change: fn(&mut Settings)| {
        let mut bench = under(change);
        for (file, text) in [("a.txt", "hello"), ("b.txt", "good morning")] {
            bench.say(&format!("create a file {file} with the text {text} and then read the file {file}"));
        }
        bench.say("run program create-file-text-read with d.txt \"so long\"");
        bench.file("d.txt").exists()
    };
    assert!(!done(usual), "three times makes a program");
    assert!(done(|settings| settings.learning.cerebellum.repetitions = 2));
}
