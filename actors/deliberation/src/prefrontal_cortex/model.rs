//! What deliberation is set up with, and a turn that is being thought about.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::mode::Powers;
use maxim_bus::signals::concepts::KnowledgeEntry;
use maxim_bus::signals::introspection::VerdictForeseen;
use maxim_bus::signals::recall::{OutcomesPredicted, RecalledEpisode};
use maxim_bus::signals::thought::{Deliberate, Purpose};
use maxim_bus::signals::working_memory::WorkingEntry;
use maxim_bus::{MessageId, RegionName, Trust};
use serde::{Deserialize, Serialize};

use super::asking::Unread;
use super::on_mind::OnMind;
use super::reminding::Reminded;
use super::surroundings::Surroundings;
use super::transcript::Exchange;
use super::window::Window;
use crate::prompt::{Off, Section, ToolShelf};
use maxim_language::{Budget, Cost, Price, TokenCounter};
use maxim_region::Gather;

/// How deliberation is set up.
#[derive(Clone, Debug)]
pub struct PrefrontalSettings {
    /// Whether there is a model at all.
    pub model: bool,
    pub timeout: SignedDuration,
    /// What calls may cost.
    pub budget: Budget,
    /// What the models' tokens cost.
    pub prices: Prices,
    /// Names this process: a session.
    pub boot: u64,
    /// The model's window: prompt and reply together. A call that doesn't fit isn't made.
    pub context_tokens: u64,
    /// The reply's tokens at most.
    pub reply_tokens: u32,
    /// Cycles of thinking in a turn; 1 to 10. Default 3.
    pub cycles: u32,
    /// The unit in which the ThoughtGate rests after a thought. Default 500 ms.
    pub tick: SignedDuration,
    /// How long memory is waited for between cycles, and half as long as what a turn begins with is. Default 50 ms.
    pub recall: SignedDuration,
    /// Episodes that a thought may remind of; 0 to 20. Default 5.
    pub episodes: usize,
    /// Rooms that are asked what is generally known.
    pub knowledge_rooms: Vec<RegionName>,
    /// Pieces of knowledge that a thought may remind of; 0 to 8. Default 8.
    pub knowledge: usize,
    /// What the agent is called: a narrator would tell of it by these.
    pub names: Vec<String>,
    /// What it may by the configuration.
    pub powers: Powers,
    /// What kind of body it has; none without one.
    pub body: Option<Embodiment>,
    /// Whether it lives in a simulation. Default false.
    pub simulation: bool,
    /// Where the agent is, for the time of day.
    pub zone: TimeZone,
    /// How tokens of prompts are counted.
    pub counter: TokenCounter,
    /// The tools as the model is shown them, made from the registry.
    pub tools: Arc<ToolShelf>,
    /// Sections that stay the same: instructions, who it is, its constitution.
    pub stable: Arc<Vec<Section>>,
}

/// What the models cost that it asks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    pub act: Price,
    pub deliberate: Price,
}

/// A body that the mind is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embodiment {
    Simulated,
    Real,
}

/// The record of [`Counts`].
pub const COUNTS: &str = "counts";

/// What became of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub read: u64,
    /// Of these, replies that weren't the JSON that was asked for.
    pub repaired: u64,
    /// Replies that could not be read, and were answered with the error.
    pub retried: u64,
    /// Calls that went down with their worker or their process, and were made again.
    pub lost: u64,
    /// Turns that went back to habit.
    pub handed_back: u64,
    /// Turns that the ThoughtGate left to habit; a part of those.
    pub gated: u64,
    /// Replies whose reasoning speaks to others.
    pub outward: u64,
}

/// A turn that is being thought about, as a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    pub wish: Deliberate,
    pub trust: Trust,
    pub phase: Phase,
    /// Calls so far.
    pub attempt: u32,
    /// A reply could not be read, and was answered with the error: once a turn.
    pub retried: bool,
    /// The cycle under way, from 1.
    pub cycle: u32,
    /// It is told to act.
    pub pressed: bool,
    /// Tools that fit, best first, and how many of them to show whole.
    pub ranking: Vec<String>,
    pub shown: usize,
    pub mind: OnMind,
    pub transcript: Vec<Exchange>,
    /// What the cycle under way is enriched with.
    pub context: Context,
    /// What is known of the model's window.
    #[serde(default)]
    pub window: Window,
    /// What was around when the turn began.
    #[serde(default)]
    pub around: Surroundings,
    /// Prompts that the server found too long.
    #[serde(default)]
    pub too_long: u32,
    /// Calls that were lost.
    #[serde(default)]
    pub lost: u32,
    /// What the agent may at present; none: what the configuration says.
    #[serde(default)]
    pub powers: Option<Powers>,
    /// Tools that can't be called at present.
    #[serde(default)]
    pub off: Off,
}

/// What a turn waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Tools to be ranked, what is on the mind, and what the agent may.
    Preparing {
        /// By the room that was asked.
        #[serde(default)]
        gather: Gather<String>,
        head: Option<WorkingEntry>,
    },
    /// The model, with a prompt of so many tokens by our estimate.
    Calling {
        call: MessageId,
        since: Timestamp,
        #[serde(default)]
        estimate: u32,
        /// The reply that it is asked to better.
        #[serde(default)]
        unread: Option<Unread>,
    },
    /// What memory has to say to a thought.
    Reminding(Box<Reminded>),
}

/// What a cycle is enriched with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Context {
    /// Rooms that had something to say.
    pub enriched: Vec<String>,
    pub missing: Vec<String>,
    pub recalled: Vec<RecalledEpisode>,
    #[serde(default)]
    pub knowledge: Vec<KnowledgeEntry>,
    /// Of the tool that the thought leant towards.
    #[serde(default)]
    pub predicted: Option<OutcomesPredicted>,
    #[serde(default)]
    pub foreseen: Option<VerdictForeseen>,
    /// Memories among it, of whatever layer.
    pub memories: usize,
}

impl Pending {
    pub(super) fn new(wish: &Deliberate, trust: Trust, window: Window, around: Surroundings) -> Self {
        let context = Context {
            enriched: wish.enriched.clone(),
            missing: wish.missing.clone(),
            memories: wish.memories as usize,
            ..Context::default()
        };
        Self {
            wish: wish.clone(),
            trust,
            phase: Phase::Preparing { gather: Gather::default(), head: None },
            attempt: 0,
            retried: false,
            cycle: 1,
            pressed: false,
            ranking: Vec::new(),
            shown: 0,
            mind: OnMind::default(),
            transcript: Vec::new(),
            context,
            window,
            around,
            too_long: 0,
            lost: 0,
            powers: None,
            off: Off::new(),
        }
    }

    /// What it asks the model for: where nothing can be thought on, an action.
    pub(super) fn purpose(&self, cycles: u32) -> Purpose {
        let must_act = self.pressed || self.wish.last || self.cycle >= cycles;
        if must_act { Purpose::Act } else { Purpose::Deliberate }
    }

    /// The most that a call of so many tokens costs.
    pub(super) fn cost(&self, sent: u64, most: u64, settings: &PrefrontalSettings) -> Cost {
        let price = match self.purpose(settings.cycles) {
            Purpose::Act => settings.prices.act,
            _ => settings.prices.deliberate,
        };
        Cost { tokens: sent + most, money: price.of(sent, most) }
    }

    /// The thought before this cycle's.
    pub(super) fn before(&self) -> Option<&str> {
        self.transcript.last().map(|exchange| exchange.thought.as_str())
    }
}
