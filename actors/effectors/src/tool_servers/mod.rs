//! Tool servers that speak the Model Context Protocol: programs and addresses that a person has configured.
//!
//! An agent's tools are known when it starts and stay the same until it ends, because rooms decide by them and a replay
//! must make the same decisions. So the last list of a server is remembered on disk, and the next start uses it. The
//! connection is made in the background: a late, dead or changed server only costs its own tools. Everything that a
//! server says about itself and its tools is outside text. A tool is not called if the server's description differs
//! from the one that the agent knows.
//!
//! One thread keeps all connections of an agent. It awaits and decides nothing.

mod answer;
mod connection;
mod flood;
mod keys;
mod lists;
mod naming;
mod offered;
mod plan;
mod server;
#[cfg(test)]
mod tests;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::latch::StopLatch;
use serde_json::Value as Json;
use tokio::sync::watch;

use self::server::{Server, World};
use maxim_tools::contained::SandboxPolicy;
use maxim_tools::{ToolFailure, ToolRegistry, ToolSpec};

pub use keys::{MCP, ServerKeys, contradictions, fields_of, find, is_server_name, plans, recorded};
pub use lists::ListFolder;
pub use offered::{Change, Hints, OfferedTool, ToolList};
pub use plan::{HttpPlan, ProgramPlan, Reach, ServerPlan, Terms};

/// A server's tool that the agent doesn't get.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{server}: the tool {tool:?} is left out: {why}")]
pub struct LeftOut {
    pub server: String,
    pub tool: String,
    pub why: String,
}

/// All servers of one agent.
pub struct ToolServers {
    servers: Vec<Arc<Server>>,
    folder: ListFolder,
}

/// Keeps the connections until it is dropped.
pub struct Connected {
    _end: watch::Sender<bool>,
}

impl ToolServers {
    /// `lists` are the remembered lists; see [`ListFolder::load`].
    pub fn new(plans: Vec<ServerPlan>, lists: &[ToolList], folder: ListFolder) -> Self {
        let list = |name: &str| lists.iter().find(|list| list.server == name).cloned();
        let servers = plans.into_iter().map(|plan| Arc::new(Server::new(list(&plan.name), plan))).collect();
        Self { servers, folder }
    }

    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The remembered lists.
    pub fn lists(&self) -> Vec<ToolList> {
        self.servers.iter().filter_map(|server| server.remembered.clone()).collect()
    }

    /// Registers the remembered tools. Returns those that can't be registered.
    pub fn register(&self, registry: &mut ToolRegistry) -> Vec<LeftOut> {
        let mut all = Vec::new();
        for server in &self.servers {
            let (registered, left_out) = tool::register(server, registry);
            server.tell_registered(registered, &left_out);
            all.extend(left_out);
        }
        all
    }

    /// Connects to all servers, in the background, until the returned value is dropped. `tell` gets messages for a
    /// person.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn connect(
        &self,
        latch: &StopLatch,
        sandbox: &SandboxPolicy,
        tell: impl Fn(String) + Send + Sync + 'static,
    ) -> std::io::Result<Connected> {
        let (end, ended) = watch::channel(false);
        if self.servers.is_empty() {
            return Ok(Connected { _end: end });
        }
        let (say_stop, stopped) = watch::channel(0_u64);
        latch.on_stop(move |_| say_stop.send_modify(|stops| *stops += 1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let tell: Arc<dyn Fn(String) + Send + Sync> = Arc::new(tell);
        for server in &self.servers {
            let world = World {
                handle: runtime.handle().clone(),
                latch: latch.clone(),
                stopped: stopped.clone(),
                ended: ended.clone(),
                sandbox: sandbox.clone(),
                folder: self.folder.clone(),
                tell: Arc::clone(&tell),
            };
            server.enter(world.clone());
            runtime.spawn(connection::keep(Arc::clone(server), world));
        }
        let mut ended = ended;
        std::thread::Builder::new().name("tool-servers".into()).spawn(move || {
            runtime.block_on(async {
                // An error also means the end: the holder is gone.
                while ended.changed().await.is_ok() {}
            });
            runtime.shutdown_timeout(CLOSING);
        })?;
        Ok(Connected { _end: end })
    }

    /// Why a tool can't be called now; `None` if it can, or if it is no server's tool.
    pub fn unavailable(&self, tool: &ToolSpec) -> Option<String> {
        let offer = tool.offered_by.as_ref()?;
        let server = self.servers.iter().find(|server| server.plan.name == offer.server)?;
        server.unavailable(&offer.digest)
    }

    /// The state of each: one object per server.
    pub fn report(&self) -> Vec<Json> {
        self.servers.iter().map(|server| server.report()).collect()
    }

    /// Connects to each server once, asks what it offers, and remembers that for the next start. Without a name: all
    /// servers.
    pub fn refresh(
        &self,
        only: Option<&str>,
        latch: &StopLatch,
        sandbox: &SandboxPolicy,
    ) -> Vec<(String, Result<Vec<Change>, ToolFailure>)> {
        let asked = self.servers.iter().filter(|server| only.is_none_or(|only| server.plan.name == only));
        asked
            .map(|server| {
                let found = connection::look(server, latch, sandbox);
                let changes = found.and_then(|list| {
                    let changes = list.changes_since(server.remembered.as_ref());
                    self.folder.save(&list)?;
                    Ok(changes)
                });
                (server.plan.name.clone(), changes)
            })
            .collect()
    }
}

/// How long connections may take to close.
const CLOSING: Duration = Duration::from_secs(2);
