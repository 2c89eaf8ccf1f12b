//! A machine that is no longer the owner neither writes nor acts, whatever it was about to do.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::json;

use super::{Machine, Server, code, machines, recalls};

#[test]
fn an_owner_that_was_paused_and_wakes_up_writes_nothing_and_does_nothing() {
    let Some(server) = Server::start() else { return };
    let (one, two) = (Machine::of(&server), Machine::of(&server));
    let first = one.start();
    assert_eq!(first.tell_all(&[code(1)]).len(), 1);
    let waiting = two.stand_by();
    first.until("the other one waits", || super::has_store(&two.place));
    first.pause();
    // They wait in its sockets while it is paused, and are read when it wakes.
    let address = first.url.trim_start_matches("http://").to_owned();
    let asks = ["run the command touch paused.txt", "write \"paused\" to paused-too.txt", &code(2)].map(|text| {
        let (address, body) = (address.clone(), json!({"text": text, "wait_s": 30}).to_string());
        std::thread::spawn(move || {
            let mut socket = TcpStream::connect(&address).expect("the kernel takes it");
            let length = body.len();
            write!(
                socket,
                "POST /v1/percepts HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .expect("sent");
            let mut answer = String::new();
            // Cut off when its process ends.
            let _ = socket.read_to_string(&mut answer);
            answer
        })
    });
    let second = waiting.join().expect("it takes over");
    assert!(recalls(&second, &code(1)));
    first.signal(Signal::CONT);
    let answers = asks.map(|ask| ask.join().expect("answered or cut off"));
    let (exit, heard) = first.ended_saying();
    assert_eq!(exit, 75, "{heard}");
    assert!(heard.contains("this machine doesn't run the agent any more"), "{heard}");
    for file in ["paused.txt", "paused-too.txt"] {
        assert!(!one.place.work().join(file).exists(), "{file}: {answers:?}");
    }
    let is_acknowledged = |answer: &String| answer.contains("\"durable\":true") || answer.starts_with("HTTP/1.1 2");
    assert!(!answers.iter().any(is_acknowledged), "{answers:?}");
    assert!(!recalls(&second, &code(2)));
    assert_eq!(second.post("/v1/memory/verify", &json!({})).1["ok"], true);
    // It may stand by again, and then has what the other machine learned.
    assert_eq!(second.tell_all(&[code(3)]).len(), 1);
    let waiting = one.stand_by();
    second.kill();
    let back = waiting.join().expect("it takes over");
    assert!([1, 3].iter().all(|n| recalls(&back, &code(*n))) && !recalls(&back, &code(2)));
}

#[test]
fn a_server_that_dies_and_comes_back_within_the_lease_costs_nothing() {
    let Some(mut server) = Server::start() else { return };
    let one = Machine::of(&server);
    let daemon = one.start_with(&[("MAXIM__NATS__LEASE", "60s")]);
    let mut acknowledged = daemon.tell_all(&[code(1), code(2)]);
    let token = machines(&daemon)["token"].clone();
    server.kill();
    // Durable means durable there: nothing is acknowledged meanwhile.
    assert!(daemon.tell_all(&[code(3)]).is_empty());
    daemon.until("told", || daemon.get("/v1/status").1["disk"].to_string().contains("doesn't answer"));
    daemon.until("found", || one.cli(&["doctor"]).1.contains("isn't connected"));
    let stop = one.stop("smoke in the hall");
    assert_ne!(stop["durable"], true, "another machine would not know it: {stop}");
    let (exit, _, trouble) = one.cli(&["stop", "--timeout", "1", "smoke in the hall"]);
    assert_eq!(exit, 0, "who is in a hurry is told at least that it is stopped here: {trouble}");
    server.run();
    daemon.until("durable", || one.stop("smoke in the hall")["durable"] == true);
    assert_eq!(one.cli(&["reset"]).0, 0);
    assert_eq!(one.cli(&["resume"]).0, 0);
    daemon.until("well again", || daemon.get("/v1/status").1["disk"]["status"] == "ok");
    acknowledged.extend(daemon.tell_all(&[code(4)]));
    assert_eq!(acknowledged.len(), 3);
    assert_eq!(machines(&daemon)["token"], token, "the same owner");
    assert_eq!(daemon.end(), 0);
    let two = Machine::of(&server);
    let second = two.start();
    assert!(acknowledged.iter().all(|text| recalls(&second, text)), "{acknowledged:?}");
    assert_eq!(second.get("/v1/status").1["stop"]["latched"], false, "its reset has arrived too");
}

#[test]
fn without_the_server_for_longer_than_the_lease_it_acts_no_more_and_ends() {
    let Some(mut server) = Server::start() else { return };
    let one = Machine::of(&server);
    let daemon = one.start();
    daemon.say("remember that tea is at four");
    server.kill();
    let (exit, heard) = daemon.ended_saying();
    assert_eq!(exit, 75, "{heard}");
    assert!(heard.contains("its lease ran out before it could be renewed"), "{heard}");
    server.run();
    let again = one.start();
    let answer = again.say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("four")), "{answer}");
}
