//! A Reachy Mini's own daemon in its mock mode, and the binary: movements are read back from the daemon (P1, P2,
//! P24).

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use maxim_actors::effectors::http_client::{self, Roots};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::components::folder;
use crate::harness::{Daemon, PATIENCE, Place};

/// Its many imports take long before it listens.
const STARTS: Duration = Duration::from_secs(180);
/// Maximum number of starts until it wakes up.
const ATTEMPTS: usize = 3;
/// The lease, plus delays of a busy machine.
pub const LEASE: Duration = Duration::from_millis(400);
/// A lease that holds on a busy machine, in milliseconds; `lease.rs` uses the default.
const PATIENT: u32 = 300;
/// Maximum difference of two readings of a body that stands still, in radians.
const STILL: f64 = 0.004;

/// The maker's daemon on a free port; its whole process group ends with it.
pub struct Reachy {
    child: Child,
    pub url: String,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    /// Its folder, with its log.
    home: tempfile::TempDir,
}

impl Reachy {
    /// None if it isn't installed. That is printed, and is a failure where it is required.
    pub fn start() -> Option<Self> {
        let program: PathBuf = folder()?.join("reachy-mini/bin/reachy-mini-daemon");
        if !program.is_file() {
            let missing = program.display();
            assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "missing: {missing}");
            println!("SKIPPED: {missing} isn't there; .ci/run installs it");
            return None;
        }
        // On a busy machine waking up sometimes fails in the maker's own code, and the daemon stays in that state.
        for _ in 0..ATTEMPTS {
            match Self::begin(&program) {
                Ok(reachy) => return Some(reachy),
                Err(said) => println!("the daemon of the robot doesn't wake up, so it is started again: {said}"),
            }
        }
        panic!("the daemon of the robot doesn't wake up in {ATTEMPTS} attempts");
    }

    /// Starts the daemon and waits until it runs.
    ///
    /// # Errors
    /// The daemon's words, if it isn't going to run.
    fn begin(program: &Path) -> Result<Self, String> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let home = tempfile::tempdir().expect("a folder");
        let log = std::fs::File::create(home.path().join("log")).expect("a file");
        let mut command = Command::new(program);
        command.args(["--mockup-sim", "--headless", "--no-media", "--fastapi-host", "127.0.0.1", "--fastapi-port"]);
        command.arg(port.to_string()).env("HOME", home.path()).current_dir(home.path()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("it starts");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let http = http_client::builder(&Roots::Nobody).build().expect("a client");
        let mut reachy = Self { child, url: format!("http://127.0.0.1:{port}"), http, runtime, home };
        let begun = Instant::now();
        loop {
            let state = reachy.get("/api/daemon/status")["state"].clone();
            if state == "running" {
                println!("the robot's daemon runs after {:.1} s", begun.elapsed().as_secs_f64());
                return Ok(reachy);
            }
            let has_ended = reachy.child.try_wait().expect("asked").is_some();
            if state == "error" || has_ended || begun.elapsed() > STARTS {
                let said = std::fs::read_to_string(reachy.home.path().join("log")).unwrap_or_default();
                return Err(format!("state {state} after {:.1} s: {said}", begun.elapsed().as_secs_f64()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn get(&self, path: &str) -> Value {
        self.runtime.block_on(async {
            let answer = self.http.get(format!("{}{path}", self.url)).timeout(PATIENCE).send().await;
            let Ok(answer) = answer else { return Value::Null };
            serde_json::from_slice(&answer.bytes().await.unwrap_or_default()).unwrap_or(Value::Null)
        })
    }

    fn post(&self, path: &str, body: &Value) -> u16 {
        self.runtime.block_on(async {
            let request = self.http.post(format!("{}{path}", self.url)).header("content-type", "application/json");
            let answer = request.body(body.to_string()).timeout(PATIENCE).send().await;
            answer.map_or(0, |answer| answer.status().as_u16())
        })
    }

    /// In radians.
    pub fn yaw(&self) -> f64 {
        self.get("/api/state/full")["head_pose"]["yaw"].as_f64().expect("a yaw")
    }

    /// Waits until the body has moved past this yaw.
    fn until_past(&self, yaw: f64, daemon: &Daemon) {
        let begun = Instant::now();
        while self.yaw() < yaw {
            let why = || daemon.get("/v1/why/last").1;
            assert!(begun.elapsed() < PATIENCE, "it is at {}, not past {yaw}: {:#}", self.yaw(), why());
        }
    }

    /// Asserts that it stands still once the lease has ended; returns its yaw.
    fn assert_still(&self, what: &str) -> f64 {
        std::thread::sleep(LEASE);
        let first = self.yaw();
        std::thread::sleep(Duration::from_secs(1));
        let later = self.yaw();
        assert!((first - later).abs() < STILL, "{what}: it went on from {first} to {later}");
        later
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Reachy {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A place whose agent has this body, slow enough to act during a movement.
pub fn in_body(reachy: &Reachy, speed: f64, lease_ms: u32) -> Place {
    let place = Place::new();
    let folder = place.root.path().join("home/.config/maxim");
    std::fs::create_dir_all(&folder).expect("made");
    let toml = format!(
        "[body]\ndriver = \"reachy-mini\"\nurl = {:?}\nspeed = {speed}\nlease = \"{lease_ms}ms\"\n",
        reachy.url
    );
    std::fs::write(folder.join("maxim.toml"), toml).expect("written");
    place
}

fn start(place: &Place) -> Daemon {
    start_with(place, &[])
}

pub fn start_with(place: &Place, args: &[&str]) -> Daemon {
    let daemon = place.start_with(args);
    daemon.until("in its body", || body(&daemon)["state"] == "ready");
    daemon
}

pub fn body(daemon: &Daemon) -> Value {
    daemon.get("/v1/status").1["body"].clone()
}

pub fn tell(daemon: &Daemon, text: &str) {
    let (status, answer) = daemon.post("/v1/percepts", &json!({ "text": text }));
    assert_eq!(status, 202, "{answer}");
}

pub fn clear(place: &Place) {
    assert_eq!(place.cli(&["reset"]).0, 0);
    assert_eq!(place.cli(&["resume"]).0, 0);
}

pub fn process(daemon: &Daemon) -> Pid {
    Pid::from_raw(daemon.pid() as i32).expect("a process")
}

#[test]
fn it_moves_a_reachy_mini_and_whatever_becomes_of_it_the_robot_stands_still() {
    let Some(reachy) = Reachy::start() else { return };
    let place = in_body(&reachy, 1.0, PATIENT);
    let daemon = start(&place);
    let answer = daemon.say("look left 20 degrees");
    assert_eq!(answer["actions"][0]["status"], "done", "{answer}");
    assert!((reachy.yaw() - 20_f64.to_radians()).abs() < 0.03, "{}", reachy.yaw());
    let answer = daemon.say("undo that");
    assert_eq!(answer["actions"][0]["status"], "done", "{answer}");
    assert!(reachy.yaw().abs() < 0.03, "{}", reachy.yaw());

    // Something else moves it: a refused target is no success, and a stop ends that movement too.
    assert_eq!(reachy.post("/api/move/goto", &json!({"head_pose": {"pitch": 0.2}, "duration": 30.0})), 200);
    let answer = daemon.say("look left 20 degrees");
    assert_eq!(answer["actions"][0]["status"], "failed", "{answer}");
    assert_eq!(place.cli(&["stop"]).0, 0);
    daemon.until("nobody moves it", || reachy.get("/api/move/running") == json!([]));
    clear(&place);

    // Motors that are off are a fault, but no stop.
    assert_eq!(reachy.post("/api/motors/set_mode/disabled", &json!({})), 200);
    daemon.until("the fault is told", || body(&daemon)["state"] == "fault");
    assert!(body(&daemon)["fault"].as_str().is_some_and(|fault| fault.contains("motors are off")), "{}", body(&daemon));
    let answer = daemon.say("look left 20 degrees");
    assert_eq!(answer["actions"][0]["status"], "unavailable", "{answer}");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], false);
    assert_eq!(reachy.post("/api/motors/set_mode/enabled", &json!({})), 200);
    daemon.until("well again", || body(&daemon)["state"] == "ready");
    assert_eq!(daemon.say("look straight ahead")["actions"][0]["status"], "done");
    assert_eq!(daemon.end(), 0);

    let place = in_body(&reachy, 0.08, PATIENT);
    let daemon = start(&place);
    tell(&daemon, "look left 60 degrees");
    reachy.until_past(0.05, &daemon);
    let (code, out, err) = place.cli(&["stop", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let stopped = reachy.assert_still("maxim stop");
    assert!(stopped < 0.8, "it was in the midst of it: {stopped}");
    let froze = body(&daemon)["froze_after_us"].as_u64().expect("told");
    println!("frozen {froze} us after the stop was raised");
    assert!(froze < 200_000, "{froze} us");
    clear(&place);
    assert!((reachy.assert_still("reset and resume") - stopped).abs() < STILL);

    tell(&daemon, "look left 60 degrees");
    reachy.until_past(stopped + 0.05, &daemon);
    kill_process(process(&daemon), Signal::STOP).expect("signalled");
    let held = reachy.assert_still("SIGSTOP");
    kill_process(process(&daemon), Signal::CONT).expect("signalled");
    assert!((reachy.assert_still("SIGCONT") - held).abs() < STILL, "it doesn't go on by itself");
    daemon.until("it knows why", || place.cli(&["why", "last", "--json"]).1.contains("did not renew"));
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], false, "the body was there all the time");

    tell(&daemon, "look left 50 degrees");
    reachy.until_past(held + 0.05, &daemon);
    daemon.kill();
    let killed = reachy.assert_still("kill -9");
    assert!(killed < 60_f64.to_radians(), "{killed}");
}

#[test]
fn a_robot_that_is_lost_is_a_latched_stop_and_the_status_tells_it_at_once() {
    let Some(reachy) = Reachy::start() else { return };
    let place = in_body(&reachy, 0.1, PATIENT);
    let daemon = start(&place);
    // A hanging daemon sends nothing; its process still exists, which doesn't help.
    reachy.signal(Signal::STOP);
    let begun = Instant::now();
    daemon.until("told", || body(&daemon)["state"] == "fault");
    println!("a hanging robot is told after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    reachy.signal(Signal::CONT);
    daemon.until("there again", || body(&daemon)["state"] == "ready");
    assert_eq!(daemon.get("/v1/status").1["stop"]["latched"], true, "a stop stays a stop");
    clear(&place);

    tell(&daemon, "look left 60 degrees");
    reachy.until_past(0.05, &daemon);
    reachy.signal(Signal::KILL);
    let begun = Instant::now();
    daemon.until("told", || body(&daemon)["state"] == "fault");
    println!("a dead robot is told after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    daemon.until("stopped", || daemon.get("/v1/status").1["stop"]["latched"] == true);
    let status = daemon.get("/v1/status").1;
    assert_eq!((&status["state"], &status["stop"]["by"]), (&json!("stopped"), &json!("body")), "{status}");
    assert!(status["stop"]["reason"].as_str().is_some_and(|why| why.starts_with("the body is lost")), "{status}");
    let (code, told, _) = place.cli(&["doctor"]);
    assert!(code == 1 && told.contains("the body is lost"), "{told}");
}

#[test]
fn a_stop_by_every_way_stops_a_moving_body() {
    let place = Place::new();
    let folder = place.root.path().join("home/.config/maxim");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("maxim.toml"), "[body]\nspeed = 0.06\n").expect("written");
    let daemon = place.start_with(&["--body", "sim"]);
    let posts = |path: &str, body: Value| assert!(daemon.post(path, &body).0 < 300, "{path}");
    let ways: [(&str, &dyn Fn()); 7] = [
        ("the command line", &|| assert_eq!(place.cli(&["stop"]).0, 0)),
        ("HTTP", &|| posts("/v1/stop", json!({}))),
        ("words", &|| posts("/v1/percepts", json!({"text": "STOP!!!"}))),
        ("words on the console's channel", &|| posts("/v1/percepts", json!({"text": "freeze", "channel": "console"}))),
        ("recognised speech", &|| posts("/v1/observations", json!({"speech": {"text": "stop", "confidence": 0.9}}))),
        ("a signal", &|| kill_process(process(&daemon), Signal::USR1).expect("signalled")),
        ("a file", &|| std::fs::write(place.data().join("stop.request"), "smoke").expect("written")),
    ];
    for (number, (way, stop)) in ways.iter().enumerate() {
        tell(&daemon, if number % 2 == 0 { "look left 60 degrees" } else { "look right 60 degrees" });
        daemon.until("moving", || body(&daemon)["state"] == "moving");
        stop();
        daemon.until(way, || body(&daemon)["froze_after_us"].is_u64());
        let frozen = body(&daemon);
        println!("{way}: frozen {} us after it was raised", frozen["froze_after_us"]);
        // The bound is 20 ms; a busy machine may suspend threads for longer.
        assert!(frozen["froze_after_us"].as_u64().is_some_and(|took| took < 200_000), "{way}: {frozen}");
        std::thread::sleep(LEASE);
        let still = body(&daemon)["pose"].clone();
        std::thread::sleep(LEASE);
        assert_eq!(body(&daemon)["pose"], still, "{way}");
        daemon.until("the request is taken", || !place.data().join("stop.request").exists());
        clear(&place);
    }
}
