//! Lines of JSON from outside, and error messages for them.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Error, Map, Value};

/// Parses a line that holds one object.
///
/// # Errors
/// It is not JSON or not an object; or the faulty field, and why.
pub fn object_in<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    // serde also accepts a list of the fields in order.
    if !line.trim_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(line).map_err(|error| told(&error))?;
        return Err("it is not a JSON object".into());
    }
    serde_json::from_str(line).map_err(|error| match serde_json::from_str(line) {
        Ok(members) if error.is_data() => faulty::<T>(&members).unwrap_or_else(|| told(&error)),
        Ok(_) => told(&error),
        Err(error) => told(&error),
    })
}

/// A member of the object in a line, at any place; `None` if the line has no object, or no such member.
pub fn member<'l>(line: &'l str, name: &str) -> Option<&'l RawValue> {
    struct Seek<'n>(&'n str);
    impl<'l> Visitor<'l> for Seek<'_> {
        type Value = Option<&'l RawValue>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<M: MapAccess<'l>>(self, mut members: M) -> Result<Self::Value, M::Error> {
            let mut found = None;
            while let Some(key) = members.next_key::<String>()? {
                if found.is_none() && key == self.0 {
                    found = Some(members.next_value()?);
                } else {
                    members.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }
    // Most lines don't contain its name, and needn't be parsed for it.
    let quoted = format!("\"{name}\"");
    line.contains(&quoted).then_some(())?;
    serde_json::Deserializer::from_str(line).deserialize_map(Seek(name)).ok()?
}

/// Parses the members of an object.
///
/// # Errors
/// The faulty field, and why.
pub fn object_of<T: DeserializeOwned>(members: Value) -> Result<T, String> {
    let Value::Object(members) = members else { return Err("it is not a JSON object".into()) };
    match serde_json::from_value(Value::Object(members.clone())) {
        Ok(read) => Ok(read),
        Err(error) => Err(faulty::<T>(&members).unwrap_or_else(|| told(&error))),
    }
}

/// An error without its position: a line is one object, and the caller reports its number.
pub fn told(error: &Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    if error.is_data() {
        // The usual names in JSON.
        [("expected a sequence", "expected a list"), ("expected a map", "expected an object")]
            .iter()
            .find_map(|(theirs, ours)| Some(format!("{}{ours}", what.strip_suffix(theirs)?)))
            .unwrap_or_else(|| what.to_owned())
    } else {
        format!("it is not JSON: {what}; write one object a line, names in double quotes")
    }
}

/// Names the faulty field: the first one with which the error appears. `None` if nothing is wrong.
fn faulty<T: DeserializeOwned>(members: &Map<String, Value>) -> Option<String> {
    let fault = |members: &Map<String, Value>| {
        let read = serde_json::from_value::<T>(Value::Object(members.clone()));
        read.err().map(|error| told(&error))
    };
    let why = fault(members)?;
    // These errors name their field; serde lists the known ones beside the unknown.
    if why.starts_with("unknown field") {
        return Some(why);
    }
    if let Some(name) = why.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return Some(format!("{why}; add it, like {{{name:?}: …}}"));
    }
    let mut tried = Map::new();
    for (name, value) in members {
        tried.insert(name.clone(), value.clone());
        if fault(&tried).is_some_and(|fault| fault == why) {
            let fix = if name == "timestamp" { "; write it like 2026-01-05T09:00:00Z" } else { "" };
            return Some(format!("the field {name:?}: {why}{fix}"));
        }
    }
    Some(why)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)] // it is only deserialized
    struct Line {
        event: String,
        #[serde(default)]
        context: Map<String, Value>,
        timestamp: Option<jiff::Timestamp>,
        #[serde(default)]
        name: String,
        #[serde(default)]
        cues: Vec<String>,
    }

    #[test]
    fn the_field_at_fault_is_named() {
        let why = |line: &str| object_in::<Line>(line).expect_err("a bad line");
        for (line, told) in [
            (r#"{"event": 5}"#, "the field \"event\": invalid type: integer `5`, expected a string"),
            (
                r#"{"name": "x", "context": "kitchen", "event": "e"}"#,
                "the field \"context\": invalid type: string \"kitchen\", expected an object",
            ),
            (r#"{"event": "e", "cues": "x"}"#, "the field \"cues\": invalid type: string \"x\", expected a list"),
            (r#"{"event": "e", "name": 5}"#, "the field \"name\": "),
            (r#"{"event": "e", "timestamp": "noon"}"#, "the field \"timestamp\": "),
            (r#"{"name": "x"}"#, "missing field `event`"),
            (r#"{"event": "e", "x": 1}"#, "unknown field `x`"),
            (r#"{"event": "e", "event": "f"}"#, "duplicate field `event`"),
            (r#"["e"]"#, "it is not a JSON object"),
            ("7", "it is not a JSON object"),
            ("nonsense", "it is not JSON: expected ident"),
            (r#"{"event": 5"#, "it is not JSON: EOF"),
            ("", "it is not JSON: EOF"),
        ] {
            let why = why(line);
            assert!(why.starts_with(told) && !why.contains(" column "), "{line}: {why}");
        }
        assert_eq!(why(r#"{"name": "x"}"#), "missing field `event`; add it, like {\"event\": …}");
        assert!(why("nonsense").ends_with("; write one object a line, names in double quotes"));
        assert!(why(r#"{"event": "e", "timestamp": "noon"}"#).ends_with("write it like 2026-01-05T09:00:00Z"));
        assert!(object_in::<Line>(" {\"event\": \"e\"}\r").is_ok() && object_of::<Line>(json!({"event": "e"})).is_ok());
        assert_eq!(object_of::<Line>(json!({"event": []})).expect_err("a list"), why(r#"{"event": []}"#));
    }
}
