//! The way to a running daemon, over HTTP.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::{CliError, Exit, Global};
use crate::config::Secret;
use crate::data_folder::DaemonNote;

/// A daemon's answer that was no error.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

/// Speaks to one daemon.
pub struct Client {
    base: Url,
    /// How the address was found, for the message when nobody is there.
    source: String,
    token: Option<Secret>,
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
        let token = global.load(Vec::new())?.settings.http.bearer()?;
        // The daemon is on this machine or named outright: a proxy of the environment is never meant.
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT).build().map_err(bug)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(bug)?;
        Ok(Self { base, source, token, http, runtime })
    }

    pub fn base(&self) -> &Url {
        &self.base
    }

    pub fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Answer, CliError> {
        self.send(Method::GET, path, query, None, PATIENCE)
    }

    pub fn post(&self, path: &[&str], body: &Value) -> Result<Answer, CliError> {
        self.post_within(path, body, PATIENCE)
    }

    /// Waits at most `patience` for the answer.
    pub fn post_within(&self, path: &[&str], body: &Value, patience: Duration) -> Result<Answer, CliError> {
        self.send(Method::POST, path, &[], Some(("application/json", body.to_string().into_bytes())), patience)
    }

    /// Sends JSON lines.
    pub fn post_lines(&self, path: &[&str], query: &[(&str, String)], lines: Vec<u8>) -> Result<Answer, CliError> {
        // An import is durable when it is answered, which takes the disk's time.
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
        let url = self.address(path, query);
        tracing::debug!(%method, %url, "asking the daemon");
        let mut request = self.http.request(method, url).timeout(patience);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        if let Some((kind, bytes)) = body {
            request = request.header("content-type", kind).body(bytes);
        }
        let answered = self.runtime.block_on(async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok((status, response.bytes().await?))
        });
        let (status, bytes) = answered.map_err(|error| self.unreached(&error, patience))?;
        match (status, serde_json::from_slice(&bytes)) {
            (200..=299, Ok(body)) => Ok(Answer { status, body }),
            (200..=299, Err(_)) if bytes.is_empty() => Ok(Answer { status, body: Value::Null }),
            (200..=299, Err(error)) => {
                let found = format!("{} answered with something that isn't JSON: {error}", self.base);
                Err(CliError::new(Exit::Bug, found, "check that a Maxim daemon listens there"))
            }
            (_, problem) => Err(refused(status, &problem.unwrap_or(Value::Null), &String::from_utf8_lossy(&bytes))),
        }
    }

    fn address(&self, path: &[&str], query: &[(&str, String)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    fn unreached(&self, error: &reqwest::Error, patience: Duration) -> CliError {
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
        Ok(None) => {
            Err(CliError::new(Exit::TryAgain, format!("no daemon is running; tried {note}, which isn't there"), fix))
        }
        Err(error) => Err(CliError::new(Exit::TryAgain, format!("no daemon found; tried {note}: {error}"), fix)),
    }
}

/// A problem document (RFC 9457), or whatever else came with the status.
fn refused(status: u16, problem: &Value, text: &str) -> CliError {
    let member = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
    let detail = member("detail").or_else(|| member("title")).unwrap_or_else(|| {
        let text: String = text.chars().take(200).collect();
        if text.trim().is_empty() { format!("the daemon answered {status}") } else { text.trim().to_owned() }
    });
    let (exit, fix) = match status {
        400 | 413 | 415 | 422 => (Exit::Usage, "correct the request"),
        401 | 403 => (Exit::NotHeld, "set the daemon's token with MAXIM__HTTP__TOKEN or http.token_file"),
        408 | 429 | 503 | 504 => (Exit::TryAgain, "try again"),
        500 | 502 => (Exit::Bug, "see the daemon's log"),
        _ => (Exit::NotHeld, "see `maxim status`"),
    };
    CliError::new(exit, detail, member("fix").unwrap_or_else(|| fix.to_owned()))
}

fn bug(error: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Bug, format!("the HTTP client can't start: {error}"), "see `maxim doctor`")
}
