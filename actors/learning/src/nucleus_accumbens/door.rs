//! Lines of learning from outside: an event with its outcome comes in, what was learned goes out.

use jiff::Timestamp;
use maxim_bus::units::{Confidence, Valence, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::circumstances::Circumstances;
use super::event::{EventKind, OutcomeKind};
use super::law::Reinforcement;
use super::model::{LinkTable, Observation};
use maxim_bus::Provenance;

/// One line of input. Fields that aren't known here (a number, an id) belong to the caller.
#[derive(Clone, Debug, Deserialize)]
pub struct LearnLine {
    /// Tool, movement or any word.
    pub event: String,
    pub params: Option<Map<String, Json>>,
    /// An object's scalars are learned as conditions; nested values are not. Words are one condition, and known
    /// values in them are further conditions.
    pub context: Option<Json>,
    /// A word (good, bad, neutral or a synonym), true or false, or null for neutral.
    pub outcome: Json,
    /// Cues that were present; without any, the event itself is the cue.
    pub cues: Option<Vec<String>>,
}

/// One line of output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LearnedLine {
    pub event: String,
    pub value: Value,
    pub rpe: f64,
    pub confidence: Confidence,
    pub valence: Valence,
}

/// A line that teaches nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLesson {
    #[error("\"event\" is empty; name what was done, such as \"push\"")]
    Nameless,
    #[error("outcome {0} is not known: give \"good\", \"bad\" or \"neutral\" (positive, negative), or true or false")]
    Outcome(String),
    #[error("the field \"context\" must be words or an object of conditions, not {0}")]
    Context(String),
}

fn outcome_of(outcome: &Json) -> Result<OutcomeKind, BadLesson> {
    let unknown = || BadLesson::Outcome(outcome.to_string());
    match outcome {
        Json::Null => Ok(OutcomeKind::of_success(None)),
        Json::Bool(success) => Ok(OutcomeKind::of_success(Some(*success))),
        Json::String(word) => OutcomeKind::from_word(word).ok_or_else(unknown),
        Json::Number(lambda) => match lambda.as_f64() {
            Some(1.0) => Ok(OutcomeKind::new("good", Reinforcement::Good)),
            Some(0.5) => Ok(OutcomeKind::new("neutral", Reinforcement::Neutral)),
            Some(0.0) => Ok(OutcomeKind::new("bad", Reinforcement::Bad)),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// Field and value of the scalars of a context.
pub fn situation_of(context: &Map<String, Json>) -> Vec<(&str, String)> {
    let scalar = |value: &Json| match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        _ => None,
    };
    context.iter().filter_map(|(field, value)| Some((field.as_str(), scalar(value)?))).collect()
}

impl LinkTable {
    /// Learns from one line, observed at `at`.
    pub fn learn_line(&mut self, line: &LearnLine, at: Timestamp) -> Result<LearnedLine, BadLesson> {
        if line.event.trim().is_empty() {
            return Err(BadLesson::Nameless);
        }
        let outcome = outcome_of(&line.outcome)?;
        let empty = Map::new();
        let event = EventKind::of(&line.event, line.params.as_ref().unwrap_or(&empty));
        let situation: Vec<(String, String)> = match &line.context {
            None => Vec::new(),
            Some(Json::Object(context)) => {
                situation_of(context).into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
            }
            Some(Json::String(words)) => {
                let known = self.record(&event.key()).map(|record| record.conditions.clone()).unwrap_or_default();
                Circumstances::of_words(words).said(words, &known).into_pairs()
            }
            Some(other) => return Err(BadLesson::Context(other.to_string())),
        };
        let context: Vec<(&str, &str)> =
            situation.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
        let cues: Vec<&str> = line.cues.iter().flatten().map(String::as_str).collect();
        let update = self.observe(&Observation {
            event: &event,
            context: &context,
            outcome: &outcome,
            cues: &cues,
            around: &[],
            delay: None,
            episode: None,
            provenance: Provenance::OwnExperience,
            at,
            reward: None,
        });
        Ok(LearnedLine {
            event: line.event.clone(),
            value: update.value,
            rpe: update.rpe,
            confidence: update.confidence,
            valence: update.valence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn learn(table: &mut LinkTable, line: Json) -> LearnedLine {
        let line: LearnLine = serde_json::from_value(line).expect("a line");
        table.learn_line(&line, Timestamp::UNIX_EPOCH).expect("a known outcome")
    }

    #[test]
    fn the_first_good_outcome_moves_value_by_alpha_halves() {
        let mut table = LinkTable::default();
        let first = learn(&mut table, json!({"event": "push", "params": null, "outcome": "positive", "seq": 1}));
        assert!((first.value.get() - 0.57).abs() < 1e-12 && (first.rpe - 0.5).abs() < 1e-12);
        assert!((first.confidence.get() - 0.6).abs() < 1e-12);
        let again = learn(&mut table, json!({"event": "push", "context": {"mode": "active"}, "outcome": false}));
        assert!((again.rpe + 0.57).abs() < 1e-12);
        assert_eq!(again.valence, Valence::Neutral);
    }

    #[test]
    fn cues_block_each_other_through_the_door() {
        let mut table = LinkTable::new(0.1);
        for _ in 0..40 {
            learn(&mut table, json!({"event": "press", "cues": ["A"], "outcome": "good"}));
        }
        for _ in 0..40 {
            learn(&mut table, json!({"event": "press", "cues": ["A", "B"], "outcome": "good"}));
        }
        assert!((table.cue("A").expect("learned") - 0.9926085761711122).abs() < 1e-6);
        assert!((table.cue("B").expect("learned") - 0.007389459112546939).abs() < 1e-6);
    }

    #[test]
    fn words_are_a_context_of_their_own_beside_what_they_name_of_before() {
        let mut table = LinkTable::default();
        for _ in 0..12 {
            learn(&mut table, json!({"event": "press", "context": {"door": "open"}, "outcome": "good"}));
            learn(&mut table, json!({"event": "press", "context": "the door is shut", "outcome": "bad"}));
            learn(&mut table, json!({"event": "press", "context": "The door is open.", "outcome": "good"}));
        }
        let record = table.record(&EventKind::of("press", &Map::new()).key()).expect("learned").clone();
        let seen = |field: &str, value: &str| record.conditions.get(field, value).map_or(0, |seen| seen.observations);
        assert_eq!((seen("words", "the door is shut"), seen("words", "the door is open")), (12, 12));
        assert_eq!(seen("door", "open"), 24, "it was said to be");
        let line: LearnLine =
            serde_json::from_value(json!({"event": "e", "context": 7, "outcome": 1})).expect("a line");
        let error = table.learn_line(&line, Timestamp::UNIX_EPOCH).expect_err("no context");
        assert!(error.to_string().contains("\"context\"") && error.to_string().contains('7'), "{error}");
    }

    #[test]
    fn an_unknown_outcome_is_refused_with_what_would_do() {
        let line: LearnLine = serde_json::from_value(json!({"event": "e", "outcome": "purple"})).expect("a line");
        let error = LinkTable::default().learn_line(&line, Timestamp::UNIX_EPOCH).expect_err("no such outcome");
        assert!(error.to_string().contains("\"purple\"") && error.to_string().contains("good"));
        let line: LearnLine = serde_json::from_value(json!({"event": " ", "outcome": "good"})).expect("a line");
        let error = LinkTable::default().learn_line(&line, Timestamp::UNIX_EPOCH).expect_err("no event");
        assert_eq!(error, BadLesson::Nameless);
    }
}
