//! The tools of a simulation: saying, thinking and looking closely take the place of a body.

use std::sync::Arc;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::brain::LONGEST_MESSAGE;
use super::robot;
use super::spec::Door;
use super::{FollowUp, Hands, RegistryError, Tool, ToolOutcome, ToolRegistry, ToolSpec};

/// Says words in the scene.
pub const SAY: &str = "say";
/// Thinks a thought, and hears what it reminds of.
pub const THINK: &str = "think";
/// Looks closely at one thing.
pub const EXAMINE: &str = "examine";

/// Thoughts in a row that a turn may have by [`THINK`]; what follows must be something else.
pub const THOUGHTS: usize = 3;

/// What examining gives where nothing is known.
pub const NOTHING_NOTABLE: &str = "you don't see anything notable";

impl ToolRegistry {
    /// The same for an agent in a simulation: without the robot group, with the narrative tools, and recalling what is
    /// linked to what was found.
    ///
    /// # Errors
    /// A narrative tool's name is taken.
    pub fn simulated(mut self) -> Result<Self, RegistryError> {
        robot::ALL.iter().for_each(|tool| self.remove(tool));
        self.register(Arc::new(Say::new()))?;
        self.register_brain(think())?;
        self.register_brain(examine())?;
        self.set_default("memory_recall", "expand", json!(true));
        Ok(self)
    }
}

/// Says something to whoever is there. Output: the words, which are then said where the turn came from.
struct Say(ToolSpec);

impl Say {
    fn new() -> Self {
        let spec = ToolSpec::new(SAY, "Says something aloud in the scene, to whoever is there.")
            .with_parameters(
                json!({"text": {
                    "type": "string", "minLength": 1, "maxLength": LONGEST_MESSAGE, "description": "what to say",
                }}),
                &["text"],
            )
            .with_aliases(&[("message", "text"), ("phrase", "text")])
            .with_example(json!({"text": "Is anybody here?"}))
            .with_speech(&["call out", "exclaim", "shout", "whisper"], &["{verb} {text:quoted}"])
            .with_speech(&["call out", "exclaim", "shout"], &["{verb} [for] {text:rest}"])
            .with_speech(&["say", "tell"], &["{verb} [to] (everyone|everybody|the room) [that] {text:rest}"]);
        Self(ToolSpec { follow_up: FollowUp::Engage, ..spec })
    }
}

impl Tool for Say {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        ToolOutcome::done(params["text"].clone())
    }
}

fn inward(name: &str, description: &str) -> ToolSpec {
    ToolSpec { door: Door::Introspection, ..ToolSpec::new(name, description) }
}

fn text(longest: usize, description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": longest, "description": description})
}

fn think() -> ToolSpec {
    let description = format!("Thinks a thought and tells what it reminds you of; at most {THOUGHTS} in a row.");
    inward(THINK, &description)
        .with_parameters(json!({"thought": text(2_000, "what you think, in the first person")}), &["thought"])
        .with_aliases(&[("text", "thought"), ("prompt", "thought")])
        .with_example(json!({"thought": "The door was locked when I came."}))
        .with_speech(&["think about", "reflect on", "ponder"], &["{verb} {thought:rest}"])
}

fn examine() -> ToolSpec {
    inward(EXAMINE, "Looks closely at something: what was seen and said of it lately, and what you remember of it.")
        .with_parameters(json!({"target": text(200, "the thing, person or place")}), &["target"])
        .with_aliases(&[("object", "target"), ("text", "target")])
        .with_example(json!({"target": "lamp"}))
        .with_speech(&["examine", "inspect", "look at", "look closely at"], &["{verb} [the] {target:rest}"])
}

#[cfg(test)]
mod tests {
    use super::super::{Resolved, core_registry};
    use super::*;

    #[test]
    fn a_simulation_has_words_and_thoughts_in_the_place_of_a_body() {
        let core = core_registry().expect("good specs");
        let simulated = core.clone().simulated().expect("good specs");
        for tool in [SAY, THINK, EXAMINE] {
            assert!(core.get(tool).is_none() && simulated.get(tool).is_some(), "{tool}");
        }
        assert!(robot::ALL.iter().all(|tool| core.get(tool).is_some() && simulated.get(tool).is_none()));
        let means = |registry: &ToolRegistry, name: &str| match registry.resolve(name) {
            Resolved::Redirected(found) => Some(found.spec.name.clone()),
            _ => None,
        };
        for (alias, tool) in [("speech", SAY), ("reflection", THINK), ("look", EXAMINE)] {
            assert_eq!((means(&core, alias), means(&simulated, alias).as_deref()), (None, Some(tool)), "{alias}");
        }
        let expands =
            |registry: &ToolRegistry| registry.validate("memory_recall", &json!({})).expect("valid")["expand"].clone();
        assert_eq!((expands(&core), expands(&simulated)), (json!(false), json!(true)));
        assert!(simulated.simulated().is_err(), "it is one already");
    }
}
