//! Against real programs: the reference servers of the Model Context Protocol and its inspector, as shipped. They are
//! in `MAXIM_COMPONENTS`, else in the user's cache, where `.ci/run` puts them.

use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Daemon, Place};

/// The folder of external programs.
pub fn folder() -> Option<PathBuf> {
    let cache = || {
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache").into_os_string());
        Some(Path::new(&std::env::var_os("XDG_CACHE_HOME").or_else(home)?).join("maxim-components"))
    };
    std::env::var_os("MAXIM_COMPONENTS").map(PathBuf::from).or_else(cache)
}

/// Node's own program, where it is installed.
pub fn node() -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    let node = std::env::split_paths(&path).map(|folder| folder.join("node")).find(|node| node.is_file())?;
    Some(fs::canonicalize(node).expect("it is there"))
}

/// node, and the folder of the packages.
struct Components {
    node: PathBuf,
    folder: PathBuf,
}

impl Components {
    /// None if they aren't installed. That is printed, and is a failure where they are required.
    fn find() -> Option<Self> {
        let folder = folder()?;
        let package = folder.join("node_modules/@modelcontextprotocol/server-everything/package.json");
        match node().filter(|_| package.is_file()) {
            Some(node) => Some(Self { node, folder }),
            None => {
                let missing = format!("node, or the packages of tests/daemon/components in {}", folder.display());
                assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "missing: {missing}");
                println!("SKIPPED: {missing}; .ci/run installs them");
                None
            }
        }
    }

    fn script(&self, package: &str) -> String {
        let place = format!("node_modules/@modelcontextprotocol/{package}/dist/index.js");
        self.folder.join(place).display().to_string()
    }

    /// A section `[mcp.NAME]` for a reference server as a program.
    fn program(&self, name: &str, package: &str, args: &[&str], more: &str) -> String {
        let mut command = vec![self.node.display().to_string(), self.script(package)];
        command.extend(args.iter().map(|arg| (*arg).to_owned()));
        format!(
            "[mcp.{name}]\ncommand = {}\nread = [{:?}]\n{more}\n",
            json!(command),
            self.folder.display().to_string()
        )
    }
}

fn configure(place: &Place, toml: &str) {
    let folder = place.root.path().join("home/.config/maxim");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("maxim.toml"), toml).expect("written");
}

/// Asks the servers for their tools, then starts the daemon and waits until they are connected.
fn start(place: &Place) -> Daemon {
    let (code, told, err) = place.cli(&["tools", "refresh", "--json"]);
    assert_eq!(code, 0, "{told}{err}");
    let daemon = place.start();
    daemon.until("up", || servers(&daemon).iter().all(|server| server["state"] == "up"));
    daemon
}

fn servers(daemon: &Daemon) -> Vec<Value> {
    daemon.get("/v1/status").1["tool_servers"].as_array().cloned().unwrap_or_default()
}

fn action(answer: &Value) -> (&str, &str) {
    let action = &answer["actions"][0];
    (action["tool"].as_str().unwrap_or_default(), action["status"].as_str().unwrap_or_default())
}

/// The whole why-record of the latest message.
fn why(place: &Place) -> String {
    place.cli(&["why", "last", "--json"]).1
}

#[test]
fn the_reference_server_of_files_serves_within_its_folder_and_the_gate() {
    let Some(components) = Components::find() else { return };
    let place = Place::new();
    let notes = fs::canonicalize(place.work()).expect("real").join("notes");
    fs::create_dir(&notes).expect("made");
    fs::write(notes.join("tide.txt"), "high water at noon").expect("written");
    let shown = notes.display().to_string();
    let reads = "read_only = [\"read_text_file\", \"list_directory\", \"write_file\"]";
    let more = format!("write = [{shown:?}]\n{reads}");
    configure(&place, &components.program("files", "server-filesystem", &[&shown], &more));
    let daemon = start(&place);

    let answer = daemon.say(&format!("use files read text file on {shown}/tide.txt"));
    assert_eq!(action(&answer), ("files_read_text_file", "done"), "{answer}");
    assert!(why(&place).contains("high water at noon"), "{}", why(&place));
    let outside = place.work().join("outside");
    fs::create_dir(&outside).expect("made");
    let answer = daemon.say(&format!("use files list directory on {}", outside.display()));
    assert_eq!(action(&answer).1, "failed", "the server keeps to its own folder: {answer}");
    assert!(why(&place).contains("the server files says that list_directory failed"), "{}", why(&place));

    let answer = daemon.say(&format!("use files create directory on {shown}/new"));
    assert_eq!(action(&answer), ("files_create_directory", "asked"), "{answer}");
    assert!(!notes.join("new").exists());
    let id = answer["actions"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(daemon.post(&format!("/v1/approvals/{id}"), &json!({"allow": true})).0, 200);
    daemon.until("made", || notes.join("new").is_dir());

    let (code, told, err) = place.cli(&["tools", "list", "--json"]);
    assert_eq!(code, 0, "{err}");
    let list: Value = serde_json::from_str(&told).expect("json");
    let effect = |name: &str| {
        let tools = list["tools"].as_array().expect("tools");
        tools.iter().find(|tool| tool["name"] == name).expect(name)["effect"].clone()
    };
    assert_eq!(effect("files_read_text_file"), "read_only");
    assert_eq!(effect("files_write_file"), "irreversible", "its own hint says that it changes things: that tightens");
    assert_eq!(effect("files_create_directory"), "irreversible");
    let text = place.cli(&["tools", "list"]).1 + &place.cli(&["status"]).1 + &place.cli(&["doctor"]).1;
    assert!(text.contains("server files") && text.contains("mcp.files"), "{text}");
}

/// The reference server with all features, at an address.
struct Everything(Child);

impl Everything {
    fn serve(components: &Components, port: u16) -> Self {
        let mut command = Command::new(&components.node);
        command.arg(components.script("server-everything")).arg("streamableHttp").env("PORT", port.to_string());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        Self(child)
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_reference_server_with_everything_serves_by_pipes_and_by_http_and_comes_back_when_it_was_gone() {
    let Some(components) = Components::find() else { return };
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let everything = Everything::serve(&components, port);
    let place = Place::new();
    let reads = "read_only = [\"echo\", \"get-tiny-image\", \"trigger-long-running-operation\"]";
    let web = format!("[mcp.web]\nurl = \"http://127.0.0.1:{port}/mcp\"\n{reads}\n");
    configure(&place, &(components.program("all", "server-everything", &[], reads) + &web));
    let begun = std::time::Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < crate::harness::PATIENCE, "the reference server doesn't listen");
        std::thread::yield_now();
    }
    let daemon = start(&place);
    for server in ["all", "web"] {
        let answer = daemon.say(&format!("use {server} echo with the tide is high"));
        assert_eq!(action(&answer), (format!("{server}_echo").as_str(), "done"), "{answer}");
        let why = why(&place);
        assert!(why.contains("Echo: the tide is high") && why.contains(&format!("tool server {server}")), "{why}");
        let answer = daemon.say(&format!("use {server} get tiny image"));
        assert_eq!(action(&answer).1, "done", "{answer}");
        assert!(self::why(&place).contains("[an image, image/png"), "{}", self::why(&place));
    }

    drop(everything);
    let state = |name: &str| {
        let found = servers(&daemon).into_iter().find(|server| server["name"] == name);
        found.and_then(|server| server["state"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    let answer = daemon.say("use web echo with anybody there");
    assert_eq!(action(&answer).1, "failed", "{answer}");
    assert!(why(&place).contains("the tool server web"), "{}", why(&place));
    assert_eq!(state("all"), "up", "the other one isn't concerned");
    daemon.until("down", || state("web") != "up");
    let _again = Everything::serve(&components, port);
    daemon.until("up again", || state("web") == "up");
    let answer = daemon.say("use web echo with back again");
    assert_eq!(action(&answer).1, "done", "{answer}");

    for server in ["all", "web"] {
        daemon.until("up", || state(server) == "up");
        let (said, stopped) = std::thread::scope(|scope| {
            let stopping = scope.spawn(|| {
                let running = || has_begun(&place, &format!("{server}_trigger_long_running_operation"));
                let begun = std::time::Instant::now();
                while !running() {
                    assert!(begun.elapsed() < crate::harness::PATIENCE, "the call never began");
                }
                place.cli(&["stop"])
            });
            (daemon.say(&format!("use {server} trigger long running operation")), stopping.join().expect("stopped"))
        });
        assert_eq!(stopped.0, 0, "{stopped:?}");
        // The latch itself cancels the call, so its end may be reported before the stop.
        let is_told = |reply: &str| reply.starts_with("Stopped") || reply.contains("was cancelled by the stop");
        assert!(said["reply"].as_str().is_some_and(is_told), "{said}");
        daemon.until("told", || why(&place).contains(&format!("the tool server {server}: ")));
        assert_eq!(place.cli(&["reset"]).0, 0);
    }
}

/// Whether a call has begun, according to the why-record.
fn has_begun(place: &Place, tool: &str) -> bool {
    place.cli(&["why", "last", "--json"]).1.contains(&format!("began {tool}"))
}

#[test]
fn an_independent_client_asks_the_brain_about_itself() {
    let Some(components) = Components::find() else { return };
    let place = Place::new();
    let daemon = place.start();
    daemon.say("remember that tea is at four");
    let server = json!({"mcpServers": {"maxim": {
        "command": env!("CARGO_BIN_EXE_maxim"), "args": ["mcp", "--data", place.data()],
        "env": {"HOME": place.root.path().join("home")},
    }}});
    let config = place.root.path().join("inspector.json");
    fs::write(&config, server.to_string()).expect("written");
    let inspect = |args: &[&str]| {
        let mut command = Command::new(&components.node);
        command.arg(components.folder.join("node_modules/.bin/mcp-inspector"));
        command.args(["--cli", "--config"]).arg(&config).args(["--server", "maxim"]).args(args);
        let output = command.current_dir(place.work()).output().expect("it runs");
        let (said, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let start = said.find('{').unwrap_or_else(|| panic!("no answer: {said}{err}"));
        serde_json::from_str::<Value>(&said[start..]).unwrap_or_else(|error| panic!("{error}: {said}{err}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    let tools = listed["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"memory_recall") && names.contains(&"system_stats"), "{names:?}");
    assert!(!names.contains(&"bash") && !names.contains(&"respond"), "{names:?}");
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{listed}");
    let call = |tool: &str, arg: &str| inspect(&["--method", "tools/call", "--tool-name", tool, "--tool-arg", arg]);
    let recalled = call("memory_recall", "query=tea");
    assert!(recalled.to_string().contains("tea is at four"), "{recalled}");
    let wrong = call("memory_recall", "limit=1000");
    assert!(wrong["isError"] == true && wrong.to_string().contains("limit"), "{wrong}");
    daemon.kill();
    let nobody = call("memory_recall", "query=tea");
    assert!(nobody["isError"] == true && nobody.to_string().contains("no daemon answers"), "{nobody}");
}
