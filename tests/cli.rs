//! The command line as scripts see it: the real binary, a home of its own, exit codes and words.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use jiff::Timestamp;
use maxim::data_folder::{DaemonNote, DataFolder};
use maxim_bus::latch::StopLatch;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A person's home, empty.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(home.path("work")).expect("made");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn data(&self) -> DataFolder {
        let folder = DataFolder::new(self.path(".local/state/maxim"));
        fs::create_dir_all(folder.path()).expect("made");
        folder
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_maxim"));
        command.args(args).env_clear().env("HOME", self.0.path()).current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Done {
        self.done(self.command(args).output().expect("runs"))
    }

    fn run_with(&self, args: &[&str], variable: &str, value: &str) -> Done {
        self.done(self.command(args).env(variable, value).output().expect("runs"))
    }

    /// The output with the home's own path as `~`.
    fn done(&self, output: Output) -> Done {
        let text =
            |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace(&*self.0.path().to_string_lossy(), "~");
        Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

#[derive(Debug)]
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Done {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A daemon's HTTP door that answers as it is told, once for each answer, and keeps what it was asked.
struct Door {
    url: String,
    asked: JoinHandle<Vec<Asked>>,
}

struct Asked {
    line: String,
    token: Option<String>,
    body: Value,
}

fn door(answers: Vec<(u16, Value)>) -> Door {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = std::thread::spawn(move || {
        answers
            .into_iter()
            .map(|(status, answer)| {
                let (stream, _) = listener.accept().expect("a caller");
                serve(stream, status, &answer)
            })
            .collect()
    });
    Door { url, asked }
}

fn serve(mut stream: TcpStream, status: u16, answer: &Value) -> Asked {
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let field = |name: &str| {
        let found =
            head.iter().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let length = field("content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let answer = answer.to_string();
    write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}", answer.len())
        .expect("sent");
    let body = serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into());
    Asked { line: head[0].clone(), token: field("authorization"), body }
}

fn note(home: &Home, url: &str, pid: u32) {
    DaemonNote { url: url.into(), pid, started: Timestamp::UNIX_EPOCH }.write(&home.data()).expect("written");
}

#[test]
fn help_and_version_need_nothing_and_go_to_standard_output() {
    let home = Home::new();
    // A broken configuration must not reach them.
    home.write("work/maxim.toml", "nonsense");
    let version = home.run(&["--version"]);
    assert_eq!((version.code, version.out.as_str()), (Some(0), concat!("maxim ", env!("CARGO_PKG_VERSION"), "\n")));
    let help = home.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for command in ["send", "stop", "memory", "config", "doctor", "Exit codes"] {
        assert!(help.out.contains(command), "{command} in {}", help.out);
    }
    assert!(home.run(&["memory", "import", "--help"]).out.contains("maxim memory import episodes.jsonl"));
    let bare = home.run(&[]);
    assert_eq!((bare.code, bare.out.as_str()), (Some(2), ""), "help that nobody asked for is no data");
}

#[test]
fn a_mistyped_command_or_flag_names_the_nearest() {
    let home = Home::new();
    let done = home.run(&["statsu"]);
    assert_eq!((done.code, done.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(done.err, @"maxim: unrecognized subcommand 'statsu'; some similar subcommands exist: 'stats', 'status'");
    let done = home.run(&["send", "hello", "--wiat"]);
    assert_eq!(done.code, Some(2));
    insta::assert_snapshot!(done.err, @"maxim: unexpected argument '--wiat' found; a similar argument exists: '--wait'");
    let done = home.run(&["send", "hello", "--wait", "--timeout", "soon"]);
    insta::assert_snapshot!(done.err, @"maxim: invalid value 'soon' for '--timeout <S>': give seconds from 0 to 86400; see --help of the command");
    let done = home.run(&["--json", "send"]);
    let error: Value = serde_json::from_str(&done.err).expect("JSON on standard error");
    assert_eq!((done.code, &error["exit_code"], &error["title"]), (Some(2), &json!(2), &json!("usage or bad input")));
}

#[test]
fn every_fault_of_a_configuration_is_named_with_its_file_and_fix() {
    let home = Home::new();
    home.write("work/maxim.toml", "[gateway]\ncredits = 1\n[memory]\nnac_alpha = \"high\"\n[http]\ntoken = \"t\"\n");
    home.write(".config/maxim/maxim.toml", "[agent]\nmode = \"bold\"\n");
    let done = home.run_with(&["config", "show"], "MAXIM__GATEWAY__CREDIT", "0");
    assert_eq!((done.code, done.out.as_str()), (Some(78), ""));
    insta::assert_snapshot!(done.err, @r#""#);
    let done = home.run_with(&["config", "show", "--json"], "MAXIM__GATEWAY__CREDIT", "0");
    let error: Value = serde_json::from_str(&done.err).expect("JSON on standard error");
    assert_eq!(error["exit_code"], 78);
    let keys: Vec<_> = error["faults"].as_array().expect("faults").iter().map(|fault| fault["key"].clone()).collect();
    assert_eq!(keys, ["agent.mode", "gateway.credits", "http.token", "memory.nac_alpha", "gateway.credit"]);
}

#[test]
fn a_file_that_cant_be_read_is_named() {
    let home = Home::new();
    let done = home.run(&["config", "show", "--config", "absent.toml"]);
    assert_eq!(done.code, Some(78));
    insta::assert_snapshot!(done.err, @"");
    home.write("work/maxim.toml", "[agent]\nmode = \n");
    let done = home.run(&["status"]);
    assert_eq!(done.code, Some(78));
    assert!(done.err.contains("maxim.toml is not TOML") && done.err.contains("line 2"), "{}", done.err);
    home.write("work/maxim.toml", "[http]\nlisten = \"0.0.0.0:80\"\n");
    let done = home.run(&["config", "show"]);
    assert_eq!(done.code, Some(78));
    assert!(done.err.contains("set MAXIM__HTTP__TOKEN"), "{}", done.err);
}

#[test]
fn explain_says_which_layer_won() {
    let home = Home::new();
    let layer = |home: &Home, args: &[&str]| {
        let done = home.run(&[&["config", "explain", "gateway.credit", "--json"], args].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        (done.json()["value"].as_u64(), done.json()["layer"].as_str().map(str::to_owned))
    };
    assert_eq!(layer(&home, &[]), (Some(256), Some("built-in".into())));
    home.write(".config/maxim/maxim.toml", "[gateway]\ncredit = 2\n");
    assert_eq!(layer(&home, &[]), (Some(2), Some("~/.config/maxim/maxim.toml".into())));
    home.write("work/maxim.toml", "[gateway]\ncredit = 3\n");
    assert_eq!(layer(&home, &[]), (Some(3), Some("maxim.toml".into())));
    home.write("work/other.toml", "[gateway]\ncredit = 4\n");
    assert_eq!(layer(&home, &["--config", "other.toml"]), (Some(4), Some("other.toml".into())));
    let done = home.run_with(&["config", "explain", "gateway.credit"], "MAXIM__GATEWAY__CREDIT", "5");
    insta::assert_snapshot!(done.out, @"");
    let done = home.run(&["config", "explain", "store.data", "--data", "/srv/maxim", "--json"]);
    assert_eq!((&done.json()["value"], &done.json()["layer"]), (&json!("/srv/maxim"), &json!("--data")));
    let done = home.run(&["config", "explain", "gateway.credti"]);
    assert_eq!(done.code, Some(2));
    insta::assert_snapshot!(done.err, @"");
    assert_eq!(home.run(&["config", "explain", "llm", "--json"]).json().as_array().map(Vec::len), Some(9));
}

#[test]
fn secrets_are_never_shown() {
    let home = Home::new();
    for args in
        [&["config", "show"][..], &["config", "show", "--json"], &["config", "explain", "llm.api_key"], &["doctor"]]
    {
        let done = home.run_with(args, "MAXIM__LLM__API_KEY", "hunter2");
        assert!(!done.out.contains("hunter2") && !done.err.contains("hunter2"), "{done:?}");
    }
    let done = home.run_with(&["config", "show"], "MAXIM__LLM__API_KEY", "hunter2");
    assert!(done.out.contains("# api_key = (set)"), "{}", done.out);
}

#[test]
fn init_writes_the_sample_and_refuses_to_overwrite() {
    let home = Home::new();
    let done = home.run(&["config", "init"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "wrote ~/.config/maxim/maxim.toml\n"));
    assert_eq!(fs::read_to_string(home.path(".config/maxim/maxim.toml")).expect("a file"), maxim::config::sample());
    assert_eq!(home.run(&["config", "show"]).code, Some(0), "the sample is valid");
    home.write(".config/maxim/maxim.toml", "# mine\n");
    let done = home.run(&["config", "init"]);
    assert_eq!(done.code, Some(1));
    insta::assert_snapshot!(done.err, @"");
    assert_eq!(fs::read_to_string(home.path(".config/maxim/maxim.toml")).expect("a file"), "# mine\n");
}

#[test]
fn without_a_daemon_each_command_says_what_it_tried() {
    let home = Home::new();
    let commands: &[&[&str]] = &[
        &["status"],
        &["send", "hello"],
        &["chat"],
        &["reset"],
        &["resume"],
        &["hold", "5s"],
        &["redirect", "dock"],
        &["top"],
        &["why"],
        &["memory", "recall", "cup"],
        &["memory", "stats"],
        &["chaos", "list"],
        &["stop"],
    ];
    for command in commands {
        let done = home.run(command);
        assert_eq!((done.code, done.out.as_str()), (Some(75), ""), "{command:?} {done:?}");
        assert!(done.err.contains("~/.local/state/maxim/daemon.json"), "{command:?} {done:?}");
    }
    insta::assert_snapshot!(home.run(&["status"]).err, @"");
    // A port that was free a moment ago: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address").port();
    let url = format!("http://127.0.0.1:{port}");
    note(&home, &url, 1);
    let done = home.run(&["status"]);
    assert_eq!(done.code, Some(75));
    assert!(done.err.contains(&url) && done.err.contains("daemon.json, process 1"), "{}", done.err);
    let done = home.run(&["status", "--url", &url, "--json"]);
    let error: Value = serde_json::from_str(&done.err).expect("JSON on standard error");
    assert_eq!((done.code, &error["exit_code"]), (Some(75), &json!(75)));
    assert_eq!(home.run(&["status", "--url", "ftp://x"]).code, Some(2));
    assert_eq!(home.run(&["doctor"]).code, Some(1), "a note that leads nowhere is a fault");
}

#[test]
fn a_percept_is_sent_and_its_reply_printed() {
    let home = Home::new();
    let reply = json!({"id": "p1", "reply": "It is on\u{1b}[2J the table.", "actions": [
        {"tool": "move", "params": {"x": 1}, "success": true}]});
    let daemon = door(vec![
        (202, json!({"id": "p0", "durable": true})),
        (200, reply),
        (202, json!({"id": "p2", "durable": true})),
    ]);
    note(&home, &daemon.url, 1);
    let done = home.run(&["send", "hello"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "accepted p0\n"), "{done:?}");
    let done =
        home.run_with(&["send", "where is the cup?", "--wait", "--timeout", "2"], "MAXIM__HTTP__TOKEN", "s3cret");
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(0), "It is on [2J the table.\n* move {\"x\":1} (done)\n"),
        "{done:?}"
    );
    let done = home.run(&["send", "hello", "--wait", "--timeout", "0"]);
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""));
    assert!(done.err.contains("accepted as p2"), "{}", done.err);
    let asked = daemon.asked.join().expect("served");
    assert_eq!(asked[0].body, json!({"text": "hello", "channel": "console"}));
    assert_eq!(asked[1].line, "POST /v1/percepts HTTP/1.1");
    assert_eq!(asked[1].body["wait_s"], 2.0);
    assert_eq!((asked[0].token.as_deref(), asked[1].token.as_deref()), (None, Some("Bearer s3cret")));
}

#[test]
fn preemption_sends_its_parameters_and_prints_the_measured_latency() {
    let home = Home::new();
    let held = json!({"latched": false, "latency_us": 1234, "cancelled": ["goal fetch"]});
    let daemon = door(vec![(200, held.clone()), (200, held.clone()), (200, held.clone()), (200, held)]);
    let url = daemon.url.as_str();
    let done = home.run(&["hold", "5min", "--url", url]);
    insta::assert_snapshot!(done.out, @"");
    assert_eq!(home.run(&["hold", "--url", url]).code, Some(0));
    let done = home.run(&["redirect", "dock", "--url", url, "--json"]);
    assert_eq!((&done.json()["latency_us"], done.json()["round_trip_us"].is_u64()), (&json!(1234), true));
    assert_eq!(home.run(&["reset", "--url", url]).code, Some(0));
    let asked = daemon.asked.join().expect("served");
    let sent: Vec<_> = asked.iter().map(|asked| (asked.line.as_str(), asked.body.clone())).collect();
    assert_eq!(
        sent,
        [
            ("POST /v1/hold HTTP/1.1", json!({"duration_s": 300})),
            ("POST /v1/hold HTTP/1.1", json!({})),
            ("POST /v1/redirect HTTP/1.1", json!({"goal": "dock"})),
            ("POST /v1/reset HTTP/1.1", json!({})),
        ]
    );
}

#[test]
fn a_refusal_keeps_the_daemons_words_and_maps_to_an_exit_code() {
    let home = Home::new();
    let cases = [(422, 2), (401, 1), (404, 1), (409, 1), (429, 75), (503, 75), (500, 70)];
    for (status, code) in cases {
        let daemon =
            door(vec![(status, json!({"title": "no", "detail": "the region amygdala is unknown", "status": status}))]);
        let done = home.run(&["chaos", "panic", "amygdala", "--url", &daemon.url]);
        assert_eq!(done.code, Some(code), "{status}: {done:?}");
        assert!(done.err.starts_with("maxim: the region amygdala is unknown; "), "{}", done.err);
        let asked = daemon.asked.join().expect("served");
        assert_eq!(
            (asked[0].line.as_str(), &asked[0].body),
            ("POST /v1/chaos/panic HTTP/1.1", &json!({"region": "amygdala"}))
        );
    }
}

#[test]
fn the_status_is_a_table_for_people_and_the_document_for_programs() {
    let home = Home::new();
    let status = json!({
        "state": "stopped", "version": "0.1.0",
        "stop": {"latched": true, "reason": "smoke", "at": "2026-01-05T09:00:00Z", "by": "Anna"},
        "regions": [
            {"name": "hippocampus", "state": "running", "restarts": 0, "inbox_depth": 12, "p99_us": 340},
            {"name": "fear_agent", "state": "held", "restarts": 5, "inbox_depth": 0, "p99_us": 8},
        ],
        "body": {"driver": "none"}, "disk": {"free_bytes": 1}, "llm": {"state": "off"}, "memory": {"episodic": 3},
    });
    let daemon = door(vec![(200, status.clone()), (200, status.clone()), (200, status.clone()), (200, status.clone())]);
    note(&home, &daemon.url, 1);
    insta::assert_snapshot!(home.run(&["status"]).out, @"");
    assert_eq!(home.run(&["status", "--json"]).json(), status);
    assert_eq!(home.run(&["top", "--count", "1", "--json"]).json(), status);
    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!((doctor.code, &doctor.json()["ok"]), (Some(1), &json!(false)));
    let findings = doctor.json()["findings"].clone();
    let fault = findings.as_array().expect("a list").iter().find(|finding| finding["name"] == "fear_agent").cloned();
    assert_eq!(fault.expect("named")["health"], "fault");
}

#[test]
fn recall_prints_a_line_each_and_an_import_counts_and_names_bad_lines() {
    let home = Home::new();
    let line = json!({"id": "e1", "score": 0.5, "via": "text", "timestamp": "2026-01-05T09:00:00Z", "goal": null,
        "tool": "move", "success": false, "text": "the red cup"});
    let daemon = door(vec![
        (200, json!({"results": [line.clone(), line.clone()]})),
        (200, json!({"results": [line.clone()]})),
        (200, json!({"imported": 1, "skipped": {"dull": 1}, "errors": [{"line": 2, "reason": "unknown field foo"}]})),
    ]);
    note(&home, &daemon.url, 1);
    let done = home.run(&["memory", "recall", "red cup", "--tool", "move", "--success", "false", "--json"]);
    assert_eq!((done.code, done.out.lines().count()), (Some(0), 2));
    assert_eq!(serde_json::from_str::<Value>(done.out.lines().next().expect("a line")).expect("JSON"), line);
    insta::assert_snapshot!(home.run(&["memory", "recall", "red cup"]).out, @"");
    home.write("work/e.jsonl", "{\"text\": \"a\"}\n{\"foo\": 1}\n{\"text\": \"b\"}\n");
    let done = home.run(&["memory", "import", "e.jsonl", "--all"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(2), "imported: 1\nskipped:\n  dull: 1\nline 2: unknown field foo\n"),
        "{done:?}"
    );
    assert_eq!(home.run(&["memory", "import", "absent.jsonl"]).code, Some(2));
    let asked = daemon.asked.join().expect("served");
    assert_eq!(asked[0].line, "GET /v1/memory/recall?query=red+cup&tool_name=move&success=false&limit=5 HTTP/1.1");
    assert_eq!(asked[2].line, "POST /v1/memory/import?all=true HTTP/1.1");
    assert_eq!(asked[2].body, json!("{\"text\": \"a\"}\n{\"foo\": 1}\n{\"text\": \"b\"}\n"));
}

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
    assert!(!folder.stop_request().exists(), "a confirmed stop takes its request back");
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
                latch.raise(maxim_bus::latch::StopDetail { reason, by: "file".into(), at });
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
    assert!(done.err.contains("the next start comes up stopped"), "{}", done.err);
    assert_eq!(fs::read_to_string(folder.stop_request()).expect("a request"), "smoke\n");
    // A configuration that can't be read must not keep anyone from stopping.
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
fn chat_answers_line_by_line_in_a_pipe() {
    let home = Home::new();
    let daemon = door(vec![
        (200, json!({"id": "1", "reply": "one", "actions": []})),
        (200, json!({"latched": true, "latency_us": 5})),
        (200, json!({"id": "2", "reply": "two", "actions": []})),
    ]);
    note(&home, &daemon.url, 1);
    let mut chat =
        home.command(&["chat", "--plain"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("runs");
    chat.stdin.take().expect("a pipe").write_all(b"first\n\n!\nsecond\n").expect("typed");
    let done = home.done(chat.wait_with_output().expect("ends"));
    assert_eq!((done.code, done.out.as_str()), (Some(0), "one\nstopped; clear it with `maxim reset`\ntwo\n"));
    let lines: Vec<_> = daemon.asked.join().expect("served").into_iter().map(|asked| asked.line).collect();
    assert_eq!(lines[1], "POST /v1/stop HTTP/1.1");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let home = Home::new();
    for args in [&["config", "show"][..], &["man"], &["completions", "bash"], &["--help"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert!(output.status.success(), "{args:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let done = home.run(&["completions", shell]);
        assert_eq!(done.code, Some(0));
        assert!(done.out.contains("maxim") && done.out.contains("redirect"), "{shell}");
    }
    assert!(home.run(&["man"]).out.contains(".TH maxim"));
    assert_eq!(home.run(&["man", "--json"]).json()["page"].as_str().map(|page| page.contains(".TH")), Some(true));
    fs::create_dir(home.path("pages")).expect("made");
    assert_eq!(home.run(&["man", "--dir", "../pages"]).code, Some(0));
    assert!(home.path("pages/maxim-memory-import.1").exists());
    assert_eq!(home.run(&["man", "--dir", "/nonexistent"]).code, Some(1));
}

#[test]
fn doctor_is_useful_without_a_daemon() {
    let home = Home::new();
    home.data();
    let done = home.run(&["doctor"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("data folder") && done.out.contains("acts by habit"), "{}", done.out);
    home.write("token", "secret\n");
    let token = home.path("token").display().to_string();
    let done = home.run_with(&["doctor"], "MAXIM__HTTP__TOKEN_FILE", &token);
    assert!(done.out.contains("chmod 600 ~/token"), "{}", done.out);
    home.write("work/maxim.toml", "[agent]\nmod = 1\n");
    let done = home.run(&["doctor"]);
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("did you mean agent.mode?"), "{}", done.out);
}

#[test]
fn a_log_filter_that_cant_be_read_is_a_configuration_error() {
    let done = Home::new().run_with(&["config", "show"], "MAXIM_LOG", "maxim=loud");
    assert_eq!((done.code, done.out.as_str()), (Some(78), ""));
    assert!(done.err.contains("MAXIM_LOG=\"maxim=loud\" is no filter"), "{}", done.err);
}
