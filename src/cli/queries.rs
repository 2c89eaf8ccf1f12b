//! `maxim memory recall|similar|associated|predict --queries`: many questions from a file, one answer line each.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::batch::BatchInput;
use super::{CliError, Client, Exit};
use crate::http::{ASSOCIATED, Field, PREDICT, RECALL, SIMILAR};

/// One kind of question, asked line by line.
pub struct Door {
    /// The path under /v1/memory.
    path: &'static str,
    /// Fields that a line may have beside its id: the parameters of the path.
    fields: &'static [Field],
    /// Other names for fields.
    aliases: &'static [(&'static str, &'static str)],
    /// Turns an answer into the members of a line.
    told: fn(&Value) -> Value,
}

/// Aliases for questions whose words describe circumstances.
const WORDS: &[(&str, &str)] = &[("query", "context"), ("keyword", "context"), ("tool", "tool_name")];

/// The results alone.
fn results(answer: &Value) -> Value {
    json!({ "results": answer["results"] })
}

/// `{"id", "results"}`; lines of a benchmark, see [`answer`].
pub const RECALLS: Door = Door { path: "recall", fields: RECALL, aliases: &[], told: results };
/// `{"id", "results"}`.
pub const LIKENESSES: Door = Door { path: "similar", fields: SIMILAR, aliases: WORDS, told: results };
/// `{"id", "results": episodes, "concepts", "others", "missing"}`.
pub const ASSOCIATIONS: Door = Door {
    path: "associated",
    fields: ASSOCIATED,
    aliases: &[("keyword", "query"), ("tool", "tool_name")],
    told: Value::clone,
};
/// `{"id", "results": [the prediction]}`.
pub const PREDICTIONS: Door =
    Door { path: "predict", fields: PREDICT, aliases: WORDS, told: |answer| json!({ "results": [answer] }) };

/// Filters of `memory recall` for past outcomes. A prediction has none yet.
const OF_THE_PAST: [&str; 3] = ["success", "time_after", "time_before"];

/// Answers each line of a file: `{"id", "query" or filters, "limit"}` with `{"id", "results", "elapsed_us"}`. Lines of
/// a benchmark, `{"qid", "question" or "query", …}`, get `{"qid", "ranked": [ids], "elapsed_us"}`; their other members
/// (answers, categories) are ignored. `limit` applies to lines without their own.
///
/// # Errors
/// The file can't be read, or no brain answers. A malformed line is exit 2 at the end, and the others are answered.
pub fn answer(door: &Door, client: &Client, file: &Path, limit: Option<u32>) -> Result<Exit, CliError> {
    let input = BatchInput { file: (file.as_os_str() != "-").then(|| file.to_owned()) };
    let mut broken = None;
    let done = input.answer(|line| {
        if broken.is_some() {
            return Err("not asked: the store or the daemon has failed before".into());
        }
        let asked = door.read(line, limit)?;
        let query: Vec<(&str, String)> =
            asked.query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        match client.get(&["v1", "memory", door.path], &query) {
            Ok(answer) => Ok(asked.ranked(&answer.body).unwrap_or_else(|| (door.told)(&answer.body))),
            Err(error) if error.exit() == Exit::Usage => Err(error.to_string()),
            Err(error) => {
                let why = error.to_string();
                broken = Some(error);
                Err(why)
            }
        }
    })?;
    broken.map_or(Ok(done), Err)
}

#[derive(Debug, PartialEq)]
struct Asked {
    qid: Option<Value>,
    query: Vec<(String, String)>,
}

impl Asked {
    /// The answer to a line of a benchmark.
    fn ranked(&self, answer: &Value) -> Option<Value> {
        let qid = self.qid.as_ref()?;
        let all = answer["results"].as_array().into_iter().flatten();
        let ranked: Vec<&Value> = all.map(|result| &result["id"]).collect();
        Some(json!({ "qid": qid, "ranked": ranked }))
    }
}

impl Door {
    fn knows(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    fn read(&self, line: Value, limit: Option<u32>) -> Result<Asked, String> {
        let Value::Object(mut members) = line else { return Err("it is not a JSON object".into()) };
        members.retain(|_, value| !value.is_null());
        let qid = members.remove("qid");
        if qid.is_some() {
            if let Some(question) = members.remove("question") {
                members.entry("query").or_insert(question);
            }
            if !members.get("query").is_some_and(Value::is_string) {
                return Err("a line with \"qid\" needs \"question\" or \"query\", as text".into());
            }
            let is_alias = |name: &str| self.aliases.iter().any(|(alias, _)| *alias == name);
            members.retain(|name, _| (self.knows(name) || is_alias(name)) && name != "mode");
        }
        for (alias, name) in self.aliases {
            if let Some(value) = members.remove(*alias)
                && members.insert((*name).into(), value).is_some()
            {
                return Err(format!("{alias:?} and {name:?} are the same; give one of them"));
            }
        }
        if let Some(unknown) = members.keys().find(|name| !self.knows(name)) {
            let known: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
            if self.path == PREDICTIONS.path && OF_THE_PAST.contains(&unknown.as_str()) {
                return Err(format!(
                    "{unknown:?} is about past outcomes, and a prediction has none yet; leave it out, or use `maxim \
                    memory recall --queries`"
                ));
            }
            return Err(format!("unknown field {unknown:?}; expected one of {}", known.join(", ")));
        }
        if members.is_empty() {
            return Err("it asks for nothing; give \"query\" or a filter".into());
        }
        if let Some(limit) = limit.filter(|_| self.knows("limit")) {
            members.entry("limit").or_insert(limit.into());
        }
        Ok(Asked { qid, query: in_query(members) })
    }
}

/// Values as a query string carries them.
fn in_query(members: Map<String, Value>) -> Vec<(String, String)> {
    let word = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    members.into_iter().map(|(name, value)| (name, word(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: Value) -> Result<Vec<(String, String)>, String> {
        RECALLS.read(line, Some(10)).map(|asked| asked.query)
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn lines_of_a_benchmark_and_filters_become_one_recall_each() {
        let line = json!({"qid": "c#0", "question": "where?", "answer": "here", "category": 1, "mode": "x"});
        assert_eq!(asked(line).expect("asked"), pairs(&[("limit", "10"), ("query", "where?")]));
        let line = json!({"person": "Anna", "success": true, "limit": 3, "goal": null});
        assert_eq!(asked(line).expect("asked"), pairs(&[("limit", "3"), ("person", "Anna"), ("success", "true")]));
        let told =
            Asked { qid: Some(json!("c#0")), query: vec![] }.ranked(&json!({"results": [{"id": "a"}, {"id": "b"}]}));
        assert_eq!(told, Some(json!({"qid": "c#0", "ranked": ["a", "b"]})));
    }

    #[test]
    fn each_door_has_its_own_fields() {
        let line = json!({"query": "in the kitchen", "tool": "move", "params": {"x": 1}});
        let asked = PREDICTIONS.read(line, None).expect("asked").query;
        assert_eq!(asked, pairs(&[("context", "in the kitchen"), ("params", r#"{"x":1}"#), ("tool_name", "move")]));
        let asked = LIKENESSES.read(json!({"query": "a fall"}), Some(3)).expect("asked").query;
        assert_eq!(asked, pairs(&[("context", "a fall"), ("limit", "3")]));
        let both = LIKENESSES.read(json!({"query": "a", "context": "b"}), Some(3)).expect_err("twice");
        assert!(both.contains("the same"), "{both}");
        assert!(ASSOCIATIONS.read(json!({"box": "red"}), Some(3)).expect_err("no field").contains("memory_id"));
    }

    #[test]
    fn each_door_takes_the_words_filters_and_limit_of_a_recall() {
        let line = |more: Value| {
            let mut line = json!({"query": "the cup", "tool": "move", "goal": "fetch", "object": "cup", "person": "Anna",
                "mode": "active", "limit": 3});
            line.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
            line
        };
        let all = line(json!({"success": true, "time_after": "2026-01-05", "time_before": "2026-01-06"}));
        for door in [&RECALLS, &LIKENESSES, &ASSOCIATIONS] {
            assert_eq!(door.read(all.clone(), None).map(|asked| asked.query.len()), Ok(10), "{}", door.path);
        }
        assert_eq!(PREDICTIONS.read(line(json!({})), None).map(|asked| asked.query.len()), Ok(7));
        for past in OF_THE_PAST {
            let refused = PREDICTIONS.read(line(json!({past: true})), None).expect_err("of the past");
            assert!(refused.contains(past) && refused.contains("leave it out"), "{refused}");
        }
    }

    #[test]
    fn what_asks_for_nothing_or_for_something_unknown_is_refused_by_name() {
        assert!(asked(json!({})).expect_err("nothing").contains("nothing"));
        assert!(asked(json!({"qury": "x"})).expect_err("unknown").contains("\"qury\""));
        assert!(asked(json!({"qid": 1, "answer": "x"})).expect_err("no question").contains("question"));
        assert!(asked(json!({"qid": 1, "question": 7})).expect_err("no text").contains("as text"));
    }
}
