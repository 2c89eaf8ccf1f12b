//! Turns with several actions: each result goes back to the model, which answers when it is done.

use maxim_bus::signals::thought::TurnEnded;
use serde_json::json;

use crate::model::{Act, Model, acts};

const WISH: &str = "what would make the shopping list complete?";

fn say(message: &str) -> String {
    acts("respond", &json!({"message": message}))
}

/// Gives the n-th reply at the n-th request, and repeats the last.
fn scripted(replies: Vec<String>) -> Model {
    Model::acting(move |number, _| Act::Say(replies[number.min(replies.len() - 1)].clone()))
}

fn did(ended: &TurnEnded) -> Vec<(&str, &str)> {
    ended.actions.iter().map(|action| (action.tool.as_str(), action.status.as_str())).collect()
}

fn write(text: &str) -> String {
    acts("write_file", &json!({"path": "list.txt", "content": text}))
}

#[test]
fn a_model_acts_by_what_came_of_its_actions_and_then_answers() {
    let model = Model::acting(|_, request| {
        let prompt = request["messages"][1]["content"].as_str().unwrap_or_default();
        // It knows only its prompt.
        Act::Say(match () {
            () if prompt.contains("write_file {") => say("I added eggs to the list."),
            () if prompt.contains("milk and bread") => write("milk, bread and eggs"),
            () => acts("read_file", &json!({"path": "list.txt"})),
        })
    });
    let mut bench = model.bench(|_| {});
    std::fs::write(bench.file("list.txt"), "milk and bread").expect("written");
    let ended = bench.say(WISH);
    assert_eq!(ended.reply.as_deref(), Some("I added eggs to the list."));
    assert_eq!(did(&ended), [("read_file", "done"), ("write_file", "done"), ("respond", "done")]);
    assert_eq!(std::fs::read_to_string(bench.file("list.txt")).expect("it is there"), "milk, bread and eggs");
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(
        !prompts[0].contains("What you did") && prompts[2].contains("<data source=\"read_file\">"),
        "{}",
        prompts[2]
    );
}

#[test]
fn a_question_to_its_own_memory_is_an_action_like_others() {
    let model = scripted(vec![acts("memory_recall", &json!({"query": "green teapot"})), say("It is in the attic.")]);
    let mut bench = model.bench(|_| {});
    bench.say("remember that the green teapot is in the attic");
    let ended = bench.say("do you happen to have an idea of the teapot?");
    assert_eq!(ended.reply.as_deref(), Some("It is in the attic."));
    assert!(model.last().contains("memory_recall {") && model.last().contains("in the attic"), "{}", model.last());
}

#[test]
fn what_the_gate_refuses_is_told_and_a_second_refusal_ends_the_trying() {
    let wipe = acts("bash", &json!({"command": "rm -rf /"}));
    let model = scripted(vec![wipe.clone(), say("I won't do that.")]);
    let mut bench = model.bench(|_| {});
    let ended = bench.say(WISH);
    assert_eq!(ended.reply.as_deref(), Some("I won't do that."));
    assert!(model.last().contains("blocked") && model.last().contains("destroy.root"), "{}", model.last());

    let home = acts("bash", &json!({"command": "rm -rf /home"}));
    let model = scripted(vec![wipe.clone(), home, wipe, say("not reached")]);
    let mut bench = model.bench(|_| {});
    let ended = bench.say(WISH);
    assert_eq!(model.requests().len(), 3, "two refusals, and a chance to answer that it doesn't take");
    assert!(ended.reply.is_some_and(|reply| reply.contains("destroy.root")));
}

#[test]
fn the_same_action_twice_in_a_row_is_not_done_again() {
    let model = scripted(vec![write("milk"), write("milk"), say("It was written already.")]);
    let mut bench = model.bench(|_| {});
    let ended = bench.say(WISH);
    assert_eq!(did(&ended), [("write_file", "done"), ("respond", "done")]);
    assert_eq!(ended.reply.as_deref(), Some("It was written already."));
    assert!(model.last().contains("Nothing more can be done in this turn"), "{}", model.last());
}

#[test]
fn a_turn_takes_so_many_actions_and_then_an_answer() {
    let model = Model::acting(|number, _| Act::Say(write(&format!("{number} eggs"))));
    let mut bench = model.bench(|settings| settings.effectors.llm.steps = 3);
    let ended = bench.say(WISH);
    assert_eq!(did(&ended).len(), 4, "{ended:?}");
    assert_eq!(model.requests().len(), 4);
    assert_eq!(std::fs::read_to_string(bench.file("list.txt")).expect("it is there"), "2 eggs");
    assert!(ended.reply.is_some_and(|reply| reply.contains("list.txt")), "the person hears what was done");
}

#[test]
fn when_the_model_fails_half_way_the_person_hears_what_was_done() {
    let model = Model::acting(|number, _| match number {
        0 => Act::Say(write("milk")),
        _ => Act::Answer(401, None, "no".into()),
    });
    let mut bench = model.bench(|_| {});
    let ended = bench.say(WISH);
    assert!(ended.reply.as_deref().is_some_and(|reply| reply.contains("list.txt")), "{ended:?}");
    assert!(bench.why_all().contains("could not help any further"));
}

#[test]
fn what_a_model_only_got_wrong_is_not_told_and_habit_answers() {
    let model = Model::acting(|number, _| match number {
        0 => Act::Say(acts("read_file", &json!({"nonsense": 1}))),
        _ => Act::Answer(401, None, "no".into()),
    });
    let mut bench = model.bench(|_| {});
    bench.say("remember that the green teapot is in the attic");
    let reply = bench.say("do you happen to have an idea of the green teapot?").reply.unwrap_or_default();
    assert!(reply.contains("in the attic") && !reply.contains("read_file"), "{reply}");
}

#[test]
fn a_crash_between_any_two_steps_does_each_action_once() {
    // Reads, then creates a file that must not exist yet: doing it twice would fail.
    let model = Model::acting(|_, request| {
        let prompt = request["messages"][1]["content"].as_str().unwrap_or_default();
        Act::Say(match () {
            () if prompt.contains("edit_file {") => say("Done."),
            () if prompt.contains("read_file {") => acts(
                "edit_file",
                &json!({"path": "list.txt", "old_string": "milk", "new_string": "milk and milk", "expected_count": 1}),
            ),
            () => acts("read_file", &json!({"path": "list.txt"})),
        })
    });
    let (mut steps, mut done) = (0, 0);
    loop {
        let mut bench = model.bench(|_| {});
        std::fs::write(bench.file("list.txt"), "milk").expect("written");
        drop(bench.submit(WISH));
        if !bench.crash_after(steps) {
            break; // the whole turn ended before the crash
        }
        let text = std::fs::read_to_string(bench.file("list.txt")).expect("it is there");
        assert!(["milk", "milk and milk"].contains(&text.as_str()), "after step {steps}: {text}");
        done += usize::from(text == "milk and milk");
        steps += 7;
    }
    println!("{steps} steps, done after {done} of the crashes");
    assert!(steps > 100 && done > steps / 7 / 2, "most crashes lose nothing: {done} of {}", steps / 7);
}

#[test]
fn outcomes_are_shown_whole_as_far_as_the_window_goes() {
    let long = "egg ".repeat(4_000);
    let shown = |window: u32| {
        let model = scripted(vec![acts("read_file", &json!({"path": "list.txt"})), say("Many eggs.")]);
        let mut bench = model.bench(|settings| settings.effectors.llm.context_tokens = window);
        std::fs::write(bench.file("list.txt"), &long).expect("written");
        bench.say(WISH);
        assert!(model.last().contains("(cut)"), "what was left out is said: {}", model.last());
        model.prompts().iter().map(|prompt| prompt.matches("egg").count()).max().unwrap_or(0)
    };
    let (narrow, wide) = (shown(2_048), shown(32_768));
    assert!(0 < narrow && narrow < wide && wide <= 1_500, "{narrow}, {wide}");
}

#[test]
fn an_answer_under_invented_names_is_given_once_and_one_without_words_is_no_answer() {
    let model = scripted(vec![acts("reply", &json!({"content": "Two eggs."})), say("not reached")]);
    let ended = model.bench(|_| {}).say(WISH);
    assert_eq!((ended.reply.as_deref(), model.requests().len()), (Some("Two eggs."), 1));
    assert_eq!(did(&ended), [("respond", "done")]);

    let model = scripted(vec![acts("respond", &json!({"message": " "}))]);
    let mut bench = model.bench(|_| {});
    bench.say("remember that the green teapot is in the attic");
    let reply = bench.say("do you happen to have an idea of the green teapot?").reply.unwrap_or_default();
    assert!(reply.contains("in the attic"), "habit answers: {reply}");
}
