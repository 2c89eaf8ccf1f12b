//! P1, P3: a stop acts at once, in every way, and is latched.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Place, copy_program};

#[test]
fn it_stays_stopped_over_kill_9_and_only_reset_clears_it() {
    let place = Place::new();
    let daemon = place.start();
    let (code, out, err) = place.cli(&["stop", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    daemon.kill();
    let daemon = place.start();
    let status = daemon.get("/v1/status").1;
    assert_eq!(status["state"], "stopped", "{status}");
    daemon.until("it has told", || daemon.heard().contains("STOPPED"));
    let answer = daemon.say("create a file late.txt with the text never");
    assert!(answer["reply"].as_str().is_some_and(|reply| reply.contains("stopped")), "{answer}");
    assert_eq!(place.cli(&["reset"]).0, 0);
    assert_eq!(place.cli(&["resume"]).0, 0);
    daemon.say("hello");
    assert!(!place.work().join("late.txt").exists(), "what came while stopped is not done after the reset");
    daemon.say("create a file now.txt with the text hello");
    assert!(place.work().join("now.txt").exists());
}

#[test]
fn a_phrase_a_signal_a_file_and_the_socket_each_stop_it() {
    let place = Place::new();
    let daemon = place.start();
    let stopped = || daemon.get("/v1/status").1["stop"]["latched"] == true;
    let clear = || {
        assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
        assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
        assert!(!stopped());
    };
    daemon.post("/v1/percepts", &json!({ "text": "Maxim, STOP!!!" }));
    daemon.until("stopped by a phrase", stopped);
    clear();
    for harmless in ["please don't stop", "when does the bus stop?", "you are unstoppable"] {
        daemon.say(harmless);
        assert!(!stopped(), "{harmless}");
    }
    daemon.signal(rustix::process::Signal::USR1);
    daemon.until("stopped by a signal", stopped);
    clear();
    fs::write(place.data().join("stop.request"), "smoke").expect("written");
    daemon.until("stopped by a file", stopped);
    daemon.until("the request is taken", || !place.data().join("stop.request").exists());
    clear();
    let (code, out, _) = place.cli(&["stop", "the arm hit the table", "--json"]);
    assert_eq!(code, 0);
    // It also sends the signal; the fastest way wins.
    daemon.until("its words are kept", || daemon.get("/v1/status").1["stop"]["reason"] == "the arm hit the table");
    let told: Value = serde_json::from_str(&out).expect("JSON");
    for member in ["latched", "latency_us", "durable", "first", "cancelled", "processes_killed"] {
        assert!(told.get(member).is_some(), "{member} is missing in {told}");
    }
    assert!(stopped());
    daemon.until("the rooms know its words", || daemon.say("hello").to_string().contains("the arm hit the table"));
    let figures = daemon.text("/metrics");
    for by in ["phrase", "signal", "stop.request", "maxim stop"] {
        let line =
            figures.lines().find(|line| line.starts_with("maxim_hard_stop_latency_seconds_count") && line.contains(by));
        let count = line.and_then(|line| line.rsplit(' ').next()).and_then(|count| count.parse::<u64>().ok());
        assert!(count.is_some_and(|count| count > 0), "{by} is not counted: {figures}");
    }
}

#[test]
fn silent_and_dripping_callers_of_the_socket_keep_no_stop_waiting() {
    let place = Place::new();
    let daemon = place.start();
    let call = || {
        let caller = UnixStream::connect(place.data().join("stop.sock")).expect("connects");
        // An answer that doesn't come fails the test.
        caller.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        caller
    };
    let silent: Vec<UnixStream> = (0..64).map(|_| call()).collect();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let mut dripping = call();
        scope.spawn(move || {
            while ended.recv_timeout(Duration::from_millis(100)).is_err() {
                // Given up it calls anew.
                if dripping.write_all(b".").is_err() {
                    dripping = call();
                }
            }
        });
        let mut caller = call();
        writeln!(caller, "stop smoke").expect("written");
        let mut told = String::new();
        BufReader::new(caller).read_line(&mut told).expect("an answer");
        assert!(told.contains("\"latched\":true"), "{told}");
        end.send(()).expect("it drips still");
    });
    assert_eq!(daemon.get("/v1/status").1["stop"]["reason"], "smoke");
    let (_, doctor, _) = place.cli(&["doctor"]);
    assert!(!doctor.contains("thread is dead"), "{doctor}");
    drop(silent);
}

#[test]
fn a_running_command_is_killed_with_its_children() {
    let place = Place::new();
    let daemon = place.start();
    let work = place.work();
    // The grandchild would write the file long after the stop.
    let text = "run the command (sleep 5; touch late) & touch began; sleep 30";
    let (status, answer) = daemon.post("/v1/percepts", &json!({ "text": text }));
    assert_eq!(status, 202, "{answer}");
    daemon.until("begun", || work.join("began").exists());
    let before = Instant::now();
    let (code, out, err) = place.cli(&["stop", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    // The same stop by another way reports its result.
    let told = daemon.post("/v1/stop", &json!({})).1;
    assert!(told["processes_killed"].as_u64() >= Some(3), "a shell and what it has started: {told}");
    daemon.until("the command has ended", || {
        let why = daemon.get("/v1/why/last").1.to_string();
        why.contains("stop")
    });
    assert!(before.elapsed() < Duration::from_secs(20), "the 30 s command did not run on");
    // The grandchild was in the same group: once it is gone, no process is left to write.
    let left = std::process::Command::new("pgrep").args(["-f", "touch late"]).output();
    if let Ok(found) = left {
        assert!(found.stdout.is_empty(), "children are left: {}", String::from_utf8_lossy(&found.stdout));
    }
    assert!(!work.join("late").exists());
}

#[test]
fn while_it_ends_and_a_command_still_runs_it_answers_takes_nothing_new_and_is_stopped_by_http() {
    let place = Place::new();
    let daemon = place.start();
    let work = place.work();
    daemon.post("/v1/percepts", &json!({"text": "run the command touch began; sleep 8; touch late"}));
    daemon.until("begun", || work.join("began").exists());
    daemon.signal(rustix::process::Signal::TERM);
    daemon.until("it drains", || daemon.get("/v1/status").1["draining"] == true);
    let (status, answer) = daemon.post("/v1/percepts", &json!({"text": "hello"}));
    assert_eq!(status, 503, "{answer}");
    let (status, answer) = daemon.post("/v1/stop", &json!({}));
    assert_eq!((status, &answer["latched"]), (200, &json!(true)), "{answer}");
    assert_eq!(daemon.ended(), 0);
    assert!(!work.join("late").exists(), "it was killed");
}

#[test]
fn a_daemon_of_another_name_is_signalled_too() {
    let mut place = Place::new();
    let renamed = place.root.path().join("brain");
    copy_program(&place.program, &renamed);
    let maxim = std::mem::replace(&mut place.program, renamed);
    let daemon = place.start();
    place.program = maxim;
    assert_eq!(place.cli(&["stop"]).0, 0);
    daemon.until("stopped by the signal too", || {
        let figures = daemon.text("/metrics");
        let of_signals =
            |line: &&str| line.starts_with("maxim_hard_stop_latency_seconds_count") && line.contains("by=\"signal\"");
        figures.lines().find(of_signals).is_some_and(|line| !line.ends_with(" 0"))
    });
}

#[test]
fn with_a_disk_that_stalls_it_stops_at_once_says_so_and_a_crash_forgets_nothing() {
    let place = Place::new();
    let daemon = place.start();
    // The latch first writes to a pipe without a reader.
    let stalled = place.data().join("latch.new");
    let (folder, kind) = (rustix::fs::CWD, rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(folder, &stalled, kind, 0o600.into(), 0).expect("a pipe");
    let (code, out, err) = place.cli(&["stop", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let told: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&told["latched"], &told["durable"]), (&json!(true), &json!(false)), "{told}");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true);
    assert!(place.data().join("stop.request").exists(), "it is all that is on the disk");
    daemon.kill();
    fs::remove_file(&stalled).expect("removed");
    let daemon = place.start();
    assert_eq!(daemon.get("/v1/status").1["state"], "stopped");
    assert!(!place.data().join("stop.request").exists(), "the latch holds it now");
}
