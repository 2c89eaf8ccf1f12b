//! Tools that do nothing, for imagining what would have happened.
//!
//! A call that was made at the time gives its recorded outcome. Any other call says that its outcome isn't known. Tools
//! that touch only the conversation run as usual.

use std::sync::Arc;

use maxim_bus::latch::Permit;
use serde_json::Value;

use super::registry::Runner;
use super::{ErrorKind, Hands, RegistryError, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec};

/// Tools that touch nothing outside the conversation.
const HARMLESS: [&str; 3] = ["math", "request_interaction", "respond"];

/// Proof that an agent's tools do nothing. Only [`ToolRegistry::imagined`] makes one; a gate without fear requires it.
#[derive(Clone, Copy, Debug)]
pub struct Imagined(());

/// A recorded call and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    pub tool: String,
    pub params: Value,
    /// `None` if it isn't known.
    pub success: Option<bool>,
    pub output: Value,
    pub error: Option<String>,
}

struct ImaginedTool {
    spec: ToolSpec,
    remembered: Arc<Vec<Remembered>>,
}

impl ToolRegistry {
    /// The same tools, none of which does anything.
    ///
    /// # Errors
    /// None that the registry itself doesn't have.
    pub fn imagined(&self, remembered: Vec<Remembered>) -> Result<(Self, Imagined), RegistryError> {
        // In the form in which tools are run: with defaults, and aliases resolved.
        let as_run = |call: Remembered| {
            let params = self.validate(&call.tool, &call.params).unwrap_or_else(|_| call.params.clone());
            Remembered { params, ..call }
        };
        let remembered = Arc::new(remembered.into_iter().map(as_run).collect::<Vec<_>>());
        let mut registry = Self::default();
        for name in self.names() {
            let Some(tool) = self.get(name) else { continue };
            match &tool.runner {
                Runner::Brain => registry.register_brain(tool.spec.as_ref().clone())?,
                Runner::Here(real) if HARMLESS.contains(&name) => registry.register(Arc::clone(real))?,
                Runner::Here(_) => {
                    let (spec, remembered) = (tool.spec.as_ref().clone(), Arc::clone(&remembered));
                    registry.register(Arc::new(ImaginedTool { spec, remembered }))?;
                }
            }
        }
        Ok((registry, Imagined(())))
    }
}

impl Tool for ImaginedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        let name = &self.spec.name;
        match self.remembered.iter().find(|call| call.tool == *name && call.params == *params) {
            Some(Remembered { success: Some(true), output, .. }) => ToolOutcome::done(output.clone()),
            Some(Remembered { error, .. }) => {
                let message = error.clone().unwrap_or_else(|| "its outcome isn't known".into());
                ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, message))
            }
            None => {
                let message = format!("{name} was only imagined; its outcome is not known");
                ToolOutcome::failed(ToolFailure::new(ErrorKind::Unavailable, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_registry;
    use maxim_bus::latch::{EffectKind, StopLatch};
    use serde_json::json;

    #[test]
    fn an_imagined_tool_remembers_what_came_of_it_and_does_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let params = json!({ "path": "a.txt", "content": "a" });
        let call = Remembered {
            tool: "write_file".into(),
            params: params.clone(),
            success: Some(true),
            output: json!({ "bytes": 1 }),
            error: None,
        };
        let core = core_registry().expect("the core tools");
        let (registry, _) = core.imagined(vec![call]).expect("the same tools");
        assert!(registry.names().eq(core.names()));
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let hands = Hands::new(folder.path(), crate::Mode::Active, folder.path());
        let tool = registry.hands_on("write_file").expect("it is there");
        let as_run = registry.validate("write_file", &params).expect("valid");
        assert_eq!(tool.run(&as_run, &permit, &hands).output, json!({ "bytes": 1 }));
        let other = tool.run(&json!({ "path": "b.txt", "content": "a" }), &permit, &hands);
        assert!(!other.success && other.error.is_some_and(|error| error.contains("only imagined")));
        assert!(std::fs::read_dir(folder.path()).expect("readable").next().is_none());
    }
}
