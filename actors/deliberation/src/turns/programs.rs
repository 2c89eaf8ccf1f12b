//! Programs that the cerebellum made of practised sequences.

use std::collections::BTreeMap;

use maxim_bus::signals::skill::{MotorProgram, invocation};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::plan::Plan;
use crate::recollection::StepWanted;

/// Requests for the list.
const LISTING: [&str; 4] =
    ["what programs do you know", "which programs do you know", "list your programs", "what programs do you have"];

/// The programs, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Programs(BTreeMap<String, Known>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    program: MotorProgram,
    offered: bool,
    /// The person was told of it.
    told: bool,
}

impl Programs {
    pub fn learn(&mut self, program: MotorProgram, offered: bool) {
        let told = self.0.get(&program.name).is_some_and(|known| known.told);
        self.0.insert(program.name.clone(), Known { program, offered, told });
    }

    pub fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub fn tell(&mut self, name: &str) {
        if let Some(known) = self.0.get_mut(name) {
            known.told = true;
        }
    }

    /// The plan for words that name a program or ask for the list. `None` for other words.
    pub fn called(&self, text: &str) -> Option<Plan> {
        let plain = text.trim().trim_end_matches(['?', '.', '!']).to_lowercase();
        if LISTING.contains(&plain.as_str()) {
            return Some(say(self.listed(), "I am asked which programs I know."));
        }
        let (name, words) = invocation(text)?;
        // Without a program of this name, the words may mean something else, such as a shell command.
        let known = self.0.get(&name)?;
        let Some(values) = known.program.values_given(words) else {
            let blanks: Vec<String> = (1..=known.program.values).map(|number| format!("\"<{number}>\"")).collect();
            let words = format!(
                "My program {name} does “{}”. Say it with its values: “run program {name} with {}”.",
                known.program.wording(),
                blanks.join(" ")
            );
            return Some(say(words, "A value is missing for the program, so I ask."));
        };
        known.plan(&values, known.program.commanded)
    }

    /// The plan of the strongest offered program for this goal.
    pub fn serving(&self, goal: &str) -> Option<Plan> {
        let mut offered: Vec<&Known> = self.0.values().filter(|known| known.offered).collect();
        offered.sort_by(|a, b| b.program.strength.get().total_cmp(&a.program.strength.get()));
        // The person didn't ask for these very steps, so the gate weighs them as the agent's own idea.
        offered.into_iter().find_map(|known| known.plan(&known.program.values_in(goal)?, false))
    }

    /// The plan for a model that asks for a program by its name.
    pub fn run(&self, params: &Json) -> Result<Plan, String> {
        let name = params["name"].as_str().unwrap_or_default();
        let known = self.0.get(name).ok_or_else(|| format!("there is no program \"{name}\""))?;
        let given = params["values"].as_array().cloned().unwrap_or_default();
        let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let values: Vec<String> = given.iter().map(text).collect();
        let plan = (values.len() == known.program.values).then(|| known.plan(&values, false)).flatten();
        plan.ok_or_else(|| format!("program {name} takes {} values, got {}", known.program.values, values.len()))
    }

    /// The news that a person's request is one step by now. Each program is told once.
    pub fn news(&self, goal: &str, steps: &[StepWanted]) -> Option<(String, String)> {
        let serves = |known: &&Known| {
            let calls = || known.program.calls(&known.program.values_in(goal)?);
            known.offered
                && !known.told
                && calls().is_some_and(|calls| {
                    calls.len() == steps.len() && calls.iter().zip(steps).all(|(call, step)| call.0 == step.tool)
                })
        };
        let known = self.0.values().find(serves)?;
        let values = known.program.values_in(goal)?;
        let with: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" ")) };
        let name = known.program.name.clone();
        let words = format!("I have done this often enough to know it as one step: “run program {name}{with}”.");
        Some((name, words))
    }

    fn listed(&self) -> String {
        let line = |known: &Known| {
            let weak = if known.offered { "" } else { " (it failed lately, so I don't offer it)" };
            format!("{}: {}{weak}", known.program.name, known.program.wording())
        };
        let lines: Vec<String> = self.0.values().map(line).collect();
        if lines.is_empty() { "I know no programs yet.".into() } else { format!("I know:\n{}", lines.join("\n")) }
    }
}

fn say(words: String, thought: &str) -> Plan {
    Plan { say: Some(words), thought: thought.into(), settled: true, ..Plan::default() }
}

impl Known {
    fn plan(&self, values: &[String], commanded: bool) -> Option<Plan> {
        let calls = self.program.calls(values)?;
        let steps = calls.into_iter().map(|(tool, params)| StepWanted { tool, params, question: None });
        let (name, count) = (&self.program.name, self.program.successes);
        Some(Plan {
            steps: steps.collect(),
            thought: format!("I know this as my program {name}; it went well {count} times."),
            confidence: self.program.strength,
            commanded,
            settled: true,
            ..Plan::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::skill::{GoalWord, ParamForm, ProgramStep, TextPiece};
    use maxim_bus::units::Confidence;
    use serde_json::json;

    use super::*;

    fn programs(offered: bool) -> Programs {
        let path =
            || ParamForm::Fields(BTreeMap::from([("path".to_owned(), ParamForm::Text(vec![TextPiece::Value(0)]))]));
        let step = |tool: &str| ProgramStep { tool: tool.into(), params: path() };
        let mut programs = Programs::default();
        let program = MotorProgram {
            name: "touch-read".into(),
            goal: vec![
                GoalWord::Same("touch".into()),
                GoalWord::Open(0),
                GoalWord::Same("and".into()),
                GoalWord::Same("read".into()),
            ],
            values: 1,
            steps: vec![step("write_file"), step("read_file")],
            successes: 3,
            strength: Confidence::clamped(0.657),
            commanded: true,
        };
        programs.learn(program, offered);
        programs
    }

    fn tools(plan: &Plan) -> Vec<&str> {
        plan.steps.iter().map(|step| step.tool.as_str()).collect()
    }

    #[test]
    fn a_program_is_run_by_name_by_words_and_by_the_model() {
        let known = programs(true);
        let named = known.called("run program touch-read with my notes.txt").expect("a plan");
        assert_eq!(tools(&named), ["write_file", "read_file"]);
        assert_eq!(named.steps[1].params, json!({"path": "my notes.txt"}));
        assert!(named.commanded && named.settled);
        let served = known.serving("Touch b.txt and read").expect("a plan");
        assert_eq!(tools(&served), ["write_file", "read_file"]);
        assert!(!served.commanded, "the person did not name the steps");
        let run = known.run(&json!({"name": "touch-read", "values": ["c.txt"]})).expect("a plan");
        assert_eq!(run.steps[0].params, json!({"path": "c.txt"}));
        assert!(known.run(&json!({"name": "touch-read"})).expect_err("no value").contains("takes 1 values, got 0"));
        assert!(known.run(&json!({"name": "tidy"})).is_err());
    }

    #[test]
    fn what_is_missing_is_asked_for_and_other_words_are_left_alone() {
        let known = programs(true);
        let asked = known.called("run program touch-read").expect("a question");
        assert!(asked.steps.is_empty() && asked.say.is_some_and(|words| words.contains("touch-read with \"<1>\"")));
        assert!(known.called("run program make").is_none());
        assert!(known.serving("touch nothing").is_none());
        assert!(
            known
                .called("What programs do you know?")
                .and_then(|plan| plan.say)
                .is_some_and(|said| said.contains("touch <1>"))
        );
    }

    #[test]
    fn a_program_that_failed_is_not_offered_but_may_be_asked_for() {
        let known = programs(false);
        assert!(known.serving("touch b.txt and read").is_none());
        assert!(known.called("run program touch-read with b.txt").is_some());
    }

    #[test]
    fn a_person_is_told_once() {
        let mut known = programs(true);
        let step = |tool: &str| StepWanted { tool: tool.into(), params: json!({}), question: None };
        let steps = [step("write_file"), step("read_file")];
        let (name, words) = known.news("touch a.txt and read", &steps).expect("news");
        assert!(words.contains("run program touch-read with \"a.txt\""), "{words}");
        assert_eq!(known.news("touch a.txt and read", &steps[..1]), None);
        known.tell(&name);
        assert_eq!(known.news("touch a.txt and read", &steps), None);
        known.forget(&name);
        assert_eq!(known, Programs::default());
    }
}
