//! Starts the binary in its own folder and talks to it over HTTP.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use maxim_actors::effectors::http_client::{self, Roots};
use reqwest::header::AUTHORIZATION;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

pub type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

/// Generous, because machines are shared. A test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Daemon {
    child: Child,
    pub url: String,
    /// The token that its client sends.
    pub token: String,
    pub said: Arc<Mutex<Vec<String>>>,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

/// The binary. Its build folder may be closed to other users.
pub fn program() -> PathBuf {
    std::env::var_os("MAXIM_TEST_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_maxim").into(), PathBuf::from)
}

/// Copied by another process: a file just written by this process can't be executed while a child started meanwhile
/// holds it open.
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().expect("cp runs").success());
}

/// A data folder, a working folder and an empty home, all temporary.
pub struct Place {
    pub root: tempfile::TempDir,
    /// The binary.
    pub program: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["data", "work", "home"] {
            std::fs::create_dir(root.path().join(name)).expect("a folder");
        }
        Self { root, program: program() }
    }

    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The binary with nothing from this machine's environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.root.path().join("home"));
        command.current_dir(self.work());
        command
    }

    /// Runs a command line of the binary on this data folder: exit code, standard output, standard error.
    pub fn cli(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command().arg("--data").arg(self.data()).args(args).output().expect("runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// The page's address with a key for one login, as `maxim open` prints it.
    pub fn page(&self) -> String {
        let (code, address, err) = self.cli(&["open", "--print"]);
        assert_eq!(code, 0, "{err}");
        address.trim_end().to_owned()
    }

    pub fn start(&self) -> Daemon {
        self.start_with(&[])
    }

    pub fn start_with(&self, args: &[&str]) -> Daemon {
        self.start_as(args, |_| {})
    }

    /// Starts a daemon whose process the test configures.
    pub fn start_as(&self, args: &[&str], set_up: impl FnOnce(&mut Command)) -> Daemon {
        self.launch("127.0.0.1:0", args, set_up)
    }

    /// Starts a daemon that requires this token, which the test's client sends.
    pub fn start_guarded(&self, token: &str) -> Daemon {
        self.launch_guarded("127.0.0.1:0", &[], Some(token), |_| {})
    }

    /// Starts at another daemon's address, after that one has ended.
    pub fn start_at(&self, url: &str) -> Daemon {
        self.launch(url.trim_start_matches("http://"), &[], |_| {})
    }

    fn launch(&self, listen: &str, args: &[&str], set_up: impl FnOnce(&mut Command)) -> Daemon {
        self.launch_guarded(listen, args, None, set_up)
    }

    fn launch_guarded(
        &self,
        listen: &str,
        args: &[&str],
        token: Option<&str>,
        set_up: impl FnOnce(&mut Command),
    ) -> Daemon {
        let note = self.data().join("daemon.json");
        let _ = std::fs::remove_file(&note);
        let mut command = self.command();
        command
            .arg("run")
            .arg("--data")
            .arg(self.data())
            .args(["--listen", listen])
            .args(args)
            .envs(token.map(|token| ("MAXIM__HTTP__TOKEN", token)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        set_up(&mut command);
        let mut child = command.spawn().expect("the daemon starts");
        // Its pipe ends belong only to the child.
        drop(command);
        let said = Arc::new(Mutex::new(Vec::new()));
        if let Some(stderr) = child.stderr.take() {
            let heard = Arc::clone(&said);
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    heard.lock().expect("no reader panicked").push(line);
                }
            });
        }
        let deadline = Instant::now() + PATIENCE;
        let url = loop {
            if let Some(url) = read_note(&note) {
                break url;
            }
            if let Ok(Some(status)) = child.try_wait() {
                panic!("the daemon ended with {status}: {:?}", said.lock().expect("no reader panicked"));
            }
            assert!(Instant::now() < deadline, "no daemon.json");
            std::thread::yield_now();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        // Its own token is written before its note; with an open door there is none.
        let own = || std::fs::read_to_string(self.data().join("token")).map(|own| own.trim_end().to_owned()).ok();
        let token = token.map(str::to_owned).or_else(own).unwrap_or_default();
        let shown = (AUTHORIZATION, format!("Bearer {token}").parse().expect("a header's value"));
        let http = http_client::builder(&Roots::Nobody).default_headers([shown].into_iter().collect());
        let http = http.build().expect("a client");
        let daemon = Daemon { child, url, token, said, http, runtime };
        daemon.until("ready", || daemon.get("/readyz").0 == 200);
        daemon
    }
}

fn read_note(path: &Path) -> Option<String> {
    let note: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    note["url"].as_str().map(str::to_owned)
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        self.runtime.block_on(async {
            match self.http.get(format!("{}{path}", self.url)).timeout(PATIENCE).send().await {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    (status, serde_json::from_slice(&answer.bytes().await.unwrap_or_default()).unwrap_or(Value::Null))
                }
                Err(_) => (0, Value::Null),
            }
        })
    }

    /// A WebSocket of the owner.
    pub async fn socket(&self) -> Socket {
        let url = format!("{}/ws", self.url.replacen("http", "ws", 1));
        let mut request = url.into_client_request().expect("a request");
        let shown = format!("Bearer {}", self.token).parse().expect("a header's value");
        request.headers_mut().insert(AUTHORIZATION, shown);
        tokio_tungstenite::connect_async(request).await.expect("connected").0
    }

    /// A request without a token, or with another one: the status.
    pub fn stranger(&self, method: &str, path: &str, shown: Option<&str>) -> u16 {
        self.runtime.block_on(async {
            let client = http_client::builder(&Roots::Nobody).build().expect("a client");
            let mut request = client.request(method.parse().expect("a method"), format!("{}{path}", self.url));
            if let Some(token) = shown {
                request = request.bearer_auth(token);
            }
            request.body("{}").timeout(PATIENCE).send().await.map_or(0, |answer| answer.status().as_u16())
        })
    }

    /// An answer that isn't JSON.
    pub fn text(&self, path: &str) -> String {
        self.runtime.block_on(async {
            let answer =
                self.http.get(format!("{}{path}", self.url)).timeout(PATIENCE).send().await.expect("an answer");
            answer.text().await.expect("text")
        })
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_raw(path, body.to_string())
    }

    pub fn post_raw(&self, path: &str, body: String) -> (u16, Value) {
        self.runtime.block_on(async {
            let request = self.http.post(format!("{}{path}", self.url)).header("content-type", "application/json");
            match request.body(body).timeout(PATIENCE).send().await {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    (status, serde_json::from_slice(&answer.bytes().await.unwrap_or_default()).unwrap_or(Value::Null))
                }
                Err(_) => (0, Value::Null),
            }
        })
    }

    /// Posts with these headers; returns status and body.
    pub fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        self.runtime.block_on(async {
            let request = self.http.post(format!("{}{path}", self.url)).header("content-type", "application/json");
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            match request.body(body.to_owned()).timeout(PATIENCE).send().await {
                Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap_or_default()),
                Err(error) => (0, error.to_string()),
            }
        })
    }

    /// Posts like a provider; returns status and body.
    pub fn hook(&self, path: &str, headers: &[(&str, String)], body: &str) -> (u16, String) {
        self.runtime.block_on(async {
            // Through a proxy, requests use the daemon's public name.
            let mut request = self.http.post(format!("{}{path}", self.url)).header("host", "maxim.example.org");
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            match request.body(body.to_owned()).timeout(PATIENCE).send().await {
                Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap_or_default()),
                Err(error) => (0, error.to_string()),
            }
        })
    }

    /// Says something and waits for the reply.
    pub fn say(&self, text: &str) -> Value {
        let (status, answer) = self.post("/v1/percepts", &json!({ "text": text, "wait_s": 60 }));
        assert_eq!(status, 200, "{text}: {answer}");
        answer
    }

    /// Sends many at once; returns the texts that were acknowledged as durable.
    pub fn tell_all(&self, texts: &[String]) -> Vec<String> {
        self.runtime.block_on(async {
            let sends = texts.iter().map(|text| async move {
                let body = json!({ "text": text }).to_string();
                let request =
                    self.http.post(format!("{}/v1/percepts", self.url)).header("content-type", "application/json");
                let answer = request.body(body).timeout(PATIENCE).send().await.ok()?;
                let durable = answer.status().as_u16() == 202;
                let body: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
                (durable && body["durable"] == true).then(|| text.clone())
            });
            futures_util::future::join_all(sends).await.into_iter().flatten().collect()
        })
    }

    /// Sends many at once and waits for each; returns how many got their reply.
    pub fn say_all(&self, texts: &[String]) -> usize {
        self.runtime.block_on(async {
            let sends = texts.iter().map(|text| async move {
                let body = json!({ "text": text, "wait_s": 60 }).to_string();
                let request =
                    self.http.post(format!("{}/v1/percepts", self.url)).header("content-type", "application/json");
                let answer = request.body(body).timeout(PATIENCE).send().await;
                answer.is_ok_and(|answer| answer.status().as_u16() == 200)
            });
            futures_util::future::join_all(sends).await.into_iter().filter(|replied| *replied).count()
        })
    }

    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < deadline, "not {what} in time; it said {:?}", self.said.lock());
            std::thread::yield_now();
        }
    }

    /// SIGKILL, like a crash of the process.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process");
        kill_process(pid, signal).expect("signalled");
    }

    /// SIGSTOP, and waits until each of its threads is stopped: they run on until one of them has received the
    /// signal.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.child.id());
        let stands = |stat: String| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'));
        self.until("paused", || {
            let tasks = std::fs::read_dir(&tasks).expect("its threads").flatten();
            tasks.map(|task| std::fs::read_to_string(task.path().join("stat"))).all(|stat| stat.is_ok_and(stands))
        });
    }

    /// SIGTERM; returns the exit code.
    pub fn end(mut self) -> i32 {
        self.signal(Signal::TERM);
        self.child.wait().expect("ends").code().unwrap_or(-1)
    }

    /// Waits until it ends by itself; returns the exit code.
    pub fn ended(mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("asked") {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < deadline, "it goes on: {}", self.heard());
            std::thread::yield_now();
        }
    }

    /// Waits until it ends by itself; returns the exit code and all its output.
    pub fn ended_saying(mut self) -> (i32, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("asked").is_none() {
            assert!(Instant::now() < deadline, "it goes on: {}", self.heard());
            std::thread::yield_now();
        }
        (self.child.wait().expect("ended").code().unwrap_or(-1), self.heard())
    }

    /// Its standard error so far.
    pub fn heard(&self) -> String {
        self.said.lock().expect("no reader panicked").join("\n")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
