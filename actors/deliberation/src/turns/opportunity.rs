//! Unasked acts: the room asks about opportunities, and makes a turn of the chosen act.
//!
//! Biology: the dorsal striatum, which selects among the actions that the scene affords by their learned values.
//! Law: an opportunity is weighed while the brain is awake, no turn is open, no goal is active and nothing is held or stopped.
//! The pace bounds how often. Experience and gate are asked about each option, with a deadline. `initiative/choice.rs` has the
//! law of choice. The chosen act becomes a turn like any other and passes all gates. The others cost no turn. While nothing among
//! the same things is worth an act, the pauses grow.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use maxim_bus::Trust;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::acting::{ActChosen, OpportunitySensed};
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::intent::{Intent, IntentRefused, Refusal};
use maxim_bus::signals::introspection::{ForeseeVerdict, VerdictForeseen};
use maxim_bus::signals::lifecycle::PreemptionRequested;
use maxim_bus::signals::percept::Disposition;
use maxim_bus::signals::recall::{EnrichedPercept, OutcomesPredicted, PredictOutcomes};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::sleep::{SleepEnded, SleepEntered};
use maxim_bus::signals::thought::{ActionSummary, Thought};
use maxim_bus::units::Confidence;
use serde_json::{Value as Json, json};

use super::region::{Turns, TurnsEvent};
use super::turn::Turn;
use crate::initiative::choice::{Considered, key_of};
use crate::initiative::wording::{alternatives, reason};
use crate::initiative::{Acting, ActingEvent, Answer, Choice, Chosen, Halt, Pondering};
use crate::recollection::StepWanted;
use maxim_region::{Hears, Pulse};

/// Time for the answers of experience and gate. A missing answer counts as nothing known.
const ANSWERS: SignedDuration = SignedDuration::from_millis(300);
/// A chosen act that hasn't begun by then isn't done: the scene has changed.
const FRESH: SignedDuration = SignedDuration::from_secs(10);

impl Turns {
    /// Nothing else is going on, and nothing forbids an act.
    fn is_idle(&self) -> bool {
        let Acting { asleep, halt, .. } = self.acting;
        self.turns.is_empty() && self.goals.active().is_none() && !self.held && !asleep && halt == Halt::None
    }

    /// Decides with the answers that have come, when the time is over.
    pub(super) fn settle_overdue(&self, pulse: &mut Pulse<'_, Self>) {
        if let Some(pondering) = self.acting.pondering.clone().filter(|pondering| pondering.due <= pulse.now()) {
            self.settle(pondering, pulse);
        }
    }

    fn settle(&self, pondering: Pondering, pulse: &mut Pulse<'_, Self>) {
        let law = pulse.settings().acting.law;
        let choice = self.acting.choose(&pondering, &law, pulse.chance());
        let Choice { options, keys, chosen, nothing } = choice;
        let things = pondering.things;
        let chosen = chosen.filter(|_| self.is_idle()).map(|chosen| {
            let (turn, at) = (pulse.fresh_id(), pulse.now());
            pulse.emit_trusted(turn, Trust::Own, OpportunitySensed { turn, things: things.clone() });
            Box::new(Chosen { turn, at, act: ActChosen { options, chosen, nothing } })
        });
        let (at, memory) = (pulse.now(), law.memory);
        pulse.keep(TurnsEvent::Acting(ActingEvent::Settled { keys, things, chosen, at, memory }));
    }

    /// Takes an answer. The last one settles the choice.
    fn answered(&self, answer: Answer, pulse: &mut Pulse<'_, Self>) {
        let Some(question) = pulse.cause().and_then(|meta| meta.cause) else { return };
        let asked = self.acting.pondering.as_ref().filter(|pondering| pondering.questions.contains_key(&question));
        let Some(mut pondering) = asked.cloned() else { return }; // it came after the deadline
        pondering.take(question, answer.clone());
        match pondering.questions.is_empty() {
            true => self.settle(pondering, pulse),
            false => pulse.keep(TurnsEvent::Acting(ActingEvent::Answered { question, answer })),
        }
    }

    /// The turn of the chosen act: does it now, unless something came in between.
    pub(super) fn take_opportunity(&self, enriched: &EnrichedPercept, pulse: &mut Pulse<'_, Self>) {
        let (id, now) = (pulse.turn(), pulse.now());
        let chosen = self.acting.chosen.as_ref().filter(|chosen| chosen.turn == id);
        if chosen.is_some() {
            pulse.keep(TurnsEvent::Acting(ActingEvent::Taken));
        }
        let may = enriched.salient.disposition == Disposition::Proceed && self.is_idle();
        let timely = chosen.filter(|chosen| may && now.duration_since(chosen.at) < FRESH);
        let Some((chosen, option)) = timely.and_then(|chosen| Some((chosen, chosen.option()?))) else {
            return self.end(Turn::unasked(id), false, pulse);
        };
        let why = reason(option);
        let instead = alternatives(&chosen.act);
        let confidence = Confidence::clamped(option.chance);
        let mut turn = Turn { confidence, decided: Some(why.clone()), ..Turn::unasked(id) };
        pulse.emit_trusted(id, Trust::Own, Thought { turn: id, mind: turn.mind, text: why, confidence });
        pulse.emit_trusted(id, Trust::Own, chosen.act.clone());
        let intent = Intent { instead, ..self.intent(&turn, &option.tool, option.params.clone()) };
        pulse.emit_trusted(id, Trust::Own, intent);
        turn.current = Some(StepWanted { tool: option.tool.clone(), params: option.params.clone(), question: None });
        self.keep(&turn, pulse);
    }

    /// Ends an unasked turn. It is learned from, and no person is told.
    pub(super) fn end_unasked(&self, mut turn: Turn, action: ActionSummary, pulse: &mut Pulse<'_, Self>) {
        turn.actions.push(action);
        self.end(turn, false, pulse);
    }

    pub(super) fn refused_unasked(&self, refused: &IntentRefused, params: &Json, pulse: &mut Pulse<'_, Self>) {
        if refused.refusal != Refusal::Stopped {
            let (key, until) = (key_of(&refused.tool, params), pulse.now().later(pulse.settings().acting.refused));
            pulse.keep(TurnsEvent::Acting(ActingEvent::Refused { key, until }));
        }
    }

    pub(super) fn acting_after(&self, request: &PreemptionRequested, pulse: &mut Pulse<'_, Self>) {
        let halt = self.acting.halt.after(request);
        if halt != self.acting.halt {
            pulse.keep(TurnsEvent::Acting(ActingEvent::Halted(halt)));
        }
    }
}

impl Hears<SceneNoticed> for Turns {
    fn hear(&self, noticed: &SceneNoticed, pulse: &mut Pulse<'_, Self>) {
        let (now, settings) = (pulse.now(), pulse.settings());
        let (acting, Acting { pondering, chosen, .. }) = (&settings.acting, &self.acting);
        let is_busy = pondering.is_some() || chosen.as_ref().is_some_and(|out| now.duration_since(out.at) < FRESH);
        if !acting.on || settings.affordances.is_empty() || is_busy || !self.is_idle() {
            return;
        }
        let mut things: Vec<String> = noticed.here(now).map(|thing| thing.name.clone()).collect();
        let mut options = self.acting.options(&settings.affordances, &things, noticed.pose.as_ref(), now);
        options.truncate(acting.options);
        // Another order of the same things is no news.
        things.sort_unstable();
        if self.acting.rests(&things, acting.every, now) {
            return;
        }
        let mut questions = BTreeMap::new();
        for (place, option) in options.iter().enumerate().filter(|(_, option)| option.barred.is_none()) {
            let Considered { tool, params, .. } = option.clone();
            let foresee = ForeseeVerdict { tool: tool.clone(), params: params.clone() };
            questions.insert(pulse.ask(foresee), place);
            let context = json!({});
            let predict = PredictOutcomes { tool_name: tool, params, context, include_all_outcomes: false };
            questions.insert(pulse.ask(predict), place);
        }
        if !questions.is_empty() {
            let pondering = Pondering { due: now.later(ANSWERS), things, options, questions };
            pulse.keep(TurnsEvent::Acting(ActingEvent::Pondered(Box::new(pondering))));
        }
    }
}

impl Hears<OutcomesPredicted> for Turns {
    fn hear(&self, predicted: &OutcomesPredicted, pulse: &mut Pulse<'_, Self>) {
        self.answered(Answer::Expected(predicted.into()), pulse);
    }
}

impl Hears<VerdictForeseen> for Turns {
    fn hear(&self, foreseen: &VerdictForeseen, pulse: &mut Pulse<'_, Self>) {
        self.answered(Answer::Foreseen(Box::new(foreseen.clone())), pulse);
    }
}

impl Hears<EnergyChanged> for Turns {
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TurnsEvent::Acting(ActingEvent::Energy(changed.level)));
    }
}

impl Hears<SleepEntered> for Turns {
    fn hear(&self, _entered: &SleepEntered, pulse: &mut Pulse<'_, Self>) {
        if !self.acting.asleep {
            pulse.keep(TurnsEvent::Acting(ActingEvent::Asleep(true)));
        }
    }
}

impl Hears<SleepEnded> for Turns {
    fn hear(&self, _ended: &SleepEnded, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TurnsEvent::Acting(ActingEvent::Asleep(false)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::tz::TimeZone;
    use maxim_bus::latch::Permit;
    use maxim_bus::signals::scene::{Pose, SceneThing, ThingKind};
    use maxim_bus::signals::sleep::{SleepPhase, SleepReason, SleepReport};
    use maxim_bus::units::{Novelty, Salience, Valence, Value};
    use maxim_bus::{Clock, MessageId};

    use super::super::settings::TurnsSettings;
    use super::*;
    use crate::initiative::{ActLaw, ActingSettings};
    use maxim_region::rig::{Rig, ear};
    use maxim_tools::{Hands, Tool, ToolOutcome, ToolSpec, core_registry};

    struct Act(ToolSpec);

    impl Tool for Act {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn run(&self, _params: &Json, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
            ToolOutcome::done(Json::Null)
        }
    }

    /// Two things with one act each. The second act serves this need. Without chance.
    fn rig(serves: &str) -> Rig<Turns> {
        let mut tools = core_registry().expect("good specs");
        for (name, thing, serves) in [("pat", "dog", None), ("plug_in", "socket", Some(serves.to_owned()))] {
            let scene = vec![thing.to_owned()];
            let spec = ToolSpec { scene, unasked: true, serves, ..ToolSpec::new(name, "Something to do.") };
            tools.register(Arc::new(Act(spec))).expect("a good spec");
        }
        let law = ActLaw { temperature: 0.0, ..ActLaw::default() };
        let acting = ActingSettings { law, ..ActingSettings::default() };
        let settings = TurnsSettings::new(&[], &Arc::new(tools), TimeZone::UTC, None, acting).expect("a grammar");
        Rig::new(settings, |bus, probe| {
            ear::<OpportunitySensed>(bus, probe);
            ear::<PredictOutcomes>(bus, probe);
        })
    }

    fn sees(rig: &mut Rig<Turns>, names: &[&str], hunger: f64) {
        let at = rig.clock.now();
        let thing = |name: &&str| SceneThing {
            name: (*name).into(),
            kind: ThingKind::Object,
            confidence: Confidence::clamped(0.9),
            novelty: Novelty::clamped(1.0),
            salience: Salience::clamped(0.5),
            last_seen: at,
            sightings: 1,
            dwell_s: None,
        };
        let pose = Some(Pose::from([("hunger".to_owned(), hunger)]));
        rig.send(SceneNoticed { things: names.iter().map(thing).collect(), gaze: None, pose });
    }

    fn chosen(rig: &Rig<Turns>) -> Option<&str> {
        let chosen = rig.region().acting.chosen.as_ref()?;
        chosen.option().map(|option| option.tool.as_str())
    }

    #[test]
    fn without_answers_the_time_is_waited_for_and_what_is_new_is_tried() {
        let mut rig = rig("nothing");
        sees(&mut rig, &["cup"], 0.0);
        assert!(rig.region().acting.pondering.is_none(), "nothing can be done with a cup");
        sees(&mut rig, &["dog", "socket"], 0.0);
        assert_eq!(rig.heard::<PredictOutcomes>().len(), 2);
        rig.crash();
        rig.pass(Duration::from_millis(299));
        assert!(rig.heard::<OpportunitySensed>().is_empty());
        rig.pass(Duration::from_millis(2));
        assert_eq!(rig.heard::<OpportunitySensed>()[0].things, ["dog", "socket"]);
        assert!(chosen(&rig).is_some());
    }

    #[test]
    fn an_answer_counts_for_the_option_that_it_is_about() {
        let mut rig = rig("nothing");
        sees(&mut rig, &["dog", "socket"], 0.0);
        let questions = rig.region().acting.pondering.clone().expect("it weighs").questions;
        let expected = |tool: &str, value: f64| OutcomesPredicted {
            tool_name: tool.into(),
            known: true,
            value: Value::clamped(value),
            valence: Valence::Neutral,
            confidence: Confidence::clamped(0.9),
            observations: 3,
            delay_s: None,
            outcomes: Vec::new(),
            links: Vec::new(),
            episodes: Vec::new(),
        };
        // About each option the gate is asked first. Here it doesn't answer.
        for (place, (tool, value)) in [("pat", 0.2), ("plug_in", 0.9)].into_iter().enumerate() {
            let of_option = questions.iter().filter(|(_, at)| **at == place).map(|(question, _)| *question);
            for question in of_option.take(1) {
                rig.answer(MessageId::from_parts(1, 1), question, expected(tool, value));
            }
        }
        rig.pass(Duration::from_millis(301));
        assert_eq!(chosen(&rig), Some("plug_in"));
    }

    #[test]
    fn a_need_makes_what_serves_it_worth_more() {
        let mut fed = rig("hunger");
        sees(&mut fed, &["dog", "socket"], 0.9);
        fed.pass(Duration::from_millis(301));
        assert_eq!(chosen(&fed), Some("plug_in"));
        let mut tired = rig("energy");
        tired.send(EnergyChanged { level: 0.1, scarcest: "battery".into() });
        sees(&mut tired, &["dog", "socket"], 0.0);
        tired.pass(Duration::from_millis(301));
        assert_eq!(chosen(&tired), Some("plug_in"));
    }

    #[test]
    fn nothing_is_weighed_in_sleep() {
        let mut rig = rig("nothing");
        let sleep = MessageId::from_parts(1, 1);
        rig.send(SleepEntered { sleep, phase: SleepPhase::Scoring });
        sees(&mut rig, &["dog"], 0.0);
        assert!(rig.region().acting.pondering.is_none());
        let at = rig.clock.now();
        let report = SleepReport {
            sleep,
            why: SleepReason::Asked,
            began: at,
            ended: at,
            sessions: 0,
            episodes: Default::default(),
            knowledge: Default::default(),
            promoted: 0,
            reinforced: 0,
            interruptions: 0,
            missing: Vec::new(),
        };
        rig.send(SleepEnded { report, askers: Vec::new() });
        sees(&mut rig, &["dog"], 0.0);
        assert!(rig.region().acting.pondering.is_some());
    }
}
