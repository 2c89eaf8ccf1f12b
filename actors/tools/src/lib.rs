//! Everything the agent can do: what a tool is, which tools there are, and the hands that run some of them.
//!
//! A tool is its [`ToolSpec`]; prompt text, validation, habit grammar and documentation come from it. A tool that acts
//! in this process is also a [`Tool`] and can't run without a [`Permit`], hence never while the latch is raised. The
//! others are answered by the regions, by signals: see [`brain`].

pub mod bash;
mod blame;
pub mod brain;
pub mod code;
#[allow(clippy::disallowed_methods)] // a sandbox measures and names what is outside of any decision
pub mod contained;
pub mod conversation;
pub mod files;
pub mod hands;
pub mod imagined;
pub mod messaging;
pub mod narrative;
pub mod outcome;
pub mod own;
pub mod own_files;
pub mod params;
pub mod places;
pub mod powers;
pub mod program_files;
pub mod registry;
pub mod robot;
pub mod spec;
pub mod speech;
pub mod undo;
pub mod user;
pub mod web;

use std::sync::Arc;

use maxim_bus::latch::Permit;
use serde_json::Value;

pub use bash::Bash;
pub use files::reversal::{Reversal, undo};
pub use hands::{Access, AutonomyLevel, Hands, Mode, Powers};
pub use imagined::{Imagined, Remembered};
pub use outcome::{ErrorKind, SideEffect, SideEffectKind, ToolFailure, ToolOutcome};
pub use own_files::OwnFiles;
pub use params::{ParamError, ParamProblem};
pub use registry::{Registered, RegistryError, Resolved, Runner, ToolRegistry};
pub use spec::{Door, EffectClass, FollowUp, OfferedBy, ToolSpec};
pub use speech::{PatternError, Piece, SlotKind, SpeechPattern};
pub use undo::{UNDO, Undo};

/// A tool that acts in this process. The executor gives each call a thread of its own, so `run` may wait.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Called before the effect, and its answer made durable before the effect: how to take the effect back.
    /// `None` when there is nothing to take back. On an error the tool must not be run: the effect could not be reversed.
    fn prepare(&self, _params: &Value, _hands: &Hands) -> Result<Option<Reversal>, ToolFailure> {
        Ok(None)
    }

    /// True for a tool that moves a body: motion has the stricter rule of the latch.
    fn is_motion(&self) -> bool {
        false
    }

    /// Does it. `params` have passed [`ToolRegistry::validate`].
    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome;
}

/// The registry of what an agent always has: files, bash, and what the regions answer.
pub fn core_registry() -> Result<ToolRegistry, RegistryError> {
    let mut registry = ToolRegistry::default();
    registry.register(Arc::new(files::ReadFile::new()))?;
    registry.register(Arc::new(files::WriteFile::new()))?;
    registry.register(Arc::new(files::EditFile::new()))?;
    registry.register(Arc::new(files::Glob::new()))?;
    registry.register(Arc::new(Bash::new()))?;
    registry.register(Arc::new(code::SearchCode::new()))?;
    registry.register(Arc::new(code::GitDiff::new()))?;
    registry.register(Arc::new(code::GitCommit::new()))?;
    registry.register(Arc::new(code::RunTests::new()))?;
    registry.register(Arc::new(code::ExecuteFile::new()))?;
    registry.register(Arc::new(Undo::new()))?;
    registry.register(Arc::new(web::HttpFetch::new()))?;
    registry.register(Arc::new(conversation::Speak::new()))?;
    registry.register(Arc::new(conversation::RequestInteraction::new()))?;
    registry.register(Arc::new(powers::ModeSwitch::new()))?;
    registry.register(Arc::new(powers::LowerAutonomy::new()))?;
    registry.register(Arc::new(powers::WebAccess::new()))?;
    registry.register(Arc::new(powers::RequestDirectoryChange::new()))?;
    for tool in robot::RobotTool::all() {
        registry.register(Arc::new(tool))?;
    }
    for spec in brain::specs().into_iter().chain(messaging::specs()).chain(own::specs()) {
        registry.register_brain(spec)?;
    }
    Ok(registry)
}
