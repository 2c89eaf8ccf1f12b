//! Questions to the bridges where a request isn't clear: plans that worked for such a goal, and usual places.
//!
//! Law: a bridge has 300 ms to answer. Its plan is offered, and done when the person says yes.

use maxim_bus::Trust;
use maxim_bus::signals::bridges::{
    LocateUsually, MannerLearned, PlannedStep, PlansProposed, ProposePlans, UsuallyLocated,
};

use super::counsel::{self, Offer};
use super::plan::{Plan, plan};
use super::region::{Turns, TurnsEvent};
use super::turn::{Turn, Waiting, who};
use crate::recollection::StepWanted;
use maxim_region::{Hears, Pulse};
use maxim_speech::Understanding;
use maxim_speech::answer::usually;

impl Turns {
    /// Begins the turn, or first asks the bridge of plans if the request isn't clear. People who may not command are offered nothing.
    pub(super) fn consider(&self, mut turn: Turn, plan: Plan, pulse: &mut Pulse<'_, Self>) {
        if !plan.lost || turn.trust < Trust::Listed {
            return self.begin(turn, plan, pulse);
        }
        let (id, goal) = (turn.id, turn.text.clone());
        pulse.ask(ProposePlans { turn: id, goal });
        turn.waiting = Some(Waiting::Plans);
        self.keep(&turn, pulse);
    }

    pub(super) fn ask_place(
        &self,
        mut turn: Turn,
        thing: String,
        fallback: Option<String>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        pulse.ask(LocateUsually { turn: turn.id, thing });
        turn.waiting = Some(Waiting::UsualPlace { fallback });
        self.keep(&turn, pulse);
    }

    /// The bridge knows nothing, or didn't answer in time.
    pub(super) fn without_bridge(&self, mut turn: Turn, pulse: &mut Pulse<'_, Self>) {
        match turn.waiting.take() {
            Some(Waiting::UsualPlace { fallback: Some(words) }) => {
                turn.said.push(words);
                self.go_on(turn, pulse);
            }
            _ => {
                let settings = pulse.settings();
                let plan = plan(&settings.view(&turn.sender), &turn.text, self.grounds_of(&turn), pulse.now());
                self.begin(turn, plan, pulse);
            }
        }
    }

    /// A yes to an offer, as the plan to do.
    pub(super) fn accepted(&self, turn: &Turn, pulse: &mut Pulse<'_, Self>) -> Option<(u64, Plan)> {
        let who = who(&turn.channel, &turn.sender);
        if !self.counsel.has_offer(&who) {
            return None;
        }
        pulse.keep(TurnsEvent::OfferClosed { who: who.clone() });
        let offer = self.counsel.offered(&who, pulse.now())?;
        let yes = Understanding::Acknowledgement { agrees: Some(true) };
        if turn.trust < Trust::Listed || pulse.settings().grammar.understand(&turn.text) != yes {
            return None;
        }
        let step =
            |step: &PlannedStep| StepWanted { tool: step.tool.clone(), params: step.params.clone(), question: None };
        let plan = Plan {
            steps: offer.steps.iter().map(step).collect(),
            thought: format!("I was told to do what worked for “{}”.", offer.goal),
            commanded: true,
            settled: true,
            ..Plan::default()
        };
        Some((offer.template, plan))
    }
}

impl Hears<PlansProposed> for Turns {
    fn hear(&self, proposed: &PlansProposed, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = self.turn(proposed.turn, pulse).filter(|turn| turn.waiting == Some(Waiting::Plans)) else {
            return; // it came after the deadline
        };
        let best = proposed.plans.iter().find(|plan| counsel::may_serve(&turn.text, &plan.goal));
        let Some(best) = best else { return self.without_bridge(turn, pulse) };
        let offer = Offer::of(best, pulse.now());
        let others = proposed.plans.iter().filter(|plan| plan.template != best.template);
        let plan = Plan {
            instead: others.filter_map(counsel::as_alternative).collect(),
            say: Some(offer.words()),
            thought: format!(
                "I don't understand this, but a plan for “{}” may serve (episode {}).",
                best.goal, best.episode
            ),
            settled: true,
            ..Plan::default()
        };
        pulse.keep(TurnsEvent::Offered { who: who(&turn.channel, &turn.sender), offer });
        turn.waiting = None;
        self.begin(turn, plan, pulse);
    }
}

impl Hears<UsuallyLocated> for Turns {
    fn hear(&self, located: &UsuallyLocated, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = self.turn(located.turn, pulse) else { return };
        let Some(Waiting::UsualPlace { fallback }) = turn.waiting.clone() else { return };
        let Some(words) = usually(located) else { return self.without_bridge(turn, pulse) };
        turn.waiting = None;
        match fallback {
            Some(unknown) => {
                turn.said.push(format!("{unknown} {words}"));
                self.go_on(turn, pulse);
            }
            None => {
                let thought = format!("I am asked where {} usually is; I know that from where it was.", located.thing);
                let plan = Plan { say: Some(words), thought, settled: true, ..Plan::default() };
                self.begin(turn, plan, pulse);
            }
        }
    }
}

impl Hears<MannerLearned> for Turns {
    fn hear(&self, manner: &MannerLearned, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TurnsEvent::Manner(manner.clone()));
    }
}
