//! The planning bridge: how was a goal like this reached before?
//!
//! Biology: hippocampal replay of past paths to prefrontal cortex before a choice.
//! Law: the actions of a moment in which every action succeeded are a template for its goal. Templates are ranked by
//! expected success (1 + s)/(2 + s + f) times the similarity of the goals (1 for equal ones, else the Jaccard of
//! their content stems). Below a similarity of 0.4 nothing is proposed. The result of a proposed plan counts for its
//! template. A plan that became a motor program is offered by the program's name as one step, unless the program is
//! withdrawn.
//! Remembers: 256 templates with the newest goals that each reached, and the known programs. Forgets: the template
//! with the least expected success, the oldest of these first; and a template that loses its last goal because a
//! person has forgotten the episodes.
//! Down: habit says, after its deadline, that it doesn't understand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use maxim_bus::rooms::{self, RESPOND};
use maxim_bus::signals::bridges::{EpisodeLived, PlanTried, PlannedStep, PlansProposed, ProposePlans, ProposedPlan};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::skill::{MotorProgram, ProgramForgotten, ProgramLearned};
use maxim_bus::signals::thought::ActionStatus;
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::gist::{alike, gist, teaches};
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

const TEMPLATES: usize = 256;
/// Goals with a lower similarity aren't associated.
const ASSOCIATED: f64 = 0.4;
/// Minimum number of content stems in a goal: "yes" has none.
const LEAST_STEMS: usize = 2;
/// Longest plan, in steps.
const MOST_STEPS: usize = 8;
/// Largest parameters of a plan, in bytes of JSON.
const MOST_BYTES: usize = 4_096;
/// Plans in an answer.
const SHOWN: usize = 3;
/// Turns of proposed plans that are remembered, so that they don't teach twice.
const TRIED: usize = 16;
/// Maximum number of known programs; beyond it the weakest is removed.
const PROGRAMS: usize = 128;
/// Goals per template, with their episodes. A person's words in the template are removed with the last of these.
const GOALS: usize = 4;

/// A sequence of tools that reached a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Template {
    goal: String,
    stems: BTreeSet<String>,
    steps: Vec<PlannedStep>,
    successes: u32,
    failures: u32,
    last: Timestamp,
    /// The newest episode that supports it.
    episode: String,
    /// The newest goals that it reached, with their episodes.
    reached: VecDeque<Reached>,
}

/// A goal that was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Reached {
    /// Empty after sleep has removed it.
    episode: String,
    goal: String,
}

impl Template {
    /// (1 + s)/(2 + s + f).
    pub fn expected_success(&self) -> f64 {
        f64::from(1 + self.successes) / f64::from(2 + self.successes + self.failures)
    }

    fn reach(&mut self, goal: &str, episode: &str) {
        self.reached.push_back(Reached { episode: episode.to_owned(), goal: goal.to_owned() });
        self.reached.drain(..self.reached.len().saturating_sub(GOALS));
        self.episode = episode.to_owned();
    }

    fn rests_on(&self, removed: &RecordsRemoved) -> bool {
        let mut episodes = self.reached.iter().map(|reached| &reached.episode).chain([&self.episode]);
        episodes.any(|episode| removed.ids.contains(episode))
    }

    /// Removes the words of episodes that a person had forgotten; false when no goal is left.
    fn let_go(&mut self, removed: &RecordsRemoved) -> bool {
        let is_gone = |episode: &String| removed.ids.contains(episode);
        if !removed.forgotten {
            self.reached.iter_mut().filter(|reached| is_gone(&reached.episode)).for_each(|it| it.episode.clear());
            return true;
        }
        self.reached.retain(|reached| !is_gone(&reached.episode));
        let Some(newest) = self.reached.back().cloned() else { return false };
        if is_gone(&self.episode) {
            self.episode = newest.episode;
        }
        if self.reached.iter().all(|reached| reached.goal != self.goal) {
            self.stems = gist(&newest.goal);
            self.goal = newest.goal;
        }
        true
    }

    fn similarity(&self, goal: &str, stems: &BTreeSet<String>) -> f64 {
        if self.goal.trim().eq_ignore_ascii_case(goal.trim()) { 1.0 } else { alike(&self.stems, stems) }
    }
}

/// The plan in a moment's actions, and whether all of it succeeded; none without a plan.
fn plan_of(lived: &EpisodeLived) -> Option<(Vec<PlannedStep>, bool)> {
    let acts: Vec<_> = lived.actions.iter().filter(|action| action.tool != RESPOND).collect();
    let known = acts.iter().all(|action| action.status.success().is_some());
    let steps: Vec<PlannedStep> =
        acts.iter().map(|act| PlannedStep { tool: act.tool.clone(), params: act.params.clone() }).collect();
    let size: usize = steps.iter().map(|step| step.params.to_string().len()).sum();
    let fits = (1..=MOST_STEPS).contains(&steps.len()) && size <= MOST_BYTES;
    (known && fits).then(|| (steps, acts.iter().all(|action| action.status == ActionStatus::Done)))
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanningBridge {
    next: u64,
    templates: BTreeMap<u64, Template>,
    tried: VecDeque<MessageId>,
    /// By name, and whether it is offered.
    programs: BTreeMap<String, (MotorProgram, bool)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PlanningEvent {
    Lived { goal: String, steps: Vec<PlannedStep>, success: bool, episode: String, at: Timestamp },
    Tried { template: u64, turn: MessageId, success: bool, at: Timestamp },
    Practised { program: Box<MotorProgram>, offered: bool },
    Unlearned { name: String },
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

wiring!(PlanningBridge {
    hears: [
        EpisodeLived,
        PlanTried,
        ProgramLearned,
        ProgramForgotten,
        RecordsRemoved,
        ProposePlans,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [PlansProposed, StatsReported, RecordsExported, RecordsImported],
});

impl Region for PlanningBridge {
    const NAME: RegionName = rooms::PLANNING_BRIDGE;
    const STAGE: Stage = Stage::Learning;
    type Event = PlanningEvent;
    type Settings = ();

    fn apply(&mut self, event: PlanningEvent) {
        match event {
            PlanningEvent::Lived { goal, steps, success, episode, at } => self.learn(goal, steps, success, episode, at),
            PlanningEvent::Tried { template, turn, success, at } => {
                self.tried.push_back(turn);
                if self.tried.len() > TRIED {
                    self.tried.pop_front();
                }
                if let Some(template) = self.templates.get_mut(&template) {
                    count(template, success, at);
                }
            }
            PlanningEvent::Practised { program, offered } => self.know(*program, offered),
            PlanningEvent::Unlearned { name } => {
                if let Some((program, false)) = self.programs.remove(&name) {
                    self.templates.retain(|_, template| !is_done_by(&program, template));
                }
            }
            PlanningEvent::LetGo(removed) => {
                self.templates.retain(|_, template| !template.rests_on(&removed) || template.let_go(&removed));
                self.tried.retain(|turn| !removed.ids.contains(&turn.to_string()));
            }
            PlanningEvent::Imported(puts) => puts.apply_to(self),
        }
    }
}

fn count(template: &mut Template, success: bool, at: Timestamp) {
    if success {
        template.successes += 1
    } else {
        template.failures += 1
    }
    template.last = at;
}

/// Whether the program does what the template says for the template's goal.
fn is_done_by(program: &MotorProgram, template: &Template) -> bool {
    if program.steps.len() != template.steps.len() {
        return false;
    }
    let calls = program.values_in(&template.goal).and_then(|values| program.calls(&values));
    let same = |((tool, params), step): (&(String, Json), &PlannedStep)| *tool == step.tool && *params == step.params;
    calls.is_some_and(|calls| calls.iter().zip(&template.steps).all(same))
}

impl RemembersInState for PlanningBridge {
    const PARTS: &'static [StatePart] = &[part(
        "templates",
        Law::Numbered { most: TEMPLATES, next: "next", same: &["goal", "steps"], evidence: &["successes", "failures"] },
    )];

    fn imported(puts: StatePuts) -> PlanningEvent {
        PlanningEvent::Imported(puts)
    }
}

impl PlanningBridge {
    fn learn(&mut self, goal: String, steps: Vec<PlannedStep>, success: bool, episode: String, at: Timestamp) {
        let stems = gist(&goal);
        let same = |template: &Template| template.steps == steps && template.similarity(&goal, &stems) >= ASSOCIATED;
        if let Some(template) = self.templates.values_mut().find(|template| same(template)) {
            count(template, success, at);
            if success {
                template.reach(&goal, &episode);
            }
            return;
        }
        if !success {
            return; // a plan that never worked isn't a template
        }
        let reached = VecDeque::from([Reached { episode: episode.clone(), goal: goal.clone() }]);
        let template = Template { goal, stems, steps, successes: 1, failures: 0, last: at, episode, reached };
        self.templates.insert(self.next, template);
        self.next += 1;
        if self.templates.len() > TEMPLATES {
            let by_worth = |a: &Template, b: &Template| {
                a.expected_success().total_cmp(&b.expected_success()).then(a.last.cmp(&b.last))
            };
            let least = self.templates.iter().min_by(|a, b| by_worth(a.1, b.1)).map(|(number, _)| *number);
            least.map(|number| self.templates.remove(&number));
        }
    }

    fn know(&mut self, program: MotorProgram, offered: bool) {
        self.programs.insert(program.name.clone(), (program, offered));
        if self.programs.len() > PROGRAMS {
            let strength = |(_, (program, _)): &(&String, &(MotorProgram, bool))| program.strength.get();
            let weakest = self.programs.iter().min_by(|a, b| strength(a).total_cmp(&strength(b)));
            if let Some(weakest) = weakest.map(|(name, _)| name.clone()) {
                self.programs.remove(&weakest);
            }
        }
    }

    /// The best plans for a goal.
    fn propose(&self, goal: &str) -> Vec<ProposedPlan> {
        let stems = gist(goal);
        let mut plans: Vec<ProposedPlan> = self
            .templates
            .iter()
            .map(|(number, template)| (number, template, template.similarity(goal, &stems)))
            .filter(|(_, _, similarity)| *similarity >= ASSOCIATED)
            .map(|(number, template, similarity)| {
                (number, template, similarity, self.programs.values().find(|(known, _)| is_done_by(known, template)))
            })
            .filter(|(_, _, _, practised)| practised.is_none_or(|(_, offered)| *offered))
            .map(|(number, template, similarity, practised)| ProposedPlan {
                template: *number,
                program: practised.map(|(program, _)| program.name.clone()),
                goal: template.goal.clone(),
                steps: template.steps.clone(),
                successes: template.successes,
                failures: template.failures,
                similarity,
                score: similarity * template.expected_success(),
                episode: template.episode.clone(),
            })
            .collect();
        plans.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.template.cmp(&a.template)));
        plans.truncate(SHOWN);
        plans
    }
}

impl Hears<EpisodeLived> for PlanningBridge {
    fn heeds(lived: &EpisodeLived) -> bool {
        teaches(lived.trust) && lived.actions.iter().any(|action| action.tool != RESPOND)
    }

    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        let goal = lived.goal.clone().unwrap_or_else(|| lived.text.clone());
        if self.tried.contains(&lived.turn) || gist(&goal).len() < LEAST_STEMS {
            return;
        }
        if let Some((steps, success)) = plan_of(lived) {
            let (episode, at) = (lived.episode.clone(), pulse.now());
            pulse.keep(PlanningEvent::Lived { goal, steps, success, episode, at });
        }
    }
}

impl Hears<PlanTried> for PlanningBridge {
    fn hear(&self, tried: &PlanTried, pulse: &mut Pulse<'_, Self>) {
        let PlanTried { template, turn, success } = *tried;
        pulse.keep(PlanningEvent::Tried { template, turn, success, at: pulse.now() });
    }
}

impl Hears<ProgramLearned> for PlanningBridge {
    fn hear(&self, learned: &ProgramLearned, pulse: &mut Pulse<'_, Self>) {
        let ProgramLearned { program, offered } = learned;
        pulse.keep(PlanningEvent::Practised { program: Box::new(program.clone()), offered: *offered });
    }
}

impl Hears<ProgramForgotten> for PlanningBridge {
    fn hear(&self, forgotten: &ProgramForgotten, pulse: &mut Pulse<'_, Self>) {
        if self.programs.contains_key(&forgotten.name) {
            pulse.keep(PlanningEvent::Unlearned { name: forgotten.name.clone() });
        }
    }
}

impl Hears<RecordsRemoved> for PlanningBridge {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let is_tried = || self.tried.iter().any(|turn| removed.ids.contains(&turn.to_string()));
        let rests = || self.templates.values().any(|template| template.rests_on(removed));
        if removed.layer == Layer::Hippocampus && (removed.forgotten || rests() || is_tried()) {
            pulse.keep_gone(PlanningEvent::LetGo(removed.clone()), removed.forgotten);
        }
    }
}

impl Hears<ProposePlans> for PlanningBridge {
    fn hear(&self, question: &ProposePlans, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(PlansProposed { turn: question.turn, plans: self.propose(&question.goal) });
    }
}

impl Hears<ReportStats> for PlanningBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "templates": self.templates.len(), "programs": self.programs.len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;

    use super::super::fixtures::lived;
    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn ask(rig: &mut Rig<PlanningBridge>, goal: &str) -> Vec<ProposedPlan> {
        rig.send(ProposePlans { turn: MessageId::from_parts(1, 1), goal: goal.into() });
        rig.heard::<PlansProposed>().remove(0).plans
    }

    #[test]
    fn plans_are_ranked_by_expected_success_times_similarity() {
        let mut rig: Rig<PlanningBridge> = Rig::new((), ear::<PlansProposed>);
        let often = lived("water the garden plants", &[("pump", "done"), ("respond", "done")]);
        (0..3).for_each(|_| {
            rig.send(often.clone());
        });
        rig.send(lived("water the kitchen plants", &[("pour", "done")]));
        rig.crash();
        let plans = ask(&mut rig, "water the kitchen plants");
        // Once in one: (1 + 1)/(2 + 1) · 1. Three in three: (1 + 3)/(2 + 3) · 2/4 of the stems.
        assert_eq!((plans[0].steps[0].tool.as_str(), plans[0].score), ("pour", 2.0 / 3.0));
        assert_eq!((plans[1].steps[0].tool.as_str(), plans[1].steps.len()), ("pump", 1), "an answer is no step");
        assert!((plans[1].score - 0.8 * 0.5).abs() < 1e-12);
        assert!(ask(&mut rig, "paint the fence").is_empty());
    }

    #[test]
    fn a_plan_that_fails_falls_and_one_that_never_worked_is_none() {
        let mut rig: Rig<PlanningBridge> = Rig::new((), ear::<PlansProposed>);
        rig.send(lived("open the garage door", &[("push", "failed")]));
        rig.send(lived("open the cellar door", &[("push", "asked")]));
        assert!(ask(&mut rig, "open the garage door").is_empty());
        rig.send(lived("open the garage door", &[("pull", "done")]));
        let plan = ask(&mut rig, "open the garage door").remove(0);
        rig.send(PlanTried { template: plan.template, turn: MessageId::from_parts(9, 9), success: false });
        let fallen = ask(&mut rig, "open the garage door").remove(0);
        assert_eq!((plan.score, fallen.score), (2.0 / 3.0, 0.5));
    }

    #[test]
    fn a_plan_goes_with_the_last_goal_that_is_forgotten_and_stays_when_sleep_lets_go() {
        let mut rig: Rig<PlanningBridge> = Rig::new((), ear::<PlansProposed>);
        // The parameters of a fixture are its text.
        let plants = |what: &str| EpisodeLived {
            episode: format!("episode of {what}"),
            goal: Some(format!("water the {what} plants")),
            ..lived("water", &[("pump", "done")])
        };
        let removed = |what: &str, forgotten| RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec![format!("episode of {what}")],
            forgotten,
            again: false,
        };
        rig.send(plants("poppy"));
        rig.send(plants("garden"));
        rig.send(removed("poppy", true));
        rig.crash();
        let left = serde_json::to_string(rig.region()).expect("a state");
        assert!(!left.contains("poppy") && !left.contains("poppi"), "{left}");
        let plan = ask(&mut rig, "water the garden plants").remove(0);
        assert_eq!((plan.goal.as_str(), plan.score), ("water the garden plants", 3.0 / 4.0));
        rig.send(removed("garden", false));
        assert_eq!(ask(&mut rig, "water the garden plants").len(), 1, "what sleep let go stays learned");
        rig.send(lived("open the secret door", &[("pull", "done")]));
        rig.send(removed("open the secret door", true));
        assert!(ask(&mut rig, "open the secret door").is_empty());
    }

    #[test]
    fn outsiders_and_bare_words_teach_no_plans_and_a_tried_plan_not_twice() {
        let mut rig: Rig<PlanningBridge> = Rig::new((), ear::<PlansProposed>);
        let mut outside = lived("send all the money", &[("pay", "done")]);
        outside.trust = Trust::Outside;
        rig.send(outside);
        rig.send(lived("yes", &[("pay", "done")]));
        let tried = lived("yes do it please now", &[("pay", "done")]);
        rig.send(PlanTried { template: 7, turn: tried.turn, success: true });
        rig.send(tried);
        assert_eq!(rig.region().templates.len(), 0);
    }
}
