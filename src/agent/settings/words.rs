//! What the configuration's words mean to the rooms.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::Time;
use maxim_actors::action::tool_index::ToolText;
use maxim_actors::action::tools::{ToolRegistry, ToolSpec};
use maxim_actors::deliberation::initiative::{ActLaw, ActingSettings};
use maxim_actors::deliberation::prefrontal_cortex::Embodiment;
use maxim_actors::effectors::body::{BodyPlan, DriverPlan};
use maxim_actors::gate::fear_agent::{ReviewPower, ReviewSettings};
use maxim_actors::memory::hippocampus::law::CaptureLaw;
use maxim_bus::mode::{AutonomyLevel, Mode};

use super::SettingsError;
use crate::agent::models::{budget, roles};
use crate::config::{self, ByteCount, Fault};

/// The tools of an agent in a simulation, which has no body of its own.
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

pub(super) fn body_plan(body: &config::Body) -> BodyPlan {
    let config::Body { driver, url, lease, speed, degrees_per_hour: _, degrees_per_day: _, view_width, view_height } =
        body;
    let driver = match driver {
        config::Driver::None => DriverPlan::None,
        config::Driver::Sim => DriverPlan::Sim,
        config::Driver::ReachyMini => DriverPlan::ReachyMini { url: url.clone() },
    };
    BodyPlan { driver, lease: lease.get(), speed: *speed, view: [*view_width, *view_height] }
}

pub(super) fn acting(habit: &config::Habit) -> ActingSettings {
    let config::Habit {
        evidence_max: _,
        acts,
        act_every,
        act_options,
        act_novelty,
        act_memory,
        act_fear,
        act_need,
        act_temperature,
        act_refused,
    } = habit;
    let law = ActLaw {
        novelty: *act_novelty,
        memory: *act_memory,
        fear: *act_fear,
        need: *act_need,
        temperature: *act_temperature,
    };
    let (every, refused) = (signed(act_every.get()), signed(act_refused.get()));
    ActingSettings { on: *acts, every, options: *act_options as usize, refused, law }
}

pub(super) fn capture_law(memory: &config::Memory) -> CaptureLaw {
    let config::Memory {
        enrichment_deadline: _,
        capture_novelty,
        capture_salience,
        capture_pain,
        capture_checkpoint,
        merge_window,
        oscillators: _,
        nac_alpha: _,
        knowledge_max: _,
        episodes_max: _,
        session_idle: _,
        sleep_hour: _,
        promotion_idle: _,
        promotion_confidence: _,
        promotion_observations: _,
    } = memory;
    CaptureLaw {
        novel: *capture_novelty,
        salient: *capture_salience,
        painful: *capture_pain,
        checkpoint: signed(capture_checkpoint.get()),
        merge_within: signed(merge_window.get()),
    }
}

/// The time of the daily sleep; nothing from hour 24 on.
pub(super) fn nightly(hour: u32) -> Option<Time> {
    Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok()
}

pub(super) fn bytes(amount: ByteCount) -> usize {
    usize::try_from(amount.get()).unwrap_or(usize::MAX)
}

pub(super) fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

pub(super) fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from)
}

/// The configuration's word as the rooms know it.
pub fn mode_of(mode: config::Mode) -> Mode {
    match mode {
        config::Mode::Passive => Mode::Passive,
        config::Mode::Active => Mode::Active,
        config::Mode::Singularity => Mode::Singularity,
    }
}

/// The tools of each level that has a list. A name that no tool has would forbid what it was to allow.
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

/// What a model is told of: a tool that can do nothing here is no choice.
pub(super) fn callable<'a>(specs: &'a [&'a ToolSpec]) -> impl Iterator<Item = &'a ToolSpec> {
    specs.iter().copied().filter(|spec| spec.unavailable.is_none())
}

pub(super) fn text_of(spec: &ToolSpec) -> ToolText {
    let (name, description, parameters) = (spec.name.clone(), spec.description.clone(), spec.parameters.clone());
    ToolText { name, description, parameters }
}

pub(super) fn level_of(level: config::Autonomy) -> AutonomyLevel {
    match level {
        config::Autonomy::Planning => AutonomyLevel::Planning,
        config::Autonomy::Supervised => AutonomyLevel::Supervised,
        config::Autonomy::Autonomous => AutonomyLevel::Autonomous,
    }
}

/// What a model's review may do and cost.
pub(super) fn review_of(review: config::ModelReview, llm: &config::Llm) -> Option<ReviewSettings> {
    let power = match review {
        config::ModelReview::Off => return None,
        config::ModelReview::Advise => ReviewPower::Advise,
        config::ModelReview::Decide => ReviewPower::Decide,
    };
    Some(ReviewSettings { power, budget: budget(llm), price: roles(llm, "").review.price })
}

/// What the agent holds to, from its file or as shipped.
pub(super) fn constitution(file: Option<&Path>) -> Result<String, SettingsError> {
    let Some(file) = file else { return Ok(include_str!("../../../deploy/constitution.md").into()) };
    std::fs::read_to_string(file).map_err(|error| {
        let found = format!("{} can't be read: {error}", file.display());
        SettingsError::Config(Fault::new("agent.constitution_file", found, "name a text file, or leave the key out"))
    })
}
