//! One agent on several machines: real daemons, a real NATS server, and faults in between.

mod fencing;
mod joining;
mod leaf;
mod others;
mod server;
mod takeover;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::harness::{Daemon, Place};

pub use server::Server;

/// Long enough to hold on a busy machine, short enough for a test to wait for its end.
const LEASE: &str = "6s";

/// A machine: its folders, and its knowledge of the others.
struct Machine {
    place: Arc<Place>,
    url: String,
}

impl Machine {
    fn of(server: &Server) -> Self {
        Self { place: Arc::new(Place::new()), url: server.url() }
    }

    fn set_up(&self, command: &mut Command) {
        command.env("MAXIM__NATS__URL", &self.url).env("MAXIM__NATS__LEASE", LEASE);
        command.env("MAXIM__NATS__USERNAME", server::USER).env("MAXIM__NATS__PASSWORD", server::PASSWORD);
    }

    /// Ready, so it runs the agent.
    fn start(&self) -> Daemon {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[(&str, &str)]) -> Daemon {
        self.place.start_as(&[], |command| {
            self.set_up(command);
            command.envs(more.iter().copied());
        })
    }

    /// Ready once it has taken over.
    fn stand_by(&self) -> JoinHandle<Daemon> {
        let machine = Self { place: Arc::clone(&self.place), url: self.url.clone() };
        std::thread::spawn(move || machine.start())
    }

    /// A refused start: exit code and output.
    fn refused(&self, more: &[(&str, &str)]) -> (i32, String) {
        let mut command = self.place.command();
        command.args(["run", "--listen", "127.0.0.1:0", "--data"]).arg(self.place.data());
        self.set_up(&mut command);
        let output = command.envs(more.iter().copied()).output().expect("runs");
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Starts it, runs `then` once these words appeared, and ends it again.
    fn hears(&self, words: &str, then: impl FnOnce()) -> String {
        let mut command = self.place.command();
        command.args(["run", "--listen", "127.0.0.1:0", "--data"]).arg(self.place.data());
        self.set_up(&mut command);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let said = lines.find(|line| line.contains(words));
        then();
        child.kill().and_then(|()| child.wait()).expect("ended");
        said.unwrap_or_else(|| panic!("it never said {words:?}"))
    }

    /// A command on this machine, which knows the server.
    fn cli(&self, args: &[&str]) -> (i32, String, String) {
        self.place.cli(args)
    }

    /// The answer of `maxim stop`: whatever else it says, the agent is stopped.
    fn stop(&self, reason: &str) -> Value {
        let (code, answer, trouble) = self.cli(&["--json", "stop", reason]);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        assert!(code == 0 && answer["latched"] == true, "{answer} {trouble}");
        answer
    }
}

/// Words that no other line has.
fn code(n: usize) -> String {
    let letters: String = format!("{n:04}").bytes().map(|digit| char::from(b'a' + digit - b'0')).collect();
    format!("remember that the code word is zq{letters}x")
}

fn recalls(daemon: &Daemon, text: &str) -> bool {
    let word = text.rsplit(' ').next().expect("a word");
    let (status, found) = daemon.get(&format!("/v1/memory/recall?query={word}&limit=3"));
    assert_eq!(status, 200, "{found}");
    let mut texts = found["results"].as_array().into_iter().flatten().filter_map(|episode| episode["text"].as_str());
    texts.any(|found| found.starts_with(text))
}

fn machines(daemon: &Daemon) -> Value {
    daemon.get("/v1/status").1["machines"].clone()
}

/// Whether a folder contains data that only a run leaves.
fn has_store(place: &Place) -> bool {
    fs::read_dir(place.data().join("store")).is_ok_and(|mut entries| entries.next().is_some())
}
