//! Starting, joining late, leaving, and everything that is refused.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::{Machine, Server, code, machines, recalls};

#[test]
fn a_store_that_was_lived_alone_begins_and_who_joins_late_fetches_a_copy() {
    let Some(server) = Server::start() else { return };
    let (one, two) = (Machine::of(&server), Machine::of(&server));
    // Before there were several machines.
    let alone = one.place.start();
    alone.say("remember that tea is at four");
    assert_eq!(alone.end(), 0);
    let first = one.start_with(&[("MAXIM__NATS__COPY_EVERY", "1 MiB")]);
    let lines: Vec<String> =
        (0..3000).map(|n| json!({"text": format!("{} {}", code(n), "tide ".repeat(40))}).to_string()).collect();
    let file = one.place.root.path().join("lines.jsonl");
    fs::write(&file, lines.join("\n")).expect("written");
    let (exit, _, err) = one.cli(&["memory", "import", &file.display().to_string(), "--all"]);
    assert_eq!(exit, 0, "{err}");
    let begun = machines(&first)["copied"]["entry"].as_u64().expect("a first copy");
    first.until("a copy", || machines(&first)["copied"]["entry"].as_u64() > Some(begun));
    assert_eq!(machines(&first)["copy_failed"], json!(null));
    first.say("remember that the pier is closed");
    let waiting = two.stand_by();
    first.until("the other one follows", || super::has_store(&two.place));
    first.kill();
    let second = waiting.join().expect("it takes over");
    assert!(second.heard().contains("fetching the agent maxim"), "{}", second.heard());
    for n in [0, 1234, 2999] {
        assert!(recalls(&second, &code(n)), "{n}");
    }
    let answer = second.say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("four")), "{answer}");
    assert_eq!(second.post("/v1/memory/verify", &json!({})).1["ok"], true);
}

#[test]
fn a_damaged_machine_is_filled_anew_and_loses_nothing() {
    let Some(server) = Server::start() else { return };
    let one = Machine::of(&server);
    let daemon = one.start();
    let acknowledged = daemon.tell_all(&(0..6).map(code).collect::<Vec<_>>());
    assert_eq!(acknowledged.len(), 6);
    daemon.kill();
    // That machine's disk is gone except for its name.
    fs::remove_dir_all(one.place.data().join("store")).expect("removed");
    let daemon = one.start();
    assert!(acknowledged.iter().all(|text| recalls(&daemon, text)), "{}", daemon.heard());
    daemon.kill();
    // And once most of its database.
    let store = one.place.data().join("store");
    let engine = fs::read_dir(&store).expect("there").flatten().map(|entry| entry.path());
    let engine = engine.filter(|path| path.join("db").is_file()).max().expect("a database").join("db");
    fs::OpenOptions::new().write(true).open(&engine).and_then(|file| file.set_len(20_000)).expect("cut");
    let daemon = one.start();
    assert!(daemon.heard().contains("filled again"), "{}", daemon.heard());
    assert!(acknowledged.iter().all(|text| recalls(&daemon, text)), "{}", daemon.heard());
}

#[test]
fn what_cannot_be_joined_is_refused_with_the_fix_and_left_as_it_was() {
    let Some(mut server) = Server::start() else { return };
    let (one, two) = (Machine::of(&server), Machine::of(&server));
    for (key, value, named) in [
        ("MAXIM__NATS__AGENT", "a b", "nats.agent"),
        ("MAXIM__NATS__URL", "nats://maxim:high-tide@127.0.0.1:4222", "nats.username"),
        ("MAXIM__STORE__ENGINE", "memory", "store.engine"),
        ("MAXIM__NATS__LEASE", "1ms", "nats.lease"),
        ("MAXIM__NATS__SIGNALS", "Precept", "did you mean Percept?"),
    ] {
        let (exit, said) = one.refused(&[(key, value)]);
        assert!(exit == 78 && said.contains(named) && !said.contains("high-tide"), "{key}: {exit} {said}");
    }
    let first = one.start();
    first.say("remember that tea is at four");
    let (exit, said) = one.refused(&[]);
    assert!(exit == 75 && said.contains("another process") && said.contains("--data"), "{exit} {said}");
    assert!(machines(&first)["connected"] == true, "it isn't disturbed");
    let (exit, shown, err) = one.cli(&["machines", "show"]);
    assert!(exit == 0 && shown.contains("token") && !shown.contains("high-tide"), "{shown}{err}");
    assert_eq!(first.end(), 0);

    // Two unrelated stores.
    let stranger = two.place.start();
    stranger.say("remember that tea is at five");
    assert_eq!(stranger.end(), 0);
    let (exit, said) = two.refused(&[]);
    assert!(exit == 1 && said.contains("it was used alone") && said.contains("move that folder away"), "{exit} {said}");
    assert!(!said.contains("high-tide"), "{said}");
    let stranger = two.place.start();
    let answer = stranger.say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("five")), "it has what it had: {answer}");
    drop(stranger);

    // Nobody runs a replicated store alone by mistake; an explicit option allows it.
    let (exit, said, _) = one.cli(&["memory", "stats"]);
    let mut alone = one.place.command();
    alone.args(["run", "--listen", "127.0.0.1:0", "--data"]).arg(one.place.data());
    let alone = alone.output().expect("runs");
    let told = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(exit != 0 && alone.status.code() == Some(78) && told.contains("maxim machines leave"), "{said} {told}");
    let (exit, said, err) = one.cli(&["machines", "leave"]);
    assert!(exit == 0 && said.contains("is independent"), "{said}{err}");
    let daemon = one.place.start();
    let answer = daemon.say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("four")), "{answer}");
    drop(daemon);
    let (exit, said) = one.refused(&[]);
    assert!(exit == 1 && said.contains("it was used alone"), "{exit} {said}");

    server.kill();
    let (exit, said) = Machine::of(&server).refused(&[]);
    assert!(exit == 75 && said.contains("nats.url") && said.contains("JetStream"), "{exit} {said}");
}

#[test]
fn a_folder_that_was_copied_is_another_machine_and_waits() {
    let Some(server) = Server::start() else { return };
    let (one, two) = (Machine::of(&server), Machine::of(&server));
    let first = one.start();
    first.say("remember that tea is at four");
    let copied = Command::new("cp").args(["-a"]).arg(one.place.data().join("machine")).arg(two.place.data()).status();
    assert!(copied.expect("runs").success());
    let said = two.hears("standing by", || {
        let (exit, _, told) = two.cli(&["status"]);
        assert!(exit == 75 && told.contains("this machine is on standby"), "{exit} {told}");
    });
    assert!(said.contains("takes over"), "{said}");
    let answer = first.say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("four")), "it isn't disturbed: {answer}");
}

#[test]
fn a_server_that_lost_everything_gets_it_back_from_whoever_a_person_names() {
    let Some(mut server) = Server::start() else { return };
    let one = Machine::of(&server);
    let daemon = one.start();
    daemon.say("remember that tea is at four");
    assert_eq!(daemon.end(), 0);
    server.lose_all();
    let (exit, said) = one.refused(&[]);
    assert!(exit == 1 && said.contains("it has lost that") && said.contains("maxim machines leave"), "{exit} {said}");
    assert_eq!(one.cli(&["machines", "leave"]).0, 0);
    let daemon = one.start();
    let answer = daemon.say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("four")), "{answer}");
    assert_eq!(daemon.end(), 0);
    let two = Machine::of(&server);
    let answer = two.start().say("when is tea?");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("four")), "{answer}");
}

#[test]
fn over_tls_only_a_server_whose_certificate_is_believed_is_used() {
    let tls = |name: &str| format!("{}/tests/brain/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let set_up = format!("tls {{ cert_file: {:?}, key_file: {:?} }}", tls("server.pem"), tls("server-key.pem"));
    let Some(server) = Server::start_as("alone", &set_up) else { return };
    let one = Machine::of(&server);
    let url = server.url().replacen("nats://", "tls://", 1);
    let (exit, said) = one.refused(&[("MAXIM__NATS__URL", &url)]);
    assert!(exit == 75 && said.contains("certificate"), "{exit} {said}");
    let daemon = one.start_with(&[("MAXIM__NATS__URL", &url), ("MAXIM__NATS__CA_FILE", &tls("authority.pem"))]);
    assert_eq!(daemon.tell_all(&[code(1)]).len(), 1);
    assert!(recalls(&daemon, &code(1)));
}
