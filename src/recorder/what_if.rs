//! What-if: a recorded turn is lived again with something left out.
//!
//! The rooms are brought to their state at the beginning of the turn, by replaying what came before. Then the same
//! words are said to them, in a store in memory. Tools do nothing: a call that was made then gives its recorded result.
//! A model's replies come from the tape. If another prompt would have been sent, the model's reply is unknown, and
//! habit answers. A recording only holds the memories that were read, so others are missing here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::action::tools::{Remembered, ToolRegistry};
use maxim_actors::deliberation::working_memory::WorkingMemory;
use maxim_actors::effectors::channels::{Desk, Submission};
use maxim_actors::effectors::llm_worker::ModelSource;
use maxim_actors::region::Region;
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::Percept;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{Envelope, MessageId, Meta, RegionName, Signal, Stage, VirtualClock};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::replay::Theatre;
use super::{RecorderError, Recording};
use crate::agent::{Agent, AgentWorld, Kit, Outside, Part, anatomy};
use crate::http::why_document;

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Without {
    /// Nothing was ever experienced: the rooms of memory and of learning are as on the first day
    Memory,
    /// Whatever is wanted is cleared
    Fear,
    /// Nothing is left out: the turn as it was, for comparison
    Nothing,
}

/// A turn as it would have been.
#[derive(Clone, Debug)]
pub struct Imagining {
    pub ended: TurnEnded,
    /// Its why-record, in the shape of `GET /v1/why`.
    pub why: Value,
    /// Prompts that were never sent: the model's replies to them are unknown.
    pub unknown_prompts: usize,
}

/// The rooms that hold experience, what was learned from it, and working memory.
fn remembers(part: &Part) -> bool {
    matches!(part.stage, Stage::Memory | Stage::Learning) || part.name == WorkingMemory::NAME
}

/// After this many deadlines a turn is given up.
const PATIENCE: usize = 1_000;

impl Recording {
    /// Lives a turn again. `registry` holds the tools that the agent had.
    ///
    /// # Errors
    /// The recording doesn't hold the beginning of the turn, or its states don't make an agent in this program.
    pub fn what_if(
        &self,
        turn: MessageId,
        without: Without,
        registry: &ToolRegistry,
    ) -> Result<Imagining, RecorderError> {
        let wrong = |why: String| RecorderError::Settings(why);
        let missing = || wrong(format!("the recording doesn't hold the beginning of the turn {turn}"));
        let percept = self.signals_of_turn::<Percept>(turn).into_iter().next().ok_or_else(missing)?;
        let begins = self.inputs.iter().position(|input| input.message.is_some_and(|id| self.is_of(id, turn)));
        let begins = begins.ok_or_else(missing)?;
        let at = self.inputs[begins].taken_at;

        let remembered = self.signals_of_turn::<ToolResult>(turn).into_iter().map(|result| Remembered {
            tool: result.tool,
            params: result.params,
            success: result.success,
            output: result.output,
            error: result.error,
        });
        let imagined = registry.imagined(remembered.collect()).map_err(|error| wrong(error.to_string()))?;
        let (tools, proof) = imagined;
        let mut rooms = self.agent_settings(tools)?;
        let tape = Arc::new(self.tape("of this recording"));
        rooms.effectors.model = rooms.effectors.model.is_some().then(|| ModelSource::Tape(Arc::clone(&tape)));
        if without == Without::Fear {
            rooms.gate.fear.fearless = Some(proof);
        }

        let mut kit = Kit::new(rooms.deadline);
        anatomy::furnish(&mut kit, &rooms);
        let remembering = kit.parts.iter().filter(|part| remembers(part)).map(|part| part.name);
        let remembering: BTreeSet<RegionName> = remembering.collect();
        let stays_out = |region: &str| without == Without::Memory && remembering.contains(region);
        let theatre = Theatre::until(self, registry.clone(), begins, stays_out)?;
        let clock = VirtualClock::at(at);
        let (store, _whole) = theatre.states()?;
        let world = AgentWorld {
            id: self.header.agent.clone(),
            store,
            clock: Arc::new(clock.clone()),
            latch: StopLatch::in_memory(),
            seed: self.header.seed,
            tap: None,
        };
        let mut agent = Agent::stepped(world, &rooms).map_err(|error| wrong(error.to_string()))?;
        let desk = desk_of(&agent, &percept.metadata.channel);
        let mut accepted = desk.submit(Submission {
            channel: percept.metadata.channel,
            sender: percept.metadata.sender,
            body: percept.content,
            provider_id: None,
            trust: percept.trust,
        });
        settle(&mut agent, &clock);
        let accepted = accepted.try_recv().ok().and_then(Result::ok);
        let accepted = accepted.ok_or_else(|| wrong("the words were not accepted again".into()))?;
        let ended = live_out(&mut agent, &desk, &clock, accepted.percept)
            .ok_or_else(|| wrong("the imagined turn did not end".into()))?;
        let why = why_document(&agent.frame.store, accepted.percept).map_err(|error| wrong(error.to_string()))?;
        Ok(Imagining { ended, why: why.unwrap_or_default(), unknown_prompts: tape.misses() })
    }

    fn is_of(&self, message: MessageId, turn: MessageId) -> bool {
        let meta = self.signals.get(&message).and_then(|encoded| Envelope::split(encoded).ok());
        message == turn || meta.is_some_and(|(meta, _)| meta.correlation == turn)
    }

    fn signals_of_turn<S: Signal + DeserializeOwned>(&self, turn: MessageId) -> Vec<S> {
        let of_turn = |meta: &Meta| meta.correlation == turn || meta.id == turn;
        self.signals_of().into_iter().filter(|(meta, _)| of_turn(meta)).map(|(_, signal)| signal).collect()
    }
}

/// The desk of a channel: its words come in, and the ends of its turns come out.
fn desk_of(agent: &Agent, channel: &str) -> Arc<Desk> {
    let Outside { console, http, websocket, .. } = &agent.outside;
    Arc::clone(match channel {
        "console" => console,
        "websocket" => websocket,
        _ => http,
    })
}

/// The duration of one step, in imagined time.
const STEP: Duration = Duration::from_micros(1);

/// Does all pending steps, each a little after the one before, so that the why-record has them in order.
fn settle(agent: &mut Agent, clock: &VirtualClock) {
    while agent.step() {
        clock.advance(STEP);
    }
}

/// Lets virtual time pass until the turn has ended.
fn live_out(agent: &mut Agent, desk: &Desk, clock: &VirtualClock, turn: MessageId) -> Option<TurnEnded> {
    let mut ended = desk.turn(turn);
    for _ in 0..PATIENCE {
        settle(agent, clock);
        if let Ok(ended) = ended.try_recv() {
            return ended.ok();
        }
        clock.advance_to(agent.next_deadline()?);
    }
    None
}
