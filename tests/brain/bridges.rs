//! Each bridge changes what the brain does: with it, the loop behaves differently from a twin without its room.

use std::sync::Arc;
use std::time::Duration;

use maxim::config::{self, Settings};
use maxim_actors::action::tools::{
    EffectClass, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec,
};
use maxim_actors::store::StateStore;
use maxim_bus::latch::Permit;
use maxim_bus::signals::bridges::{SignificanceLearned, SignificanceWeights};
use maxim_bus::signals::goal::{Goal, GoalChanged, GoalOrigin};
use maxim_bus::signals::percept::Percept;
use maxim_bus::signals::thought::{ModelCall, ModelReply, Purpose, TurnEnded};
use maxim_bus::{MessageId, Trust};
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// A whole brain, and one without that room.
fn twins(room: &str) -> [Bench; 2] {
    let mut without = Bench::new();
    assert!(without.agent.cut(room), "{room} is a room");
    [Bench::new(), without]
}

fn reply(ended: &TurnEnded) -> String {
    ended.reply.clone().unwrap_or_default()
}

fn status(ended: &TurnEnded) -> &str {
    ended.actions.first().map_or("nothing", |action| action.status.as_str())
}

fn reason(ended: &TurnEnded) -> String {
    ended.actions.first().and_then(|action| action.reason.clone()).unwrap_or_default()
}

/// A goal that is pursued for longer than a turn.
fn aim(bench: &mut Bench, title: &str) {
    let door = &bench.agent.outside.door;
    let goal = Goal::new(door.fresh_id(), title, GoalOrigin::Person, ("http", "anna"), Trust::Owner, door.now());
    let changed = GoalChanged { goal, active: Some(title.into()), suspended: Vec::new() };
    door.put("door", door.fresh_id(), Trust::Owner, changed);
    bench.agent.settle();
}

fn see(bench: &mut Bench, object: &str) {
    let mut percept = Percept::from_outside("body", "camera", format!("a {object}"), false, Trust::Sensor);
    percept.source = "body".into();
    percept.objects = vec![object.into()];
    let door = Arc::clone(&bench.agent.outside.door);
    door.put("gateway", door.fresh_id(), Trust::Sensor, percept);
    bench.agent.settle();
}

fn seen(bench: &mut Bench, object: &str) -> usize {
    let found = bench.inquire("memory_recall", json!({ "object": object, "limit": 20 }));
    found["results"].as_array().map_or(0, Vec::len)
}

// Fear

struct Stove(ToolSpec);

impl Tool for Stove {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, "it is hot"))
    }
}

fn with_stove() -> ToolRegistry {
    let mut tools = core_tools();
    let spec = ToolSpec::new("touch_stove", "Touches the stove.").with_speech(&["touch"], &["{verb} the stove"]);
    tools.register(Arc::new(Stove(ToolSpec { effect: EffectClass::Reversible, ..spec }))).expect("registered");
    tools
}

/// How often it burns itself before it asks.
fn burns(gain: f64) -> usize {
    let mut settings = Settings::default();
    settings.gate.gate.bridge_gain = gain;
    let mut bench = Bench::with("maxim", StateStore::in_memory(), with_stove, settings);
    let burnt = (0..40).take_while(|_| status(&bench.say("touch the stove")) == "failed").count();
    let ended = bench.say("create a file calm.txt with the text fine");
    assert_eq!(status(&ended), "done", "what isn't alike stays free: {:?}", ended.actions);
    burnt
}

#[test]
fn the_fear_bridge_makes_the_gate_ask_sooner_where_such_things_went_wrong() {
    // V = ½ · 0.86ⁿ, confidence ½ + 0.1√n. At b = 0.3 the veto holds from the 2nd on, and three contexts are needed;
    // at b = 0.15 from the 5th, without the bridge from the 13th, when the confidence passes 0.85.
    assert_eq!((burns(0.3), burns(0.15), burns(0.0)), (3, 5, 13));
}

#[test]
fn a_gate_whose_fear_bridge_is_down_goes_on_without_it() {
    let mut bench = Bench::with("maxim", StateStore::in_memory(), with_stove, Settings::default());
    bench.agent.cut("fear_bridge");
    let burnt = (0..40).take_while(|_| status(&bench.say("touch the stove")) == "failed").count();
    assert_eq!(burnt, 13);
}

// Escalation

/// A request that the gate asks about, from a person who may command but without a direct command.
fn ask_bo(bench: &mut Bench, text: &str) -> TurnEnded {
    bench.say_as(text, "bo", Trust::Listed)
}

const RISKY: &str = "run the command git init && git reset --hard";

#[test]
fn where_nobody_answers_at_an_hour_the_brain_does_not_ask_in_vain() {
    let [mut with, mut without] = twins("escalation_bridge");
    for bench in [&mut with, &mut without] {
        for _ in 0..3 {
            assert_eq!(status(&ask_bo(bench, RISKY)), "asked");
            bench.pass(Duration::from_secs(11 * 60));
        }
    }
    with.crash();
    let ended = ask_bo(&mut with, RISKY);
    assert_eq!(status(&ended), "blocked", "{:?}", ended.actions);
    assert!(reason(&ended).contains("escalation.nobody"), "{}", reason(&ended));
    assert_eq!(status(&with.say(RISKY)), "asked", "who commands it is there to answer");
    assert_eq!(status(&ask_bo(&mut without, RISKY)), "asked");
    with.pass(Duration::from_secs(3_600));
    assert_eq!(status(&ask_bo(&mut with, RISKY)), "asked", "it is another hour");
}

#[test]
fn what_people_denied_is_asked_about_even_where_fear_has_nothing_against_it() {
    let [mut with, mut without] = twins("escalation_bridge");
    for bench in [&mut with, &mut without] {
        for _ in 0..3 {
            let asked = ask_bo(bench, RISKY).actions[0].id;
            bench.agent.outside.door.decide(asked, false, false, "anna".into());
            bench.agent.settle();
        }
    }
    let ended = ask_bo(&mut with, "run the command ls");
    assert_eq!(status(&ended), "asked", "{:?}", ended.actions);
    assert!(reason(&ended).contains("escalation.unwanted"), "{}", reason(&ended));
    assert_eq!(status(&ask_bo(&mut without, "run the command ls")), "done");
    assert_eq!(status(&with.say("run the command ls")), "done", "the owner's own command isn't asked back");
}

#[test]
fn what_people_always_allow_a_supervised_agent_no_longer_asks_about() {
    let mut settings = Settings::default();
    settings.agent.autonomy = config::AutonomyLevel::Supervised;
    let bench = || Bench::with("maxim", StateStore::in_memory(), core_tools, settings.clone());
    let (mut with, mut without) = (bench(), bench());
    without.agent.cut("escalation_bridge");
    // A path without quotes or a slash: confidence 0.7.
    let unsure = "open notes";
    for bench in [&mut with, &mut without] {
        std::fs::write(bench.file("notes"), "milk").expect("written");
        for _ in 0..3 {
            let ended = ask_bo(bench, unsure);
            assert_eq!(status(&ended), "asked", "{:?} {:?}", ended.actions, ended.reply);
            bench.agent.outside.door.decide(ended.actions[0].id, true, false, "anna".into());
            bench.agent.settle();
        }
    }
    assert_eq!(status(&ask_bo(&mut with, unsure)), "done");
    assert_eq!(status(&ask_bo(&mut without, unsure)), "asked");
}

/// A brain whose local clock differs by half an hour from full hours in Greenwich, where it is 9 o'clock now.
fn in_india() -> Bench {
    let mut settings = Settings::default();
    settings.agent.timezone = "Asia/Kolkata".into();
    Bench::with("maxim", StateStore::in_memory(), core_tools, settings)
}

#[test]
fn the_hours_at_which_nobody_answers_are_those_of_the_place() {
    let mut bench = in_india();
    for _ in 0..3 {
        assert_eq!(status(&ask_bo(&mut bench, RISKY)), "asked");
        bench.pass(Duration::from_secs(11 * 60));
    }
    // 15:03 local time: three questions since 14:30 were unanswered, none since 15:00.
    assert_eq!(status(&ask_bo(&mut bench, RISKY)), "asked", "it is another hour");
    bench.pass(Duration::from_secs(23 * 3_600 + 20 * 60));
    // 14:23 on the next day; 08:53 in Greenwich.
    assert_eq!(status(&ask_bo(&mut bench, RISKY)), "blocked");
}

// Communication

#[test]
fn the_hours_at_which_words_are_welcome_are_those_of_the_place() {
    let mut bench = in_india();
    let mut wrote = 0;
    let mut writes = |bench: &mut Bench| {
        wrote += 1;
        reply(&bench.say(&format!("create a file {wrote}.txt with the text x")))
    };
    for _ in 0..4 {
        writes(&mut bench);
        bench.say("that is annoying");
        bench.pass(Duration::from_secs(35 * 60));
        writes(&mut bench);
        bench.say("thanks");
        bench.pass(Duration::from_secs(24 * 3_600 - 35 * 60));
    }
    assert_eq!(writes(&mut bench), "Done.", "after 14:30");
    bench.pass(Duration::from_secs(35 * 60));
    assert!(writes(&mut bench).contains("I wrote"), "after 15:00, of the same hour in Greenwich");
}

#[test]
fn who_finds_confirmations_unwelcome_gets_them_in_a_word() {
    let [mut with, mut without] = twins("communication_bridge");
    for bench in [&mut with, &mut without] {
        let first = bench.say("create a file a.txt with the text x");
        assert!(reply(&first).contains("I wrote"), "{first:?}");
        bench.say("that was too much text");
        bench.say("still too many words");
    }
    with.crash();
    assert_eq!(reply(&with.say("create a file b.txt with the text x")), "Done.");
    assert!(with.file("b.txt").exists());
    assert!(reply(&without.say("create a file b.txt with the text x")).contains("I wrote"));
    assert!(reply(&with.say("read the file missing.txt")).contains("failed"), "a failure is told in full");
    let other = with.say_as("create a file c.txt with the text x", "carla", Trust::Owner);
    assert!(reply(&other).contains("I wrote"), "others are spoken to as before: {other:?}");
    with.say("more detail please");
    assert!(reply(&with.say("create a file d.txt with the text x")).contains("I wrote"));
}

// Salience

#[test]
fn an_object_that_people_care_about_is_kept_when_it_is_seen() {
    let [mut with, mut without] = twins("salience_bridge");
    for bench in [&mut with, &mut without] {
        for _ in 0..12 {
            bench.say("tell me about the cup");
        }
        aim(bench, "fetch the cup");
        // The first moment of a goal is stored in any case.
        see(bench, "fence");
        see(bench, "cup");
    }
    assert_eq!((seen(&mut with, "cup"), seen(&mut without, "cup")), (1, 0));
}

// Significance

#[test]
fn what_turned_out_useful_teaches_which_moments_are_kept() {
    let [mut with, mut without] = twins("significance");
    // And one that learns nothing from its judgements.
    let mut settings = Settings::default();
    settings.learning.significance.eta = 0.0;
    let mut unmoved = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    let things = [
        "lantern", "kettle", "ladder", "violin", "compass", "anchor", "basket", "candle", "hammer", "mirror", "pillow",
        "rocket", "saddle", "teapot", "wagon", "zither",
    ];
    for bench in [&mut with, &mut without, &mut unmoved] {
        things.iter().for_each(|thing| see(bench, thing));
        for _ in 0..3 {
            things.iter().for_each(|thing| drop(bench.say(&format!("what do you know about the {thing}?"))));
        }
        bench.pass(Duration::from_secs(25 * 3_600));
        bench.say("what a bright lamp");
        aim(bench, "find the lamp");
        // The first moment of a goal is stored in any case.
        see(bench, "fence");
        see(bench, "lamp");
    }
    let stats = with.inquire("system_stats", json!({}))["regions"]["significance"].clone();
    assert_eq!((seen(&mut with, "lamp"), seen(&mut without, "lamp")), (1, 0), "{stats}");
    assert_eq!(seen(&mut unmoved, "lamp"), 0);
    assert!(stats["judged"].as_u64() >= Some(32), "{stats}");
}

/// Sees many things in a row, each together with these, without any question; returns whether a lamp is stored a day
/// later.
fn kept_after(beside: impl Fn(usize) -> [String; 2]) -> (usize, Value) {
    let mut settings = Settings::default();
    settings.memory.memory.capture_salience = 0.8;
    let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    aim(&mut bench, "tidy the attic");
    for n in 0..20 {
        let mut percept = Percept::from_outside("body", "camera", odd_words(n), false, Trust::Sensor);
        percept.source = "body".into();
        percept.objects = beside(n).into();
        let door = Arc::clone(&bench.agent.outside.door);
        door.put("gateway", door.fresh_id(), Trust::Sensor, percept);
        bench.pass(Duration::from_secs(1));
    }
    bench.pass(Duration::from_secs(25 * 3_600));
    bench.say("what a bright lamp");
    bench.pass(Duration::from_secs(2));
    aim(&mut bench, "find the lamp");
    see(&mut bench, "fence");
    see(&mut bench, "lamp");
    let stats = bench.inquire("system_stats", json!({}))["regions"]["significance"].clone();
    (seen(&mut bench, "lamp"), stats)
}

/// Four words that no other number has.
fn odd_words(n: usize) -> String {
    let word = |k: usize| {
        let mut left = 7_919 * (4 * n + k) + 101;
        let mut word = String::new();
        for _ in 0..4 {
            word.push(char::from(b"bdfgklmnprstvz"[left % 14]));
            word.push(char::from(b"aeiou"[left / 14 % 5]));
            left /= 70;
        }
        word
    };
    (0..4).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn after_a_surprise_what_is_seen_is_kept_until_it_has_faded() {
    let kept = |after: Duration| {
        let mut settings = Settings::default();
        settings.memory.memory.capture_salience = 0.6;
        let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
        // In this life, moments after a surprise turned out to matter.
        let weights = SignificanceWeights { features: [6.0, 1.0, 1.0, 1.0, 0.5, 1.0], bias: -2.0 };
        let door = Arc::clone(&bench.agent.outside.door);
        door.put("door", door.fresh_id(), Trust::Owner, SignificanceLearned { weights, moments: 99 });
        bench.say("create a file a.txt with the text one");
        bench.pass(after);
        // So did new ones.
        bench.say("what a bright lamp");
        aim(&mut bench, "tidy the attic");
        // The first moment of a goal is stored in any case.
        see(&mut bench, "fence");
        see(&mut bench, "lamp");
        seen(&mut bench, "lamp")
    };
    assert_eq!((kept(Duration::from_secs(5)), kept(Duration::from_secs(1_200))), (1, 0));
}

#[test]
fn what_turned_out_connected_teaches_too() {
    let together = kept_after(|_| ["shelf".into(), "wall".into()]);
    let alone = kept_after(|n| [format!("a{n}x"), format!("b{n}y")]);
    assert_eq!((together.0, alone.0), (1, 0), "{} | {}", together.1, alone.1);
}

// Space

#[test]
fn where_something_usually_is_is_told_by_the_spatial_bridge() {
    let [mut with, mut without] = twins("spatial_bridge");
    for bench in [&mut with, &mut without] {
        for place in ["in the blue drawer", "in the blue drawer", "under the mat", "in the blue drawer"] {
            bench.say(&format!("remember that the spare key is {place}"));
            bench.pass(Duration::from_secs(3_600));
        }
        bench.say("remember that the spare key is not under the mat");
    }
    with.crash();
    let said = reply(&with.say("where is the spare key usually?"));
    assert!(said.starts_with("It is usually in the blue drawer (3 of 3 times), otherwise under the mat"), "{said}");
    let said = reply(&without.say("where is the spare key usually?"));
    assert!(!said.contains("usually in") && !said.is_empty(), "it answers from episodes alone: {said}");
    let said = reply(&with.say("where is the garden key?"));
    assert!(said.contains("I don't know") && said.contains("Such things are usually in the blue drawer"), "{said}");
    let said = reply(&without.say("where is the garden key?"));
    assert!(said.contains("I don't know") && !said.contains("Such things"), "{said}");
}

// Planning

#[test]
fn what_is_not_understood_is_offered_as_the_plan_that_worked_before() {
    let [mut with, mut without] = twins("planning_bridge");
    for bench in [&mut with, &mut without] {
        bench.say("create a file standup.txt with the text agenda and tasks");
        std::fs::remove_file(bench.file("standup.txt")).expect("it was written");
    }
    with.crash();
    let wish = "create the standup text of agenda tasks";
    let offered = with.say(wish);
    assert!(reply(&offered).contains("this worked: write_file with"), "{offered:?}");
    assert!(!with.file("standup.txt").exists(), "it asks first");
    assert_eq!(status(&with.say("yes")), "done");
    let written = std::fs::read_to_string(with.file("standup.txt")).expect("written as before");
    assert!(written.contains("agenda and tasks"), "{written}");
    with.say(wish);
    with.pass(Duration::from_secs(6 * 60));
    let late = with.say("yes");
    assert!(late.actions.iter().all(|action| action.tool == "respond"), "an offer ends after five minutes: {late:?}");

    let unknown = without.say(wish);
    assert!(!reply(&unknown).contains("this worked") && !reply(&unknown).is_empty(), "{unknown:?}");
    without.say("yes");
    assert!(!without.file("standup.txt").exists());
}

#[test]
fn a_practised_plan_is_offered_by_its_name_and_not_while_the_program_is_withdrawn() {
    let [mut with, mut without] = twins("cerebellum");
    let task = "create a file standup.txt with the text agenda, then create a file tasks.txt with the text agenda";
    let wish = "create the standup agenda and the tasks agenda text";
    for bench in [&mut with, &mut without] {
        (0..3).for_each(|_| assert_eq!(status(&bench.say(task)), "done"));
    }
    with.crash();
    let offered = reply(&with.say(wish));
    assert!(offered.contains("this worked: my program ") && offered.contains(", then write_file"), "{offered}");
    assert_eq!(with.say("yes").actions.iter().filter(|act| act.tool == "write_file").count(), 2);
    let offered = reply(&without.say(wish));
    assert!(offered.contains("this worked: write_file"), "{offered}");

    for bench in [&mut with, &mut without] {
        std::fs::remove_file(bench.file("standup.txt")).expect("it was written");
        std::fs::create_dir(bench.file("standup.txt")).expect("made");
        (0..2).for_each(|_| assert_eq!(status(&bench.say(task)), "failed"));
    }
    let [offered, still] = [&mut with, &mut without].map(|bench| reply(&bench.say(wish)));
    assert!(!offered.contains("this worked") && still.contains("this worked"), "{offered} | {still}");
}

#[test]
fn who_may_not_command_is_offered_nothing() {
    let mut bench = Bench::new();
    bench.say("create a file standup.txt with the text agenda and tasks");
    let ended = bench.say_as("create the standup text of agenda tasks", "stranger", Trust::Outside);
    assert!(!reply(&ended).contains("this worked"), "{ended:?}");
}

// Energy

pub fn reply_of(tokens: u32) -> ModelReply {
    let id = MessageId::from_parts(7, 7);
    let call = ModelCall {
        call: id,
        turn: id,
        system: String::new(),
        user: String::new(),
        max_tokens: 1,
        tools: Vec::new(),
        purpose: Purpose::Deliberate,
        form: None,
    };
    ModelReply { text: Some("hm".into()), error: None, prompt_tokens: tokens, ..ModelReply::failed(&call, "") }
}

#[test]
fn when_little_energy_is_left_the_model_is_not_asked() {
    let mut settings = Settings::default();
    settings.effectors.llm.base_url = Some("http://127.0.0.1:9/v1".into());
    settings.effectors.llm.model = Some("nobody".into());
    let bench = || Bench::with("maxim", StateStore::in_memory(), core_tools, settings.clone());
    let (mut with, mut without) = (bench(), bench());
    without.agent.cut("energy");
    for bench in [&mut with, &mut without] {
        let door = Arc::clone(&bench.agent.outside.door);
        door.put("llm_worker", door.fresh_id(), Trust::Own, reply_of(180_000));
        bench.agent.settle();
        bench.say("what would the gulls say about the lighthouse tonight");
    }
    assert!(with.why_all().contains("10 % of energy is left (tokens of the hour)"), "{}", with.why_all());
    assert!(without.why_all().contains("127.0.0.1:9"), "it tried: {}", without.why_all());
    let told = with.inquire("energy_status", json!({ "window_seconds": 600 }));
    assert_eq!((&told["tokens"], &told["budgets"]["hour"]["left"]), (&json!(180_000), &json!(20_000)), "{told}");
    with.pass(Duration::from_secs(3_700));
    with.say("what would the gulls say about the boats tonight");
    assert!(with.why_all().contains("127.0.0.1:9"), "an hour later it thinks again");
}

#[test]
fn now_and_then_a_dull_moment_is_kept() {
    let mut bench = Bench::new();
    bench.say("what a bright lamp");
    aim(&mut bench, "tidy the attic");
    // The first moment of a goal is stored in any case.
    see(&mut bench, "fence");
    see(&mut bench, "lamp");
    assert_eq!(seen(&mut bench, "lamp"), 0, "nothing speaks for it");
    bench.pass(Duration::from_secs(6 * 60));
    see(&mut bench, "lamp");
    assert_eq!(seen(&mut bench, "lamp"), 1, "five minutes have passed without anything that was kept");
}
