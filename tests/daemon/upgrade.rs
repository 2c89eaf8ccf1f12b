//! P21: an upgrade keeps memory. A backup of each format of the store since the fifth is restored and used further.
//! A new format adds its own (`maxim memory backup FOLDER`); existing ones are never rewritten.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Place;

/// What each of these brains was told: that the spare key is in the blue drawer, a name, a file to write, one to read
/// that doesn't exist, a tool to be asked about, and a goal. With the id of the file's writing.
const FORMATS: [(&str, &str); 1] = [("5", "01a21cfb-8273-764c-be26-6847433a26d8")];

#[test]
fn what_an_older_program_remembered_this_one_knows() {
    for (format, written) in FORMATS {
        let backup = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/formats").join(format);
        let place = Place::new();
        let (code, _, err) = place.cli(&["memory", "restore", backup.to_str().expect("a path")]);
        assert_eq!(code, 0, "format {format}: {err}");
        let daemon = place.start();
        daemon.until("it says what it found", || daemon.heard().contains("ready in"));
        let heard = daemon.heard();
        assert!(!heard.contains("LOST") && !heard.contains("repaired"), "format {format}: {heard}");
        // A used store without its latch file starts stopped.
        assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
        assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
        let reply = daemon.say("where is the spare key?")["reply"].clone();
        assert!(reply.as_str().is_some_and(|reply| reply.contains("blue drawer")), "format {format}: {reply}");
        let named = |path: &str, list: &str, member: &str, value: &str| {
            let answer = daemon.get(path).1;
            let is_it = |entry: &Value| entry[member] == value;
            assert!(answer[list].as_array().is_some_and(|all| all.iter().any(is_it)), "format {format}: {answer}");
        };
        named("/v1/fears", "fears", "tool", "glob");
        named("/v1/goals", "goals", "title", "say hello to the gulls");
        let why = daemon.get(&format!("/v1/why/{written}")).1.to_string();
        assert!(why.contains("write_file") && why.contains("hello.txt"), "format {format}: {why}");
        let similar = daemon.get("/v1/memory/similar?context=where%20the%20key%20is%20kept").1;
        let found = similar["results"].as_array().into_iter().flatten();
        let meant = found.filter(|like| like["parts"]["semantic"].as_f64().is_some_and(|likeness| likeness > 0.0));
        let told = meant.filter(|like| like["text"].as_str().is_some_and(|text| text.contains("blue drawer"))).count();
        assert_eq!(told, 1, "format {format}: what is like it in meaning: {similar}");
        let expected = daemon.get("/v1/memory/predict?tool_name=read_file").1;
        assert!(expected.to_string().contains("notfound"), "format {format}: what failed once: {expected}");
        assert_eq!(daemon.post("/v1/memory/verify", &json!({})).1["ok"], true, "format {format}");
        assert!(!place.work().join("hello.txt").exists(), "format {format}: nothing is done again");
    }
}
