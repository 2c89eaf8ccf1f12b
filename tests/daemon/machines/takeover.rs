//! A machine that takes over has everything acknowledged, stays stopped if it was stopped, and hands back in order.

use rustix::process::Signal;
use serde_json::json;

use super::{Machine, Server, code, machines, recalls};

#[test]
fn whatever_was_acknowledged_is_there_on_the_next_machine_over_and_over() {
    let Some(server) = Server::start() else { return };
    let (one, two) = (Machine::of(&server), Machine::of(&server));
    let mut acknowledged = Vec::new();
    let mut living = one.start();
    let (mut other, mut token) = (&two, 0);
    for round in 0..3 {
        let waiting = other.stand_by();
        let texts: Vec<String> = (0..12).map(|n| code(round * 100 + n)).collect();
        acknowledged.extend(living.tell_all(&texts));
        // All turns are still running.
        living.kill();
        living = waiting.join().expect("it takes over");
        let heard = living.heard();
        assert!(heard.contains("standing by") && heard.contains("runs the agent maxim now"), "{heard}");
        let now = machines(&living)["token"].as_u64().expect("a token");
        assert!(now > token, "each owner's token is larger");
        token = now;
        let lost: Vec<&String> = acknowledged.iter().filter(|text| !recalls(&living, text)).collect();
        assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), acknowledged.len());
        other = if round % 2 == 0 { &one } else { &two };
    }
    assert!(acknowledged.len() >= 18, "only {} acknowledged", acknowledged.len());
    assert_eq!(living.post("/v1/memory/verify", &json!({})).1["ok"], true);
    // An orderly end releases the lease: the next machine needn't wait until it runs out.
    let waiting = other.stand_by();
    living.say("what is 2 + 3?");
    assert_eq!(living.end(), 0);
    let living = waiting.join().expect("it takes over");
    living.until("told", || living.heard().contains("it was ended in order"));
    assert!(acknowledged.iter().all(|text| recalls(&living, text)));
}

#[test]
fn a_stop_goes_along_and_so_does_its_reset() {
    let Some(server) = Server::start() else { return };
    let (one, two) = (Machine::of(&server), Machine::of(&server));
    let first = one.start();
    let waiting = two.stand_by();
    // The stop holds here at once, and on the next machine once it is reported as durable.
    first.until("durable", || one.stop("smoke in the hall")["durable"] == true);
    first.kill();
    let second = waiting.join().expect("it takes over");
    let stop = second.get("/v1/status").1["stop"].clone();
    assert_eq!((stop["latched"].as_bool(), stop["reason"].as_str()), (Some(true), Some("smoke in the hall")), "{stop}");
    let said = second.say("run the command touch while-stopped.txt");
    assert!(!two.place.work().join("while-stopped.txt").exists(), "{said}");
    assert_eq!(two.cli(&["reset"]).0, 0);
    assert_eq!(two.cli(&["resume"]).0, 0);
    // The first machine's own file says stopped: that holds until a person on site checks.
    let waiting = one.stand_by();
    second.say("what is 2 + 3?");
    assert_eq!(second.end(), 0);
    let first = waiting.join().expect("it takes over");
    assert_eq!(first.get("/v1/status").1["stop"]["latched"], true);
    assert_eq!(one.cli(&["reset"]).0, 0);
    assert_eq!(one.cli(&["resume"]).0, 0);
    first.signal(Signal::TERM);
    assert_eq!(first.ended(), 0);
    let third = Machine::of(&server);
    let third_lives = third.start();
    assert_eq!(third_lives.get("/v1/status").1["stop"]["latched"], false, "a new machine has what held last");
    assert_eq!(third_lives.say("what is 1 + 1?")["reply"].as_str().map(|reply| reply.contains('2')), Some(true));
}

#[test]
fn the_same_machine_goes_on_at_once_after_a_crash() {
    let Some(server) = Server::start() else { return };
    let one = Machine::of(&server);
    let mut acknowledged = Vec::new();
    for cycle in 0..10 {
        // A lease of ten minutes would still be running.
        let daemon = one.start_with(&[("MAXIM__NATS__LEASE", "10min")]);
        let texts: Vec<String> = (0..8).map(|n| code(cycle * 10 + n)).collect();
        acknowledged.extend(daemon.tell_all(&texts));
        daemon.kill();
    }
    let daemon = one.start_with(&[("MAXIM__NATS__LEASE", "10min")]);
    let lost: Vec<&String> = acknowledged.iter().filter(|text| !recalls(&daemon, text)).collect();
    assert!(acknowledged.len() > 30 && lost.is_empty(), "{} of {}: {lost:?}", lost.len(), acknowledged.len());
}
