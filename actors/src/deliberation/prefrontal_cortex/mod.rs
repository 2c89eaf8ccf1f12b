//! Prefrontal cortex: deliberation with a language model, where one is configured.
//!
//! Biology: the lateral prefrontal cortex, slow and costly, for what habit doesn't settle.
//! Law: asks the tool index which tools fit, builds a prompt within the model's window, and asks the model, within the token
//! budgets of the hour and the day. A reply that can't be read is answered once with the error; a second one, an error or a
//! spent budget hands the turn back to habit. Three failures in a row open the circuit for a minute. Below 15 % of energy it
//! rests.
//! Remembers: turns that wait for tools or for the model, as records; the last prompt; tokens of this hour and day, failures,
//! counts. Forgets: turns when they are answered, tokens with the day.
//! Down: habit answers at its deadline.

mod asking;
mod budget;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::prompt::{PromptBuilt, RankTools, ToolsRanked};
use maxim_bus::signals::thought::{Deliberate, ModelCall, ModelProposal, ModelReply};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use crate::deliberation::prompt::{Section, ToolShelf};
use crate::deliberation::reply::read_action;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

use asking::Unread;
pub use asking::{LAST_PROMPT, LastPrompt, stable_sections};
use budget::Spent;

/// Failures in a row that open the circuit.
const FAILURES: u32 = 3;
/// How long the circuit stays open.
const OPEN: SignedDuration = SignedDuration::from_secs(60);
/// Share of energy below which nothing is worth thinking about.
const RESTS_BELOW: f64 = 0.15;
/// How long the tool index is waited for.
const RANKING: SignedDuration = SignedDuration::from_millis(100);
/// The room that knows which tools fit.
const TOOL_INDEX: RegionName = "tool_index";
/// The record of [`Counts`].
pub const COUNTS: &str = "counts";
/// Characters of a reply that can't be read which the model is shown again.
const SHOWN_AGAIN: usize = 600;

/// How deliberation is set up.
#[derive(Clone, Debug)]
pub struct PrefrontalSettings {
    /// Whether there is a model at all.
    pub model: bool,
    pub timeout: SignedDuration,
    /// Tokens in an hour; a call that would pass it isn't made.
    pub tokens_per_hour: u64,
    /// Tokens in a day, likewise.
    pub tokens_per_day: u64,
    /// The model's window: prompt and reply together. A call that doesn't fit isn't made.
    pub context_tokens: u64,
    /// The reply's tokens at most.
    pub reply_tokens: u32,
    /// The tools as the model is shown them, made from the registry.
    pub tools: Arc<ToolShelf>,
    /// Sections that stay the same: instructions, who it is, its constitution.
    pub stable: Arc<Vec<Section>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PrefrontalCortex {
    /// Turns that wait, and until when.
    calls: BTreeMap<MessageId, Timestamp>,
    #[serde(flatten)]
    spent: Spent,
    failures: u32,
    open_until: Option<Timestamp>,
    /// What is left of the scarcest, and its name, while it is too little.
    #[serde(default)]
    tired: Option<(f64, String)>,
    #[serde(default)]
    counts: Counts,
}

/// What became of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub read: u64,
    /// Of these, replies that weren't the JSON that was asked for.
    pub repaired: u64,
    /// Replies that could not be read, and were answered with the error.
    pub retried: u64,
    /// Turns that went back to habit.
    pub handed_back: u64,
}

/// A turn that is being thought about, as a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    wish: Deliberate,
    trust: Trust,
    /// The call that is out; none while the tool index is asked.
    call: Option<MessageId>,
    attempt: u32,
    /// Tools that fit, best first, and how many of them to show whole.
    ranking: Vec<String>,
    shown: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PrefrontalEvent {
    Asked {
        turn: MessageId,
        due: Timestamp,
    },
    /// The model answered something, and it was paid for.
    Paid {
        at: Timestamp,
        tokens: u64,
    },
    Retried {
        turn: MessageId,
        due: Timestamp,
    },
    Answered {
        turn: MessageId,
        #[serde(default)]
        repaired: bool,
    },
    /// The model or its reply failed.
    Failed {
        turn: MessageId,
        at: Timestamp,
    },
    /// It wasn't asked.
    Declined {
        turn: MessageId,
    },
    Energy(Option<(f64, String)>),
}

wiring!(PrefrontalCortex {
    hears: [Deliberate, ToolsRanked, ModelReply, EnergyChanged],
    back: [],
    emits: [RankTools, PromptBuilt, ModelCall, ModelProposal],
});

impl Region for PrefrontalCortex {
    const NAME: RegionName = "prefrontal_cortex";
    const STAGE: Stage = Stage::Deliberation;
    type Event = PrefrontalEvent;
    type Settings = PrefrontalSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: PrefrontalEvent) {
        match event {
            PrefrontalEvent::Asked { turn, due } => {
                self.calls.insert(turn, due);
            }
            PrefrontalEvent::Paid { at, tokens } => self.spent.pay(at, tokens),
            PrefrontalEvent::Retried { turn, due } => {
                self.calls.insert(turn, due);
                self.counts.retried += 1;
            }
            PrefrontalEvent::Answered { turn, repaired } => {
                self.calls.remove(&turn);
                self.failures = 0;
                self.open_until = None;
                self.counts.read += 1;
                self.counts.repaired += u64::from(repaired);
            }
            PrefrontalEvent::Declined { turn } => {
                self.calls.remove(&turn);
                self.counts.handed_back += 1;
            }
            PrefrontalEvent::Failed { turn, at } => {
                self.calls.remove(&turn);
                self.counts.handed_back += 1;
                self.failures += 1;
                if self.failures >= FAILURES {
                    self.failures = 0;
                    self.open_until = Some(at + OPEN);
                }
            }
            PrefrontalEvent::Energy(tired) => self.tired = tired,
        }
    }

    fn next_deadline(&self, _settings: &PrefrontalSettings) -> Option<Timestamp> {
        self.calls.values().min().copied()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for turn in self.calls.iter().filter(|(_, due)| **due <= now).map(|(turn, _)| *turn) {
            match self.pending(turn, pulse) {
                // The index is silent: the tools are shown as they stand.
                Some(pending) if pending.call.is_none() => self.ask(pending, None, pulse),
                _ => self.fail(turn, "the model did not answer in time", pulse),
            }
        }
    }
}

fn record_key(turn: MessageId) -> Vec<u8> {
    format!("turn/{turn}").into_bytes()
}

impl PrefrontalCortex {
    fn pending(&self, turn: MessageId, pulse: &Pulse<'_, Self>) -> Option<Pending> {
        if self.calls.contains_key(&turn) { pulse.record(&record_key(turn)) } else { None }
    }

    fn hand_back(&self, turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        pulse.remove(record_key(turn));
        let (params, reasoning) = (serde_json::Value::Null, String::new());
        pulse.emit_in(turn, ModelProposal { turn, tool: None, params, reasoning, error: Some(why.into()) });
    }

    /// The counts as they will be, for whoever looks from outside.
    fn count(&self, change: impl FnOnce(&mut Counts), pulse: &mut Pulse<'_, Self>) {
        let mut counts = self.counts;
        change(&mut counts);
        pulse.put(COUNTS, &counts);
    }

    fn fail(&self, turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PrefrontalEvent::Failed { turn, at: pulse.now() });
        self.count(|counts| counts.handed_back += 1, pulse);
        self.hand_back(turn, why, pulse);
    }

    fn decline(&self, turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PrefrontalEvent::Declined { turn });
        self.count(|counts| counts.handed_back += 1, pulse);
        self.hand_back(turn, why, pulse);
    }

    /// Why the model isn't asked, whatever the prompt.
    fn objection(&self, pulse: &Pulse<'_, Self>) -> Option<String> {
        if !pulse.settings().model {
            return Some("no model is configured".into());
        }
        if self.open_until.is_some_and(|until| pulse.now() < until) {
            return Some("the model failed several times; it is left alone for a minute".into());
        }
        let (level, scarcest) = self.tired.as_ref()?;
        Some(format!("only {:.0} % of energy is left ({scarcest}), so thinking rests", level * 100.0))
    }

    /// Builds the prompt and asks the model. `unread` is its reply that could not be read, with the reason.
    fn ask(&self, pending: Pending, unread: Option<&Unread>, pulse: &mut Pulse<'_, Self>) {
        let (settings, now, turn) = (pulse.settings(), pulse.now(), pending.wish.turn);
        let built = asking::prompt(&pending, unread, now, settings);
        let (prompt, tools) = match built {
            Ok(built) => built,
            Err(why) => return self.decline(turn, &why.to_string(), pulse),
        };
        let cost = prompt.tokens as u64 + u64::from(settings.reply_tokens);
        if let Some(why) = self.spent.objection(now, cost, settings) {
            return self.decline(turn, &why, pulse);
        }
        let (call, due) = (pulse.fresh_id(), now + settings.timeout);
        let pending = Pending { call: Some(call), attempt: pending.attempt + 1, ..pending };
        if unread.is_some() {
            pulse.keep(PrefrontalEvent::Retried { turn, due });
            self.count(|counts| counts.retried += 1, pulse);
        } else {
            pulse.keep(PrefrontalEvent::Asked { turn, due });
        }
        pulse.put(record_key(turn), &pending);
        let built = PromptBuilt {
            turn,
            call,
            attempt: pending.attempt,
            tokens: u32::try_from(prompt.tokens).unwrap_or(u32::MAX),
            budget: u32::try_from(settings.context_tokens).unwrap_or(u32::MAX).saturating_sub(settings.reply_tokens),
            sections: prompt.fates.clone(),
            tools,
        };
        pulse.put(LAST_PROMPT, &LastPrompt::of(&prompt, &built, now));
        pulse.emit_trusted(turn, pending.trust, built);
        let (system, user, max_tokens) = (prompt.system, prompt.user, settings.reply_tokens);
        pulse.emit_trusted(turn, pending.trust, ModelCall { call, turn, system, user, max_tokens });
    }
}

impl Hears<Deliberate> for PrefrontalCortex {
    fn hear(&self, wish: &Deliberate, pulse: &mut Pulse<'_, Self>) {
        let turn = wish.turn;
        if let Some(why) = self.objection(pulse) {
            return self.decline(turn, &why, pulse);
        }
        let (trust, ranking) = (pulse.trust(), Vec::new());
        pulse.put(record_key(turn), &Pending { wish: wish.clone(), trust, call: None, attempt: 0, ranking, shown: 0 });
        pulse.keep(PrefrontalEvent::Asked { turn, due: pulse.now() + RANKING });
        pulse.ask(TOOL_INDEX, RankTools { turn, goal: wish.text.chars().take(400).collect() });
    }
}

impl Hears<ToolsRanked> for PrefrontalCortex {
    fn hear(&self, ranked: &ToolsRanked, pulse: &mut Pulse<'_, Self>) {
        let pending = self.pending(ranked.turn, pulse).filter(|pending| pending.call.is_none());
        let Some(pending) = pending else { return }; // it came after the deadline
        let ranking = ranked.tools.iter().map(|(name, _)| name.clone()).collect();
        self.ask(Pending { ranking, shown: ranked.shown as usize, ..pending }, None, pulse);
    }
}

impl Hears<EnergyChanged> for PrefrontalCortex {
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        let tired = (changed.level < RESTS_BELOW).then(|| (changed.level, changed.scarcest.clone()));
        if tired != self.tired {
            pulse.keep(PrefrontalEvent::Energy(tired));
        }
    }
}

impl Hears<ModelReply> for PrefrontalCortex {
    fn hear(&self, reply: &ModelReply, pulse: &mut Pulse<'_, Self>) {
        let turn = reply.turn;
        let tokens = u64::from(reply.prompt_tokens) + u64::from(reply.completion_tokens);
        if tokens > 0 {
            pulse.keep(PrefrontalEvent::Paid { at: pulse.now(), tokens });
        }
        let pending = self.pending(turn, pulse).filter(|pending| pending.call == Some(reply.call));
        let Some(pending) = pending else { return }; // it came after the deadline
        let text = match (&reply.text, &reply.error) {
            (Some(text), None) => text,
            (_, error) => return self.fail(turn, error.as_deref().unwrap_or("the model said nothing"), pulse),
        };
        let read = read_action(text).map_err(|error| error.to_string()).and_then(|read| match read.action {
            Some((tool, params)) => Ok((tool, params, read.reasoning, read.repaired)),
            None => Err("it names no tool, and there is no other cycle; act now, or use respond".to_owned()),
        });
        match read {
            Ok((tool, params, reasoning, repaired)) => {
                pulse.keep(PrefrontalEvent::Answered { turn, repaired });
                let more = |counts: &mut Counts| {
                    counts.read += 1;
                    counts.repaired += u64::from(repaired);
                };
                self.count(more, pulse);
                pulse.remove(record_key(turn));
                pulse.emit(ModelProposal { turn, tool: Some(tool), params, reasoning, error: None });
            }
            Err(error) if pending.attempt < 2 => {
                let reply = text.chars().take(SHOWN_AGAIN).collect();
                self.ask(pending, Some(&Unread { reply, error }), pulse);
            }
            Err(why) => self.fail(turn, &format!("the model's second reply could not be read either: {why}"), pulse),
        }
    }
}
