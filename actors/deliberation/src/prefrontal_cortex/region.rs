//! The room: what it hears, what it waits for, and how a turn begins and ends here.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::concepts::{KnowledgeRecalled, RecallKnowledge};
use maxim_bus::signals::cycle::{CycleThought, DisplaySet, ThoughtGated};
use maxim_bus::signals::fear::{FearsRecalled, RecallFears};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::introspection::{ForeseeVerdict, VerdictForeseen};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::powers::{PowersReported, ReportPowers};
use maxim_bus::signals::prompt::{PromptBuilt, RankTools, ToolsRanked};
use maxim_bus::signals::recall::{
    DescribeTime, EpisodesRecalled, OutcomesPredicted, PredictOutcomes, PredictionErrorSensed, RecallEpisodes,
    TimeDescribed,
};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::skill::{ProgramsRecalled, RecallPrograms};
use maxim_bus::signals::sleep::{SleepEnded, SleepEntered};
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::signals::thought::{Deliberate, ModelCall, ModelProposal, ModelReply};
use maxim_bus::signals::working_memory::{SurveyWorkingMemory, WorkingMemorySurveyed};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::model::{COUNTS, Counts, Pending, Phase, PrefrontalSettings};
use super::on_mind::OnMind;
use super::reminding::Answer;
use super::surroundings::Surroundings;
use super::thought_gate::{Refused, ThoughtGate, tiredness};
use super::transcript;
use super::window::Window;
use maxim_bus::rooms::RESPOND;
use maxim_language::{Cost, Spent};
use maxim_region::wiring;
use maxim_region::{Gather, Hears, Pulse, Region};

/// Failures in a row that open the circuit.
const FAILURES: u32 = 3;
/// How long the circuit stays open; after that one failure opens it again, until something succeeds.
const OPEN: SignedDuration = SignedDuration::from_secs(60);
/// Prompts of one turn that may turn out too long.
const TOO_LONG: u32 = 2;
/// The tool index, working memory and the gate are waited for so many times as long as memory is between cycles.
const PREPARING: i32 = 2;
/// The room that knows which tools fit.
const TOOL_INDEX: RegionName = rooms::TOOL_INDEX;
/// The room that knows what the agent may.
const AUTONOMY: RegionName = rooms::AUTONOMY;
/// The room that knows what is on the mind.
const WORKING_MEMORY: RegionName = rooms::WORKING_MEMORY;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PrefrontalCortex {
    /// Turns that wait, and until when.
    pub(super) calls: BTreeMap<MessageId, Timestamp>,
    /// Of these, the ones that wait for the model, and the process that asked it.
    #[serde(default)]
    pub(super) called: BTreeMap<MessageId, u64>,
    #[serde(flatten)]
    pub(super) spent: Spent,
    failures: u32,
    open_until: Option<Timestamp>,
    /// What is left of the scarcest, and its name, while it is too little.
    #[serde(default)]
    tired: Option<(f64, String)>,
    #[serde(default)]
    pub(super) gate: ThoughtGate,
    #[serde(default)]
    window: Window,
    #[serde(default)]
    pub(super) around: Surroundings,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PrefrontalEvent {
    /// The turn waits for tools or for memory.
    Asked {
        turn: MessageId,
        due: Timestamp,
    },
    /// The model is asked, by this process.
    Called {
        turn: MessageId,
        due: Timestamp,
        boot: u64,
    },
    /// The ThoughtGate let it pass.
    Passed {
        at: Timestamp,
    },
    /// The model answered something, and it was paid for.
    Paid {
        at: Timestamp,
        tokens: u64,
        #[serde(default)]
        money: f64,
        #[serde(default)]
        boot: u64,
    },
    /// It came to a proposal.
    Answered {
        turn: MessageId,
        /// Something that the ThoughtGate can learn from will be done.
        #[serde(default)]
        acts: bool,
    },
    /// The model or its reply failed.
    Failed {
        turn: MessageId,
        at: Timestamp,
    },
    /// It wasn't asked, or had nothing to propose.
    Declined {
        turn: MessageId,
    },
    /// A stop ended the turn.
    Cancelled {
        turn: MessageId,
    },
    /// An action turned out better or worse than expected.
    Credited {
        deliberated: bool,
        rpe: f64,
    },
    Energy(Option<(f64, String)>),
    /// The server told how it counts.
    Measured(Window),
    /// Senses, body or display told something new.
    Around(Box<Surroundings>),
}

wiring!(PrefrontalCortex {
    hears: [
        Deliberate,
        ToolsRanked,
        WorkingMemorySurveyed,
        PowersReported,
        EpisodesRecalled,
        OutcomesPredicted,
        KnowledgeRecalled,
        TimeDescribed,
        VerdictForeseen,
        ProgramsRecalled,
        FearsRecalled,
        ModelReply,
        EnergyChanged,
        PreemptionChanged,
        SceneNoticed,
        MovementSensed,
        DisplaySet,
        GoalChanged,
        SleepEntered,
        SleepEnded,
        BodyStrained,
    ],
    back: [PredictionErrorSensed],
    emits: [
        RankTools,
        SurveyWorkingMemory,
        RecallEpisodes,
        PredictOutcomes,
        RecallKnowledge,
        DescribeTime,
        ForeseeVerdict,
        RecallPrograms,
        RecallFears,
        ReportPowers,
        ThoughtGated,
        PromptBuilt,
        ModelCall,
        CycleThought,
        ModelProposal,
    ],
});

impl Region for PrefrontalCortex {
    const NAME: RegionName = rooms::PREFRONTAL_CORTEX;
    const STAGE: Stage = Stage::Deliberation;
    type Event = PrefrontalEvent;
    type Settings = PrefrontalSettings;

    fn apply(&mut self, event: PrefrontalEvent) {
        match event {
            PrefrontalEvent::Asked { turn, due } => {
                self.calls.insert(turn, due);
                self.called.remove(&turn);
            }
            PrefrontalEvent::Called { turn, due, boot } => {
                self.calls.insert(turn, due);
                self.called.insert(turn, boot);
            }
            PrefrontalEvent::Passed { at } => self.gate.pass(at),
            PrefrontalEvent::Paid { at, tokens, money, boot } => self.spent.pay(at, Cost { tokens, money }, boot),
            PrefrontalEvent::Answered { turn, acts } => {
                self.close(turn);
                self.failures = 0;
                self.open_until = None;
                if acts {
                    self.gate.expect(turn);
                }
            }
            PrefrontalEvent::Declined { turn } | PrefrontalEvent::Cancelled { turn } => {
                self.close(turn);
            }
            PrefrontalEvent::Failed { turn, at } => {
                self.close(turn);
                self.failures += 1;
                if self.failures >= FAILURES {
                    self.failures = FAILURES - 1;
                    self.open_until = Some(at.later(OPEN));
                }
            }
            PrefrontalEvent::Credited { deliberated, rpe } => self.gate.credit(deliberated, rpe),
            PrefrontalEvent::Energy(tired) => self.tired = tired,
            PrefrontalEvent::Measured(window) => self.window = window,
            PrefrontalEvent::Around(around) => self.around = *around,
        }
    }

    fn next_deadline(&self, settings: &PrefrontalSettings) -> Option<Timestamp> {
        if self.orphaned(settings.boot).next().is_some() {
            return Some(Timestamp::UNIX_EPOCH);
        }
        self.calls.values().min().copied()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let (now, boot) = (pulse.now(), pulse.settings().boot);
        for turn in self.orphaned(boot) {
            self.call_again(turn, "the process that asked the model is gone", pulse);
        }
        for turn in self.calls.iter().filter(|(_, due)| **due <= now).map(|(turn, _)| *turn) {
            if self.called.get(&turn).is_some_and(|asked| *asked != boot) {
                continue;
            }
            let Some(pending) = self.pending(turn, pulse) else {
                self.fail(turn, "what was thought of it is lost", pulse);
                continue;
            };
            // Whoever is silent is a missing section: it goes on with what there is.
            match pending.phase {
                Phase::Preparing { .. } => self.weigh(pending, pulse),
                Phase::Reminding(_) => self.next_cycle(pending, pulse),
                Phase::Calling { .. } => self.fail(turn, "the model did not answer in time", pulse),
            }
        }
    }
}

pub(super) fn record_key(turn: MessageId) -> Vec<u8> {
    format!("turn/{turn}").into_bytes()
}

impl PrefrontalCortex {
    fn close(&mut self, turn: MessageId) {
        self.calls.remove(&turn);
        self.called.remove(&turn);
    }

    pub(super) fn pending(&self, turn: MessageId, pulse: &Pulse<'_, Self>) -> Option<Pending> {
        if self.calls.contains_key(&turn) { pulse.record(&record_key(turn)) } else { None }
    }

    /// Counts stand in their record alone, where whoever looks from outside finds them.
    pub(super) fn count(change: impl FnOnce(&mut Counts), pulse: &mut Pulse<'_, Self>) {
        let mut counts: Counts = pulse.record(COUNTS.as_bytes()).unwrap_or_default();
        change(&mut counts);
        pulse.put(COUNTS, &counts);
    }

    fn hand_back(turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        Self::count(|counts| counts.handed_back += 1, pulse);
        let pending: Option<Pending> = pulse.record(&record_key(turn));
        let instead = pending.map_or_else(Vec::new, |pending| transcript::passed_over(&pending.transcript, None));
        pulse.remove(record_key(turn));
        let (params, reasoning) = (serde_json::Value::Null, String::new());
        let error = Some(why.into());
        pulse.emit_in(turn, ModelProposal { turn, tool: None, params, reasoning, confidence: None, instead, error });
    }

    pub(super) fn fail(&self, turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PrefrontalEvent::Failed { turn, at: pulse.now() });
        Self::hand_back(turn, why, pulse);
    }

    pub(super) fn decline(turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PrefrontalEvent::Declined { turn });
        Self::hand_back(turn, why, pulse);
    }

    /// The ThoughtGate says no: habit has the turn, and the why-record the reason.
    fn refuse(&self, turn: MessageId, refused: Refused, pulse: &mut Pulse<'_, Self>) {
        let Refused { bar, reason, worth } = refused;
        Self::count(|counts| counts.gated += 1, pulse);
        let (refused, threshold) = (Some(bar), self.gate.threshold());
        pulse.emit_in(turn, ThoughtGated { turn, refused, reason: reason.clone(), worth, threshold });
        Self::decline(turn, &reason, pulse);
    }

    /// Why the model isn't asked, whatever it would be asked.
    pub(super) fn objection(&self, pulse: &Pulse<'_, Self>) -> Option<&'static str> {
        if !pulse.settings().model {
            return Some("no model is configured");
        }
        let open = self.open_until.is_some_and(|until| pulse.now() < until);
        open.then_some("the model failed several times; it is left alone for a minute")
    }

    /// Why no further call is made in a turn that has begun.
    pub(super) fn rests(&self) -> Option<String> {
        self.tired.as_ref().map(|(level, scarcest)| tiredness(*level, scarcest))
    }

    /// Tools and mind are known, as far as they answered: is it worth a thought?
    fn weigh(&self, mut pending: Pending, pulse: &mut Pulse<'_, Self>) {
        let turn = pending.wish.turn;
        let Phase::Preparing { head, gather } = &pending.phase else { return };
        // Without a ranking all tools are shown, so nothing is missing.
        let silent = gather.missing().filter(|room| *room != TOOL_INDEX);
        pending.context.missing.extend(silent.cloned());
        if !pending.wish.done.is_empty() {
            return self.ask(pending, None, pulse);
        }
        let worth = match self.gate.weigh(head.as_ref()) {
            Ok(worth) => worth,
            Err(refused) => return self.refuse(turn, refused, pulse),
        };
        pulse.keep(PrefrontalEvent::Passed { at: pulse.now() });
        let (refused, threshold) = (None, self.gate.threshold());
        let reason = worth.map_or_else(
            || "working memory did not say what it is worth".to_owned(),
            |worth| format!("it is worth {worth:.2}, and thinking pays from {threshold:.2} on"),
        );
        pulse.emit_trusted(turn, pending.trust, ThoughtGated { turn, refused, reason, worth, threshold });
        self.ask(pending, None, pulse);
    }

    /// Goes on once every room that the turn waits for has answered.
    fn prepared(&self, mut pending: Pending, room: RegionName, pulse: &mut Pulse<'_, Self>) {
        let Phase::Preparing { gather, .. } = &mut pending.phase else { return }; // it came after the deadline
        gather.close_for(room);
        if gather.is_whole() {
            self.weigh(pending, pulse);
        } else {
            pulse.put(record_key(pending.wish.turn), &pending);
        }
    }

    /// What a room answered to a thought.
    fn reminded(&self, answer: Answer, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let Some(mut pending) = self.pending(turn, pulse) else { return };
        // It may come after the deadline, when the next cycle is under way.
        let Phase::Reminding(reminded) = &mut pending.phase else { return };
        if !reminded.take(answer, pulse) {
            return;
        }
        if reminded.is_whole() {
            self.next_cycle(pending, pulse);
        } else {
            pulse.put(record_key(turn), &pending);
        }
    }
}

impl Hears<Deliberate> for PrefrontalCortex {
    fn hear(&self, wish: &Deliberate, pulse: &mut Pulse<'_, Self>) {
        let (turn, trust) = (wish.turn, pulse.trust());
        if let Some(why) = self.objection(pulse) {
            return Self::decline(turn, why, pulse);
        }
        // A turn that acts already is thought through.
        let admitted = self.gate.admit(trust, self.tired.as_ref(), pulse.settings().tick, pulse.now());
        if let (Err(refused), true) = (admitted, wish.done.is_empty()) {
            return self.refuse(turn, refused, pulse);
        }
        let window = self.window.not_below(&pulse.settings().counter);
        let due = pulse.now().later(pulse.settings().recall * PREPARING);
        let mut gather = Gather::until(due);
        gather.ask(RankTools { turn, goal: wish.text.chars().take(400).collect() }, pulse);
        let survey = SurveyWorkingMemory { turn: Some(turn), ..SurveyWorkingMemory::default() };
        gather.ask(survey, pulse);
        gather.ask(ReportPowers {}, pulse);
        let phase = Phase::Preparing { gather, head: None };
        let pending = Pending { phase, ..Pending::new(wish, trust, window, self.around.clone()) };
        pulse.put(record_key(turn), &pending);
        pulse.keep(PrefrontalEvent::Asked { turn, due });
    }
}

impl Hears<ToolsRanked> for PrefrontalCortex {
    fn hear(&self, answer: &ToolsRanked, pulse: &mut Pulse<'_, Self>) {
        let Some(mut pending) = self.pending(answer.turn, pulse) else { return };
        pending.ranking = answer.tools.iter().map(|(name, _)| name.clone()).collect();
        pending.shown = answer.shown as usize;
        self.prepared(pending, TOOL_INDEX, pulse);
    }
}

impl Hears<WorkingMemorySurveyed> for PrefrontalCortex {
    fn hear(&self, answer: &WorkingMemorySurveyed, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let Some(mut pending) = self.pending(turn, pulse) else { return };
        let Phase::Preparing { head, .. } = &mut pending.phase else { return }; // it came after the deadline
        head.clone_from(&answer.head);
        pending.mind = OnMind::of(&answer.entries, &pending.wish.with, pending.trust, pulse.now());
        if !pending.mind.is_empty() {
            pending.context.enriched.push(WORKING_MEMORY.into());
        }
        self.prepared(pending, WORKING_MEMORY, pulse);
    }
}

impl Hears<PowersReported> for PrefrontalCortex {
    fn hear(&self, answer: &PowersReported, pulse: &mut Pulse<'_, Self>) {
        let Some(mut pending) = self.pending(pulse.turn(), pulse) else { return };
        (pending.powers, pending.off) = (Some(answer.powers.clone()), answer.off.clone());
        self.prepared(pending, AUTONOMY, pulse);
    }
}

impl Hears<EpisodesRecalled> for PrefrontalCortex {
    fn hear(&self, answer: &EpisodesRecalled, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Episodes(answer.with_associations(pulse.settings().episodes)), pulse);
    }
}

impl Hears<OutcomesPredicted> for PrefrontalCortex {
    fn hear(&self, answer: &OutcomesPredicted, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Prediction(answer.clone()), pulse);
    }
}

impl Hears<KnowledgeRecalled> for PrefrontalCortex {
    fn hear(&self, answer: &KnowledgeRecalled, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Knowledge(answer.entries.clone()), pulse);
    }
}

impl Hears<TimeDescribed> for PrefrontalCortex {
    fn hear(&self, answer: &TimeDescribed, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Time(answer.clone()), pulse);
    }
}

impl Hears<VerdictForeseen> for PrefrontalCortex {
    fn hear(&self, answer: &VerdictForeseen, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Verdict(answer.clone()), pulse);
    }
}

impl Hears<ProgramsRecalled> for PrefrontalCortex {
    fn hear(&self, answer: &ProgramsRecalled, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Programs(answer.programs.clone()), pulse);
    }
}

impl Hears<FearsRecalled> for PrefrontalCortex {
    fn hear(&self, answer: &FearsRecalled, pulse: &mut Pulse<'_, Self>) {
        self.reminded(Answer::Fears(answer.clone()), pulse);
    }
}

impl Hears<ModelReply> for PrefrontalCortex {
    fn hear(&self, reply: &ModelReply, pulse: &mut Pulse<'_, Self>) {
        let turn = reply.turn;
        let tokens = u64::from(reply.prompt_tokens) + u64::from(reply.completion_tokens);
        if tokens > 0 {
            let boot = pulse.settings().boot;
            pulse.keep(PrefrontalEvent::Paid { at: pulse.now(), tokens, money: reply.money, boot });
        }
        let Some(mut pending) = self.pending(turn, pulse) else { return }; // it came after the deadline, or after a stop
        let Phase::Calling { call, since, estimate, .. } = pending.phase else { return };
        if call != reply.call {
            return;
        }
        if reply.lost {
            let why = reply.error.as_deref().unwrap_or("the worker went down");
            return self.call_again(turn, why, pulse);
        }
        pending.window = match reply.overflow {
            Some(overflow) => pending.window.refused(estimate, overflow, pulse.now()),
            None => pending.window.counted(estimate, reply.prompt_tokens),
        };
        pending.window = pending.window.not_below(&pulse.settings().counter);
        if pending.window != self.window {
            pulse.keep(PrefrontalEvent::Measured(pending.window));
        }
        if reply.overflow.is_some() && pending.too_long < TOO_LONG {
            pending.too_long += 1;
            return self.ask(pending, None, pulse);
        }
        match (&reply.text, &reply.error) {
            (Some(text), None) => self.read(pending, since, text, reply.is_cut, pulse),
            (_, error) => self.fail(turn, error.as_deref().unwrap_or("the model said nothing"), pulse),
        }
    }
}

impl Hears<EnergyChanged> for PrefrontalCortex {
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        let tired = changed.is_low().then(|| (changed.level, changed.scarcest.clone()));
        if tired != self.tired {
            pulse.keep(PrefrontalEvent::Energy(tired));
        }
    }
}

impl Hears<PreemptionChanged> for PrefrontalCortex {
    /// Habit tells the person; here a stopped turn must not go on to its next cycle.
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        self.note_motion(&changed.request, pulse);
        if !matches!(changed.request, PreemptionRequested::Stop(_)) {
            return;
        }
        for turn in self.calls.keys().copied() {
            pulse.keep(PrefrontalEvent::Cancelled { turn });
            pulse.remove(record_key(turn));
        }
    }
}

impl Hears<PredictionErrorSensed> for PrefrontalCortex {
    /// How speaking went says nothing of the thinking before it.
    fn heeds(sensed: &PredictionErrorSensed) -> bool {
        !sensed.event.starts_with(RESPOND)
    }

    fn hear(&self, sensed: &PredictionErrorSensed, pulse: &mut Pulse<'_, Self>) {
        if !pulse.settings().model {
            return;
        }
        let deliberated = self.gate.has_deliberated(pulse.turn());
        pulse.keep(PrefrontalEvent::Credited { deliberated, rpe: sensed.rpe.get() });
    }
}
