//! P9: a crash between any two steps around an effect. It happens once, or is unknown and not repeated.

use std::sync::Arc;
use std::time::Duration;

use maxim_actors::action::tools::{EffectClass, Hands, Tool, ToolOutcome, ToolRegistry, ToolSpec};
use maxim_actors::store::StateStore;
use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// Rings a bell: an effect that nobody can take back.
struct Bell {
    spec: ToolSpec,
    /// Breaks right after the bell has rung, before anybody knows.
    breaks: bool,
}

/// The bell's count is found by the working folder, which is each bench's own.
fn rings(bench: &Bench) -> usize {
    std::fs::read_to_string(bench.file("bell")).map_or(0, |text| text.lines().count())
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
            break; // the whole turn went by without the crash
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
        rang += count;
        unknown += usize::from(told_unknown);
        steps += 1;
    }
    println!("{steps} crash points: rung after {rang}, unknown after {unknown}");
    assert!(steps > 15, "the turn has many steps");
    assert!(rang > steps / 2, "most crashes lose nothing");
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
