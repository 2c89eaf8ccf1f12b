//! The tools shown to the model depend on which served before.

use maxim::config::Settings;
use maxim_actors::action::tools::{ToolRegistry, ToolSpec};
use maxim_actors::store::StateStore;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};
use crate::model::Model;

/// The core tools among many that don't fit the goals.
fn many_tools() -> ToolRegistry {
    let mut registry = core_tools();
    for n in 0..60 {
        let name = format!("instrument_{n}");
        let description =
            format!("Reads dial {n} of the spectrometer, in counts a second, and resets its calibration.");
        let spec = ToolSpec::new(&name, &description);
        let spec = spec.with_parameters(json!({"channel": {"type": "integer", "description": "which channel"}}), &[]);
        registry.register_brain(spec).expect("a good spec");
    }
    registry
}

fn bench() -> (Bench, Model) {
    let model = Model::default();
    let mut settings = Settings::default();
    settings.effectors.llm.base_url = Some(model.serve());
    settings.effectors.llm.model = Some("gull".into());
    settings.effectors.llm.context_tokens = 32_768;
    (Bench::with("maxim", StateStore::in_memory(), many_tools, settings), model)
}

fn act(tool: &str, params: Value) -> String {
    json!({"tool_name": tool, "params": params, "reasoning": "I do it."}).to_string()
}

fn answer() -> String {
    act("respond", json!({"message": "Good."}))
}

const GOAL: &str = "prepare the zanzibar gadget";

/// Whether a tool's full schema is shown before it served such a goal, after, and after a crash.
fn shown_whole(cut: bool) -> [bool; 3] {
    let (mut bench, model) = bench();
    if cut {
        assert!(bench.agent.cut("tool_index"));
    }
    let whole = |bench: &mut Bench, tool: &str| {
        model.will_say(answer());
        assert_eq!(bench.say(GOAL).reply.as_deref(), Some("Good."));
        model.last().contains(&format!("- {tool}: "))
    };
    let served = [
        ("write_file", json!({"path": "z.txt", "content": "as ever"})),
        ("glob", json!({"pattern": "*"})),
        ("bash", json!({"command": "echo zanzibar"})),
    ];
    let hidden = |(tool, _): &&(&str, Value)| !model.last().contains(&format!("- {tool}: "));
    let before = whole(&mut bench, served[0].0);
    let (tool, params) = served.iter().find(hidden).unwrap_or(&served[0]);
    let before = before && *tool == served[0].0;
    model.will_say(act(tool, params.clone()));
    let ended = bench.say(GOAL);
    assert!(ended.actions.iter().any(|action| action.tool == *tool && action.status == "done"), "{ended:?}");
    let after = whole(&mut bench, tool);
    if !cut {
        bench.crash();
    }
    [before, after, whole(&mut bench, tool)]
}

#[test]
fn a_tool_that_served_a_goal_is_shown_whole_the_next_time_and_after_a_crash() {
    assert_eq!(shown_whole(false), [false, true, true]);
    // Without the index all are shown, without a ranking.
    assert_eq!(shown_whole(true), [true, true, true]);
}

#[test]
fn what_found_room_in_the_prompt_is_in_the_why_record() {
    let (mut bench, model) = bench();
    model.will_say(answer());
    bench.say(GOAL);
    assert!(model.last().contains(&format!("The person says: {GOAL}")), "{}", model.last());
    let why = bench.why_all();
    assert!(why.contains("PromptBuilt") && why.contains("user_request") && why.contains("foundational"), "{why}");
}

#[test]
fn a_reply_that_cannot_be_read_is_answered_once_and_then_habit_answers() {
    let (mut bench, model) = bench();
    let broken = || "{\"tool_name\" ]".to_owned();
    [broken(), answer(), broken(), broken()].into_iter().for_each(|reply| model.will_say(reply));
    assert_eq!(bench.say(GOAL).reply.as_deref(), Some("Good."));
    assert!(model.last().contains("has no value"), "{}", model.last());
    let ended = bench.say(GOAL);
    assert!(ended.reply.is_some_and(|reply| reply != "Good."), "habit answers");
    assert_eq!(model.prompts().len(), 4);
    let counts = bench.agent.frame.store.record("prefrontal_cortex", b"counts").expect("read").expect("counted");
    let counts: Value = serde_json::from_slice(&counts).expect("counts");
    assert_eq!((&counts["retried"], &counts["handed_back"]), (&json!(2), &json!(1)), "{counts}");
}
