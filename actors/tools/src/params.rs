//! Parameters checked against their schema: aliases, defaults, and errors that a small model can use.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::spec::ToolSpec;

/// The longest quoted value in an error, in characters.
const SHOWN: usize = 80;

/// Names with a lower similarity aren't suggested (Jaro–Winkler, 0–1).
const LIKENESS: f64 = 0.5;

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParamProblem {
    /// The field; nested fields with dots.
    pub field: String,
    pub expected: String,
    pub got: String,
}

/// Parameters with which a tool can't run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{tool}: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ParamError {
    pub tool: String,
    /// In the order of the fields' names; never empty.
    pub problems: Vec<ParamProblem>,
}

impl std::fmt::Display for ParamProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "field \"{}\": expected {}, got {}", self.field, self.expected, self.got)
    }
}

impl ParamError {
    pub(super) fn unknown_tool(tool: &str, nearest: &[String]) -> Self {
        let expected = format!("a tool; the nearest are: {}", nearest.join(", "));
        let problem = ParamProblem { field: "tool".into(), expected, got: show(&Value::from(tool)) };
        Self { tool: tool.into(), problems: vec![problem] }
    }
}

/// The `limit` candidates most similar to `name`, best first. Candidates below the bound are left out.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>, limit: usize) -> Vec<String> {
    let near = by_likeness(name, candidates).into_iter().filter(|(score, _)| *score >= LIKENESS);
    near.take(limit).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// All candidates with their similarity to `name`, 0 to 1, best first; equal ones in alphabetical order.
pub(super) fn by_likeness<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<(f64, &'a str)> {
    let name = name.to_lowercase();
    let likeness =
        |candidate: &str| strsim::jaro_winkler(&name, candidate).max(strsim::sorensen_dice(&name, candidate));
    let mut scored: Vec<(f64, &str)> = candidates.map(|candidate| (likeness(candidate), candidate)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
}

/// See [`super::ToolRegistry::validate`].
pub(super) fn validate(spec: &ToolSpec, validator: &Validator, params: &Value) -> Result<Value, ParamError> {
    let refuse = |problems| Err(ParamError { tool: spec.name.clone(), problems });
    let given = match params {
        Value::Object(given) => given,
        Value::Null => &Map::new(),
        other => {
            let expected = "an object with the parameters".into();
            return refuse(vec![ParamProblem { field: "parameters".into(), expected, got: show(other) }]);
        }
    };
    let (named, mut problems) = rename(spec, given);
    let full = Value::Object(with_defaults(spec, named));
    problems.extend(validator.iter_errors(&full).flat_map(|error| problems_of(spec, &error)));
    if problems.is_empty() {
        return Ok(full);
    }
    problems.sort_by(|a, b| a.field.cmp(&b.field));
    problems.dedup_by(|a, b| a.field == b.field);
    refuse(problems)
}

/// Renames aliases to their parameters. An unknown field is a problem, and so is a parameter given twice.
fn rename(spec: &ToolSpec, given: &Map<String, Value>) -> (Map<String, Value>, Vec<ParamProblem>) {
    let mut named = Map::new();
    let mut problems = Vec::new();
    for (field, value) in given {
        let target = spec.parameter_aliases.iter().find(|(alias, _)| alias == field).map(|(_, target)| target);
        match (spec.parameter(field), target) {
            (Some(_), _) => {
                named.insert(field.clone(), value.clone());
            }
            (None, Some(target)) if given.contains_key(target) || named.contains_key(target) => {
                let expected = format!("\"{target}\" only once, and \"{field}\" is another name for it");
                problems.push(ParamProblem { field: field.clone(), expected, got: show(value) });
            }
            (None, Some(target)) => {
                named.insert(target.clone(), value.clone());
            }
            (None, None) => problems.push(unknown_field(spec, field, value)),
        }
    }
    (named, problems)
}

fn unknown_field(spec: &ToolSpec, field: &str, value: &Value) -> ParamProblem {
    let near = nearest(field, spec.parameter_names(), 1);
    let all = spec.parameter_names().collect::<Vec<_>>().join(", ");
    let expected = match (near.first(), all.is_empty()) {
        (_, true) => "no parameters at all".to_owned(),
        (Some(near), _) => format!("a known parameter (did you mean \"{near}\"? there are: {all})"),
        (None, _) => format!("a known parameter (there are: {all})"),
    };
    ParamProblem { field: field.into(), expected, got: show(value) }
}

fn with_defaults(spec: &ToolSpec, mut params: Map<String, Value>) -> Map<String, Value> {
    for name in spec.parameter_names() {
        // Models write null for omitted parameters.
        if params.get(name).is_some_and(Value::is_null) && !accepts_null(spec, name) {
            params.remove(name);
        }
        if let (None, Some(default)) = (params.get(name), spec.parameter(name).and_then(|schema| schema.get("default")))
        {
            params.insert(name.to_owned(), default.clone());
        }
    }
    params
}

fn accepts_null(spec: &ToolSpec, name: &str) -> bool {
    let Some(schema) = spec.parameter(name) else { return true };
    if let Some(options) = schema["enum"].as_array() {
        return options.contains(&Value::Null);
    }
    match &schema["type"] {
        Value::String(kind) => kind == "null",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    }
}

fn problems_of(spec: &ToolSpec, error: &ValidationError<'_>) -> Vec<ParamProblem> {
    let path: Vec<String> = error
        .instance_path()
        .as_str()
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let field = path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>();
            let expected = schema_at(spec, &field).map_or_else(|| "a value".into(), describe);
            vec![ParamProblem { field: field.join("."), expected, got: "nothing".into() }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|name| {
                let field = path.iter().chain([name]).cloned().collect::<Vec<_>>().join(".");
                ParamProblem { field, expected: "no such field".into(), got: show(&error.instance()[name.as_str()]) }
            })
            .collect(),
        _ => {
            let steps: Vec<&str> = path.iter().map(String::as_str).collect();
            let expected = schema_at(spec, &steps).map_or_else(|| error.to_string(), describe);
            let field = if path.is_empty() { "parameters".into() } else { path.join(".") };
            vec![ParamProblem { field, expected, got: show(error.instance()) }]
        }
    }
}

/// The schema of a field, as far as it is described by `properties` and `items`.
fn schema_at<'a>(spec: &'a ToolSpec, path: &[&str]) -> Option<&'a Value> {
    let mut schema = &spec.parameters;
    for step in path {
        schema = match schema["properties"].get(step) {
            Some(inner) => inner,
            None => schema.get("items")?,
        };
    }
    (!path.is_empty()).then_some(schema)
}

/// A schema in words: type, allowed values or range, and meaning.
pub fn describe(schema: &Value) -> String {
    let mut text = match (&schema["enum"], &schema["type"]) {
        (Value::Array(options), _) => {
            let options: Vec<_> = options.iter().map(Value::to_string).collect();
            format!("one of {}", options.join(", "))
        }
        (_, Value::String(kind)) => article(kind),
        (_, Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).map(article).collect::<Vec<_>>().join(" or ")
        }
        _ => "a value".to_owned(),
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(low), Some(high)) => text.push_str(&format!(" from {low} to {high}")),
        (Some(low), None) => text.push_str(&format!(" of at least {low}")),
        (None, Some(high)) => text.push_str(&format!(" of at most {high}")),
        (None, None) => {}
    }
    if schema["minLength"].as_u64().is_some_and(|least| least > 0) {
        text.push_str(" that isn't empty");
    }
    if let Some(meaning) = schema["description"].as_str() {
        text.push_str(&format!(" ({meaning})"));
    }
    text
}

fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// A value as received, cut, with its type.
fn show(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let text = value.to_string();
    let cut: String = text.chars().take(SHOWN).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut}{dots}, {kind}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ToolRegistry;

    fn registry() -> ToolRegistry {
        let spec = ToolSpec::new("fetch", "fetches")
            .with_parameters(
                json!({
                    "query": {"type": "string", "minLength": 1, "description": "what to look for"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
                    "order": {"enum": ["up", "down"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                }),
                &["query"],
            )
            .with_aliases(&[("keyword", "query")])
            .with_example(json!({"query": "x"}));
        let mut registry = ToolRegistry::default();
        registry.register_brain(spec).expect("a good spec");
        registry
    }

    fn problems(params: &Value) -> Vec<String> {
        let error = registry().validate("fetch", params).expect_err("refused");
        error.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults_and_aliases_are_applied() {
        let full = registry().validate("fetch", &json!({"keyword": "cups", "order": null})).expect("valid");
        assert_eq!(full, json!({"query": "cups", "limit": 5}));
    }

    #[test]
    fn an_error_names_the_field_what_was_expected_and_what_came() {
        assert_eq!(
            problems(&json!({})),
            ["field \"query\": expected a string that isn't empty (what to look for), got nothing"]
        );
        assert_eq!(
            problems(&json!({"query": 7})),
            ["field \"query\": expected a string that isn't empty (what to look for), got 7, a number"]
        );
        assert_eq!(
            problems(&json!({"query": "x", "limit": 21})),
            ["field \"limit\": expected an integer from 1 to 20, got 21, a number"]
        );
        assert_eq!(
            problems(&json!({"query": "x", "order": "left"})),
            ["field \"order\": expected one of \"up\", \"down\", got \"left\", a string"]
        );
        assert_eq!(
            problems(&json!({"query": "x", "tags": ["a", 2]})),
            ["field \"tags.1\": expected a string, got 2, a number"]
        );
    }

    #[test]
    fn an_unknown_field_is_refused_by_name_with_the_nearest() {
        let found = problems(&json!({"query": "x", "limits": 3}));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("field \"limits\"") && found[0].contains("did you mean \"limit\"?"), "{found:?}");
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let found = problems(&json!({"limit": "many", "colour": "red"}));
        let fields: Vec<_> = found.iter().map(|problem| problem.split('"').nth(1).unwrap_or_default()).collect();
        assert_eq!(fields, ["colour", "limit", "query"]);
    }

    #[test]
    fn a_parameter_given_under_two_names_is_refused() {
        assert!(problems(&json!({"query": "a", "keyword": "b"}))[0].contains("\"keyword\" is another name for it"));
    }

    #[test]
    fn what_is_no_object_is_refused_and_nothing_means_no_parameters() {
        assert!(problems(&json!([1]))[0].contains("an object with the parameters"));
        assert!(problems(&Value::Null)[0].contains("\"query\""));
    }

    #[test]
    fn a_long_value_is_cut_in_the_error() {
        let found = problems(&json!({"query": "x", "order": "y".repeat(5000)}));
        assert!(found[0].len() < 300 && found[0].contains('…'));
    }

    #[test]
    fn an_unknown_tool_is_named() {
        let error = registry().validate("fetsh", &json!({})).expect_err("unknown").to_string();
        assert!(error.contains("fetch"), "{error}");
    }
}
