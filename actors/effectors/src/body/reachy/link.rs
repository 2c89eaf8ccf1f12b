//! The connections to the daemon, on their own thread: the motor never waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use jiff::Timestamp;
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{EffectKind, StopLatch};
use parking_lot::Mutex;
use reqwest::Client;
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;

use super::super::driver::{Fault, Sensed};
use super::super::joint::Pose;
use super::super::motor::TICK;
use super::words;
use crate::http_client::{self, Roots};

/// Reports of the state per second.
const STATES: u32 = 20;
/// Time limit of one call.
const CALL: Duration = Duration::from_millis(500);
/// A connection that was idle for this long isn't used again: the daemon closes idle ones after 5 s.
const IDLE: Duration = Duration::from_secs(2);
/// Interval between two requests for the daemon's state, and pause before a lost connection is tried again.
const LOOK: Duration = Duration::from_millis(250);
/// A stream without data for this long is opened again.
const DEAD: Duration = Duration::from_secs(2);
/// A target that hasn't left after two steps of the motor is never sent: there is a newer one, or the brain is lost.
const FRESH: Duration = TICK.saturating_mul(2);
/// How often a stop that the daemon refused is sent again.
const FREEZES: usize = 5;

/// What is known of the robot.
#[derive(Default)]
pub(super) struct Known {
    /// The newest state, and when it came.
    pub state: Option<(Sensed, Stopwatch)>,
    pub motors: String,
    /// Why the daemon says that it isn't running.
    pub down: Option<String>,
    /// The last error on the connections.
    pub trouble: Option<String>,
    /// Why the last target was refused.
    pub refused: Option<Fault>,
    /// The next target, and since when it waits; a newer one replaces it.
    pub target: Option<(Pose, Stopwatch)>,
    /// Times of states count from the first one.
    since: Option<Timestamp>,
}

pub(super) struct Link {
    pub url: String,
    latch: StopLatch,
    pub known: Mutex<Known>,
    pub wake: Notify,
    pub freeze: AtomicBool,
    ended: AtomicBool,
    over: Notify,
}

impl Link {
    pub fn new(url: String, latch: StopLatch) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        Self {
            url,
            latch,
            known: Mutex::default(),
            wake: Notify::new(),
            freeze: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            over: Notify::new(),
        }
    }

    pub fn trouble(&self, why: String) {
        self.known.lock().trouble = Some(why);
    }

    /// Ends the connections, after sending any pending freeze.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake.notify_one();
        self.over.notify_one();
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Whether a target may still be sent. Since the motor's permit a stop may have come. Also, the process may have
    /// been suspended, or the connection stalled, for longer than the brain's last renewal counts.
    fn may_go(&self, since: &Stopwatch) -> bool {
        since.elapsed() <= FRESH && self.latch.permit(EffectKind::Motion).is_ok()
    }

    fn seen(&self, text: &str) {
        match words::state(text) {
            Ok(state) => {
                let mut known = self.known.lock();
                let since = *known.since.get_or_insert(state.at);
                let at = Duration::try_from(state.at.duration_since(since)).unwrap_or_default();
                known.state = Some((Sensed { pose: state.pose, at, load: None }, Stopwatch::start()));
                known.motors = state.motors;
                known.trouble = None;
            }
            Err(why) => self.trouble(why),
        }
    }
}

/// Serves the connections until the link ends.
pub(super) fn serve(link: &Arc<Link>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let client = http_client::builder(&Roots::Nobody).timeout(CALL).pool_idle_timeout(IDLE).build();
    let (runtime, client) = match (runtime, client) {
        (Ok(runtime), Ok(client)) => (runtime, client),
        (runtime, client) => {
            let why = [runtime.err().map(|error| error.to_string()), client.err().map(|error| error.to_string())];
            return link.trouble(why.into_iter().flatten().collect::<Vec<_>>().join("; "));
        }
    };
    runtime.block_on(async {
        let wires = async { tokio::join!(watch_state(link), watch_daemon(link, &client)) };
        tokio::select! {
            _ = wires => {}
            () = async { while !link.has_ended() { link.over.notified().await } } => {}
            () = drive(link, &client) => {}
        }
        // The last message to a robot is that all movement ends.
        if link.freeze.swap(false, Ordering::SeqCst) {
            hold(link, &client).await;
        }
    });
}

/// Reads the state's stream; opens it again when it breaks or falls silent.
async fn watch_state(link: &Link) {
    let address = format!("{}/api/state/ws/full?frequency={STATES}", link.url.replacen("http", "ws", 1));
    loop {
        let connected = tokio::time::timeout(DEAD, tokio_tungstenite::connect_async(&address)).await;
        match connected {
            Ok(Ok((mut stream, _))) => loop {
                match tokio::time::timeout(DEAD, stream.next()).await {
                    Ok(Some(Ok(Message::Text(text)))) => link.seen(&text),
                    Ok(Some(Ok(Message::Close(_)))) | Ok(None) => {
                        break link.trouble("it ended the stream of its state".into());
                    }
                    Ok(Some(Ok(_))) => {}
                    Ok(Some(Err(error))) => break link.trouble(format!("the stream of its state: {error}")),
                    Err(_) => break link.trouble("the stream of its state is silent".into()),
                }
            },
            Ok(Err(error)) => link.trouble(format!("{address}: {error}")),
            Err(_) => link.trouble(format!("{address} doesn't answer")),
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Checks whether the daemon says that it runs: it still answers after its own stop.
async fn watch_daemon(link: &Link, client: &Client) {
    loop {
        if let Ok((200, body)) = get(link, client, "/api/daemon/status").await {
            let told: Json = serde_json::from_str(&body).unwrap_or(Json::Null);
            let state = told["state"].as_str().unwrap_or("in a state that can't be read").to_owned();
            let error = told["error"].as_str().map(|why| format!("{state}: {why}"));
            link.known.lock().down = (state != "running").then(|| error.unwrap_or(state));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Sends targets and freezes, only the newest of each.
async fn drive(link: &Link, client: &Client) {
    let mut has_stalled = false;
    while !link.has_ended() {
        link.wake.notified().await;
        if link.freeze.swap(false, Ordering::SeqCst) {
            hold(link, client).await;
        }
        let Some((target, since)) = link.known.lock().target.take() else { continue };
        if !link.may_go(&since) {
            continue;
        }
        let mut answer = post(link, client, "/api/move/set_target", &words::target(&target)).await;
        // A connection that the daemon closed while idle is noticed at its next use. A target is an absolute place, so
        // sending it twice is harmless.
        if answer.is_err() && link.may_go(&since) {
            answer = post(link, client, "/api/move/set_target", &words::target(&target)).await;
        }
        // A stalled target is followed by a newer one; a second stalled one in a row is reported.
        let is_first = answer.is_err() && !has_stalled && !link.may_go(&since);
        has_stalled = answer.is_err();
        if is_first {
            continue;
        }
        let refused = match answer {
            Ok((status, body)) => words::refusal(status, &body).map(Fault::Ignored),
            Err(why) => Some(Fault::Ignored(why)),
        };
        if refused.is_some() {
            link.known.lock().refused = refused;
        }
    }
}

/// Ends every movement that runs on the daemon, no matter who began it. Targets from here end by themselves.
async fn hold(link: &Link, client: &Client) {
    for _ in 0..FREEZES {
        let Ok((200, body)) = get(link, client, "/api/move/running").await else { continue };
        let running = words::running(&body);
        if running.is_empty() {
            return;
        }
        for uuid in running {
            // A movement that has just ended answers 500.
            let _ = post(link, client, "/api/move/stop", &json!({ "uuid": uuid })).await;
        }
    }
}

async fn get(link: &Link, client: &Client, path: &str) -> Result<(u16, String), String> {
    told(client.get(format!("{}{path}", link.url)).send().await).await
}

async fn post(link: &Link, client: &Client, path: &str, body: &Json) -> Result<(u16, String), String> {
    let request = client.post(format!("{}{path}", link.url)).header("content-type", "application/json");
    told(request.body(body.to_string()).send().await).await
}

async fn told(answer: Result<reqwest::Response, reqwest::Error>) -> Result<(u16, String), String> {
    let answer = answer.map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    Ok((status, answer.text().await.map_err(|error| error.to_string())?))
}
