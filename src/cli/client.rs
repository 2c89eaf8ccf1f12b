//! The way to a brain: over HTTP to a running daemon, or, for memory commands, through the store itself.

use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use axum::body::Body;
use maxim_actors::effectors::http_client::{self, Roots};
use maxim_actors::store::StateStore;
use reqwest::{Method, Url};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::offline::Offline;
use super::own_token::{self, Shown};
use super::{CliError, Exit, Global};
use crate::data_folder::DaemonNote;

/// An answer that was no error.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

/// A flag or an argument as it is typed, the field that it fills, and what was given.
pub type Flag<'a> = (&'a str, &'a str, Option<String>);

/// Speaks to one brain.
pub struct Client(Way);

enum Way {
    Daemon(Box<Daemon>),
    Offline(Box<Offline>),
}

struct Daemon {
    base: Url,
    /// Where the address came from, for error messages.
    source: String,
    shown: Shown,
    http: reqwest::Client,
    runtime: Runtime,
}

const CONNECT: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);

impl Client {
    /// Finds the daemon by `--url`, else by the note in the data folder.
    ///
    /// # Errors
    /// Exit 75 when there is no note; it says where it looked. Exit 78 when the configuration is faulty.
    pub fn find(global: &Global) -> Result<Self, CliError> {
        let (url, source) = match &global.url {
            Some(url) => (url.clone(), "--url".to_owned()),
            None => noted(global)?,
        };
        let base = Url::parse(&url).ok().filter(|base| base.scheme() == "http" && base.has_host());
        let base = base.ok_or_else(|| {
            let found = format!("{url:?} from {source} is not an http address");
            CliError::new(Exit::Usage, found, "write it like http://127.0.0.1:7717")
        })?;
        let shown = own_token::find(global, &base, global.url.is_some())?;
        // The daemon is on this machine, or its address is given outright: proxies of the environment don't apply.
        let http = http_client::builder(&Roots::Nobody).no_proxy().connect_timeout(CONNECT).build().map_err(bug)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(bug)?;
        Ok(Self(Way::Daemon(Box::new(Daemon { base, source, shown, http, runtime }))))
    }

    /// For memory commands: the daemon that holds the store, or else the store itself, opened in this process. With
    /// `makes`, a missing store is created.
    ///
    /// # Errors
    /// As [`Client::find`]. Also when a process holds the store but doesn't listen, or when the store can't be used.
    pub fn of_memory(global: &Global, makes: bool) -> Result<Self, CliError> {
        let found = Self::find(global);
        match &found {
            Ok(Self(Way::Daemon(daemon))) if global.url.is_some() || daemon.listens() => return found,
            Err(error) if error.exit() != Exit::TryAgain => return found,
            _ => {}
        }
        let folder = global.data_folder()?;
        if !makes && !folder.store().is_dir() {
            let tried = found.err().map_or_else(|| "no daemon answers".to_owned(), |error| error.found());
            let found = format!("{tried}, and there is no store in {}", folder.store().display());
            let fix = "start one with `maxim run`, fill one with `maxim memory import`, or name another with --data";
            return Err(CliError::new(Exit::TryAgain, found, fix));
        }
        Ok(Self(Way::Offline(Box::new(Offline::open(global, &folder)?))))
    }

    /// The daemon's address; `None` for a store in this process.
    pub fn base(&self) -> Option<&Url> {
        match &self.0 {
            Way::Daemon(daemon) => Some(&daemon.base),
            Way::Offline(_) => None,
        }
    }

    pub fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Answer, CliError> {
        self.send(Method::GET, path, query, None, PATIENCE)
    }

    /// Asks with fields from the command's flags and arguments. Errors name these flags and arguments.
    pub fn ask(&self, path: &[&str], flags: &[Flag<'_>]) -> Result<Value, CliError> {
        let given = flags.iter().filter_map(|(_, field, value)| Some((*field, value.clone()?)));
        let query: Vec<(&str, String)> = given.collect();
        let answer = self.get(path, &query).map_err(|error| error.reworded(|text| as_flags(text, flags)))?;
        Ok(answer.body)
    }

    /// Reads server-sent events until `hear` returns false or the daemon is gone. No event after the call of `open` is
    /// missed.
    ///
    /// # Errors
    /// No daemon answers, or it refuses.
    pub fn follow(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        open: impl FnOnce(),
        mut hear: impl FnMut(Value) -> bool,
    ) -> Result<(), CliError> {
        let Way::Daemon(daemon) = &self.0 else { return Ok(()) };
        let url = address(daemon.base.clone(), path, query);
        daemon.follow(url, open, &mut |line| match line.strip_prefix("data:").map(serde_json::from_str) {
            Some(Ok(event)) => hear(event),
            _ => true,
        })
    }

    pub fn post(&self, path: &[&str], body: &Value) -> Result<Answer, CliError> {
        self.post_within(path, body, PATIENCE)
    }

    pub fn delete(&self, path: &[&str]) -> Result<Answer, CliError> {
        self.send(Method::DELETE, path, &[], None, PATIENCE)
    }

    /// Waits at most `patience` for the answer.
    pub fn post_within(&self, path: &[&str], body: &Value, patience: Duration) -> Result<Answer, CliError> {
        self.send(Method::POST, path, &[], Some(("application/json", body.to_string().into_bytes())), patience)
    }

    /// Sends JSON lines.
    pub fn post_lines(&self, path: &[&str], query: &[(&str, String)], lines: Vec<u8>) -> Result<Answer, CliError> {
        // An import is durable when it is answered, and the disk takes time.
        self.send(Method::POST, path, query, Some(("application/x-ndjson", lines)), 30 * PATIENCE)
    }

    fn send(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: Option<(&str, Vec<u8>)>,
        patience: Duration,
    ) -> Result<Answer, CliError> {
        let base = self.base().cloned().unwrap_or_else(in_process);
        let url = address(base, path, query);
        let (status, bytes) = match &self.0 {
            Way::Daemon(daemon) => daemon.send(method, url.clone(), body, patience)?,
            Way::Offline(offline) => offline.answer(request(&method, &url, body)?),
        };
        match (status, serde_json::from_slice(&bytes)) {
            (200..=299, Ok(body)) => Ok(Answer { status, body }),
            (200..=299, Err(_)) if bytes.is_empty() => Ok(Answer { status, body: Value::Null }),
            (200..=299, Err(error)) => {
                let found = format!("{url} answered with something that isn't JSON: {error}");
                Err(CliError::new(Exit::Bug, found, "check that a Maxim daemon listens there"))
            }
            (_, problem) => {
                let (problem, text) = (problem.unwrap_or(Value::Null), String::from_utf8_lossy(&bytes));
                Err(refused(status, &problem, &text, self.token_fix()))
            }
        }
    }
}

/// A placeholder for the address of a store in this process.
fn in_process() -> Url {
    const NOWHERE: &str = "http://in-process/";
    Url::parse(NOWHERE).unwrap_or_else(|_| unreachable!("{NOWHERE} is an address"))
}

fn address(mut url: Url, path: &[&str], query: &[(&str, String)]) -> Url {
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

/// The request as a daemon's handlers would get it.
fn request(method: &Method, url: &Url, body: Option<(&str, Vec<u8>)>) -> Result<crate::http::Request, CliError> {
    let request = axum::http::Request::builder().method(method.as_str()).uri(url.as_str());
    let request = match body {
        Some((kind, bytes)) => request.header("content-type", kind).body(Body::from(bytes)),
        None => request.body(Body::empty()),
    };
    request
        .map_err(|error| CliError::new(Exit::Usage, format!("{url} can't be asked: {error}"), "shorten the question"))
}

impl Client {
    /// The fix to suggest when the daemon refused the token.
    fn token_fix(&self) -> &str {
        match &self.0 {
            Way::Daemon(daemon) => daemon.shown.fix(),
            Way::Offline(_) => "",
        }
    }

    /// True when the brain can be reached.
    pub fn is_there(&self) -> bool {
        match &self.0 {
            Way::Daemon(daemon) => daemon.listens(),
            Way::Offline(_) => true,
        }
    }
}

impl Daemon {
    /// True when a program listens at the address: the note may be left from a killed daemon.
    fn listens(&self) -> bool {
        let (Some(host), Some(port)) = (self.base.host_str(), self.base.port_or_known_default()) else { return false };
        let addresses = (host.trim_matches(['[', ']']), port).to_socket_addrs();
        addresses.is_ok_and(|mut all| all.any(|address| TcpStream::connect_timeout(&address, CONNECT).is_ok()))
    }

    fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<(&str, Vec<u8>)>,
        patience: Duration,
    ) -> Result<(u16, Vec<u8>), CliError> {
        tracing::debug!(%method, %url, "asking the daemon");
        let mut request = self.http.request(method, url).timeout(patience);
        if let Some(token) = self.shown.token() {
            request = request.bearer_auth(token.expose());
        }
        if let Some((kind, bytes)) = body {
            request = request.header("content-type", kind).body(bytes);
        }
        let answered = self.runtime.block_on(async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok((status, response.bytes().await?.to_vec()))
        });
        answered.map_err(|error| self.unreached(&error, patience))
    }

    /// Line by line, while `hear` returns true.
    fn follow(&self, url: Url, open: impl FnOnce(), hear: &mut dyn FnMut(&str) -> bool) -> Result<(), CliError> {
        let mut request = self.http.request(Method::GET, url);
        if let Some(token) = self.shown.token() {
            request = request.bearer_auth(token.expose());
        }
        let followed = self.runtime.block_on(async {
            let mut response = request.send().await?.error_for_status()?;
            open();
            let mut read = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                read.extend_from_slice(&chunk);
                while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = read.drain(..=end).collect();
                    if !hear(String::from_utf8_lossy(&line).trim_end()) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        followed.map_err(|error| self.unreached(&error, PATIENCE))
    }

    fn unreached(&self, error: &reqwest::Error, patience: Duration) -> CliError {
        if let Some(status) = error.status() {
            return refused(status.as_u16(), &Value::Null, "", self.shown.fix());
        }
        if error.is_timeout() && !error.is_connect() {
            let found = format!("the daemon at {} has not answered within {} s", self.base, patience.as_secs());
            return CliError::new(Exit::TryAgain, found, "try again, and see `maxim doctor`");
        }
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let found = format!("no daemon answers; tried {} (from {}): {cause}", self.base, self.source);
        CliError::new(Exit::TryAgain, found, "start one with `maxim run`, or name it with --url or --data")
    }
}

fn noted(global: &Global) -> Result<(String, String), CliError> {
    let folder = global.data_folder()?;
    let note = folder.daemon_note().display().to_string();
    let fix = "start one with `maxim run`, or name it with --url or --data";
    match DaemonNote::read(&folder) {
        Ok(Some(found)) => Ok((found.url, format!("{note}, process {}", found.pid))),
        Ok(None) if folder.is_waited_in() => Err(CliError::new(
            Exit::TryAgain,
            format!("this machine is on standby ({}): another one runs the agent", folder.path().display()),
            "ask that one, with --url; or wait a moment if this one is just starting",
        )),
        Ok(None) => Err(match StateStore::held_by(&folder.store()) {
            Some(pid) => {
                let found =
                    format!("process {pid} holds the store of {}, but {note} isn't there", folder.path().display());
                CliError::new(Exit::TryAgain, found, "name the daemon with --url, or restart that process")
            }
            None => {
                CliError::new(Exit::TryAgain, format!("no daemon is running; tried {note}, which isn't there"), fix)
            }
        }),
        Err(error) => {
            let fix = match error.kind() {
                ErrorKind::PermissionDenied => "it belongs to another user: run as that user or as root",
                _ => fix,
            };
            Err(CliError::new(Exit::TryAgain, format!("no daemon found; tried {note}: {error}"), fix))
        }
    }
}

/// A problem document (RFC 9457), or any other body that came with the status.
fn refused(status: u16, problem: &Value, text: &str, token_fix: &str) -> CliError {
    let member = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
    let detail = member("detail").or_else(|| member("title")).unwrap_or_else(|| {
        let text: String = text.chars().take(200).collect();
        if text.trim().is_empty() { format!("the daemon answered {status}") } else { text.trim().to_owned() }
    });
    let (exit, fix) = match status {
        // The daemon's advice names a header, which a command line can't set.
        401 => return CliError::new(Exit::BadConfig, detail, token_fix),
        400 | 413 | 415 | 422 => (Exit::Usage, "correct the request"),
        403 => (Exit::NotHeld, token_fix),
        408 | 429 | 503 | 504 => (Exit::TryAgain, "try again"),
        500 | 502 => (Exit::Bug, "see the daemon's log"),
        _ => (Exit::NotHeld, "see `maxim status`"),
    };
    CliError::new(exit, as_commands(&detail), as_commands(&member("fix").unwrap_or_else(|| fix.to_owned())))
}

/// Routes that the daemon's messages name, each with the command that does the same. A longer route comes before its
/// own prefix.
const COMMANDS: [(&str, &str); 11] = [
    ("POST /v1/reset", "`maxim reset`"),
    ("POST /v1/stop", "`maxim stop`"),
    ("GET /v1/status", "`maxim status`"),
    ("GET /v1/why/last", "`maxim why last`"),
    ("GET /v1/fears", "`maxim fear list`"),
    ("GET /v1/chaos", "`maxim chaos list`"),
    ("GET /v1/approvals/grants", "`maxim approvals grants`"),
    ("GET /v1/approvals", "`maxim approvals list`"),
    ("GET /v1/goals", "`maxim goals`"),
    ("GET /v1/tools", "`maxim tools list`"),
    ("GET /v1/outbox?all=true", "`maxim outbox list --all`"),
];

fn as_commands(text: &str) -> String {
    COMMANDS.iter().fold(text.to_owned(), |text, (path, command)| text.replace(path, command))
}

/// Replaces field names in a daemon's message with the flags that were typed.
fn as_flags(text: &str, flags: &[Flag<'_>]) -> String {
    flags.iter().filter(|(typed, field, _)| typed != field).fold(text.to_owned(), |text, (typed, field, _)| {
        let text = text.replace(&format!("the field {field:?}"), typed);
        // A plain word may be part of the person's own text.
        let is_name = field.contains('_');
        if is_name { text.replace(&format!("{field:?}"), typed).replace(field, typed) } else { text }
    })
}

fn bug(error: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Bug, format!("the HTTP client can't start: {error}"), "see `maxim doctor`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_that_a_fix_names_has_a_command() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
        let mut named = 0;
        for file in std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path()) {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            // Texts in a file's own tests are no fixes.
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                named += usize::from(line.contains("GET /v1/") || line.contains("POST /v1/"));
                let left = as_commands(line);
                assert!(!left.contains("GET /v1/") && !left.contains("POST /v1/"), "{}: {line}", file.display());
            }
        }
        assert!(named > 5, "{named}");
    }
}
