//! The beginning of a turn: a percept is answered at once, taken as a yes or no, planned, or handed to the model.

use maxim_bus::signals::percept::Disposition;
use maxim_bus::signals::recall::{EnrichedPercept, RecalledEpisode, Via};
use maxim_bus::signals::thought::{Deliberate, TurnEnded};

use super::handover::handed_over;
use super::plan::plan;
use super::region::{Turns, TurnsEvent};
use super::turn::{Turn, who};
use maxim_region::{Hears, Pulse};
use maxim_speech::answer;
use maxim_speech::question::whereabouts::whereabouts_asked;

/// The episodes that were found themselves. Mere associations are no evidence.
fn found(recalled: &[RecalledEpisode]) -> Vec<RecalledEpisode> {
    recalled.iter().filter(|episode| episode.via != Via::Association).cloned().collect()
}

impl Turns {
    /// Ends a turn without any proposal.
    fn end_at_once(&self, enriched: &EnrichedPercept, reply: String, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let channel = enriched.salient.percept.metadata.channel.clone();
        pulse.emit(TurnEnded {
            turn,
            channel,
            reply: Some(reply),
            spoken: false,
            actions: Vec::new(),
            lost: false,
            decided: None,
            rests_on: Vec::new(),
        });
    }
}

impl Hears<EnrichedPercept> for Turns {
    fn hear(&self, enriched: &EnrichedPercept, pulse: &mut Pulse<'_, Self>) {
        let percept = &enriched.salient.percept;
        if percept.is_sensed() {
            return self.take_opportunity(enriched, pulse);
        }
        match &enriched.salient.disposition {
            Disposition::Stopped { reason, by } => {
                let reply = answer::stopped(reason, by);
                return self.end_at_once(enriched, reply, pulse);
            }
            Disposition::Held { until } => {
                let until = until.map(|until| until.to_string());
                return self.end_at_once(enriched, answer::held(until.as_deref()), pulse);
            }
            Disposition::Proceed | Disposition::Noted => {}
        }
        if !percept.is_request() || enriched.salient.disposition == Disposition::Noted {
            // Reports of the senses and words of strangers are no requests. They are remembered and get no reply.
            self.note_answer(percept, pulse);
            let (turn, channel) = (pulse.turn(), percept.metadata.channel.clone());
            pulse.emit(TurnEnded {
                turn,
                channel,
                reply: None,
                spoken: false,
                actions: Vec::new(),
                lost: false,
                decided: None,
                rests_on: Vec::new(),
            });
            return;
        }
        let origin = &percept.metadata;
        let mut turn = Turn {
            text: percept.content.chars().take(2_000).collect(),
            recalled: found(&enriched.recalled),
            knowledge: enriched.knowledge.clone(),
            brief: self.counsel.is_brief(&who(&origin.channel, &origin.sender), pulse.now(), &pulse.settings().zone),
            aside: self.goals.is_laid_aside(pulse.turn()),
            ..Turn::new(pulse.turn(), pulse.trust(), &origin.channel, &origin.sender)
        };
        if percept.is_said() {
            let Some(unanswered) = self.answer_gate(percept, turn, pulse) else { return };
            turn = unanswered;
        }
        if let Some(plan) = self.about_goals(&turn, percept.is_said(), pulse) {
            return self.begin(turn, plan, pulse);
        }
        if let Some((template, plan)) = self.accepted(&turn, pulse) {
            turn.tried = Some(template);
            return self.begin(turn, plan, pulse);
        }
        if let Some((thing, true)) = whereabouts_asked(&percept.content) {
            return self.ask_place(turn, thing, None, pulse);
        }
        let settings = pulse.settings();
        if let Some(called) = self.programs.called(&percept.content) {
            return self.begin(turn, called, pulse);
        }
        let mut plan = plan(&settings.view(&turn.sender), &percept.content, self.grounds_of(&turn), pulse.now());
        // A practised program needs no model. A person's clear command comes first.
        let open = !plan.settled && (settings.model || plan.steps.is_empty());
        match self.programs.serving(&percept.content) {
            Some(mut practised) if open => {
                let why = "it is what the words ask for, but a practised program serves the goal";
                practised.instead = plan.passed_over(why);
                return self.begin(turn, practised, pulse);
            }
            Some(practised) => {
                let why = format!("a practised program ({}), but the words are a clear request", practised.thought);
                plan.instead.extend(practised.passed_over(&why));
            }
            None => {}
        }
        if let Some((name, words)) = plan.commanded.then(|| self.programs.news(&percept.content, &plan.steps)).flatten()
        {
            plan.say = Some(words);
            pulse.keep(TurnsEvent::Told { name });
        }
        if settings.model && !plan.settled {
            turn.instead = plan.passed_over("habit's own reading; the model was asked");
            // It isn't known which of them the model's words will rest on.
            turn.rest_on(enriched.recalled.iter().map(|episode| episode.id.clone()));
            let goal = self.goals.active();
            let wish = Deliberate { goal, ..handed_over(turn.id, enriched) };
            return self.deliberate(turn, wish, pulse);
        }
        self.consider(turn, plan, pulse);
    }
}
