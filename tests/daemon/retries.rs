//! A request that an impatient client repeats is one request with one effect.

use serde_json::{Value, json};

use crate::harness::{Daemon, Place};

/// Takes some time, and leaves one line.
const WISH: &str = "run the command sh -c 'sleep 3; echo x >> log.txt'";

fn completion(wish: &str, stream: bool) -> String {
    json!({"model": "maxim", "stream": stream, "messages": [{"role": "user", "content": wish}]}).to_string()
}

fn send(daemon: &Daemon, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    daemon.post_with(path, headers, body)
}

/// The turn of a completion, streamed or not.
fn turn_of(text: &str) -> String {
    let first = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(text);
    let answer: Value = serde_json::from_str(first).unwrap_or_else(|error| panic!("{error}: {text}"));
    answer["id"].as_str().expect("an id").to_owned()
}

fn lines(place: &Place) -> usize {
    std::fs::read_to_string(place.work().join("log.txt")).unwrap_or_default().lines().count()
}

/// Three attempts at one request, the second and third while the first runs.
fn tried_thrice(path: &str, body: &str, tries: [&[(&str, &str)]; 3]) -> (Place, Daemon, Vec<(u16, String)>) {
    let place = Place::new();
    let daemon = place.start();
    let answers = std::thread::scope(|scope| {
        let first = scope.spawn(|| send(&daemon, path, tries[0], body));
        daemon.until("the first try is under way", || daemon.get("/v1/why/last").0 == 200);
        let others = [tries[1], tries[2]].map(|headers| {
            let daemon = &daemon;
            scope.spawn(move || send(daemon, path, headers, body))
        });
        let mut answers = vec![first.join().expect("answered")];
        answers.extend(others.map(|other| other.join().expect("answered")));
        answers
    });
    (place, daemon, answers)
}

#[test]
fn a_clients_own_retries_are_one_request() {
    for stream in [false, true] {
        let count = |count| [("x-stainless-retry-count", count)];
        let tries = [&count("0")[..], &count("1")[..], &count("2")[..]];
        let (place, daemon, answers) = tried_thrice("/v1/chat/completions", &completion(WISH, stream), tries);
        assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
        let turns: Vec<String> = answers.iter().map(|(_, text)| turn_of(text)).collect();
        assert!(turns.iter().all(|turn| *turn == turns[0]), "{turns:?}");
        assert_eq!(lines(&place), 1, "one effect");
        // Also after its end.
        let (_, late) = send(&daemon, "/v1/chat/completions", &count("1"), &completion(WISH, stream));
        assert_eq!((turn_of(&late), lines(&place)), (turns[0].clone(), 1));
        // A new request with the same text is meant.
        let (_, again) = send(&daemon, "/v1/chat/completions", &count("0"), &completion(WISH, stream));
        assert_ne!(turn_of(&again), turns[0]);
        assert_eq!(lines(&place), 2);
        drop(daemon);
    }
}

#[test]
fn a_counted_retry_is_one_request_over_kill_9_and_when_it_overtakes_the_first() {
    let (path, count) = ("/v1/chat/completions", |count| [("x-stainless-retry-count", count)]);
    let place = Place::new();
    let daemon = place.start();
    let wish = completion("run the command sh -c 'echo x >> log.txt'", false);
    let (status, first) = send(&daemon, path, &count("0"), &wish);
    assert_eq!((status, lines(&place)), (200, 1), "{first}");
    daemon.kill();
    let daemon = place.start();
    let (status, again) = send(&daemon, path, &count("1"), &wish);
    assert_eq!((status, turn_of(&again), lines(&place)), (200, turn_of(&first), 1), "{again}");
    // The second try of another request comes first.
    let wish = completion("run the command sh -c 'echo y >> log.txt'", false);
    let (_, later) = send(&daemon, path, &count("1"), &wish);
    let (_, first) = send(&daemon, path, &count("0"), &wish);
    assert_eq!((turn_of(&later), lines(&place)), (turn_of(&first), 2));
    let (_, again) = send(&daemon, path, &count("0"), &wish);
    assert_ne!(turn_of(&again), turn_of(&first), "who says it again means it");
    assert_eq!(lines(&place), 3);
    drop(daemon);
}

#[test]
fn another_body_under_a_used_key_is_refused_and_does_nothing() {
    let place = Place::new();
    let daemon = place.start();
    let key = [("idempotency-key", "k-1")];
    let wish = |file: &str| format!("run the command sh -c 'echo x >> {file}'");
    let percept = |file: &str| json!({"text": wish(file), "wait_s": 60}).to_string();
    for (path, first, other) in [
        ("/v1/percepts", percept("log.txt"), percept("other.txt")),
        ("/v1/chat/completions", completion(&wish("log.txt"), false), completion(&wish("other.txt"), true)),
    ] {
        assert_eq!(send(&daemon, path, &key, &first).0, 200);
        let (status, told) = send(&daemon, path, &key, &other);
        assert!(
            status == 422 && told.contains("Idempotency-Key") && told.contains("key of its own"),
            "{status}: {told}"
        );
        assert_eq!(send(&daemon, path, &key, &first).0, 200, "the first is known still");
    }
    let speech = |text: &str| json!({"speech": {"text": text, "confidence": 1.0}}).to_string();
    assert_eq!(send(&daemon, "/v1/observations", &key, &speech("hello there")).0, 202);
    assert_eq!(send(&daemon, "/v1/observations", &key, &speech("the red cup is mine")).0, 422);
    assert_eq!(lines(&place), 2);
    assert!(!place.work().join("other.txt").exists());
    drop(daemon);
}

#[test]
fn a_key_names_one_request_over_a_restart() {
    let body = json!({"text": WISH, "wait_s": 60}).to_string();
    let key = [("idempotency-key", "k-1")];
    let (place, daemon, answers) = tried_thrice("/v1/percepts", &body, [&key[..], &key[..], &key[..]]);
    let ids: Vec<Value> = answers
        .iter()
        .map(|(status, text)| {
            assert_eq!(*status, 200, "{text}");
            serde_json::from_str::<Value>(text).expect("JSON")["id"].clone()
        })
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]) && lines(&place) == 1, "{ids:?}");
    assert_eq!(daemon.end(), 0);
    let daemon = place.start();
    let (status, text) = send(&daemon, "/v1/percepts", &key, &body);
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((status, &answer["id"], lines(&place)), (200, &ids[0], 1), "{answer}");
    assert!(answer["reply"].is_string(), "the answer of the first: {answer}");

    let (_, first) = send(&daemon, "/v1/chat/completions", &key, &completion("what is 6 * 7?", false));
    assert_eq!(daemon.end(), 0);
    let daemon = place.start();
    let (status, again) = send(&daemon, "/v1/chat/completions", &key, &completion("what is 6 * 7?", false));
    assert_eq!((status, turn_of(&again)), (200, turn_of(&first)));
    assert!(again.contains("42"), "{again}");
    let (status, refused) = send(&daemon, "/v1/percepts", &[("idempotency-key", "")], &body);
    assert_eq!(status, 400, "{refused}");
    drop(daemon);
}

#[test]
fn grants_are_listed_and_taken_back_by_the_command_line() {
    let place = Place::new();
    std::fs::write(place.work().join("count.sh"), "echo x >> log.txt\n").expect("written");
    let daemon = place.start();
    daemon.say("run the command sh count.sh");
    let (_, listed, _) = place.cli(&["approvals", "list"]);
    assert!(listed.contains("--always` would allow exactly the command “sh count.sh”"), "{listed}");
    let asked = daemon.get("/v1/approvals").1;
    let code = asked["approvals"][0]["code"].as_str().expect("a code").to_owned();
    let (exit, _, refused) = place.cli(&["approvals", "allow", &code, "--for", "sh *"]);
    assert!(exit != 0 && refused.contains("anything at all"), "{exit}: {refused}");
    assert_eq!(daemon.get("/v1/approvals").1["approvals"].as_array().map(Vec::len), Some(1), "it is still open");
    let (exit, allowed, error) = place.cli(&["approvals", "allow", &code, "--always"]);
    assert!(exit == 0 && allowed.contains("for good") && allowed.contains("sh count.sh"), "{allowed}{error}");
    daemon.until("it ran", || lines(&place) == 1);
    daemon.say("run the command sh count.sh");
    daemon.until("it ran unasked", || lines(&place) == 2);
    let (_, grants, _) = place.cli(&["approvals", "grants"]);
    assert!(grants.contains("exactly the command “sh count.sh”") && grants.contains("the owner"), "{grants}");
    let told = daemon.get("/v1/approvals/grants").1;
    assert_eq!(told["grants"][0]["used"], 1, "{told}");
    let id = told["grants"][0]["id"].as_str().expect("an id").to_owned();
    let (exit, _, error) = place.cli(&["approvals", "revoke", "g-00000000"]);
    assert!(exit != 0 && error.contains("maxim approvals grants"), "{error}");
    let (exit, _, error) = place.cli(&["approvals", "revoke", &id]);
    assert_eq!(exit, 0, "{error}");
    assert_eq!(daemon.get("/v1/approvals/grants").1["grants"], json!([]));
    daemon.say("run the command sh count.sh");
    assert_eq!(daemon.get("/v1/approvals").1["approvals"].as_array().map(Vec::len), Some(1), "it is asked again");
    drop(daemon);
}
