//! Turns that the model leads: its proposals are done, and their results go back to it, until it answers.
//!
//! Law: the tool's follow-up class decides whether a result goes back. After the allowed number of actions, after the same
//! action twice in a row, and after a second refusal by the gate, the model is asked for an answer alone. If the model can't go
//! on, the person is told what was done.

use maxim_bus::signals::skill::RUN_PROGRAM;
use maxim_bus::signals::thought::{Deed, Deliberate, Mind, ModelProposal, Thought};
use maxim_bus::units::Confidence;

use super::plan::{Plan, plan};
use super::region::Turns;
use super::turn::Turn;
use crate::recollection::StepWanted;
use maxim_bus::rooms::RESPOND;
use maxim_region::{Hears, Pulse};
use maxim_tools::narrative::{THINK, THOUGHTS};
use maxim_tools::{Door, FollowUp};

/// Highest confidence of a model's proposal.
const MODEL_SURE: f64 = 0.7;
/// Characters of a result that the model is shown.
const SHOWN: usize = 6_000;
/// Stands behind a text that was cut.
const CUT: &str = " … (cut)";
/// Refusals by the gate in one turn, after which nothing else is tried.
const REFUSALS: usize = 2;
const DENIED: &str = "denied";
const REFUSED: [&str; 2] = ["blocked", DENIED];

impl Turn {
    /// Whether the model leads the turn and this tool's result goes back to it.
    pub(super) fn goes_back(&self, follow_up: FollowUp) -> bool {
        self.mind == Mind::Model && self.wish.is_some() && matches!(follow_up, FollowUp::Process | FollowUp::Respond)
    }

    /// Thoughts since the last act.
    fn thoughts(&self) -> usize {
        self.done().iter().rev().take_while(|deed| deed.tool == THINK).count()
    }

    fn done(&self) -> &[Deed] {
        self.wish.as_ref().map_or(&[], |wish| &wish.done)
    }
}

impl Turns {
    /// Hands the turn to the model.
    pub(super) fn deliberate(&self, mut turn: Turn, wish: Deliberate, pulse: &mut Pulse<'_, Self>) {
        if !self.is_parked(&turn) {
            pulse.emit_trusted(turn.id, turn.trust, wish.clone());
            turn.thinking = true;
        }
        turn.wish = Some(Box::new(wish));
        self.keep(&turn, pulse);
    }

    /// Tells the model the result of an action. `words` are for the person, if nothing else is said.
    pub(super) fn think_on(&self, mut turn: Turn, deed: Deed, words: String, pulse: &mut Pulse<'_, Self>) {
        let Some(mut wish) = turn.wish.take() else { return };
        let steps = pulse.settings().steps as usize;
        if deed.tool != THINK {
            turn.outcomes.push(words); // thoughts are private
        }
        let mut outcome: String = deed.outcome.chars().take(SHOWN).collect();
        if outcome.len() < deed.outcome.len() {
            outcome.push_str(CUT);
        }
        wish.done.push(Deed { outcome, ..deed });
        let refused = wish.done.iter().filter(|deed| REFUSED.contains(&deed.status.as_str())).count();
        wish.last |= wish.done.len() >= steps || refused >= REFUSALS;
        self.deliberate(turn, *wish, pulse);
    }

    /// The model can't go on: the person hears what was done or refused. Thoughts alone aren't told.
    fn tell_outcomes(&self, mut turn: Turn, why: &str, pulse: &mut Pulse<'_, Self>) {
        let outcomes = std::mem::take(&mut turn.outcomes);
        if outcomes.is_empty() {
            return self.without_model(turn, why, pulse);
        }
        let (id, text) = (turn.id, format!("I tell what I did (the model could not help any further: {why})"));
        let thought = Thought { turn: id, mind: Mind::Habit, text, confidence: Confidence::clamped(1.0) };
        pulse.emit_trusted(id, turn.trust, thought);
        turn.said.extend(outcomes);
        self.go_on(turn, pulse);
    }

    /// All that failed was the model's own mistake. The person is helped as if the model had not been asked.
    fn without_model(&self, mut turn: Turn, why: &str, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        let mut plan = plan(&settings.view(&turn.sender), &turn.text, self.grounds_of(&turn), pulse.now());
        plan.thought = format!("{} (the model could not help: {why})", plan.thought);
        plan.instead.append(&mut turn.instead);
        (turn.wish, turn.mind) = (None, Mind::Habit);
        turn.outcomes.clear();
        self.consider(turn, plan, pulse);
    }
}

impl Hears<ModelProposal> for Turns {
    fn hear(&self, proposal: &ModelProposal, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = self.turn(proposal.turn, pulse) else { return };
        turn.thinking = false;
        let settings = pulse.settings();
        let Some(tool) = &proposal.tool else {
            let why = proposal.error.as_deref().unwrap_or("it proposed nothing");
            turn.instead.clone_from(&proposal.instead);
            return match turn.done().iter().any(|deed| deed.status != "failed") {
                true => self.tell_outcomes(turn, why, pulse),
                false => self.without_model(turn, why, pulse),
            };
        };
        // Tools of introspection and speech are looked up by name here. Autonomy resolves the names of the others.
        let meant = settings.meant(tool).filter(|spec| spec.door == Door::Introspection || spec.name == RESPOND);
        let tool = meant.map_or(tool, |spec| &spec.name);
        if tool == RUN_PROGRAM {
            let plan = self.programs.run(&proposal.params).unwrap_or_else(|why| Plan {
                say: Some(format!("I wanted to run a program, but {why}.")),
                ..Plan::default()
            });
            turn.wish = None;
            return self.begin(turn, plan, pulse);
        }
        turn.mind = Mind::Model;
        // A model may lower its confidence, but not raise it: autonomy asks below its own bar.
        let sure = proposal.confidence.map_or(MODEL_SURE, |said| said.get().min(MODEL_SURE));
        let (thought, confidence) = (proposal.reasoning.clone(), Confidence::clamped(sure));
        let mut instead = proposal.instead.clone();
        instead.append(&mut turn.instead);
        let mut plan = Plan { thought, confidence, instead, ..Plan::default() };
        if tool == RESPOND {
            let Some(words) = settings.words(&proposal.params) else {
                return self.tell_outcomes(turn, "its answer had no words", pulse);
            };
            plan.say = Some(words.to_owned());
            turn.outcomes.clear();
            return self.begin(turn, plan, pulse);
        }
        if turn.wish.as_ref().is_some_and(|wish| wish.last) {
            return self.tell_outcomes(turn, "it was told to answer, and did not", pulse);
        }
        let repeats = turn.done().last().is_some_and(|deed| deed.tool == *tool && deed.params == proposal.params);
        if repeats && let Some(mut wish) = turn.wish.take() {
            wish.last = true;
            return self.deliberate(turn, *wish, pulse);
        }
        if tool == THINK && turn.thoughts() >= THOUGHTS {
            let outcome = format!("you thought {THOUGHTS} times in a row: act now, or answer with {RESPOND}");
            let deed = Deed { tool: tool.clone(), params: proposal.params.clone(), status: DENIED.into(), outcome };
            return self.think_on(turn, deed, String::new(), pulse);
        }
        plan.steps = vec![StepWanted { tool: tool.clone(), params: proposal.params.clone(), question: None }];
        self.begin(turn, plan, pulse);
    }
}
