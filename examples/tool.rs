//! A tool of your own: the agent reads the moisture of the soil.
//!
//! A tool is a `ToolSpec` and a function. The specification is data: the prompt, the check of the parameters, how people
//! ask for it, and what the gate does with it are all made from that. Run it with `cargo run --example tool`.

use std::sync::Arc;

use anyhow::Context as _;
use maxim::agent::{Agent, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim_actors::action::tools::{ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolSpec, core_registry};
use maxim_actors::effectors::channels::Submission;
use maxim_actors::store::StateStore;
use maxim_bus::latch::{Permit, StopLatch};
use maxim_bus::{AgentId, Trust, VirtualClock};
use serde_json::{Value, json};

struct SoilMoisture(ToolSpec);

impl SoilMoisture {
    fn new() -> Self {
        let plant = json!({ "type": "string", "minLength": 1, "description": "the plant's name" });
        // Read-only, may be repeated, gated: these are the defaults.
        let spec = ToolSpec::new("soil_moisture", "Measures how wet the soil of a plant is, in percent.")
            .with_parameters(json!({ "plant": plant }), &["plant"])
            .with_example(json!({ "plant": "fern" }))
            .with_speech(&["measure", "check"], &["{verb} the soil of [the] {plant:rest}"]);
        Self(spec)
    }
}

impl Tool for SoilMoisture {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    /// The permit is proof that no stop holds; without one a tool can't be called.
    fn run(&self, params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        match params["plant"].as_str() {
            Some("fern") => ToolOutcome::done(json!({ "moisture_percent": 31 })),
            Some("cactus") => ToolOutcome::done(json!({ "moisture_percent": 4 })),
            other => {
                let plant = other.unwrap_or_default();
                let why = format!("no probe is in the soil of {plant:?}; there are probes at fern and cactus");
                ToolOutcome::failed(ToolFailure::new(ErrorKind::NotFound, why))
            }
        }
    }
}

pub fn run() -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let saved = folder.path().join("saved");
    let mut tools = core_registry()?;
    tools.register(Arc::new(SoilMoisture::new()))?;
    let settings = AgentSettings::with_tools(&Settings::default(), 1, folder.path(), &saved, tools)?;
    let (store, id) = (StateStore::in_memory(), AgentId::new("gardener")?);
    let (clock, latch) = (VirtualClock::at("2026-01-05T09:00:00Z".parse()?), StopLatch::in_memory());
    let world = AgentWorld { store: store.agent(&id), id, clock: Arc::new(clock.clone()), latch, seed: 7, tap: None };
    let mut agent = Agent::stepped(world, &settings)?;
    let mut told = String::new();
    for words in ["measure the soil of the fern", "measure the soil of the orchid", "what did you do?"] {
        told += &format!("> {words}\n  {}\n", say(&mut agent, &clock, words)?);
    }
    Ok(told)
}

/// Says something, and lets virtual time pass until the turn has ended.
fn say(agent: &mut Agent, clock: &VirtualClock, words: &str) -> anyhow::Result<String> {
    let desk = Arc::clone(&agent.outside.console);
    let (channel, sender) = ("console".to_owned(), "anna".to_owned());
    let said = Submission { channel, sender, body: words.into(), provider_id: None, trust: Trust::Owner };
    let mut accepted = desk.submit(said);
    agent.settle();
    let mut ended = desk.turn(accepted.try_recv()?.map_err(anyhow::Error::msg)?.percept);
    loop {
        agent.settle();
        if let Ok(ended) = ended.try_recv() {
            return Ok(ended.map_err(anyhow::Error::msg)?.reply.unwrap_or_default());
        }
        clock.advance_to(agent.next_deadline().context("the turn doesn't end: no room waits for a time")?);
    }
}

fn main() -> anyhow::Result<()> {
    print!("{}", run()?);
    Ok(())
}
