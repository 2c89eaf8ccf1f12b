//! Deliberation in the whole brain: what deserves a thought, cycles of thinking with memory in between, and working
//! memory.

use std::time::Duration;

use maxim_actors::action::cause_ledger::{CausePart, parts_prefix};
use maxim_actors::deliberation::prefrontal_cortex::{LAST_PROMPT, LastPrompt};
use maxim_actors::effectors::body::DriverKind;
use maxim_actors::language::Tokenizer;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::signals::working_memory::{EntryKind, SurveyOrder, SurveyWorkingMemory, WorkingMemorySurveyed};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, Trust};
use serde_json::{Value, json};

use crate::common::{Bench, speech};
use crate::model::{Act, Model, acts, thinks};
use crate::stove::with_stove;

fn reply(ended: &TurnEnded) -> String {
    ended.reply.clone().unwrap_or_default()
}

/// The parts of a turn with one kind, in order.
fn parts(bench: &Bench, turn: MessageId, kind: &str) -> Vec<Value> {
    let all = bench.agent.frame.store.records("cause_ledger", .., usize::MAX).expect("read");
    let prefix = parts_prefix(turn);
    let of_turn = all.iter().filter(|(key, _)| key.starts_with(prefix.as_bytes()));
    let mut parts: Vec<CausePart> = of_turn
        .map(|(_, bytes)| serde_json::from_slice(bytes).expect("a part"))
        .filter(|part: &CausePart| part.kind == kind)
        .collect();
    parts.sort_by_key(|part| (part.at, part.body["cycle"].as_u64()));
    parts.into_iter().map(|part| part.body).collect()
}

/// A memory that this conversation never mentioned, and others that are closer to what will be said.
fn know(bench: &mut Bench) {
    let texts = [
        "The plumber came on Tuesday.",
        "Plumbers say that old pipes are a mess.",
        "The plumber comes tomorrow at nine.",
        "What a mess the plumber left in the bathroom.",
        "Tomorrow the plumber brings his sister.",
        "The plumber would say that it leaks.",
        "This mess is the plumber's, said Bo.",
        "The brass key of the cellar hangs behind the clock.",
    ];
    let line = |(n, text): (usize, &str)| {
        let at = format!("2025-12-{:02}T09:00:00Z", n + 1);
        (n as u64 + 1, json!({"text": text, "people": ["Bo"], "timestamp": at}).to_string())
    };
    let lines: Vec<(u64, String)> = texts.into_iter().enumerate().map(line).collect();
    assert_eq!(bench.import(lines, true).kept, 8);
}

const VISIT: &str = "what would the plumber say to this mess tomorrow?";

/// Thinks of the key first; then acts on memory's answer to that, and says so.
fn looks_it_up(prompt: &str) -> String {
    match () {
        () if prompt.contains("What you did in this turn already") => {
            acts("respond", &json!({"message": "I wrote it down."}))
        }
        () if !prompt.contains("thought in this turn so far") => {
            thinks("I wonder where the brass key of the cellar hangs.")
        }
        () if prompt.contains("behind the clock") => {
            acts("write_file", &json!({"path": "key.txt", "content": "clock"}))
        }
        () => acts("respond", &json!({"message": "I don't know."})),
    }
}

#[test]
fn the_second_cycle_sees_the_thought_and_what_memory_answered_and_acts_by_it() {
    let outcome = |without: Option<&str>| {
        let model = Model::minded(looks_it_up);
        let mut bench = model.bench(|_| {});
        know(&mut bench);
        if let Some(room) = without {
            assert!(bench.agent.cut(room));
        }
        let ended = bench.say(VISIT);
        (bench, model, ended)
    };
    let (bench, model, ended) = outcome(None);
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 3, "{prompts:#?}");
    assert!(!prompts[0].contains("behind the clock"), "{}", prompts[0]);
    for part in ["I wonder where the brass key", "hangs behind the clock", "cycle 2 of 3"] {
        assert!(prompts[1].contains(part), "{part}: {}", prompts[1]);
    }
    assert!(bench.file("key.txt").exists(), "{ended:?}");

    let (bench, model, ended) = outcome(Some("hippocampus"));
    assert!(model.last().contains("hippocampus did not answer in time"), "{}", model.last());
    assert_eq!(reply(&ended), "I don't know.");
    assert!(!bench.file("key.txt").exists());
}

#[test]
fn a_thought_towards_an_action_is_told_what_the_gate_would_make_of_it() {
    fn leans(prompt: &str) -> String {
        let action = json!({"tool_name": "bash", "params": {"command": "rm -rf /home"}});
        match () {
            () if !prompt.contains("thought in this turn so far") => {
                json!({"ready_to_act": false, "action": action, "reasoning": "I could make room."}).to_string()
            }
            () if prompt.contains("The gate would block bash: ") => {
                acts("respond", &json!({"message": "I leave the disk as it is."}))
            }
            () => json!({"ready_to_act": true, "action": action, "reasoning": "I make room."}).to_string(),
        }
    }
    let model = Model::minded(leans);
    let mut bench = model.bench(|_| {});
    let ended = bench.say(VISIT);
    assert_eq!(reply(&ended), "I leave the disk as it is.");
    assert!(ended.actions.iter().all(|action| action.tool != "bash"), "{ended:?}");
    // Without the room that knows, it tries, and the gate must stop it.
    let model = Model::minded(leans);
    let mut bench = model.bench(|_| {});
    assert!(bench.agent.cut("fear_agent"));
    bench.say(VISIT);
    assert!(model.prompts()[1].contains("fear_agent did not answer in time"), "{}", model.prompts()[1]);
}

/// Talks, thinks about the stove and the report for a cycle, and touches the stove when told to.
fn warms_itself(prompt: &str) -> String {
    match () {
        () if prompt.contains("What you did in this turn already") => acts("respond", &json!({"message": "Ouch."})),
        () if prompt.contains("The person says: clear") => acts("bash", &json!({"command": "rm -rf /home"})),
        () if prompt.contains("The person says: warm") => acts("touch_stove", &json!({})),
        () if prompt.contains("The person says: prepare") => {
            acts("write_file", &json!({"path": "report.txt", "content": "all is well"}))
        }
        () if prompt.contains("thought in this turn so far") => acts("respond", &json!({"message": "Well."})),
        () => thinks("I could touch the stove, or prepare the morning report."),
    }
}

#[test]
fn a_percept_and_each_thought_bring_to_mind_what_hurt_what_was_refused_and_what_is_practised() {
    let lived = |without: Option<&str>| {
        let model = Model::minded(warms_itself);
        let mut bench = model.bench_with(with_stove, |_| {});
        for _ in 0..3 {
            bench.say("warm your hand");
        }
        bench.say("clear some room, dear");
        for _ in 0..3 {
            bench.say("prepare the morning report");
        }
        if let Some(room) = without {
            assert!(bench.agent.cut(room));
        }
        let before = model.prompts().len();
        let ended = bench.say(VISIT);
        let prompts: Vec<String> = model.prompts().split_off(before);
        assert_eq!(prompts.len(), 2, "{prompts:#?}");
        (bench, ended, prompts)
    };
    let (hurt, refused) = ("- touch_stove hurt, last 20", "- bash was refused, last 20");
    let program = "- prepare-morning-report: prepare the morning report";
    let answered = |prompt: &str| {
        prompt
            .split("thought in this turn so far")
            .nth(1)
            .and_then(|told| told.split("</data>").next())
            .map(str::to_owned)
            .expect("a transcript")
    };

    let (bench, ended, prompts) = lived(None);
    for told in [hurt, refused, program] {
        assert!(prompts[0].contains(told), "{told}: {}", prompts[0]);
    }
    // The thought mentions the stove and the report, and nothing that was refused.
    let answer = answered(&prompts[1]);
    assert!(answer.contains(hurt) && answer.contains(program) && !answer.contains(refused), "{answer}");
    let why = parts(&bench, ended.turn, "EnrichedPercept");
    let (programs, fears) = (why[0]["programs"].to_string(), why[0]["fears"].to_string());
    assert!(programs.contains("prepare-morning-report"), "{programs}");
    assert!(fears.contains("touch_stove") && fears.contains("bash"), "{fears}");
    let cycles = parts(&bench, ended.turn, "CycleThought");
    for cycle in &cycles {
        let rooms = cycle["enriched"].to_string();
        assert!(rooms.contains("cerebellum") && rooms.contains("fear_agent"), "{rooms}");
    }

    for (room, silent, told) in [("cerebellum", [program, program], hurt), ("fear_agent", [hurt, refused], program)] {
        let (bench, ended, prompts) = lived(Some(room));
        assert!(prompts[0].contains(told) && silent.iter().all(|line| !prompts[0].contains(line)), "{}", prompts[0]);
        assert!(answered(&prompts[1]).contains(&format!("{room} did not answer in time")), "{}", prompts[1]);
        let why = parts(&bench, ended.turn, "EnrichedPercept");
        assert!(why[0]["missing"].to_string().contains(room), "{}", why[0]["missing"]);
    }
}

#[test]
fn the_why_record_holds_the_gate_and_each_cycle() {
    let model = Model::minded(looks_it_up);
    let mut bench = model.bench(|_| {});
    know(&mut bench);
    let ended = bench.say(VISIT);
    let gated = parts(&bench, ended.turn, "ThoughtGated");
    assert_eq!(gated.len(), 1);
    assert!(gated[0]["refused"].is_null() && gated[0]["worth"].as_f64() > Some(0.45), "{}", gated[0]);
    let cycles = parts(&bench, ended.turn, "CycleThought");
    // In virtual time the thought after the action is as old as the earlier ones.
    let cycles: Vec<Value> = cycles.into_iter().filter(|cycle| cycle["tool"] != "respond").collect();
    let told: Vec<_> = cycles.iter().map(|cycle| (cycle["cycle"].as_u64(), cycle["ending"].as_str())).collect();
    assert_eq!(told, [(Some(1), Some("continued")), (Some(2), Some("ready"))]);
    assert!(cycles[0]["text"].as_str().is_some_and(|text| text.contains("brass key")), "{}", cycles[0]);
    assert!(
        cycles[1]["enriched"].as_array().is_some_and(|rooms| rooms.contains(&json!("hippocampus"))),
        "{}",
        cycles[1]
    );
    assert!(cycles[1]["recalled"].to_string().contains("behind the clock"), "{}", cycles[1]);
    let calls = parts(&bench, ended.turn, "PromptBuilt");
    let has = |prompt: &Value, name: &str| {
        prompt["sections"].as_array().is_some_and(|all| all.iter().any(|s| s["name"] == name))
    };
    assert_eq!(calls.iter().filter(|prompt| has(prompt, "deliberation_transcript")).count(), 1);
}

#[test]
fn a_model_that_repeats_itself_is_told_to_act() {
    fn repeats(prompt: &str) -> String {
        match prompt.contains("You have thought enough") {
            true => acts("respond", &json!({"message": "All right."})),
            false => thinks("I wonder what the plumber would say."),
        }
    }
    let model = Model::minded(repeats);
    let mut bench = model.bench(|settings| settings.effectors.llm.cycles = 9);
    let ended = bench.say(VISIT);
    assert_eq!((reply(&ended).as_str(), model.prompts().len()), ("All right.", 3));
    let endings: Vec<_> =
        parts(&bench, ended.turn, "CycleThought").iter().map(|cycle| cycle["ending"].clone()).collect();
    assert_eq!(endings, ["continued", "converged", "ready"]);
}

#[test]
fn after_the_last_cycle_a_model_that_only_thinks_leaves_the_turn_to_habit() {
    let model = Model::default();
    let mut bench = model.bench(|settings| settings.effectors.llm.cycles = 2);
    ["The pipes are old.", "Water runs downhill.", "Copper is dear."]
        .iter()
        .for_each(|text| model.will_say(thinks(text)));
    let ended = bench.say(VISIT);
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 3, "two cycles, and one that is told to act");
    assert!(prompts[1].contains("cycle 2 of 2, the last") && prompts[2].contains("You have thought enough"));
    assert!(prompts[2].contains("The pipes are old.") && prompts[2].contains("Water runs downhill."), "{}", prompts[2]);
    assert!(!reply(&ended).is_empty(), "habit answers");
    assert!(bench.why_all().contains("named no action"), "{}", bench.why_all());
    // The budget of cycles belongs to the turn.
    model.will_say(acts("respond", &json!({"message": "Now I know."})));
    assert_eq!(reply(&bench.say("and what would the painter say?")), "Now I know.");
}

#[test]
fn who_may_not_command_is_thought_about_once_in_two_ticks_and_else_answered_by_habit() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "The model says hi."})));
    let mut bench = model.bench(|settings| settings.effectors.llm.tick = "2s".parse().expect("a time"));
    let stranger = |bench: &mut Bench, text: &str| bench.say_as(text, "stranger", Trust::Outside);
    assert_eq!(reply(&stranger(&mut bench, VISIT)), "The model says hi.");
    let ended = stranger(&mut bench, "and what would the painter say to it?");
    assert!(!reply(&ended).is_empty() && reply(&ended) != "The model says hi.", "{ended:?}");
    let gated = parts(&bench, ended.turn, "ThoughtGated");
    assert_eq!(gated[0]["refused"], "refractory", "{}", gated[0]);
    let thought = parts(&bench, ended.turn, "Thought")[0]["text"].to_string();
    assert!(thought.contains("4000 ms after each thought"), "the reason stands in the why-record: {thought}");
    assert_eq!(reply(&bench.say("and what would the gardener say?")), "The model says hi.", "the owner need not wait");
    bench.pass(Duration::from_secs(4));
    assert_eq!(reply(&stranger(&mut bench, "and what would the cook say about it?")), "The model says hi.");
}

#[test]
fn what_thinking_led_to_decides_what_is_thought_about_next() {
    // Its action for a wish said earlier fails; its action for a new one succeeds.
    fn tries(prompt: &str) -> String {
        let asked = prompt.rsplit("The person says: ").next().unwrap_or_default();
        if asked.contains("What you did in this turn already") {
            return acts("respond", &json!({"message": "That is what came of it."}));
        }
        match asked.starts_with(VISIT) {
            true => acts("read_file", &json!({"path": "nowhere.txt"})),
            false => acts("write_file", &json!({"path": "note.txt", "content": asked})),
        }
    }
    let lives = |without: Option<&str>| {
        let model = Model::minded(tries);
        // The fear gate would ask before enough failures.
        let mut bench = model.bench(|settings| settings.gate.gate.bridge_gain = 0.0);
        if let Some(room) = without {
            assert!(bench.agent.cut(room));
        }
        let last = (0..7).map(|_| bench.say(VISIT)).last().expect("said");
        (bench, model, last)
    };
    let (mut bench, model, last) = lives(None);
    // V = ½ · 0.86ⁿ, so δ is −0.5, −0.43, −0.37, −0.32: θ passes 0.45, the worth of what isn't new, after the fourth.
    assert_eq!(model.turns(), 4);
    let gated = &parts(&bench, last.turn, "ThoughtGated")[0];
    assert_eq!(gated["refused"], "threshold", "{gated}");
    assert!(!reply(&last).is_empty(), "habit answers");
    for wish in [
        "would the lighthouse look better in green?",
        "what about the harbour wall, then?",
        "how might a heron see it?",
    ] {
        bench.say(wish);
    }
    assert_eq!(model.turns(), 7, "what is new is thought about all the same");
    bench.crash();
    bench.say(VISIT);
    assert_eq!(model.turns(), 8, "thinking paid since: {}", parts(&bench, last.turn, "ThoughtGated")[0]);

    let (_, model, _) = lives(Some("nucleus_accumbens"));
    assert_eq!(model.turns(), 7, "without prediction errors nothing is learned of thinking");
}

#[test]
fn what_memory_knows_is_not_new_however_long_ago_it_was() {
    // Thinking doesn't pay, so only new things are thought about.
    fn fails(prompt: &str) -> String {
        let asked = prompt.rsplit("The person says: ").next().unwrap_or_default();
        match asked.starts_with(VISIT) && !asked.contains("What you did in this turn already") {
            true => acts("read_file", &json!({"path": "nowhere.txt"})),
            false => acts("respond", &json!({"message": "That is how it is."})),
        }
    }
    const GULLS: &str = "what would seven grey gulls make of a rusty harbour crane?";
    let gated = |without: Option<&str>| {
        let model = Model::minded(fails);
        let mut bench = model.bench(|settings| settings.gate.gate.bridge_gain = 0.0);
        bench.say(GULLS);
        (0..7).for_each(|_| drop(bench.say(VISIT)));
        // More than the number of recent percepts.
        for number in 0..34 {
            bench.say(&format!("word{number} other{number} thing{number}!"));
        }
        bench.pass(Duration::from_secs(86_400));
        if let Some(room) = without {
            assert!(bench.agent.cut(room));
        }
        let turn = bench.say(GULLS).turn;
        parts(&bench, turn, "ThoughtGated").remove(0)
    };
    let known = gated(None);
    assert_eq!(known["refused"], "threshold", "{known}");
    let forgotten = gated(Some("hippocampus"));
    assert!(forgotten["refused"].is_null(), "to a mind without memory it is new: {forgotten}");
}

#[test]
fn a_crash_between_any_two_steps_of_thinking_ends_the_turn_once() {
    let (mut steps, mut ended, mut thought) = (0, 0, 0);
    loop {
        let model = Model::minded(looks_it_up);
        let mut bench = model.bench(|_| {});
        know(&mut bench);
        drop(bench.submit(VISIT));
        if !bench.crash_after(steps) {
            break; // the whole turn ended before the crash
        }
        let why = bench.why_all();
        let perceived = why.matches("\"kind\":\"SalientPercept\"").count();
        assert_eq!(why.matches("\"kind\":\"TurnEnded\"").count(), perceived, "after step {steps}: {why}");
        ended += perceived;
        thought += usize::from(bench.file("key.txt").exists());
        let open = bench.agent.frame.store.records("prefrontal_cortex", .., usize::MAX).expect("read");
        assert!(open.iter().all(|(key, _)| !key.starts_with(b"turn/")), "a turn is left open after step {steps}");
        steps += 3;
    }
    println!("{steps} steps: {ended} turns were perceived and ended, {thought} of them by the thought");
    assert!(ended > 20 && thought > ended / 3, "most crashes lose no thought: {thought} of {ended}");
}

// Working memory

fn on_mind(bench: &mut Bench, wanted: SurveyWorkingMemory) -> WorkingMemorySurveyed {
    bench.ask("working_memory", wanted)
}

#[test]
fn what_is_on_the_mind_survives_a_crash_and_is_looked_through_in_four_ways() {
    let mut bench = Bench::new();
    bench.say("create a file tide.txt with the text high at noon");
    bench.pass(Duration::from_secs(60));
    bench.say("read the file missing.txt");
    bench.crash();
    let all = on_mind(&mut bench, SurveyWorkingMemory::default());
    let said = |kind| {
        let of_kind = all.entries.iter().filter(move |entry| entry.kind == kind);
        of_kind.map(|entry| entry.text.clone()).collect::<Vec<_>>()
    };
    let talk = said(EntryKind::Conversation);
    assert_eq!(talk.len(), 4, "{all:#?}");
    assert_eq!(talk[0], "create a file tide.txt with the text high at noon");
    assert!(talk[1].contains("I wrote") && talk[3].contains("missing.txt"), "{talk:?}");
    let outcomes = said(EntryKind::Outcome);
    assert!(outcomes.len() == 2 && outcomes[0].ends_with("done") && outcomes[1].contains("failed"), "{outcomes:?}");
    assert_eq!(said(EntryKind::Pain).len(), 1, "{all:#?}");
    let since = Some(bench.agent.frame.clock.now());
    let kinds = vec![EntryKind::Conversation];
    let late = on_mind(&mut bench, SurveyWorkingMemory { kinds, since, ..SurveyWorkingMemory::default() });
    assert!(late.entries.iter().all(|entry| !entry.text.contains("tide")) && late.entries.len() <= 2, "{late:?}");
    let order = SurveyOrder::Salient;
    let top = on_mind(&mut bench, SurveyWorkingMemory { order, limit: 2, ..SurveyWorkingMemory::default() });
    assert!(top.entries.iter().all(|entry| entry.salience.get() >= 0.9), "{top:?}");
    assert_eq!(top.entries[0].text, "read the file missing.txt");
}

#[test]
fn a_model_is_shown_the_conversation_with_this_person_and_what_was_done() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "I see."})));
    let mut bench = model.bench(|_| {});
    bench.say("create a file tide.txt with the text high at noon");
    bench.say_as("what does my horoscope tell?", "bo", Trust::Listed);
    bench.say(VISIT);
    let shown = model.last();
    let conversation =
        shown.split("<data source=\"conversation\">").nth(1).and_then(|rest| rest.split("</data>").next());
    let conversation = conversation.unwrap_or_else(|| panic!("no conversation: {shown}"));
    assert!(
        conversation.contains("anna: \"create a file tide.txt") && conversation.contains("you: \"I wrote"),
        "{conversation}"
    );
    assert!(!conversation.contains("horoscope"), "that was said to another person: {conversation}");
    let done = shown.split("<data source=\"recent_outcomes\">").nth(1).unwrap_or_default();
    assert!(done.contains("write_file"), "{shown}");
    bench.pass(Duration::from_secs(2));
    bench.say_as("what would the gulls tell a guest?", "stranger", Trust::Outside);
    assert!(model.last().contains("tell a guest?"), "{}", model.last());
    assert!(!model.last().contains("source=\"recent_outcomes\""), "a stranger is told nothing of it: {}", model.last());
}

fn last_prompt(bench: &Bench) -> LastPrompt {
    let record = bench.agent.frame.store.record("prefrontal_cortex", LAST_PROMPT.as_bytes()).expect("read");
    serde_json::from_slice(&record.expect("a model was asked")).expect("a prompt")
}

/// Whether the last prompt has this section.
fn has(bench: &Bench, name: &str) -> bool {
    last_prompt(bench).sections.iter().any(|section| section.name == name && section.kept)
}

#[test]
fn the_prompt_is_counted_by_the_models_own_tokenizer_where_its_file_is_named() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/actors/language/src/tokenizer/small.json");
    let tokenizer = Tokenizer::open(file.as_ref()).expect("a tokenizer");
    let counted = |named: bool| {
        let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
        let mut bench = model.bench(|settings| settings.effectors.llm.tokenizer_file = named.then(|| file.into()));
        bench.say(VISIT);
        last_prompt(&bench)
    };
    let (estimated, counted) = (counted(false), counted(true));
    assert_eq!(
        (estimated.counted.as_str(), counted.counted.as_str()),
        ("estimated", "counted by small.json (643 merges)")
    );
    let sent = tokenizer.count(&counted.system) + tokenizer.count(&counted.user);
    // Two bytes for each section's blank line.
    let slack = 2 * counted.sections.len() + 80;
    assert!((sent..=sent + slack).contains(&(counted.tokens as usize)), "{sent} and {}", counted.tokens);
    assert_ne!(estimated.tokens, counted.tokens);
}

#[test]
fn the_prompt_tells_what_was_heard_and_how_the_other_parts_are_and_is_silent_where_all_is_as_usual() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
    let mut bench = model.bench(|_| {});
    bench.say(VISIT);
    assert!(!has(&bench, "speech") && !has(&bench, "agent_states"), "{:?}", last_prompt(&bench).sections);
    let words = speech("the kettle is boiling over");
    drop(bench.agent.outside.http.hear(words, Confidence::clamped(0.6)));
    bench.pass(Duration::from_secs(20));
    // Its end depends on a person, who doesn't answer.
    bench.say("your next goal is to run the command git init && git reset --hard");
    assert!(bench.agent.cut("hippocampus"));
    bench.say("and what would the electrician say to this mess?");
    let told = last_prompt(&bench).user;
    assert!(has(&bench, "speech") && has(&bench, "agent_states"), "{told}");
    assert!(told.contains("confidence 0.60: \"the kettle is boiling over\""), "{told}");
    assert!(told.contains("pursued: \"run the command git init && git reset --hard\""), "{told}");
    assert!(told.contains("what they know is missing: hippocampus"), "{told}");
}

#[test]
fn a_mind_with_a_body_is_told_how_to_act_with_it() {
    let coached = |driver| {
        let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
        let mut bench = model.bench(|settings| settings.effectors.body.driver = driver);
        bench.say(VISIT);
        has(&bench, "acting_coach")
    };
    assert_eq!((coached(DriverKind::Sim), coached(DriverKind::None)), (true, false));
}

#[test]
fn what_must_be_an_action_is_asked_of_the_model_that_acts() {
    let model = Model::acting(|number, _| match number {
        0 => Act::Say(thinks("I wonder about the gulls")),
        1 => Act::Say(thinks("They may come back at noon")),
        _ => Act::Say(acts("respond", &json!({"message": "At noon."}))),
    });
    let asked = |model: &Model| -> Vec<String> {
        model.requests().iter().map(|request| request["model"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut bench = model.bench(|settings| settings.effectors.llm.act_model = Some("quick".into()));
    let ended = bench.say("when would you say the gulls come back?");
    assert_eq!(ended.reply.as_deref(), Some("At noon."));
    assert_eq!(asked(&model), ["gull", "gull", "quick"], "two thoughts, and the last cycle");
    let spent = bench.inquire("energy_status", json!({}));
    assert_eq!((&spent["purposes"]["act"]["calls"], &spent["purposes"]["deliberate"]["calls"]), (&json!(1), &json!(2)));

    let single = Model::minded(|_| acts("respond", &json!({"message": "At noon."})));
    let mut bench = single.bench(|settings| {
        settings.effectors.llm.act_model = Some("quick".into());
        settings.effectors.llm.cycles = 1;
    });
    bench.say("when would you say the gulls come back?");
    assert_eq!(asked(&single), ["quick"], "without deliberation each call must act");
}
