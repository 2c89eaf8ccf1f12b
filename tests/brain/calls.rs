//! How calls to a model server are made: delays after errors, how many earlier thoughts are shown, and what is
//! counted.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use maxim_actors::deliberation::prefrontal_cortex::{LAST_PROMPT, LastPrompt};
use maxim_bus::signals::prompt::Tier;
use serde_json::{Value, json};

use crate::common::Bench;
use crate::model::{Act, Model, acts, thinks};

const QUESTION: &str = "what do you think of gulls?";

fn gulls() -> Act {
    Act::Say(acts("respond", &json!({"message": "Gulls are fine."})))
}

/// How long the agent waits after a server refuses the first request of each question, for this many questions.
fn pauses(questions: usize, refusal: fn() -> Act) -> Vec<Duration> {
    let came = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&came);
    let model = Model::acting(move |number, _| {
        notes.lock().expect("no panic inside").push(Instant::now());
        if number % 2 == 0 { refusal() } else { gulls() }
    });
    let mut bench = model.bench(|_| {});
    for number in 0..questions {
        let reply = bench.say(&format!("what do you think of gull number {number}?")).reply;
        assert_eq!(reply.as_deref(), Some("Gulls are fine."));
    }
    let came = came.lock().expect("no panic inside").clone();
    assert_eq!(came.len(), 2 * questions);
    came.chunks(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn who_was_refused_comes_back_after_half_the_pause_at_least_and_not_all_at_once() {
    let pauses = pauses(6, || Act::Answer(503, None, String::new()));
    let pause = Duration::from_millis(300);
    assert!(pauses.iter().all(|waited| *waited >= pause / 2), "{pauses:?}");
    // A slow machine never makes a retry early.
    assert!(pauses.iter().any(|waited| *waited < pause), "some come before the others: {pauses:?}");
    assert!(pauses.iter().any(|waited| *waited > pause), "{pauses:?}");
}

#[test]
fn a_server_that_says_how_long_it_wants_to_be_left_alone_is() {
    for refusal in [|| Act::Answer(429, Some(1), String::new()), || Act::Answer(503, Some(1), String::new())] {
        let pauses = pauses(1, refusal);
        assert!(pauses[0] >= Duration::from_secs(1), "{pauses:?}");
    }
}

fn last_prompt(bench: &Bench) -> LastPrompt {
    let record = bench.agent.frame.store.record("prefrontal_cortex", LAST_PROMPT.as_bytes()).expect("read");
    serde_json::from_slice(&record.expect("a prompt")).expect("a prompt")
}

#[test]
fn of_a_long_thinking_the_newest_thoughts_fit_into_their_share_and_the_oldest_go() {
    const CYCLES: u32 = 10;
    /// 120 words that no other thought has.
    fn thought(number: usize) -> String {
        let words: Vec<String> = (0..120).map(|word| format!("w{number}x{word}")).collect();
        format!("thought{number} {}", words.join(" "))
    }
    let lived = |window: u32| {
        let model = Model::acting(|number, _| match number as u32 + 1 < CYCLES {
            true => Act::Say(thinks(&thought(number))),
            false => gulls(),
        });
        let mut bench = model.bench(|settings| {
            settings.effectors.llm.cycles = CYCLES;
            settings.effectors.llm.context_tokens = window;
        });
        bench.say(QUESTION);
        assert_eq!(model.requests().len(), CYCLES as usize);
        let prompt = last_prompt(&bench);
        let tokens = |holds: &dyn Fn(&maxim_bus::signals::prompt::SectionFate) -> bool| -> u32 {
            prompt.sections.iter().filter(|section| section.kept && holds(section)).map(|section| section.tokens).sum()
        };
        let must = tokens(&|section| section.tier <= Tier::Critical);
        let transcript = tokens(&|section| section.name == "deliberation_transcript");
        let share = f64::from(prompt.budget - must) * 0.3;
        let shown: Vec<usize> =
            (0..CYCLES as usize).filter(|n| prompt.user.contains(&format!("thought{n} "))).collect();
        (transcript, share, shown)
    };
    let (wide, share, shown) = lived(32_768);
    assert!(share > 2_000.0 && wide <= 2_000, "{wide} of {share}");
    assert!(shown.last() == Some(&8) && shown[0] > 0 && shown.len() > 1, "the newest without a gap: {shown:?}");
    assert_eq!(shown.len(), 9 - shown[0], "{shown:?}");
    let (narrow, share, fewer) = lived(6_144);
    assert!(share < 2_000.0 && f64::from(narrow) <= share, "{narrow} of {share}");
    assert!(fewer.last() == Some(&8) && fewer.len() < shown.len(), "{fewer:?} of {shown:?}");
}

#[test]
fn each_reply_is_counted_by_how_it_could_be_read() {
    let plain = acts("respond", &json!({"message": "Well."}));
    let replies = [
        plain.clone(),
        format!("Here is the JSON:\n```json\n{plain}\n```"),
        plain.replace("\"}", "\",}"),
        "{\"tool_name\" ]".into(),
        plain.clone(),
        "{\"tool_name\" ]".into(),
        "{\"tool_name\" ]".into(),
        plain.replace("I do it.", "Would you like some tea?"),
    ];
    let model = Model::default();
    let mut bench = model.bench(|_| {});
    replies.into_iter().for_each(|reply| model.will_say(reply));
    for number in 0..6 {
        bench.say(&format!("what do you think of gull number {number}?"));
    }
    assert_eq!(model.requests().len(), 8);
    let counts = bench.agent.frame.store.record("prefrontal_cortex", b"counts").expect("read").expect("counted");
    let counts: Value = serde_json::from_slice(&counts).expect("counts");
    let expected = json!({
        "read": 5, "repaired": 2, "retried": 2, "lost": 0, "handed_back": 1, "gated": 0, "outward": 1,
    });
    assert_eq!(counts, expected);
}
