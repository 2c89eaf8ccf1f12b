//! Everything the agent can do: what a tool is, which tools exist, and the hands that run some of them.
//!
//! A tool is its [`ToolSpec`]; prompt text, validation, habit grammar and documentation come from it. A tool that acts
//! in this process is also a [`Tool`]. It can't run without a [`Permit`], so it never runs while the latch is raised.
//! Regions answer the other tools by signals: see [`brain`].

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

/// A tool that acts in this process. The executor gives each call its own thread, so `run` may wait.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// How to reverse the effect; `None` if there is nothing to reverse. It is called before the effect, and its answer
    /// is made durable before the effect. After an error the tool must not run, because its effect could not be
    /// reversed.
    fn prepare(&self, _params: &Value, _hands: &Hands) -> Result<Option<Reversal>, ToolFailure> {
        Ok(None)
    }

    /// True for a tool that moves a body. The latch has a stricter rule for motion.
    fn is_motion(&self) -> bool {
        false
    }

    /// Runs the call. `params` have passed [`ToolRegistry::validate`].
    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome;
}

/// The registry of the tools that every agent has: files, bash, and the tools that regions answer.
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
