//! A model server that fails in every way servers can: the person gets an answer, and the model is asked again when
//! it works (P16, P17, P18).

use std::time::Duration;

use maxim::config::{Settings, Span};
use maxim_bus::latch::StopDetail;
use serde_json::{Value, json};

use crate::common::{Bench, MONDAY};
use crate::model::{Act, Model, acts};

const QUESTION: &str = "what do you think of gulls?";

fn gulls() -> Act {
    Act::Say(acts("respond", &json!({"message": "Gulls are fine."})))
}

/// The answer to a question, and the number of model requests.
fn asked(model: &Model, change: impl FnOnce(&mut Settings)) -> (String, usize, Bench) {
    let mut bench = model.bench(change);
    let reply = bench.say(QUESTION).reply.unwrap_or_default();
    (reply, model.requests().len(), bench)
}

/// The model answers the question after this many requests.
fn answered(model: &Model, requests: usize) {
    let (reply, count, _) = asked(model, |_| {});
    assert_eq!((reply.as_str(), count), ("Gulls are fine.", requests));
}

/// Habit answers the question after this many requests, and the why-record gives the reason.
fn handed_back(model: &Model, requests: usize, why: &str) -> Bench {
    let (reply, count, bench) =
        asked(model, |settings| settings.effectors.llm.timeout = Span::new(Duration::from_secs(2)));
    assert!(!reply.is_empty() && !reply.contains("Gulls"), "{reply}");
    assert_eq!(count, requests);
    assert!(bench.why_all().contains(why), "{why}: {}", bench.why_all());
    bench
}

fn first(act: fn() -> Act) -> Model {
    Model::acting(move |number, _| if number == 0 { act() } else { gulls() })
}

fn always(act: fn() -> Act) -> Model {
    Model::acting(move |_, _| act())
}

#[test]
fn what_passes_is_tried_again_and_the_person_notices_nothing() {
    answered(&first(|| Act::Answer(429, Some(0), String::new())), 2);
    answered(&first(|| Act::Answer(503, None, "<html>overloaded</html>".into())), 2);
    answered(&first(|| Act::Answer(200, None, "<html>it works!</html>".into())), 2);
    answered(&first(|| Act::Pieces(&["{\"ready_to_act\": tr"], false)), 2);
    answered(&first(|| Act::Answer(200, None, "{\"choices\": [{\"delta\"".into())), 2);
}

#[test]
fn a_reply_comes_in_pieces_and_is_joined() {
    let action = r#"{"ready_to_act": true, "reasoning": "I say it.", "action": {"tool_name": "respond", "#;
    let pieces: &'static [&'static str] =
        Box::leak(Box::new([action, r#""params": {"message": "Gulls "#, "are fine.\"}}}"]));
    answered(&Model::acting(move |_, _| Act::Pieces(pieces, true)), 1);
}

#[test]
fn what_stays_is_not_tried_again_and_habit_answers() {
    handed_back(&always(|| Act::Answer(401, None, r#"{"error":{"message":"wrong key"}}"#.into())), 1, "wrong key");
    handed_back(&always(|| Act::Answer(404, None, r#"{"error":"no model gull"}"#.into())), 1, "no model gull");
    let broke = || Act::Answer(429, None, r#"{"error":{"message":"pay","type":"insufficient_quota"}}"#.into());
    handed_back(&always(broke), 1, "pay");
    handed_back(&always(|| Act::Answer(429, Some(3600), String::new())), 1, "left alone for 3600 s");
}

#[test]
fn a_server_that_hangs_or_drips_costs_its_time_and_no_more() {
    handed_back(&always(|| Act::Hang), 1, "no answer within 2 s");
    handed_back(&always(|| Act::Drip), 1, "no answer within 2 s");
}

#[test]
fn a_stop_abandons_the_call_at_once() {
    let model = always(|| Act::Hang);
    let mut bench = model.bench(|settings| settings.effectors.llm.timeout = Span::new(Duration::from_secs(30)));
    let latch = bench.latch.clone();
    let asked = model.clone();
    let stopper = std::thread::spawn(move || {
        while asked.requests().is_empty() {
            std::thread::yield_now();
        }
        latch.raise(StopDetail {
            reason: "a test".into(),
            by: "test".into(),
            at: Some(MONDAY.parse().expect("a time")),
        });
    });
    bench.say(QUESTION);
    stopper.join().expect("it stopped");
    assert!(bench.why_all().contains("because of a stop"), "{}", bench.why_all());
}

#[test]
fn after_failures_the_model_is_left_alone_and_asked_again_when_it_may_be_well() {
    let model = Model::acting(|number, _| if number < 4 { Act::Answer(401, None, String::new()) } else { gulls() });
    let mut bench = model.bench(|settings| settings.effectors.llm.tick = Span::new(Duration::from_secs(0)));
    let say = |bench: &mut Bench| (bench.say(QUESTION).reply.unwrap_or_default(), model.requests().len());
    for number in 1..=3 {
        assert_eq!(say(&mut bench).1, number);
    }
    assert_eq!(say(&mut bench).1, 3, "the circuit is open");
    bench.pass(Duration::from_secs(60));
    assert_eq!(say(&mut bench).1, 4);
    assert_eq!(say(&mut bench).1, 4, "one failure opens it again");
    bench.pass(Duration::from_secs(60));
    assert_eq!(say(&mut bench), ("Gulls are fine.".into(), 5));
    assert_eq!(say(&mut bench), ("Gulls are fine.".into(), 6));
}

#[test]
fn a_crash_at_any_step_of_a_turn_leaves_the_person_with_the_models_answer() {
    let mut asked_again = 0;
    for steps in (0..).step_by(2) {
        let model = always(gulls);
        let mut bench = model.bench(|_| {});
        let mut acknowledged = bench.submit(QUESTION);
        if !(0..steps).all(|_| bench.agent.step()) {
            assert!(asked_again > 0, "{steps} steps, and no call was lost");
            return;
        }
        let is_acknowledged = acknowledged.try_recv().is_ok();
        bench.crash();
        bench.pass(Duration::from_secs(60));
        let (why, asked) = (bench.why_all(), model.requests().len());
        if is_acknowledged || asked > 0 {
            // If it is unknown whether the words were heard, the end of the turn contains them.
            assert!(why.contains("\"reply\":\"Gulls are fine.\""), "crash at {steps}: {why}");
        }
        assert!(asked <= 1, "crash at {steps}: {asked} calls");
        asked_again += usize::from(why.matches("\"PromptBuilt\"").count() > 1);
        let spent = bench.inquire("energy_status", json!({}));
        assert!(spent["calls"].as_u64().is_none_or(|calls| calls <= 1), "an answer counts once: {spent}");
    }
}

/// In llama.cpp's words, counting three characters as a token.
fn too_long(request: &Value, window: usize) -> Option<Act> {
    let text = |at: usize| request["messages"][at]["content"].as_str().unwrap_or_default().len();
    let tokens = (text(0) + text(1)) / 3;
    let room = window - usize::try_from(request["max_tokens"].as_u64().unwrap_or(0)).unwrap_or(0);
    let message = format!("request ({tokens} tokens) exceeds the available context size ({window} tokens)");
    let error = json!({"error": {"code": 400, "message": message, "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens, "n_ctx": window}});
    (tokens > room).then(|| Act::Answer(400, None, error.to_string()))
}

#[test]
fn a_window_that_is_narrower_than_was_configured_is_learned_and_kept_to() {
    let model = Model::acting(|_, request| too_long(request, 4_096).unwrap_or_else(gulls));
    let mut bench = model.bench(|settings| settings.effectors.llm.tick = Span::new(Duration::from_secs(0)));
    for number in 0..40 {
        bench.say(&format!("remember that bird {number} is called {}", "Jonathan Livingston ".repeat(8)));
    }
    let before = model.requests().len();
    assert_eq!(bench.say(QUESTION).reply.as_deref(), Some("Gulls are fine."));
    let asked = model.requests().len() - before;
    assert!((1..=3).contains(&asked), "{asked} requests");
    bench.crash();
    assert_eq!(bench.say("and what of terns?").reply.as_deref(), Some("Gulls are fine."));
    assert_eq!(model.requests().len() - before - asked, 1, "what was learned is kept over a crash");
    assert!(model.last().contains("user says") || model.last().contains("and what of terns?"));
}

#[test]
fn a_reply_that_its_tokens_ended_is_never_acted_on_by_half() {
    let whole = acts("write_file", &json!({"path": "birds.txt", "content": "gull, tern, skua and many more"}));
    let half = whole[..whole.len() / 2 + 30].to_owned();
    let model = Model::acting(move |number, _| if number == 0 { Act::Cut(half.clone()) } else { gulls() });
    let (reply, count, bench) = asked(&model, |_| {});
    assert_eq!((reply.as_str(), count), ("Gulls are fine.", 2));
    assert!(!bench.folder.path().join("birds.txt").exists());
    assert!(model.last().contains("cut off after"), "{}", model.last());
}

#[test]
fn spending_passes_a_budget_by_no_more_than_one_call() {
    let model = always(gulls);
    let budget = 12_000;
    let mut bench = model.bench(|settings| settings.effectors.llm.tokens_per_hour = budget);
    for number in 0..20 {
        bench.say(&format!("what do you think of bird number {number}?"));
    }
    // The server counts four characters as a token.
    let spent: Vec<u64> = model.prompts().iter().map(|prompt| prompt.len() as u64 / 4).collect();
    let dearest = spent.iter().max().copied().unwrap_or(0);
    assert!(spent.len() > 1 && spent.len() < 20, "{} calls", spent.len());
    assert!(spent.iter().sum::<u64>() <= budget + dearest, "{spent:?}");
    let asked = model.requests().len();
    bench.pass(Duration::from_secs(3600));
    assert_eq!(bench.say(QUESTION).reply.as_deref(), Some("Gulls are fine."), "an hour later there is a new budget");
    assert_eq!(model.requests().len(), asked + 1);
}

#[test]
fn a_session_has_its_own_budget_and_a_new_process_is_a_new_session() {
    let model = always(gulls);
    let mut bench = model.bench(|settings| settings.effectors.llm.tokens_per_session = 12_000);
    for number in 0..20 {
        bench.say(&format!("what do you think of bird number {number}?"));
        bench.pass(Duration::from_secs(3600));
    }
    let asked = model.requests().len();
    assert!(asked > 1 && asked < 20, "{asked} calls");
    assert!(
        bench.why_all().contains("the budget of 12000 tokens a session")
            || bench.why_all().contains("tokens of the session")
    );
    let energy = bench.inquire("energy_status", json!({}));
    assert_eq!(energy["budgets"]["session"]["limit"], 12_000);
    bench.crash();
    assert_eq!(bench.say(QUESTION).reply.as_deref(), Some("Gulls are fine."));
}

#[test]
fn an_idle_month_costs_nothing() {
    let model = always(gulls);
    let mut bench = model.bench(|_| {});
    bench.say(QUESTION);
    let asked = model.requests().len();
    bench.pass(Duration::from_secs(30 * 24 * 3600));
    assert_eq!(model.requests().len(), asked);
}
