//! P9: a crash between any two steps around an effect. The effect happens once, or is unknown and asked about.

use std::sync::Arc;
use std::time::Duration;

use maxim_actors::action::tools::{EffectClass, Hands, Tool, ToolOutcome, ToolRegistry, ToolSpec};
use maxim_actors::gate::fear_agent::{ENTRIES, FearAgent, GateEntry, GateStatus};
use maxim_actors::region::{RecordView, Region};
use maxim_actors::store::StateStore;
use maxim_bus::latch::Permit;
use maxim_bus::signals::approval::code_of;
use maxim_bus::signals::intent::OUTCOME_UNKNOWN;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// Rings a bell: an effect that can't be undone.
struct Bell {
    spec: ToolSpec,
    /// Breaks right after the bell has rung, before the result is known.
    breaks: bool,
}

/// The bell's count is in the working folder, which each bench has for itself.
fn rings(bench: &Bench) -> usize {
    std::fs::read_to_string(bench.file("bell")).map_or(0, |text| text.lines().count())
}

/// The questions to a person.
fn asked(bench: &Bench) -> Vec<GateEntry> {
    let kept = RecordView::new(&bench.agent.frame.store, FearAgent::NAME).prefixed(ENTRIES.as_bytes(), 100);
    let entries = kept.iter().filter_map(|(_, bytes)| serde_json::from_slice::<GateEntry>(bytes).ok());
    entries.filter(|entry| entry.status == GateStatus::Asked).collect()
}

/// The only open question, also after a crash.
fn the_question(bench: &mut Bench) -> GateEntry {
    let before = asked(bench);
    assert_eq!(before.len(), 1, "{before:?}");
    bench.crash();
    bench.pass(Duration::from_secs(900));
    let mut after = asked(bench);
    assert_eq!(after.iter().map(|entry| entry.id).collect::<Vec<_>>(), [before[0].id], "asked once");
    let question = after.remove(0);
    assert_eq!((question.rule.as_str(), question.intent.tool.as_str()), (OUTCOME_UNKNOWN, "ring_bell"));
    question
}

/// What was said about effects with an unknown result.
fn told_of_doubt(bench: &Bench) -> Vec<String> {
    let why = bench.why_all();
    let is_such = |line: &&str| line.contains("\"kind\":\"Outbound\"") && line.contains("don't know");
    why.lines().filter(is_such).map(str::to_owned).collect()
}

impl Bell {
    fn new(breaks: bool) -> Self {
        let spec =
            ToolSpec::new("ring_bell", "Rings the bell at the door.").with_speech(&["ring"], &["{verb} the bell"]);
        Self { spec: ToolSpec { effect: EffectClass::Irreversible, idempotent: false, ..spec }, breaks }
    }
}

impl Tool for Bell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        use std::io::Write;
        let bell = std::fs::OpenOptions::new().create(true).append(true).open(hands.workdir.join("bell"));
        writeln!(bell.expect("opened"), "ding").expect("rung");
        assert!(!self.breaks, "the bell's rope broke");
        ToolOutcome::done(json!({ "rang": true }))
    }
}

fn with_bell() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Arc::new(Bell::new(false))).expect("registered");
    tools
}

fn with_breaking_bell() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Arc::new(Bell::new(true))).expect("registered");
    tools
}

fn bench(tools: fn() -> ToolRegistry) -> Bench {
    Bench::with("maxim", StateStore::in_memory(), tools, maxim::config::Settings::default())
}

#[test]
fn a_crash_between_any_two_steps_rings_the_bell_at_most_once() {
    let mut steps = 0;
    let (mut rang, mut unknown) = (0, 0);
    loop {
        let mut bench = bench(with_bell);
        let mut acknowledged = bench.submit("ring the bell");
        let taken = (0..steps).take_while(|_| bench.agent.step()).count();
        if taken < steps {
            break; // the whole turn ended before the crash
        }
        let known = acknowledged.try_recv().is_ok();
        bench.crash();
        bench.pass(Duration::from_secs(900));
        let count = rings(&bench);
        assert!(count <= 1, "a crash after step {steps} rang it {count} times");
        let why = bench.why_all();
        let told_unknown = why.contains("is not known");
        if known {
            assert!(count == 1 || told_unknown, "acknowledged, but after step {steps} neither done nor told: {why}");
        }
        // Words that may not have gone out are a different kind of effect.
        let of_bell = |line: &&str| line.contains("\"kind\":\"ToolResult\"") && line.contains("\"tool\":\"ring_bell\"");
        let is_unknown = why.lines().filter(of_bell).any(|line| line.contains("\"success\":null"));
        if is_unknown {
            let words = told_of_doubt(&bench);
            assert_eq!(words.len(), 1, "after step {steps} it is told and asked in one message: {words:?}");
            answer_in_turn(&mut bench, unknown, count);
        } else {
            assert_eq!(asked(&bench).len(), 0, "after step {steps} it is known");
        }
        rang += count;
        unknown += usize::from(is_unknown);
        steps += 1;
    }
    assert!(unknown > 0, "some crash takes the knowledge of the effect");
    println!("{steps} crash points: rung after {rang}, unknown after {unknown}");
    assert!(steps > 15, "the turn has many steps");
    assert!(rang > steps / 2, "most crashes lose nothing");
}

/// Yes at the door, no in words, or no answer; only a yes rings the bell again.
fn answer_in_turn(bench: &mut Bench, turn: usize, rang: usize) {
    let question = the_question(bench);
    let yes = turn.is_multiple_of(3);
    match turn % 3 {
        0 => drop(bench.agent.outside.door.decide(question.id, true, true, "anna".into())),
        1 => {
            let ended = bench.say(&format!("no {}", code_of(question.id)));
            assert!(ended.reply.as_deref().is_some_and(|reply| reply.contains("isn't done again")), "{ended:?}");
        }
        _ => bench.pass(Duration::from_secs(8 * 86_400)),
    }
    bench.pass(Duration::from_secs(900));
    bench.crash();
    bench.pass(Duration::from_secs(900));
    assert_eq!(rings(bench), rang + usize::from(yes), "answer {turn}");
    assert_eq!(asked(bench).len(), 0, "it is answered");
}

#[test]
fn whoever_wanted_what_may_have_happened_is_told_how_to_answer_and_a_yes_does_it_once_more() {
    let mut bench = bench(with_breaking_bell);
    bench.say("ring the bell");
    bench.pass(Duration::from_secs(1));
    let question = the_question(&mut bench);
    let is_put = |words: &[String], question: &GateEntry| {
        let last = words.last().is_some_and(|last| last.contains(&format!("“yes {}”", code_of(question.id))));
        last && words.iter().all(|words| words.contains("whether it happened: the tool crashed"))
    };
    let words = told_of_doubt(&bench);
    assert!(words.len() == 1 && is_put(&words, &question), "{words:?}");
    // The rope breaks again, so there is a new question, whatever was said about "always".
    let ended = bench.say(&format!("always {}", code_of(question.id)));
    assert_eq!(rings(&bench), 2, "{ended:?}");
    bench.pass(Duration::from_secs(1));
    let next = the_question(&mut bench);
    assert_ne!(next.id, question.id);
    let words = told_of_doubt(&bench);
    assert!(words.len() == 2 && is_put(&words, &next), "the turn of the answer asks: {words:?}");
    // Through the door, as `maxim approvals allow` does: the person who wanted it hears the result and the new
    // question together.
    bench.agent.outside.door.decide(next.id, true, false, "bo".into());
    bench.pass(Duration::from_secs(1));
    let last = the_question(&mut bench);
    let words = told_of_doubt(&bench);
    assert!(words.len() == 3 && is_put(&words, &last) && words[2].contains("was allowed"), "{words:?}");
    bench.say(&format!("no {}", code_of(last.id)));
    assert_eq!((rings(&bench), asked(&bench).len()), (3, 0));
}

#[test]
fn an_effect_whose_end_is_lost_is_unknown_and_not_repeated() {
    let mut bench = bench(with_breaking_bell);
    let ended = bench.say("ring the bell");
    assert_eq!(rings(&bench), 1);
    assert_eq!(ended.actions[0].status, "unknown", "{:?}", ended.actions);
    assert!(ended.reply.as_deref().is_some_and(|reply| reply.contains("don't know")), "{:?}", ended.reply);
    bench.crash();
    bench.pass(Duration::from_secs(900));
    assert_eq!(rings(&bench), 1, "nothing repeats it by itself");
}

#[test]
fn an_outcome_that_was_on_its_way_is_believed_after_a_crash() {
    for steps in (0..300).step_by(3) {
        let mut bench = Bench::new();
        let _accepted = bench.submit("create a file a.txt with the text x, then create a file b.txt with the text y");
        let was_there = bench.crash_after(steps);
        let why = bench.why_all();
        let ended = |file: &str, success: &str| {
            let path = format!("\"path\":\"{file}\"}}");
            let of_it = why.lines().filter(|line| line.contains("\"kind\":\"ToolResult\"") && line.contains(&path));
            of_it.filter(|line| line.contains(&format!("\"success\":{success}"))).count()
        };
        for file in ["a.txt", "b.txt"] {
            let succeeded = ended(file, "true") > 0;
            assert!(!(succeeded && ended(file, "null") > 0), "crash at {steps}: {file} succeeded and was doubted");
            assert!(!succeeded || bench.file(file).exists(), "crash at {steps}: {file} was taken back");
        }
        if !was_there {
            return;
        }
    }
    panic!("the turn never came to an end");
}
