//! The page in a real browser with a real daemon: chromium as Debian ships it, driven by playwright. If they aren't
//! installed, the tests are skipped with a printed notice; `.ci/run` requires them.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::components;
use crate::harness::Place;

const CHROMIUM: &str = "/usr/bin/chromium";

/// A person using a browser.
struct Person {
    child: Child,
    orders: Option<ChildStdin>,
    told: Lines<BufReader<ChildStdout>>,
}

impl Person {
    /// None without a browser. That is printed, and is a failure where one is required.
    fn sit_down() -> Option<Self> {
        let folder = components::folder()?;
        let is_there = folder.join("node_modules/playwright-core").is_dir() && Path::new(CHROMIUM).is_file();
        let Some(node) = components::node().filter(|_| is_there) else {
            let missing = format!("node, {CHROMIUM}, or playwright-core in {}", folder.display());
            assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "missing: {missing}");
            println!("SKIPPED: {missing}; .ci/run installs them");
            return None;
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/page/browser.cjs");
        let mut command = Command::new(node);
        command.arg(script).arg(folder).arg(CHROMIUM).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("node starts");
        let (orders, told) = (child.stdin.take(), child.stdout.take().expect("piped"));
        Some(Self { child, orders, told: BufReader::new(told).lines() })
    }

    /// Does one thing and returns the result.
    fn does(&mut self, deed: &Value) -> Value {
        writeln!(self.orders.as_mut().expect("open"), "{deed}").expect("ordered");
        let told = self.told.next().expect("an answer").expect("text");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert!(told["failed"].is_null(), "{deed}: {told}");
        told["ok"].clone()
    }

    fn sees(&mut self, role: &str, text: &str) {
        self.does(&json!(["see", role, text]));
    }

    fn clicks(&mut self, name: &str) {
        self.does(&json!(["click", name]));
    }

    fn says(&mut self, text: &str) {
        self.does(&json!(["fill", "Say something", text]));
        self.does(&json!(["press", "Enter"]));
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // At the end of its orders it closes the browser, which would survive a killed node.
        self.orders.take();
        let _ = self.child.wait();
    }
}

#[test]
fn a_person_talks_stops_by_escape_and_goes_on_by_the_buttons() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start();
    assert_eq!(person.does(&json!(["open", place.page()])), "Maxim");
    person.sees("status", "Running: awake");
    person.sees("status", "Connected.");
    person.says("what is 2 + 2?");
    person.sees("log", "2 + 2 = 4");
    person.clicks("Why 2 + 2 = 4");
    person.sees("list", "perceived \"what is 2 + 2?\"");
    person.sees("list", "cleared respond");
    person.clicks("Why 2 + 2 = 4");
    assert_eq!(person.does(&json!(["markup", ".steps"])), 0, "it is put away again");

    // What a step depends on: the expectation, and the options not chosen.
    person.says("create a file tide.txt with the text high at noon");
    person.sees("log", "I wrote");
    person.says("find all txt files");
    person.sees("log", "1 file");
    person.clicks("Why 1 file: tide.txt");
    person.sees("list", "instead of glob");
    person.clicks("Why 1 file: tide.txt");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], false);

    // The field has the focus; the key stops all the same.
    person.does(&json!(["press", "Escape"]));
    person.sees("status", "Stopped by somebody over HTTP");
    let stop = daemon.get("/v1/status").1["stop"].clone();
    assert_eq!((&stop["latched"], &stop["reason"]), (&json!(true), &json!("Escape on the web page")), "{stop}");
    assert_eq!(person.does(&json!(["can", "Resume …"])), false, "reset comes first");
    person.says("create a file late.txt with the text never");
    person.sees("log", "stopped");
    assert!(!place.work().join("late.txt").exists());

    // Reset asks first, and No cancels it.
    person.clicks("Reset …");
    assert_eq!(person.does(&json!(["focused"])), "sure-no");
    person.clicks("No, leave it");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true);
    person.clicks("Reset …");
    person.clicks("Yes, clear the stop");
    person.sees("status", "Motion is held");
    let stop = daemon.get("/v1/status").1["stop"].clone();
    assert_eq!((&stop["latched"], &stop["motion"]), (&json!(false), &json!("motion_held")), "{stop}");
    person.clicks("Resume …");
    person.clicks("Yes, go on");
    person.sees("status", "Running: awake");
    assert_eq!(daemon.get("/v1/status").1["stop"]["motion"], "clear");

    person.clicks("STOP");
    person.sees("status", "Stopped by somebody over HTTP");
    assert_eq!(daemon.get("/v1/status").1["stop"]["reason"], "STOP on the web page");
    assert_eq!(person.does(&json!(["said"])), json!([]), "no error of the script, nothing that the policy refused");
}

#[test]
fn words_stay_words_what_it_asks_is_answered_and_it_fits_a_phone() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start();
    person.does(&json!(["open", place.page()]));
    person.sees("status", "Connected.");
    person.says("remember that the sign says <b class=evil>hello</b><img src=x onerror=alert(1)>");
    person.sees("log", "I will remember: the sign says <b class=evil>");
    assert_eq!(person.does(&json!(["markup", ".evil, #talk img"])), 0);

    person.says("run the command git init && git reset --hard");
    person.sees("group", "git reset --hard");
    person.clicks("Deny: to use bash");
    person.sees("log", "isn't done");
    daemon.until("answered", || daemon.get("/v1/approvals").1["approvals"] == json!([]));
    assert!(!place.work().join(".git").exists());

    let [light, dark] = ["light", "dark"].map(|scheme| person.does(&json!(["layout", scheme])));
    for layout in [&light, &dark] {
        assert_eq!((&layout["wide"], &layout["stop"]), (&json!(360), &json!(true)), "it fits a phone: {layout}");
    }
    assert_ne!(light["paper"], dark["paper"]);
}

#[test]
fn a_lost_daemon_is_told_and_found_again_and_a_lost_stop_is_tried_again() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start();
    person.does(&json!(["open", place.page()]));
    person.sees("status", "Connected.");
    person.does(&json!(["offline", true]));
    person.sees("alert", "is lost");
    person.does(&json!(["press", "Escape"]));
    person.sees("alert", "THE STOP HAS NOT ARRIVED YET");
    person.sees("alert", "is lost");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], false);
    person.does(&json!(["offline", false]));
    person.sees("status", "Stopped by somebody over HTTP");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true, "it arrived after all");
    person.sees("status", "Connected.");

    let url = daemon.url.clone();
    daemon.kill();
    person.sees("alert", "is lost");
    person.sees("status", "Not connected");
    person.says("what is 2 + 2?");
    person.sees("alert", "That was not sent");
    let daemon = place.start_at(&url);
    // The session belonged to the killed daemon. After logging in again, the page still shows the earlier
    // conversation.
    person.sees("alert", "Run maxim open again");
    person.does(&json!(["fill", "give its token", daemon.token]));
    person.clicks("Use it");
    person.sees("status", "Connected.");
    person.sees("status", "Stopped by somebody over HTTP");
    for order in ["reset", "resume"] {
        assert_eq!(daemon.post(&format!("/v1/{order}"), &json!({})).0, 200);
    }
    person.clicks("Send");
    person.sees("log", "2 + 2 = 4");
}

#[test]
fn a_page_from_elsewhere_can_neither_command_nor_read() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start();
    assert_eq!(person.does(&json!(["foreign", daemon.url])), json!(["refused", "refused"]));
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], false);
    daemon.say("hello");
    assert!(!place.work().join("evil.txt").exists());
}

#[test]
fn a_token_is_asked_for_and_this_tab_keeps_a_key_of_its_own_instead() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start_guarded("s3cret-of-the-owner");
    person.does(&json!(["open", daemon.url]));
    person.sees("status", "after you come in");
    person.does(&json!(["fill", "give its token", "wrong"]));
    person.clicks("Use it");
    person.sees("alert", "does not know this token");
    person.does(&json!(["fill", "give its token", "s3cret-of-the-owner"]));
    person.clicks("Use it");
    person.sees("status", "Connected.");
    person.says("what is 2 + 2?");
    person.sees("log", "2 + 2 = 4");
    let stored = person.does(&json!(["stored"]));
    assert_eq!(stored, json!([["session"], [], ""]), "no cookie, and nothing that outlives the tab");
    assert!(!person.does(&json!(["secrets"])).to_string().contains("s3cret"));
    person.does(&json!(["press", "Escape"]));
    person.sees("status", "Stopped by somebody over HTTP");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true);
}

#[test]
fn a_key_opens_the_page_once_a_reload_keeps_it_open_and_a_restart_of_the_daemon_does_not() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start();
    let page = place.page();
    person.does(&json!(["open", page]));
    person.sees("status", "Connected.");
    assert_eq!(person.does(&json!(["address"])), format!("{}/", daemon.url), "the key is gone from the address");
    person.does(&json!(["reload"]));
    person.sees("status", "Connected.");
    person.says("what is 2 + 2?");
    person.sees("log", "2 + 2 = 4");
    assert_eq!(person.does(&json!(["stored"])), json!([["session"], [], ""]));

    // Another tab has no access from this one, and the key is used up.
    person.does(&json!(["tab", daemon.url]));
    person.sees("status", "after you come in");
    person.sees("form", "run maxim open");
    person.does(&json!(["tab", page]));
    person.sees("alert", "this key was used already or is too old");
    // Even without a session a person can stop, and nothing else.
    person.does(&json!(["press", "Escape"]));
    person.sees("status", "Stopped from this page");
    let stop = daemon.get("/v1/status").1["stop"].clone();
    assert_eq!((&stop["latched"], &stop["reason"]), (&json!(true), &json!("Escape on the web page")), "{stop}");
    assert_eq!(person.does(&json!(["can", "Reset …"])), false);
    person.does(&json!(["tab", place.page()]));
    person.sees("status", "Stopped by somebody over HTTP");

    let url = daemon.url.clone();
    assert_eq!(daemon.end(), 0);
    person.sees("alert", "is lost");
    let _daemon = place.start_at(&url);
    person.sees("alert", "Run maxim open again");
    assert_eq!(person.does(&json!(["stored"])), json!([[], [], ""]), "what is worth nothing isn't shown again");
    person.does(&json!(["open", place.page()]));
    person.sees("status", "Connected.");
}

#[test]
fn an_open_door_is_told_on_the_page() {
    let Some(mut person) = Person::sit_down() else { return };
    let place = Place::new();
    let daemon = place.start_as(&[], |command| {
        command.env("MAXIM__HTTP__OPEN", "true");
    });
    person.does(&json!(["open", daemon.url]));
    person.sees("status", "Connected.");
    person.sees("note", "This daemon asks nobody for a token");
}
