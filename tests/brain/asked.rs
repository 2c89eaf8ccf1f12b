//! Questions about the past, asked of a whole brain without a model: time spans, order, counts, and reasons.

use std::time::Duration;

use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::region::Region;
use maxim_bus::signals::concepts::ForgetRecord;
use serde_json::json;

use crate::common::Bench;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Each question, with texts that its answer must and must not contain.
fn answers(bench: &mut Bench, questions: &[(&str, &[&str], &[&str])]) {
    let mut failures = Vec::new();
    for (question, holds, lacks) in questions {
        let ended = bench.say(question);
        bench.pass(Duration::from_secs(20));
        let reply = ended.reply.unwrap_or_default();
        let missing = holds.iter().find(|part| !reply.contains(**part));
        let wrong = lacks.iter().find(|part| reply.contains(**part));
        if missing.is_some() || wrong.is_some() {
            failures.push(format!("{question:?}: lacks {missing:?}, holds {wrong:?}\n    {reply:?}"));
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_span_limits_what_is_told_and_one_without_anything_is_named() {
    let mut bench = Bench::new();
    bench.say("the pump pressure is 4 bar");
    bench.pass(HOUR);
    bench.say("create a file tide.txt with the text high at noon");
    bench.pass(40 * DAY);
    bench.say("the pump pressure is 6 bar");
    bench.pass(HOUR);
    bench.say("Paul painted the fence");
    bench.pass(DAY);
    answers(
        &mut bench,
        &[
            ("what was the pump pressure in January?", &["4 bar"], &["6 bar"]),
            ("what was the pump pressure in October?", &["I don't know", "October"], &[]),
            ("what is the pump pressure?", &["6 bar"], &["I don't know"]),
            ("what happened yesterday?", &["6 bar", "painted the fence"], &["4 bar"]),
            ("what happened in January?", &["4 bar", "tide.txt"], &["6 bar"]),
            ("what happened on 5 January?", &["4 bar"], &["fence"]),
            ("what happened last month?", &["4 bar"], &["fence"]),
            ("what happened in October?", &["nothing", "in October"], &["bar"]),
            ("what did you do on 5 January?", &["tide.txt"], &["I don't remember"]),
            ("what did you do in October?", &["I don't remember", "in October"], &["tide.txt"]),
            ("what did Paul do yesterday?", &["painted the fence"], &["bar"]),
            ("what did Ben do yesterday?", &["nothing", "Ben"], &["fence"]),
        ],
    );
    bench.say("the ladder is in the shed");
    answers(
        &mut bench,
        &[
            ("what did we talk about today?", &["ladder"], &["fence", "I don't know"]),
            ("what happened today?", &["ladder"], &["fence"]),
        ],
    );
}

#[test]
fn what_came_before_and_after_is_told_and_never_the_event_itself() {
    let mut bench = Bench::new();
    for told in ["the boiler broke", "Paul called the plumber", "the plumber came", "the bill is 90 euros"] {
        bench.say(told);
        bench.pass(5 * HOUR);
    }
    bench.pass(3 * DAY);
    for n in 0..30 {
        bench.say(&format!("box {n} is full"));
        bench.pass(Duration::from_secs(60));
    }
    answers(
        &mut bench,
        &[
            (
                "what happened before the plumber came?",
                &["that Paul called the plumber. After that on 2026-01-05"],
                &[],
            ),
            (
                "what happened after the boiler broke?",
                &["that Paul called the plumber. Before that on 2026-01-05"],
                &[],
            ),
            ("what happened right after the plumber came?", &["the bill is 90 euros"], &["box"]),
            ("what happened before the boiler broke?", &["I remember nothing of what was before that"], &[]),
            ("what happened after the roof fell?", &["I don't know when that was"], &["boiler"]),
        ],
    );
}

#[test]
fn how_often_first_and_last_are_told_by_the_index_exactly() {
    let mut bench = Bench::new();
    let line = |n: u64| {
        let text =
            if n.is_multiple_of(500) { format!("print the weekly report {n}") } else { format!("print page {n}") };
        let at = "2025-06-01T00:00:00Z".parse::<jiff::Timestamp>().expect("a time")
            + jiff::SignedDuration::from_mins(i64::try_from(n).expect("few"));
        let line = json!({"id": format!("p{n}"), "text": text, "tool": "print", "success": !n.is_multiple_of(4), "timestamp": at});
        (n, line.to_string())
    };
    assert_eq!(bench.import((1..=1_200).map(line).collect(), true).kept, 1_200);
    // Without sleep, because removed episodes are no longer counted.
    for _ in 0..2 {
        bench.say("remember that the toner is low");
        bench.pass(Duration::from_secs(60));
    }
    answers(
        &mut bench,
        &[
            ("how often have you used print?", &["1200 times (900 went well, 300 failed)", "page 1200"], &[]),
            ("how many times did print fail?", &["300 times. The last time: On 2025-06-01 at 20:00", "It failed"], &[]),
            ("did print ever fail?", &["On 2025-06-01 at 20:00", "It failed"], &[]),
            ("when did you last use print?", &["On 2025-06-01 at 20:00"], &[]),
            ("when did you first use print?", &["On 2025-06-01 at 00:01"], &[]),
            ("when did print last fail?", &["On 2025-06-01 at 20:00"], &[]),
            ("when did you first print the weekly report?", &["On 2025-06-01 at 08:20", "weekly report 500"], &[]),
            ("how often did you print the weekly report?", &["Twice", "weekly report 1000"], &[]),
            ("did the print tool fail in July?", &["I don't remember that print failed in July"], &[]),
            ("how often did I tell you about the toner?", &["that I remember, the last time", "toner is low"], &[]),
            ("how often did Anna sing?", &["I don't remember"], &[]),
        ],
    );
}

#[test]
fn another_thing_is_at_most_the_nearest_and_another_subject_no_change() {
    let mut bench = Bench::new();
    for told in [
        "Paul fixed the fence",
        "Jan Kowalski is allergic to milk",
        "Jan Novak is allergic to nuts",
        "the wifi password of the office is hunter22",
    ] {
        bench.say(told);
        bench.pass(HOUR);
    }
    answers(
        &mut bench,
        &[
            ("did Paul fix the fence?", &["Paul fixed the fence"], &["I don't know"]),
            ("did Paul fix the roof?", &["I don't know"], &[]),
            ("is Jan Kowalski allergic to nuts?", &["I don't know"], &["Before that"]),
            ("is Jan Novak allergic to nuts?", &["Jan Novak is allergic to nuts"], &["I don't know"]),
            ("wifi password at home?", &["I don't know"], &[]),
            ("what is the wifi password of the office?", &["hunter22"], &["I don't know"]),
        ],
    );
}

#[test]
fn why_tells_what_the_answer_rested_on_until_that_is_forgotten() {
    let mut bench = Bench::new();
    let told = bench.say("the passport is in the safe").turn;
    bench.pass(HOUR);
    bench.say("remember the 🔑 is under the 🪴");
    bench.pass(HOUR);
    let rested = ["That rested on this: You told me on 2026-01-05 that the passport is in the safe.", "`maxim why`"];
    answers(
        &mut bench,
        &[
            ("what is in the safe?", &["the passport is in the safe"], &["which file"]),
            ("how do you know that?", &rested, &[]),
            ("why?", &rested, &[]),
            ("where is the 🔑?", &["under the 🪴"], &["I don't know"]),
            ("what is in notes.txt?", &["read_file failed"], &[]),
            ("why?", &["`maxim why`"], &["That rested on this"]),
            ("what is in the safe?", &["the passport is in the safe"], &[]),
        ],
    );
    assert!(bench.ask(Hippocampus::NAME, ForgetRecord { id: told.to_string() }).found);
    bench.pass(Duration::from_secs(60));
    answers(&mut bench, &[("why?", &["I don't remember any more", "`maxim why`"], &["passport"])]);
}
