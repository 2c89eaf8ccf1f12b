//! How soon a robot stands still when its brain is lost (P2), as an observer sees it through the maker's own daemon:
//! positions with the daemon's own time stamps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use jiff::Timestamp;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::body::{Reachy, body, in_body, process, start_with, tell};
use crate::harness::{Daemon, Place};

/// The lease is 100 ms; the robot applies a target in its next step, and a busy machine may suspend threads.
const BOUND: Duration = Duration::from_millis(250);
/// Long enough to see that no further movement comes.
const WATCHED: Duration = Duration::from_secs(1);
/// A change of yaw, in radians; one step of these movements is a hundred times larger.
const CHANGE: f64 = 2e-5;

/// A yaw in radians, with the daemon's time stamp.
type Seen = (Timestamp, f64);

/// An observer, 200 times a second.
struct Onlooker {
    seen: Arc<Mutex<Vec<Seen>>>,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Onlooker {
    fn at(reachy: &Reachy) -> Self {
        let address = reachy.url.replacen("http", "ws", 1);
        let address = format!("{address}/api/state/ws/full?frequency=200");
        let (seen, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, ended) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let (mut stream, _) = tokio_tungstenite::connect_async(&address).await.expect("connected");
                while let (false, Some(Ok(message))) = (ended.load(Ordering::SeqCst), stream.next().await) {
                    let Message::Text(text) = message else { continue };
                    let told: Value = serde_json::from_str(&text).expect("JSON");
                    let yaw = told["head_pose"]["yaw"].as_f64().expect("a yaw");
                    let at = told["timestamp"].as_str().and_then(|at| at.parse().ok()).expect("a time");
                    kept.lock().expect("no panic inside").push((at, yaw));
                }
            });
        });
        Self { seen, over, thread: Some(thread) }
    }

    /// The times of its movements from `since` on.
    fn moved(&self, since: Timestamp) -> Vec<Timestamp> {
        let seen = self.seen.lock().expect("no panic inside");
        let moved = seen.windows(2).filter(|pair| (pair[0].1 - pair[1].1).abs() > CHANGE);
        moved.map(|pair| pair[1].0).filter(|at| *at >= since).collect()
    }

    /// How long it moved on after `lost`; it must have been moving then.
    fn went_on(&self, lost: Timestamp) -> Duration {
        std::thread::sleep(WATCHED);
        let moved = self.moved(lost - Duration::from_millis(200));
        assert!(moved.iter().filter(|at| **at < lost).count() >= 3, "it stood still already: {moved:?}");
        let last = moved.last().copied().unwrap_or(lost);
        Duration::try_from(last.duration_since(lost)).unwrap_or_default()
    }
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn now() -> Timestamp {
    Timestamp::try_from(SystemTime::now()).expect("a time")
}

/// A brain during a long movement in alternating directions. A machine too busy for a lease of 100 ms ends a movement
/// early; then it is ordered again.
fn moving(place: &Place, reachy: &Reachy, number: usize) -> Daemon {
    let daemon = start_with(place, &["--chaos"]);
    for movement in 1..=3 {
        let begun = reachy.yaw();
        tell(&daemon, if number.is_multiple_of(2) { "look left 60 degrees" } else { "look right 60 degrees" });
        let is_under_way = || (reachy.yaw() - begun).abs() > 0.05;
        let has_ended = || {
            let body = body(&daemon);
            body["movements"] == movement && body["state"] == "ready"
        };
        daemon.until("under way", || is_under_way() || has_ended());
        if is_under_way() && !has_ended() {
            return daemon;
        }
    }
    panic!("this machine is too busy to move a robot: {}", daemon.get("/v1/why/last").1);
}

/// A way to lose a brain, with its name.
type Way<'a> = (&'a str, &'a dyn Fn(&Daemon));

fn breaks(daemon: &Daemon, how: &str, part: &str) {
    let (status, answer) = daemon.post(&format!("/v1/chaos/{how}"), &json!({"region": part}));
    assert_eq!(status, 200, "{how} {part}: {answer}");
}

#[test]
fn a_robot_whose_brain_is_lost_in_whatever_way_stands_still_within_its_lease() {
    let Some(reachy) = Reachy::start() else { return };
    let onlooker = Onlooker::at(&reachy);
    let signal = |signal: Signal| move |daemon: &Daemon| kill_process(process(daemon), signal).expect("signalled");
    let order = |how: &'static str, part: &'static str| move |daemon: &Daemon| breaks(daemon, how, part);
    let (killed, suspended) = (signal(Signal::KILL), signal(Signal::STOP));
    let (hangs, ends, unled) = (order("hang", "body"), order("kill", "body"), order("kill", "executor"));
    let ways: [Way<'_>; 5] = [
        ("SIGKILL", &killed),
        ("SIGSTOP", &suspended),
        ("who renews the lease hangs", &hangs),
        ("who renews the lease is ended", &ends),
        ("who ordered the movement is ended", &unled),
    ];
    let times = std::env::var("MAXIM_KILLS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    for (way, lose) in ways {
        let mut all = Vec::new();
        for number in 0..times {
            // Each brain has its own memory: otherwise it would learn to fear a movement that never ends well.
            let place = in_body(&reachy, 0.1, 100);
            let daemon = moving(&place, &reachy, number);
            let lost = now();
            lose(&daemon);
            let went_on = onlooker.went_on(lost);
            assert!(went_on < BOUND, "{way}: it went on for {went_on:?}");
            all.push(went_on.as_millis());
            if way == "SIGSTOP" {
                let awake = now();
                kill_process(process(&daemon), Signal::CONT).expect("signalled");
                daemon.until("it answers again", || daemon.get("/readyz").0 == 200);
                std::thread::sleep(WATCHED);
                let late = onlooker.moved(awake);
                assert!(late.is_empty(), "what was on its way when it was suspended isn't sent later: {late:?}");
            }
            daemon.kill();
        }
        all.sort_unstable();
        println!("{way}: it went on for {all:?} ms");
    }
}
