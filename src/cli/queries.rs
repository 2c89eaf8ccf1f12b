//! `maxim memory recall --queries`: many questions from a file, one answer line each.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::batch::BatchInput;
use super::{CliError, Client, Exit};

/// What a line may hold beside its id, as the recall's own parameters.
const FILTERS: [&str; 13] = [
    "query",
    "keyword",
    "goal",
    "tool_name",
    "tool",
    "success",
    "object",
    "person",
    "mode",
    "time_after",
    "time_before",
    "expand",
    "limit",
];

/// Answers each line of a file: `{"id", "query" or filters, "limit"}` with `{"id", "results", "elapsed_us"}`, and lines
/// of a benchmark, `{"qid", "question" or "query", …}`, with `{"qid", "ranked": [ids], "elapsed_us"}`; what else these
/// carry (answers, categories) is not looked at. `limit` holds for lines without one.
///
/// # Errors
/// The file can't be read, or nobody answers. A malformed line is exit 2 at the end, and the others are answered.
pub fn answer(client: &Client, file: &Path, limit: u32) -> Result<Exit, CliError> {
    let input = BatchInput { file: (file.as_os_str() != "-").then(|| file.to_owned()) };
    let mut broken = None;
    let done = input.answer(|line| {
        if broken.is_some() {
            return Err("not asked: the store or the daemon has failed before".into());
        }
        let asked = read(line, limit)?;
        let query: Vec<(&str, String)> =
            asked.query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        match client.get(&["v1", "memory", "recall"], &query) {
            Ok(answer) => Ok(asked.told(&answer.body["results"])),
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
    fn told(&self, results: &Value) -> Value {
        let Some(qid) = &self.qid else { return json!({ "results": results }) };
        let all = results.as_array().into_iter().flatten();
        let ranked: Vec<&Value> = all.map(|result| &result["id"]).collect();
        json!({ "qid": qid, "ranked": ranked })
    }
}

fn read(line: Value, limit: u32) -> Result<Asked, String> {
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
        members.retain(|name, _| FILTERS.contains(&name.as_str()) && name != "mode");
    }
    if let Some(unknown) = members.keys().find(|name| !FILTERS.contains(&name.as_str())) {
        return Err(format!("unknown field {unknown:?}; expected one of {}", FILTERS.join(", ")));
    }
    if members.is_empty() {
        return Err("it asks for nothing; give \"query\" or a filter".into());
    }
    members.entry("limit").or_insert(limit.into());
    Ok(Asked { qid, query: in_query(members) })
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
        read(line, 10).map(|asked| asked.query)
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
            Asked { qid: Some(json!("c#0")), query: vec![] }.told(&json!([{"id": "a", "score": 1}, {"id": "b"}]));
        assert_eq!(told, json!({"qid": "c#0", "ranked": ["a", "b"]}));
    }

    #[test]
    fn what_asks_for_nothing_or_for_something_unknown_is_refused_by_name() {
        assert!(asked(json!({})).expect_err("nothing").contains("nothing"));
        assert!(asked(json!({"qury": "x"})).expect_err("unknown").contains("\"qury\""));
        assert!(asked(json!({"qid": 1, "answer": "x"})).expect_err("no question").contains("question"));
        assert!(asked(json!({"qid": 1, "question": 7})).expect_err("no text").contains("as text"));
    }
}
