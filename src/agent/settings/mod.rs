//! The rooms' settings, from the configuration.

mod stages;
#[cfg(test)]
mod tests;
mod words;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::action::tools::{self, OwnFiles, RegistryError, ToolRegistry};
use maxim_actors::effectors::body::{Body, DriverPlan};
use maxim_actors::effectors::channels::outside::OutsideChannels;
use maxim_actors::effectors::text_encoder::EncoderSource;
use maxim_actors::effectors::tool_servers::{self, ListFolder, ToolServers};
use maxim_actors::region::{Room, SupervisionSettings};
use maxim_actors::speech::GrammarError;
use maxim_actors::{action, deliberation, effectors, gate, learning, memory, perception, sleep};

use crate::config::{Fault, Settings};

use stages::{Facts, supervision};

/// The settings of every room, stage by stage.
#[derive(Clone)]
pub struct AgentSettings {
    pub deadline: Duration,
    pub supervision: SupervisionSettings,
    /// Whether it acts; a brain that only remembers has no gate to ask. Default true.
    pub acts: bool,
    pub perception: perception::Settings,
    pub memory: memory::Settings,
    pub deliberation: deliberation::Settings,
    pub gate: gate::Settings,
    pub action: action::Settings,
    pub learning: learning::Settings,
    pub sleep: sleep::Settings,
    pub effectors: effectors::Settings,
    /// The servers that offer some of the tools.
    pub tool_servers: Arc<ToolServers>,
    /// Rooms beside those of the anatomy; see [`AgentSettings::with_rooms`].
    pub own_rooms: Vec<OwnRooms>,
}

/// Rooms of an embedding program, made for each agent.
pub type OwnRooms = Arc<dyn Fn() -> Vec<Room> + Send + Sync>;

/// The settings can't be made.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    #[error("{}", with_key(.0))]
    Config(Fault),
}

/// The error often names the key already.
fn with_key(fault: &Fault) -> String {
    if fault.found.starts_with(&fault.key) { fault.to_string() } else { format!("{} {fault}", fault.key) }
}

impl AgentSettings {
    /// `boot` names this process. `saved` is the folder for copies of overwritten files, `lists` the folder for the
    /// remembered offers of the tool servers.
    pub fn new(
        settings: &Settings,
        boot: u64,
        workdir: &Path,
        saved: &Path,
        lists: ListFolder,
    ) -> Result<Self, SettingsError> {
        let mut registry = tools::core_registry()?;
        if let Some(folder) = &settings.tools.folder {
            for fault in tools::user::register(&mut registry, folder, workdir) {
                tracing::warn!(%fault, "a tool of yours is left out");
            }
        }
        let plans = tool_servers::plans(&settings.mcp).map_err(SettingsError::Config)?;
        let remembered = lists.load(settings.mcp.keys().map(String::as_str));
        let servers = ToolServers::new(plans, &remembered, lists);
        for left_out in servers.register(&mut registry) {
            tracing::warn!(%left_out, "a tool of a server is left out");
        }
        let mut rooms = Self::with_tools(settings, boot, workdir, saved, registry)?;
        let lines = settings.channels.lines().map_err(SettingsError::Config)?;
        (rooms.tool_servers, rooms.effectors.channels) = (Arc::new(servers), Arc::new(OutsideChannels::new(lines)));
        Ok(rooms)
    }

    /// With another set of tools, and without servers.
    pub fn with_tools(
        settings: &Settings,
        boot: u64,
        workdir: &Path,
        saved: &Path,
        registry: ToolRegistry,
    ) -> Result<Self, SettingsError> {
        let facts = Facts::new(settings, boot, workdir, registry)?;
        let hands = facts.hands(saved);
        let text_encoder = EncoderSource::of(&settings.effectors.encoder).map_err(SettingsError::Config)?;
        let rooms = Self {
            deadline: settings.regions.deadline.get(),
            supervision: supervision(&settings.regions),
            acts: true,
            perception: facts.perception(),
            memory: facts.memory(text_encoder.as_ref().map(EncoderSource::name)),
            deliberation: facts.deliberation()?,
            gate: facts.gate(&hands)?,
            action: facts.action(hands),
            learning: facts.learning(),
            sleep: facts.sleep(),
            effectors: facts.effectors(text_encoder),
            tool_servers: Arc::new(ToolServers::new(Vec::new(), &[], ListFolder::default())),
            own_rooms: Vec::new(),
        };
        Ok(rooms.embodied(facts.body))
    }

    /// With further rooms, for programs that embed an agent. They are wired, supervised and restarted as any other, and
    /// `system_stats` asks those that hear `ReportStats`. A recording doesn't hold them, so a replay lacks them.
    #[must_use]
    pub fn with_rooms(mut self, rooms: impl Fn() -> Vec<Room> + Send + Sync + 'static) -> Self {
        self.own_rooms.push(Arc::new(rooms));
        self
    }

    /// With these files as the agent's own.
    pub fn owning(mut self, own: OwnFiles) -> Self {
        self.action.hands.sandbox.own.clone_from(&own);
        self.gate.fear.own = Arc::new(own);
        self
    }

    /// With this body.
    pub fn embodied(mut self, body: Body) -> Self {
        let has_one = body.plan().driver != DriverPlan::None;
        self.action.hands.limbs = has_one.then(|| Arc::new(body.clone()) as Arc<dyn tools::robot::Limbs>);
        self.effectors.body = body;
        self
    }
}
