//! The cycles of a turn: a prompt, a reply, and what follows from it.

use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::cycle::{CycleEnding, CycleThought};
use maxim_bus::signals::prompt::PromptBuilt;
use maxim_bus::signals::thought::{ModelCall, ModelProposal};

use super::asking::{self, LAST_PROMPT, LastPrompt, Unread};
use super::cycles::{self, Standing};
use super::model::{Context, Pending, Phase};
use super::privacy;
use super::region::{PrefrontalCortex, PrefrontalEvent, record_key};
use super::reminding::Reminded;
use super::transcript::{self, Exchange};
use crate::reply::{ProposedAction, read_action};
use maxim_bus::rooms::RESPOND;
use maxim_region::Pulse;

/// Characters of a reply that can't be read which the model is shown again.
const SHOWN_AGAIN: usize = 600;

impl PrefrontalCortex {
    /// Builds the prompt and asks the model. `unread` is its reply that could not be read, with the reason.
    pub(super) fn ask(&self, pending: Pending, unread: Option<Unread>, pulse: &mut Pulse<'_, Self>) {
        let call = pulse.fresh_id();
        if unread.is_some() {
            Self::count(|counts| counts.retried += 1, pulse);
        }
        self.call(pending, call, unread, pulse);
    }

    /// The same under this id.
    pub(super) fn call(&self, pending: Pending, call: MessageId, unread: Option<Unread>, pulse: &mut Pulse<'_, Self>) {
        let (settings, now, turn) = (pulse.settings(), pulse.now(), pending.wish.turn);
        if let Some(why) = self.rests() {
            return Self::decline(turn, &why, pulse);
        }
        let built = asking::prompt(&pending, unread.as_ref(), now, settings);
        let (prompt, tools) = match built {
            Ok(built) => built,
            Err(why) => return Self::decline(turn, &why.to_string(), pulse),
        };
        let max_tokens = asking::reply_tokens(&pending, now, settings);
        let (sent, most) = (pending.window.real(prompt.tokens), u64::from(max_tokens));
        let cost = pending.cost(sent, most, settings);
        if let Some(why) = self.spent.objection(now, cost, &settings.budget, settings.boot) {
            return Self::decline(turn, &why, pulse);
        }
        let estimate = u32::try_from(prompt.tokens).unwrap_or(u32::MAX);
        let (retried, attempt) = (pending.retried || unread.is_some(), pending.attempt + 1);
        let phase = Phase::Calling { call, since: now, estimate, unread };
        let pending = Pending { phase, attempt, retried, ..pending };
        pulse.keep(PrefrontalEvent::Called { turn, due: now.later(settings.timeout), boot: settings.boot });
        pulse.put(record_key(turn), &pending);
        let built = PromptBuilt {
            turn,
            call,
            attempt: pending.attempt,
            tokens: estimate,
            budget: u32::try_from(settings.context_tokens).unwrap_or(u32::MAX).saturating_sub(settings.reply_tokens),
            sections: prompt.fates.clone(),
            tools: tools.clone(),
        };
        pulse.put(LAST_PROMPT, &LastPrompt::of(&prompt, &built, &settings.counter, now));
        pulse.emit_trusted(turn, pending.trust, built);
        let (system, user) = (prompt.system, prompt.user);
        let tools = settings.tools.callable(&tools, &pending.off);
        let purpose = pending.purpose(settings.cycles);
        let call = ModelCall { call, turn, purpose, system, user, max_tokens, tools, form: None };
        pulse.emit_trusted(turn, pending.trust, call);
    }

    pub(super) fn read(
        &self,
        pending: Pending,
        since: Timestamp,
        text: &str,
        is_cut: bool,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let read = match read_action(text) {
            // What is missing at the end of a text can't be repaired: a file would be written by half.
            Ok(read) if is_cut && read.repaired => {
                Err(format!("it was cut off after {} tokens; be shorter", pulse.settings().reply_tokens))
            }
            Ok(read) => Ok(read),
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(read) => self.think(pending, since, read, pulse),
            Err(error) if !pending.retried => {
                let reply = text.chars().take(SHOWN_AGAIN).collect();
                self.ask(pending, Some(Unread { reply, error }), pulse);
            }
            Err(why) => {
                let why = format!("the model's second reply could not be read either: {why}");
                self.fail(pending.wish.turn, &why, pulse);
            }
        }
    }

    /// One cycle is over.
    fn think(&self, mut pending: Pending, since: Timestamp, read: ProposedAction, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        let outward = privacy::outward(&read.reasoning, &settings.names);
        Self::count(
            |counts| {
                counts.read += 1;
                counts.repaired += u64::from(read.repaired);
                counts.outward += u64::from(!outward.is_empty());
            },
            pulse,
        );
        let (turn, trust, cycle) = (pending.wish.turn, pending.trust, pending.cycle);
        let standing = Standing { cycle, cycles: settings.cycles, pressed: pending.pressed, before: pending.before() };
        let ending = cycles::ending(read.ready, &read.reasoning, standing);
        let context = std::mem::take(&mut pending.context);
        let salience = cycles::salience(context.enriched.len(), context.memories, pending.before(), &read.reasoning);
        let Context { enriched, missing, recalled, knowledge, predicted, foreseen, .. } = context;
        let thought = CycleThought {
            turn,
            cycle,
            cycles: settings.cycles,
            seconds: pulse.now().duration_since(since).as_secs_f64(),
            enriched,
            missing,
            recalled,
            knowledge,
            predicted,
            foreseen,
            salience,
            text: read.reasoning.clone(),
            tool: read.action.as_ref().map(|(tool, _)| tool.clone()),
            confidence: read.confidence,
            ending,
            outward,
            display: self.around.display,
        };
        pulse.emit_trusted(turn, trust, thought);
        pending.transcript.push(Exchange::new(cycle, &read.reasoning, read.action.clone()));
        pending.cycle += 1;
        match (ending, &read.action) {
            (CycleEnding::Continued, action) => {
                let reminded = Reminded::ask(turn, &read.reasoning, action.as_ref(), pulse);
                let (is_whole, due) = (reminded.is_whole(), reminded.due());
                pending.phase = Phase::Reminding(Box::new(reminded));
                if is_whole {
                    return self.next_cycle(pending, pulse); // there is nothing to ask for
                }
                pulse.put(record_key(turn), &pending);
                pulse.keep(PrefrontalEvent::Asked { turn, due });
            }
            (_, Some(_)) => self.propose(&pending, read, pulse),
            (CycleEnding::Converged | CycleEnding::Last, None) => {
                pending.pressed = true;
                self.ask(pending, None, pulse);
            }
            (CycleEnding::Ready | CycleEnding::Pressed, None) => {
                Self::decline(turn, "the model thought about it and named no action", pulse);
            }
        }
    }

    /// Memory has answered, or its time is up.
    pub(super) fn next_cycle(&self, mut pending: Pending, pulse: &mut Pulse<'_, Self>) {
        if let Phase::Reminding(reminded) = pending.phase.clone() {
            let (answer, context) = reminded.told(pulse.settings().knowledge);
            if let Some(exchange) = pending.transcript.last_mut() {
                exchange.answer = answer;
                exchange.expected = context.predicted.as_ref().filter(|predicted| predicted.known).map(|p| p.value);
                exchange.verdict = context.foreseen.as_ref().map(|foreseen| foreseen.verdict);
            }
            pending.context = context;
            // Where no call follows, what was expected goes into the why-record from here.
            pulse.put(record_key(pending.wish.turn), &pending);
        }
        self.ask(pending, None, pulse);
    }

    fn propose(&self, pending: &Pending, read: ProposedAction, pulse: &mut Pulse<'_, Self>) {
        let Some((tool, params)) = read.action else { return };
        let turn = pending.wish.turn;
        pulse.keep(PrefrontalEvent::Answered { turn, acts: tool != RESPOND });
        pulse.remove(record_key(turn));
        let instead = transcript::passed_over(&pending.transcript, Some((&tool, &params)));
        let (tool, reasoning, confidence) = (Some(tool), read.reasoning, read.confidence);
        pulse.emit(ModelProposal { turn, tool, params, reasoning, confidence, instead, error: None });
    }
}
