//! The surroundings of the process: its terminal disappears or stalls, and a service manager watches it.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::unix::net::UnixDatagram;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal;

use crate::harness::{Daemon, PATIENCE, Place};

fn start_telling(place: &Place, writer: PipeWriter) -> Daemon {
    place.start_as(&["--chaos"], |command| {
        command.stderr(writer);
    })
}

/// A failed room comes back, a stop takes effect, and the end is orderly.
fn it_goes_on(place: &Place, daemon: Daemon) {
    daemon.signal(Signal::HUP);
    for room in ["hippocampus", "executor"] {
        let (code, out, err) = place.cli(&["chaos", "panic", room]);
        assert_eq!(code, 0, "{out}{err}");
        daemon.until("the room is back", || {
            let regions = daemon.get("/v1/status").1["regions"].clone();
            let found = regions.as_array().into_iter().flatten().find(|region| region["name"] == room).cloned();
            found.is_some_and(|region| region["state"] == "running" && region["restarts"] == 1)
        });
    }
    assert!(daemon.say("hello")["reply"].is_string());
    daemon.signal(Signal::USR1);
    daemon.until("stopped by a signal", || daemon.get("/v1/status").1["stop"]["latched"] == true);
    assert_eq!(daemon.end(), 0);
    assert_eq!(place.start().get("/v1/status").1["stop"]["latched"], true, "it was on the disk");
}

#[test]
fn a_terminal_that_closes_ends_nothing() {
    let place = Place::new();
    let (reader, writer): (PipeReader, PipeWriter) = pipe().expect("a pipe");
    let daemon = start_telling(&place, writer);
    drop(reader);
    it_goes_on(&place, daemon);
}

#[test]
fn a_terminal_that_stands_still_holds_nothing_up() {
    let place = Place::new();
    let (reader, mut writer) = pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("set");
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).expect("set");
    let daemon = start_telling(&place, writer);
    it_goes_on(&place, daemon);
    drop(reader);
}

#[test]
fn a_service_manager_is_told_that_it_is_ready_and_lives() {
    let place = Place::new();
    let path = place.root.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("bound");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    let daemon = place.start_as(&[], |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
    });
    let next = || {
        let mut text = [0; 256];
        let length = socket.recv(&mut text).expect("told in time");
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    assert_eq!(next(), "READY=1");
    for _ in 0..5 {
        assert_eq!(next(), "WATCHDOG=1", "it is fed by threads that live");
    }
    assert_eq!(daemon.get("/v1/status").1["stop"]["dead_ways"], serde_json::json!([]));
    daemon.signal(Signal::TERM);
    while next() != "STOPPING=1" {}
    assert_eq!(daemon.ended(), 0);
}
