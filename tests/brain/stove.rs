//! A tool that hurts each time.

use std::sync::Arc;

use maxim_actors::action::tools::{
    EffectClass, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec,
};
use maxim_bus::latch::Permit;
use serde_json::Value;

use crate::common::core_tools;

/// A stove that is always hot.
struct Stove(ToolSpec);

impl Tool for Stove {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, "it is hot; take your hand away"))
    }
}

pub fn with_stove() -> ToolRegistry {
    let mut tools = core_tools();
    let spec = ToolSpec::new("touch_stove", "Touches the stove.").with_speech(&["touch"], &["{verb} the stove"]);
    tools.register(Arc::new(Stove(ToolSpec { effect: EffectClass::Reversible, ..spec }))).expect("registered");
    tools
}
