//! The cerebellum as a room: learns skills by doing.
//!
//! Biology: the cerebellum, which predicts what a movement will feel like and turns practised sequences into one.
//! Law: forward models predict the change of each sensor (`forward.rs`); a movement that differs is an error that
//! hurts. A sequence that reached the same kind of goal three times becomes a program (`program.rs`), which habit
//! offers as one step. Which objects a tool works with is reported to the other memories (`object.rs`).
//! Remembers: models, programs, the latest examples of each sequence, pairs of tool and object. Forgets: failing
//! programs, old examples, how a body moved long ago, and everything learned only from episodes that a person has
//! forgotten (`forgetting.rs`).
//! Down: outcomes wait; known programs are still offered.

use std::collections::{BTreeMap, VecDeque};

use maxim_bus::rooms;
use maxim_bus::signals::body::{MovementSensed, SensoryErrorSensed};
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::concepts::RecordsRemoved;
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outcome::{FailureKind, ToolResult};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::skill::{
    ExecutesWithLearned, MotorProgram, ProgramForgotten, ProgramLearned, ProgramsRecalled, RecallPrograms, goal_words,
    invocation,
};
use maxim_bus::signals::thought::{ActionSummary, Mind, TurnEnded};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::forward::{ForwardModel, MOST_MODELS, changes, kind};
use super::object::{MOST_EPISODES, MOST_PAIRS, Pairing, object_of};
use super::program::{Example, SkillLaw, crystallise, recalled, strengthened};
use maxim_bus::rooms::RESPOND;
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, Sources, StatePart, StatePuts, part};

/// Maximum number of goals of open turns; the oldest are removed.
const MOST_OPEN: usize = 64;
/// Maximum number of sequences with examples, and of examples of each; the oldest are removed.
const MOST_SEQUENCES: usize = 32;
pub(super) const MOST_EXAMPLES: usize = 6;
/// Maximum number of programs; the weakest is removed.
const MOST_PROGRAMS: usize = 32;
/// Largest parameters of a call to learn from, in bytes of JSON. Together with the other limits it keeps the state
/// below the size limit of a snapshot.
pub(super) const MOST_PARAMS: usize = 400;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cerebellum {
    models: BTreeMap<String, ForwardModel>,
    errors: u64,
    pub(super) open: BTreeMap<MessageId, OpenGoal>,
    pub(super) examples: BTreeMap<String, VecDeque<Example>>,
    pub(super) programs: BTreeMap<String, MotorProgram>,
    /// The episodes in which each program was learned or succeeded.
    pub(super) taught: BTreeMap<String, Sources>,
    pub(super) pairs: BTreeMap<String, Pairing>,
    uses: u64,
}

/// The subject of a turn, as its first intent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenGoal {
    pub(super) goal: String,
    pub(super) commanded: bool,
    pub(super) modelled: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CerebellumEvent {
    Moved {
        kind: String,
        changes: BTreeMap<String, f64>,
        felt: bool,
    },
    GoalNoted {
        turn: MessageId,
        goal: OpenGoal,
    },
    TurnClosed {
        turn: MessageId,
    },
    Exemplified(Box<Example>),
    Crystallised {
        program: Box<MotorProgram>,
        sequence: String,
        used: Vec<usize>,
        sources: Sources,
    },
    Practised {
        name: String,
        success: bool,
        /// After the practice.
        strength: Confidence,
        episode: String,
    },
    Forgotten {
        name: String,
    },
    Used {
        pair: String,
        success: bool,
        episode: String,
    },
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

wiring!(Cerebellum {
    hears: [
        Intent,
        ToolResult,
        TurnEnded,
        EpisodeLived,
        RecordsRemoved,
        MovementSensed,
        RecallPrograms,
        ReportStats,
        ExportRecords,
        ImportRecords
    ],
    back: [],
    emits: [
        SensoryErrorSensed,
        ProgramLearned,
        ProgramForgotten,
        ExecutesWithLearned,
        ProgramsRecalled,
        StatsReported,
        RecordsExported,
        RecordsImported,
    ],
});

impl Region for Cerebellum {
    const NAME: RegionName = rooms::CEREBELLUM;
    const STAGE: Stage = Stage::Learning;
    type Event = CerebellumEvent;
    type Settings = SkillLaw;

    fn apply(&mut self, event: CerebellumEvent) {
        match event {
            CerebellumEvent::Moved { kind, changes, felt } => {
                self.errors += u64::from(felt);
                if self.models.len() < MOST_MODELS || self.models.contains_key(&kind) {
                    self.models.entry(kind).or_default().learn(&changes);
                }
            }
            CerebellumEvent::GoalNoted { turn, goal } => {
                // Ids begin with their time, so the first is the oldest.
                while self.open.len() >= MOST_OPEN && self.open.pop_first().is_some() {}
                self.open.insert(turn, goal);
            }
            CerebellumEvent::TurnClosed { turn } => drop(self.open.remove(&turn)),
            CerebellumEvent::Exemplified(example) => {
                let sequence = example.sequence();
                if self.examples.len() >= MOST_SEQUENCES && !self.examples.contains_key(&sequence) {
                    let fewest = self.examples.iter().min_by_key(|(_, examples)| examples.len());
                    let fewest = fewest.map(|(sequence, _)| sequence.clone());
                    fewest.map(|sequence| self.examples.remove(&sequence));
                }
                let examples = self.examples.entry(sequence).or_default();
                examples.push_back(*example);
                while examples.len() > MOST_EXAMPLES {
                    examples.pop_front();
                }
            }
            CerebellumEvent::Crystallised { program, sequence, used, sources } => {
                if let Some(examples) = self.examples.get_mut(&sequence) {
                    let mut place = 0;
                    examples.retain(|_| {
                        place += 1;
                        !used.contains(&(place - 1))
                    });
                }
                self.examples.retain(|_, examples| !examples.is_empty());
                self.taught.insert(program.name.clone(), sources);
                self.programs.insert(program.name.clone(), *program);
            }
            CerebellumEvent::Practised { name, success, strength, episode } => {
                if let Some(program) = self.programs.get_mut(&name) {
                    practise(program, success, strength);
                    if success {
                        let taught = self.taught.entry(name).or_insert_with(Sources::unknown);
                        taught.note(&episode, MOST_EPISODES);
                    }
                }
            }
            CerebellumEvent::Forgotten { name } => {
                self.taught.remove(&name);
                self.programs.remove(&name);
            }
            CerebellumEvent::Used { pair, success, episode } => {
                self.uses += 1;
                if self.pairs.len() >= MOST_PAIRS && !self.pairs.contains_key(&pair) {
                    let silent = self.pairs.iter().min_by_key(|(_, pairing)| pairing.last);
                    let silent = silent.map(|(pair, _)| pair.clone());
                    silent.map(|pair| self.pairs.remove(&pair));
                }
                self.pairs.entry(pair).or_default().used(success, episode, self.uses);
            }
            CerebellumEvent::LetGo(removed) => self.let_go(&removed),
            CerebellumEvent::Imported(puts) => puts.apply_to(self),
        }
    }
}

impl RemembersInState for Cerebellum {
    const PARTS: &'static [StatePart] = &[
        part("models", Law::Each { most: MOST_MODELS, evidence: &["movements"] }),
        part("errors", Law::Count),
        part("examples", Law::Each { most: MOST_SEQUENCES, evidence: &[] }),
        part("programs", Law::Each { most: MOST_PROGRAMS, evidence: &["successes"] }),
        part("taught", Law::Each { most: MOST_PROGRAMS, evidence: &[] }),
        part("pairs", Law::Each { most: MOST_PAIRS, evidence: &["successes", "failures"] }),
        part("uses", Law::Count),
    ];

    fn imported(puts: StatePuts) -> CerebellumEvent {
        CerebellumEvent::Imported(puts)
    }

    fn tell(&self, after: &Self, pulse: &mut Pulse<'_, Self>) {
        let news = after.programs.values().filter(|program| self.programs.get(&program.name) != Some(*program));
        for program in news {
            let offered = program.strength.get() >= pulse.settings().offered_from;
            pulse.emit(ProgramLearned { program: program.clone(), offered });
        }
    }
}

fn practise(program: &mut MotorProgram, success: bool, strength: Confidence) {
    program.successes = program.successes.saturating_add(u32::from(success));
    program.strength = strength;
}

impl Cerebellum {
    pub fn programs(&self) -> impl Iterator<Item = &MotorProgram> {
        self.programs.values()
    }

    pub fn models(&self) -> impl Iterator<Item = (&str, &ForwardModel)> {
        self.models.iter().map(|(kind, model)| (kind.as_str(), model))
    }

    /// The program that a goal asked for, by name or by wording.
    fn program_for(&self, goal: &str, calls: &[(String, Json)]) -> Option<&MotorProgram> {
        if let Some((name, _)) = invocation(goal) {
            return self.programs.get(&name);
        }
        self.programs.values().find(|program| {
            let wanted = program.values_in(goal).and_then(|values| program.calls(&values));
            wanted
                .is_some_and(|wanted| wanted.iter().zip(calls).all(|(a, b)| a.0 == b.0) && calls.len() <= wanted.len())
        })
    }

    fn practised(&self, program: &MotorProgram, success: bool, turn: MessageId, pulse: &mut Pulse<'_, Self>) {
        let law = pulse.settings();
        let strength = strengthened(program.strength, success, law);
        let mut after = program.clone();
        practise(&mut after, success, strength);
        if strength.get() < law.forgotten_below {
            self.forget(&program.name, pulse);
            return;
        }
        let (name, episode) = (program.name.clone(), turn.to_string());
        pulse.keep(CerebellumEvent::Practised { name, success, strength, episode });
        let offered = strength.get() >= law.offered_from;
        pulse.emit(ProgramLearned { program: after, offered });
    }

    pub(super) fn forget(&self, name: &str, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(CerebellumEvent::Forgotten { name: name.to_owned() });
        pulse.emit(ProgramForgotten { name: name.to_owned() });
    }

    fn learn(&self, example: Example, pulse: &mut Pulse<'_, Self>) {
        let sequence = example.sequence();
        let known: Vec<Example> = self.examples.get(&sequence).into_iter().flatten().cloned().collect();
        let Some((mut program, used)) = crystallise(&known, &example, pulse.settings()) else {
            return pulse.keep(CerebellumEvent::Exemplified(Box::new(example)));
        };
        if self.programs.len() >= MOST_PROGRAMS {
            let weakest = self.programs.values().min_by(|a, b| a.strength.get().total_cmp(&b.strength.get()));
            if let Some(weakest) = weakest {
                self.forget(&weakest.name, pulse);
            }
        }
        let mut sources = Sources::default();
        let earlier = used.iter().filter_map(|place| known.get(*place));
        earlier.chain([&example]).for_each(|one| sources.note(&one.episode, MOST_EPISODES));
        let plain = program.name.clone();
        let mut number = 2;
        while self.programs.contains_key(&program.name) {
            program.name = format!("{plain}-{number}");
            number += 1;
        }
        pulse.emit(ProgramLearned {
            offered: program.strength.get() >= pulse.settings().offered_from,
            program: program.clone(),
        });
        pulse.keep(CerebellumEvent::Crystallised { program: Box::new(program), sequence, used, sources });
    }
}

impl Hears<Intent> for Cerebellum {
    /// Outsiders don't teach how things are done here.
    fn heeds(intent: &Intent) -> bool {
        intent.tool != RESPOND && intent.trust >= Trust::Listed
    }

    fn hear(&self, intent: &Intent, pulse: &mut Pulse<'_, Self>) {
        if self.open.contains_key(&intent.turn) {
            return;
        }
        if let Some(goal) = &intent.goal {
            let (commanded, modelled) = (intent.commanded, intent.mind == Mind::Model);
            let goal = OpenGoal { goal: goal.clone(), commanded, modelled };
            pulse.keep(CerebellumEvent::GoalNoted { turn: intent.turn, goal });
        }
    }
}

impl Cerebellum {
    /// A turn has ended, or an action in it that waited for a person. Its goal stays open while a person may still
    /// allow something.
    fn close_turn(&self, turn: MessageId, actions: &[ActionSummary], pulse: &mut Pulse<'_, Self>) {
        let Some(open) = self.open.get(&turn).filter(|_| !actions.iter().any(ActionSummary::is_asked)) else { return };
        pulse.keep(CerebellumEvent::TurnClosed { turn });
        let acts: Vec<_> = actions.iter().filter(|act| act.tool != RESPOND).collect();
        // Blocked, denied, stopped or lost actions say nothing about the quality of the sequence.
        let ends: Option<Vec<bool>> = acts.iter().map(|act| act.status.success()).collect();
        let Some(ends) = ends.filter(|ends| !ends.is_empty()) else { return };
        let reached = ends.into_iter().all(|success| success);
        let calls: Vec<(String, Json)> = acts.iter().map(|act| (act.tool.clone(), act.params.clone())).collect();
        if let Some(program) = self.program_for(&open.goal, &calls) {
            return self.practised(program, reached, turn, pulse);
        }
        let small = calls.iter().all(|(_, params)| params.to_string().len() <= MOST_PARAMS);
        let OpenGoal { ref goal, commanded, modelled } = *open;
        let example = Example { words: goal_words(goal), calls, commanded, modelled, episode: turn.to_string() };
        if reached && small && example.teaches() && invocation(&open.goal).is_none() {
            self.learn(example, pulse);
        }
    }
}

impl Hears<TurnEnded> for Cerebellum {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        self.close_turn(ended.turn, &ended.actions, pulse);
    }
}

impl Hears<EpisodeLived> for Cerebellum {
    fn heeds(lived: &EpisodeLived) -> bool {
        lived.retold
    }

    /// The result of an action that a person was asked about.
    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        self.close_turn(lived.turn, &lived.actions, pulse);
    }
}

impl Hears<RecallPrograms> for Cerebellum {
    fn hear(&self, asked: &RecallPrograms, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(ProgramsRecalled {
            programs: recalled(self.programs.values(), &asked.text, asked.limit, pulse.settings()),
        });
    }
}

impl Hears<ToolResult> for Cerebellum {
    fn heeds(result: &ToolResult) -> bool {
        result.tool != RESPOND && !result.failure.is_some_and(FailureKind::teaches_nothing)
    }

    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(success) = result.success else { return };
        let Some(object) = object_of(&result.params) else { return };
        let pair = format!("{} {object}", result.tool);
        let mut pairing = self.pairs.get(&pair).cloned().unwrap_or_default();
        pairing.used(success, result.turn.to_string(), self.uses + 1);
        if success && pairing.is_news() {
            pulse.emit(ExecutesWithLearned {
                tool: result.tool.clone(),
                object,
                successes: pairing.successes,
                failures: pairing.failures,
                confidence: pairing.confidence(pulse.settings()),
                episodes: pairing.sources.episodes.iter().cloned().collect(),
            });
        }
        pulse.keep(CerebellumEvent::Used { pair, success, episode: result.turn.to_string() });
    }
}

impl Hears<MovementSensed> for Cerebellum {
    fn hear(&self, sensed: &MovementSensed, pulse: &mut Pulse<'_, Self>) {
        let (kind, changes) = (kind(sensed), changes(sensed));
        let error = self.models.get(&kind).and_then(|model| model.error(&changes, pulse.settings()));
        pulse.keep(CerebellumEvent::Moved { kind, changes, felt: error.is_some() });
        if let Some(error) = error {
            pulse.emit(SensoryErrorSensed {
                action: sensed.action,
                body_part: sensed.body_part.clone(),
                movement: sensed.movement.clone(),
                sensor: error.sensor,
                expected: error.expected,
                observed: error.observed,
                surprise: error.surprise,
                intensity: error.intensity,
                confidence: error.confidence,
            });
        }
    }
}

impl Hears<ReportStats> for Cerebellum {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let models = if self.models.is_empty() {
            serde_json::json!({ "available": false, "reason": "no body reports its movements" })
        } else {
            let movements: u64 = self.models.values().map(|model| u64::from(model.movements)).sum();
            serde_json::json!({ "kinds": self.models.len(), "movements": movements, "errors": self.errors })
        };
        let programs: Vec<Json> = self
            .programs
            .values()
            .map(|program| {
                serde_json::json!({
                    "name": program.name, "goal": program.wording(), "steps": program.steps.len(),
                    "strength": program.strength, "successes": program.successes,
                })
            })
            .collect();
        let counts = serde_json::json!({
            "forward_models": models, "programs": programs, "tool_objects": self.pairs.len(),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
