//! The stop, with a daemon that hangs, is half gone, or is gone.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use maxim_bus::latch::StopLatch;
use serde_json::json;

use crate::home::{Home, note};

#[test]
fn stop_goes_by_the_socket_while_http_is_wedged() {
    let home = Home::new();
    let folder = home.data();
    // Listens and never answers.
    let wedged = TcpListener::bind("127.0.0.1:0").expect("listens");
    note(&home, &format!("http://{}", wedged.local_addr().expect("an address")), std::process::id());
    let socket = UnixListener::bind(folder.stop_socket()).expect("listens");
    let stop_thread = std::thread::spawn(move || {
        let (mut stream, _) = socket.accept().expect("a caller");
        let mut line = String::new();
        BufReader::new(stream.try_clone().expect("a clone")).read_line(&mut line).expect("a line");
        writeln!(stream, "{}", json!({"latched": true, "latency_us": 42, "durable": false})).expect("sent");
        line
    });
    let done = home.run(&["stop", "the arm\nhit the table", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let answer = done.json();
    assert_eq!(
        (&answer["latched"], &answer["latency_us"], &answer["durable"]),
        (&json!(true), &json!(42), &json!(false))
    );
    assert_eq!((&answer["via"], answer["round_trip_us"].is_u64()), (&json!("socket"), true));
    assert_eq!(stop_thread.join().expect("served"), "stop the arm hit the table\n");
    assert!(folder.stop_request().exists(), "until it is on the disk, the request is what a crash leaves of it");
}

#[test]
fn stop_is_confirmed_by_the_latch_file_when_the_socket_is_gone() {
    let home = Home::new();
    let folder = home.data();
    note(&home, "http://127.0.0.1:1", std::process::id());
    let latch = StopLatch::open(&folder.latch(), false).expect("a latch");
    let request = folder.stop_request();
    // The daemon's stop thread: it sees the file and raises the latch.
    let stop_thread = std::thread::spawn(move || {
        loop {
            if let Ok(reason) = fs::read_to_string(&request)
                && reason.ends_with('\n')
            {
                let at = Timestamp::UNIX_EPOCH;
                latch.raise(maxim_bus::latch::StopDetail { reason, by: "file".into(), at: Some(at) });
                return latch;
            }
            std::thread::yield_now();
        }
    });
    let done = home.run(&["stop", "smoke", "--timeout", "60", "--json"]);
    assert_eq!((done.code, &done.json()["via"]), (Some(0), &json!("signal or file")), "{done:?}");
    let latch = stop_thread.join().expect("stopped");
    assert_eq!(latch.detail().map(|detail| detail.reason), Some("smoke\n".into()));
}

#[test]
fn a_stop_without_a_daemon_leaves_a_request_for_the_next_start() {
    let home = Home::new();
    let folder = home.data();
    let done = home.run(&["stop", "smoke"]);
    assert_eq!(done.code, Some(75), "{done:?}");
    assert!(done.err.contains("the next start will be stopped"), "{}", done.err);
    assert_eq!(fs::read_to_string(folder.stop_request()).expect("a request"), "smoke\n");
    // An unreadable configuration must not prevent a stop.
    home.write("work/maxim.toml", "nonsense");
    let done = home.run(&["stop"]);
    assert_eq!(done.code, Some(75));
    assert!(done.err.contains("is not TOML") && done.err.contains("no daemon took the stop"), "{}", done.err);
}

#[test]
fn an_old_note_never_signals_another_program() {
    let home = Home::new();
    home.data();
    let mut bystander = Command::new("sleep").arg("600").spawn().expect("a bystander");
    note(&home, "http://127.0.0.1:1", bystander.id());
    let done = home.run(&["stop", "--timeout", "0.3"]);
    let lives = bystander.try_wait().expect("asked").is_none();
    bystander.kill().expect("ended");
    bystander.wait().expect("waited");
    assert!(lives, "SIGUSR1 would have ended it");
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("no confirmation within 0.3 s"), "{}", done.err);
}

#[test]
fn a_daemon_without_a_socket_gets_the_signal() {
    let home = Home::new();
    home.data();
    // Waits for standard input under the daemon's own name; SIGUSR1 ends a process that doesn't handle it.
    let mut daemon = home.command(&["send", "-"]).stdin(Stdio::piped()).spawn().expect("runs");
    note(&home, "http://127.0.0.1:1", daemon.id());
    let done = home.run(&["stop", "--timeout", "0.3"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains(&format!("SIGUSR1 to process {}", daemon.id())), "{}", done.err);
    assert_eq!(daemon.wait().expect("ended").signal(), Some(rustix::process::Signal::USR1.as_raw()));
}
