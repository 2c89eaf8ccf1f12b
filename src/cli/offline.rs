//! Memory without a daemon. The store is opened in this process, and the memory rooms answer by the handlers that a
//! daemon uses.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use maxim_actors::effectors::tool_servers::ListFolder;
use maxim_actors::store::StateStore;
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentId, SharedClock, SystemClock};

use super::{CliError, Exit, Global};
use crate::agent::{Agent, AgentSettings, AgentWorld};
use crate::backups::Backups;
use crate::daemon::{opening, until_up};
use crate::data_folder::DataFolder;
use crate::http::{self, EventLog, Figures, Served};

/// The memory part of a brain, in this process. Dropping it closes the store.
pub struct Offline {
    runner: actix::SystemRunner,
    served: Arc<Served>,
    agent: Agent,
    store: StateStore,
}

impl Offline {
    /// Opens the store of a data folder, which is made when it isn't there.
    ///
    /// # Errors
    /// Another process holds the store, or the store can't be used.
    pub fn open(global: &Global, folder: &DataFolder) -> Result<Self, CliError> {
        let settings = global.load(Vec::new())?.settings;
        let (store, report) = opening::open(folder, opening::visiting(&settings.store))?;
        if report.fresh {
            // A missing latch file beside a used store means stopped. So a new store gets a latch file.
            StopLatch::open(&folder.latch(), false).map_err(|error| {
                let found = format!("the latch file {} can't be written: {error}", folder.latch().display());
                CliError::new(Exit::TryAgain, found, "check its permissions and the disk")
            })?;
        }
        let bug = |error: &dyn std::fmt::Display| CliError::new(Exit::Bug, error.to_string(), "report it");
        let workdir = std::env::current_dir().unwrap_or_else(|_| folder.path().to_owned());
        let rooms =
            AgentSettings::new(&settings, report.boot, &workdir, &folder.saved(), ListFolder::new(folder.tool_lists()))
                .map_err(|error| CliError::told(Exit::BadConfig, &error))?;
        let id = AgentId::new(opening::AGENT).map_err(|error| bug(&error))?;
        let clock: SharedClock = Arc::new(SystemClock);
        let events = EventLog::new(report.boot, None);
        let world = AgentWorld {
            store: store.agent(&id),
            id,
            clock: Arc::clone(&clock),
            // Nothing here needs a permit, so the latch on disk stays as it is.
            latch: StopLatch::in_memory(),
            seed: settings.agent.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1),
            tap: None,
        };
        let runner = actix::System::new();
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let agent = runner.block_on(async {
            let agent = Agent::remembering(world, &rooms, threads).map_err(|error| bug(&error))?;
            until_up(&agent).await;
            Ok::<_, CliError>(agent)
        })?;
        let keep = settings.store.backup_keep as usize;
        let figures = Figures::of(&agent.frame.latch);
        let served = Arc::new(Served {
            agent: agent.handle(),
            store: store.clone(),
            backups: Backups::new(store.clone(), settings.store.backup_every.get(), keep),
            events,
            chaos: false,
            // No other caller can reach this: only this process asks.
            proof: http::Proof::Open,
            sessions: http::Sessions::new(settings.http.session_idle.get()),
            guesses: http::Guesses::default(),
            origins: Vec::new(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            started: clock.now(),
            zone: rooms.memory.zone.clone(),
            draining: Arc::new(AtomicBool::new(false)),
            llm: "none".into(),
            tokens: None,
            body: rooms.effectors.body.clone(),
            text_max: settings.perception.gateway.text_max.as_usize(),
            body_max: usize::try_from(settings.http.body_max.get()).unwrap_or(usize::MAX),
            latch_file: None,
            is_stop_path_tested: Arc::new(AtomicBool::new(false)),
            stop_threads: None,
            figures,
            machines: None,
            tools: Arc::clone(&rooms.action.registry),
            tool_servers: Arc::clone(&rooms.tool_servers),
            channels: Arc::clone(&rooms.effectors.channels),
            imports: http::Imports::default(),
            containment: None,
        });
        Ok(Self { runner, served, agent, store })
    }

    /// One request, answered here: status and body.
    pub fn answer(&self, request: http::Request) -> (u16, Vec<u8>) {
        self.runner.block_on(http::answer(&self.served, request))
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        self.agent.stop();
        // Every answer is on disk already. This only marks an orderly end.
        if let Err(error) = self.store.clone().close() {
            eprintln!("maxim: the store did not close in order: {error}");
        }
    }
}
