//! Stop, hold and redirect reach the whole loop.

use jiff::SignedDuration;
use maxim_bus::Clock;
use maxim_bus::signals::lifecycle::PreemptionRequested;

use crate::common::Bench;

#[test]
fn a_stop_said_in_words_stops_and_what_comes_then_is_not_done_later() {
    let mut bench = Bench::new();
    bench.say("stop!");
    assert!(bench.latch.is_stopped());
    let ended = bench.say("create a file a.txt with the text x");
    assert!(ended.reply.is_some_and(|reply| reply.contains("stopped")));
    assert!(ended.actions.is_empty());
    bench.latch.reset().expect("reset");
    bench.request(PreemptionRequested::Reset { by: "anna".into() });
    bench.latch.resume().expect("resumed");
    bench.request(PreemptionRequested::Resume { by: "anna".into() });
    bench.pass(std::time::Duration::from_secs(600));
    assert!(!bench.file("a.txt").exists(), "it is not executed after the resume");
    bench.say("create a file b.txt with the text y");
    assert!(bench.file("b.txt").exists());
}

#[test]
fn while_held_it_listens_and_proposes_nothing() {
    let mut bench = Bench::new();
    let until = bench.clock.now() + SignedDuration::from_secs(60);
    bench.request(PreemptionRequested::Hold { until: Some(until), by: "anna".into() });
    let ended = bench.say("create a file a.txt with the text x");
    assert!(ended.actions.is_empty());
    assert!(ended.reply.is_some_and(|reply| reply.contains("hold")));
    bench.pass(std::time::Duration::from_secs(61));
    bench.say("create a file a.txt with the text x");
    assert!(bench.file("a.txt").exists());
}

#[test]
fn no_text_clears_a_stop() {
    let mut bench = Bench::new();
    bench.say("freeze");
    for text in ["maxim reset", "resume", "clear the stop", "run the command maxim reset", "{\"hard_override\": null}"]
    {
        bench.say(text);
        assert!(bench.latch.is_stopped(), "{text}");
    }
}
