//! One server: what is known of it, its state, and calls to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use maxim_bus::latch::StopLatch;
use parking_lot::Mutex;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value as Json, json};
use tokio::sync::{Notify, watch};

use super::offered::{Change, ToolList, plain};
use super::{LeftOut, ListFolder, ServerPlan, answer};
use maxim_tools::contained::SandboxPolicy;
use maxim_tools::{ErrorKind, ToolFailure, ToolOutcome};

/// Maximum length of a server's text in an error, in characters.
pub(super) const TOLD: usize = 500;

/// A server and its tools.
pub(super) struct Server {
    pub plan: ServerPlan,
    /// The list that the agent uses.
    pub remembered: Option<ToolList>,
    standing: Mutex<Standing>,
    live: Mutex<Option<Live>>,
    world: OnceLock<World>,
    connections: AtomicU64,
    /// Running calls.
    calls: AtomicU64,
    /// Notified when a call went wrong: the server may hang or be gone.
    pub suspected: Notify,
}

/// What all connections of an agent share.
#[derive(Clone)]
pub(super) struct World {
    pub handle: tokio::runtime::Handle,
    pub latch: StopLatch,
    /// Changes with each stop.
    pub stopped: watch::Receiver<u64>,
    /// Closed at the end.
    pub ended: watch::Receiver<bool>,
    pub sandbox: SandboxPolicy,
    pub folder: ListFolder,
    pub tell: Arc<dyn Fn(String) + Send + Sync>,
}

/// A connection that works.
#[derive(Clone)]
pub(super) struct Live {
    pub peer: Peer<RoleClient>,
    /// Digests of its present offers.
    pub offered: Arc<BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not connected: this process runs no agent.
    Off,
    Connecting,
    Up,
    Down,
    /// The latch is raised.
    Stopped,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Connecting => "connecting",
            Self::Up => "up",
            Self::Down => "down",
            Self::Stopped => "stopped",
        }
    }
}

struct Standing {
    state: State,
    /// Why it isn't connected.
    why: Option<String>,
    /// Changes that the next start will take.
    pending: Vec<Change>,
    /// The number of its tools that the agent has.
    registered: usize,
    left_out: Vec<LeftOut>,
}

impl Server {
    pub(super) fn new(remembered: Option<ToolList>, plan: ServerPlan) -> Self {
        let (pending, left_out) = (Vec::new(), Vec::new());
        let standing = Standing { state: State::Off, why: None, pending, registered: 0, left_out };
        Self {
            plan,
            remembered,
            standing: Mutex::new(standing),
            live: Mutex::new(None),
            world: OnceLock::new(),
            connections: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            suspected: Notify::new(),
        }
    }

    pub(super) fn enter(&self, world: World) {
        // Connecting twice is a harmless mistake: the first connection stays.
        let _ = self.world.set(world);
    }

    pub(super) fn stand(&self, state: State, why: Option<String>) {
        let mut standing = self.standing.lock();
        (standing.state, standing.why) = (state, why);
        if state != State::Up {
            *self.live.lock() = None;
        }
    }

    /// It is connected, with this offer. Returns the differences from the list that the agent uses, if they are new.
    pub(super) fn up(&self, peer: &Peer<RoleClient>, list: &ToolList) -> Option<Vec<Change>> {
        let offered = Arc::new(list.digests());
        let pending = list.changes_since(self.remembered.as_ref());
        let mut standing = self.standing.lock();
        if standing.state != State::Up {
            self.connections.fetch_add(1, Ordering::Relaxed);
        }
        (standing.state, standing.why) = (State::Up, None);
        let is_news = standing.pending != pending;
        standing.pending.clone_from(&pending);
        *self.live.lock() = Some(Live { peer: peer.clone(), offered });
        is_news.then_some(pending)
    }

    pub(super) fn tell_registered(&self, registered: usize, left_out: &[LeftOut]) {
        let mut standing = self.standing.lock();
        (standing.registered, standing.left_out) = (registered, left_out.to_vec());
    }

    pub(super) fn unavailable(&self, digest: &str) -> Option<String> {
        let tool = self.remembered.as_ref()?.tools.iter().find(|tool| tool.digest() == digest)?;
        self.peer_for(&tool.name, digest).err().map(|failure| failure.message)
    }

    pub(super) fn report(&self) -> Json {
        let standing = self.standing.lock();
        json!({
            "name": self.plan.name,
            "state": standing.state.word(),
            "why": standing.why,
            "reached_by": self.plan.reach.shown(),
            "tools": standing.registered,
            "pending": standing.pending,
            "left_out": standing.left_out,
            "restarts": self.connections.load(Ordering::Relaxed).saturating_sub(1),
        })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    fn failed(&self, kind: ErrorKind, why: impl std::fmt::Display) -> ToolFailure {
        ToolFailure::new(kind, format!("the tool server {}: {why}", self.plan.name))
    }

    /// Calls a tool by the server's own name and waits for its answer, its deadline or a stop. `digest` is the digest
    /// that the agent knows.
    pub(super) fn call(
        &self,
        tool: &str,
        digest: &str,
        params: &Json,
        deadline: Duration,
        cap: usize,
    ) -> Result<ToolOutcome, ToolFailure> {
        let world = self.world.get().ok_or_else(|| {
            self.failed(ErrorKind::Unavailable, "nothing connects to it here; only the running daemon does")
        })?;
        let peer = self.peer_for(tool, digest)?;
        let mut request = CallToolRequestParams::new(tool.to_owned());
        request.arguments = params.as_object().cloned();
        let (tell, told) = mpsc::sync_channel(1);
        let (latch, mut stopped) = (world.latch.clone(), world.stopped.clone());
        world.handle.spawn(async move {
            // Dropping a call cancels it at the server.
            stopped.borrow_and_update();
            let asked = async {
                if latch.is_stopped() { Called::Stopped } else { Called::Answered(peer.call_tool_once(request).await) }
            };
            let called = tokio::select! {
                biased;
                _ = stopped.changed() => Called::Stopped,
                called = asked => called,
                () = tokio::time::sleep(deadline) => Called::Late,
            };
            let _ = tell.send(called);
        });
        self.calls.fetch_add(1, Ordering::Relaxed);
        let called = told.recv();
        self.calls.fetch_sub(1, Ordering::Relaxed);
        match called {
            Ok(Called::Answered(Ok(CallToolResponse::Complete(result)))) => {
                Ok(answer::outcome(&self.plan.name, tool, &result, cap))
            }
            Ok(Called::Answered(Ok(_))) => {
                Err(self.failed(ErrorKind::Failed, format!("{tool} asked a question, which isn't possible here")))
            }
            Ok(Called::Answered(Err(error))) => Err(self.broken(tool, &error)),
            Ok(Called::Stopped) => Err(self.failed(
                ErrorKind::Stopped,
                format!("{tool} was cancelled by the stop; whether it took effect is not known"),
            )),
            Ok(Called::Late) => {
                self.suspected.notify_one();
                let seconds = deadline.as_secs_f64();
                Err(self.failed(ErrorKind::Timeout, format!("{tool} took longer than {seconds} s and was cancelled")))
            }
            Err(_) => Err(self.failed(ErrorKind::Failed, format!("the connection ended while {tool} ran"))),
        }
    }

    /// The connection, if the tool is present and equals the one that the agent knows.
    fn peer_for(&self, tool: &str, digest: &str) -> Result<Peer<RoleClient>, ToolFailure> {
        let Some(live) = self.live.lock().clone() else {
            let standing = self.standing.lock();
            let why = standing.why.clone().unwrap_or_else(|| format!("it is {}", standing.state.word()));
            return Err(self.failed(ErrorKind::Unavailable, format!("it can't be reached: {why}")));
        };
        match live.offered.get(tool) {
            Some(now) if now == digest => Ok(live.peer),
            Some(_) => Err(self.failed(
                ErrorKind::Refused,
                format!(
                    "its description of {tool} has changed since the start; restart the daemon to accept the change"
                ),
            )),
            None => Err(self.failed(ErrorKind::Unavailable, format!("it doesn't offer {tool} any more"))),
        }
    }

    fn broken(&self, tool: &str, error: &ServiceError) -> ToolFailure {
        self.suspected.notify_one();
        match error {
            ServiceError::McpError(error) => {
                let said = plain(&error.message, TOLD);
                self.failed(ErrorKind::Failed, format!("it refused {tool}: {said}"))
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let by_stop = self.world.get().is_some_and(|world| world.latch.is_stopped());
                let (kind, what) =
                    if by_stop { (ErrorKind::Stopped, "was stopped") } else { (ErrorKind::Failed, "ended") };
                self.failed(kind, format!("it {what} while {tool} ran; whether it took effect is not known"))
            }
            other => self.failed(ErrorKind::Failed, plain(&other.to_string(), TOLD)),
        }
    }
}

enum Called {
    Answered(Result<CallToolResponse, ServiceError>),
    Stopped,
    Late,
}
