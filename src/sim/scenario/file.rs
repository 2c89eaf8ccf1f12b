//! The format of a scenario file, and where a file is wrong.

use std::path::Path;
use std::time::Duration;

use maxim_bus::signals::scene::Detection;
use maxim_bus::units::{Confidence, Intensity};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config::{Fault, Span};
use crate::http::nearest;

/// A scenario. Times are the agent's own, virtual time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// The seed of all random numbers, in every room.
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub body: BodyKind,
    pub percepts: Vec<Happening>,
    pub expectations: Vec<Expectation>,
    #[serde(default)]
    pub budget: Budget,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    #[default]
    None,
    /// A simulated one.
    Sim,
}

/// What happens to the agent at a time. At least one of content, detections, people, sound and pain.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Happening {
    /// Since the beginning of the scenario.
    #[serde(default = "at_once")]
    pub at: Span,
    #[serde(default)]
    pub source: Source,
    /// Words.
    pub content: Option<String>,
    /// Confidence of recognised words, 0 to 1.
    pub confidence: Option<Confidence>,
    #[serde(default)]
    pub detections: Vec<Detection>,
    #[serde(default)]
    pub people: Vec<Detection>,
    pub sound: Option<Detection>,
    pub pain: Option<Pain>,
}

fn at_once() -> Span {
    Span::new(Duration::ZERO)
}

/// The way by which words come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The owner types them.
    #[default]
    Cli,
    /// A microphone's recogniser heard them: they may stop the agent, but can't command it.
    Speech,
    /// A person whom the agent doesn't know types them.
    Stranger,
}

/// What hurts or threatens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pain {
    pub place: String,
    /// 0 to 1; from 0.8 on it interrupts what is pursued.
    pub intensity: Intensity,
    #[serde(default)]
    pub reason: String,
}

/// The limits of a scenario; beyond them it ends and has failed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Virtual time from the beginning to the end of all turns; at most ten years. Default 1 h.
    pub time: Span,
    /// Actions, except mere speech. Default 1 000.
    pub actions: usize,
}

/// The calendar has an end.
const LONGEST: Duration = Duration::from_secs(3_650 * 86_400);

impl Default for Budget {
    fn default() -> Self {
        Self { time: Span::new(Duration::from_secs(3_600)), actions: 1_000 }
    }
}

/// What is expected. Texts are compared without regard to case.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expectation {
    /// A tool did something successfully; `contains` is in its call or in its result.
    ActionTaken { tool: String, contains: Option<String> },
    /// Something wanted was refused; `reason` is part of the reason.
    ActionBlocked { tool: Option<String>, reason: Option<String> },
    /// An episode that is recalled by these words contains them, or `contains`.
    MemoryFormed { about: String, contains: Option<String> },
    /// A concept of this name was made or reinforced.
    ConceptFormed { name: String },
    /// The agent has learned what using a tool leads to: success, failure, or the kind of failure.
    CausalLinkFormed { tool: String, outcome: Option<String> },
    /// The outcome that the agent expects of a tool: positive, neutral or negative.
    PredictionValence {
        tool: String,
        #[serde(default)]
        params: Map<String, Value>,
        valence: String,
    },
    /// A tool was used this often, whatever the result. Without bounds: at least once.
    ToolUsed { tool: String, min: Option<u64>, max: Option<u64> },
    /// This share of the uses of a tool, or of all tools, succeeded, 0 to 1.
    ToolSuccessRate { tool: Option<String>, at_least: f64 },
    /// Every turn ended within this virtual time after its words came.
    ResponseLatency { at_most: Span },
    /// This many episodes are remembered at the end.
    MemoryCountRange { min: Option<u64>, max: Option<u64> },
    /// This many actions were taken, except mere speech.
    ActionCountRange { min: Option<u64>, max: Option<u64> },
    /// Edges between episodes, per ordered pair of episodes; a pair may have more than one.
    GraphDensityAbove { density: f64 },
    /// This many signals of pain were felt.
    PainSignalCount { min: Option<u64>, max: Option<u64> },
    /// Every turn ended, or it was stopped.
    PipelineContinued,
    /// It was stopped, and the time from the word to the set latch was at most this, in real time.
    StoppedWithin { at_most: Span },
    /// A reply contains this.
    ReplyContains { text: String },
}

/// Parts of the specification that aren't built, with what can be used instead.
const NOT_BUILT: [(&str, &str); 2] = [
    ("scene", "scenes of entities aren't built yet: say what is seen with detections"),
    ("hallucination_rate_below", "hallucinations aren't detected yet: remove it"),
];

impl Scenario {
    /// # Errors
    /// The file can't be read, or is no scenario. The error names the place and the fix.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let file = path.display().to_string();
        let fault = |found: String, fix: &str| Fault::new(file.clone(), found, fix);
        let text = std::fs::read_to_string(path)
            .map_err(|error| fault(format!("the file {file} can't be read: {error}"), "name a scenario file"))?;
        let scenario: Self = serde_saphyr::from_str(&text).map_err(|error| {
            let at = error.location().map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
            let found = said(&error.without_snippet().to_string());
            fault(format!("{file}{at}: {found}"), &fix(&found))
        })?;
        scenario.check().map_err(|(found, fix)| fault(format!("{file}: {found}"), fix))?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), (String, &'static str)> {
        if self.expectations.is_empty() {
            return Err(("it expects nothing".into(), "list at least one expectation"));
        }
        if self.budget.time.get() > LONGEST {
            return Err(("budget.time is longer than ten years".into(), "give less"));
        }
        for (at, happening) in self.percepts.iter().enumerate() {
            let Happening { content, detections, people, sound, pain, .. } = happening;
            let sees = !detections.is_empty() || !people.is_empty() || sound.is_some();
            if content.as_ref().is_none_or(|content| content.trim().is_empty()) && !sees && pain.is_none() {
                let found = format!("percept {} is empty", at + 1);
                return Err((found, "give it content, detections, people, a sound or pain"));
            }
            if happening.at.get() > self.budget.time.get() {
                let found = format!("percept {} comes after the end of the budget's time", at + 1);
                return Err((found, "give a larger budget.time"));
            }
        }
        for expectation in &self.expectations {
            if let Expectation::PredictionValence { valence, .. } = expectation
                && !["positive", "neutral", "negative"].contains(&valence.as_str())
            {
                return Err((format!("{valence:?} is no valence"), "give positive, neutral or negative"));
            }
        }
        Ok(())
    }
}

/// The reader's message without the place, which is given before it.
fn said(error: &str) -> String {
    let line = error.lines().find(|line| !line.trim().is_empty()).unwrap_or(error);
    let line = line.trim().trim_start_matches("error: ");
    // Advice for programmers doesn't help the author of the file.
    let ends = [" at line ", ", set DuplicateKeyPolicy"].into_iter().filter_map(|end| line.find(end));
    line[..ends.min().unwrap_or(line.len())].to_owned()
}

/// The fix for serde's "unknown field `x`, expected one of a, b": from the given and the known names.
fn fix(found: &str) -> String {
    let (head, known) = found.split_once("expected ").unwrap_or((found, ""));
    let given = head.split('`').nth(1).unwrap_or_default();
    if let Some((_, why)) = NOT_BUILT.iter().find(|(name, _)| *name == given) {
        return (*why).to_owned();
    }
    let known = known.trim_start_matches("one of ").split([',', ' ']).map(|name| name.trim_matches('`'));
    match nearest(given, known.filter(|name| !name.is_empty())) {
        Some(near) => format!("did you mean {near}?"),
        None => "see `maxim sim run --help` for an example".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_found_in_the_words_of_the_reader() {
        let quoted = "unknown field `tol`, expected `tool` or `contains`";
        for found in [quoted, "unknown field `tol`, expected one of tool, contains"] {
            assert_eq!(fix(found), "did you mean tool?");
        }
        assert!(fix("expected string scalar").contains("--help"));
        assert!(fix("unknown field `scene`, expected one of name, seed").contains("detections"));
        assert_eq!(said("\nerror: a thing at line 3, column 4\n --> here"), "a thing");
        assert_eq!(
            said("duplicate mapping key: name, set DuplicateKeyPolicy in Options"),
            "duplicate mapping key: name"
        );
    }
}
