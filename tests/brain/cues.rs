//! Surrounding things become cues for an act's result: the effects of conditioning, in the whole brain.

use std::sync::Arc;
use std::time::Duration;

use maxim::config::Settings;
use maxim_actors::action::tools::{
    EffectClass, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec,
};
use maxim_actors::region::Region;
use maxim_actors::sleep::semantic_promoter::SemanticPromoter;
use maxim_actors::store::StateStore;
use maxim_bus::Trust;
use maxim_bus::latch::Permit;
use maxim_bus::signals::promotion::Promote;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::units::Confidence;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// It bites while the working folder contains `angry`.
struct Feeder(ToolSpec);

impl Tool for Feeder {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        match hands.workdir.join("angry").exists() {
            true => ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, "it bites")),
            false => ToolOutcome::done(json!({"fed": true})),
        }
    }
}

fn with_feeder() -> ToolRegistry {
    let mut tools = core_tools();
    let spec = ToolSpec::new("fill_bowl", "Fills the bowl.").with_speech(&["fill"], &["{verb} the bowl"]);
    tools.register(Arc::new(Feeder(ToolSpec { effect: EffectClass::Reversible, ..spec }))).expect("registered");
    tools
}

/// Fear depends only on predictions, and begins at a quarter.
fn bench() -> Bench {
    let mut settings = Settings::default();
    (settings.gate.gate.bridge_gain, settings.gate.gate.veto_value) = (0.0, 0.25);
    Bench::with("maxim", StateStore::in_memory(), with_feeder, settings)
}

fn sees(bench: &mut Bench, things: &[&str]) {
    let seen = |name: &&str| Detection { name: (*name).into(), confidence: Confidence::clamped(0.9), frame: None };
    let objects = things.iter().map(seen).collect();
    let observed = Observed { source: "camera".into(), objects, people: Vec::new(), sound: None, pose: None };
    let door = Arc::clone(&bench.agent.outside.door);
    door.put("door", door.fresh_id(), Trust::Sensor, observed);
    bench.agent.settle();
}

/// Fills the bowl among these things; returns whether it was done, failed or asked about. The person allows every
/// question.
fn trial(bench: &mut Bench, things: &[&str], bites: bool) -> String {
    bench.pass(Duration::from_secs(90));
    let angry = bench.file("angry");
    if bites {
        std::fs::write(angry, "").expect("written")
    } else {
        drop(std::fs::remove_file(angry))
    }
    sees(bench, things);
    let action = bench.say("fill the bowl").actions.remove(0);
    if action.status == "asked" {
        let reason = action.reason.clone().unwrap_or_default();
        assert!(reason.starts_with("fear.learned") || reason.starts_with("it went wrong"), "fear asks: {reason}");
        bench.agent.outside.door.decide(action.id, true, false, "anna".into());
        bench.agent.settle();
    }
    action.status.to_string()
}

/// The expected value among these things.
fn expected(bench: &mut Bench, things: &[&str]) -> f64 {
    bench.pass(Duration::from_secs(90));
    sees(bench, things);
    let told = bench.inquire("predict_outcome", json!({"tool_name": "fill_bowl", "include_all_outcomes": true}));
    told["value"].as_f64().expect("a value")
}

#[test]
fn what_hurts_beside_one_thing_is_done_without_it_and_unlearned_when_it_is_harmless() {
    let mut bench = bench();
    for _ in 0..30 {
        trial(&mut bench, &["dog"], true);
        trial(&mut bench, &["cup"], false);
    }
    bench.crash();
    assert_eq!(trial(&mut bench, &["dog"], true), "asked", "the same act, goal and hour; what is around differs");
    assert_eq!(trial(&mut bench, &["cup"], false), "done");
    assert_eq!(trial(&mut bench, &[], false), "done");
    bench.ask(SemanticPromoter::NAME, Promote { by: "test".into() });
    let asked = json!({"name": "dog", "relationship_type": "PREDICTS"});
    let known = bench.inquire("concept_query", asked)["results"].to_string();
    assert!(known.contains("fill_bowl failed"), "what announces something becomes knowledge: {known}");
    let told = bench.inquire("predict_outcome", json!({"tool_name": "fill_bowl", "context": "with the dog around"}));
    assert!(told["value"].as_f64() < Some(0.2), "words say what is around: {told}");

    let allowed = (0..60).take_while(|_| trial(&mut bench, &["dog"], false) == "asked").count();
    assert!((1..60).contains(&allowed), "extinction: {allowed}");
    assert!(expected(&mut bench, &["dog"]) >= 0.25);
}

/// How much a cup lowers the expectation, after it was present beside a dog when it hurt.
fn weight_of_cup(before: usize, beside: &[&str]) -> f64 {
    let mut bench = bench();
    (0..before).for_each(|_| drop(trial(&mut bench, &["dog"], true)));
    (0..10).for_each(|_| drop(trial(&mut bench, beside, true)));
    expected(&mut bench, &["bell"]) - expected(&mut bench, &["cup"])
}

#[test]
fn what_is_explained_already_blocks_a_new_cue_and_cues_that_come_together_share() {
    let (blocked, control) = (weight_of_cup(30, &["dog", "cup"]), weight_of_cup(0, &["dog", "cup"]));
    assert!(control > 0.05 && blocked < control / 4.0, "blocking: {blocked} against {control}");
    let alone = weight_of_cup(0, &["cup"]);
    assert!(control < 0.8 * alone, "overshadowing: {control} against {alone}");
}

#[test]
fn a_thing_that_was_always_there_means_less_than_a_new_one() {
    let weight = |times: usize| {
        let mut bench = bench();
        for _ in 0..times {
            sees(&mut bench, &["cup"]);
            bench.pass(Duration::from_secs(5));
        }
        (0..4).for_each(|_| drop(trial(&mut bench, &["cup"], true)));
        expected(&mut bench, &["bell"]) - expected(&mut bench, &["cup"])
    };
    let (new, familiar) = (weight(0), weight(60));
    assert!(familiar > 0.0 && familiar < 0.85 * new, "latent inhibition: {familiar} against {new}");
}
