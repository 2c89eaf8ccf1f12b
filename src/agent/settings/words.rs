//! The configuration's words, as the rooms' values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::Time;
use maxim_actors::action::tool_index::ToolText;
use maxim_actors::action::tools::{ToolRegistry, ToolSpec};
use maxim_actors::deliberation::prefrontal_cortex::Embodiment;
use maxim_actors::effectors::body::{BodyPlan, DriverPlan};
use maxim_actors::effectors::llm_worker::LlmKeys;
use maxim_actors::gate::fear_agent::{ModelReview, ReviewPower, ReviewSettings};
use maxim_bus::mode::AutonomyLevel;

use super::SettingsError;
use crate::config::Fault;

/// The tools of an agent in a simulation, which has no own body.
pub(super) fn simulated(registry: ToolRegistry, body: &BodyPlan) -> Result<ToolRegistry, SettingsError> {
    if body.driver != DriverPlan::None {
        let found = "agent.simulation is on, and in a simulation no tool moves a body".to_owned();
        let fix = "set body.driver to none, or agent.simulation to false";
        return Err(SettingsError::Config(Fault::new("body.driver", found, fix)));
    }
    Ok(registry.simulated()?)
}

pub(super) const fn embodiment(plan: &BodyPlan) -> Option<Embodiment> {
    match plan.driver {
        DriverPlan::None => None,
        DriverPlan::Sim => Some(Embodiment::Simulated),
        DriverPlan::ReachyMini { .. } => Some(Embodiment::Real),
    }
}

/// The time of the daily sleep; `None` from hour 24 on.
pub(super) fn nightly(hour: u32) -> Option<Time> {
    Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok()
}

pub(super) fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

pub(super) fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from)
}

/// The tools of each level that has a list. A wrong name would forbid the tool that it should allow.
pub(super) fn whitelists(
    lists: [(&str, AutonomyLevel, &Vec<String>); 3],
    registry: &ToolRegistry,
) -> Result<BTreeMap<AutonomyLevel, Vec<String>>, SettingsError> {
    let mut whitelists = BTreeMap::new();
    for (key, level, names) in lists {
        if let Some(unknown) = names.iter().find(|name| registry.get(name).is_none()) {
            let found = format!("autonomy.{key} names {unknown:?}, and there is no such tool");
            let nearest = registry.nearest(unknown, 3).join(", ");
            let fix = format!("the nearest are {nearest}; `maxim tools list` names all; an empty list allows all");
            return Err(SettingsError::Config(Fault::new(format!("autonomy.{key}"), found, fix)));
        }
        if !names.is_empty() {
            whitelists.insert(level, names.clone());
        }
    }
    Ok(whitelists)
}

/// The tools that a model is offered. A tool that can do nothing here is left out.
pub(super) fn callable<'a>(specs: &'a [&'a ToolSpec]) -> impl Iterator<Item = &'a ToolSpec> {
    specs.iter().copied().filter(|spec| spec.unavailable.is_none())
}

pub(super) fn text_of(spec: &ToolSpec) -> ToolText {
    let (name, description, parameters) = (spec.name.clone(), spec.description.clone(), spec.parameters.clone());
    ToolText { name, description, parameters }
}

/// What a model's review may do and cost.
pub(super) fn review_of(review: ModelReview, llm: &LlmKeys) -> Option<ReviewSettings> {
    let power = match review {
        ModelReview::Off => return None,
        ModelReview::Advise => ReviewPower::Advise,
        ModelReview::Decide => ReviewPower::Decide,
    };
    Some(ReviewSettings { power, budget: llm.budget(), price: llm.roles().review.price })
}

/// The agent's constitution, from its file or as shipped.
pub(super) fn constitution(file: Option<&Path>) -> Result<String, SettingsError> {
    let Some(file) = file else { return Ok(include_str!("../../../deploy/constitution.md").into()) };
    std::fs::read_to_string(file).map_err(|error| {
        let found = format!("{} can't be read: {error}", file.display());
        SettingsError::Config(Fault::new("agent.constitution_file", found, "name a text file, or remove the key"))
    })
}
