//! undo: reverses an earlier action. The execution tracker knows how and tells the executor.

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::{EffectClass, ErrorKind, FollowUp, Hands, Mode, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// The name by which the tracker and the executor know such a call.
pub const UNDO: &str = "undo";

/// Reverses the newest reversible action, or a named one. Output: `path` and `reversal`, with which this can be
/// reversed too.
pub struct Undo(ToolSpec);

impl Undo {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            UNDO,
            "Takes back what an earlier action of yours did: puts back the file that was there, or moves your body back to where it was. Without a name the newest. Taking back can itself be taken back.",
        )
        .with_parameters(
            json!({
                "action": {"type": "string", "minLength": 8, "pattern": "^[0-9a-fA-F-]+$", "description": "the action's id, or its beginning, as why-records show it"},
                "tool": {"type": "string", "description": "whose effect it was; for the record alone"},
            }),
            &[],
        )
        .with_aliases(&[("id", "action"), ("action_id", "action")])
        .with_speech(
            &["undo", "take back", "revert", "roll back"],
            &["{verb} (that|it|this|the last (action|change|edit|write)|your last (action|change|edit|write)|what you (did|just did))"],
        )
        .with_speech(&["take", "roll"], &["{verb} (that|it|this|the last (action|change|edit|write)) back"])
        .with_speech(&[], &["undo", "undo [the] action {action:word}", "take back [the] action {action:word}"]);
        Self(ToolSpec {
            effect: EffectClass::Reversible,
            idempotent: false,
            required_mode: Mode::Passive,
            follow_up: FollowUp::Respond,
            ..spec
        })
    }
}

impl Tool for Undo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        // The executor comes here only if the tracker knew no reversal.
        let why = match params["action"].as_str() {
            Some(action) => {
                format!("no action {action} is known that can be taken back; only writing files and moving can be")
            }
            None => {
                "there is nothing to take back: only writing files and moving can be, and each of it once".to_owned()
            }
        };
        ToolOutcome::failed(ToolFailure::new(ErrorKind::NotFound, why))
    }
}
