//! The HTTP door of a daemon: one agent behind one address.
//!
//! It runs on its own runtime, never on a room's thread, so that it answers while rooms hang. What it does to the brain
//! goes through the agent's own door and desks.

// As in the daemon, of which this is a part.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod chaos;
mod completions;
mod concepts;
mod connections;
mod events;
mod fears;
mod fields;
mod forwarded;
mod goals;
mod guard;
mod guesses;
mod hooks;
mod layers;
mod memory;
mod metrics;
mod observations;
mod openapi;
mod outbox;
mod page;
mod percepts;
mod plain;
mod powers;
mod preempt;
mod problem;
mod prompt;
mod proof;
mod retries;
mod routes;
mod safety;
mod serving;
mod sessions;
mod similar;
mod socket;
mod status;
#[cfg(test)]
mod tests;
mod tools;
mod why;
mod word_stream;
mod working;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_actors::action::tools::ToolRegistry;
use maxim_actors::effectors::body::Body;
use maxim_actors::effectors::channels::outside::OutsideChannels;
use maxim_actors::effectors::tool_servers::ToolServers;
use maxim_actors::store::StateStore;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower_service::Service;

use crate::agent::containment::Containment;

pub use axum::extract::Request;
pub use concepts::ASSOCIATED;
pub use events::{EventLog, Noted, Sums, document};
pub use fields::{Field, nearest};
pub use guesses::Guesses;
pub use layers::Imports;
pub use memory::{PREDICT, RECALL};
pub use metrics::Figures;
pub use openapi::document as openapi_document;
pub use problem::Problem;
pub use proof::{BadDoor, Proof, check_listen};
pub use sessions::Sessions;
pub use similar::SIMILAR;
pub use why::why_document;

use crate::agent::AgentHandle;
use crate::backups::Backups;
use crate::machine_clock;
use crate::machines::Machines;
use crate::stopping::SignsOfLife;

/// How long open requests may take once the door closes.
const CLOSING: Duration = Duration::from_secs(5);

/// Everything that the handlers need.
pub struct Served {
    pub agent: AgentHandle,
    pub store: StateStore,
    /// The agent's tap.
    pub events: Arc<EventLog>,
    /// Whether parts may be broken on purpose.
    pub chaos: bool,
    /// What callers must show: see [`check_listen`].
    pub proof: Proof,
    /// Sessions of the page.
    pub sessions: Sessions,
    /// Wrong tokens.
    pub guesses: Guesses,
    /// Origins of web pages that may use the door beside its own, e.g. `https://robot.example`.
    pub origins: Vec<String>,
    pub listen: SocketAddr,
    pub started: Timestamp,
    /// The time zone of the body; dates are given in it.
    pub zone: TimeZone,
    /// While it is set, nothing new is accepted.
    pub draining: Arc<AtomicBool>,
    /// `none`, or the model's name.
    pub llm: String,
    /// How the tokens of prompts are counted, if there is a model.
    pub tokens: Option<String>,
    pub body: Body,
    pub backups: Arc<Backups>,
    /// Longest text that becomes a percept, in bytes.
    pub text_max: usize,
    /// Largest body of a request, in bytes.
    pub body_max: usize,
    /// The latch's file, for readiness; none for a latch in memory.
    pub latch_file: Option<PathBuf>,
    /// Set once the stop path has been tried at the start; before that the daemon isn't ready.
    pub is_stop_path_tested: Arc<AtomicBool>,
    /// The threads that receive stops; `None` where nothing acts.
    pub stop_threads: Option<Arc<SignsOfLife>>,
    pub figures: Figures,
    /// Set where other machines may run the same agent.
    pub machines: Option<Arc<Machines>>,
    /// What the agent can do.
    pub tools: Arc<ToolRegistry>,
    /// The servers that offer tools.
    pub tool_servers: Arc<ToolServers>,
    /// What confines its child processes; `None` where nothing acts.
    pub containment: Option<Containment>,
    /// Imports that come in several requests.
    pub imports: Imports,
    /// How it reaches outside.
    pub channels: Arc<OutsideChannels>,
}

impl Served {
    fn refuse_while_draining(&self) -> Result<(), Problem> {
        if self.draining.load(Ordering::SeqCst) {
            return Err(Problem::later("the daemon is ending and accepts nothing new", "try again when it is back"));
        }
        Ok(())
    }

    /// What is asked for while it is stopped isn't done after the resume either.
    fn refuse_while_stopped(&self) -> Result<(), Problem> {
        if self.agent.frame.latch.is_stopped() {
            let why = "it is stopped, so no goal is accepted";
            let fix = "clear the stop: `maxim reset`, then `maxim resume`; then say it again";
            return Err(Problem::new(StatusCode::CONFLICT, why, fix));
        }
        Ok(())
    }
}

/// Answers one request in this process, without a listener and so without the guard: the caller is this process.
pub async fn answer(served: &Arc<Served>, request: Request) -> (u16, Vec<u8>) {
    let mut router = routes::router().with_state(Arc::clone(served));
    let Ok(response) = router.call(request).await;
    let status = response.status().as_u16();
    match axum::body::to_bytes(response.into_body(), usize::MAX).await {
        Ok(bytes) => (status, bytes.to_vec()),
        Err(error) => (500, error.to_string().into_bytes()),
    }
}

/// Serves until `shutdown` completes, then lets open requests end for a few seconds.
///
/// # Errors
/// The listener fails.
pub async fn serve(
    listener: TcpListener,
    served: Arc<Served>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let guarded = axum::middleware::from_fn_with_state(Arc::clone(&served), guard::guard);
    let router = routes::router().layer(guarded).with_state(Arc::clone(&served));
    let (tell, told) = oneshot::channel();
    let events = Arc::clone(&served.events);
    let closing = async move {
        shutdown.await;
        events.close();
        let _ = tell.send(());
    };
    let door = Arc::clone(&served.agent.outside.door);
    let clock_fault = || machine_clock::fault(std::time::SystemTime::now());
    let serving = serving::run(listener, serving::Serving { router, door, clock_fault }, closing);
    let overdue = async {
        let _ = told.await;
        tokio::time::sleep(CLOSING).await;
    };
    tokio::select! {
        ended = serving => ended,
        () = overdue => {
            tracing::warn!("requests were still open {} s after the door closed", CLOSING.as_secs());
            Ok(())
        }
    }
}
