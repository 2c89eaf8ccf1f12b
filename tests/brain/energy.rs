//! The cost of thinking and moving: metered, shown, and refused in advance where a limit would be exceeded.

use std::time::Duration;

use maxim::config::Settings;
use maxim_actors::effectors::body::DriverKind;
use maxim_actors::store::StateStore;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};
use crate::model::{Model, acts};

fn status(bench: &mut Bench) -> Value {
    bench.inquire("energy_status", json!({}))
}

#[test]
fn a_call_that_would_pass_a_limit_of_money_is_not_made_and_an_hour_later_it_is() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "the model says so"})));
    let mut bench = model.bench(|settings| {
        settings.effectors.llm.price_prompt = 1_000.0;
        settings.effectors.llm.money_per_hour = 3.0;
        settings.effectors.llm.context_tokens = 8_192;
    });
    let said = bench.say("what would the gulls say to this mess?").reply.unwrap_or_default();
    assert!(said.contains("the model says so"), "{said}");
    let spent = status(&mut bench)["money"]["hour"].clone();
    let cost = spent["spent"].as_f64().expect("a sum");
    assert!(cost > 1.0 && cost < 2.5 && spent["limit"] == 3.0, "another would pass it: {spent}");
    let said = bench.say("and what would the boats say to the lighthouse?").reply.unwrap_or_default();
    assert!(!said.is_empty() && !said.contains("the model says so"), "{said}");
    let asked = model.prompts().len();
    assert_eq!(asked, 1);
    let thoughts: Vec<String> =
        bench.why_all().lines().filter(|line| line.contains("could not help")).map(str::to_owned).collect();
    assert!(thoughts.iter().any(|thought| thought.contains("the limit of 3 in money an hour")), "{thoughts:?}");
    bench.pass(Duration::from_secs(3_700));
    bench.say("what would the fish say to all of this?");
    assert_eq!(model.prompts().len(), asked + 1);
    assert!(status(&mut bench)["money"]["session"]["spent"].as_f64().is_some_and(|all| all > cost));
}

#[test]
fn a_movement_beyond_the_degrees_of_an_hour_is_refused_before_it_is_made() {
    let mut settings = Settings::default();
    settings.effectors.body.driver = DriverKind::Sim;
    settings.effectors.body.degrees_per_hour = 50.0;
    let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    assert_eq!(bench.say("look left 30 degrees").actions[0].status, "done");
    let effort = status(&mut bench)["motor_effort"].clone();
    let moved = effort["hour"]["spent"].as_f64().expect("degrees");
    assert!((28.0..33.0).contains(&moved) && effort["hour"]["limit"] == 50.0, "{effort}");
    let steps = bench.body.sim().expect("a body").accepted().0;
    let ended = bench.say("look right 30 degrees");
    assert_eq!(ended.actions[0].status, "blocked", "{ended:?}");
    assert!(ended.reply.as_ref().is_some_and(|reply| reply.contains("limit of 50 an hour")), "{ended:?}");
    assert_eq!(bench.body.sim().expect("a body").accepted().0, steps, "nothing moved");
    assert_eq!(bench.say("look right 10 degrees").actions[0].status, "done", "what fits is done");
    bench.pass(Duration::from_secs(3_700));
    assert_eq!(bench.say("look right 30 degrees").actions[0].status, "done");
}
