//! A model server that supports some forms of structured output and not others.

use serde_json::{Value, json};

use crate::model::{Act, Model, acts};

/// The form in which a reply was requested; `-` when none was named.
fn form(request: &Value) -> &str {
    request["response_format"]["type"].as_str().unwrap_or("-")
}

/// The forms of two requests to a server that refuses these forms, and the second answer.
fn two_questions(refused: &'static [&'static str]) -> (Vec<String>, String) {
    let model = Model::acting(move |_, request| match refused.contains(&form(request)) {
        true => Act::Answer(400, None, json!({"error": {"message": "this form isn't supported"}}).to_string()),
        false => Act::Say(acts("respond", &json!({"message": "Gulls are fine."}))),
    });
    let mut bench = model.bench(|_| {});
    bench.say("what do you think of gulls?");
    let reply = bench.say("and what do you think of terns?").reply.unwrap_or_default();
    (model.requests().iter().map(|request| form(request).to_owned()).collect(), reply)
}

#[test]
fn a_server_with_schemas_is_asked_for_one() {
    let (asked, reply) = two_questions(&[]);
    assert_eq!(asked, ["json_schema", "json_schema"]);
    assert_eq!(reply, "Gulls are fine.");
}

#[test]
fn what_a_server_lacks_is_tried_once_and_the_answer_is_had_all_the_same() {
    let (asked, reply) = two_questions(&["json_schema"]);
    assert_eq!(asked, ["json_schema", "json_object", "json_object"]);
    assert_eq!(reply, "Gulls are fine.");
    let (asked, reply) = two_questions(&["json_schema", "json_object"]);
    assert_eq!(asked, ["json_schema", "json_object", "-", "-"]);
    assert_eq!(reply, "Gulls are fine.");
}

#[test]
fn a_server_that_refuses_everything_is_asked_in_each_form_and_habit_answers() {
    let (asked, reply) = two_questions(&["json_schema", "json_object", "-"]);
    assert_eq!(asked[..3], ["json_schema", "json_object", "-"]);
    assert!(!reply.is_empty() && !reply.contains("Gulls are fine"), "{reply}");
}
