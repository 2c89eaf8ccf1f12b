//! The circumstances of an action. Experience with one kind of event is divided by them. So a failure with one thing,
//! for one goal or at one time of day is kept apart from successes with others.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value as Json};

use super::event::ParamClass;
use super::model::ContextCondition;

/// Prefix of a parameter's name whose value is a circumstance.
const PARAM: &str = "param.";
const MODE: &str = "mode";
const GOAL: &str = "goal";
const TIME_OF_DAY: &str = "time_of_day";
const WORDS: &str = "words";
/// Longer values are ignored, in characters: they hardly ever occur again.
const LONGEST: usize = 64;

/// Fields and values, each field once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances(Vec<(String, String)>);

impl Circumstances {
    /// The circumstances of an action with these parameters, at this time on the body's clock.
    pub fn of(params: &Map<String, Json>, mode: &str, goal: Option<&str>, at: Timestamp, zone: &TimeZone) -> Self {
        let mut all = Self(vec![(MODE.into(), mode.into()), (TIME_OF_DAY.into(), time_of_day(at, zone).into())]);
        if let Some(goal) = goal.map(plain).filter(|goal| is_short(goal)) {
            all.set(GOAL, goal);
        }
        for (name, value) in params {
            if let Some(value) = telling(value) {
                all.set(&format!("{PARAM}{name}"), value);
            }
        }
        all
    }

    /// Circumstances given only in words, which are a circumstance of their own.
    pub fn of_words(words: &str) -> Self {
        let words = Some(plain(words)).filter(|words| is_short(words));
        Self(words.map(|words| (WORDS.to_owned(), words)).into_iter().collect())
    }

    /// Adds circumstances mentioned in words: each known value that occurs in the words as a whole.
    pub fn said(mut self, words: &str, known: &ContextCondition) -> Self {
        let words = format!(" {} ", plain(words));
        for (field, value) in known.all() {
            if words.contains(&format!(" {value} ")) {
                self.set(field, value.to_owned());
            }
        }
        self
    }

    fn set(&mut self, field: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| known == field) {
            Some((_, known)) => *known = value,
            None => self.0.push((field.to_owned(), value)),
        }
    }

    pub fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect()
    }

    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }
}

/// Whether an unknown value of this field makes a prediction less certain. Experience generalises over other objects,
/// goals and hours.
pub fn makes_unsure(field: &str) -> bool {
    !field.starts_with(PARAM) && field != TIME_OF_DAY && field != GOAL
}

/// Lower case, words separated by one space, without punctuation at the end of words.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.trim_matches([',', '.', ';', ':', '!', '?', '"']));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").to_lowercase()
}

fn is_short(text: &str) -> bool {
    !text.is_empty() && text.chars().nth(LONGEST).is_none()
}

/// A value that may occur again.
fn telling(value: &Json) -> Option<String> {
    match value {
        Json::String(text) if ParamClass::of(value) != ParamClass::LongText => {
            Some(plain(text)).filter(|text| is_short(text))
        }
        Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

fn time_of_day(at: Timestamp, zone: &TimeZone) -> &'static str {
    match at.to_zoned(zone.clone()).hour() {
        0..6 => "night",
        6..12 => "morning",
        12..18 => "afternoon",
        _ => "evening",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event::{EventKind, OutcomeKind};
    use super::super::model::{LinkTable, Observation};
    use super::*;
    use maxim_bus::Provenance;
    use maxim_bus::units::Valence;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn of(params: &Json, goal: Option<&str>) -> Circumstances {
        Circumstances::of(params.as_object().expect("an object"), "active", goal, NOW, &TimeZone::UTC)
    }

    fn learned(table: &mut LinkTable, door: &str, success: bool, times: usize) {
        let params = json!({ "door": door });
        let circumstances = of(&params, None);
        for _ in 0..times {
            table.observe(&Observation {
                event: &EventKind::of("open", params.as_object().expect("an object")),
                context: &circumstances.pairs(),
                outcome: &OutcomeKind::of_success(Some(success)),
                cues: &[],
                around: &[],
                delay: None,
                episode: None,
                provenance: Provenance::OwnExperience,
                at: NOW,
                reward: None,
            });
        }
    }

    fn expected(table: &LinkTable, door: &str) -> super::super::predict::Prediction {
        let params = json!({ "door": door });
        let kind = EventKind::of("open", params.as_object().expect("an object"));
        table.predict(&kind, &of(&params, None).pairs(), &[], NOW)
    }

    #[test]
    fn what_goes_wrong_with_one_thing_is_expected_of_others_until_they_are_known_better() {
        let mut table = LinkTable::default();
        learned(&mut table, "kitchen", false, 5);
        let (kitchen, cellar) = (expected(&table, "kitchen"), expected(&table, "cellar"));
        assert_eq!((kitchen.value, kitchen.confidence), (cellar.value, cellar.confidence), "another door is a door");
        for _ in 0..12 {
            learned(&mut table, "kitchen", false, 1);
            learned(&mut table, "cellar", true, 1);
        }
        assert_eq!(expected(&table, "kitchen").valence, Valence::Negative);
        assert_eq!(expected(&table, "cellar").valence, Valence::Positive);
        assert_eq!(expected(&table, "kitchen").outcomes[0].name, "failure");
        assert_eq!(expected(&table, "cellar").outcomes[0].name, "success");
    }

    #[test]
    fn circumstances_are_short_plain_and_once_each() {
        let params = json!({"door": " Kitchen. ", "times": 2, "slow": true, "list": [1], "note": "x ".repeat(90)});
        let said = of(&params, Some("Fetch the cup!"));
        assert_eq!(
            said.pairs(),
            [
                ("mode", "active"),
                ("time_of_day", "night"),
                ("goal", "fetch the cup"),
                ("param.door", "kitchen"),
                ("param.slow", "true"),
                ("param.times", "2"),
            ]
        );
    }

    #[test]
    fn words_say_which_of_the_known_circumstances_are_meant() {
        let mut table = LinkTable::default();
        learned(&mut table, "kitchen", false, 1);
        let key = EventKind::of("open", json!({"door": "x"}).as_object().expect("an object")).key();
        let known = &table.record(&key).expect("known").conditions;
        let asked = Circumstances::of(&Map::new(), "passive", None, NOW, &TimeZone::UTC);
        let told = asked.said("the Kitchen, while active; not the kitchenette", known);
        assert_eq!(told.pairs(), [("mode", "active"), ("time_of_day", "night"), ("param.door", "kitchen")]);
    }
}
