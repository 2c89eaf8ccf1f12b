//! P19: memory, queues, disk and file handles stay bounded, and exhausting one loses nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use serde_json::{Value, json};

use crate::harness::{Daemon, Place};

fn pid(daemon: &Daemon) -> Pid {
    Pid::from_raw(daemon.pid() as i32).expect("a process")
}

fn entries(daemon: &Daemon, what: &str) -> usize {
    fs::read_dir(format!("/proc/{}/{what}", daemon.pid())).expect("it runs").count()
}

fn resident_kib(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// Disk space used by the files. Their lengths are larger: the pack has holes where something was forgotten.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
        _ => entry.metadata().map_or(0, |data| data.blocks() * 512),
    };
    entries.map(size).sum()
}

#[test]
fn without_a_free_file_handle_it_stops_and_goes_on_when_there_is_one() {
    let place = Place::new();
    let daemon = place.start();
    daemon.say("remember that the spare key is in the blue drawer");
    // Open files stay open, but no more can be opened.
    let none = |limit: Rlimit| Rlimit { current: Some(0), maximum: limit.maximum };
    let limit = getrlimit(Resource::Nofile);
    let before = prlimit(Some(pid(&daemon)), Resource::Nofile, none(limit)).expect("its limit is lowered");
    let address = daemon.url.trim_start_matches("http://");
    let held: Vec<TcpStream> = (0..32).map(|_| TcpStream::connect(address).expect("the kernel takes it")).collect();
    kill_process(pid(&daemon), Signal::USR1).expect("signalled");
    // It can't be written now; a missing file means stopped too.
    let latch = place.data().join("latch.json");
    daemon.until("a crash would not forget the stop", || !latch.exists());
    drop(held);
    prlimit(Some(pid(&daemon)), Resource::Nofile, before).expect("its limit is as it was");
    daemon.until("it answers again", || daemon.get("/v1/status").0 == 200);
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true);
    daemon.until("the stop is written", || fs::read_to_string(&latch).is_ok_and(|text| text.contains("SIGUSR1")));
    assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
    assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
    daemon.say("remember that the lamp is green");
    daemon.kill();
    let daemon = place.start();
    for (what, known) in [("spare key", "blue drawer"), ("lamp", "green")] {
        let found = daemon.get(&format!("/v1/memory/recall?query={}", what.replace(' ', "%20"))).1;
        assert!(found["results"][0]["text"].as_str().is_some_and(|text| text.contains(known)), "{what}: {found}");
    }
}

/// A small file system, removed when this is dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// None if this process isn't allowed to mount.
    fn at(place: &Path) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=48m", "none"]).arg(place).output();
        mount.is_ok_and(|ran| ran.status.success()).then(|| Self(place.to_owned()))
    }

    /// Fills a file until the disk is full.
    fn fill(&self) -> std::path::PathBuf {
        let path = self.0.join("ballast");
        let mut file = fs::File::create(&path).expect("a file");
        for size in [64 << 10, 4 << 10, 1] {
            while file.write_all(&vec![7; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn on_a_full_disk_it_starts_can_be_asked_and_stopped_and_acknowledges_only_what_it_keeps() {
    let place = Place::new();
    let Some(disk) = SmallDisk::at(&place.data()) else {
        println!("SKIPPED: a start on a full disk: this process may mount no small file system");
        return;
    };
    let daemon = place.start();
    daemon.say("remember that the spare key is in the blue drawer");
    daemon.kill();
    let ballast = disk.fill();
    let daemon = place.start();
    let mut acknowledged = Vec::new();
    loop {
        let word = format!("locker{}q", acknowledged.len());
        let text = format!("remember that {word} holds {}", "a parcel and ".repeat(200));
        let (code, answer) = daemon.post("/v1/percepts", &json!({"text": text}));
        if code != 202 {
            assert!(code >= 500, "{code} {answer}");
            break;
        }
        assert_eq!(answer["durable"], true, "{answer}");
        acknowledged.push(word);
    }
    assert_eq!(daemon.get("/v1/status").1["disk"]["status"], "degraded");
    let stopped = daemon.post("/v1/stop", &json!({})).1;
    assert_eq!(stopped["latched"], true, "{stopped}");
    fs::remove_file(ballast).expect("room");
    daemon.until("the disk is well again", || daemon.get("/v1/status").1["disk"]["status"] == "ok");
    assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
    assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
    daemon.say("remember that the lamp is green");
    daemon.kill();
    let daemon = place.start();
    let known = [("spare key".to_owned(), "blue drawer"), ("lamp".to_owned(), "green")];
    for (what, known) in known.into_iter().chain(acknowledged.into_iter().map(|word| (word, "parcel"))) {
        let found = daemon.get(&format!("/v1/memory/recall?query={}", what.replace(' ', "%20"))).1;
        assert!(found["results"].to_string().contains(known), "{what}: {found}");
    }
    drop(daemon);
}

#[test]
fn too_many_hung_threads_end_the_process_and_nothing_acknowledged_is_lost() {
    let place = Place::new();
    fs::write(place.work().join("maxim.toml"), "[regions]\nhung_threads_max = 2\n").expect("written");
    let daemon = place.start_with(&["--chaos"]);
    daemon.say("remember that the spare key is in the blue drawer");
    for region in ["fear_agent", "hippocampus"] {
        assert_eq!(daemon.post("/v1/chaos/hang", &json!({"region": region})).0, 200);
    }
    assert_eq!(daemon.ended(), 70, "its service starts it anew");
    let daemon = place.start();
    let found = daemon.get("/v1/memory/recall?query=spare%20key").1;
    assert!(found["results"][0]["text"].as_str().is_some_and(|text| text.contains("blue drawer")), "{found}");
}

/// A closed laptop or a frozen container: work in progress must not count as hanging.
#[test]
fn a_process_that_is_stopped_for_a_while_gives_up_no_room() {
    let place = Place::new();
    let daemon = place.start();
    let process = pid(&daemon);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..8 {
                // Longer than a room's deadline, during work; this test is about pauses.
                kill_process(process, Signal::STOP).expect("signalled");
                std::thread::sleep(Duration::from_millis(500));
                kill_process(process, Signal::CONT).expect("signalled");
                std::thread::sleep(Duration::from_millis(150));
            }
            is_done.store(true, Ordering::SeqCst);
        });
        while !is_done.load(Ordering::SeqCst) {
            let texts: Vec<String> = (0..64).map(|n| format!("what is 7 + {n}?")).collect();
            assert_eq!(daemon.say_all(&texts), texts.len());
        }
    });
    let status = daemon.get("/v1/status").1;
    let troubled = status["regions"].as_array().expect("a list").iter();
    let troubled: Vec<_> = troubled.filter(|room| room["restarts"] != 0 || room["state"] != "running").collect();
    assert!(troubled.is_empty(), "{troubled:?}");
}

/// Growth allowed in a short soak; not growth for ever.
const BOUNDED_KIB: u64 = 65_536;

/// Maximum backlog of a room right after the load, in which every turn was awaited.
const DEEPEST: u64 = 2_048;

/// Two minutes of 64 turns at a time, each awaited; `MAXIM_SOAK_SECONDS` makes it longer.
#[test]
fn under_dense_load_nothing_grows_but_what_is_remembered() {
    let seconds = std::env::var("MAXIM_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
    let place = Place::new();
    let config = "[recorder]\nmax_bytes = \"4 MiB\"\nfile_bytes = \"1 MiB\"\n[autonomy]\nper_minute = 100000\nper_second = 10000\n";
    fs::write(place.work().join("maxim.toml"), config).expect("written");
    let daemon = place.start();
    let mut said = 0;
    let mut load = |time: Duration| {
        let until = Instant::now() + time;
        while Instant::now() < until {
            let texts: Vec<String> = (0..64).map(|n| format!("what is {} + {n}?", said % 7)).collect();
            said += daemon.say_all(&texts);
        }
        // Rooms that no caller waits for must keep up too.
        let regions = || daemon.get("/v1/status").1["regions"].as_array().cloned().expect("a list");
        let depth = |region: &Value| region["inbox_depth"].as_u64().expect("a number");
        let deepest = regions().into_iter().max_by_key(depth).expect("a room");
        assert!(depth(&deepest) < DEEPEST, "{deepest}");
        daemon.until("nothing waits in any inbox", || regions().iter().all(|region| depth(region) == 0));
        let figures = [resident_kib(&daemon), bytes_in(&place.data()) >> 10];
        println!("{said} turns: {} KiB resident, {} KiB on disk", figures[0], figures[1]);
        (said, entries(&daemon, "fd"), entries(&daemon, "task"), figures)
    };
    let third = Duration::from_secs(seconds) / 3;
    load(third);
    let (before, handles, threads, [resident, disk]) = load(third);
    let (after, handles_then, threads_then, [resident_then, disk_then]) = load(third);
    let turns = (after - before) as u64;
    assert!(turns > 64, "{turns} turns");
    assert!(
        handles_then <= handles + 8 && threads_then <= threads + 4,
        "{handles_then} handles, {threads_then} threads"
    );
    // In addition to memories: caches and tails up to their bounds, and space that compaction hasn't freed yet.
    assert!(resident_then < resident + 2 * turns + BOUNDED_KIB, "{resident} to {resident_then} KiB in {turns} turns");
    assert!(disk_then < disk + 4 * turns + BOUNDED_KIB, "{disk} to {disk_then} KiB in {turns} turns");
}

/// Connections that the kernel has accepted for a port and the daemon hasn't.
fn waiting(address: &str) -> usize {
    const LISTENS: &str = "0A";
    let port: u16 = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let table = fs::read_to_string("/proc/net/tcp").expect("the kernel's table");
    let queue = table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (here, _, state, queues) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_it = here.ends_with(&format!(":{port:04X}")) && state == LISTENS;
        is_it.then(|| queues.split_once(':').and_then(|(_, taken)| usize::from_str_radix(taken, 16).ok()))?
    });
    queue.expect("the daemon listens")
}

/// Sends a stop like a program that has only a socket, and returns how long that took.
fn raw_stop(address: &str) -> Duration {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    let host = format!("host: {address}\r\nconnection: close\r\ncontent-length: 2");
    write!(stream, "POST /v1/stop HTTP/1.1\r\n{host}\r\n\r\n{{}}").expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"latched\":true"), "{answer}");
    begun.elapsed()
}

#[test]
fn half_requests_half_bodies_and_silence_take_no_place_from_a_stop() {
    let place = Place::new();
    let daemon = place.start();
    let address = daemon.url.trim_start_matches("http://").to_owned();
    for half in [
        "",
        "GET /v1/status HTTP/1.1\r\nhost: x\r\n",
        "POST /v1/percepts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{",
        "POST /hooks/slack HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
    ] {
        let mut held = Vec::new();
        for _ in 0..2000 {
            let mut stream = TcpStream::connect(&address).expect("the kernel takes it");
            let _ = stream.write_all(half.as_bytes());
            held.push(stream);
        }
        // How soon so many are accepted depends on the machine. This test is about what happens then.
        daemon.until("all of them are taken in", || waiting(&address) == 0);
        let took = raw_stop(&address);
        assert!(took < Duration::from_secs(2), "{half:?}: the stop took {took:?}");
        // The connection that this client kept open was closed too.
        daemon.until("it answers", || daemon.get("/v1/status").0 == 200);
        assert!(entries(&daemon, "fd") < 900, "{half:?}: {}", entries(&daemon, "fd"));
        assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
        assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
    }
    assert!(daemon.say("what is 2 + 2?")["reply"].as_str().is_some_and(|reply| reply.contains('4')));
}

/// A client on a slow line: its head comes in two parts, and the flood continues between them.
#[test]
fn a_stop_whose_head_comes_in_two_parts_keeps_its_place_in_a_flood() {
    let place = Place::new();
    let daemon = place.start();
    let address = daemon.url.trim_start_matches("http://").to_owned();
    for half in [
        "",
        "GET /v1/status HTTP/1.1\r\nhost: x\r\n",
        "POST /v1/percepts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{",
        "GET /v1/status HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer 0123456789abcdef\r\n\r\n",
    ] {
        let mut held = Vec::new();
        let mut flood = |count: usize| {
            for _ in 0..count {
                let mut stream = TcpStream::connect(&address).expect("the kernel takes it");
                let _ = stream.write_all(half.as_bytes());
                held.push(stream);
            }
        };
        flood(1000);
        let mut stop = TcpStream::connect(&address).expect("connected");
        stop.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
        stop.write_all(b"POST /v1/stop HT").expect("written");
        let begun = Instant::now();
        flood(1000);
        // This test is about the pause between the parts.
        std::thread::sleep(Duration::from_millis(500).saturating_sub(begun.elapsed()));
        let rest = format!("TP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}");
        stop.write_all(rest.as_bytes()).expect("written");
        let mut answer = String::new();
        stop.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"latched\":true"), "{half:?}: {answer}");
        drop(held);
        daemon.until("it answers", || daemon.get("/v1/status").0 == 200);
        assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
        assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
    }
}

/// A library that fakes a program's clock; none if it isn't installed.
fn fake_clock() -> Option<std::path::PathBuf> {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1")).find(|path| path.is_file())
}

#[test]
fn a_clock_before_1970_or_at_the_calendars_end_is_named_by_each_command_and_the_store_stays_as_it_is() {
    let Some(library) = fake_clock() else {
        println!("SKIPPED: a clock that nothing can be lived by: libfaketime isn't installed");
        return;
    };
    let place = Place::new();
    place.start().say("remember that the spare key is in the blue drawer");
    for (shown, year) in [
        ("@1969-12-31 23:59:00", "1969"),
        ("@1902-01-01 00:00:00", "190"),
        ("@9999-12-30 22:00:01", "9999"),
        ("@9999-12-31 23:59:59", "9999"),
    ] {
        let runs = |args: &[&str]| {
            let mut command = place.command();
            command.env("LD_PRELOAD", &library).env("FAKETIME", shown).env("TZ", "UTC");
            let output = command.arg("--data").arg(place.data()).args(args).output().expect("it runs");
            let told = [output.stdout, output.stderr].concat();
            (output.status.code(), String::from_utf8_lossy(&told).into_owned())
        };
        let commands: [&[&str]; 12] = [
            &["run", "--listen", "127.0.0.1:0"],
            &["memory", "verify"],
            &["memory", "export", "out.jsonl"],
            &["status"],
            &["send", "hello"],
            &["chat"],
            &["sim", "learn"],
            &["fear", "list"],
            &["mcp"],
            &["token"],
            &["config", "show"],
            &["reset"],
        ];
        for args in commands {
            let (code, told) = runs(args);
            assert_eq!(code, Some(78), "{args:?}: {told}");
            assert!(told.contains("the clock of this machine s") && told.contains("set it"), "{args:?}: {told}");
            assert!(told.contains(year) && !told.contains("panic") && !told.contains("damaged"), "{args:?}: {told}");
        }
        let (_, told) = runs(&["doctor"]);
        assert!(told.contains("the clock of this machine s") && !told.contains("panic"), "{told}");
        // A daemon lives whose clock was set back; what stops it doesn't ask what time it is.
        let daemon = place.start();
        let (code, told) = runs(&["stop"]);
        assert!(code == Some(0) && !told.contains("panic"), "{code:?} {told}");
        assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true);
        assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
        assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
    }
    let found = place.start().get("/v1/memory/recall?query=spare%20key").1;
    assert!(found["results"].to_string().contains("blue drawer"), "{found}");
}

#[test]
fn a_daemon_whose_clock_runs_beyond_the_calendar_is_stopped_over_http() {
    let Some(library) = fake_clock() else {
        println!("SKIPPED: a clock that runs beyond the calendar: libfaketime isn't installed");
        return;
    };
    let place = Place::new();
    // A file says what time it is, so that the test can put the clock forward.
    let (clock, next) = (place.root.path().join("clock"), place.root.path().join("clock.next"));
    let set = |time: &str| {
        fs::write(&next, time).expect("written");
        fs::rename(&next, &clock).expect("renamed");
    };
    set("@2026-01-31 12:00:00");
    let daemon = place.start_as(&[], |command| {
        command.env("LD_PRELOAD", &library).env("FAKETIME_TIMESTAMP_FILE", &clock).env("FAKETIME_NO_CACHE", "1");
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("TZ", "UTC");
    });
    let address = daemon.url.trim_start_matches("http://").to_owned();
    let ask = |stream: &mut TcpStream, line: &str| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        let head = format!("{line} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("written");
        let mut some = [0; 4096];
        let count = stream.read(&mut some).unwrap_or(0);
        String::from_utf8_lossy(&some[..count]).into_owned()
    };
    let connect = || TcpStream::connect(&address).expect("connects");
    let mut kept = connect();
    assert!(ask(&mut kept, "GET /healthz").contains("200 OK"));
    // From the second time on hyper panics wherever it is asked.
    for shown in ["@9999-12-30 22:00:01", "@9999-12-31 23:59:59"] {
        set(shown);
        daemon.until("the rest is closed", || ask(&mut connect(), "GET /v1/goals").contains("is not before 9999"));
        assert!(ask(&mut connect(), "GET /healthz").contains("200 OK"), "{shown}");
    }
    // What an older connection asks for is lost, and may have been a stop.
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], false);
    let kept = std::cell::RefCell::new(kept);
    daemon.until("hyper fails", || ask(&mut kept.borrow_mut(), "GET /healthz").is_empty());
    daemon.until("stopped", || daemon.get("/v1/status").1["stop"]["latched"] == true);
    assert!(daemon.get("/v1/status").1["stop"]["reason"].to_string().contains("may have been a stop"));
    assert!(ask(&mut connect(), "POST /v1/stop").contains("\"latched\":true"));
}

#[test]
fn a_port_that_is_in_use_is_named_with_who_may_have_it_and_the_key_that_gives_another() {
    let (first, second) = (Place::new(), Place::new());
    let daemon = first.start();
    let address = daemon.url.trim_start_matches("http://");
    let (code, _, told) = second.cli(&["run", "--listen", address]);
    assert_eq!(code, 75, "{told}");
    let port = address.rsplit(':').next().expect("a port");
    for words in [port, "in use", "your own account", "http.listen", "--listen"] {
        assert!(told.contains(words), "{words:?} is not in {told}");
    }
}

#[test]
fn with_too_few_open_files_it_says_so_with_the_fix_and_does_not_panic() {
    let place = Place::new();
    for limit in [8, 24, 32, 60, 90] {
        let data = place.data();
        let program = format!(
            "ulimit -n {limit}; exec {:?} run --data {:?} --listen 127.0.0.1:0",
            place.program.display().to_string(),
            data.display().to_string()
        );
        let output =
            Command::new("/bin/sh").args(["-c", &program]).current_dir(place.work()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !said.contains("panic"), "{limit}: {said}");
        assert!(limit < 24 || (said.contains("files may be open") && said.contains("ulimit -n")), "{limit}: {said}");
    }
}
